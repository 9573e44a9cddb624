// The frame: the login, the tree of names, the bar on top, and which view the address asks for.

import { h, put, putAgain, icon, s, say, toast, dialog, closeLeftDialogs } from './dom.js';
import * as api from './api.js';
import { decoded } from './address.js';
import { tableNames, factsOf, refreshTree, itemsOf, treeBox, filterField, drawTree, setUpTree, treePause, problemOfServer } from './tree.js';

const root = document.getElementById('app');

// --- light and dark ---

let theme = localStorage.getItem('tavola.theme') || (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
document.documentElement.dataset.theme = theme;
function switchTheme() {
  theme = theme === 'dark' ? 'light' : 'dark';
  localStorage.setItem('tavola.theme', theme);
  document.documentElement.dataset.theme = theme;
  dispatchEvent(new Event('themechange'));
}

// --- addresses: #/t/NAME/rows?f=... ---

export function readRoute() {
  const [path, query] = (location.hash.slice(2) || 'start').split('?');
  return { parts: path.split('/').map(decoded), query: new URLSearchParams(query || '') };
}

/** The address of a view: link('t', 'People', 'rows', {f: "Age gt 3"}). */
export function link(...parts) {
  const query = typeof parts[parts.length - 1] === 'object' ? parts.pop() : {};
  const text = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== '' && value != null)).toString();
  const own = hello && api.currentAccount() !== hello.accounts[0].name ? new URLSearchParams({ a: api.currentAccount() }).toString() : '';
  const all = [text, own].filter(Boolean).join('&');
  return `#/${parts.map(part => encodeURIComponent(part)).join('/')}${all ? `?${all}` : ''}`;
}

/** Change what the address says of this view without leaving it.  One that has been left is late. */
export function setQuery(changes, push) {
  const { parts, query } = readRoute();
  if (parts.join('/') !== wantedKey) return;
  for (const [name, value] of Object.entries(changes)) {
    if (value === '' || value == null) query.delete(name);
    else query.set(name, value);
  }
  const text = query.toString();
  history[push ? 'pushState' : 'replaceState'](null, '', `#/${parts.map(part => encodeURIComponent(part)).join('/')}${text ? `?${text}` : ''}`);
}

// What answers to the first part of a path; loaded when it is first wanted.
const VIEWS = {
  start: () => import('./start.js'),
  account: () => import('./account.js'),
  t: () => import('./table.js'),
  q: () => import('./queue.js'),
  c: () => import('./container.js'),
  b: () => import('./blob.js'),
  access: () => import('./access.js'),
  advice: () => import('./advice.js'),
  sas: () => import('./sas.js'),
  server: () => import('./server.js'),
  settings: () => import('./settings.js'),
  requests: () => import('./requests.js'),
  help: () => import('./help.js'),
};

// --- what is known of the server ---

let hello = null;

export const serverFacts = () => hello;
export { tableNames, factsOf, refreshTree };

const mark = () => s('svg', { class: 'mark', viewBox: '0 0 20 20', 'aria-hidden': 'true' },
  s('rect', { width: 20, height: 20, rx: 4.5, fill: 'var(--ink)' }),
  s('path', { d: 'M4 5.6h12M4 14.4h12', stroke: 'var(--on-ink)', 'stroke-width': 1.8, opacity: 0.4 }),
  s('path', { d: 'M4 10h12', stroke: 'var(--on-ink)', 'stroke-width': 2.6 }));

const footBox = h('div', { class: 'foot' });
let adviceCount = 0;
function drawFoot() {
  const { parts } = readRoute();
  const entry = (id, picture, name, extra) => h('a', { class: 'node', href: link(id), 'aria-current': parts[0] === id ? 'page' : null }, icon(picture), h('span', { class: 'nm' }, name), extra);
  putAgain(footBox,
    entry('account', 'folder', 'Account'),
    entry('advice', 'bulb', 'Advice', adviceCount > 0 && h('span', { class: 'badge', role: 'img', 'aria-label': `${adviceCount} findings` }, adviceCount)),
    entry('sas', 'key', 'Shared access'),
    entry('server', 'pulse', 'Server', h('span', { class: api.serverIsLost() ? 'dot bad' : 'dot', role: 'img', 'aria-label': api.serverIsLost() ? 'no answer' : 'up' })),
    entry('start', 'home', 'Connect'),
    h('button', { class: 'node', onclick: logOut }, icon('leave'), h('span', { class: 'nm' }, 'Log out')));
}
const logOut = () => api.logout().catch(trouble => toast(trouble.message));
export function setAdviceCount(number) { adviceCount = number; drawFoot(); }

