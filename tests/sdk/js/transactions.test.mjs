// Entity group transactions: all of it or nothing, and which operation failed.

import assert from "node:assert/strict";
import test from "node:test";
import { TableTransaction } from "@azure/data-tables";
import { collect, connect, etagForm, newTable, refused, tableName } from "./lib.mjs";

const client = await newTable();
let part = 0;
const partition = () => `part ${++part}`;
const rows = (partitionKey, count, more = {}) =>
  Array.from({ length: count }, (_, i) => ({
    partitionKey,
    rowKey: String(i).padStart(3, "0"),
    ...more,
  }));
const inPartition = async (key) =>
  collect(client.listEntities({ queryOptions: { filter: `PartitionKey eq '${key}'` } }));

// A failing transaction names its operation in the message as "index:text".
async function fails(actions, status, code, index) {
  const error = await refused(client.submitTransaction(actions), status, code);
  assert.match(error.message, new RegExp(`^${index}:`));
  return error;
}

test("100 inserts in one transaction", async () => {
  const key = partition();
  const reply = await client.submitTransaction(rows(key, 100).map((e) => ["create", e]));
  assert.equal(reply.status, 202);
  assert.equal(reply.subResponses.length, 100);
  reply.subResponses.forEach((r, i) => {
    assert.equal(r.status, 204);
    assert.equal(r.rowKey, String(i).padStart(3, "0"));
    assert.match(r.etag.trim(), etagForm);
  });
  const stored = await inPartition(key);
  assert.equal(stored.length, 100);
  stored.forEach((e, i) => assert.equal(e.etag, reply.subResponses[i].etag.trim()));
});

test("101 operations are refused and nothing is applied", async () => {
  const key = partition();
  await fails(rows(key, 101).map((e) => ["create", e]), 400, "InvalidInput", 99);
  assert.deepEqual(await inPartition(key), []);
});

test("every kind of operation in one transaction", async () => {
  const key = partition();
  const [a, b, c, d, e, f] = rows(key, 6, { x: 1, y: 1 });
  for (const entity of [a, b, c, d, e]) await client.createEntity(entity);
  const { etag } = await client.getEntity(key, b.rowKey);
  const reply = await client.submitTransaction([
    ["delete", a],
    ["update", { ...b, x: 2, y: undefined }, "Merge", { etag }],
    ["update", { ...c, x: 2, y: undefined }, "Replace"],
    ["upsert", { ...d, x: 2, y: undefined }, "Merge"],
    ["upsert", { ...e, x: 2, y: undefined }, "Replace"],
    ["create", f],
  ]);
  assert.deepEqual(reply.subResponses.map((r) => r.status), [204, 204, 204, 204, 204, 204]);
  assert.deepEqual(
    (await inPartition(key)).map((e) => [e.rowKey, e.x, e.y]),
    [
      ["001", 2, 1],
      ["002", 2, undefined],
      ["003", 2, 1],
      ["004", 2, undefined],
      ["005", 1, 1],
    ],
  );
});

test("an insert that exists fails the transaction, and nothing is applied", async () => {
  const key = partition();
  const entities = rows(key, 5, { n: 1 });
  await client.createEntity(entities[3]);
  const error = await fails(
    entities.map((e) => ["create", { ...e, n: 2 }]), 409, "EntityAlreadyExists", 3);
  assert.match(error.message, /^3:The specified entity already exists\./);
  assert.deepEqual((await inPartition(key)).map((e) => [e.rowKey, e.n]), [["003", 1]]);
});

test("a stale etag fails the transaction, and nothing is applied", async () => {
  const key = partition();
  const [a, b] = rows(key, 2, { n: 1 });
  const { etag } = await client.createEntity(a);
  await client.updateEntity({ ...a, n: 2 });
  await fails(
    [["create", b], ["update", { ...a, n: 3 }, "Merge", { etag }]],
    412, "UpdateConditionNotSatisfied", 1);
  assert.deepEqual((await inPartition(key)).map((e) => [e.rowKey, e.n]), [["000", 2]]);
});

test("deleting or updating what is not there fails the transaction", async () => {
  const key = partition();
  const [a, b] = rows(key, 2);
  await fails([["create", a], ["delete", b]], 404, "ResourceNotFound", 1);
  await fails([["create", a], ["update", b, "Replace"]], 404, "ResourceNotFound", 1);
  assert.deepEqual(await inPartition(key), []);
});

test("a bad entity fails the transaction, and nothing is applied", async () => {
  const key = partition();
  const [a, b, c] = rows(key, 3);
  await fails(
    [["create", a], ["create", b], ["create", { ...c, s: "x".repeat(32769) }]],
    400, "PropertyValueTooLarge", 2);
  assert.deepEqual(await inPartition(key), []);
});

test("the same entity twice is refused", async () => {
  const key = partition();
  const [a] = rows(key, 1);
  await fails([["create", a], ["upsert", { ...a, n: 2 }]], 400, "InvalidDuplicateRow", 1);
  assert.deepEqual(await inPartition(key), []);
});

test("two partitions are refused, by the SDK before it sends anything", async () => {
  const transaction = [
    ["create", { partitionKey: "one", rowKey: "r" }],
    ["create", { partitionKey: "two", rowKey: "r" }],
  ];
  await assert.rejects(client.submitTransaction(transaction), /same partitionKey/);
  assert.deepEqual(await inPartition("one"), []);
});

test("a table that does not exist fails the transaction", async () => {
  const nowhere = connect().table(tableName());
  const error = await refused(
    nowhere.submitTransaction(rows("p", 2).map((e) => ["create", e])), 404, "TableNotFound");
  assert.match(error.message, /^0:/);
});

test("all types and odd keys travel in a transaction", async () => {
  const partitionKey = "it's 100% 日本語 😀";
  const entity = {
    partitionKey,
    rowKey: "a''b%27",
    int64: -9223372036854775808n,
    double: 0.1,
    date: new Date("2026-02-03T04:05:06.789Z"),
    guid: { type: "Guid", value: "6f9619ff-8b86-d011-b42d-00c04fc964ff" },
    text: "line\r\n--changeset\r\n\r\nHTTP/1.1 200 OK 𝄞",
  };
  await client.submitTransaction([["create", entity]]);
  const got = await client.getEntity(partitionKey, entity.rowKey);
  for (const [name, value] of Object.entries(entity)) assert.deepEqual(got[name], value);
});

test("a transaction of 3 MiB is accepted", async () => {
  const key = partition();
  const text = "x".repeat(30_000);
  await client.submitTransaction(rows(key, 100, { text }).map((e) => ["create", e]));
  assert.equal((await inPartition(key)).length, 100);
});

test("a transaction over 4 MiB is refused and nothing is applied", async () => {
  const key = partition();
  const text = "x".repeat(30_000);
  let error;
  try {
    await client.submitTransaction(
      rows(key, 100, { text, more: text }).map((e) => ["create", e]));
  } catch (e) {
    error = e;
  }
  assert.equal(error?.statusCode, 413);
  assert.deepEqual(await inPartition(key), []);
});

test("a transaction built step by step", async () => {
  const key = partition();
  const transaction = new TableTransaction();
  transaction.createEntity({ partitionKey: key, rowKey: "a", n: 1 });
  transaction.upsertEntity({ partitionKey: key, rowKey: "b", n: 2 }, "Replace");
  const reply = await client.submitTransaction(transaction.actions);
  assert.equal(reply.subResponses.length, 2);
  assert.deepEqual((await inPartition(key)).map((e) => e.n), [1, 2]);
});
