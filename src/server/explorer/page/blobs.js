// Blobs: what is asked of the service about them.

import { h } from './dom.js';
import { service, serviceXml, blobPath } from './api.js';
import { metadataOf, metadataHeaders } from './metadata.js';

const encodePath = name => name.split('/').map(encodeURIComponent).join('/');
const queryOf = parameters =>
  Object.entries(parameters)
    .filter(([, value]) => value)
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .join('&');

/** Of a blob, or of a snapshot of it. */
export const pathOf = (container, name, parameters = {}) =>
  blobPath(`/${container}/${encodePath(name)}${queryOf(parameters) && '?'}${queryOf(parameters)}`);

/** What Set Blob Properties sets, as lists name it and as requests do; all that is not sent is cleared. */
export const HEADERS = {
  'Content-Type': 'x-ms-blob-content-type',
  'Content-Encoding': 'x-ms-blob-content-encoding',
  'Content-Language': 'x-ms-blob-content-language',
  'Content-Disposition': 'x-ms-blob-content-disposition',
  'Cache-Control': 'x-ms-blob-cache-control',
  'Content-MD5': 'x-ms-blob-content-md5',
};

const blobOf = xml => {
  const of = name => xml.textOf(`Properties/${name}`);
  return {
    name: xml.textOf('Name'),
    snapshot: xml.textOf('Snapshot'),
    size: Number(of('Content-Length')),
    kind: of('BlobType'),
    etag: `"${of('Etag')}"`,
    created: of('Creation-Time'),
    changed: of('Last-Modified'),
    lease: of('LeaseState'),
    leaseDuration: of('LeaseDuration'),
    tier: of('AccessTier'),
    copySource: of('CopySource'),
    copied: of('CopyCompletionTime'),
    headers: Object.fromEntries(Object.keys(HEADERS).map(name => [name, of(name)])),
    metadata: metadataOf(xml),
  };
};

async function page(container, parameters) {
  const xml = await serviceXml(
      'GET',
      blobPath(`/${container}?restype=container&comp=list&${queryOf(parameters)}`),
    ),
    blobs = xml.find('Blobs');
  return {
    folders: blobs.all('BlobPrefix').map(each => each.textOf('Name')),
    blobs: blobs.all('Blob').map(blobOf),
    next: xml.textOf('NextMarker'),
  };
}

/** {folders, blobs, next}: a page of what is below a prefix; `next` goes into the next call. */
export const list = (container, prefix, marker) =>
  page(container, { delimiter: '/', maxresults: 500, prefix, marker });

/** {blob, snapshots}: the blob of this name and its snapshots, the newest first; `blob` is undefined without one.  Names keep their case here, as in headers they would not. */
export async function versionsOf(container, name) {
  const found = [];
  for (let marker = ''; ; ) {
    const { blobs, next } = await page(container, {
      include: 'snapshots,metadata,copy',
      prefix: name,
      marker,
    });
    const own = blobs.filter(each => each.name === name);
    found.push(...own);
    if (!next || own.length < blobs.length) break; // names that only begin like this come after it
    marker = next;
  }
  return {
    blob: found.find(each => !each.snapshot),
    snapshots: found
      .filter(each => each.snapshot)
      .sort((a, b) => (a.snapshot < b.snapshot ? 1 : -1)),
  };
}

/** The first bytes of exactly this state of a blob; 412 when it has another by now. */
export async function readBytes(container, blob, most) {
  const headers = {
    'if-match': blob.etag,
    ...(blob.size > most ? { range: `bytes=0-${most - 1}` } : {}),
  };
  return new Uint8Array(
    await (
      await service('GET', pathOf(container, blob.name, { snapshot: blob.snapshot }), { headers })
    ).arrayBuffer(),
  );
}

/** Give it to the browser as a file. */
export async function download(container, { name, snapshot }) {
  const data = await (await service('GET', pathOf(container, name, { snapshot }))).blob(),
    url = URL.createObjectURL(new Blob([data], { type: 'application/octet-stream' }));
  const a = h('a', { href: url, download: name.split('/').pop() });
  document.body.append(a);
  a.click();
  a.remove();
  setTimeout(() => URL.revokeObjectURL(url), 60000);
}

/** Of a blob with snapshots nothing is deleted, 409 SnapshotsPresent, unless they are to go with it. */
export const deleteBlob = (container, { name, snapshot }, withSnapshots) =>
  service('DELETE', pathOf(container, name, { snapshot }), {
    headers: withSnapshots ? { 'x-ms-delete-snapshots': 'include' } : {},
  });

const given = values =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ''));
const headersOf = headers =>
  given(
    Object.fromEntries(Object.entries(HEADERS).map(([name, sent]) => [sent, headers[name] || ''])),
  );

const change = async (container, blob, comp, headers) =>
  (
    await service('PUT', pathOf(container, blob.name, { comp }), {
      headers: { 'if-match': blob.etag, ...headers },
    })
  ).headers;

// Each of these changes the state that `blob` has, or nothing: 412.  They return its new ETag; a new text has
// the properties and metadata that `blob` has, which would be gone else, and {etag, size, md5}.
export const setHeaders = async (container, blob, headers) =>
  (await change(container, blob, 'properties', headersOf(headers))).get('etag');
export const setMetadata = async (container, blob, metadata) =>
  (await change(container, blob, 'metadata', metadataHeaders(metadata))).get('etag');
export async function writeText(container, blob, text) {
  const headers = {
    'if-match': blob.etag,
    'x-ms-blob-type': 'BlockBlob',
    ...headersOf({ ...blob.headers, 'Content-MD5': '' }),
    ...metadataHeaders(blob.metadata),
  };
  const body = new TextEncoder().encode(text),
    answer = (await service('PUT', pathOf(container, blob.name), { body, headers })).headers;
  return { etag: answer.get('etag'), size: body.length, md5: answer.get('content-md5') || '' };
}

/** Take a snapshot; its time. */
export const takeSnapshot = async (container, blob) =>
  (await change(container, blob, 'snapshot', {})).get('x-ms-snapshot');

/** Make the blob what it was in a snapshot: content, properties and metadata. */
export const promote = (container, blob, snapshot) => {
  const source = `${location.origin}${pathOf(container, blob.name, { snapshot }).replace('/api/blob', '')}`;
  return service('PUT', pathOf(container, blob.name), {
    headers: { 'x-ms-copy-source': source, 'if-match': blob.etag },
  });
};
