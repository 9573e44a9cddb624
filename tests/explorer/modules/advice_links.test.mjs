// Where a finding is on the map, and the command that tries a proposal.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  placeOnMap,
  spanOf,
  whatifCommand,
} from '../../../src/server/explorer/page/advice_links.js';

test('every rule has a place on the map, and what whatif cannot try has no command', () => {
  const map = { from: '2026-11-17T10:00:00.0000000Z', to: '2026-11-17T10:01:00.0000000Z' },
    now = Date.parse('2026-11-17T11:00:00Z'),
    day = 864e5;
  const proposal = (pattern, partitionKey, rowKey, columns = null) =>
    whatifCommand({ table: 'T', cure: { proposal: { pattern, partitionKey, rowKey, columns } } });
  const cases = [
    placeOnMap(
      {
        code: 'P03',
        map: { ...map, fromKey: ['a', '1'], toKey: ['a', '1'] },
        subject: { rowKey: '1' },
      },
      now,
    ),
    placeOnMap({ code: 'P01', map: { ...map, fromKey: ['a', ''], toKey: ['a'] } }, now),
    placeOnMap({ code: 'Q01', map }, now + day).g,
    placeOnMap({ code: 'Q01', map }, now + 9 * day).g,
    placeOnMap({ code: 'W01' }, now),
    proposal('intra-partition-secondary-index', '{PartitionKey}', "it's_{Email:lower}", ['A', 'B']),
    proposal('spread-partition', '{PartitionKey}_{RowKey:hash(16)}', '{RowKey}'),
    proposal('split-counter', '{PartitionKey}', '{RowKey}_{bucket:2}'),
    proposal('log-tail', '{Due:x}', '{RowKey}'),
  ];
  assert.deepEqual(cases, [
    { m: 'conflicts', x: '1794909180,1794910080', y: '[["a","1"],["a","1",""]]' },
    { m: 'reads', x: '1794909180,1794910080', y: JSON.stringify([['a'], ['a', '\u0002']]) },
    '10m',
    '1h',
    { m: 'deletes' },
    "tavola whatif run.trace --table T --copy 'PartitionKey={PartitionKey};RowKey=it'\\''s_{Email:lower};Columns=A,B'",
    "tavola whatif run.trace --table T --key 'PartitionKey={PartitionKey}_{RowKey:hash(16)};RowKey={RowKey}'",
    '',
    '',
  ]);
});

test('a cost is told with the time that it is of', () => {
  for (const [seconds, wanted] of [
    [40, 'in 40 seconds'],
    [177, 'in 3 minutes'],
    [3390, 'in 57 minutes'],
    [3600, 'an hour'],
    [86400, 'an hour'],
  ]) {
    const map = { from: new Date(0).toISOString(), to: new Date(seconds * 1000).toISOString() };
    assert.equal(spanOf({ map }), wanted);
  }
});
