// What the cells of the heat map add up to, and what keys are called.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as heat from '../../../src/server/explorer/page/heat_data.js';

test('sums of any rectangle, filters and labels of any bucket, and differences are right', () => {
  const found = [],
    slots = 7,
    buckets = 5,
    max = 300,
    cells = Uint8Array.from({ length: slots * buckets }, (_, i) => (i * 37) % 256);
  const sums = new heat.Sums({ slots, buckets, cells, max });
  for (let s0 = 0; s0 <= slots; s0++)
    for (let s1 = s0; s1 <= slots; s1++)
      for (let b0 = 0; b0 <= buckets; b0++)
        for (let b1 = b0; b1 <= buckets; b1++) {
          let sum = 0;
          for (let s = s0; s < s1; s++)
            for (let b = b0; b < b1; b++) sum += heat.countOf(cells[s * buckets + b], max);
          if (Math.abs(sums.of(s0, s1, b0, b1) - sum) > 1e-6)
            found.push(`sum ${s0} ${s1} ${b0} ${b1}`);
        }
  for (const [low, high, filter] of [
    [['a', 'r'], ['a', 'r', ''], "PartitionKey eq 'a' and RowKey eq 'r'"],
    [['a', 'r'], ['a', 's'], "PartitionKey eq 'a' and RowKey ge 'r' and RowKey lt 's'"],
    [['a'], ['b'], "PartitionKey ge 'a' and PartitionKey lt 'b'"],
    [[''], null, ''],
    [["it's"], null, "PartitionKey ge 'it''s'"],
    [[''], ['b'], "PartitionKey lt 'b'"],
    [
      ['a', 'r'],
      ['b', 's'],
      "(PartitionKey gt 'a' or (PartitionKey eq 'a' and RowKey ge 'r')) and (PartitionKey lt 'b' or (PartitionKey eq 'b' and RowKey lt 's'))",
    ],
    [['a'], ['a', 's', ''], "PartitionKey eq 'a' and RowKey le 's'"],
    [['a'], ['a', '\u0002'], "PartitionKey eq 'a'"],
    [['a', 'r'], ['a', '\u0002'], "PartitionKey eq 'a' and RowKey ge 'r'"],
    [['a', '\u0002'], ['b'], "PartitionKey gt 'a' and PartitionKey lt 'b'"],
    [['a', '\u0002'], ['b', '\u0002'], "PartitionKey gt 'a' and PartitionKey le 'b'"],
    [['a', 'r', ''], ['a', 's\u0002'], "PartitionKey eq 'a' and RowKey gt 'r' and RowKey lt 't'"],
    [['ab'], ['ab\u0002'], "PartitionKey ge 'ab' and PartitionKey lt 'ac'"],
  ])
    if (heat.filterOf(low, high) !== filter)
      found.push(`${JSON.stringify([low, high])}: ${heat.filterOf(low, high)}`);
  for (const [texts, most, labels, common] of [
    [
      ['', 'log / 2026-11-19T08:01', 'log / 2026-11-19T08:02'],
      20,
      ['', '…01', '…02'],
      'log / 2026-11-19T08:',
    ],
    [['a / r', 'b / r'], 20, ['a / r', 'b / r'], ''],
    [
      [`p / ${'x'.repeat(60)}1`, `p / ${'x'.repeat(60)}2`, `q / ${'y'.repeat(60)}`],
      20,
      [`…${'x'.repeat(18)}1`, `…${'x'.repeat(18)}2`, `q / ${'y'.repeat(15)}…`],
      '',
    ],
    [
      [
        'same / m',
        `same / x${'x'.repeat(40)}1${'z'.repeat(40)}`,
        `same / x${'x'.repeat(40)}2${'z'.repeat(40)}`,
      ],
      20,
      ['…m', `…${'x'.repeat(14)}1zzz…`, `…${'x'.repeat(14)}2zzz…`],
      'same / ',
    ],
    [['alone / r'], 20, ['alone / r'], ''],
  ]) {
    const got = heat.labelsOf(texts, most);
    if (JSON.stringify([got.labels, got.common]) !== JSON.stringify([labels, common]))
      found.push(`labels ${JSON.stringify(got)}`);
  }
  const both = {
      slots: 2,
      buckets: 3,
      max: 100,
      from: 60,
      grainS: 60,
      cells: Uint8Array.from([0, 255, 100, 255, 0, 100]),
    },
    change = heat.compare(both, 1);
  if (change.from !== 120 || change.slots !== 1 || String(change.cells) !== '255,1,128')
    found.push(`compare ${change.cells} from ${change.from}`);
  assert.deepEqual(found, []);
});
