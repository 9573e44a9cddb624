// What a heat map is made of: cells of time and keys, their sums, and places in them.
// A place on the time axis is in seconds since 1970, one on the key axis is a bound: the parts of a
// key.  Numbers of slots and buckets are good for one answer of the server only.

import { visible } from './dom.js';

export const MEASURES = {
  reads: 'Reads',
  writes: 'Writes',
  deletes: 'Deletes',
  bytes: 'Bytes',
  scanned: 'Scanned',
  conflicts: 'Conflicts',
};

/** TVH1: a header in JSON, then a byte for each cell, slot by slot. */
export function readHeat(buffer) {
  const view = new DataView(buffer);
  if (String.fromCharCode(...new Uint8Array(buffer, 0, 4)) !== 'TVH1')
    throw new Error('This is not a heat map.');
  const length = view.getUint32(4, true);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length)));
  return { ...head, cells: new Uint8Array(buffer, 8 + length), order: head.keys.map(orderOf) };
}

/** About what a byte stands for. */
export const countOf = (code, max) => (code === 0 ? 0 : max ** ((code - 1) / 254));

// --- keys ---

/** A bound as a text that sorts as the table does. */
export const orderOf = key => key.join('\u0001').replace(/\u0002$/, '\uffff');
export const keyParameter = key => key.join('\u0001');

/** For people: "Sales / 121"; '' for the very first. */
export function keyText(key) {
  if (!key || key.every(part => part === '')) return '';
  return key
    .slice(0, 2)
    .map(part =>
      part === '\u0002'
        ? '…'
        : part.endsWith('\u0002')
          ? `${visible(part.slice(0, -1))}…`
          : visible(part),
    )
    .join(' / ');
}

const sameStart = (a, b) => {
  let size = 0;
  while (size < a.length && a[size] === b[size]) size++;
  return size;
};

/**
 * Keys as labels of at most so many characters: what all begin with, up to the last mark in it, is
 * told once (`common`), and what is too long still is shown around where it differs from its
 * neighbours, so that no two that differ look the same.
 */
export function labelsOf(texts, most) {
  const [first = '', ...others] = texts.filter(Boolean),
    all = others.reduce((size, text) => Math.min(size, sameStart(first, text)), first.length);
  const mark = Math.max(...[...'/ :-_.|'].map(each => first.slice(0, all).lastIndexOf(each))) + 1,
    common = others.length > 0 && mark >= 4 ? mark : 0;
  const labels = texts.map((text, i) => {
    let from = text ? common : 0;
    const differs = Math.max(
        sameStart(text, texts[i - 1] ?? ''),
        sameStart(text, texts[i + 1] ?? ''),
      ),
      room = most - (from > 0);
    if (text.length - from > room && differs >= from + room - 1)
      from = differs + 4 < text.length ? differs + 4 - (most - 2) : text.length - (most - 1);
    const rest = text.slice(from),
      left = most - (from > 0);
    return `${from > 0 ? '…' : ''}${rest.length > left ? `${rest.slice(0, left - 1)}…` : rest}`;
  });
  return { common: first.slice(0, common), labels };
}

export const rangeText = (low, high) =>
  isOneKey(low, high)
    ? keyText(low)
    : `${keyText(low) || '(first)'} … ${high ? keyText(high) : '(end)'}`;

/** A bucket that can hold one entity only: nothing lies between its bounds. */
export const isOneKey = (low, high) =>
  Boolean(high) &&
  low.length === 2 &&
  high.length === 3 &&
  high[2] === '' &&
  low[0] === high[0] &&
  low[1] === high[1];

/** The number of the bucket that a bound lies in. */
export function bucketOf(data, key) {
  const wanted = orderOf(key);
  let low = 0,
    high = data.buckets;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (data.order[middle] <= wanted) low = middle;
    else high = middle;
  }
  return low;
}

/** Where a bound is on the axis: the number of buckets that begin before it; without one, all. */
export function placeOf(data, key) {
  if (!key) return data.buckets;
  const bucket = bucketOf(data, key);
  return data.order[bucket] < orderOf(key) ? bucket + 1 : bucket;
}

export const slotOf = (data, seconds) => (seconds - data.from) / data.grainS;

const quoted = text => `'${text.replace(/'/g, "''")}'`;
// The first text behind all that begin so.
const behind = text =>
  text.slice(0, -1) + String.fromCharCode(text.charCodeAt(text.length - 1) + 1);

/** What a bound says of PartitionKey and RowKey: a place before or behind one of them. */
function sidesOf([partition, row, isBehind]) {
  if (row === '\u0002') return { partition, isBehindPartition: true };
  if (partition.endsWith('\u0002')) return { partition: behind(partition.slice(0, -1)) };
  if (!row) return { partition };
  return row.endsWith('\u0002')
    ? { partition, row: behind(row.slice(0, -1)) }
    : { partition, row, isBehindRow: isBehind != null };
}

