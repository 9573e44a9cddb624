// What the page asks of the server.  Tables, queues and blobs are asked in their own protocols,
// through /api/table, /api/queue and /api/blob; the session stands for the signature.

import { parseXml } from './xml.js';

/** What the server has answered instead of what was asked for; status 0: nothing at all. */
export class Trouble extends Error {
  constructor(status, code, message, details = {}) {
    super(message);
    Object.assign(this, { status, code }, details);
  }
}

/** Where the service knows no condition: what is to be changed is not what was read any more. */
export const changedMeanwhile = () =>
  new Trouble(
    412,
    'Changed',
    'Somebody else has changed this since it was read. Nothing was written: load the page again.',
  );

let word = null; // of the session; null: not looked for yet
const ownWord = () => (word ??= localStorage.getItem('tavola.page') || '');
const listeners = new Set();

/** Called with 'lost' when the server goes, 'login' when the session has ended, 'back' when all is well again, 'left' after a logout. */
export const onChange = listener => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};
function tell(change) {
  for (const listener of listeners) listener(change);
}

let state = 'back';
function setState(now) {
  if (now === state) return;
  state = now;
  tell(now);
}
export const serverIsLost = () => state !== 'back';

// A link that was opened in another tab of this browser is good for this one, too.
function takeNewWord() {
  const kept = localStorage.getItem('tavola.page');
  if (!kept || kept === word) return false;
  word = kept;
  return true;
}

/** Any request.  Throws a Trouble when there is no answer or the session is over. */
export async function send(method, path, { body, headers = {}, signal } = {}) {
  let reply;
  do {
    try {
      reply = await fetch(path, {
        method,
        body,
        signal,
        cache: 'no-store',
        headers: { 'x-tavola-page': ownWord(), ...headers },
      });
    } catch (error) {
      if (error.name === 'AbortError') throw error;
      setState('lost');
      throw new Trouble(0, 'NoAnswer', 'The server does not answer.');
    }
  } while (reply.status === 401 && takeNewWord());
  setState(reply.status === 401 ? 'login' : 'back');
  if (reply.status === 401)
    throw new Trouble(401, 'NoSession', 'This page has to be opened by a link of the server.');
  return reply;
}

const clean = message => message.replace(/\n?RequestId:[\s\S]*$/, '').trim();

/** A Trouble out of an error of any of the services. */
export async function troubleOf(reply) {
  const text = await reply.text();
  const requestId = reply.headers.get('x-ms-request-id') || undefined;
  let code = reply.headers.get('x-ms-error-code') || `Status${reply.status}`;
  let message = text.slice(0, 500) || reply.statusText;
  try {
    if (text.startsWith('{')) {
      const parsed = JSON.parse(text);
      const error = parsed['odata.error'];
      code = error ? error.code : code;
      message = error ? error.message.value : parsed.message || message;
    } else if (text.includes('<Error>')) {
      const xml = parseXml(text);
      code = xml.textOf('Code') || code;
      message = xml.textOf('Message') || message;
    }
  } catch {
    /* the text as it is */
  }
  return new Trouble(reply.status, code, clean(message), { requestId });
}

async function expect(reply) {
  if (!reply.ok) throw await troubleOf(reply);
  return reply;
}

export const getJson = async (path, options) =>
  (await expect(await send('GET', path, options))).json();
export const postJson = async (path, value, options = {}) => {
  const reply = await expect(
    await send('POST', path, {
      ...options,
      body: JSON.stringify(value),
      headers: { 'content-type': 'application/json', ...options.headers },
    }),
  );
  return reply.status === 204 ? null : reply.json();
};

/** Exchange the word of a link for a session. */
export async function login(link) {
  const reply = await expect(
    await fetch('/api/login', { method: 'POST', body: JSON.stringify({ word: link }) }),
  );
  word = (await reply.json()).page;
  localStorage.setItem('tavola.page', word);
}

/** End the session, here and on the server. */
export async function logout() {
  try {
    await send('POST', '/api/logout');
  } catch (trouble) {
    if (trouble.status !== 401) throw trouble;
  } // it has ended already
  word = '';
  localStorage.removeItem('tavola.page');
  tell('left');
}

// --- which account ---

