// How the rows of a table are spread over its keys, as far as the server knows: its sample of keys, and
// the partitions that it has counted.  A ladder is [{key, rows}]: about so many from this key to the next.

import { compareKeys } from './pages.js';

const RUNG_ROWS_MIN = 500;

/** A bound of a range as an explanation names it: [partition, row or null], or null. */
const boundOf = bound => (bound == null ? null : [bound.PartitionKey, bound.RowKey ?? null]);

/** Whether a key is in one of the ranges of an explanation. */
const isInRanges = (ranges, [partition, row]) =>
  ranges.some(range => {
    const from = boundOf(range.from),
      to = boundOf(range.to);
    const compare = bound =>
      partition !== bound[0]
        ? partition < bound[0]
          ? -1
          : 1
        : bound[1] === null || row === bound[1]
          ? 0
          : row < bound[1]
            ? -1
            : 1;
    return (
      (!from || compare(from) > 0 || (compare(from) === 0 && range.from.isIncluded)) &&
      (!to || compare(to) < 0 || (compare(to) === 0 && range.to.isIncluded))
    );
  });

/** Whether a partition has keys in one of the ranges. */
export const touchesPartition = (ranges, partition) =>
  ranges.some(range => {
    const from = boundOf(range.from),
      to = boundOf(range.to);
    return (
      (!from ||
        partition > from[0] ||
        (partition === from[0] && (range.from.isIncluded || from[1] !== null))) &&
      (!to || partition < to[0] || (partition === to[0] && (range.to.isIncluded || to[1] !== null)))
    );
  });

/** The ladder of what a query reads; `facts` are those of the table, with its keys. */
export function ladderOf(facts, ranges) {
  const counted = new Map(
    facts.partitions.largest
      .filter(each => each.exact)
      .map(each => [each.partitionKey, each.entities]),
  );
  const keys = facts.sample.keys.map(each => [each.partitionKey, each.rowKey]);
  const sampled = new Map();
  for (const [partition] of keys) sampled.set(partition, (sampled.get(partition) || 0) + 1);
  const usual = facts.entities / Math.max(1, keys.length);
  // A partition whose size is known has a rung at its beginning, and its rungs share that size.
  const rungs = [...keys, ...[...counted.keys()].map(partition => [partition, ''])]
    .filter(key => isInRanges(ranges, key))
    .sort(compareKeys)
    .map(key => ({
      key,
      rows: counted.has(key[0]) ? counted.get(key[0]) / ((sampled.get(key[0]) || 0) + 1) : usual,
    }));
  const ladder = [];
  for (const rung of rungs) {
    const last = ladder[ladder.length - 1];
    if (last && last.rows < RUNG_ROWS_MIN) last.rows += rung.rows;
    else ladder.push({ ...rung });
  }
  return ladder;
}
