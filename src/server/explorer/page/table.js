// A table: its tabs, each a file that is loaded when it is wanted.

import { ask, bytes, plural, toast } from './dom.js';
import * as api from './api.js';
import { deleteButton, tabs, topBar } from './frame.js';
import { factsOf, refreshTree } from './names.js';
import { link } from './route.js';

const TABS = {
  rows: ['Entities', () => import('./rows.js')],
  heat: ['Heat map', () => import('./heat.js')],
  shapes: ['Queries', () => import('./shapes.js')],
  advice: ['Advice', () => import('./advice.js')],
  facts: ['Facts', () => import('./facts.js')],
  batch: ['Batch', () => import('./batch.js')],
  io: ['Import and export', () => import('./io.js')],
  access: ['Access', () => import('./access.js')],
};

/** "48,213 entities, 14.9 MB, 6 partitions", as far as it is known. */
function factsLine(facts) {
  if (!facts) return '';
  const parts = [
    `${facts.exact === false ? 'about ' : ''}${plural(facts.entities, 'entity', 'entities')}`,
  ];
  if (facts.bytes != null) parts.push(bytes(facts.bytes));
  if (facts.partitions != null)
    parts.push(`${facts.partitionsExact ? '' : 'about '}${plural(facts.partitions, 'partition')}`);
  return parts.join(', ');
}

async function remove(table) {
  const facts = factsOf(table);
  const what = facts ? ` and its ${plural(facts.entities, 'entity', 'entities')}` : '';
  if (!(await ask(`Delete ${table}${what}? This cannot be undone.`, `Delete ${table}`))) return;
  try {
    await api.deleteTable(table);
  } catch (trouble) {
    toast(trouble.message);
    return;
  }
  toast(`${table} deleted`);
  location.hash = link('start');
  refreshTree();
}

export async function show(route) {
  const [, table, tab = 'rows'] = route.parts;
  const chosen = TABS[tab] || TABS.rows;
  const module = await chosen[1]();
  const inner = await module.show(route, table);
  return {
    ...inner,
    nodes: [
      topBar(
        table,
        factsLine(factsOf(table)),
        inner.actions,
        deleteButton('Delete table', () => remove(table)),
      ),
      tabs(
        table,
        Object.entries(TABS).map(([id, [name]]) => [name, link('t', table, id), id === tab]),
      ),
      inner.nodes,
    ],
  };
}
