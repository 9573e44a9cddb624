// Typed CSV and NDJSON, byte for byte as the command line tool writes them: Storage Explorer's columns
// (a property, then its type), or an object a line.  Reading takes both, and headers of Name:Type.

import { TYPES, problemOf } from './values.js';

const ID_OF = new Map(
  Object.entries(TYPES).flatMap(([id, each]) => [
    [each.name.toLowerCase(), id],
    [id.toLowerCase(), id],
  ]),
);
const KEYS = ['PartitionKey', 'RowKey'];
const RECORD_MAX = 16 << 20; // characters: a quote that is not closed must not gather the whole file

const quoteCsv = text => (/[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text);

/** A field that a spreadsheet would run gets an apostrophe before it, when that is asked for. */
const guardFormula = text => (/^[=+\-@\t\r]/.test(text) ? `'${text}` : text);

/** The columns of entities that have these names: keys, then by name. */
export const csvColumns = names => [
  ...KEYS,
  ...[...names]
    .filter(name => !KEYS.includes(name) && name !== 'Timestamp')
    .sort((a, b) => (a < b ? -1 : 1)),
];

export const csvHead = columns =>
  `${columns.map(name => (KEYS.includes(name) ? name : `${quoteCsv(name)},${quoteCsv(`${name}@type`)}`)).join(',')}\r\n`;

/** Lines of a typed CSV; a property that is not there has neither value nor type. */
export function csvLines(entities, columns, { guard = false } = {}) {
  return entities
    .map(
      entity =>
        columns
          .map(name => {
            const property = entity.properties.get(name);
            const text = property
              ? quoteCsv(
                  guard && property.type === 'Edm.String'
                    ? guardFormula(property.value)
                    : property.value,
                )
              : '';
            return KEYS.includes(name) ? text : `${text},${property ? property.type : ''}`;
          })
          .join(',') + '\r\n',
    )
    .join('');
}

export function ndjsonLines(entities) {
  return entities
    .map(entity => {
      const parts = [];
      for (const [name, { type, value }] of entity.properties) {
        if (name === 'Timestamp') continue;
        const isPlain =
          type === 'Edm.Int32' ||
          type === 'Edm.Boolean' ||
          (type === 'Edm.Double' && /\d$/.test(value));
        if (isPlain) parts.push(`${JSON.stringify(name)}:${value}`);
        else if (type === 'Edm.String')
          parts.push(`${JSON.stringify(name)}:${JSON.stringify(value)}`);
        else
          parts.push(
            `${JSON.stringify(`${name}@odata.type`)}:"${type}"`,
            `${JSON.stringify(name)}:${JSON.stringify(value)}`,
          );
      }
      return `{${parts.join(',')}}\n`;
    })
    .join('');
}

/** Fields of one CSV record at `at`; null when it is not complete. */
function readRecord(text, at, isLast) {
  const fields = [];
  let field = '',
    isQuoted = false,
    wasQuoted = false;
  for (let i = at; ; i++) {
    const c = text[i];
    if (c === undefined) {
      if (!isLast || isQuoted) return null;
      fields.push({ text: field, wasQuoted });
      return { fields, next: i };
    }
    if (isQuoted) {
      if (c === '"' && text[i + 1] === '"') {
        field += '"';
        i++;
      } else if (c === '"') isQuoted = false;
      else field += c;
    } else if (c === '"') {
      isQuoted = true;
      wasQuoted = true;
    } else if (c === ',') {
      fields.push({ text: field, wasQuoted });
      field = '';
      wasQuoted = false;
    } else if (c === '\n' || c === '\r') {
      fields.push({ text: field, wasQuoted });
      return { fields, next: text[i] === '\r' && text[i + 1] === '\n' ? i + 2 : i + 1 };
    } else field += c;
  }
}

/** What the fields of a header are: {name, type, typeAt, isUntyped}; typeAt: the column that has its type, `types`: those of columns that have none. */
function csvHeader(fields, types) {
  const names = fields.map(field => field.text.replace(/^\ufeff/, ''));
  return names.map(text => {
    if (text.endsWith('@type')) return null;
    const [, name, type] = /^(.*?)(?::(\w+))?$/s.exec(text),
      typeAt = names.indexOf(`${name}@type`);
    if (type && !ID_OF.has(type.toLowerCase())) throw new Error(`has no type ${type}`);
    return {
      name,
      type: type ? ID_OF.get(type.toLowerCase()) : types?.get(name) || 'Edm.String',
      typeAt,
      isUntyped: !type && typeAt < 0 && !KEYS.includes(name) && name !== 'Timestamp',
    };
  });
}

function csvEntity(columns, fields) {
  if (fields.length !== columns.length)
    throw new Error(`has ${fields.length} fields, the header has ${columns.length}`);
  const properties = new Map();
  fields.forEach(({ text, wasQuoted }, i) => {
    if (!columns[i]) return;
    const { name, typeAt } = columns[i],
      said = typeAt < 0 ? null : fields[typeAt].text;
    const isAbsent =
      text === '' && (said === null ? !wasQuoted && !KEYS.includes(name) : said === '');
    if (isAbsent) return;
    const type = said ? ID_OF.get(said.toLowerCase()) : columns[i].type;
    if (!type) throw new Error(`${name}: there is no type ${said}`);
    const problem = problemOf(type, text);
    if (problem) throw new Error(`${name}: ${problem}`);
    properties.set(name, { type, value: text });
  });
  return properties;
}

function jsonEntity(line) {
  const properties = new Map();
  const json = JSON.parse(line, (name, value, context) =>
    typeof value === 'number' ? { number: context?.source ?? String(value) } : value,
  );
  for (const [name, value] of Object.entries(json)) {
    if (name.includes('@odata.type') || name.startsWith('odata.') || value === null) continue;
    const declared = json[`${name}@odata.type`];
    const text = typeof value === 'object' ? value.number : String(value);
    const type =
      declared ||
      (typeof value === 'string'
        ? 'Edm.String'
        : typeof value === 'boolean'
          ? 'Edm.Boolean'
          : /[.eE]/.test(text)
            ? 'Edm.Double'
            : /^-?\d{1,10}$/.test(text) && Math.abs(Number(text)) < 2 ** 31
              ? 'Edm.Int32'
              : 'Edm.Int64');
    const problem = problemOf(type, text);
    if (problem) throw new Error(`${name}: ${problem}`);
    properties.set(name, { type, value: text });
  }
  return properties;
}

function checked(properties) {
  for (const key of ['PartitionKey', 'RowKey'])
    if (!properties.has(key)) throw new Error(`has no ${key}`);
  properties.delete('Timestamp');
  return properties;
}

/**
 * Entities of a file, one after the other: {line, text, properties} or {line, text, problem}.  Lines up
 * to `skip` are only counted, but those in `kept`, a Map of lines to problems, are given with theirs.
 * What a CSV begins with is given first, as {head, columns}; columns that say no type have those of `types`.
 */
export async function* readFile(file, { skip = 0, kept = new Map(), types } = {}) {
  const head = new Uint8Array(await file.slice(0, 2).arrayBuffer());
  const encoding =
    head[0] === 0xff && head[1] === 0xfe
      ? 'utf-16le'
      : head[0] === 0xfe && head[1] === 0xff
        ? 'utf-16be'
        : 'utf-8';
  const reader = file.stream().pipeThrough(new TextDecoderStream(encoding)).getReader();
  let rest = '',
    line = 0,
    columns = null,
    isJson = null;
  for (;;) {
    const { value, done } = await reader.read();
    rest += value || '';
    if (isJson === null && rest.trim()) isJson = rest.trimStart()[0] === '{';
    let at = 0;
    while (at < rest.length) {
      let text, record;
      if (isJson) {
        const end = rest.indexOf('\n', at);
        if (end < 0 && !done) break;
        text = rest.slice(at, end < 0 ? rest.length : end);
        at = end < 0 ? rest.length : end + 1;
      } else {
        record = readRecord(rest, at, done);
        if (!record && rest.length - at > RECORD_MAX)
          throw new Error(`Line ${line + 1} has a quote that does not end.`);
        if (!record) {
          if (!done) break;
          text = rest.slice(at);
          at = rest.length;
          yield { line: line + 1, text, problem: 'ends inside of quotes' };
          break;
        }
        text = rest.slice(at, record.next).replace(/\r?\n$/, '');
        at = record.next;
      }
      line++;
      if (!text.trim()) continue;
      if (line <= skip && (isJson || columns)) {
        if (kept.has(line)) yield { line, text, problem: kept.get(line) };
        continue;
      }
      try {
        if (isJson) yield { line, text, properties: checked(jsonEntity(text)) };
        else if (!columns) {
          columns = csvHeader(record.fields, types);
          yield { line, head: text, columns };
        } else yield { line, text, properties: checked(csvEntity(columns, record.fields)) };
      } catch (error) {
        if (!isJson && !columns) throw error; // without its header nothing can be read
        yield { line, text, problem: error.message };
      }
    }
    rest = rest.slice(at);
    if (done) return;
  }
}