function accountMenu() {
  const select = h('select', { class: 'acct', 'aria-label': 'Account', onchange: () => { api.useAccount(select.value); location.hash = link('start'); refreshTree(); } },
    hello.accounts.map(account => h('option', { value: account.name }, account.name)));
  select.value = api.currentAccount();
  return select;
}

const main = h('main', { class: 'main', id: 'main', tabindex: '-1' });
const lostBar = h('div', { class: 'lost', role: 'alert', hidden: true }), problemBar = h('div', { class: 'lost', role: 'alert', hidden: true });
addEventListener('treechange', () => {
  const text = problemOfServer();
  problemBar.hidden = text === '';
  if (problemBar.textContent !== text) problemBar.textContent = text && `${text[0].toUpperCase()}${text.slice(1)}.`;
});

function drawFrame() {
  put(root, h('a', { class: 'skip', href: '#main', onclick: event => { event.preventDefault(); main.focus(); } }, 'Skip to the content'),
    h('div', { class: 'app' },
      h('nav', { class: 'side', 'aria-label': 'Explorer' },
        h('div', { class: 'brand' }, h('a', { href: link('start') }, mark(), 'Tavola'), h('span', { class: 'ver muted' }, hello.version)),
        h('button', { class: 'goto', onclick: goTo }, 'Go to', h('kbd', null, 'Ctrl K')),
        accountMenu(), filterField, treeBox, footBox),
      h('div', { class: 'body' }, lostBar, problemBar, main)));
  setUpTree(link, readRoute);
  drawFoot();
}

/** The bar on top of a view: its title, facts in a line, and buttons. */
export function topBar(title, facts, ...actions) {
  document.title = `${typeof title === 'string' ? title : title.textContent} · Tavola`;
  return h('header', { class: 'top' },
    h('button', { class: 'btn quiet menu', 'aria-label': 'Open the tree', onclick: () => root.querySelector('.app').classList.toggle('nav') }, icon('menu')),
    h('h1', { class: 'crumb' }, title), h('div', { class: 'facts' }, facts), h('span', { class: 'grow' }), actions,
    h('button', { class: 'btn quiet', 'aria-label': 'Switch between light and dark', title: 'Light or dark (d)', onclick: switchTheme }, icon('sun')));
}

/** [name, address, whether it is this one] of each. */
export const tabs = (label, entries) => h('nav', { class: 'tabs', 'aria-label': label }, entries.map(([name, href, isCurrent]) => h('a', { href, 'aria-current': isCurrent ? 'page' : null }, name)));

/** The tabs of a queue or a container: what is in it, and what is set for it. */
export const ownTabs = (kind, name, isAccess) => tabs(name, [
  kind === 'queue' ? ['Messages', link('q', name), !isAccess] : ['Blobs', link('c', name), !isAccess], ['Metadata and access', link('access', kind, name), isAccess]]);

/** Where a view cannot be shown: the service's words, and its id for a log. */
export const troubleBox = trouble => h('div', { class: 'trouble', role: 'alert' },
  h('h2', null, trouble.code || 'This did not work'), h('p', null, trouble.message),
  trouble.requestId && h('p', { class: 'muted' }, 'Request ', h('code', null, trouble.requestId)));

// --- going to a view ---

let leave = null, turn = 0, shownKey = '', wantedKey = '';
let stays = false; // what is under way there outlives a lost server
let wantsFocus = false; // by Go to, or back from the keys: the next view is to be worked in at once

// A view that fails at its end does not keep the next one away.
function leaveView() {
  const left = leave;
  leave = null;
  stays = false;
  try { left?.(); } catch (trouble) { console.error(trouble); }
}

export async function render() {
  if (!hello) return;
  const route = readRoute(), mine = ++turn, key = route.parts.join('/'), address = location.hash;
  wantedKey = key;
  const account = route.query.get('a') || hello.accounts[0].name;
  if (account !== api.currentAccount()) { api.useAccount(account); drawFrame(); refreshTree(); }
  drawTree();
  drawFoot();
  closeLeftDialogs();
  root.querySelector('.app')?.classList.remove('nav');
  leaveView();
  const view = VIEWS[route.parts[0]];
  if (!view) { put(main, notThere(route)); main.dataset.view = address; return; }
  try {
    const module = await view();
    if (mine !== turn) return;
    const shown = await module.show(route);
    if (mine !== turn) { shown.leave?.(); return; }
    leave = shown.leave;
    stays = !!shown.stays;
    put(main, shown.nodes);
    shown.shown?.();
  } catch (trouble) {
    if (mine !== turn) return;
    if (trouble.status === 401) return;
    put(main, topBar('Trouble'), troubleBox(trouble));
    if (!(trouble instanceof api.Trouble)) console.error(trouble);
  }
  main.dataset.view = address; // which one it shows now
  if (key !== shownKey) { shownKey = key; main.focus({ preventScroll: true }); say(document.title); }
  if (wantsFocus) main.querySelector('.grid')?.focus({ preventScroll: true });
  wantsFocus = false;
}

