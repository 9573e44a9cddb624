// What the page begins with: the login, the frame, which view the address asks for, and the keys that work
// everywhere.  All other files do nothing until somebody calls them.

import { h, put, say, toast, closeLeftDialogs } from './dom.js';
import * as api from './api.js';
import { drawFoot, foot, mark, setUpTheme, switchTheme, topBar, troubleBox } from './frame.js';
import { goTo } from './goto.js';
import { problemOfServer, refreshTree, tableNames, treePause } from './names.js';
import { keyOf, link, readRoute, wantView } from './route.js';
import { drawTree, treeNodes } from './tree.js';

const root = document.getElementById('app');

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

function accountMenu() {
  const select = h(
    'select',
    {
      class: 'acct',
      'aria-label': 'Account',
      onchange: () => {
        api.useAccount(select.value);
        location.hash = link('start');
        refreshTree();
      },
    },
    api.serverFacts().accounts.map(account => h('option', { value: account.name }, account.name)),
  );
  select.value = api.currentAccount();
  return select;
}

const main = h('main', { class: 'main', id: 'main', tabindex: '-1' });
const lostBar = h('div', { class: 'lost', role: 'alert', hidden: true }),
  problemBar = h('div', { class: 'lost', role: 'alert', hidden: true });
addEventListener('treechange', () => {
  const text = problemOfServer();
  problemBar.hidden = text === '';
  if (problemBar.textContent !== text)
    problemBar.textContent = text && `${text[0].toUpperCase()}${text.slice(1)}.`;
});

function drawFrame() {
  put(
    root,
    h(
      'a',
      {
        class: 'skip',
        href: '#main',
        onclick: event => {
          event.preventDefault();
          main.focus();
        },
      },
      'Skip to the content',
    ),
    h(
      'div',
      { class: 'app' },
      h(
        'nav',
        { class: 'side', 'aria-label': 'Explorer' },
        h(
          'div',
          { class: 'brand' },
          h('a', { href: link('start') }, mark(), 'Tavola'),
          h('span', { class: 'ver muted' }, api.serverFacts().version),
        ),
        h('button', { class: 'goto', onclick: choosePlace }, 'Go to', h('kbd', null, 'Ctrl K')),
        accountMenu(),
        treeNodes(),
        foot(),
      ),
      h('div', { class: 'body' }, lostBar, problemBar, main),
    ),
  );
}

// --- going to a view ---

let leave = null,
  turn = 0,
  shownKey = '';
let stays = false; // what is under way there outlives a lost server
let wantsFocus = false; // by Go to, or back from the keys: the next view is to be worked in at once

// A view that fails at its end does not keep the next one away.
function leaveView() {
  const left = leave;
  leave = null;
  stays = false;
  try {
    left?.();
  } catch (trouble) {
    console.error(trouble);
  }
}

async function render() {
  if (!api.serverFacts()) return;
  const route = readRoute(),
    mine = ++turn,
    key = keyOf(route),
    address = location.hash;
  wantView(key);
  const account = route.query.get('a') || api.serverFacts().accounts[0].name;
  if (account !== api.currentAccount()) {
    api.useAccount(account);
    drawFrame();
    refreshTree();
  }
  drawTree();
  drawFoot();
  closeLeftDialogs();
  root.querySelector('.app')?.classList.remove('nav');
  leaveView();
  const view = VIEWS[route.parts[0]];
  if (!view) {
    put(main, notThere(route));
    main.dataset.view = address;
    return;
  }
  try {
    const module = await view();
    if (mine !== turn) return;
    const shown = await module.show(route);
    if (mine !== turn) {
      shown.leave?.();
      return;
    }
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
  if (key !== shownKey) {
    shownKey = key;
    main.focus({ preventScroll: true });
    say(document.title);
  }
  if (wantsFocus) main.querySelector('.grid')?.focus({ preventScroll: true });
  wantsFocus = false;
}

function notThere(route) {
  const near = [
    ['start', 'Connect'],
    ['advice', 'Advice'],
    ['server', 'Server'],
  ];
  return [
    topBar('Nothing here'),
    h(
      'div',
      { class: 'pad' },
      h('p', null, `There is no page at #/${route.parts.join('/')}.`),
      h(
        'ul',
        { class: 'plain' },
        near.map(([id, name]) => h('li', null, h('a', { href: link(id) }, name))),
      ),
    ),
  ];
}

async function choosePlace() {
  const chosen = await goTo();
  if (chosen?.act) chosen.act();
  else if (chosen && chosen.href !== location.hash) {
    wantsFocus = true;
    location.hash = chosen.href;
  } else if (chosen) (main.querySelector('.grid') || main).focus();
}

// --- the keys, and back from them ---

let isFromView = false;
function toKeys() {
  isFromView = true;
  location.hash = link('help');
}

/** What Escape means where nothing else has taken it: the menu of a small window goes, and so does the list of keys. */
function onEscape() {
  const app = root.querySelector('.app.nav');
  if (app) {
    app.classList.remove('nav');
    app.querySelector('.menu')?.focus();
    return true;
  }
  if (readRoute().parts[0] !== 'help') return false;
  wantsFocus = true;
  if (isFromView) history.back();
  else location.hash = link('start');
  isFromView = false;
  return true;
}

// --- keys that work everywhere but in fields ---

// Of "g t" and others: what is no second key means what it means alone.  The second one has all the
// time that somebody needs; whoever does something else meanwhile has given it up.
let waitsForSecond = false;
for (const other of ['pointerdown', 'blur'])
  addEventListener(other, () => {
    waitsForSecond = false;
  });
addEventListener('keydown', event => {
  if (['Shift', 'Control', 'Alt', 'Meta'].includes(event.key)) return; // a part of the next key
  const isSecond = waitsForSecond;
  waitsForSecond = false;
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
    event.preventDefault();
    choosePlace();
    return;
  }
  const inField = event.target.closest?.('input, textarea, select, [contenteditable], dialog');
  if (
    (event.ctrlKey || event.metaKey) &&
    event.key.toLowerCase() === 'z' &&
    !inField &&
    toast.undo
  ) {
    event.preventDefault();
    document.querySelector('.toast button')?.click();
    return;
  }
  if (inField || event.ctrlKey || event.metaKey || event.altKey) return;
  if (isSecond && 'thas'.includes(event.key)) {
    const table = readRoute().parts[0] === 't' ? readRoute().parts[1] : tableNames()[0];
    if (event.key === 't')
      (document.querySelector('#tree a') || document.querySelector('#tree button'))?.focus();
    else if (event.key === 'h' && table) location.hash = link('t', table, 'heat');
    else if (event.key === 'a') location.hash = link('advice');
    else if (event.key === 's') location.hash = link('server');
    event.preventDefault();
  } else if (event.key === 'g') waitsForSecond = true;
  else if (event.key === '?' || event.key === 'Escape') {
    if (event.key === '?' && readRoute().parts[0] !== 'help') toKeys();
    else if (onEscape()) event.preventDefault();
  } else if (event.key === 'd') switchTheme();
  else if (event.key === '[' || event.key === ']') {
    const tabs = [...root.querySelectorAll('.tabs a')];
    const next =
      tabs[tabs.findIndex(tab => tab.hasAttribute('aria-current')) + (event.key === ']' ? 1 : -1)];
    if (next) {
      location.hash = next.getAttribute('href');
      event.preventDefault();
    }
  }
});

