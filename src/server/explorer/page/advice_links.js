// What a finding leads to beside its cure: the command that replays a trace under its keys, and the place on the map.

import { plural } from './dom.js';

// --- the command that replays a trace ---

const PLACEHOLDER =
  /^[^:{}]+(:(pad\(\d+\)|ticks|inv|date\(\w+\)|lower|first\(\d+\)|hash\(\d+\)))?$/;
const COPIES = new Set([
  'intra-partition-secondary-index',
  'inter-partition-secondary-index',
  'log-tail',
]);
const KEYS = new Set(['finer-partition-key', 'spread-partition', 'padded-number']);
const shellQuoted = text => `'${text.replace(/'/g, `'\\''`)}'`;

/** `tavola whatif ...` for a proposal; '' when it proposes no keys that whatif could try. */
export function whatifCommand(finding) {
  const { pattern, partitionKey, rowKey, columns } = finding.cure.proposal || {};
  const flag = COPIES.has(pattern) ? '--copy' : KEYS.has(pattern) ? '--key' : '';
  const names = [...`${partitionKey}${rowKey}`.matchAll(/\{([^{}]*)\}/g)].map(
    ([, inside]) => inside,
  );
  if (!flag || !partitionKey || !rowKey || !names.every(name => PLACEHOLDER.test(name))) return '';
  return `tavola whatif run.trace --table ${finding.table} ${flag} ${shellQuoted(`PartitionKey=${partitionKey};RowKey=${rowKey}${flag === '--copy' && columns?.length ? `;Columns=${columns.join(',')}` : ''}`)}`;
}

// --- the place on the map ---

const MEASURES = { Q: 'scanned', K: 'scanned', W: 'writes', D: 'bytes', C: 'reads' },
  BY_CODE = {
    Q08: 'reads',
    Q09: 'bytes',
    P03: 'conflicts',
    P04: 'writes',
    P05: 'writes',
    W01: 'deletes',
    W02: 'deletes',
  };
const LEAST_S = 900; // a finding of a moment is shown with what is around it

/** What the heat map has to be asked for: its measure, the time and the keys of a finding. */
export function placeOnMap({ code, map, subject = {} }, now = Date.now()) {
  const place = { m: BY_CODE[code] || MEASURES[code?.[0]] || 'reads' };
  if (!map?.from) return place;
  const middle = (Date.parse(map.from) + Date.parse(map.to)) / 2000,
    half = Math.max(LEAST_S, (Date.parse(map.to) - Date.parse(map.from)) / 1000) / 2;
  if (now / 1000 - middle - half > 4 * 86400) place.g = '1h';
  else if (now / 1000 - (middle - half) > 6 * 3600) place.g = '10m';
  place.x = `${Math.floor(middle - half)},${Math.ceil(middle + half)}`;
  if (map.toKey?.length) {
    const [partition, row] = map.fromKey;
    place.y = JSON.stringify(
      map.toKey.length === 2 && subject.rowKey != null
        ? [
            [partition, row],
            [partition, row, ''],
          ]
        : [[partition], [partition, '\u0002']],
    );
  }
  return place;
}

/** A cost is that of an hour, or of the time that was looked at when it is shorter; told as in what was seen. */
export function spanOf({ map }) {
  const seconds = map?.from ? (Date.parse(map.to) - Date.parse(map.from)) / 1000 : 3600;
  if (seconds >= 3600) return 'an hour';
  return seconds >= 120
    ? `in ${Math.round(seconds / 60)} minutes`
    : `in ${plural(Math.round(seconds), 'second')}`;
}
