// Shared access: make a signature, and explain one.

import { h, put, copyButton, copy, toast, say } from './dom.js';
import * as api from './api.js';
import { topBar, link, serverFacts, tableNames, refreshTree, troubleBox } from './shell.js';
import { SERVICES, VERSION, FIELD_NAMES, textToSign, tokenOf, readToken, sentenceOf, failure, sortLetters } from './sas_text.js';

const stamp = date => date.toISOString().replace(/\.\d+Z$/, 'Z');

function maker(route) {
  const hello = serverFacts(), account = hello.accounts.find(each => each.name === api.currentAccount());
  const state = { kind: 'table', name: route.query.get('t') || tableNames()[0] || '', blob: '', letters: 'r', st: '', se: stamp(new Date(Date.now() + 8 * 3600e3)), sip: '', spr: '', si: '', spk: '', srk: '', epk: '', erk: '', ss: 'bqt', srt: 'sco' };
  const fieldsBox = h('div', { class: 'sasform' }), result = h('div', { class: 'sasout', 'aria-live': 'polite' });

  const fieldsOf = () => {
    const common = { sv: VERSION, sp: sortLetters(state.letters, state.kind), st: state.st, se: state.se, sip: state.sip, spr: state.spr };
    if (state.kind === 'account') return { ...common, ss: state.ss, srt: state.srt };
    if (state.kind === 'table') return { ...common, si: state.si, tn: state.name, spk: state.spk, srk: state.srk, epk: state.epk, erk: state.erk };
    if (state.kind === 'queue') return { ...common, si: state.si };
    return { ...common, si: state.si, sr: state.blob ? 'b' : 'c' };
  };

  function contradiction() {
    if (!state.letters && !state.si) return 'It allows nothing: choose a permission, or name a policy.';
    if (!state.se && !state.si) return 'It needs an expiry, or a policy that has one.';
    if (state.st && state.se && state.st >= state.se) return 'It would end before it begins.';
    if (state.kind !== 'account' && !state.name) return 'It is for one table, queue or container: name it.';
    if (state.srk && !state.spk) return 'A first RowKey needs a first PartitionKey.';
    if (state.erk && !state.epk) return 'A last RowKey needs a last PartitionKey.';
    if (state.spk && state.epk && state.spk > state.epk) return 'The last PartitionKey comes before the first.';
    return '';
  }

  let turn = 0;
  async function update() {
    const mine = ++turn, wrong = contradiction();
    if (wrong) { put(result, h('p', { class: 'bad' }, wrong)); return; }
    const fields = fieldsOf(), at = { kind: state.kind, account: account.name, container: state.name, blob: state.blob, fields };
    const text = textToSign(fields, at);
    try {
      const token = tokenOf(fields, await api.sign(text));
      if (mine !== turn) return;
      const base = state.kind === 'account' ? account.endpoints.table : `${account.endpoints[state.kind]}/${encodeURIComponent(state.name)}${state.blob ? `/${state.blob.split('/').map(encodeURIComponent).join('/')}` : ''}`;
      put(result, h('p', null, sentenceOf(at)),
        h('div', { class: 'code' }, h('div', { class: 'bar' }, 'URL', h('span', { class: 'grow' }), copyButton(`${base}?${token}`, 'URL')), h('pre', { class: 'wrap copied' }, `${base}?${token}`)),
        h('div', { class: 'code' }, h('div', { class: 'bar' }, 'Token', h('span', { class: 'grow' }), copyButton(token, 'Token')), h('pre', { class: 'wrap copied' }, token)),
        h('details', null, h('summary', null, 'What is signed'), h('pre', { class: 'whole' }, text)));
    } catch (trouble) { put(result, troubleBox(trouble)); }
  }

  const input = (label, name, properties = {}) => h('label', null, h('span', null, label), h('input', { class: 'field mono', value: state[name], oninput: event => { state[name] = event.target.value; update(); }, ...properties }));
  const time = (label, name) => h('label', null, h('span', null, `${label} (UTC)`), h('input', { class: 'field', type: 'datetime-local', step: '1', value: state[name].replace(/Z$/, ''), onchange: event => { state[name] = event.target.value ? `${event.target.value.length === 16 ? `${event.target.value}:00` : event.target.value}Z` : ''; update(); } }));
  function draw() {
    const letters = SERVICES[state.kind].letters;
    put(fieldsBox,
      h('div', { class: 'seg', role: 'group', 'aria-label': 'Kind' }, Object.entries(SERVICES).map(([kind, { name }]) => h('button', { 'aria-pressed': String(kind === state.kind), onclick: () => { state.kind = kind; state.letters = 'r'; if (kind !== 'table') state.name = ''; else state.name = tableNames()[0] || ''; draw(); } }, name))),
      state.kind !== 'account' && input({ table: 'Table', queue: 'Queue', blob: 'Container' }[state.kind], 'name'), state.kind === 'blob' && input('Blob (empty: the whole container)', 'blob'),
      h('fieldset', null, h('legend', null, 'May'), Object.entries(letters).map(([letter, word]) => h('label', { class: 'pick' }, h('input', { type: 'checkbox', checked: state.letters.includes(letter), onchange: event => { state.letters = Object.keys(letters).filter(each => each === letter ? event.target.checked : state.letters.includes(each)).join(''); update(); } }), `${word} `, h('code', { class: 'muted' }, letter)))),
      time('From', 'st'), time('Until', 'se'),
      h('div', { class: 'row' }, [['1 hour', 1], ['8 hours', 8], ['1 day', 24], ['8 days', 192], ['1 year', 8760]].map(([name, hours]) => h('button', { class: 'btn small', onclick: () => { state.se = stamp(new Date(Date.now() + hours * 3600e3)); draw(); } }, name))),
      input('Addresses, like 10.0.0.1 or 10.0.0.1-10.0.0.9', 'sip'),
      h('label', null, h('span', null, 'Protocols'), h('select', { class: 'field', onchange: event => { state.spr = event.target.value; update(); } }, [['', 'HTTP and HTTPS'], ['https', 'HTTPS only'], ['https,http', 'HTTPS and HTTP, said so']].map(([value, name]) => h('option', { value, selected: value === state.spr }, name)))),
      state.kind !== 'account' && input('Stored policy', 'si'),
      state.kind === 'table' && [input('First PartitionKey', 'spk'), input('First RowKey', 'srk'), input('Last PartitionKey', 'epk'), input('Last RowKey', 'erk')],
      state.kind === 'account' && [input('Services (b q t)', 'ss'), input('Resource types (s c o)', 'srt')]);
    update();
  }
  draw();
  return h('section', null, h('h2', null, 'Make a signature'), h('div', { class: 'sas' }, fieldsBox, result));
}