// --- begin ---

function askForLink(text) {
  api.forgetServer();
  document.title = 'Tavola';
  put(
    root,
    h(
      'main',
      { class: 'login' },
      mark(),
      h('h1', null, 'Tavola'),
      h('p', null, text || 'This page is opened by a link that the server prints when it starts.'),
      h('p', null, 'Run ', h('code', null, 'tavola server url'), ' for a new one.'),
    ),
  );
}

let retryTimer;
function waitForServer() {
  clearTimeout(retryTimer);
  retryTimer = setTimeout(async () => {
    try {
      await api.hello();
    } catch (trouble) {
      if (trouble.status === 0 || trouble.status === 401) waitForServer();
    }
  }, 3000);
}

// A session ends with the server.  What is on screen stays, and goes on with the next one.
const sessionHasEnded = () => [
  'This session has ended, as it does when the server is started again, a day after its last use and by logging out. Run ',
  h('code', null, 'tavola server url'),
  ' and open the link in this browser: this page then goes on.',
];

api.onChange(change => {
  if (change === 'left') {
    leaveView();
    askForLink('You have logged out, and this session has ended.');
  } else if (change === 'login' && !api.serverFacts()) askForLink();
  else if (change === 'back') {
    lostBar.hidden = true;
    if (!api.serverFacts()) return;
    drawFoot();
    refreshTree().catch(() => {});
    if (!stays) render();
  } else {
    lostBar.hidden = false;
    put(
      lostBar,
      ...(change === 'login'
        ? sessionHasEnded()
        : ['The server does not answer. Trying again in 3 s.']),
    );
    drawFoot();
    waitForServer();
  }
});

addEventListener('hashchange', () => {
  if (!takeLogin()) render();
});

// #/login/WORD: exchange it and forget it.
function takeLogin() {
  const { parts } = readRoute();
  if (parts[0] !== 'login') return false;
  history.replaceState(null, '', '#/start');
  api.login(parts[1] || '').then(begin, trouble => {
    if (!api.serverFacts())
      begin()
        .catch(() => {})
        .then(() => {
          if (!api.serverFacts()) askForLink(trouble.message);
        });
    else toast(trouble.message);
  });
  return true;
}

async function begin() {
  try {
    await api.hello();
  } catch (trouble) {
    if (trouble.status === 0) {
      put(
        root,
        h(
          'main',
          { class: 'login' },
          mark(),
          h('h1', null, 'Tavola'),
          h('p', null, 'The server does not answer. Trying again in 3 s.'),
        ),
      );
      setTimeout(begin, 3000);
      return;
    }
    if (trouble.status !== 401) throw trouble;
    return;
  }
  api.useAccount(readRoute().query.get('a') || api.serverFacts().accounts[0].name);
  drawFrame();
  refreshTree().catch(() => {});
  await render();
}

// The tree is asked for again while somebody looks at it.
(function look() {
  setTimeout(async () => {
    if (api.serverFacts() && !document.hidden && !api.serverIsLost())
      await refreshTree().catch(() => {});
    look();
  }, treePause());
})();

setUpTheme();
if (!takeLogin()) begin();
