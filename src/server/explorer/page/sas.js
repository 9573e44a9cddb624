// Shared access: make a signature, and explain one.

import { h, put, copyButton, plural } from './dom.js';
import * as api from './api.js';
import { tabs, topBar, troubleBox } from './frame.js';
import { refreshTree, tableNames } from './names.js';
import { link } from './route.js';
import {
  SERVICES,
  VERSIONS,
  FIELD_NAMES,
  textToSign,
  tokenOf,
  readToken,
  sentenceOf,
  sortLetters,
  when,
} from './sas_text.js';
import { refusalOf } from './sas_explain.js';
import { readAccess } from './policies.js';

const SKEW_MS = 15 * 60e3; // by how much the clocks of clients and servers may differ, says the service's guide
const stamp = date => date.toISOString().replace(/\.\d+Z$/, 'Z');
const ownAccount = () =>
  api.serverFacts().accounts.find(each => each.name === api.currentAccount());

/** The stored policies of a table, queue or container; null when there is none of that name. */
async function policiesOf(kind, name) {
  if (!name || !SERVICES[kind] || kind === 'account') return null;
  return (await readAccess(kind, name).catch(() => ({ policies: null }))).policies;
}

/** "in 8 days", "3 hours ago". */
function distance(at, now) {
  const seconds = Math.abs(at - now) / 1000,
    [size, unit] =
      seconds < 90
        ? [1, 'second']
        : seconds < 5400
          ? [60, 'minute']
          : seconds < 172800
            ? [3600, 'hour']
            : [86400, 'day'];
  const text = plural(Math.round(seconds / size), unit);
  return at >= now ? `in ${text}` : `${text} ago`;
}

/** Start, now and expiry on a line of time: when it is good, and whether a clock that lags would refuse it. */
function ruler({ st, se }, now) {
  const start = st ? Date.parse(st) : null,
    end = se ? Date.parse(se) : null;
  if ((st && Number.isNaN(start)) || (se && Number.isNaN(end)) || end == null) return null;
  const from = Math.min(now, start ?? now, end),
    to = Math.max(now, start ?? now, end),
    pad = Math.max(60e3, (to - from) * 0.08),
    left = from - pad,
    wide = to - from + 2 * pad,
    place = at => `${(((at - left) / wide) * 100).toFixed(2)}%`;
  const good = [start ?? left, end],
    isTight = start != null && Math.abs(start - now) < SKEW_MS;
  const tick = (at, name, css) =>
    h('div', { class: `tick ${css}`, css: { left: place(at) } }, h('span', null, name));
  const words = `${start != null ? `Good from ${when(st)}, ${distance(start, now)}, ` : 'Good at once, '}until ${when(se)}, ${distance(end, now)}.`;
  return h(
    'div',
    { class: 'sruler', role: 'img', 'aria-label': words },
    h(
      'div',
      { class: 'sline' },
      good[1] > good[0] &&
        h('div', {
          class: 'sgood',
          css: {
            left: place(good[0]),
            width: `${(((good[1] - good[0]) / wide) * 100).toFixed(2)}%`,
          },
        }),
      isTight &&
        h('div', {
          class: 'sskew',
          css: {
            left: place(Math.max(left, start - SKEW_MS)),
            width: `${((Math.min(wide, 2 * SKEW_MS) / wide) * 100).toFixed(2)}%`,
          },
        }),
      start != null && tick(start, 'start', 'a'),
      tick(now, 'now', 'b'),
      tick(end, 'expiry', 'c'),
    ),
    h(
      'p',
      { class: 'muted' },
      words,
      isTight &&
        ' Clocks differ: where one lags behind this start, the first requests are refused. Leave the start out, or set it 15 minutes back.',
    ),
  );
}

// --- the maker ---

const HEADERS = ['rscc', 'rscd', 'rsce', 'rscl', 'rsct'];
const HOURS = [
  ['1 hour', 1],
  ['8 hours', 8],
  ['1 day', 24],
  ['8 days', 192],
  ['1 year', 8760],
];

