// Requests of an application, signed with the account's key, to the services' own ports: what the
// page shows as traffic.

import { createHmac } from 'node:crypto';
import { ask } from './page.mjs';

const ACCOUNT = 'devstoreaccount1';
const KEY = Buffer.from(
  'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==',
  'base64',
);

const endpoints = new Map(); // they stay, whatever is done to the server
async function endpointsOf(page) {
  if (!endpoints.size)
    for (const [service, address] of Object.entries(
      JSON.parse((await ask(page, 'GET', '/api/hello')).text).accounts[0].endpoints,
    ))
      endpoints.set(service, address);
  return endpoints;
}

/** Call `send` again and again until `seen` has come true. */
export async function during(send, seen) {
  let isDone = false;
  const traffic = (async () => {
    while (!isDone) await send();
  })();
  try {
    await Promise.race([seen(), traffic]);
  } finally {
    isDone = true;
    await traffic.catch(() => {});
  }
}

/** One request to the tables, by SharedKeyLite; the status. */
export async function sendAsClient(
  page,
  method,
  path,
  { body, key = KEY, agent = 'azsdk-python-data-tables/12.4.4 Python/3.11' } = {},
) {
  const table = (await endpointsOf(page)).get('table'),
    date = new Date().toUTCString();
  const signed = createHmac('sha256', key)
    .update(`${date}\n/${ACCOUNT}/${ACCOUNT}/${path.split('?')[0]}`)
    .digest('base64');
  const reply = await fetch(`${table}/${path}`, {
    method,
    body: body && JSON.stringify(body),
    headers: {
      'x-ms-date': date,
      'x-ms-version': '2019-02-02',
      authorization: `SharedKeyLite ${ACCOUNT}:${signed}`,
      'content-type': 'application/json',
      accept: 'application/json;odata=nometadata',
      'user-agent': agent,
    },
  });
  await reply.text();
  return reply.status;
}
