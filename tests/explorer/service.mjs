// The services as clients see them, beside the page: what the page itself asks for is not recorded.

import { createHmac } from 'node:crypto';
import { ask } from './page.mjs';

const ACCOUNT = 'devstoreaccount1',
  KEY = 'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==';
export const sign = text =>
  createHmac('sha256', Buffer.from(KEY, 'base64')).update(text, 'utf8').digest('base64');

/** {table, queue, blob}: the addresses of the account. */
export const endpoints = async page =>
  JSON.parse((await ask(page, 'GET', '/api/hello')).text).accounts[0].endpoints;

/** A token that may do everything for a day. */
export function everything() {
  const fields = {
    sp: 'rwdlacup',
    ss: 'bqt',
    srt: 'sco',
    st: '',
    se: new Date(Date.now() + 864e5).toISOString().replace(/\.\d+/, ''),
    sip: '',
    spr: '',
    sv: '2019-02-02',
  };
  const sig = sign([ACCOUNT, ...Object.values(fields)].map(line => `${line}\n`).join(''));
  return Object.entries({ ...fields, sig })
    .filter(([, value]) => value)
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .join('&');
}

/** A client of the table service. */
export class Tables {
  constructor(address) {
    Object.assign(this, { address, token: everything() });
  }

  async send(method, path, { body, query = '', headers = {} } = {}) {
    const reply = await fetch(`${this.address}/${path}?${query}${query && '&'}${this.token}`, {
      method,
      body,
      headers: {
        accept: 'application/json;odata=nometadata',
        'content-type': 'application/json',
        'x-ms-version': '2019-02-02',
        ...headers,
      },
    });
    const text = await reply.text();
    if (!reply.ok) throw new Error(`${method} ${path}: ${reply.status} ${text}`);
    return text;
  }

  create(name) {
    return this.send('POST', 'Tables', { body: JSON.stringify({ TableName: name }) });
  }
  get(table, partition, row) {
    return this.send('GET', `${table}(PartitionKey='${partition}',RowKey='${row}')`);
  }
  query(table, filter) {
    return this.send('GET', `${table}()`, { query: `$filter=${encodeURIComponent(filter)}` });
  }

  /** Insert or replace up to a hundred rows of a partition at once; a row is its key, or an object. */
  async put(table, partition, rows) {
    const lines = ['--b', 'Content-Type: multipart/mixed; boundary=c', ''];
    for (const each of rows) {
      const { row, ...properties } = typeof each === 'string' ? { row: each } : each;
      lines.push(
        '--c',
        'Content-Type: application/http',
        'Content-Transfer-Encoding: binary',
        '',
        `PUT ${this.address}/${table}(PartitionKey='${partition}',RowKey='${row}') HTTP/1.1`,
        'Content-Type: application/json',
        '',
        JSON.stringify({ PartitionKey: partition, RowKey: row, ...properties }),
      );
    }
    const answer = await this.send('POST', '$batch', {
      body: [...lines, '--c--', '--b--', ''].join('\r\n'),
      headers: { 'content-type': 'multipart/mixed; boundary=b' },
    });
    if (/HTTP\/1\.1 [45]/.test(answer)) throw new Error(answer);
  }
}
