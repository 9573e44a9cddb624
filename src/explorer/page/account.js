// An account: everything in it as a table, and new ones.

import { h, put, count, bytes, toast, dialog } from './dom.js';
import * as api from './api.js';
import { topBar, link, factsOf, refreshTree, tableNames, troubleBox } from './shell.js';

const RULES = {
  table: [/^[A-Za-z][A-Za-z0-9]{2,62}$/, 'A table has 3 to 63 letters and digits and begins with a letter.'],
  queue: [/^(?!.*--)[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$/, 'A queue has 3 to 63 small letters, digits and single dashes.'],
  blob: [/^(?!.*--)[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$/, 'A container has 3 to 63 small letters, digits and single dashes.'],
};
const TITLES = { table: 'table', queue: 'queue', blob: 'container' };

async function make(kind) {
  const made = await dialog(`New ${TITLES[kind]}`, close => {
    const note = h('p', { class: 'muted', role: 'alert' }, RULES[kind][1]);
    const button = h('button', { type: 'submit', class: 'btn primary', disabled: true }, 'Create');
    const field = h('input', { class: 'field mono', autofocus: true, 'aria-label': 'Name', oninput: () => { const fits = RULES[kind][0].test(field.value); button.disabled = !fits; field.setAttribute('aria-invalid', String(!fits)); } });
    return h('form', { class: 'putbox', onsubmit: async event => {
      event.preventDefault();
      try {
        if (kind === 'table') await api.createTable(field.value);
        else if (kind === 'queue') await api.service('PUT', api.queuePath(`/${field.value}`));
        else await api.service('PUT', api.blobPath(`/${field.value}?restype=container`));
        close(field.value);
      } catch (trouble) { put(note, `${trouble.code}: ${trouble.message}`); }
    } }, h('h2', null, `New ${TITLES[kind]}`), field, note, h('div', { class: 'row end' }, h('button', { type: 'button', class: 'btn', onclick: () => close() }, 'Cancel'), button));
  });
  if (!made) return;
  toast(`${made} created`);
  await refreshTree();
  location.hash = kind === 'table' ? link('t', made, 'rows') : link(kind === 'queue' ? 'q' : 'c', made);
}

export async function show() {
  await refreshTree();
  const [queues, containers] = (await Promise.all([api.names('queue'), api.names('blob')])).map(list => list.map(each => each.name));
  const tables = tableNames();
  return {
    nodes: [topBar(api.currentAccount(), '', ['table', 'queue', 'blob'].map(kind => h('button', { class: 'btn', onclick: () => make(kind) }, `New ${TITLES[kind]}`))),
      h('div', { class: 'pad' },
        h('h2', null, 'Tables'), h('table', { class: 'list' }, h('thead', null, h('tr', null, ['Name', 'Entities', 'Bytes'].map((name, i) => h('th', { scope: 'col', class: i ? 'r' : null }, name)))), h('tbody', null, tables.map(name => { const facts = factsOf(name); return h('tr', null, h('td', null, h('a', { href: link('t', name, 'rows') }, name)), h('td', { class: 'r' }, facts ? count(facts.entities) : '–'), h('td', { class: 'r' }, facts?.bytes != null ? bytes(facts.bytes) : '–')); }), tables.length === 0 && h('tr', null, h('td', { colspan: '3', class: 'muted' }, 'No table.')))),
        h('h2', null, 'Queues'), h('ul', { class: 'plain' }, queues.map(name => h('li', null, h('a', { href: link('q', name) }, name))), queues.length === 0 && h('li', { class: 'muted' }, 'No queue.')),
        h('h2', null, 'Containers'), h('ul', { class: 'plain' }, containers.map(name => h('li', null, h('a', { href: link('c', name) }, name))), containers.length === 0 && h('li', { class: 'muted' }, 'No container.')))],
  };
}
