// Values of entities: their types, how they are shown, and how what a person types becomes one.

import { instant, bytes, visible } from './dom.js';

/** Every type of the service: its short name in a column's head, and what the page calls it. */
export const TYPES = {
  'Edm.String': { short: 'str', name: 'String' },
  'Edm.Int32': { short: 'i32', name: 'Int32' },
  'Edm.Int64': { short: 'i64', name: 'Int64' },
  'Edm.Double': { short: 'dbl', name: 'Double' },
  'Edm.Boolean': { short: 'bool', name: 'Boolean' },
  'Edm.DateTime': { short: 'date', name: 'DateTime' },
  'Edm.Guid': { short: 'guid', name: 'Guid' },
  'Edm.Binary': { short: 'bin', name: 'Binary' },
};

export const isNumber = type =>
  type === 'Edm.Int32' || type === 'Edm.Int64' || type === 'Edm.Double';

const LONG_TEXT = 200; // characters of a cell; more get a button with their size

export const utf8Length = text => new TextEncoder().encode(text).length;
const binaryLength = base64 =>
  Math.floor((base64.length * 3) / 4) - (base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0);

export function binaryBytes(base64) {
  return Uint8Array.from(atob(base64), c => c.charCodeAt(0));
}

/** What a cell of the grid shows: {text, size}; `size` when there is more to see. */
export function cellOf({ type, value }) {
  if (type === 'Edm.DateTime') return { text: instant(value) };
  if (type === 'Edm.Guid') return { text: `${value.slice(0, 13)}…` };
  if (type === 'Edm.Binary') {
    const length = binaryLength(value);
    const hex = length
      ? [...binaryBytes(value.slice(0, 4)).slice(0, 3)]
          .map(b => b.toString(16).padStart(2, '0'))
          .join(' ')
      : '';
    return { text: length ? `${hex}${length > 3 ? ' …' : ''}` : '""', size: bytes(length) };
  }
  if (type === 'Edm.String' && value.length > LONG_TEXT)
    return { text: visible(value.slice(0, LONG_TEXT)), size: bytes(utf8Length(value)) };
  return { text: type === 'Edm.String' ? visible(value) : value };
}

const CHECKS = {
  'Edm.Int32': text =>
    /^-?\d+$/.test(text) && BigInt(text) >= -(2n ** 31n) && BigInt(text) < 2n ** 31n,
  'Edm.Int64': text =>
    /^-?\d+$/.test(text) && BigInt(text) >= -(2n ** 63n) && BigInt(text) < 2n ** 63n,
  'Edm.Double': text =>
    /^-?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$/.test(text) || /^(NaN|-?Infinity)$/.test(text),
  'Edm.Boolean': text => text === 'true' || text === 'false',
  'Edm.Guid': text => /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i.test(text),
  'Edm.DateTime': text =>
    /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?Z$/.test(text) &&
    !Number.isNaN(Date.parse(text.replace(/(\.\d{3})\d+Z/, '$1Z'))),
  'Edm.Binary': text => {
    try {
      atob(text);
      return text.length % 4 === 0;
    } catch {
      return false;
    }
  },
  'Edm.String': () => true,
};

const STRING_UNITS_MAX = 32768,
  BINARY_BYTES_MAX = 65536;

/** Why this text is no value of this type; '' when it is one. */
export function problemOf(type, text) {
  if (!CHECKS[type](text))
    return `${JSON.stringify(text.slice(0, 40))} is not ${/^[AEIOU]/.test(TYPES[type].name) ? 'an' : 'a'} ${TYPES[type].name}.`;
  if (type === 'Edm.String' && text.length > STRING_UNITS_MAX)
    return 'A string has at most 64 KiB: 32,768 characters.';
  if (type === 'Edm.Binary' && binaryLength(text) > BINARY_BYTES_MAX)
    return 'A binary value has at most 64 KiB.';
  return '';
}

/** The text of a value under another type, as far as it has one. */
export function convert(text, from, to) {
  if (from === to) return text;
  if (to === 'Edm.Binary' && from === 'Edm.String')
    return btoa(String.fromCharCode(...new TextEncoder().encode(text)));
  if (from === 'Edm.Binary' && to === 'Edm.String')
    return new TextDecoder().decode(binaryBytes(text));
  if ((to === 'Edm.Int32' || to === 'Edm.Int64') && from === 'Edm.Double')
    return /^-?\d+\.0*$/.test(text) ? text.split('.')[0] : text;
  return text;
}

/** How it is written in a filter. */
export function literal({ type, value }) {
  switch (type) {
    case 'Edm.Int64':
      return `${value}L`;
    case 'Edm.Double':
      return /[.eE]/.test(value) ? value : `${value}.0`;
    case 'Edm.Int32':
    case 'Edm.Boolean':
      return value;
    case 'Edm.DateTime':
      return `datetime'${value}'`;
    case 'Edm.Guid':
      return `guid'${value}'`;
    case 'Edm.Binary':
      return `X'${[...binaryBytes(value)].map(b => b.toString(16).padStart(2, '0')).join('')}'`;
    default:
      return `'${value.replace(/'/g, "''")}'`;
  }
}

/** Bytes that the service counts for an entity: 4 + 2 per key character, and each property. */
export function entityCost(properties) {
  let cost = 4;
  for (const [name, { type, value }] of properties) {
    if (name === 'PartitionKey' || name === 'RowKey') {
      cost += value.length * 2;
      continue;
    }
    if (name === 'Timestamp') continue;
    cost += 8 + name.length * 2;
    if (type === 'Edm.String') cost += value.length * 2 + 4;
    else if (type === 'Edm.Binary') cost += binaryLength(value) + 4;
    else cost += { 'Edm.Int32': 4, 'Edm.Boolean': 1, 'Edm.Guid': 16 }[type] || 8;
  }
  return cost;
}
