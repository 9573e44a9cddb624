// What the tests of queues and blobs need: clients for the running server, queues
// and containers that go away by themselves, and a check of a refusal.
//
// tests/sdk/run.py says where the server is:
//   SDK_TEST_QUEUE_ENDPOINT   http://127.0.0.1:PORT
//   SDK_TEST_BLOB_ENDPOINT    http://127.0.0.1:PORT

import assert from "node:assert/strict";
import { after } from "node:test";
import {
  BlobServiceClient, StorageSharedKeyCredential as BlobKey,
} from "@azure/storage-blob";
import {
  QueueServiceClient, StorageSharedKeyCredential as QueueKey,
} from "@azure/storage-queue";
import {
  accounts, collect, firstAccount, mainAccount, noClock, pass, secondAccount, storedNow,
} from "./lib.mjs";

export { accounts, collect, firstAccount, mainAccount, noClock, pass, secondAccount, storedNow };
export const queueEndpoint = process.env.SDK_TEST_QUEUE_ENDPOINT;
export const blobEndpoint = process.env.SDK_TEST_BLOB_ENDPOINT;
export const tls = process.env.SDK_TEST_TLS ? (url) => url.replace("http:", "https:") : null;

// A test of an error must not wait for the SDK to try again.
export const options = { retryOptions: { maxTries: 1 } };

export const queueKey = (account = mainAccount, n = 0) =>
  new QueueKey(account, accounts[account][n]);
export const blobKey = (account = mainAccount, n = 0) => new BlobKey(account, accounts[account][n]);

export function queueService(account = mainAccount, credential = queueKey(account)) {
  return new QueueServiceClient(`${queueEndpoint}/${account}`, credential, options);
}

export function blobService(account = mainAccount, credential = blobKey(account)) {
  return new BlobServiceClient(`${blobEndpoint}/${account}`, credential, options);
}

let count = 0;
export function storageName(what = "js") {
  return `${what}-${process.pid}-${++count}`;
}

// What is made here is deleted when all tests of the file are over.
const made = [];
after(() => Promise.all(made.map((one) => one.deleteIfExists())));

export async function newQueue(createOptions, account = mainAccount) {
  const queue = queueService(account).getQueueClient(storageName());
  await queue.create(createOptions);
  made.push(queue);
  return queue;
}

export async function newContainer(createOptions, account = mainAccount) {
  const container = blobService(account).getContainerClient(storageName());
  await container.create(createOptions);
  made.push(container);
  return container;
}

// The promise must fail with this status and this code of the service.  The code
// is in a header, and in the XML of an answer that has a body.
export async function refused(promise, status, code) {
  let error;
  try {
    await promise;
  } catch (e) {
    error = e;
  }
  assert.ok(error, `no error, but ${status} ${code} was expected`);
  assert.equal(error.name, "RestError", error.stack);
  const header = error.response?.headers.get("x-ms-error-code");
  assert.deepEqual([error.statusCode, header], [status, code], error.stack);
  if (error.response.request.method !== "HEAD" && status !== 304)
    assert.equal(error.response.parsedBody?.code ?? error.response.parsedBody?.Code, code,
      `the code in the body: ${error.response.bodyAsText}`);
  return error;
}

export const status = async (promise) => (await promise)._response.status;
export const inAnHour = () => new Date(Date.now() + 3600_000);
export const anHourAgo = () => new Date(Date.now() - 3600_000);
export const wholeSecond = (date) => new Date(Math.floor(date / 1000) * 1000);

// Bytes that compress badly and differ from block to block.
export function someBytes(length, seed = 1) {
  const bytes = Buffer.alloc(length);
  let x = seed;
  for (let i = 0; i < length; i++) {
    x = (Math.imul(x, 1103515245) + 12345) >>> 0;
    bytes[i] = x >>> 16;
  }
  return bytes;
}

export async function text(download) {
  const chunks = [];
  for await (const chunk of (await download).readableStreamBody) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}
