// Shared access signatures: their fields, what is signed, and what they allow in words.

import { decoded, urlOf } from './address.js';

/** Layouts of what is signed that differ; the first is what the maker takes. */
export const VERSIONS = [
  '2021-12-02',
  '2020-12-06',
  '2018-11-09',
  '2015-04-05',
  '2015-02-21',
  '2013-08-15',
];

export const SERVICES = {
  table: { name: 'Table', letters: { r: 'read', a: 'add', u: 'update', d: 'delete' } },
  queue: { name: 'Queue', letters: { r: 'peek', a: 'put', u: 'update', p: 'get and delete' } },
  blob: {
    name: 'Blob',
    letters: { r: 'read', a: 'append', c: 'create', w: 'write', d: 'delete', l: 'list' },
  },
  account: {
    name: 'Account',
    letters: {
      r: 'read',
      w: 'write',
      d: 'delete',
      l: 'list',
      a: 'add',
      c: 'create',
      u: 'update',
      p: 'process',
    },
  },
};

/** Order in which the letters of `sp` must stand. */
const ORDER = 'racwdxltmeopiyuf';
const ACCOUNT_ORDER = 'rwdxlacuptfiy';
export function sortLetters(letters, kind) {
  const order = kind === 'account' ? ACCOUNT_ORDER : kind === 'blob' ? ORDER : 'raudp';
  return [...letters].sort((a, b) => order.indexOf(a) - order.indexOf(b)).join('');
}

/** What is signed for a token: `fields` are its parameters, `at` is {kind, account, container, blob}. */
export function textToSign(fields, at) {
  const f = name => fields[name] || '',
    since = version => f('sv') >= version;
  if (at.kind === 'account') {
    return [
      at.account,
      f('sp'),
      f('ss'),
      f('srt'),
      f('st'),
      f('se'),
      f('sip'),
      f('spr'),
      f('sv'),
      ...(since('2020-12-06') ? [f('ses')] : []),
    ]
      .map(line => `${line}\n`)
      .join('');
  }
  const container = at.kind === 'table' ? f('tn').toLowerCase() : at.container;
  const resource = `${since('2015-02-21') ? `/${at.kind}` : ''}/${at.account}/${container}${at.kind === 'blob' && f('sr') !== 'c' && at.blob ? `/${at.blob}` : ''}`;
  const lines = [
    f('sp'),
    f('st'),
    f('se'),
    resource,
    f('si'),
    ...(since('2015-04-05') ? [f('sip'), f('spr')] : []),
    f('sv'),
  ];
  if (at.kind === 'table') lines.push(f('spk'), f('srk'), f('epk'), f('erk'));
  if (at.kind === 'blob') {
    if (since('2018-11-09'))
      lines.push(f('sr'), f('sr') === 'bs' ? f('snapshot') || at.snapshot || '' : '');
    if (since('2020-12-06')) lines.push(f('ses'));
    if (since('2013-08-15')) lines.push(f('rscc'), f('rscd'), f('rsce'), f('rscl'), f('rsct'));
  }
  return lines.join('\n');
}

export const tokenOf = (fields, signature) =>
  Object.entries({ ...fields, sig: signature })
    .filter(([, value]) => value)
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .join('&');

/** {kind, account, container, blob, fields} of a URL or of a token alone; null when it is neither. */
export function readToken(text, fallbackAccount, endpoints = {}) {
  const url = urlOf(text.trim()),
    query = url ? url.search.slice(1) : text.trim().replace(/^\?/, '');
  const fields = Object.fromEntries(new URLSearchParams(query.replace(/\+/g, '%2B')));
  if (!fields.sig || !fields.sv) return null;
  const at = { account: fallbackAccount, container: '', blob: '', fields };
  if (url) {
    const host = url.hostname.split('.'),
      isHostStyle = ['table', 'queue', 'blob'].includes(host[1]);
    const parts = url.pathname.split('/').filter(Boolean).map(decoded);
    at.account = isHostStyle ? host[0] : parts.shift() || fallbackAccount;
    at.container = parts.shift() || '';
    at.blob = parts.join('/');
    at.service = isHostStyle
      ? host[1]
      : Object.keys(endpoints).find(kind => new URL(endpoints[kind]).host === url.host) ||
        { 10000: 'blob', 10001: 'queue', 10002: 'table' }[url.port];
  }
  at.container = at.container.replace(/\(.*$/s, '') || (fields.tn ?? '');
  at.kind = fields.ss ? 'account' : fields.tn ? 'table' : fields.sr ? 'blob' : 'queue';
  return at;
}

export const when = text => text.replace('T', ' ').replace(/Z$/, ' UTC');

/** One sentence: what the token allows. */
export function sentenceOf(at) {
  const { fields } = at,
    letters = SERVICES[at.kind].letters;
  const may =
    [...(fields.sp || '')].map(letter => letters[letter] || letter).join(', ') ||
    (fields.si ? `what the policy ${fields.si} says` : 'nothing');
  const on =
    at.kind === 'account'
      ? `in ${[...fields.ss].map(letter => ({ b: 'blobs', q: 'queues', t: 'tables', f: 'files' })[letter]).join(', ')} of ${at.account}`
      : at.kind === 'table'
        ? `entities of ${fields.tn}${fields.spk ? ` from ${fields.spk}${fields.srk ? ` / ${fields.srk}` : ''}` : ''}${fields.epk ? ` to ${fields.epk}${fields.erk ? ` / ${fields.erk}` : ''}` : ''}`
        : at.kind === 'queue'
          ? `messages of ${at.container || 'the queue'}`
          : fields.sr === 'c'
            ? `blobs of ${at.container || 'the container'}`
            : `the blob ${at.blob || ''}`;
  return `May ${may} ${on}${fields.st ? ` from ${when(fields.st)}` : ''}${fields.se ? ` until ${when(fields.se)}` : ''}${fields.sip ? `, from ${fields.sip}` : ''}${fields.spr === 'https' ? ', over HTTPS only' : ''}.`;
}

export const FIELD_NAMES = {
  sv: 'Version',
  sp: 'Permissions',
  st: 'Start',
  se: 'Expiry',
  sip: 'Addresses',
  spr: 'Protocols',
  si: 'Stored policy',
  tn: 'Table',
  spk: 'First PartitionKey',
  srk: 'First RowKey',
  epk: 'Last PartitionKey',
  erk: 'Last RowKey',
  ss: 'Services',
  srt: 'Resource types',
  sr: 'Resource',
  sig: 'Signature',
  rscc: 'Cache-Control',
  rscd: 'Content-Disposition',
  rsce: 'Content-Encoding',
  rscl: 'Content-Language',
  rsct: 'Content-Type',
  ses: 'Encryption scope',
  snapshot: 'Snapshot',
};
