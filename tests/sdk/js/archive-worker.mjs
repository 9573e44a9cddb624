// A worker of the eventually consistent transactions pattern, for patterns.test.mjs:
//   archive-worker.mjs CURRENT ARCHIVE QUEUE VISIBILITY-TIMEOUT CRASH-AFTER
//
// Moves the employee of one message from table CURRENT to table ARCHIVE.  After the step
// that CRASH-AFTER names (get, insert, delete, all) it prints the step, the message and
// how often it was read, and waits to be killed.

import { AzureNamedKeyCredential, TableClient } from "@azure/data-tables";
import { QueueClient, StorageSharedKeyCredential } from "@azure/storage-queue";

const [, , currentName, archiveName, queueName, visibilityTimeout, crashAfter] = process.argv;
const { SDK_TEST_TABLE_ENDPOINT, SDK_TEST_QUEUE_ENDPOINT, SDK_TEST_ACCOUNTS } = process.env;
const [[account, [key]]] = Object.entries(JSON.parse(SDK_TEST_ACCOUNTS));

const table = (name) => new TableClient(`${SDK_TEST_TABLE_ENDPOINT}/${account}`, name,
  new AzureNamedKeyCredential(account, key), { allowInsecureConnection: true });
const current = table(currentName);
const archive = table(archiveName);
const queue = new QueueClient(`${SDK_TEST_QUEUE_ENDPOINT}/${account}/${queueName}`,
  new StorageSharedKeyCredential(account, key));

const [message] = (await queue.receiveMessages({ visibilityTimeout: Number(visibilityTimeout) }))
  .receivedMessageItems;
if (!message) throw new Error("there is no message to work on");

async function reached(step) {
  if (step !== crashAfter) return;
  console.log(step, message.messageId, message.dequeueCount);
  setInterval(() => {}, 1000);
  await new Promise(() => {});
}

// Both steps may be done twice: insert or replace, delete if it is there.
const { partitionKey, rowKey } = JSON.parse(message.messageText);
await reached("get");
const employee = await current.getEntity(partitionKey, rowKey).catch((error) => {
  if (error.statusCode !== 404) throw error;
});
if (employee) await archive.upsertEntity(employee, "Replace");
await reached("insert");
await current.deleteEntity(partitionKey, rowKey).catch((error) => {
  if (error.statusCode !== 404) throw error;
});
await reached("delete");
await queue.deleteMessage(message.messageId, message.popReceipt);
await reached("all");