function explainer() {
  const field = h('textarea', { class: 'field mono', rows: '4', 'aria-label': 'A URL with a signature, or the token alone', placeholder: 'Paste a URL with a signature, or the token alone', oninput: () => draw() });
  const request = h('input', { class: 'field mono', 'aria-label': 'A request', placeholder: 'GET /People()', oninput: () => draw() });
  const out = h('div', { 'aria-live': 'polite' });
  let turn = 0;
  async function draw() {
    const mine = ++turn;
    if (!field.value.trim()) { put(out); return; }
    const at = readToken(field.value, api.currentAccount());
    if (!at) { put(out, h('p', { class: 'bad' }, 'This is no shared access signature: it has no sv and sig.')); return; }
    let right = null;
    try { right = (await api.postJson('/api/sign', { account: at.account, text: textToSign(at.fields, at) })).signature === at.fields.sig; } catch { /* another server's account */ }
    if (mine !== turn) return;
    const why = failure(at, request.value || 'GET', Date.now(), right !== false);
    put(out, h('p', null, sentenceOf(at)),
      h('p', { class: right ? 'good' : 'bad' }, right === null ? `There is no account ${at.account} here, so its signature cannot be checked.` : right ? 'The signature is right.' : 'The signature does not fit the fields: they were changed, or another key signed.'),
      h('table', { class: 'list' }, h('tbody', null, Object.entries(at.fields).map(([name, value]) => h('tr', null, h('th', { scope: 'row' }, FIELD_NAMES[name] || name), h('td', null, h('code', null, name)), h('td', { class: 'mono' }, name === 'sig' ? `${value.slice(0, 6)}…` : value))))),
      h('p', { class: why ? 'bad' : 'good' }, why ? `${request.value ? 'This request' : 'A read'} fails: ${why}` : `${request.value ? 'This request' : 'A read'} is allowed by the signature.`));
  }
  return h('section', null, h('h2', null, 'Explain a signature'), h('p', { class: 'soft' }, 'Nothing of it is kept.'), h('div', { class: 'putbox' }, field, h('label', null, 'Would this request be allowed?', request), out));
}

export async function show(route) {
  await refreshTree();
  const isExplain = route.parts[1] === 'explain';
  return {
    nodes: [topBar('Shared access'), h('nav', { class: 'tabs', 'aria-label': 'Shared access' }, [['Make', link('sas'), !isExplain], ['Explain', link('sas', 'explain'), isExplain]].map(([name, href, on]) => h('a', { href, 'aria-current': on ? 'page' : null }, name))),
      h('div', { class: 'pad' }, isExplain ? explainer() : maker(route))],
  };
}
