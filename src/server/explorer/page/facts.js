// What the server knows of a table without reading it.

import { h, put, stacked, count, bytes, plural, visible, toast } from './dom.js';
import * as api from './api.js';
import { troubleBox } from './frame.js';
import { link } from './route.js';
import { TYPES } from './values.js';

const open = (table, key) =>
  link('t', table, 'rows', { f: `PartitionKey eq '${key.replace(/'/g, "''")}'` });
const list = (title, heads, rows) =>
  rows.length > 0 &&
  h(
    'section',
    { class: 'sect' },
    h('h2', null, title),
    h(
      'div',
      { class: 'scrollx' },
      stacked(
        h(
          'table',
          { class: 'list stack' },
          h(
            'thead',
            null,
            h(
              'tr',
              null,
              heads.map(([name, isNumber]) =>
                h('th', { scope: 'col', class: isNumber ? 'r' : null }, name),
              ),
            ),
          ),
          h('tbody', null, rows),
        ),
      ),
    ),
  );

/** A number with what it may be off; `error` is null when nobody knows that. */
const within = (number, error, text = count) =>
  error === 0
    ? text(number)
    : error == null
      ? `about ${text(number)}`
      : `${text(number)} ± ${count(error)}`;
const between = (low, high) => (low === high ? count(low) : `${count(low)} to ${count(high)}`);

export async function show(route, table) {
  const box = h('div', { class: 'pad facts' });
  const path = `account=${encodeURIComponent(api.currentAccount())}&table=${encodeURIComponent(table)}`;

  async function load() {
    let facts;
    try {
      facts = await api.getJson(`/facts?${path}`);
    } catch (trouble) {
      put(box, troubleBox(trouble));
      return;
    }
    const {
      partitions,
      largest = [],
      properties = [],
      extremes,
      partitionKeyClasses = [],
      rowKeyClasses = [],
    } = facts;
    const about = facts.exact ? '' : 'about ',
      { changesSince, ageSeconds } = facts.sample;
    put(
      box,
      h(
        'p',
        { class: 'factsline' },
        [
          facts.entities == null
            ? 'Not counted yet'
            : `${about}${plural(facts.entities, 'entity', 'entities')}`,
          facts.bytes != null && `${bytes(facts.bytes)} as stored`,
          partitions.count != null &&
            within(partitions.count, partitions.error, number => plural(number, 'partition')),
          facts.created != null &&
            `${count(facts.created)} created, ${count(facts.replaced)} replaced, ${count(facts.deleted)} deleted`,
        ]
          .filter(Boolean)
          .map(text => h('span', null, text)),
        changesSince > 0 &&
          h(
            'span',
            null,
            `read ${plural(ageSeconds, 'second')} and ${plural(changesSince, 'change')} ago`,
          ),
        h(
          'button',
          {
            class: 'btn small',
            onclick: async () => {
              await api.postJson(`/facts/recount?${path}`, {});
              toast('Counting in the background');
            },
          },
          'Count again',
        ),
      ),
      list(
        'Largest partitions',
        [['PartitionKey'], ['Entities', true], ['Bytes', true], ['Share', true]],
        partitions.largest
          .slice(0, 50)
          .map(each =>
            h(
              'tr',
              null,
              h(
                'td',
                { class: 'mono', dir: 'auto' },
                h('a', { href: open(table, each.partitionKey) }, visible(each.partitionKey)),
              ),
              h('td', { class: 'r' }, within(each.entities, each.error)),
              h('td', { class: 'r' }, bytes(each.bytes)),
              h(
                'td',
                { class: 'r' },
                each.exact && facts.entities
                  ? `${((each.entities / facts.entities) * 100).toFixed(1)} %`
                  : '',
              ),
            ),
          ),
      ),
      list(
        'Largest entities',
        [['PartitionKey'], ['RowKey'], ['Bytes', true]],
        largest.map(each =>
          h(
            'tr',
            null,
            h(
              'td',
              { class: 'mono', dir: 'auto' },
              h('a', { href: open(table, each.partitionKey) }, visible(each.partitionKey)),
            ),
            h(
              'td',
              { class: 'mono', dir: 'auto' },
              h(
                'a',
                {
                  href: link('t', table, 'rows', {
                    at: JSON.stringify([each.partitionKey, each.rowKey]),
                    open: 1,
                  }),
                },
                visible(each.rowKey),
              ),
            ),
            h('td', { class: 'r' }, bytes(each.bytes)),
          ),
        ),
      ),
      list(
        'Properties, in a sample',
        [['Name'], ['Types'], ['In', true], ['Distinct values', true], ['Greatest', true]],
        properties.map(each =>
          h(
            'tr',
            null,
            h('td', { class: 'mono' }, each.name),
            h(
              'td',
              null,
              Object.entries(each.types)
                .filter(([, n]) => n)
                .map(
                  ([type, n]) =>
                    `${TYPES[type]?.name || type}${Object.values(each.types).filter(Boolean).length > 1 ? ` ${count(n)}` : ''}`,
                )
                .join(', '),
            ),
            h('td', { class: 'r' }, `${count(each.count)} of ${count(facts.propertySamples)}`),
            h('td', { class: 'r' }, between(each.distinctLow, each.distinctHigh)),
            h('td', { class: 'r' }, bytes(each.bytesMax)),
          ),
        ),
      ),
      list(
        'What keys look like',
        [['Key'], ['Form'], ['In the sample', true]],
        [
          ['PartitionKey', partitionKeyClasses],
          ['RowKey', rowKeyClasses],
        ].flatMap(([name, classes]) =>
          classes.map(each =>
            h(
              'tr',
              null,
              h('td', null, name),
              h('td', { class: 'mono' }, each.class ?? each.text ?? each.form ?? ''),
              h('td', { class: 'r' }, count(each.count)),
            ),
          ),
        ),
      ),
      extremes &&
        h(
          'p',
          { class: 'muted' },
          `At most ${count(extremes.properties?.count ?? 0)} properties, ${bytes(extremes.cost?.bytes ?? 0)} by the service's formula, a String of ${count(extremes.string?.units ?? 0)} characters.`,
        ),
    );
  }
  await load();
  return { nodes: box };
}
