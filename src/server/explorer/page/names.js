// What an account has: its tables, queues and containers with their counts and rates, asked for
// again and again in one request.

import { count } from './dom.js';
import * as api from './api.js';

const POINTS = 24;
const MANY = 2000; // names, from which on they are asked for less often

/** Of names: how the protocol, addresses and people call them. */
export const KINDS = [
  {
    id: 'table',
    title: 'Tables',
    letter: 't',
    of: 'tables',
    items: 'entities',
    one: 'entity',
    many: 'entities',
    none: 'Tables show up here when your app makes them.',
  },
  {
    id: 'queue',
    title: 'Queues',
    letter: 'q',
    of: 'queues',
    items: 'messages',
    one: 'message',
    many: 'messages',
    none: 'No queues.',
  },
  {
    id: 'blob',
    title: 'Containers',
    letter: 'c',
    inner: 'b',
    of: 'containers',
    items: 'blobs',
    one: 'blob',
    many: 'blobs',
    none: 'No containers.',
  },
];

/** Names that no application has made, as $MetricsHourPrimaryTransactionsTable. */
export const isHidden = name => name.startsWith('$');

/** "48,213", "about 12" or "" while it is not known. */
export const countText = (item, short = count) =>
  item.items == null ? '' : `${item.exact ? '' : 'about '}${short(item.items)}`;

/** "12/s", "0.4/s"; "" without a request. */
export const rateText = rate => (!rate ? '' : `${rate >= 10 ? count(rate) : rate.toFixed(1)}/s`);

// --- what is known ---

const state = {
  table: [],
  queue: [],
  blob: [],
  hasMore: false,
  problem: '',
  first: null,
  isThere: false,
};
const known = new Map(); // "table People" -> item
let askedAt = 0,
  askedAccount = '';

export const itemsOf = kind => state[kind];
export const tableNames = () => state.table.map(item => item.name);
export const factsOf = table => {
  const item = known.get(`table ${table}`);
  return item?.items == null ? undefined : { ...item, entities: item.items };
};
export const treeIsThere = () => state.isThere;
export const firstRequest = () => state.first;
export const problemOfServer = () => state.problem;

function itemOf(kind, given, seconds) {
  const key = `${kind.id} ${given.name}`,
    before = known.get(key);
  const item = before || {
    name: given.name,
    kind: kind.id,
    points: new Array(POINTS).fill(0),
    rate: 0,
  };
  if (before && seconds > 0) {
    item.rate = Math.max(0, given.requests - before.requests) / seconds;
    item.points.push(item.rate);
    item.points.shift();
  }
  Object.assign(item, {
    requests: given.requests,
    items: given[kind.items],
    bytes: given.bytes,
    exact: given.exact,
  });
  return item;
}

let asking = null,
  next = null;

/**
 * Ask for all of it again; whoever listens hears 'treechange'.  What is under way may have been
 * answered before something that the caller has done: then it is asked for once more, behind it.
 */
export function refreshTree() {
  if (!asking) {
    asking = ask().finally(() => {
      asking = null;
    });
    return asking;
  }
  next ??= asking
    .catch(() => {})
    .then(() => {
      next = null;
      return refreshTree();
    });
  return next;
}

async function ask() {
  const account = api.currentAccount(),
    answer = await api.tree();
  if (account !== api.currentAccount()) {
    asking = null;
    return refreshTree();
  }
  const now = performance.now(),
    seconds = account === askedAccount && askedAt ? (now - askedAt) / 1000 : 0;
  if (account !== askedAccount) known.clear();
  const all = new Set();
  for (const kind of KINDS) {
    state[kind.id] = answer[kind.of]
      .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
      .map(given => itemOf(kind, given, seconds));
    for (const item of state[kind.id]) {
      known.set(`${kind.id} ${item.name}`, item);
      all.add(`${kind.id} ${item.name}`);
    }
  }
  for (const key of known.keys()) if (!all.has(key)) known.delete(key);
  Object.assign(state, {
    hasMore: answer.more,
    problem: answer.problem,
    first: answer.first || null,
    isThere: true,
  });
  [askedAt, askedAccount] = [now, account];
  dispatchEvent(new Event('treechange'));
}

/** How long to wait before it is asked for again, in milliseconds. */
export const treePause = () => (known.size > MANY ? 10000 : 2000);
