// What every test file here needs: clients for the running server, tables that
// go away by themselves, and a check of a refusal's status and code.
//
// tests/sdk/run.py says where the server is:
//   SDK_TEST_TABLE_ENDPOINT   http://127.0.0.1:PORT
//   SDK_TEST_ACCOUNTS         {"account": ["key", "second key"], ...}
//   SDK_TEST_CLOCKS           [["http://127.0.0.1:PORT", "token"], ...] of the admin port, or of
//                             those of all nodes, if the server's clock can be moved

import assert from "node:assert/strict";
import { after } from "node:test";
import { AzureNamedKeyCredential, TableClient, TableServiceClient } from "@azure/data-tables";

export const endpoint = process.env.SDK_TEST_TABLE_ENDPOINT;
export const accounts = JSON.parse(process.env.SDK_TEST_ACCOUNTS);
export const [mainAccount, firstAccount, secondAccount] = Object.keys(accounts);

// A test of an error must not wait for the SDK to try again.
export const options = { allowInsecureConnection: true, retryOptions: { maxRetries: 0 } };

export function connect(account = mainAccount, key = accounts[account][0]) {
  const credential = new AzureNamedKeyCredential(account, key);
  const url = `${endpoint}/${account}`;
  return {
    service: new TableServiceClient(url, credential, options),
    table: (name) => new TableClient(url, name, credential, options),
  };
}

const clocks = JSON.parse(process.env.SDK_TEST_CLOCKS ?? "[]");
export const noClock = clocks.length ? false : "the clock of this server cannot be moved";

// Let so much time pass for what is stored.
export async function pass(seconds) {
  let last;
  for (const [url, token] of clocks) {
    const answer = await fetch(`${url}/clock`, {
      method: "POST", body: JSON.stringify({ ms: seconds * 1000 }),
      headers: { Authorization: `Bearer ${token}` },
    });
    assert.equal(answer.status, 200);
    last = (await answer.json()).unixMs;
  }
  return last;
}

// The time of what is stored now, in ms, which may be ahead of the wall clock.
export const storedNow = async () => (noClock ? Date.now() : pass(0));

let count = 0;
export function tableName() {
  return `js${process.pid}x${++count}`;
}

// A new table that is deleted when the file's tests are over.
const made = [];
after(() => Promise.all(made.map((client) => client.deleteTable())));

export async function newTable(account = mainAccount) {
  const client = connect(account).table(tableName());
  await client.createTable();
  made.push(client);
  return client;
}

// The promise must fail with this status and this code of the service.
export async function refused(promise, status, code) {
  let error;
  try {
    await promise;
  } catch (e) {
    error = e;
  }
  assert.ok(error, `no error, but ${status} ${code} was expected`);
  // Of errors in XML the SDK reads nothing, so their code is that of the header.
  const header = error.response?.headers.get("x-ms-error-code");
  const got = error.details?.odataError?.code ?? error.code ?? header;
  assert.deepEqual([error.statusCode, got], [status, code], error.stack);
  return error;
}

export async function collect(iterator) {
  const all = [];
  for await (const item of iterator) all.push(item);
  return all;
}

export const etagForm = /^W\/"datetime'\d{4}-\d\d-\d\dT\d\d%3A\d\d%3A\d\d(\.\d{1,7})?Z'"$/;