/** A filter for the entities between two bounds. */
export function filterOf(low, high) {
  if (isOneKey(low, high))
    return `PartitionKey eq ${quoted(low[0])} and RowKey eq ${quoted(low[1])}`;
  const from = sidesOf(low || ['']),
    to = high && sidesOf(high),
    parts = [];
  const fromRow = from.row && `RowKey ${from.isBehindRow ? 'gt' : 'ge'} ${quoted(from.row)}`,
    toRow = to?.row && `RowKey ${to.isBehindRow ? 'le' : 'lt'} ${quoted(to.row)}`;
  if (
    to &&
    from.partition === to.partition &&
    !from.isBehindPartition &&
    (toRow || to.isBehindPartition)
  )
    return [`PartitionKey eq ${quoted(to.partition)}`, fromRow, toRow]
      .filter(Boolean)
      .join(' and ');
  if (fromRow)
    parts.push(
      `(PartitionKey gt ${quoted(from.partition)} or (PartitionKey eq ${quoted(from.partition)} and ${fromRow}))`,
    );
  else if (from.partition || from.isBehindPartition)
    parts.push(`PartitionKey ${from.isBehindPartition ? 'gt' : 'ge'} ${quoted(from.partition)}`);
  if (toRow)
    parts.push(
      `(PartitionKey lt ${quoted(to.partition)} or (PartitionKey eq ${quoted(to.partition)} and ${toRow}))`,
    );
  else if (to)
    parts.push(`PartitionKey ${to.isBehindPartition ? 'le' : 'lt'} ${quoted(to.partition)}`);
  return parts.join(' and ');
}

// --- sums ---

/** Sums of any rectangle of cells in four reads, however large it is. */
export class Sums {
  constructor({ slots, buckets, cells, max }) {
    const values = Float64Array.from({ length: 256 }, (_, code) => countOf(code, max));
    this.width = buckets + 1;
    this.sums = new Float64Array((slots + 1) * this.width);
    for (let slot = 0; slot < slots; slot++) {
      let row = 0;
      for (let bucket = 0; bucket < buckets; bucket++) {
        row += values[cells[slot * buckets + bucket]];
        this.sums[(slot + 1) * this.width + bucket + 1] =
          this.sums[slot * this.width + bucket + 1] + row;
      }
    }
  }

  /** Of the slots and buckets from the first to before the second number. */
  of(slot0, slot1, bucket0, bucket1) {
    const at = (slot, bucket) => this.sums[slot * this.width + bucket];
    return at(slot1, bucket1) - at(slot0, bucket1) - at(slot1, bucket0) + at(slot0, bucket0);
  }
}

// --- two periods ---

export const EQUAL = 128; // the code of a cell that has not changed

/**
 * An answer that has a period and the one before it, `shift` slots earlier, as the difference: its
 * cells are 128 where nothing changed, up to 255 for more and down to 1 for less, by the logarithm.
 */
export function compare(data, shift) {
  const { buckets, max } = data,
    slots = data.slots - shift,
    cells = new Uint8Array(slots * buckets);
  const values = Float64Array.from({ length: 256 }, (_, code) => countOf(code, max)),
    scale = 127 / Math.log1p(max || 1);
  for (let i = 0; i < cells.length; i++) {
    const change = values[data.cells[i + shift * buckets]] - values[data.cells[i]];
    cells[i] = EQUAL + Math.sign(change) * Math.round(Math.log1p(Math.abs(change)) * scale);
  }
  const part = from => ({
    ...data,
    slots,
    from: data.from + from * data.grainS,
    cells: data.cells.subarray(from * buckets, (from + slots) * buckets),
  });
  return { ...part(shift), cells, now: part(shift), before: part(0), isDifference: true };
}

// --- a cluster's ranges ---

/**
 * The bounds of ranges in a table, out of GET /cluster: [{key, owner, rows}], and what was done to them:
 * [{at, key, kind}], oldest first.  A key is shown there as account/table/PartitionKey.
 */
export function rangesOf(cluster, account, table) {
  const own = `${account}/${table}/`,
    keyOf = text => (text?.startsWith(own) ? [text.slice(own.length)] : null);
  const describe = range => ({ owner: range.usual ? `node ${range.usual}` : '', rows: range.rows });
  const ranges = [];
  (cluster.ranges || []).forEach((range, i, all) => {
    const key = keyOf(range.start);
    if (!key) return;
    if (ranges.length === 0 && i > 0) ranges.push({ key: null, ...describe(all[i - 1]) }); // where the table begins
    ranges.push({ key, ...describe(range) });
  });
  const events = (cluster.history || [])
    .filter(
      event =>
        event.outcome === 'done' &&
        (event.op === 'split' || event.op === 'merge') &&
        keyOf(event.key),
    )
    .map(event => ({ at: event.at_ms / 1000, key: keyOf(event.key), kind: event.op }))
    .sort((a, b) => a.at - b.at);
  return { ranges, events };
}
