// Metadata: names with values that somebody gives to a blob, a queue or a container.

import { h, put } from './dom.js';
import * as api from './api.js';

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** What a header can hold; a browser refuses the rest. */
export const isHeaderText = text => /^[\x20-\x7e]*$/.test(text);

/** [[name, value]] of an element of a list.  Names keep their case there, as in headers they would not. */
export const metadataOf = xml =>
  (xml?.find('Metadata')?.children || []).map(each => [each.name, each.text]);

/** The headers that set them; all that is not sent is cleared. */
export const metadataHeaders = pairs =>
  Object.fromEntries(pairs.map(([name, value]) => [`x-ms-meta-${name}`, value]));

function problemOf(rows) {
  const bad = rows.find(
    ([name, value]) => !NAME.test(name) || !isHeaderText(value) || value.trim() === '',
  );
  if (bad)
    return !NAME.test(bad[0])
      ? 'A name has letters, digits and _ and begins with no digit.'
      : `${bad[0]}: a value has printable characters of ASCII, at least one.`;
  return new Set(rows.map(([name]) => name.toLowerCase())).size < rows.length
    ? 'Names differ in more than their case.'
    : '';
}

/** A form of these pairs; without `save`, to look at. */
export function metadataForm(pairs, save) {
  const rows = pairs.map(pair => [...pair]),
    list = h('div', { class: 'pairs' }),
    problem = h('span', { class: 'bad', role: 'alert' });
  const field = (row, i, at, name) =>
    h('input', {
      class: 'field mono',
      type: 'text',
      'aria-label': `${name} ${i + 1}`,
      value: row[at],
      disabled: !save,
      oninput: event => {
        row[at] = event.target.value;
      },
    });
  const draw = () =>
    put(
      list,
      rows.length === 0 && h('p', { class: 'muted' }, 'None.'),
      rows.map((row, i) =>
        h(
          'div',
          { class: 'pair' },
          field(row, i, 0, 'Name'),
          field(row, i, 1, 'Value'),
          save &&
            h(
              'button',
              {
                class: 'btn quiet small',
                type: 'button',
                'aria-label': `Remove ${row[0] || `name ${i + 1}`}`,
                onclick: () => {
                  rows.splice(i, 1);
                  draw();
                  (list.querySelector('input') || add).focus();
                },
              },
              'Remove',
            ),
        ),
      ),
    );
  const add = h(
    'button',
    {
      class: 'btn',
      type: 'button',
      onclick: () => {
        rows.push(['', '']);
        draw();
        list.lastElementChild.querySelector('input').focus();
      },
    },
    'Add',
  );
  const submit = event => {
    event.preventDefault();
    const why = problemOf(rows);
    put(problem, why);
    if (!why) save(rows.map(([name, value]) => [name, value.trim()]));
  };
  draw();
  return h(
    'form',
    { onsubmit: submit },
    list,
    save &&
      h(
        'div',
        { class: 'row gapped' },
        add,
        h('button', { class: 'btn', type: 'submit' }, 'Save metadata'),
        problem,
      ),
  );
}

// --- of a queue or a container ---

const LISTS = {
  queue: ['Queues', '?comp=list&include=metadata'],
  blob: ['Containers', '?comp=list&include=metadata,system'],
};

/** What a queue or a container has. */
export async function readMetadata(kind, name) {
  const [list, query] = LISTS[kind],
    xml = await api.serviceXml(
      'GET',
      `${api.servicePath(kind)}/${query}&prefix=${encodeURIComponent(name)}`,
    );
  const found = xml.find(list).children.find(each => each.textOf('Name') === name); // the first of all that begin like this
  if (!found) throw new api.Trouble(404, 'NotFound', `There is no ${name} any more.`);
  return metadataOf(found).sort(([a], [b]) => (a < b ? -1 : 1));
}

/** Set it, if it is still what was read. */
export async function writeMetadata(kind, name, before, pairs) {
  if (JSON.stringify(await readMetadata(kind, name)) !== JSON.stringify(before))
    throw api.changedMeanwhile();
  await api.service(
    'PUT',
    `${api.servicePath(kind)}/${encodeURIComponent(name)}?${kind === 'blob' ? 'restype=container&' : ''}comp=metadata`,
    { headers: metadataHeaders(pairs) },
  );
}
