// A queue: what waits in it, without taking it; putting, clearing, and messages that keep coming back.

import { h, put, count, plural, toast, ask, instant, visible } from './dom.js';
import * as api from './api.js';
import { topBar, link, refreshTree, troubleBox } from './shell.js';
import { itemsOf, rateText } from './tree.js';
import { escapeXml } from './xml.js';

const WARN_FROM = 3, POISON_FROM = 5, PEEKED = 32;

/** Messages that never expire do so in the year 9999. */
const expiry = text => text.includes('9999') ? 'never' : instant(new Date(text).toISOString());

const isBase64 = text => text.length >= 4 && text.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(text);
function decoded(text) {
  try { return new TextDecoder('utf-8', { fatal: true }).decode(Uint8Array.from(atob(text), c => c.charCodeAt(0))); } catch { return null; }
}

const VIEWS = {
  Text: text => text,
  'Base 64': text => (isBase64(text) && decoded(text)) ?? text,
  JSON: text => { for (const each of [text, isBase64(text) ? decoded(text) : null]) { try { return JSON.stringify(JSON.parse(each), null, 2); } catch { /* the next */ } } return text; },
};

export async function show(route) {
  const queue = route.parts[1], path = api.queuePath(`/${encodeURIComponent(queue)}`);
  let how = 'Text', isOpen = true, timer, turn = 0;
  const facts = h('span'), trouble = h('div');
  const field = h('textarea', { class: 'field mono', rows: '3', 'aria-label': 'Text of the message', placeholder: 'Text of the message' });
  const encode = h('input', { type: 'checkbox', checked: true });

  const seg = h('span', { class: 'seg', role: 'group', 'aria-label': 'Show the text as' }), messageBox = h('div');
  let shown = [], total = null, drawn = '';

  async function load() {
    const mine = ++turn;
    try {
      const [properties, messages] = await Promise.all([api.service('GET', `${path}?comp=metadata`), api.serviceXml('GET', `${path}/messages?peekonly=true&numofmessages=${PEEKED}`)]);
      if (mine !== turn) return;
      total = Number(properties.headers.get('x-ms-approximate-messages-count'));
      shown = messages ? messages.all('QueueMessage') : [];
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
    const oldest = shown.length ? (Date.now() - Date.parse(shown[0].textOf('InsertionTime'))) / 1000 : 0;
    const worked = shown.length < PEEKED && total > shown.length ? `${count(shown.length)} visible, ${count(total - shown.length)} being worked on` : '';
    const rate = rateText(itemsOf('queue').find(item => item.name === queue)?.rate);
    put(facts, [plural(total, 'message'), worked, shown.length > 0 && `oldest ${oldest < 120 ? `${Math.max(0, Math.round(oldest))} s` : oldest < 7200 ? `${Math.round(oldest / 60)} min` : `${Math.round(oldest / 3600)} h`}`, rate].filter(Boolean).join(', '));
  }

  function drawSeg() {
    put(seg, Object.keys(VIEWS).map(name => h('button', { 'aria-pressed': String(name === how), onclick: () => { how = name; drawSeg(); seg.querySelector('[aria-pressed="true"]').focus(); draw(); } }, name)));
  }

  // Only when something is different, so that what is selected and scrolled stays.
  function draw() {
    const key = JSON.stringify([how, total === 0, shown.map(message => [message.textOf('MessageId'), message.textOf('DequeueCount'), message.textOf('MessageText')])]);
    if (key === drawn) return;
    drawn = key;
    put(messageBox, shown.length === 0 ? h('p', { class: 'muted' }, total ? 'All messages are being worked on: none is visible.' : 'No message.') :
      h('div', { class: 'scrollx' }, h('table', { class: 'list' }, h('thead', null, h('tr', null, ['Inserted', 'Expires', 'Taken', 'Text'].map(name => h('th', { scope: 'col' }, name)))),
        h('tbody', null, shown.map(message => {
          const taken = Number(message.textOf('DequeueCount')), text = message.textOf('MessageText');
          return h('tr', null, h('td', { class: 'nowrap' }, instant(new Date(message.textOf('InsertionTime')).toISOString())), h('td', { class: 'nowrap' }, expiry(message.textOf('ExpirationTime'))),
            h('td', null, taken >= POISON_FROM ? h('span', { class: 'chip table' }, `${taken} times: poison candidate`) : taken >= WARN_FROM ? h('span', { class: 'chip part' }, `${taken} times`) : taken === 0 ? h('span', { class: 'muted' }, 'never') : taken === 1 ? 'once' : `${taken} times`),
            h('td', null, h('pre', { class: 'cell', dir: 'auto' }, visible(VIEWS[how](text).slice(0, 4000)))));
        })))));
  }

  async function send() {
    const text = encode.checked ? btoa(String.fromCharCode(...new TextEncoder().encode(field.value))) : field.value;
    try {
      await api.service('POST', `${path}/messages`, { body: `<QueueMessage><MessageText>${escapeXml(text)}</MessageText></QueueMessage>`, headers: { 'content-type': 'application/xml' } });
      field.value = '';
      toast('Message put');
      clearTimeout(timer);
      load();
    } catch (error) { put(trouble, troubleBox(error)); }
  }

  async function clear() {
    if (!await ask(`Clear ${queue}? Its ${plural(total ?? 0, 'message')} ${total === 1 ? 'is' : 'are'} gone for good.`, 'Clear the queue')) return;
    try { await api.service('DELETE', `${path}/messages`); toast(`${queue} cleared`); clearTimeout(timer); load(); } catch (error) { put(trouble, troubleBox(error)); }
  }

  // What a program has given up on goes back to where it came from: put there first, then taken out.
  async function moveBack() {
    const home = queue.replace(/-poison$/, ''), to = api.queuePath(`/${encodeURIComponent(home)}/messages`);
    let moved = 0;
    try {
      for (;;) {
        const got = await api.serviceXml('GET', `${path}/messages?numofmessages=32&visibilitytimeout=60`);
        const list = got ? got.all('QueueMessage') : [];
        if (list.length === 0) break;
        for (const message of list) {
          await api.service('POST', to, { body: `<QueueMessage><MessageText>${escapeXml(message.textOf('MessageText'))}</MessageText></QueueMessage>`, headers: { 'content-type': 'application/xml' } });
          await api.service('DELETE', `${path}/messages/${message.textOf('MessageId')}?popreceipt=${encodeURIComponent(message.textOf('PopReceipt'))}`);
          moved++;
        }
      }
      toast(`${plural(moved, 'message')} moved to ${home}`);
    } catch (error) { put(trouble, troubleBox(error)); }
    clearTimeout(timer);
    load();
  }

  async function remove() {
    if (!await ask(`Delete the queue ${queue} and its messages? This cannot be undone.`, `Delete ${queue}`)) return;
    try { await api.service('DELETE', path); toast(`${queue} deleted`); location.hash = link('start'); refreshTree(); } catch (error) { put(trouble, troubleBox(error)); }
  }

  drawSeg();
  await load();
  return {
    nodes: [topBar(queue, facts, queue.endsWith('-poison') && h('button', { class: 'btn', onclick: moveBack }, `Move back to ${queue.replace(/-poison$/, '')}`), h('button', { class: 'btn', onclick: clear }, 'Clear'), h('button', { class: 'btn quiet', onclick: remove }, 'Delete queue')),
      h('div', { class: 'pad' }, trouble, h('div', { class: 'row' }, h('h2', null, `The first ${PEEKED}`), h('span', { class: 'muted' }, 'Peeked: not dequeued.'), h('span', { class: 'grow' }), seg), messageBox, h('section', { class: 'putbox' }, h('h2', null, 'Put a message'), field, h('div', { class: 'row' }, h('label', { class: 'row' }, encode, 'in base 64, as many SDKs expect it'), h('span', { class: 'grow' }), h('button', { class: 'btn primary', onclick: send }, 'Put'))))],
    leave: () => { isOpen = false; turn++; clearTimeout(timer); },
  };
}
