// Go to: everything by its name.

import { h, put, dialog } from './dom.js';
import { logOut, switchTheme } from './frame.js';
import { itemsOf } from './names.js';
import { link } from './route.js';

let isOpen = false;

/** What somebody chooses: {href} or {act}; undefined without a choice. */
export async function goTo() {
  if (isOpen) return undefined;
  isOpen = true;
  const entries = [
    ...itemsOf('table').map(({ name }) => ({ name, kind: 'table', href: link('t', name, 'rows') })),
    ...itemsOf('queue').map(({ name }) => ({ name, kind: 'queue', href: link('q', name) })),
    ...itemsOf('blob').map(({ name }) => ({ name, kind: 'container', href: link('c', name) })),
    ...[
      ['Advice', 'advice'],
      ['Server', 'server'],
      ['Connect', 'start'],
      ['Shared access', 'sas'],
      ['Account', 'account'],
      ['Service settings', 'settings'],
      ['Requests', 'requests'],
      ['Keys', 'help'],
    ].map(([name, id]) => ({ name, kind: 'page', href: link(id) })),
    { name: 'Switch between light and dark', kind: 'action', act: switchTheme },
    { name: 'Log out', kind: 'action', act: logOut },
  ];
  const fits = (name, wanted) => {
    let at = 0;
    for (const c of name.toLowerCase()) if (c === wanted[at]) at++;
    return at >= wanted.length;
  };
  const chosen = await dialog('Go to', close => {
    let found = [],
      at = 0;
    const list = h('ul', { id: 'goto', role: 'listbox', 'aria-label': 'Places' });
    const field = h('input', {
      type: 'text',
      placeholder: 'A table, a queue, a container, a page',
      'aria-label': 'Go to',
      role: 'combobox',
      'aria-expanded': 'true',
      'aria-controls': 'goto',
      autofocus: true,
      oninput: () => {
        at = 0;
        draw();
      },
      onkeydown: event => {
        if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
          event.preventDefault();
          at = (at + (event.key === 'ArrowDown' ? 1 : -1) + found.length) % (found.length || 1);
          draw();
        } else if (event.key === 'Enter' && found[at]) {
          event.preventDefault();
          close(found[at]);
        }
      },
    });
    const draw = () => {
      const wanted = field.value.toLowerCase().replace(/\s/g, '');
      found = entries
        .filter(entry => fits(entry.name, wanted))
        .sort(
          (a, b) =>
            (b.name.toLowerCase().startsWith(wanted) ? 1 : 0) -
            (a.name.toLowerCase().startsWith(wanted) ? 1 : 0),
        )
        .slice(0, 12);
      field.setAttribute('aria-activedescendant', found.length ? `goto-${at}` : '');
      put(
        list,
        found.map((entry, i) =>
          h(
            'li',
            {
              id: `goto-${i}`,
              role: 'option',
              'aria-selected': String(i === at),
              onclick: () => close(entry),
            },
            h('span', null, entry.name),
            h('span', { class: 'muted' }, entry.kind),
          ),
        ),
        found.length === 0 && h('li', { class: 'none' }, 'Nothing has this name.'),
      );
    };
    draw();
    return h('div', { class: 'pal' }, field, list);
  });
  isOpen = false;
  return chosen;
}
