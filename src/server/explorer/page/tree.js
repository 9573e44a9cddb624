// What an account has: its tables, queues and containers with their counts and rates, asked for
// again and again in one request; and the tree of their names at the side.

import { h, put, sparkline, count, shortCount, shortened, plural, bytes } from './dom.js';
import * as api from './api.js';

const POINTS = 24;
const SHOWN_MAX = 400; // of a group; the field above finds the others
const MANY = 2000;     // names, from which on they are asked for less often

const KINDS = [
  { id: 'table', title: 'Tables', letter: 't', of: 'tables', items: 'entities', one: 'entity', many: 'entities', none: 'Tables show up here when your app makes them.' },
  { id: 'queue', title: 'Queues', letter: 'q', of: 'queues', items: 'messages', one: 'message', many: 'messages', none: 'No queues.' },
  { id: 'blob', title: 'Containers', letter: 'c', inner: 'b', of: 'containers', items: 'blobs', one: 'blob', many: 'blobs', none: 'No containers.' },
];

/** Names that no application has made, as $MetricsHourPrimaryTransactionsTable. */
const isHidden = name => name.startsWith('$');

/** "48,213", "about 12" or "" while it is not known. */
export const countText = (item, short = count) => item.items == null ? '' : `${item.exact ? '' : 'about '}${short(item.items)}`;

/** "12/s", "0.4/s"; "" without a request. */
export const rateText = rate => !rate ? '' : `${rate >= 10 ? count(rate) : rate.toFixed(1)}/s`;

// --- what is known ---

const state = { table: [], queue: [], blob: [], hasMore: false, problem: '', first: null, isThere: false };
const known = new Map(); // "table People" -> item
let askedAt = 0, askedAccount = '';

export const itemsOf = kind => state[kind];
export const tableNames = () => state.table.map(item => item.name);
export const factsOf = table => { const item = known.get(`table ${table}`); return item?.items == null ? undefined : { ...item, entities: item.items }; };
export const treeIsThere = () => state.isThere;
export const firstRequest = () => state.first;
export const problemOfServer = () => state.problem;

function itemOf(kind, given, seconds) {
  const key = `${kind.id} ${given.name}`, before = known.get(key);
  const item = before || { name: given.name, kind: kind.id, points: new Array(POINTS).fill(0), rate: 0 };
  if (before && seconds > 0) {
    item.rate = Math.max(0, given.requests - before.requests) / seconds;
    item.points.push(item.rate);
    item.points.shift();
  }
  Object.assign(item, { requests: given.requests, items: given[kind.items], bytes: given.bytes, exact: given.exact });
  return item;
}

let asking = null, next = null;

/**
 * Ask for all of it again; whoever listens hears 'treechange'.  What is under way may have been
 * answered before something that the caller has done: then it is asked for once more, behind it.
 */
export function refreshTree() {
  if (!asking) {
    asking = ask().finally(() => { asking = null; });
    return asking;
  }
  next ??= asking.catch(() => {}).then(() => { next = null; return refreshTree(); });
  return next;
}

async function ask() {
  const account = api.currentAccount(), answer = await api.tree();
  if (account !== api.currentAccount()) { asking = null; return refreshTree(); }
  const now = performance.now(), seconds = account === askedAccount && askedAt ? (now - askedAt) / 1000 : 0;
  if (account !== askedAccount) known.clear();
  const all = new Set();
  for (const kind of KINDS) {
    state[kind.id] = answer[kind.of].sort((a, b) => a.name < b.name ? -1 : a.name > b.name ? 1 : 0).map(given => itemOf(kind, given, seconds));
    for (const item of state[kind.id]) { known.set(`${kind.id} ${item.name}`, item); all.add(`${kind.id} ${item.name}`); }
  }
  for (const key of known.keys()) if (!all.has(key)) known.delete(key);
  Object.assign(state, { hasMore: answer.more, problem: answer.problem, first: answer.first || null, isThere: true });
  [askedAt, askedAccount] = [now, account];
  draw();
  dispatchEvent(new Event('treechange'));
}

/** How long to wait before it is asked for again, in milliseconds. */
export const treePause = () => known.size > MANY ? 10000 : 2000;

// --- the tree ---

let addressOf = () => '', currentOf = () => ({});
const box = h('div', { class: 'tree', id: 'tree' });
export const treeBox = box;
export const filterField = h('input', {
  class: 'field filter', type: 'search', placeholder: 'Filter names', 'aria-label': 'Filter names', oninput: () => draw(),
  onkeydown: event => {
    if (event.key === 'ArrowDown') { event.preventDefault(); box.querySelector('a')?.focus(); }
    else if (event.key === 'Enter') box.querySelector('a')?.click();
    else if (event.key === 'Escape' && filterField.value) { event.preventDefault(); filterField.value = ''; draw(); }
  },
});

/** Tell where a name leads, link(...), and what is shown, readRoute(); then draw it. */
export function setUpTree(link, readRoute) {
  addressOf = link;
  currentOf = readRoute;
  draw();
}

const closed = new Set(['hidden']); // groups whose names are not shown
const nodes = new Map();            // key -> what is drawn of it, kept so that focus stays
const groups = new Map();

