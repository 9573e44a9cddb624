// The end of the server's log, as it is written: the server keeps its last lines in memory.

import { h, put, count, copyButton } from './dom.js';
import * as api from './api.js';

const KEPT = 1000; // lines on the page
const LEVELS = [
  ['debug', 'All'],
  ['warn', 'Warnings'],
  ['error', 'Errors'],
];

/** "time=2026-01-02T03:04:05.123Z level=info event=start port=1" in its parts. */
function partsOf(text) {
  const found = /^time=\S{10}T(\S{8,12})Z level=(\w+) event=(\S+) ?/.exec(text);
  return found
    ? { time: found[1], event: found[3], rest: text.slice(found[0].length) }
    : { time: '', event: '', rest: text };
}

/** A panel that follows the log: {node, leave}. */
export function logTail() {
  let after = 0,
    level = 'debug',
    follows = true,
    isOpen = true,
    timer,
    lines = [],
    turn = 0;
  const list = h('ol', { class: 'log', tabindex: '0', 'aria-label': 'Lines of the log' }),
    note = h('p', { class: 'muted', role: 'status' });
  const field = h('input', {
    class: 'field',
    type: 'search',
    placeholder: 'Only lines with',
    'aria-label': 'Only lines with this text',
    maxlength: '200',
    oninput: () => begin(),
  });
  const levels = h('span', { class: 'seg', role: 'group', 'aria-label': 'Level' });
  const follow = h(
    'button',
    { class: 'btn small', 'aria-pressed': 'true', onclick: () => setFollows(!follows) },
    'Follow',
  );

  function setFollows(on) {
    follows = on;
    follow.setAttribute('aria-pressed', String(on));
    put(follow, on ? 'Following' : 'Follow');
    turn++; // what was asked for before is not added
    clearTimeout(timer);
    if (on) {
      list.scrollTop = list.scrollHeight;
      look();
    }
  }

  function drawLevels() {
    put(
      levels,
      LEVELS.map(([id, name]) =>
        h(
          'button',
          {
            'aria-pressed': String(id === level),
            onclick: () => {
              level = id;
              drawLevels();
              levels.querySelector('[aria-pressed="true"]').focus();
              begin();
            },
          },
          name,
        ),
      ),
    );
  }

  const rowOf = line => {
    const { time, event, rest } = partsOf(line.text);
    return h(
      'li',
      { class: line.level, 'data-n': line.n },
      h('span', { class: 'tm' }, time),
      h('span', { class: 'lv' }, line.level),
      h('span', { class: 'ev' }, event),
      h('span', { class: 'tx', dir: 'auto' }, rest),
    );
  };

  function begin() {
    after = 0;
    lines = [];
    list.replaceChildren();
    clearTimeout(timer);
    look();
  }

  function add(answer) {
    const missed = after > 0 && answer.first > after + 1 ? answer.first - after - 1 : 0;
    if (answer.last < after) {
      lines = [];
      list.replaceChildren();
    } // another start of the server
    if (missed || (answer.cut && after > 0))
      list.append(
        h(
          'li',
          { class: 'gap' },
          missed
            ? `${count(missed)} lines are gone: the server keeps the last 256 KiB.`
            : 'Some lines are left out here.',
        ),
      );
    lines.push(...answer.lines);
    list.append(...answer.lines.map(rowOf));
    while (lines.length > KEPT) lines.shift();
    while (list.childElementCount > KEPT) list.firstElementChild.remove();
    after = answer.last;
    put(
      note,
      lines.length === 0
        ? field.value || level !== 'debug'
          ? 'No line that is kept fits.'
          : 'The log is empty.'
        : `${count(lines.length)} lines.`,
    );
    if (answer.lines.length) list.scrollTop = list.scrollHeight;
  }

  async function look() {
    const mine = ++turn;
    try {
      const answer = await api.log(after, level, field.value);
      if (mine !== turn || !isOpen) return;
      if (answer.last < after) {
        after = 0;
        clearTimeout(timer);
        timer = setTimeout(begin, 0);
        return;
      }
      add(answer);
    } catch (error) {
      if (mine !== turn || error.status === 401) return;
      put(note, error.status === 0 ? 'The server does not answer.' : `No log: ${error.message}`);
    }
    if (isOpen && follows)
      timer = setTimeout(function again() {
        if (document.hidden) timer = setTimeout(again, 1000);
        else look();
      }, 1000);
  }

  // Who scrolls back reads: nothing moves until the end is looked at again.
  list.addEventListener('scroll', () => {
    const atEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 24;
    if (follows && !atEnd && list.matches(':hover, :focus')) setFollows(false);
  });
  drawLevels();
  setFollows(true);
  return {
    node: h(
      'section',
      { class: 'logbox' },
      h(
        'div',
        { class: 'row' },
        h('h2', null, 'Log'),
        note,
        h('span', { class: 'grow' }),
        field,
        levels,
        follow,
        copyButton(() => lines.map(line => line.text).join('\n'), 'Log'),
      ),
      list,
    ),
    leave: () => {
      isOpen = false;
      turn++;
      clearTimeout(timer);
    },
  };
}
