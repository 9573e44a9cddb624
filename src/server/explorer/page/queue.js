// A queue: what waits in it, without taking it; putting, clearing, and messages that keep coming back.

import { h, put, count, plural, toast, ask, visible } from './dom.js';
import * as api from './api.js';
import * as messages from './messages.js';
import { deleteButton, ownTabs, topBar, troubleBox } from './frame.js';
import { itemsOf, rateText, refreshTree } from './names.js';
import { link } from './route.js';
import { takenBox, numberField, time } from './taken.js';

const WARN_FROM = 3,
  POISON_FROM = 5,
  PEEKED = 32,
  TEXT_SHOWN = 4000;

const timesTaken = times =>
  h(
    'td',
    { 'data-name': 'Taken' },
    times >= POISON_FROM
      ? h('span', { class: 'chip table' }, `${times} times: poison candidate`)
      : times >= WARN_FROM
        ? h('span', { class: 'chip part' }, `${times} times`)
        : times === 0
          ? h('span', { class: 'muted' }, 'never')
          : times === 1
            ? 'once'
            : `${times} times`,
  );

/** What is in it, in a line.  All that is visible was peeked unless there are 32: then the others may be either. */
function factsLine(queue, total, shown) {
  const age = shown.length ? (Date.now() - Date.parse(shown[0].inserted)) / 1000 : 0;
  const oldest =
    age < 120
      ? `${Math.max(0, Math.round(age))} s`
      : age < 7200
        ? `${Math.round(age / 60)} min`
        : `${Math.round(age / 3600)} h`;
  const worked =
    shown.length < PEEKED && total > shown.length
      ? `${count(shown.length)} visible, ${count(total - shown.length)} being worked on`
      : '';
  return [
    plural(total, 'message'),
    worked,
    shown.length > 0 && `oldest ${oldest}`,
    rateText(itemsOf('queue').find(item => item.name === queue)?.rate),
  ]
    .filter(Boolean)
    .join(', ');
}

/** {node, cells}: how messages are shown; cells(message): how often it was taken, and what it says. */
function reading(changed) {
  let encoding = messages.messageEncoding();
  const seg = h('span', { class: 'seg', role: 'group', 'aria-label': 'Message encoding' }),
    indents = h('input', { type: 'checkbox', onchange: () => changed() });
  const draw = () =>
    put(
      seg,
      messages.ENCODINGS.map(name =>
        h(
          'button',
          { 'aria-pressed': String(name === encoding), onclick: () => choose(name) },
          name,
        ),
      ),
    );
  function choose(name) {
    encoding = name;
    messages.useMessageEncoding(name);
    draw();
    seg.querySelector('[aria-pressed="true"]').focus();
    changed();
  }
  function cells(message) {
    const { text, why } = messages.decode(message.stored, encoding),
      whole = indents.checked ? messages.indented(text) : text;
    return [
      timesTaken(message.taken),
      h(
        'td',
        null,
        why && h('span', { class: 'chip none' }, why),
        h(
          'pre',
          { class: 'cell', dir: 'auto' },
          whole
            ? whole
                .slice(0, TEXT_SHOWN)
                .split('\n')
                .map(line => line && visible(line))
                .join('\n')
            : visible(''),
          whole.length > TEXT_SHOWN && `… ${count(whole.length)} characters`,
        ),
      ),
    ];
  }
  draw();
  return {
    cells,
    encoding: () => encoding,
    key: () => [encoding, indents.checked],
    node: [
      h('label', { class: 'row' }, indents, 'Indent JSON'),
      h('span', { class: 'row' }, 'Message encoding', seg),
    ],
  };
}

function peekedList(shown, total, how) {
  if (shown.length === 0)
    return h(
      'p',
      { class: 'muted' },
      total ? 'All messages are being worked on: none is visible.' : 'No message.',
    );
  const odd = shown.filter(message =>
    messages.looksOtherwise(message.stored, how.encoding()),
  ).length;
  return [
    odd > 0 &&
      h(
        'p',
        { class: 'muted' },
        how.encoding() === 'text'
          ? `${odd} of ${shown.length} look like base64.`
          : `${odd} of ${shown.length} are not base64: whoever takes them may expect text.`,
      ),
    h(
      'div',
      { class: 'scrollx' },
      h(
        'table',
        { class: 'list stack' },
        h(
          'thead',
          null,
          h(
            'tr',
            null,
            ['Inserted', 'Expires', 'Taken', 'Text'].map(name => h('th', { scope: 'col' }, name)),
          ),
        ),
        h(
          'tbody',
          null,
          shown.map(message =>
            h(
              'tr',
              null,
              time('Inserted', message.inserted),
              time('Expires', message.expires),
              how.cells(message),
            ),
          ),
        ),
      ),
    ),
  ];
}