function nodeOf(item) {
  const key = `${item.kind} ${item.name}`;
  let node = nodes.get(key);
  if (!node) {
    const spark = h('span', { class: 'sp' }), number = h('span', { class: 'ct' });
    const a = h('a', { class: 'node' }, h('span', { class: 'nm' }, shortened(item.name, 34)), spark, number);
    node = { row: h('li', null, a), a, spark, number, drawn: '' };
    nodes.set(key, node);
  }
  const kind = KINDS.find(each => each.id === item.kind);
  const { parts } = currentOf();
  const isCurrent = parts?.[0] === 'access' ? parts[1] === kind.id && parts[2] === item.name : [kind.letter, kind.inner].includes(parts?.[0]) && parts[1] === item.name;
  node.a.href = kind.id === 'table' ? addressOf('t', item.name, 'rows') : addressOf(kind.letter, item.name);
  if (isCurrent) node.a.setAttribute('aria-current', 'page'); else node.a.removeAttribute('aria-current');
  const text = [item.name, item.items != null && `${item.exact ? '' : 'about '}${plural(item.items, kind.one, kind.many)}`, item.bytes != null && bytes(item.bytes), item.rate > 0 && rateText(item.rate)].filter(Boolean).join(', ');
  if (node.drawn === text && !item.points.some(Boolean) && !node.spark.firstChild) return node;
  node.drawn = text;
  node.a.title = text;
  node.a.setAttribute('aria-label', text);
  node.number.textContent = item.items == null ? '' : `${item.exact ? '' : '~'}${shortCount(item.items)}`;
  put(node.spark, item.points.some(Boolean) && sparkline(item.points));
  return node;
}

function groupOf(id, title) {
  let group = groups.get(id);
  if (!group) {
    const number = h('span', { class: 'num' }), note = h('p', { class: 'none' }), list = h('ul', { id: `names-${id}` }), more = h('p', { class: 'none' });
    const button = h('button', { class: 'grp', 'aria-controls': `names-${id}`, 'aria-expanded': 'true', onclick: () => { closed.has(id) ? closed.delete(id) : closed.add(id); draw(); } }, h('span', null, title), number);
    group = { box: h('section', null, h('h2', { class: 'grph' }, button), note, list, more), button, number, note, list, more, shown: '' };
    groups.set(id, group);
  }
  return group;
}

function drawGroup(id, title, items, total, none, wanted) {
  const group = groupOf(id, title), isOpen = !closed.has(id) || (wanted !== '' && items.length > 0);
  const shown = isOpen ? items.slice(0, SHOWN_MAX).map(nodeOf) : [];
  group.button.setAttribute('aria-expanded', String(isOpen));
  group.number.textContent = count(total);
  group.note.textContent = !isOpen ? '' : !state.isThere ? 'Loading.' : items.length > 0 ? '' : wanted ? 'None has this in its name.' : none;
  group.note.hidden = group.note.textContent === '';
  group.more.textContent = isOpen && items.length > SHOWN_MAX ? `${count(items.length - SHOWN_MAX)} more: filter by name.` : '';
  group.more.hidden = group.more.textContent === '';
  const key = shown.map(node => node.a.title.split(',')[0]).join('\n');
  if (key !== group.shown || group.list.childElementCount !== shown.length) {
    const focused = group.list.contains(document.activeElement) ? document.activeElement : null;
    group.list.replaceChildren(...shown.map(node => node.row));
    group.shown = key;
    if (focused) (focused.isConnected ? focused : group.button).focus({ preventScroll: true });
  }
  return group.box;
}

function draw() {
  const wanted = filterField.value.toLowerCase();
  filterField.hidden = known.size < 12 && !wanted;
  const fits = item => item.name.toLowerCase().includes(wanted);
  const boxes = KINDS.map(kind => {
    const own = state[kind.id].filter(item => !isHidden(item.name));
    return drawGroup(kind.id, kind.title, own.filter(fits), own.length, kind.none, wanted);
  });
  const hidden = KINDS.flatMap(kind => state[kind.id].filter(item => isHidden(item.name)));
  if (hidden.length) boxes.push(drawGroup('hidden', 'Hidden', hidden.filter(fits), hidden.length, '', wanted));
  // One that comes or goes leaves the others where they are, and their focus.
  for (const each of [...box.children]) if (!boxes.includes(each)) each.remove();
  boxes.forEach((each, i) => { if (box.children[i] !== each) box.insertBefore(each, box.children[i] || null); });
  for (const key of nodes.keys()) if (!known.has(key)) nodes.delete(key);
}
export const drawTree = draw;

// Up and down go over what is shown, left and right close and open a group.
box.addEventListener('keydown', event => {
  const stops = [...box.querySelectorAll('.grp, .node')], at = stops.indexOf(document.activeElement);
  if (at < 0 || event.ctrlKey || event.altKey || event.metaKey) return;
  const isGroup = stops[at].matches('.grp');
  if (event.key === 'ArrowDown') stops[at + 1]?.focus();
  else if (event.key === 'ArrowUp') { if (stops[at - 1]) stops[at - 1].focus(); else if (!filterField.hidden) filterField.focus(); }
  else if (event.key === 'Home') stops[0].focus();
  else if (event.key === 'End') stops[stops.length - 1].focus();
  else if (event.key === 'ArrowLeft' && isGroup) { if (stops[at].getAttribute('aria-expanded') === 'true') stops[at].click(); }
  else if (event.key === 'ArrowRight' && isGroup) { if (stops[at].getAttribute('aria-expanded') === 'false') stops[at].click(); else stops[at + 1]?.focus(); }
  else if (event.key === 'ArrowLeft') stops[at].closest('section').querySelector('.grp').focus();
  else return;
  event.preventDefault();
});
