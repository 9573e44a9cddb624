// A cluster: its nodes, the ranges of keys that they write, and what was done to the ranges.

import { h, put, count, bytes, instant, plural, visible } from './dom.js';
import * as api from './api.js';

const RANGES_MAX = 500,
  EVERY_MS = 3000;

const when = ms => (ms > 0 ? instant(new Date(ms).toISOString()).slice(0, 19) : '–');
const table = (caption, heads, rows, none) =>
  rows.length === 0
    ? h('p', { class: 'muted' }, none)
    : h(
        'div',
        { class: 'scrollx', tabindex: '0', role: 'region', 'aria-label': caption },
        h(
          'table',
          { class: 'list' },
          h(
            'thead',
            null,
            h(
              'tr',
              null,
              heads.map(([name, right]) => h('th', { scope: 'col', class: right && 'r' }, name)),
            ),
          ),
          h('tbody', null, rows),
        ),
      );
const cell = (value, right) => h('td', { class: right ? 'r' : null }, value);
const mono = text => h('td', { class: 'mono', dir: 'auto' }, text);

function nodesOf(answer) {
  return table(
    'Nodes',
    [['Node'], ['State'], ['Services'], ['Version'], ['Last heard', true], ['Clock', true]],
    answer.nodes.map(node => {
      const id = String(node.incarnation);
      return h(
        'tr',
        null,
        h(
          'th',
          { scope: 'row' },
          id,
          id === answer.self && h('span', { class: 'muted' }, ', this one'),
        ),
        cell(
          node.state === 'dead'
            ? h('span', { class: 'chip table' }, 'dead')
            : id === answer.leader
              ? h('span', { class: 'chip point' }, 'live, leads')
              : h('span', { class: 'chip none' }, 'live'),
        ),
        mono((node.http || '').split(',').join(', ')),
        cell(node.version || ''),
        cell(`${(node.beat_ms / 1000).toFixed(1)} s ago`, true),
        cell(`${node.clock_skew_ms > 0 ? '+' : ''}${count(node.clock_skew_ms)} ms`, true),
      );
    }),
    'No node has been heard of yet.',
  );
}

function rangesOf(answer) {
  const shown = answer.ranges.slice(0, RANGES_MAX);
  return [
    table(
      'Ranges',
      [
        ['From'],
        ['Usual node'],
        ['Rows', true],
        ['Size', true],
        ['Reads', true],
        ['Writes', true],
        ['Busy', true],
        ['Note'],
      ],
      shown.map(range =>
        h(
          'tr',
          null,
          mono(
            range.start === ''
              ? h('span', { class: 'muted' }, 'the first key')
              : visible(range.start),
          ),
          cell(range.usual || '–'),
          cell(range.measured ? count(range.rows) : '–', true),
          cell(range.measured ? bytes(range.bytes) : '–', true),
          cell(`${count(range.reads_s)}/s`, true),
          cell(`${count(range.writes_s)}/s`, true),
          cell(`${range.busy_percent} %`, true),
          cell([
            range.flags && h('span', { class: 'chip part' }, range.flags),
            range.refused && h('span', { class: 'muted' }, ` not split: ${range.refused}`),
          ]),
        ),
      ),
      'No range is known yet.',
    ),
    answer.ranges.length > RANGES_MAX &&
      h(
        'p',
        { class: 'muted' },
        `The first ${RANGES_MAX} of ${count(answer.ranges.length)} ranges.`,
      ),
  ];
}

const historyOf = answer =>
  table(
    'History',
    [
      ['When'],
      ['What'],
      ['At'],
      ['Why'],
      ['Rows', true],
      ['Took', true],
      ['Writes waited', true],
      ['Outcome'],
    ],
    [...answer.history]
      .sort((a, b) => b.at_ms - a.at_ms)
      .slice(0, 100)
      .map(event =>
        h(
          'tr',
          null,
          cell(when(event.at_ms)),
          cell(event.op),
          mono(event.key === '' ? '–' : visible(event.key)),
          cell(event.reason),
          cell(count(event.rows), true),
          cell(`${count(event.total_ms)} ms`, true),
          cell(`${count(event.paused_ms)} ms`, true),
          cell(
            event.outcome === 'done' ? 'done' : h('span', { class: 'chip part' }, event.outcome),
          ),
        ),
      ),
    'No range has been split, merged or moved yet.',
  );

/** {node, leave}: asks again while it is shown. */
export function clusterView() {
  const box = h(
    'section',
    { class: 'cluster' },
    h('h2', null, 'Cluster'),
    h('p', { class: 'muted' }, 'Loading.'),
  );
  let timer,
    isOpen = true,
    drawn = '';

  function draw(answer) {
    const pool = answer.pool || {};
    put(
      box,
      h('h2', null, 'Cluster'),
      h(
        'p',
        { class: 'factsline' },
        [
          plural(answer.nodes.filter(node => node.state !== 'dead').length, 'live node'),
          plural(answer.ranges.length, 'range'),
          answer.leader ? `node ${answer.leader} leads` : 'no node leads',
          pool.osds > 0 &&
            `${plural(pool.osds, 'OSD')}, ${bytes(pool.free_bytes)} of ${bytes(pool.bytes)} free`,
          `map ${answer.version}`,
        ]
          .filter(Boolean)
          .map(text => h('span', null, text)),
      ),
      h('h3', null, 'Nodes'),
      nodesOf(answer),
      h('h3', null, 'Ranges'),
      rangesOf(answer),
      answer.intents?.length > 0 && [
        h('h3', null, 'Under way'),
        table(
          'Under way',
          [['What'], ['Stage'], ['Object'], ['By node'], ['Since']],
          answer.intents.map(intent =>
            h(
              'tr',
              null,
              cell(intent.op),
              cell(intent.stage),
              mono(intent.object),
              cell(intent.by),
              cell(when(intent.began_ms)),
            ),
          ),
          '',
        ),
      ],
      h('h3', null, 'History of splits, merges and moves'),
      historyOf(answer),
    );
  }

  async function look() {
    try {
      const answer = await api.getJson('/cluster'),
        text = JSON.stringify(answer);
      if (!isOpen) return;
      if (text !== drawn && !box.contains(document.activeElement)) {
        drawn = text;
        draw(answer);
      }
    } catch (error) {
      if (error.status === 401) return;
      if (!drawn)
        put(
          box,
          h('h2', null, 'Cluster'),
          h('p', { class: 'bad' }, `The server does not say: ${error.message}`),
        );
    }
    if (isOpen)
      timer = setTimeout(function again() {
        if (document.hidden) timer = setTimeout(again, EVERY_MS);
        else look();
      }, EVERY_MS);
  }

  look();
  return {
    node: box,
    leave: () => {
      isOpen = false;
      clearTimeout(timer);
    },
  };
}
