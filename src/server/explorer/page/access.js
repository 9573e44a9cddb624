// Who may do what: stored policies of a table, a queue or a container, public access to a container; and,
// as they are set in the same place, metadata of the last two.

import { h, put, toast } from './dom.js';
import * as api from './api.js';
import { ownTabs, topBar, troubleBox } from './frame.js';
import { link } from './route.js';
import { metadataForm, readMetadata, writeMetadata } from './metadata.js';
import { policyEditor, readAccess, writeAccess } from './policies.js';

const LEVELS = {
  '': 'Nobody without the key or a signature',
  blob: 'Everybody may read a blob whose name they know',
  container: 'Everybody may list the blobs and read them',
};

async function accessSection(kind, name) {
  let before = await readAccess(kind, name);
  const now = structuredClone(before),
    trouble = h('div', { role: 'alert' }),
    { add, list } = policyEditor(kind, now.policies);
  const level = value =>
    h(
      'label',
      { class: 'pick' },
      h('input', {
        type: 'radio',
        name: 'public',
        checked: now.level === value,
        onchange: () => {
          now.level = value;
        },
      }),
      LEVELS[value],
    );
  async function save() {
    put(trouble);
    try {
      before = await writeAccess(kind, name, before, now);
      toast(kind === 'blob' ? 'Access saved' : 'Policies saved');
    } catch (error) {
      put(trouble, troubleBox(error));
    }
  }
  return h(
    'section',
    { class: kind === 'table' ? null : 'sect' },
    kind === 'blob' && [
      h('h2', null, 'Public access'),
      h(
        'div',
        { class: 'choices', role: 'radiogroup', 'aria-label': 'Public access' },
        Object.keys(LEVELS).map(level),
      ),
    ],
    kind !== 'table' && h('h2', null, 'Stored policies'),
    h(
      'p',
      { class: 'soft' },
      'A stored policy gives rights and times to signatures that name it. Taking it away ends them all. Times are UTC.',
    ),
    trouble,
    list,
    h(
      'div',
      { class: 'row end' },
      add,
      h(
        'a',
        { class: 'btn', href: link('sas', kind === 'table' ? { t: name } : { kind, t: name }) },
        'Make a signature',
      ),
      h(
        'button',
        { class: 'btn primary', onclick: save },
        kind === 'blob' ? 'Save access' : 'Save',
      ),
    ),
  );
}

async function metadataSection(kind, name) {
  let before = await readMetadata(kind, name);
  const trouble = h('div', { role: 'alert' });
  async function save(pairs) {
    put(trouble);
    try {
      await writeMetadata(kind, name, before, pairs);
      before = await readMetadata(kind, name);
      toast('Metadata saved');
    } catch (error) {
      put(trouble, troubleBox(error));
    }
  }
  return h(
    'section',
    { class: 'settings' },
    h('h2', null, 'Metadata'),
    trouble,
    metadataForm(before, save),
  );
}

/** The tab of a table, or the view access/queue/NAME or access/blob/NAME. */
export async function show(route, table) {
  if (table) return { nodes: h('div', { class: 'pad' }, await accessSection('table', table)) };
  const [, kind, name] = route.parts;
  if (!['queue', 'blob'].includes(kind))
    throw new api.Trouble(404, 'NotFound', `There is no page at #/${route.parts.join('/')}.`);
  const sections = await Promise.all([metadataSection(kind, name), accessSection(kind, name)]);
  return { nodes: [topBar(name), ownTabs(kind, name, true), h('div', { class: 'pad' }, sections)] };
}