let account = '';
export const currentAccount = () => account;
export const useAccount = name => {
  account = name;
};

// --- tables ---

const quoted = text => `'${encodeURIComponent(text.replace(/'/g, "''")).replace(/'/g, '%27')}'`;
const tablePath = table => `/api/table/${account}/${encodeURIComponent(table)}`;
const entityPath = (table, partition, row) =>
  `${tablePath(table)}(PartitionKey=${quoted(partition)},RowKey=${quoted(row)})`;

/** The continuation token that names a key, and back: where a page begins is a place anybody can name. */
export const tokenOf = (partition, row) => ({
  partition: tokenText(partition),
  row: tokenText(row),
});
export const keyOfToken = token => [
  textOfToken(token.partition),
  token.row ? textOfToken(token.row) : '',
];

function tokenText(text) {
  const base64 = btoa(
    Array.from(new TextEncoder().encode(text), byte => String.fromCharCode(byte)).join(''),
  );
  return `1!${base64.length}!${base64.replace(/[=/+]/g, c => '-_*'['=/+'.indexOf(c)])}`;
}

function textOfToken(token) {
  const base64 = token
    .slice(token.indexOf('!', 2) + 1)
    .replace(/[-_*]/g, c => '=/+'['-_*'.indexOf(c)]);
  return new TextDecoder().decode(Uint8Array.from(atob(base64), c => c.charCodeAt(0)));
}

const TABLE_HEADERS = {
  accept: 'application/json;odata=fullmetadata',
  'x-ms-version': '2019-02-02',
};

class NumberText {
  constructor(text) {
    this.text = text;
  }
}

/** An entity as the page keeps it: a Map of name to {type, value}, and its ETag. */
function entityOf(json) {
  const properties = new Map();
  for (const [name, value] of Object.entries(json)) {
    if (name.includes('odata.') || value === null) continue;
    const declared = json[`${name}@odata.type`];
    const type =
      declared ||
      (typeof value === 'string'
        ? 'Edm.String'
        : typeof value === 'boolean'
          ? 'Edm.Boolean'
          : /[.eE]/.test(value.text)
            ? 'Edm.Double'
            : 'Edm.Int32');
    properties.set(name, { type, value: value instanceof NumberText ? value.text : String(value) });
  }
  return { etag: json['odata.etag'], properties, partition: json.PartitionKey, row: json.RowKey };
}

/** The JSON of an entity's properties; numbers are written as their texts, so none is rounded. */
export function entityJson(properties) {
  const parts = [];
  for (const [name, { type, value }] of properties) {
    if (name === 'Timestamp') continue;
    const key = JSON.stringify(name);
    if (type === 'Edm.Boolean' || type === 'Edm.Int32') parts.push(`${key}:${value}`);
    else if (type === 'Edm.String') parts.push(`${key}:${JSON.stringify(value)}`);
    else
      parts.push(
        `${JSON.stringify(`${name}@odata.type`)}:"${type}"`,
        `${key}:${JSON.stringify(value)}`,
      );
  }
  return `{${parts.join(',')}}`;
}

/** JSON with the texts of numbers kept: 20.0 and 20 are different types to the service. */
const parseEntities = text =>
  JSON.parse(text, (name, value, context) =>
    typeof value === 'number' ? new NumberText(context?.source ?? String(value)) : value,
  );

/**
 * One page of a query: {entities, next, plan, examined, returned, text, ms}; text: how long the answer was.  `next` goes into the next
 * call; null at the end.
 */
export async function queryPage(
  table,
  { filter = '', select = '', top = 0, next = null, signal } = {},
) {
  const query = [];
  if (filter) query.push(`$filter=${encodeURIComponent(filter)}`);
  if (select) query.push(`$select=${encodeURIComponent(select)}`);
  if (top) query.push(`$top=${top}`);
  if (next) {
    query.push(`NextPartitionKey=${encodeURIComponent(next.partition)}`);
    if (next.row) query.push(`NextRowKey=${encodeURIComponent(next.row)}`);
  }
  const began = performance.now();
  const reply = await expect(
    await send('GET', `${tablePath(table)}()${query.length ? `?${query.join('&')}` : ''}`, {
      headers: TABLE_HEADERS,
      signal,
    }),
  );
  const text = await reply.text(),
    json = parseEntities(text);
  const partition = reply.headers.get('x-ms-continuation-NextPartitionKey');
  // "range; ranges=1; examined=12; returned=10"
  const [plan, ...parts] = (reply.headers.get('x-tavola-plan') || '').split('; ');
  const examined = parts.find(part => part.startsWith('examined='));
  return {
    entities: json.value.map(entityOf),
    next: partition ? { partition, row: reply.headers.get('x-ms-continuation-NextRowKey') } : null,
    plan: plan || null,
    examined: examined ? Number(examined.slice(9)) : json.value.length,
    returned: json.value.length,
    text: text.length,
    ms: performance.now() - began,
  };
}