function notThere(route) {
  const near = [['start', 'Connect'], ['advice', 'Advice'], ['server', 'Server']];
  return [topBar('Nothing here'), h('div', { class: 'pad' }, h('p', null, `There is no page at #/${route.parts.join('/')}.`),
    h('ul', { class: 'plain' }, near.map(([id, name]) => h('li', null, h('a', { href: link(id) }, name)))))];
}

// --- go to: everything by its name ---

let goToIsOpen = false;
export async function goTo() {
  if (goToIsOpen) return;
  goToIsOpen = true;
  const entries = [
    ...itemsOf('table').map(({ name }) => ({ name, kind: 'table', href: link('t', name, 'rows') })),
    ...itemsOf('queue').map(({ name }) => ({ name, kind: 'queue', href: link('q', name) })),
    ...itemsOf('blob').map(({ name }) => ({ name, kind: 'container', href: link('c', name) })),
    ...[['Advice', 'advice'], ['Server', 'server'], ['Connect', 'start'], ['Shared access', 'sas'], ['Account', 'account'], ['Service settings', 'settings'], ['Requests', 'requests'], ['Keys', 'help']].map(([name, id]) => ({ name, kind: 'page', href: link(id) })),
    { name: 'Switch between light and dark', kind: 'action', act: switchTheme }, { name: 'Log out', kind: 'action', act: logOut },
  ];
  const fits = (name, wanted) => { let at = 0; for (const c of name.toLowerCase()) if (c === wanted[at]) at++; return at >= wanted.length; };
  const href = await dialog('Go to', close => {
    let found = [], at = 0;
    const list = h('ul', { id: 'goto', role: 'listbox', 'aria-label': 'Places' });
    const field = h('input', {
      type: 'text', placeholder: 'A table, a queue, a container, a page', 'aria-label': 'Go to', role: 'combobox', 'aria-expanded': 'true', 'aria-controls': 'goto', autofocus: true,
      oninput: () => { at = 0; draw(); },
      onkeydown: event => {
        if (event.key === 'ArrowDown' || event.key === 'ArrowUp') { event.preventDefault(); at = (at + (event.key === 'ArrowDown' ? 1 : -1) + found.length) % (found.length || 1); draw(); }
        else if (event.key === 'Enter' && found[at]) { event.preventDefault(); close(found[at]); }
      },
    });
    const draw = () => {
      const wanted = field.value.toLowerCase().replace(/\s/g, '');
      found = entries.filter(entry => fits(entry.name, wanted)).sort((a, b) => (b.name.toLowerCase().startsWith(wanted) ? 1 : 0) - (a.name.toLowerCase().startsWith(wanted) ? 1 : 0)).slice(0, 12);
      field.setAttribute('aria-activedescendant', found.length ? `goto-${at}` : '');
      put(list, found.map((entry, i) => h('li', { id: `goto-${i}`, role: 'option', 'aria-selected': String(i === at), onclick: () => close(entry) }, h('span', null, entry.name), h('span', { class: 'muted' }, entry.kind))),
        found.length === 0 && h('li', { class: 'none' }, 'Nothing has this name.'));
    };
    draw();
    return h('div', { class: 'pal' }, field, list);
  });
  goToIsOpen = false;
  if (href?.act) href.act();
  else if (href && href.href !== location.hash) { wantsFocus = true; location.hash = href.href; }
  else if (href) (main.querySelector('.grid') || main).focus();
}

// --- the keys, and back from them ---

let isFromView = false;
function toKeys() {
  isFromView = true;
  location.hash = link('help');
}

/** What Escape means where nothing else has taken it: the menu of a small window goes, and so does the list of keys. */
function escape() {
  const app = root.querySelector('.app.nav');
  if (app) { app.classList.remove('nav'); app.querySelector('.menu')?.focus(); return true; }
  if (readRoute().parts[0] !== 'help') return false;
  wantsFocus = true;
  if (isFromView) history.back(); else location.hash = link('start');
  isFromView = false;
  return true;
}

// --- keys that work everywhere but in fields ---

