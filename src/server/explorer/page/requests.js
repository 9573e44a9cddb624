// The requests of applications as they are answered.  The server keeps them only while somebody looks.

import { h, put, count, plural, bytes, milliseconds } from './dom.js';
import * as api from './api.js';
import { topBar } from './frame.js';
import { link } from './route.js';

const KEPT = 2000,
  SHOWN = 300;
const SERVICES = { '': 'All', table: 'Tables', queue: 'Queues', blob: 'Blobs' };

const textOf = each =>
  [
    each.service,
    each.method,
    each.operation,
    each.path,
    each.status,
    each.code,
    each.peer,
    each.agent,
    each.requestId,
  ]
    .join(' ')
    .toLowerCase();
const cell = (name, ...children) => h('td', { 'data-name': name }, children);

const rowOf = each =>
  h(
    'tr',
    null,
    h('td', { class: 'nowrap num', 'data-name': 'At' }, each.at.slice(11, 23).replace('Z', '')),
    cell('Operation', each.operation),
    h('td', { dir: 'auto' }, h('span', { class: 'mono' }, `${each.method} ${each.path}`)),
    cell(
      'Status',
      each.status >= 400
        ? h(
            'span',
            { class: each.status >= 500 ? 'chip table' : 'chip part' },
            `${each.status} ${each.code || ''}`,
          )
        : each.status,
    ),
    h('td', { class: 'r', 'data-name': 'Took' }, milliseconds(each.us / 1000)),
    h(
      'td',
      { class: 'r', 'data-name': 'In, out' },
      `${bytes(each.bytesIn)}, ${bytes(each.bytesOut)}`,
    ),
    h(
      'td',
      { title: `${each.agent}, request ${each.requestId}`, 'data-name': 'From' },
      each.peer,
      ' ',
      h('span', { class: 'muted' }, each.agent.split(' ')[0]),
    ),
  );

/** {node, fits}: which requests are wanted; `changed()` is told when it is others. */
function filter(changed) {
  let service = '';
  const field = h('input', {
    class: 'field',
    type: 'search',
    placeholder: 'Only requests with',
    'aria-label': 'Only requests with this text',
    oninput: changed,
  });
  const failed = h('input', { type: 'checkbox', onchange: changed }),
    seg = h('span', { class: 'seg', role: 'group', 'aria-label': 'Service' });
  const draw = () =>
    put(
      seg,
      Object.entries(SERVICES).map(([id, name]) =>
        h(
          'button',
          {
            'aria-pressed': String(id === service),
            onclick: () => {
              service = id;
              draw();
              seg.querySelector('[aria-pressed="true"]').focus();
              changed();
            },
          },
          name,
        ),
      ),
    );
  draw();
  return {
    node: [field, seg, h('label', { class: 'row' }, failed, 'Refused or failed')],
    fits: each =>
      (!service || each.service === service) &&
      (!failed.checked || each.status >= 400) &&
      textOf(each).includes(field.value.toLowerCase()),
  };
}

export async function show() {
  let after = 0,
    isOpen = true,
    isPaused = false,
    timer,
    turn = 0,
    kept = [],
    missed = 0,
    hasGap = false;
  const body = h('tbody'),
    note = h('p', { class: 'muted' }),
    state = h('span', { class: 'sr', role: 'status' });
  const pause = h('button', { class: 'btn', onclick: () => setPaused(!isPaused) }, 'Pause');
  const { node: bar, fits } = filter(() => draw());

  function drawNote(number) {
    put(
      note,
      kept.length === 0
        ? 'Nothing yet: this list begins when it is opened. Send a request.'
        : [
            `${plural(number, 'request')}${number > SHOWN ? `, the latest ${SHOWN} shown` : ''}`,
            missed > 0 && `, ${count(missed)} left out because there were too many`,
            '.',
            hasGap && ' Some are missing: nobody has looked for a minute.',
          ],
    );
  }

  function draw() {
    const found = kept.filter(fits);
    put(body, found.slice(-SHOWN).reverse().map(rowOf));
    drawNote(found.length);
  }

  // What is on screen stays: new rows come before it.
  function add(requests) {
    kept.push(...requests);
    kept.splice(0, kept.length - KEPT);
    body.prepend(...requests.filter(fits).slice(-SHOWN).reverse().map(rowOf));
    while (body.childElementCount > SHOWN) body.lastElementChild.remove();
    drawNote(kept.filter(fits).length);
  }

  function setPaused(on) {
    isPaused = on;
    put(pause, on ? 'Go on' : 'Pause');
    put(state, on ? 'Paused' : 'Going on');
    turn++;
    clearTimeout(timer);
    if (!on) look();
  }

  async function look() {
    const mine = ++turn;
    try {
      const answer = await api.requests(after);
      if (mine !== turn || !isOpen) return;
      if (answer.last < after) after = 0; // another start of the server
      const oldest = answer.requests[0]?.n ?? answer.last + 1;
      if (after > 0) missed += Math.max(0, oldest - after - 1);
      const isFirst = after === 0 && kept.length === 0;
      after = answer.last;
      if (answer.wasOff && kept.length) hasGap = true;
      if (answer.requests.length) add(answer.requests);
      else if (isFirst) drawNote(0);
    } catch (error) {
      if (mine !== turn || error.status === 401) return;
      put(note, error.status === 0 ? 'The server does not answer.' : error.message);
    }
    if (isOpen && !isPaused)
      timer = setTimeout(function again() {
        if (document.hidden) timer = setTimeout(again, 1000);
        else look();
      }, 1000);
  }

  await look();
  return {
    nodes: [
      topBar(
        'Requests',
        '',
        pause,
        h(
          'button',
          {
            class: 'btn quiet',
            onclick: () => {
              kept = [];
              missed = 0;
              hasGap = false;
              draw();
            },
          },
          'Clear',
        ),
      ),
      h(
        'div',
        { class: 'pad' },
        h(
          'div',
          { class: 'row' },
          bar,
          h('span', { class: 'grow' }),
          h('a', { href: link('server') }, 'Server'),
        ),
        h(
          'p',
          { class: 'soft' },
          'As they are answered, without those of this page; times are UTC. No query string is kept.',
        ),
        note,
        state,
        h(
          'div',
          { class: 'scrollx' },
          h(
            'table',
            { class: 'list stack requests' },
            h(
              'thead',
              null,
              h(
                'tr',
                null,
                ['At', 'Operation', 'Request', 'Status', 'Took', 'In, out', 'From'].map(name =>
                  h(
                    'th',
                    { scope: 'col', class: name === 'Took' || name === 'In, out' ? 'r' : null },
                    name,
                  ),
                ),
              ),
            ),
            body,
          ),
        ),
      ),
    ],
    leave: () => {
      isOpen = false;
      turn++;
      clearTimeout(timer);
    },
  };
}