/** What the server would do for a filter, without doing it. */
export async function explain(table, filter, { top = 0, signal } = {}) {
  const query = [filter ? `$filter=${encodeURIComponent(filter)}` : '', top ? `$top=${top}` : '']
    .filter(Boolean)
    .join('&');
  return getJson(`${tablePath(table)}()${query ? `?${query}` : ''}`, {
    headers: { ...TABLE_HEADERS, 'x-tavola-explain': 'true' },
    signal,
  });
}

export async function getEntity(table, partition, row) {
  const reply = await expect(
    await send('GET', entityPath(table, partition, row), { headers: TABLE_HEADERS }),
  );
  return entityOf(parseEntities(await reply.text()));
}

/** Insert; returns the ETag. */
export async function insertEntity(table, properties) {
  const reply = await expect(
    await send('POST', tablePath(table), {
      body: entityJson(properties),
      headers: {
        ...TABLE_HEADERS,
        'content-type': 'application/json',
        prefer: 'return-no-content',
      },
    }),
  );
  return reply.headers.get('etag');
}

/** Merge or replace with a condition; `etag` '*' is any, null makes it an upsert.  The new ETag. */
export async function writeEntity(table, how, properties, etag) {
  const partition = properties.get('PartitionKey').value,
    row = properties.get('RowKey').value;
  const reply = await expect(
    await send(how === 'merge' ? 'PATCH' : 'PUT', entityPath(table, partition, row), {
      body: entityJson(properties),
      headers: {
        ...TABLE_HEADERS,
        'content-type': 'application/json',
        ...(etag ? { 'if-match': etag } : {}),
      },
    }),
  );
  return reply.headers.get('etag');
}

export async function deleteEntity(table, partition, row, etag = '*') {
  await expect(
    await send('DELETE', entityPath(table, partition, row), {
      headers: { ...TABLE_HEADERS, 'if-match': etag },
    }),
  );
}

export async function createTable(name) {
  await postJson(
    `/api/table/${account}/Tables`,
    { TableName: name },
    { headers: { ...TABLE_HEADERS, prefer: 'return-no-content' } },
  );
}

export async function deleteTable(name) {
  await expect(
    await send('DELETE', `/api/table/${account}/Tables(${quoted(name)})`, {
      headers: TABLE_HEADERS,
    }),
  );
}

/**
 * One entity group transaction of {how: insert|merge|upmerge|replace|upsert|delete, properties | partition, row, etag}.
 * Throws a Trouble with `failed`, the index of the operation that failed.
 */