// Of "g t" and others: what is no second key means what it means alone.  The second one has all the
// time that somebody needs; whoever does something else meanwhile has given it up.
let waitsForSecond = false;
for (const other of ['pointerdown', 'blur']) addEventListener(other, () => { waitsForSecond = false; });
addEventListener('keydown', event => {
  if (['Shift', 'Control', 'Alt', 'Meta'].includes(event.key)) return; // a part of the next key
  const isSecond = waitsForSecond;
  waitsForSecond = false;
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') { event.preventDefault(); goTo(); return; }
  const inField = event.target.closest?.('input, textarea, select, [contenteditable], dialog');
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'z' && !inField && toast.undo) { event.preventDefault(); document.querySelector('.toast button')?.click(); return; }
  if (inField || event.ctrlKey || event.metaKey || event.altKey) return;
  if (isSecond && 'thas'.includes(event.key)) {
    const table = readRoute().parts[0] === 't' ? readRoute().parts[1] : tableNames()[0];
    if (event.key === 't') (treeBox.querySelector('a') || treeBox.querySelector('button'))?.focus();
    else if (event.key === 'h' && table) location.hash = link('t', table, 'heat');
    else if (event.key === 'a') location.hash = link('advice');
    else if (event.key === 's') location.hash = link('server');
    event.preventDefault();
  } else if (event.key === 'g') waitsForSecond = true;
  else if (event.key === '?' || event.key === 'Escape') {
    if (event.key === '?' && readRoute().parts[0] !== 'help') toKeys();
    else if (escape()) event.preventDefault();
  }
  else if (event.key === 'd') switchTheme();
  else if (event.key === '[' || event.key === ']') {
    const tabs = [...root.querySelectorAll('.tabs a')];
    const next = tabs[tabs.findIndex(tab => tab.hasAttribute('aria-current')) + (event.key === ']' ? 1 : -1)];
    if (next) { location.hash = next.getAttribute('href'); event.preventDefault(); }
  }
});

// --- begin ---

function askForLink(text) {
  hello = null;
  document.title = 'Tavola';
  put(root, h('main', { class: 'login' }, mark(), h('h1', null, 'Tavola'), h('p', null, text || 'This page is opened by a link that the server prints when it starts.'),
    h('p', null, 'Run ', h('code', null, 'tavola server url'), ' for a new one.')));
}

let retryTimer;
function waitForServer() {
  clearTimeout(retryTimer);
  retryTimer = setTimeout(async () => {
    try { hello = await api.hello(); } catch (trouble) { if (trouble.status === 0 || trouble.status === 401) waitForServer(); }
  }, 3000);
}

// A session ends with the server.  What is on screen stays, and goes on with the next one.
const sessionHasEnded = () => ['This session has ended, as it does when the server is started again, a day after its last use and by logging out. Run ', h('code', null, 'tavola server url'),
  ' and open the link in this browser: this page then goes on.'];

api.onChange(change => {
  if (change === 'left') { leaveView(); askForLink('You have logged out, and this session has ended.'); }
  else if (change === 'login' && !hello) askForLink();
  else if (change === 'back') { lostBar.hidden = true; if (!hello) return; drawFoot(); refreshTree().catch(() => {}); if (!stays) render(); }
  else { lostBar.hidden = false; put(lostBar, ...(change === 'login' ? sessionHasEnded() : ['The server does not answer. Trying again in 3 s.'])); drawFoot(); waitForServer(); }
});

addEventListener('hashchange', () => { if (!takeLogin()) render(); });
addEventListener('popstate', () => { /* hashchange follows when it is another address */ });

// #/login/WORD: exchange it and forget it.
function takeLogin() {
  const { parts } = readRoute();
  if (parts[0] !== 'login') return false;
  history.replaceState(null, '', '#/start');
  api.login(parts[1] || '').then(begin, trouble => { if (!hello) begin().catch(() => {}).then(() => { if (!hello) askForLink(trouble.message); }); else toast(trouble.message); });
  return true;
}

async function begin() {
  try {
    hello = await api.hello();
  } catch (trouble) {
    if (trouble.status === 0) { put(root, h('main', { class: 'login' }, mark(), h('h1', null, 'Tavola'), h('p', null, 'The server does not answer. Trying again in 3 s.'))); setTimeout(begin, 3000); return; }
    if (trouble.status !== 401) throw trouble;
    return;
  }
  api.useAccount(readRoute().query.get('a') || hello.accounts[0].name);
  drawFrame();
  refreshTree().catch(() => {});
  await render();
}

// The tree is asked for again while somebody looks at it.
(function look() {
  setTimeout(async () => {
    if (hello && !document.hidden && !api.serverIsLost()) await refreshTree().catch(() => {});
    look();
  }, treePause());
})();

if (!takeLogin()) begin();
