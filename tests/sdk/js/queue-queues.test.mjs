// Queues: create, list, metadata, delete, and the names that are refused.

import assert from "node:assert/strict";
import test from "node:test";
import { collect, newQueue, queueService, refused, status, storageName } from "./storage.mjs";

const service = queueService();
const names = async (options) => (await collect(service.listQueues(options))).map((q) => q.name);

test("a created queue is listed until it is deleted", async () => {
  const queue = service.getQueueClient(storageName());
  assert.equal(await status(queue.create()), 201);
  assert.ok((await names()).includes(queue.name));
  assert.equal(await queue.exists(), true);
  assert.equal(await status(queue.delete()), 204);
  assert.ok(!(await names()).includes(queue.name));
  assert.equal(await queue.exists(), false);
});

test("creating a queue again depends on its metadata", async () => {
  const queue = await newQueue({ metadata: { color: "blue", size: "3" } });
  assert.equal(await status(queue.create({ metadata: { size: "3", color: "blue" } })), 204);
  await refused(queue.create(), 409, "QueueAlreadyExists");
  await refused(queue.create({ metadata: { color: "red", size: "3" } }), 409, "QueueAlreadyExists");
  const again = await queue.createIfNotExists();
  assert.equal(again.succeeded, false);
  const plain = await newQueue();
  assert.equal(await status(plain.create()), 204);
  assert.equal((await plain.createIfNotExists()).succeeded, false);
});

test("a queue that is not there", async () => {
  const queue = service.getQueueClient(storageName());
  await refused(queue.delete(), 404, "QueueNotFound");
  assert.equal((await queue.deleteIfExists()).succeeded, false);
  await refused(queue.getProperties(), 404, "QueueNotFound");
  await refused(queue.setMetadata({ a: "b" }), 404, "QueueNotFound");
  await refused(queue.getAccessPolicy(), 404, "QueueNotFound");
  await refused(queue.setAccessPolicy([]), 404, "QueueNotFound");
  await refused(queue.sendMessage("text"), 404, "QueueNotFound");
  await refused(queue.receiveMessages(), 404, "QueueNotFound");
  await refused(queue.peekMessages(), 404, "QueueNotFound");
  await refused(queue.clearMessages(), 404, "QueueNotFound");
  assert.equal((await queue.createIfNotExists()).succeeded, true);
  assert.equal((await queue.deleteIfExists()).succeeded, true);
});

test("the service client creates and deletes too", async () => {
  const name = storageName();
  await service.createQueue(name, { metadata: { a: "b" } });
  assert.deepEqual((await service.getQueueClient(name).getProperties()).metadata, { a: "b" });
  await service.deleteQueue(name);
  assert.equal(await service.getQueueClient(name).exists(), false);
});

test("metadata is set whole and read back", async () => {
  const queue = await newQueue({ metadata: { one: "1", two: "2" } });
  assert.deepEqual((await queue.getProperties()).metadata, { one: "1", two: "2" });
  assert.equal(await status(queue.setMetadata({ three: "drei & vier" })), 204);
  assert.deepEqual((await queue.getProperties()).metadata, { three: "drei & vier" });
  await queue.setMetadata();
  assert.deepEqual((await queue.getProperties()).metadata, {});
});

test("a listing by prefix, with metadata, in order", async () => {
  const prefix = storageName("list");
  const made = ["c", "a", "b"].map((letter) => service.getQueueClient(`${prefix}-${letter}`));
  for (const queue of made) await queue.create({ metadata: { forQueue: queue.name } });
  assert.deepEqual(await names({ prefix }), ["a", "b", "c"].map((letter) => `${prefix}-${letter}`));
  const [first] = await collect(service.listQueues({ prefix, includeMetadata: true }));
  assert.deepEqual(first.metadata, { forQueue: `${prefix}-a` });
  const [bare] = await collect(service.listQueues({ prefix }));
  assert.equal(bare.metadata, undefined);
  assert.deepEqual(await names({ prefix: `${prefix}-no` }), []);
  for (const queue of made) await queue.delete();
});

test("a listing by pages gives every queue once, and goes on from a token", async () => {
  const prefix = storageName("page");
  const made = [];
  for (let i = 0; i < 7; i++) {
    made.push(`${prefix}-${i}`);
    await service.createQueue(made[i]);
  }
  const seen = await collect(service.listQueues({ prefix }).byPage({ maxPageSize: 3 }));
  assert.deepEqual(seen.map((page) => page.queueItems.length), [3, 3, 1]);
  assert.deepEqual(seen.flatMap((page) => page.queueItems.map((q) => q.name)), made);
  assert.equal(seen[0].prefix, prefix);
  assert.equal(seen[0].maxPageSize, 3);
  const rest = await collect(service.listQueues({ prefix })
    .byPage({ maxPageSize: 100, continuationToken: seen[1].continuationToken }));
  assert.deepEqual(rest[0].queueItems.map((q) => q.name), made.slice(6));
  for (const name of made) await service.deleteQueue(name);
});

for (const [what, name, code] of [
  ["too short", "ab", "OutOfRangeInput"],
  ["too long", "a".repeat(64), "OutOfRangeInput"],
  ["with capitals", "MyQueue", "InvalidResourceName"],
  ["with two hyphens", "my--queue", "InvalidResourceName"],
  ["that ends with a hyphen", "queue-", "InvalidResourceName"],
  ["with an underscore", "my_queue", "InvalidResourceName"],
]) {
  test(`a name ${what} is refused`, () => refused(service.createQueue(name), 400, code));
}

test("a queue that comes again is empty", async () => {
  const queue = await newQueue({ metadata: { a: "b" } });
  await queue.sendMessage("text");
  await queue.setAccessPolicy([{ id: "p", accessPolicy: { permissions: "r" } }]);
  await queue.delete();
  await queue.create();
  const got = await queue.getProperties();
  assert.deepEqual([got.metadata, got.approximateMessagesCount], [{}, 0]);
  assert.deepEqual((await queue.getAccessPolicy()).signedIdentifiers, []);
  assert.deepEqual((await queue.receiveMessages()).receivedMessageItems, []);
});
