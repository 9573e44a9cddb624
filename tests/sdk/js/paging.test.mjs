// Listing: 2,500 entities over 50 partitions, in order, by pages and by partition.

import assert from "node:assert/strict";
import test, { before } from "node:test";
import { collect, newTable } from "./lib.mjs";

const PARTITIONS = 50;
const ROWS = 50;
const client = await newTable();
const expected = [];

before(async () => {
  for (let p = 0; p < PARTITIONS; p++) {
    const partitionKey = `part-${p}`;
    const entities = Array.from({ length: ROWS }, (_, r) => ({
      partitionKey,
      rowKey: `row-${r}`,
      n: p * ROWS + r,
    }));
    await client.submitTransaction(entities.map((e) => ["create", e]));
    expected.push(...entities.map((e) => [e.partitionKey, e.rowKey]));
  }
  // The service's order is ordinal: part-1, part-10, part-11, ..., part-2.
  const order = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
  expected.sort((a, b) => order(a[0], b[0]) || order(a[1], b[1]));
});

const keys = (entities) => entities.map((e) => [e.partitionKey, e.rowKey]);

test("the whole table in the order of its keys", async () => {
  assert.deepEqual(keys(await collect(client.listEntities())), expected);
});

test("without a page size a page holds 1000 entities", async () => {
  const sizes = [];
  for await (const page of client.listEntities().byPage()) sizes.push(page.length);
  assert.deepEqual(sizes, [1000, 1000, 500]);
});

for (const maxPageSize of [1000, 333, 50]) {
  test(`pages of ${maxPageSize}`, async () => {
    const seen = [];
    for await (const page of client.listEntities().byPage({ maxPageSize })) {
      assert.ok(page.length <= maxPageSize);
      seen.push(...keys(page));
    }
    assert.deepEqual(seen, expected);
  });
}

test("a continuation token resumes where it was taken, in a new client call", async () => {
  const seen = [];
  let continuationToken;
  do {
    const pages = client.listEntities().byPage({ maxPageSize: 400, continuationToken });
    const { value: page } = await pages.next();
    seen.push(...keys(page));
    continuationToken = page.continuationToken;
  } while (continuationToken);
  assert.deepEqual(seen, expected);
});

test("a row deleted at the token costs nothing", async () => {
  const pages = client.listEntities().byPage({ maxPageSize: 10 });
  const { value: page } = await pages.next();
  const [next, afterNext] = expected.slice(10, 12);
  const { n } = await client.getEntity(...next);
  await client.deleteEntity(...next);
  const rest = client.listEntities().byPage({
    maxPageSize: 10, continuationToken: page.continuationToken });
  assert.deepEqual(keys((await rest.next()).value)[0], afterNext);
  await client.createEntity({ partitionKey: next[0], rowKey: next[1], n });
});

test("one partition", async () => {
  const filter = "PartitionKey eq 'part-7'";
  const found = await collect(client.listEntities({ queryOptions: { filter } }));
  assert.deepEqual(keys(found), expected.filter(([p]) => p === "part-7"));
});

test("one partition by pages of 7", async () => {
  const filter = "PartitionKey eq 'part-7'";
  const seen = [];
  const sizes = [];
  const listing = client.listEntities({ queryOptions: { filter } });
  for await (const page of listing.byPage({ maxPageSize: 7 })) {
    sizes.push(page.length);
    seen.push(...keys(page));
  }
  assert.deepEqual(seen, expected.filter(([p]) => p === "part-7"));
  assert.deepEqual(sizes.filter(Boolean), [7, 7, 7, 7, 7, 7, 7, 1]);
});

test("a partition that does not exist is empty", async () => {
  const filter = "PartitionKey eq 'part-'";
  assert.deepEqual(await collect(client.listEntities({ queryOptions: { filter } })), []);
});

test("entities of a listing carry their etags", async () => {
  const [first] = (await client.listEntities().byPage({ maxPageSize: 1 }).next()).value;
  assert.equal(first.etag, (await client.getEntity(first.partitionKey, first.rowKey)).etag);
});
