// Copying and renaming a table: what is promised, how far it is, what came of it.

import { h, put, count, plural, ask, toast, say } from './dom.js';
import * as api from './api.js';
import { troubleBox } from './frame.js';
import { factsOf, refreshTree } from './names.js';
import { link } from './route.js';
import { copyEntities, copyPolicies, moveEntities } from './table_copy.js';

// Of a copy that was begun here and has not ended: {to, isMoving}.  Its table may be gone on with.
const storeOf = table => `tavola.copy.${api.currentAccount()}.${table}`;
const begun = table => {
  try {
    return JSON.parse(localStorage.getItem(storeOf(table)));
  } catch {
    return null;
  }
};
const keep = (table, state) =>
  state
    ? localStorage.setItem(storeOf(table), JSON.stringify(state))
    : localStorage.removeItem(storeOf(table));

const entities = number => plural(number, 'entity', 'entities');

const PROMISE = [
  'Each entity is copied, both tables are compared, and then an entity is deleted here only if it is still what was copied. What programs write here meanwhile is found by looking again, and moved too.',
  'At the end this table is empty. It stays until you delete it, so that nothing is lost that a program writes to it in the last moment.',
  'Stored policies are copied; Timestamps and ETags are new; signatures are for the old name. While it lasts an entity is under the old name, under both, or under the new one; one that is deleted here meanwhile may stay in the copy, and is counted.',
];

const askRename = (table, to) =>
  ask(
    `Move all entities of ${table} to ${to}?`,
    'Rename',
    h(
      'span',
      null,
      PROMISE.map(text => h('span', { class: 'para' }, text)),
    ),
  );

/** The table, unless a program has written to it again. */
async function removeEmpty(table) {
  if (
    !(await ask(
      `Delete ${table}, which is empty?`,
      `Delete ${table}`,
      'It is looked at once more. What a program writes to it between that look and the deletion would be lost: do this when none does any more.',
    ))
  )
    return false;
  if ((await api.queryPage(table, { top: 1 })).returned > 0)
    throw new api.Trouble(
      409,
      'NotEmpty',
      `${table} has been written to again, and was not deleted. Rename it once more to move what it has.`,
    );
  await api.deleteTable(table);
  return true;
}

// --- what came of it ---

const isOrAre = number => `${entities(number)} ${number === 1 ? 'is' : 'are'}`;
const lineOfKept = (kept, to) =>
  kept > 0 && ` ${isOrAre(kept)} newer in ${to} than here, and left alone in both.`;
const lineOfGone = (gone, to) =>
  gone > 0 && ` ${isOrAre(gone)} in ${to} that somebody has deleted here meanwhile.`;
const there = to => h('a', { href: link('t', to, 'rows') }, to);

const copied = (table, to, { same, brought, kept, extra }) => [
  brought === 0
    ? [
        `Compared: ${entities(same)} in `,
        there(to),
        kept ? ' are the same as here.' : ', the same as here.',
      ]
    : [
        `${table} is written to all the time. `,
        there(to),
        ` had all of it but ${entities(brought)}, which ${brought === 1 ? 'was' : 'were'} brought over in the last look; there may be more by now.`,
      ],
  lineOfKept(kept, to),
  lineOfGone(extra, to),
];

const moved = (table, to, { moved: number, left, kept, gone }, remove) => [
  `${entities(number)} moved to `,
  there(to),
  left === 0
    ? `. ${table} is empty now. `
    : left === kept
      ? '.'
      : `. ${table} is written to all the time: it had ${entities(left)} when it was last looked at. Stop those programs, and rename it again. `,
  lineOfKept(kept, to),
  lineOfGone(gone, to),
  left === 0 &&
    h('button', { class: 'btn small', type: 'button', onclick: remove }, 'Delete the empty table'),
];

// --- doing it ---

