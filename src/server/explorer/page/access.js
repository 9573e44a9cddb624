// Access policies of a table, and a way to a signature for it.

import { h, put, icon, toast } from './dom.js';
import * as api from './api.js';
import { link, troubleBox } from './shell.js';
import { escapeXml, parseXml } from './xml.js';

const POLICIES_MAX = 5, LETTERS = { r: 'read', a: 'add', u: 'update', d: 'delete' };
const local = text => text ? text.replace(/(:\d\d)\.\d+Z$/, '$1Z').replace(/Z$/, '') : '';
const utc = text => text ? `${text.length === 16 ? `${text}:00` : text}Z` : '';

export async function show(route, table) {
  const path = `/api/table/${api.currentAccount()}/${encodeURIComponent(table)}?comp=acl`, headers = { 'x-ms-version': '2019-02-02' };
  const reply = await api.send('GET', path, { headers });
  if (!reply.ok) throw await api.troubleOf(reply);
  const policies = parseXml(await reply.text()).all('SignedIdentifier').map(each => ({ id: each.textOf('Id'), start: each.textOf('AccessPolicy/Start'), expiry: each.textOf('AccessPolicy/Expiry'), letters: each.textOf('AccessPolicy/Permission') }));
  const body = h('tbody'), trouble = h('div');
  const addButton = h('button', { class: 'btn', onclick: () => { policies.push({ id: `policy${policies.length + 1}`, start: '', expiry: '', letters: 'r' }); draw(); body.querySelector('tr:last-child input').select(); } }, icon('plus'), 'Add a policy');

  function draw() {
    addButton.disabled = policies.length >= POLICIES_MAX;
    put(body, policies.map((policy, i) => h('tr', null,
      h('td', null, h('input', { class: 'field mono', 'aria-label': `Name of policy ${i + 1}`, value: policy.id, oninput: event => { policy.id = event.target.value; } })),
      h('td', null, Object.entries(LETTERS).map(([letter, word]) => h('label', { class: 'pick' }, h('input', { type: 'checkbox', checked: policy.letters.includes(letter), onchange: event => { policy.letters = Object.keys(LETTERS).filter(each => each === letter ? event.target.checked : policy.letters.includes(each)).join(''); } }), word))),
      h('td', null, h('input', { class: 'field', type: 'datetime-local', step: '1', 'aria-label': `Start of policy ${i + 1}, UTC`, value: local(policy.start), onchange: event => { policy.start = utc(event.target.value); } })),
      h('td', null, h('input', { class: 'field', type: 'datetime-local', step: '1', 'aria-label': `Expiry of policy ${i + 1}, UTC`, value: local(policy.expiry), onchange: event => { policy.expiry = utc(event.target.value); } })),
      h('td', null, h('button', { class: 'btn quiet small', 'aria-label': `Remove policy ${i + 1}`, onclick: () => { policies.splice(i, 1); draw(); (body.querySelectorAll('button')[Math.max(0, i - 1)] || addButton).focus(); } }, icon('close', 14))))),
    policies.length === 0 && h('tr', null, h('td', { colspan: '5', class: 'muted' }, 'No policy: every signature carries its own rights and times.')));
  }

  async function saveAll() {
    const xml = `<?xml version="1.0" encoding="utf-8"?><SignedIdentifiers>${policies.map(policy => `<SignedIdentifier><Id>${escapeXml(policy.id)}</Id><AccessPolicy>${policy.start ? `<Start>${policy.start}</Start>` : ''}${policy.expiry ? `<Expiry>${policy.expiry}</Expiry>` : ''}${policy.letters ? `<Permission>${policy.letters}</Permission>` : ''}</AccessPolicy></SignedIdentifier>`).join('')}</SignedIdentifiers>`;
    put(trouble);
    const answer = await api.send('PUT', path, { body: xml, headers: { ...headers, 'content-type': 'application/xml' } });
    if (answer.ok) toast('Policies saved'); else put(trouble, troubleBox(await api.troubleOf(answer)));
  }

  draw();
  return { nodes: h('div', { class: 'pad' }, h('p', { class: 'soft' }, 'A stored policy gives rights and times to signatures that name it. Taking it away ends them all. Times are UTC.'), trouble,
    h('div', { class: 'scrollx' }, h('table', { class: 'list' }, h('thead', null, h('tr', null, ['Name', 'May', 'From', 'Until', ''].map(name => h('th', { scope: 'col' }, name || h('span', { class: 'sr' }, 'Actions'))))), body)),
    h('div', { class: 'row end' }, addButton, h('a', { class: 'btn', href: link('sas', { t: table }) }, 'Make a signature'), h('button', { class: 'btn primary', onclick: saveAll }, 'Save'))) };
}