function maker(route) {
  const account = ownAccount(),
    names = { table: tableNames(), queue: [], blob: [] };
  const state = {
    kind: SERVICES[route.query.get('kind')] ? route.query.get('kind') : 'table',
    name: route.query.get('t') || '',
    blob: '',
    snapshot: '',
    letters: 'r',
    sv: VERSIONS[0],
    st: '',
    se: stamp(new Date(Date.now() + 8 * 3600e3)),
    sip: '',
    spr: '',
    si: '',
    spk: '',
    srk: '',
    epk: '',
    erk: '',
    ss: 'bqt',
    srt: 'sco',
    rscc: '',
    rscd: '',
    rsce: '',
    rscl: '',
    rsct: '',
  };
  const fieldsBox = h('div', { class: 'sasform' }),
    result = h('div', { class: 'sasout', 'aria-live': 'polite' }),
    policyList = h('datalist', { id: 'sas-policies' });
  if (!state.name && state.kind === 'table') state.name = names.table[0] || '';

  const fieldsOf = () => {
    const common = {
      sv: state.sv,
      sp: sortLetters(state.letters, state.kind),
      st: state.st,
      se: state.se,
      sip: state.sip,
      spr: state.spr,
    };
    if (state.kind === 'account') return { ...common, ss: state.ss, srt: state.srt };
    if (state.kind === 'table')
      return {
        ...common,
        si: state.si,
        tn: state.name,
        spk: state.spk,
        srk: state.srk,
        epk: state.epk,
        erk: state.erk,
      };
    if (state.kind === 'queue') return { ...common, si: state.si };
    return {
      ...common,
      si: state.si,
      sr: state.snapshot ? 'bs' : state.blob ? 'b' : 'c',
      ...Object.fromEntries(HEADERS.map(name => [name, state[name]])),
    };
  };

  /** What is wrong, and at which field. */
  function contradiction() {
    const { st, se, spk, srk, epk, erk, sip, kind, sv } = state;
    if (!state.letters && !state.si)
      return ['letters', 'It allows nothing: choose a permission, or name a policy.'];
    if (!se && !state.si) return ['se', 'It needs an expiry, or a policy that has one.'];
    if (st && se && st >= se) return ['se', 'It would end before it begins.'];
    if (kind !== 'account' && !state.name)
      return ['name', 'It is for one table, queue or container: name it.'];
    if (srk && !spk) return ['spk', 'A first RowKey needs a first PartitionKey.'];
    if (erk && !epk) return ['epk', 'A last RowKey needs a last PartitionKey.'];
    if (spk && epk && (spk > epk || (spk === epk && srk && erk && srk > erk)))
      return ['epk', 'The last key comes before the first.'];
    if (sip && !/^\d+(\.\d+){3}(-\d+(\.\d+){3})?$/.test(sip))
      return ['sip', 'An address is like 10.0.0.1, a range like 10.0.0.1-10.0.0.9.'];
    if (kind === 'account' && (!state.ss || !state.srt))
      return [state.ss ? 'srt' : 'ss', 'It is for no service or no resource: choose one.'];
    if (state.snapshot && !state.blob) return ['blob', 'A snapshot is one of a blob: name it.'];
    if (state.snapshot && sv < '2018-11-09')
      return ['sv', 'Signatures of one snapshot began with 2018-11-09.'];
    if ((sip || state.spr || kind === 'account') && sv < '2015-04-05')
      return ['sv', 'Addresses, protocols and account signatures began with 2015-04-05.'];
    return null;
  }

  let turn = 0;
  async function update() {
    const mine = ++turn,
      wrong = contradiction();
    for (const field of fieldsBox.querySelectorAll('[data-name]')) {
      if (field.dataset.name === wrong?.[0]) field.setAttribute('aria-invalid', 'true');
      else field.removeAttribute('aria-invalid');
    }
    if (wrong) {
      put(result, h('p', { class: 'bad' }, wrong[1]));
      return;
    }
    const fields = fieldsOf(),
      at = {
        kind: state.kind,
        account: account.name,
        container: state.name,
        blob: state.blob,
        snapshot: state.snapshot,
        fields,
      },
      text = textToSign(fields, at);
    try {
      const token = tokenOf(fields, await api.sign(text));
      if (mine !== turn) return;
      const base =
        state.kind === 'account'
          ? `${account.endpoints.table}/`
          : `${account.endpoints[state.kind]}/${encodeURIComponent(state.name)}${state.blob ? `/${state.blob.split('/').map(encodeURIComponent).join('/')}` : ''}`;
      const url = `${base}?${state.snapshot ? `snapshot=${encodeURIComponent(state.snapshot)}&` : ''}${token}`;
      put(
        result,
        h('p', null, sentenceOf(at)),
        ruler(fields, Date.now()),
        h(
          'div',
          { class: 'code' },
          h('div', { class: 'bar' }, 'URL', h('span', { class: 'grow' }), copyButton(url, 'URL')),
          h('pre', { class: 'wrap copied' }, url),
        ),
        h(
          'div',
          { class: 'code' },
          h(
            'div',
            { class: 'bar' },
            'Token',
            h('span', { class: 'grow' }),
            copyButton(token, 'Token'),
          ),
          h('pre', { class: 'wrap copied' }, token),
        ),
        h(
          'details',
          null,
          h('summary', null, 'What is signed'),
          h('pre', { class: 'whole' }, text),
        ),
      );
    } catch (trouble) {
      put(result, troubleBox(trouble));
    }
  }

  const input = (label, name, properties = {}) =>
    h(
      'label',
      null,
      h('span', null, label),
      h('input', {
        class: 'field mono',
        'data-name': name,
        value: state[name],
        oninput: event => {
          state[name] = event.target.value;
          update();
        },
        ...properties,
      }),
    );
  const choice = (label, name, entries) =>
    h(
      'label',
      null,
      h('span', null, label),
      h(
        'select',
        {
          class: 'field',
          'data-name': name,
          onchange: event => {
            state[name] = event.target.value;
            update();
          },
        },
        entries.map(([value, text]) =>
          h('option', { value, selected: value === state[name] }, text),
        ),
      ),
    );
  const letters = (label, name, entries) =>
    h(
      'fieldset',
      { 'data-name': name },
      h('legend', null, label),
      Object.entries(entries).map(([letter, word]) =>
        h(
          'label',
          { class: 'pick' },
          h('input', {
            type: 'checkbox',
            checked: state[name].includes(letter),
            onchange: event => {
              state[name] = Object.keys(entries)
                .filter(each =>
                  each === letter ? event.target.checked : state[name].includes(each),
                )
                .join('');
              update();
            },
          }),
          `${word} `,
          h('code', { class: 'muted' }, letter),
        ),
      ),
    );
  const time = (label, name) =>
    h(
      'label',
      null,
      h('span', null, `${label} (UTC)`),
      h('input', {
        class: 'field',
        type: 'datetime-local',
        step: '1',
        'data-name': name,
        value: state[name].replace(/Z$/, ''),
        onchange: event => {
          state[name] = event.target.value
            ? `${event.target.value.length === 16 ? `${event.target.value}:00` : event.target.value}Z`
            : '';
          update();
        },
      }),
    );

  async function findPolicies() {
    const found = names[state.kind]?.includes(state.name)
      ? await policiesOf(state.kind, state.name).catch(() => null)
      : null;
    put(
      policyList,
      (found || []).map(({ id }) => h('option', { value: id })),
    );
  }

  function choose(kind) {
    Object.assign(state, {
      kind,
      letters: 'r',
      name: names[kind]?.[0] || '',
      blob: '',
      snapshot: '',
    });
    draw();
    fieldsBox.querySelector('[aria-pressed="true"]').focus();
  }

  function draw() {
    const { kind } = state;
    put(
      fieldsBox,
      h(
        'div',
        { class: 'seg', role: 'group', 'aria-label': 'Kind' },
        Object.entries(SERVICES).map(([id, { name }]) =>
          h('button', { 'aria-pressed': String(id === kind), onclick: () => choose(id) }, name),
        ),
      ),
      kind !== 'account' && [
        input({ table: 'Table', queue: 'Queue', blob: 'Container' }[kind], 'name', {
          list: 'sas-names',
          onchange: findPolicies,
        }),
        h(
          'datalist',
          { id: 'sas-names' },
          names[kind].slice(0, 500).map(name => h('option', { value: name })),
        ),
      ],
      kind === 'blob' && [
        input('Blob (empty: the whole container)', 'blob'),
        input('Snapshot of it (empty: the blob)', 'snapshot', {
          placeholder: '2026-11-15T14:58:02.1170000Z',
        }),
      ],
      kind === 'account' && [
        letters('Services', 'ss', { b: 'blobs', q: 'queues', t: 'tables' }),
        letters('Resource types', 'srt', { s: 'service', c: 'container', o: 'object' }),
      ],
      letters('May', 'letters', SERVICES[kind].letters),
      kind !== 'account' && [input('Stored policy', 'si', { list: 'sas-policies' }), policyList],
      time('From', 'st'),
      time('Until', 'se'),
      h(
        'div',
        { class: 'row' },
        HOURS.map(([name, hours]) =>
          h(
            'button',
            {
              class: 'btn small',
              onclick: event => {
                state.se = stamp(new Date(Date.now() + hours * 3600e3));
                const at = [...event.target.parentNode.children].indexOf(event.target);
                draw();
                fieldsBox.querySelectorAll('.btn.small')[at].focus();
              },
            },
            name,
          ),
        ),
      ),
      kind === 'table' && [
        input('First PartitionKey', 'spk'),
        input('First RowKey', 'srk'),
        input('Last PartitionKey', 'epk'),
        input('Last RowKey', 'erk'),
      ],
      h(
        'details',
        { open: ['sip', 'spr', ...HEADERS].some(name => state[name]) },
        h(
          'summary',
          null,
          'Addresses, protocols, version',
          kind === 'blob' && ', headers of the answer',
        ),
        h(
          'div',
          { class: 'sasform' },
          input('Addresses, like 10.0.0.1 or 10.0.0.1-10.0.0.9', 'sip'),
          choice('Protocols', 'spr', [
            ['', 'HTTP and HTTPS'],
            ['https', 'HTTPS only'],
            ['https,http', 'HTTPS and HTTP, said so'],
          ]),
          choice(
            'Version',
            'sv',
            VERSIONS.map(version => [version, version]),
          ),
          kind === 'blob' && HEADERS.map(name => input(FIELD_NAMES[name], name)),
        ),
      ),
    );
    update();
    findPolicies();
  }
  draw();
  Promise.all(
    ['queue', 'blob'].map(async kind => {
      names[kind] = (await api.names(kind)).map(each => each.name);
    }),
  ).catch(() => {}); // they are only offered
  return h(
    'section',
    null,
    h('h2', null, 'Make a signature'),
    h('div', { class: 'sas' }, fieldsBox, result),
  );
}