/** The table that it goes to: a new one, or that of a copy which was begun here. */
async function make(table, to) {
  const earlier = begun(table);
  try {
    await api.createTable(to);
  } catch (error) {
    if (error.code !== 'TableAlreadyExists' || earlier?.to !== to) throw error;
    return earlier;
  }
  keep(table, { to, isMoving: false });
  refreshTree();
  return { to, isMoving: false };
}

/** What came of it, as nodes; `on`: {signal, report, remove}. */
async function run(table, to, isRename, on) {
  const state = await make(table, to);
  let extra = 0;
  if (!isRename || !state.isMoving) {
    await copyPolicies(table, to);
    const sums = await copyEntities(table, to, on);
    extra = state.isMoving ? 0 : sums.extra; // else it is what was moved
    if (!isRename && sums.brought === 0 && !state.isMoving) keep(table, null);
    if (!isRename) return copied(table, to, { ...sums, extra });
  }
  keep(table, { to, isMoving: true });
  const sums = await moveEntities(table, to, on);
  if (sums.left === 0) keep(table, null);
  return moved(table, to, { ...sums, gone: sums.gone + extra }, on.remove);
}

export function copySection(table) {
  const before = begun(table);
  const field = h('input', {
    class: 'field mono',
    'aria-label': 'New name of the table',
    placeholder: 'New name',
    value: before?.to || '',
    autocomplete: 'off',
  });
  const progress = h('p', { role: 'status' }),
    trouble = h('div', { role: 'alert' });
  let stop = null;
  const stopButton = h(
    'button',
    { class: 'btn', type: 'button', hidden: true, onclick: () => stop?.abort() },
    'Stop',
  );
  const buttons = [
    h('button', { class: 'btn', type: 'button', onclick: () => start(false) }, 'Copy'),
    h('button', { class: 'btn', type: 'button', onclick: () => start(true) }, 'Rename'),
  ];
  const setRunning = on => {
    stopButton.hidden = !on;
    for (const each of [...buttons, field]) each.disabled = on;
  };

  function report(what, seen) {
    const total = factsOf(table)?.entities;
    if (seen % 100 === 0)
      put(progress, `${what}: ${count(seen)}${total ? ` of about ${count(total)}` : ''}`);
  }

  async function remove() {
    put(trouble);
    try {
      if (!(await removeEmpty(table))) return;
    } catch (error) {
      put(trouble, troubleBox(error));
      return;
    }
    toast(`${table} deleted`);
    location.hash = link('start');
    refreshTree();
  }

  async function start(isRename) {
    const to = field.value.trim();
    put(trouble);
    if (!to) {
      field.focus();
      return;
    }
    if (isRename && !(await askRename(table, to))) return;
    stop = new AbortController();
    setRunning(true);
    stopButton.focus();
    put(progress, 'Copying');
    try {
      put(progress, await run(table, to, isRename, { signal: stop.signal, report, remove }));
      say(progress.textContent);
    } catch (error) {
      const rest =
        begun(table)?.to === to
          ? `Every entity is in ${table} or in ${to}; the same button goes on.`
          : '';
      put(progress, error.name === 'AbortError' ? 'Stopped. ' : '', rest);
      if (error.name !== 'AbortError') put(trouble, troubleBox(error));
    }
    stop = null;
    const isHere = document.activeElement === stopButton;
    setRunning(false);
    if (isHere) buttons[Number(isRename)].focus();
    refreshTree();
  }

  if (before)
    put(
      progress,
      `${before.isMoving ? 'A renaming' : 'A copy'} to ${before.to} has not ended; the same button goes on.`,
    );
  return {
    node: h(
      'section',
      { class: 'card io', 'aria-label': 'Copy or rename' },
      h('h2', null, 'Copy or rename'),
      h('p', { class: 'soft' }, 'To a new table of this account, page by page, then compared.'),
      h('div', { class: 'row' }, field, buttons, stopButton),
      progress,
      trouble,
    ),
    leave: () => stop?.abort(),
  };
}
