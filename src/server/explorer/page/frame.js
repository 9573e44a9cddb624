// What is around every view: the bar on top, tabs, the entries below the tree, light and dark, and a word
// of what went wrong.

import { h, putAgain, icon, s, toast } from './dom.js';
import * as api from './api.js';
import { link, readRoute } from './route.js';

// --- light and dark ---

const themeNow = () => document.documentElement.dataset.theme;

/** As it was chosen last, else as the system has it. */
export function setUpTheme() {
  document.documentElement.dataset.theme =
    localStorage.getItem('tavola.theme') ||
    (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
}

export function switchTheme() {
  document.documentElement.dataset.theme = themeNow() === 'dark' ? 'light' : 'dark';
  localStorage.setItem('tavola.theme', themeNow());
  dispatchEvent(new Event('themechange'));
}

// --- the frame ---

export const mark = () =>
  s(
    'svg',
    { class: 'mark', viewBox: '0 0 20 20', 'aria-hidden': 'true' },
    s('rect', { width: 20, height: 20, rx: 4.5, fill: 'var(--ink)' }),
    s('path', {
      d: 'M4 5.6h12M4 14.4h12',
      stroke: 'var(--on-ink)',
      'stroke-width': 1.8,
      opacity: 0.4,
    }),
    s('path', { d: 'M4 10h12', stroke: 'var(--on-ink)', 'stroke-width': 2.6 }),
  );

let footBox = null,
  adviceCount = 0;

/** The entries below the tree. */
export function foot() {
  footBox ??= h('div', { class: 'foot' });
  drawFoot();
  return footBox;
}

export function drawFoot() {
  if (!footBox) return;
  const { parts } = readRoute();
  const entry = (id, picture, name, extra) =>
    h(
      'a',
      { class: 'node', href: link(id), 'aria-current': parts[0] === id ? 'page' : null },
      icon(picture),
      h('span', { class: 'nm' }, name),
      extra,
    );
  putAgain(
    footBox,
    entry('account', 'folder', 'Account'),
    entry(
      'advice',
      'bulb',
      'Advice',
      adviceCount > 0 &&
        h(
          'span',
          { class: 'badge', role: 'img', 'aria-label': `${adviceCount} findings` },
          adviceCount,
        ),
    ),
    entry('sas', 'key', 'Shared access'),
    entry(
      'server',
      'pulse',
      'Server',
      h('span', {
        class: api.serverIsLost() ? 'dot bad' : 'dot',
        role: 'img',
        'aria-label': api.serverIsLost() ? 'no answer' : 'up',
      }),
    ),
    entry('start', 'home', 'Connect'),
    h(
      'button',
      { class: 'node', onclick: logOut },
      icon('leave'),
      h('span', { class: 'nm' }, 'Log out'),
    ),
  );
}

export const logOut = () => api.logout().catch(trouble => toast(trouble.message));
/** How much there is to read in Advice. */
export function setAdviceCount(number) {
  adviceCount = number;
  drawFoot();
}

/** The bar on top of a view: its title, facts in a line, and buttons. */
export function topBar(title, facts, ...actions) {
  document.title = `${typeof title === 'string' ? title : title.textContent} · Tavola`;
  return h(
    'header',
    { class: 'top' },
    h(
      'button',
      {
        class: 'btn quiet menu',
        'aria-label': 'Open the tree',
        onclick: () => document.querySelector('.app').classList.toggle('nav'),
      },
      icon('menu'),
    ),
    h('h1', { class: 'crumb' }, title),
    h('div', { class: 'facts' }, facts),
    h('span', { class: 'grow' }),
    actions,
    h(
      'button',
      {
        class: 'btn quiet',
        'aria-label': 'Switch between light and dark',
        title: 'Light or dark (d)',
        onclick: switchTheme,
      },
      icon('sun'),
    ),
  );
}

/** [name, address, whether it is this one] of each. */
export const tabs = (label, entries) =>
  h(
    'nav',
    { class: 'tabs', 'aria-label': label },
    entries.map(([name, href, isCurrent]) =>
      h('a', { href, 'aria-current': isCurrent ? 'page' : null }, name),
    ),
  );

/** The tabs of a queue or a container: what is in it, and what is set for it. */
export const ownTabs = (kind, name, isAccess) =>
  tabs(name, [
    kind === 'queue'
      ? ['Messages', link('q', name), !isAccess]
      : ['Blobs', link('c', name), !isAccess],
    ['Metadata and access', link('access', kind, name), isAccess],
  ]);

/** The button that deletes what a view shows: a word, on a phone a picture. */
export const deleteButton = (label, onclick) =>
  h(
    'button',
    { class: 'btn quiet', 'aria-label': label, onclick },
    h('span', { class: 'phone' }, icon('bin')),
    h('span', { class: 'desk' }, label),
  );

/** Where a view cannot be shown: the service's words, and its id for a log. */
export const troubleBox = trouble =>
  h(
    'div',
    { class: 'trouble', role: 'alert' },
    h('h2', null, trouble.code || 'This did not work'),
    h('p', null, trouble.message),
    trouble.requestId && h('p', { class: 'muted' }, 'Request ', h('code', null, trouble.requestId)),
  );
