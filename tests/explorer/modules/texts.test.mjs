// What is typed, pasted or sent by services, as the page reads it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decoded, urlOf } from '../../../src/server/explorer/page/address.js';
import {
  bytes,
  milliseconds,
  percent,
  plural,
  shortened,
  visible,
} from '../../../src/server/explorer/page/dom.js';
import { printTree, readTree } from '../../../src/server/explorer/page/form.js';
import * as messages from '../../../src/server/explorer/page/messages.js';
import { estimateText } from '../../../src/server/explorer/page/queries.js';
import { readToken } from '../../../src/server/explorer/page/sas_text.js';
import { element, escapeXml, parseXml } from '../../../src/server/explorer/page/xml.js';

test('an encoding that was cut off is taken as it stands', () => {
  for (const [text, wanted] of [
    ['a%20b', 'a b'],
    ['%', '%'],
    ['100%2', '100%2'],
    ['%E4', '%E4'],
    ['%E4%BC%9A', '会'],
  ])
    assert.equal(decoded(text), wanted);
  assert.equal(urlOf('http://'), null);
  assert.equal(urlOf('http://a/b').pathname, '/b');
});

test('a signature is read from a URL, also a broken one, and from a token alone', () => {
  const token = 'sv=2021-12-02&sp=r&sig=a+b%3D';
  const of = text => readToken(text, 'own');
  assert.deepEqual(of(token).fields, { sv: '2021-12-02', sp: 'r', sig: 'a+b=' });
  assert.equal(of(`http://127.0.0.1:10001/own/jobs?${token}`).container, 'jobs');
  assert.equal(of(`http://127.0.0.1:10001/own/50%?${token}`).container, '50%');
  assert.equal(of(`https://acc.blob.example.org/c/a/b?${token}&sr=b`).blob, 'a/b');
  assert.equal(of('sp=r'), null);
});

test('messages are what they stand for, or are shown as they are stored', () => {
  for (const text of ['', 'plain', '{"grüß": 1}', '😀'])
    assert.deepEqual(messages.decode(messages.encode(text, 'base64'), 'base64'), { text });
  assert.deepEqual(messages.decode('plain!', 'base64'), { text: 'plain!', why: 'not base64' });
  assert.equal(messages.decode('/w==', 'base64').why, 'bytes, not text');
  assert.equal(messages.looksOtherwise('eyJvcmRlciI6IDF9', 'text'), true);
  assert.equal(messages.looksOtherwise('hello', 'text'), false);
  assert.equal(messages.indented('{"a":1}'), '{\n  "a": 1\n}');
  assert.equal(messages.indented('{no json'), '{no json');
});

test('XML is read with its entities, attributes and names that it cannot hold', () => {
  const xml = parseXml(
    '\uFEFF<?xml version="1.0"?><L A="1 &lt; 2"><N Encoded="true">a%01b</N><E /><T>x &amp; &#x1F600;</T></L>',
  );
  assert.deepEqual(
    [xml.attributes.A, xml.textOf('N'), xml.textOf('T'), xml.textOf('none/at/all')],
    ['1 < 2', 'a\u0001b', 'x & 😀', ''],
  );
  assert.equal(parseXml(element('A', escapeXml('<"&">'))).text, '<"&">');
});

test('a filter is the same after the form, and what is no filter has no form', () => {
  for (const filter of [
    "PartitionKey eq 'it''s (and)' and (Age gt 3 or not IsOpen)",
    'not (Age gt 3 and Wide ne 1.5e3)',
    "X'00' eq Data or At lt datetime'2026-01-01T00:00:00Z'",
  ])
    assert.equal(printTree(readTree(filter)), filter);
  for (const text of ['(', ')', 'Age gt 3 and', '(((']) assert.equal(readTree(text), null);
});

test('numbers and texts are written as people read them', () => {
  assert.deepEqual([bytes(999), bytes(1500), bytes(2e9)], ['999 B', '1.5 kB', '2.00 GB']);
  assert.deepEqual(
    [plural(1, 'entity', 'entities'), plural(1200, 'row')],
    ['1 entity', '1,200 rows'],
  );
  assert.deepEqual([percent(0), percent(0.012), percent(0.5)], ['0 %', '1.2 %', '50 %']);
  assert.deepEqual(
    [shortened('abcdefghij', 5), visible(''), visible('a\n')],
    ['abc…j', '""', 'a␊'],
  );
});

test('an estimate says what it rests on where it is one', () => {
  const exact = {
    examined: 40,
    low: 40,
    high: 40,
    returned: 40,
    returnedLow: 40,
    returnedHigh: 40,
  };
  for (const [estimate, wanted] of [
    [{ ...exact, pages: 1, ms: 0.06 }, '40 examined, 40 returned; 1 page, about 0.06 ms'],
    [
      {
        ...exact,
        returned: 1,
        returnedLow: 0,
        returnedHigh: 3,
        returnedBasis: 'history',
        pages: 2,
        ms: 5,
      },
      '40 examined, about 1 (0 to 3, by earlier queries of this kind) returned; 2 pages, about 5.00 ms',
    ],
    [
      { ...exact, examined: 3600, low: 3000, high: null, pages: 4, ms: 20 },
      '3,000 or more examined, 40 returned; 4 pages, about 20 ms',
    ],
    [
      {
        ...exact,
        returned: 0.3,
        returnedLow: 0,
        returnedHigh: 50,
        returnedBasis: 'sample',
        pages: 1,
        ms: 1,
      },
      '40 examined, few or none (50 at most, by a sample of entities) returned; 1 page, about 1.00 ms',
    ],
  ])
    assert.equal(estimateText(estimate), wanted);
});

test('a time that was measured is not nothing', () => {
  for (const [ms, wanted] of [
    [0, '0 ms'],
    [0.004, 'less than 0.01 ms'],
    [0.06, '0.06 ms'],
    [9.994, '9.99 ms'],
    [12.4, '12 ms'],
    [12400, '12.4 s'],
  ])
    assert.equal(milliseconds(ms), wanted);
});
