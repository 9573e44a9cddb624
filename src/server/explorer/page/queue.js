// A queue: what waits in it, without taking it; putting, clearing, and messages that keep coming back.

import { h, put, count, plural, toast, ask, visible } from './dom.js';
import * as api from './api.js';
import * as messages from './messages.js';
import { topBar, link, refreshTree, troubleBox } from './shell.js';
import { takenBox, numberField, time } from './taken.js';
import { itemsOf, rateText } from './tree.js';

const WARN_FROM = 3, POISON_FROM = 5, PEEKED = 32, TEXT_SHOWN = 4000;

const timesTaken = times => h('td', { 'data-name': 'Taken' }, times >= POISON_FROM ? h('span', { class: 'chip table' }, `${times} times: poison candidate`) : times >= WARN_FROM ? h('span', { class: 'chip part' }, `${times} times`)
  : times === 0 ? h('span', { class: 'muted' }, 'never') : times === 1 ? 'once' : `${times} times`);

export async function show(route) {
  const queue = route.parts[1], path = api.queuePath(`/${encodeURIComponent(queue)}`);
  let encoding = messages.messageEncoding(), isOpen = true, timer, turn = 0;
  const facts = h('span'), trouble = h('div'), failure = h('div'), hint = h('p', { class: 'muted' }), messageBox = h('div');
  const field = h('textarea', { class: 'field mono', rows: '3', 'aria-label': 'Text of the message', placeholder: 'Text of the message' });
  const hidden = numberField('Hidden for seconds', 0, 0, 7 * 86400), ttl = numberField('gone after seconds', '', -1, 2 ** 31 - 1, '7 days');
  const indents = h('input', { type: 'checkbox', onchange: () => { draw(); taken.draw(); } });
  const seg = h('span', { class: 'seg', role: 'group', 'aria-label': 'Message encoding' });
  let shown = [], total = null, drawn = '';

  async function load() {
    const mine = ++turn;
    try {
      const [properties, peeked] = await Promise.all([api.service('GET', `${path}?comp=metadata`), messages.peek(queue, PEEKED)]);
      if (mine !== turn) return;
      total = Number(properties.headers.get('x-ms-approximate-messages-count'));
      shown = peeked;
      put(trouble);
      drawFacts();
      draw();
    } catch (error) {
      if (mine !== turn) return;
      put(trouble, troubleBox(error));
    }
    if (isOpen) { clearTimeout(timer); timer = setTimeout(function again() { if (document.hidden) timer = setTimeout(again, 2000); else load(); }, 2000); }
  }

  // All that is visible was peeked unless there are 32: then the others may be either.
  function drawFacts() {
    const oldest = shown.length ? (Date.now() - Date.parse(shown[0].inserted)) / 1000 : 0;
    const worked = shown.length < PEEKED && total > shown.length ? `${count(shown.length)} visible, ${count(total - shown.length)} being worked on` : '';
    const rate = rateText(itemsOf('queue').find(item => item.name === queue)?.rate);
    put(facts, [plural(total, 'message'), worked, shown.length > 0 && `oldest ${oldest < 120 ? `${Math.max(0, Math.round(oldest))} s` : oldest < 7200 ? `${Math.round(oldest / 60)} min` : `${Math.round(oldest / 3600)} h`}`, rate].filter(Boolean).join(', '));
  }

  function drawSeg() {
    put(seg, messages.ENCODINGS.map(name => h('button', { 'aria-pressed': String(name === encoding), onclick: () => choose(name) }, name)));
  }

  function choose(name) {
    encoding = name;
    messages.useMessageEncoding(name);
    drawSeg();
    seg.querySelector('[aria-pressed="true"]').focus();
    draw();
    taken.draw();
  }

  /** How often a message was taken, and what it says. */
  function columns(message) {
    const { text, why } = messages.decode(message.stored, encoding), whole = indents.checked ? messages.indented(text) : text;
    return [timesTaken(message.taken), h('td', null, why && h('span', { class: 'chip none' }, why),
      h('pre', { class: 'cell', dir: 'auto' }, whole ? whole.slice(0, TEXT_SHOWN).split('\n').map(line => line && visible(line)).join('\n') : visible(''), whole.length > TEXT_SHOWN && `… ${count(whole.length)} characters`))];
  }

  // Only when something is different, so that what is selected and scrolled stays.
  function draw() {
    const key = JSON.stringify([encoding, indents.checked, total === 0, shown.map(message => [message.id, message.taken, message.stored])]);
    if (key === drawn) return;
    drawn = key;
    const odd = shown.filter(message => messages.looksOtherwise(message.stored, encoding)).length;
    put(hint, odd > 0 && (encoding === 'text' ? `${odd} of ${shown.length} look like base64.` : `${odd} of ${shown.length} are not base64: whoever takes them may expect text.`));
    put(messageBox, shown.length === 0 ? h('p', { class: 'muted' }, total ? 'All messages are being worked on: none is visible.' : 'No message.') :
      h('div', { class: 'scrollx' }, h('table', { class: 'list stack' }, h('thead', null, h('tr', null, ['Inserted', 'Expires', 'Taken', 'Text'].map(name => h('th', { scope: 'col' }, name)))),
        h('tbody', null, shown.map(message => h('tr', null, time('Inserted', message.inserted), time('Expires', message.expires), columns(message)))))));
  }

  function again() {
    clearTimeout(timer);
    load();
  }

  async function send(event) {
    event.preventDefault();
    try {
      await messages.putMessage(queue, messages.encode(field.value, encoding), { hidden: hidden.field.value, ttl: ttl.field.value });
      field.value = '';
      put(failure);
      toast('Message put');
      again();
    } catch (error) { put(failure, troubleBox(error)); }
  }

  async function clear() {
    if (!await ask(`Clear ${queue}? Its ${plural(total ?? 0, 'message')} ${total === 1 ? 'is' : 'are'} gone for good.`, 'Clear the queue')) return;
    try { await messages.clearMessages(queue); toast(`${queue} cleared`); again(); } catch (error) { put(failure, troubleBox(error)); }
  }

  // What a program has given up on goes back to where it came from: put there first, then taken out.
  async function moveBack() {
    const home = queue.replace(/-poison$/, '');
    let moved = 0;
    try {
      for (let list; (list = await messages.dequeue(queue, 32, 60)).length > 0;) {
        for (const message of list) {
          await messages.putMessage(home, message.stored);
          await messages.deleteMessage(queue, message);
          moved++;
        }
      }
      toast(`${plural(moved, 'message')} moved to ${home}`);
    } catch (error) { put(failure, troubleBox(error)); }
    again();
  }

  async function remove() {
    if (!await ask(`Delete the queue ${queue} and its messages? This cannot be undone.`, `Delete ${queue}`)) return;
    try { await api.service('DELETE', path); toast(`${queue} deleted`); location.hash = link('start'); refreshTree(); } catch (error) { put(failure, troubleBox(error)); }
  }

  const taken = takenBox(queue, columns, again);
  drawSeg();
  await load();
  return {
    nodes: [topBar(queue, facts, queue.endsWith('-poison') && h('button', { class: 'btn', onclick: moveBack }, `Move back to ${queue.replace(/-poison$/, '')}`), h('button', { class: 'btn', onclick: clear }, 'Clear'), h('button', { class: 'btn quiet', onclick: remove }, 'Delete queue')),
      h('div', { class: 'pad' }, trouble, failure,
        h('div', { class: 'row' }, h('h2', null, `The first ${PEEKED}`), h('span', { class: 'muted' }, 'Peeked: not dequeued.'), h('span', { class: 'grow' }), h('label', { class: 'row' }, indents, 'Indent JSON'), h('span', { class: 'row' }, 'Message encoding', seg)),
        hint, messageBox, taken.node,
        h('form', { class: 'putbox', onsubmit: send }, h('h2', null, 'Put a message'), field, h('div', { class: 'row' }, hidden.node, ttl.node, h('span', { class: 'grow' }), h('button', { class: 'btn primary', type: 'submit' }, 'Put'))))],
    leave: () => { isOpen = false; turn++; clearTimeout(timer); },
  };
}