// --- the explainer ---

const LETTERS = { b: 'blobs', q: 'queues', t: 'tables', f: 'files' },
  TYPES = { s: 'service', c: 'container', o: 'object' },
  RESOURCES = { b: 'one blob', bs: 'one snapshot', c: 'a container and its blobs' };

/** What the value of a field means. */
function meaning(at, name, value, now) {
  if (name === 'sp')
    return [...value]
      .map(letter => SERVICES[at.kind].letters[letter] || `${letter} is not used here`)
      .join(', ');
  if (name === 'ss') return [...value].map(letter => LETTERS[letter] || letter).join(', ');
  if (name === 'srt') return [...value].map(letter => TYPES[letter] || letter).join(', ');
  if (name === 'sr') return RESOURCES[value] || 'not known here';
  if (name === 'st' || name === 'se')
    return Number.isNaN(Date.parse(value)) ? 'not a time' : distance(Date.parse(value), now);
  if (name === 'spr') return value === 'https' ? 'HTTPS only' : 'HTTPS and HTTP';
  return '';
}

/** A request that reads what the token is for. */
function readOf(at) {
  if (at.kind === 'table') return `GET /${at.fields.tn}()`;
  if (at.kind === 'queue') return `GET /${at.container}/messages?peekonly=true`;
  if (at.kind === 'blob')
    return at.fields.sr === 'c'
      ? `GET /${at.container}?restype=container&comp=list`
      : `GET /${at.container}/${at.blob}`;
  return { queue: 'GET /?comp=list', blob: 'GET /?comp=list' }[at.service] || 'GET /Tables';
}