export async function sendBatch(table, operations) {
  const boundary = `batch_${crypto.randomUUID()}`,
    changes = `changeset_${crypto.randomUUID()}`;
  const lines = [`--${boundary}`, `Content-Type: multipart/mixed; boundary=${changes}`, ''];
  operations.forEach((operation, i) => {
    const method = {
      insert: 'POST',
      merge: 'PATCH',
      upmerge: 'PATCH',
      replace: 'PUT',
      upsert: 'PUT',
      delete: 'DELETE',
    }[operation.how];
    const partition = operation.partition ?? operation.properties.get('PartitionKey').value;
    const row = operation.row ?? operation.properties.get('RowKey').value;
    const path = operation.how === 'insert' ? tablePath(table) : entityPath(table, partition, row);
    lines.push(
      `--${changes}`,
      'Content-Type: application/http',
      'Content-Transfer-Encoding: binary',
      `Content-ID: ${i}`,
      '',
      `${method} ${location.origin}${path.replace('/api/table', '')} HTTP/1.1`,
      'Accept: application/json;odata=nometadata',
    );
    if (!['insert', 'upsert', 'upmerge'].includes(operation.how))
      lines.push(`If-Match: ${operation.etag || '*'}`);
    if (operation.how !== 'delete')
      lines.push(
        'Content-Type: application/json',
        'Prefer: return-no-content',
        '',
        entityJson(operation.properties),
      );
    else lines.push('', '');
  });
  lines.push(`--${changes}--`, `--${boundary}--`, '');
  const reply = await expect(
    await send('POST', `/api/table/${account}/$batch`, {
      body: lines.join('\r\n'),
      headers: { ...TABLE_HEADERS, 'content-type': `multipart/mixed; boundary=${boundary}` },
    }),
  );
  const text = await reply.text();
  const answers = [...text.matchAll(/HTTP\/1\.1 (\d{3})[\s\S]*?(?=--changeset)/g)];
  const bad = answers.find(answer => Number(answer[1]) >= 400);
  if (bad) {
    const body = bad[0].slice(bad[0].indexOf('{'));
    const error = JSON.parse(body.slice(0, body.lastIndexOf('}') + 1))['odata.error'];
    const failed = /^(\d+):/.exec(error.message.value);
    throw new Trouble(Number(bad[1]), error.code, clean(error.message.value.replace(/^\d+:/, '')), {
      failed: failed ? Number(failed[1]) : 0,
    });
  }
  return answers.map(answer => /etag: (.*)\r/i.exec(answer[0])?.[1] || null);
}

// --- names, and what else the server says of itself ---

let facts = null;

/** Ask who this server is; what it has said is known to all. */
export const hello = async () => (facts = await getJson('/api/hello'));
/** {accounts, engine, version, startedAt}; null without a session. */
export const serverFacts = () => facts;
export const forgetServer = () => {
  facts = null;
};

/** {tables, queues, containers}: names, counts and requests; src/server/explorer/tree.h has the fields. */
export const tree = () => getJson(`/api/tree?account=${encodeURIComponent(account)}`);
/** The last lines of the server's log: {first, last, cut, lines: [{n, level, text}]}. */
export const log = (after, level, text, signal) =>
  getJson(`/log?after=${after}&level=${level}&text=${encodeURIComponent(text)}&lines=400`, {
    signal,
  });
/** The requests of applications after number `after`: {first, last, wasOff, requests}. */
export const requests = after => getJson(`/requests?after=${after}`);
export const bundle = async () => (await expect(await send('GET', '/bundle'))).blob();
export const sign = async text => (await postJson('/api/sign', { account, text })).signature;

/** Prometheus' text as a Map of "name{labels}" to number. */
export async function metrics(signal) {
  const text = await (await expect(await send('GET', '/metrics', { signal }))).text();
  const values = new Map();
  for (const line of text.split('\n')) {
    const at = line.lastIndexOf(' ');
    if (at > 0 && line[0] !== '#') values.set(line.slice(0, at), Number(line.slice(at + 1)));
  }
  return values;
}

/** What they were: {now, points: [{at, metrics}]}, sums by one label; times in milliseconds of the server. */
export async function metricsBefore(after, signal) {
  const { nowMs, series, points } = await getJson(`/metrics/history?after=${after}`, { signal });
  return {
    now: nowMs,
    points: points.map(([at, ...values]) => ({
      at,
      metrics: new Map(values.map((value, i) => [series[i], value])),
    })),
  };
}

// --- queues and blobs: their protocols are XML ---

/** `kind`: table, queue or blob. */
export const servicePath = kind => `/api/${kind}/${account}`;
export const queuePath = (rest = '') => `${servicePath('queue')}${rest}`;
export const blobPath = (rest = '') => `${servicePath('blob')}${rest}`;
const OTHER_HEADERS = { 'x-ms-version': '2021-12-02' };

/** A request to a queue or blob: the reply, or a Trouble. */
export const service = async (method, path, options = {}) =>
  expect(
    await send(method, path, { ...options, headers: { ...OTHER_HEADERS, ...options.headers } }),
  );

/** Its XML. */
export const serviceXml = async (method, path, options) =>
  parseXml(await (await service(method, path, options)).text());
