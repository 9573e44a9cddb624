// Query shapes of a table: filters with their values taken out, and what each costs.

import { h, put, putAgain, count, milliseconds, instant } from './dom.js';
import * as api from './api.js';
import { troubleBox } from './frame.js';
import { planChip } from './queries.js';

const HEADS = [
  'Filter',
  'Plan',
  'Runs',
  'Read',
  'Of all',
  'Returned',
  'Most read',
  'p50',
  'p99',
  'Last',
];
const ORDERS = { examined: 'Entities read', executions: 'Runs', p99Ms: 'p99' };

export async function show(route, table) {
  const box = h('div');
  let order = 'examined',
    timer,
    isOpen = true;

  function draw(shapes) {
    const queries = shapes
      .filter(shape => shape.operation === 'QueryEntities')
      .sort((a, b) => b[order] - a[order]);
    const others = shapes
      .filter(shape => shape.operation !== 'QueryEntities')
      .sort((a, b) => b.executions - a.executions);
    const total = queries.reduce((sum, shape) => sum + shape.examined, 0) || 1;
    putAgain(
      box,
      h(
        'div',
        { class: 'row' },
        h('span', { class: 'muted' }, 'The last hour, by'),
        h(
          'span',
          { class: 'seg', role: 'group', 'aria-label': 'Order' },
          Object.entries(ORDERS).map(([id, name]) =>
            h(
              'button',
              {
                'aria-pressed': String(id === order),
                onclick: () => {
                  order = id;
                  draw(shapes);
                },
              },
              name,
            ),
          ),
        ),
      ),
      queries.length === 0 &&
        h('p', { class: 'soft' }, 'No query of this table has been seen in the last hour.'),
      queries.length > 0 &&
        h(
          'div',
          { class: 'scrollx' },
          h(
            'table',
            { class: 'list stack many' },
            h(
              'thead',
              null,
              h(
                'tr',
                null,
                HEADS.map((name, i) => h('th', { scope: 'col', class: i > 1 ? 'r' : null }, name)),
              ),
            ),
            h(
              'tbody',
              null,
              queries.map(shape => {
                const plan =
                  Object.entries(shape.plans).sort((a, b) => b[1] - a[1])[0]?.[0] || 'none';
                return h(
                  'tr',
                  null,
                  h(
                    'td',
                    { class: 'mono' },
                    shape.text,
                    shape.select && h('span', { class: 'muted' }, ' $select'),
                    shape.top && h('span', { class: 'muted' }, ' $top'),
                    h('div', { class: 'muted' }, shape.fingerprint),
                    shape.sources?.length > 0 &&
                      h('div', { class: 'muted' }, shape.sources.join(', ')),
                  ),
                  h('td', null, planChip(plan)),
                  [
                    count(shape.executions),
                    count(shape.examined),
                    `${Math.round((shape.examined / total) * 100)} %`,
                    count(shape.returned),
                    count(shape.examinedMax),
                    milliseconds(shape.p50Ms),
                    milliseconds(shape.p99Ms),
                    instant(shape.lastSeen).slice(0, 19),
                  ].map((text, i) => h('td', { class: 'r', 'data-head': HEADS[i + 2] }, text)),
                );
              }),
            ),
          ),
        ),
      others.length > 0 && [
        h('h2', null, 'Other operations'),
        h(
          'table',
          { class: 'list narrow' },
          h(
            'tbody',
            null,
            others.map(shape =>
              h(
                'tr',
                null,
                h('th', { scope: 'row' }, shape.operation),
                h('td', { class: 'r' }, count(shape.executions)),
              ),
            ),
          ),
        ),
      ],
    );
  }

  async function load() {
    try {
      draw(
        (
          await api.getJson(
            `/shapes?account=${encodeURIComponent(api.currentAccount())}&table=${encodeURIComponent(table)}`,
          )
        ).shapes,
      );
    } catch (trouble) {
      put(
        box,
        trouble.status === 404
          ? h(
              'p',
              { class: 'muted' },
              'This server records no queries: it was started with --watch=off.',
            )
          : troubleBox(trouble),
      );
      return;
    }
    if (isOpen)
      timer = setTimeout(function again() {
        if (document.hidden) timer = setTimeout(again, 5000);
        else load();
      }, 5000);
  }
  await load();
  return {
    nodes: h('div', { class: 'pad' }, box),
    leave: () => {
      isOpen = false;
      clearTimeout(timer);
    },
  };
}
