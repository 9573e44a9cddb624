// What type a file has that is uploaded: as the browser knows it, else by its ending, else by its bytes.

// What browsers leave without a type, each on some system.
const BY_ENDING = {
  avro: 'application/avro',
  avif: 'image/avif',
  css: 'text/css',
  csv: 'text/csv',
  gif: 'image/gif',
  gz: 'application/gzip',
  htm: 'text/html',
  html: 'text/html',
  ico: 'image/x-icon',
  ics: 'text/calendar',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  js: 'text/javascript',
  json: 'application/json',
  jsonl: 'application/x-ndjson',
  md: 'text/markdown',
  mjs: 'text/javascript',
  mp3: 'audio/mpeg',
  mp4: 'video/mp4',
  ndjson: 'application/x-ndjson',
  ogg: 'audio/ogg',
  otf: 'font/otf',
  parquet: 'application/vnd.apache.parquet',
  pdf: 'application/pdf',
  png: 'image/png',
  svg: 'image/svg+xml',
  tar: 'application/x-tar',
  toml: 'application/toml',
  tsv: 'text/tab-separated-values',
  ttf: 'font/ttf',
  txt: 'text/plain',
  wasm: 'application/wasm',
  wav: 'audio/wav',
  webm: 'video/webm',
  webp: 'image/webp',
  woff: 'font/woff',
  woff2: 'font/woff2',
  xml: 'application/xml',
  yaml: 'application/yaml',
  yml: 'application/yaml',
  zip: 'application/zip',
  zst: 'application/zstd',
};
const LOOKED_AT = 4096; // bytes

/** Whether the first bytes of a file are text in UTF-8; one that is empty is. */
async function isText(file) {
  const data = new Uint8Array(await file.slice(0, LOOKED_AT).arrayBuffer());
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(data, { stream: true }); // a letter that the end has cut is none that is wrong
    return !data.includes(0);
  } catch {
    return false;
  }
}

export async function contentTypeOf(file) {
  const ending = /\.([^./]+)$/.exec(file.name)?.[1].toLowerCase();
  if (file.type) return file.type;
  if (Object.hasOwn(BY_ENDING, ending ?? '')) return BY_ENDING[ending];
  return (await isText(file)) ? 'text/plain; charset=utf-8' : 'application/octet-stream';
}
