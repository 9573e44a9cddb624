// Typed CSV and NDJSON, as the command line tool writes them: a header of Name:Type, a line for each
// entity; or an object a line.  Reading takes any of both.

import { TYPES, problemOf } from './values.js';

const NAME_OF = Object.fromEntries(Object.entries(TYPES).map(([id, each]) => [id, each.name]));
const ID_OF = new Map(Object.entries(TYPES).map(([id, each]) => [each.name.toLowerCase(), id]));

const quoteCsv = text => /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;

/** A field that a spreadsheet would run gets an apostrophe before it, when that is asked for. */
export const guardFormula = text => /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;

/** Lines of a typed CSV: columns are names with types; a missing property is an empty field. */
export function csvLines(entities, columns, { guard = false } = {}) {
  return entities.map(entity => columns.map(({ name, type }) => {
    const value = entity.properties.get(name);
    if (!value) return '';
    const text = value.value === '' ? '""' : quoteCsv(guard && value.type === 'Edm.String' ? guardFormula(value.value) : value.value);
    return value.type === type || value.value === '' ? text : quoteCsv(value.value);
  }).join(',') + '\r\n').join('');
}

export const csvHead = columns => `${columns.map(({ name, type }) => quoteCsv(type === 'Edm.String' ? name : `${name}:${NAME_OF[type]}`)).join(',')}\r\n`;

export function ndjsonLines(entities) {
  return entities.map(entity => {
    const parts = [];
    for (const [name, { type, value }] of entity.properties) {
      if (type === 'Edm.Int32' || type === 'Edm.Boolean') parts.push(`${JSON.stringify(name)}:${value}`);
      else if (type === 'Edm.String') parts.push(`${JSON.stringify(name)}:${JSON.stringify(value)}`);
      else parts.push(`${JSON.stringify(`${name}@odata.type`)}:"${type}"`, `${JSON.stringify(name)}:${JSON.stringify(value)}`);
    }
    return `{${parts.join(',')}}\n`;
  }).join('');
}

/** Fields of one CSV record at `at`; null when it is not complete. */
function readRecord(text, at, isLast) {
  const fields = [];
  let field = '', isQuoted = false, wasQuoted = false;
  for (let i = at; ; i++) {
    const c = text[i];
    if (c === undefined) {
      if (!isLast || isQuoted) return null;
      fields.push({ text: field, wasQuoted });
      return { fields, next: i };
    }
    if (isQuoted) {
      if (c === '"' && text[i + 1] === '"') { field += '"'; i++; } else if (c === '"') isQuoted = false; else field += c;
    } else if (c === '"') { isQuoted = true; wasQuoted = true; } else if (c === ',') { fields.push({ text: field, wasQuoted }); field = ''; wasQuoted = false; } else if (c === '\n' || c === '\r') {
      fields.push({ text: field, wasQuoted });
      return { fields, next: text[i] === '\r' && text[i + 1] === '\n' ? i + 2 : i + 1 };
    } else field += c;
  }
}

function csvEntity(columns, fields) {
  if (fields.length !== columns.length) throw new Error(`has ${fields.length} fields, the header has ${columns.length}`);
  const properties = new Map();
  fields.forEach(({ text, wasQuoted }, i) => {
    if (text === '' && !wasQuoted) return;
    const { name, type } = columns[i], problem = problemOf(type, text);
    if (problem) throw new Error(`${name}: ${problem}`);
    properties.set(name, { type, value: text });
  });
  return properties;
}

function jsonEntity(line) {
  const properties = new Map();
  const json = JSON.parse(line, (name, value, context) => typeof value === 'number' ? { number: context?.source ?? String(value) } : value);
  for (const [name, value] of Object.entries(json)) {
    if (name.includes('@odata.type') || name.startsWith('odata.') || value === null) continue;
    const declared = json[`${name}@odata.type`];
    const text = typeof value === 'object' ? value.number : String(value);
    const type = declared || (typeof value === 'string' ? 'Edm.String' : typeof value === 'boolean' ? 'Edm.Boolean' : /[.eE]/.test(text) ? 'Edm.Double' : /^-?\d{1,10}$/.test(text) && Math.abs(Number(text)) < 2 ** 31 ? 'Edm.Int32' : 'Edm.Int64');
    const problem = problemOf(type, text);
    if (problem) throw new Error(`${name}: ${problem}`);
    properties.set(name, { type, value: text });
  }
  return properties;
}

function checked(properties) {
  for (const key of ['PartitionKey', 'RowKey']) if (!properties.has(key)) throw new Error(`has no ${key}`);
  properties.delete('Timestamp');
  return properties;
}

/** Entities of a file, one after the other: {line, properties} or {line, text, problem}. */
export async function* readFile(file) {
  const head = new Uint8Array(await file.slice(0, 2).arrayBuffer());
  const encoding = head[0] === 0xff && head[1] === 0xfe ? 'utf-16le' : head[0] === 0xfe && head[1] === 0xff ? 'utf-16be' : 'utf-8';
  const reader = file.stream().pipeThrough(new TextDecoderStream(encoding)).getReader();
  let rest = '', line = 0, columns = null, isJson = null;
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
        if (!record) { if (!done) break; text = rest.slice(at); at = rest.length; yield { line: line + 1, text, problem: 'ends inside of quotes' }; break; }
        text = rest.slice(at, record.next).replace(/\r?\n$/, '');
        at = record.next;
      }
      line++;
      if (!text.trim()) continue;
      try {
        if (isJson) yield { line, text, properties: checked(jsonEntity(text)) };
        else if (!columns) columns = record.fields.map(field => { const [, name, type] = /^(.*?)(?::(\w+))?$/s.exec(field.text); return { name, type: ID_OF.get((type || 'string').toLowerCase()) || 'Edm.String' }; });
        else yield { line, text, properties: checked(csvEntity(columns, record.fields)) };
      } catch (error) { yield { line, text, problem: error.message }; }
    }
    rest = rest.slice(at);
    if (done) return;
  }
}