function explainer() {
  const field = h('textarea', {
    class: 'field mono',
    rows: '4',
    'aria-label': 'A URL with a signature, or the token alone',
    placeholder: 'Paste a URL with a signature, or the token alone',
    autocomplete: 'off',
    spellcheck: 'false',
    oninput: () => draw(),
  });
  const request = h('input', {
    class: 'field mono',
    placeholder: "DELETE /People(PartitionKey='a',RowKey='1')",
    autocomplete: 'off',
    oninput: () => draw(),
  });
  const address = h('input', {
    class: 'field mono',
    placeholder: '10.0.0.7',
    autocomplete: 'off',
    oninput: () => draw(),
  });
  const out = h('div', { 'aria-live': 'polite' });
  let turn = 0;
  async function draw() {
    const mine = ++turn,
      now = Date.now();
    if (!field.value.trim()) {
      put(out);
      return;
    }
    const at = readToken(field.value, api.currentAccount(), ownAccount().endpoints);
    if (!at) {
      put(
        out,
        h('p', { class: 'bad' }, 'This is no shared access signature: it has no sv and sig.'),
      );
      return;
    }
    let right = null,
      policies = null;
    try {
      right =
        (await api.postJson('/api/sign', { account: at.account, text: textToSign(at.fields, at) }))
          .signature === at.fields.sig;
    } catch {
      /* another server's account */
    }
    if (at.fields.si && right)
      policies =
        (await policiesOf(at.kind, at.kind === 'table' ? at.fields.tn : at.container).catch(
          () => null,
        )) || [];
    if (mine !== turn) return;
    const line = request.value.trim() || readOf(at),
      why = refusalOf(at, line, {
        now,
        isSignatureRight: right !== false,
        policies,
        address: address.value.trim(),
        endpoints: ownAccount().endpoints,
      });
    const policy = policies?.find(each => each.id === at.fields.si),
      stored = {
        ...(policy?.start && { st: policy.start }),
        ...(policy?.expiry && { se: policy.expiry }),
        ...(policy?.letters && { sp: policy.letters }),
      };
    put(
      out,
      h('p', null, sentenceOf({ ...at, fields: { ...at.fields, ...stored } })),
      ruler({ ...at.fields, ...stored }, now),
      h(
        'p',
        { class: right ? 'good' : 'bad' },
        right === null
          ? `There is no account ${at.account} here, so its signature cannot be checked.`
          : right
            ? 'The signature is right.'
            : 'The signature does not fit the fields: they were changed, or another key signed.',
      ),
      h(
        'p',
        { class: why.code ? 'bad verdictline' : 'good verdictline' },
        h('code', null, line),
        why.code
          ? [' fails: ', h('b', null, `${why.status} ${why.code}`), `. ${why.text}`]
          : ` is allowed by the signature${why.operation ? ` (${why.operation})` : ''}. ${why.text}`,
        !why.code &&
          at.fields.sip &&
          !address.value.trim() &&
          `It must come from ${at.fields.sip}.`,
      ),
      h(
        'div',
        { class: 'scrollx' },
        h(
          'table',
          { class: 'list' },
          h('caption', { class: 'sr' }, 'The fields of the signature'),
          h(
            'tbody',
            null,
            Object.entries(at.fields).map(([name, value]) =>
              h(
                'tr',
                null,
                h('th', { scope: 'row' }, FIELD_NAMES[name] || name),
                h('td', null, h('code', null, name)),
                h('td', { class: 'mono' }, name === 'sig' ? `${value.slice(0, 6)}…` : value),
                h('td', { class: 'soft' }, meaning(at, name, value, now)),
              ),
            ),
            Object.entries(stored).map(([name, value]) =>
              h(
                'tr',
                null,
                h('th', { scope: 'row' }, FIELD_NAMES[name]),
                h('td', null, 'policy'),
                h('td', { class: 'mono' }, value),
                h('td', { class: 'soft' }, meaning(at, name, value, now)),
              ),
            ),
          ),
        ),
      ),
    );
  }
  return h(
    'section',
    null,
    h('h2', null, 'Explain a signature'),
    h('p', { class: 'soft' }, 'Nothing of it is kept.'),
    h(
      'div',
      { class: 'putbox' },
      field,
      h('label', null, 'Would this request be allowed? (empty: a read)', request),
      h('label', null, 'It comes from the address (empty: any)', address),
      out,
    ),
  );
}

export async function show(route) {
  await refreshTree();
  const isExplain = route.parts[1] === 'explain';
  return {
    nodes: [
      topBar('Shared access'),
      tabs('Shared access', [
        ['Make', link('sas'), !isExplain],
        ['Explain', link('sas', 'explain'), isExplain],
      ]),
      h('div', { class: 'pad' }, isExplain ? explainer() : maker(route)),
    ],
  };
}