function putForm(queue, how, act) {
  const field = h('textarea', {
    class: 'field mono',
    rows: '3',
    'aria-label': 'Text of the message',
    placeholder: 'Text of the message',
  });
  const hidden = numberField('Hidden for seconds', 0, 0, 7 * 86400),
    ttl = numberField('gone after seconds', '', -1, 2 ** 31 - 1, '7 days');
  const submit = event => {
    event.preventDefault();
    act(async () => {
      await messages.putMessage(queue, messages.encode(field.value, how.encoding()), {
        hidden: hidden.field.value,
        ttl: ttl.field.value,
      });
      field.value = '';
      toast('Message put');
    });
  };
  return h(
    'form',
    { class: 'putbox', onsubmit: submit },
    h('h2', null, 'Put a message'),
    field,
    h(
      'div',
      { class: 'row' },
      hidden.node,
      ttl.node,
      h('span', { class: 'grow' }),
      h('button', { class: 'btn primary', type: 'submit' }, 'Put'),
    ),
  );
}

async function remove(queue) {
  if (
    !(await ask(
      `Delete the queue ${queue} and its messages? This cannot be undone.`,
      `Delete ${queue}`,
    ))
  )
    return;
  await api.service('DELETE', api.queuePath(`/${encodeURIComponent(queue)}`));
  toast(`${queue} deleted`);
  location.hash = link('start');
  refreshTree();
}

export async function show(route) {
  const queue = route.parts[1],
    home = queue.replace(/-poison$/, '');
  let isOpen = true,
    timer,
    turn = 0,
    shown = [],
    total = null,
    drawn = '';
  const facts = h('span'),
    trouble = h('div'),
    failure = h('div'),
    messageBox = h('div');

  async function load() {
    const mine = ++turn;
    try {
      const [properties, peeked] = await Promise.all([
        api.service('GET', api.queuePath(`/${encodeURIComponent(queue)}?comp=metadata`)),
        messages.peek(queue, PEEKED),
      ]);
      if (mine !== turn) return;
      total = Number(properties.headers.get('x-ms-approximate-messages-count'));
      shown = peeked;
      put(trouble);
      put(facts, factsLine(queue, total, shown));
      draw();
    } catch (error) {
      if (mine !== turn) return;
      put(trouble, troubleBox(error));
    }
    if (isOpen) {
      clearTimeout(timer);
      timer = setTimeout(function again() {
        if (document.hidden) timer = setTimeout(again, 2000);
        else load();
      }, 2000);
    }
  }

  // Only when something is different, so that what is selected and scrolled stays.
  function draw() {
    const key = JSON.stringify([
      how.key(),
      total === 0,
      shown.map(message => [message.id, message.taken, message.stored]),
    ]);
    if (key === drawn) return;
    drawn = key;
    put(messageBox, peekedList(shown, total, how));
  }

  function again() {
    clearTimeout(timer);
    load();
  }

  async function act(change) {
    put(failure);
    try {
      await change();
    } catch (error) {
      put(failure, troubleBox(error));
    }
    if (isOpen) again();
  }

  const clear = async () => {
    if (
      !(await ask(
        `Clear ${queue}? Its ${plural(total ?? 0, 'message')} ${total === 1 ? 'is' : 'are'} gone for good.`,
        'Clear the queue',
      ))
    )
      return;
    await messages.clearMessages(queue);
    toast(`${queue} cleared`);
  };
  const moveBack = async () =>
    toast(`${plural(await messages.moveAll(queue, home), 'message')} moved to ${home}`);

  const how = reading(() => {
      draw();
      taken.draw();
    }),
    taken = takenBox(queue, how.cells, again);
  await load();
  return {
    nodes: [
      topBar(
        queue,
        facts,
        home !== queue &&
          h('button', { class: 'btn', onclick: () => act(moveBack) }, `Move back to ${home}`),
        h('button', { class: 'btn', onclick: () => act(clear) }, 'Clear'),
        deleteButton('Delete queue', () =>
          remove(queue).catch(error => put(failure, troubleBox(error))),
        ),
      ),
      ownTabs('queue', queue),
      h(
        'div',
        { class: 'pad' },
        trouble,
        failure,
        h(
          'div',
          { class: 'row' },
          h('h2', null, `The first ${PEEKED}`),
          h('span', { class: 'muted' }, 'Peeked: not dequeued.'),
          h('span', { class: 'grow' }),
          how.node,
        ),
        messageBox,
        taken.node,
        putForm(queue, how, act),
      ),
    ],
    leave: () => {
      isOpen = false;
      turn++;
      clearTimeout(timer);
    },
  };
}
