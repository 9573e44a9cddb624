// Queries: filters of every type as the odata helper writes them, select, pages, listings of tables.

import assert from "node:assert/strict";
import test, { before } from "node:test";
import { odata } from "@azure/data-tables";
import { collect, connect, newTable, refused, tableName } from "./lib.mjs";

const client = await newTable();
const { service } = connect();
const when = new Date("2019-07-10T19:00:00.123Z");
const guid = "c9da6455-213d-42c9-9a79-3e9149a57833";

before(async () => {
  const values = {
    string: "it's", int32: 5, int64: 1099511627776n, double: 4.1, true: true, false: false, when,
    guid: { type: "Guid", value: guid }, binary: new TextEncoder().encode("binary"),
  };
  for (const [rowKey, value] of Object.entries(values))
    await client.createEntity({ partitionKey: "types", rowKey, value });
  for (const partitionKey of ["a", "b"]) {
    const entities = Array.from({ length: 100 }, (_, n) => ({
      partitionKey, rowKey: String(n).padStart(3, "0"), n, even: n % 2 === 0, name: `name ${n}`,
    }));
    await client.submitTransaction(entities.map((e) => ["create", e]));
  }
});

const list = (filter, select) => client.listEntities({ queryOptions: { filter, select } });
const found = async (filter) => (await collect(list(filter))).map((e) => e.rowKey);
const padded = (numbers) => numbers.map((n) => String(n).padStart(3, "0"));
const range = (from, to, step = 1) =>
  Array.from({ length: Math.ceil((to - from) / step) }, (_, i) => from + i * step);
const pairs = (numbers) => ["a", "b"].flatMap((p) => numbers.map((n) => [p, n]));

for (const [rowKey, filter] of [
  ["string", odata`PartitionKey eq ${"types"} and value eq ${"it's"}`],
  ["string", odata`PartitionKey eq 'types' and value eq '${"it's"}'`],
  ["int32", odata`PartitionKey eq ${"types"} and value eq ${5}`],
  ["int64", odata`PartitionKey eq ${"types"} and value eq ${1099511627776n}L`],
  ["double", odata`PartitionKey eq ${"types"} and value eq ${4.1}`],
  ["true", odata`PartitionKey eq ${"types"} and value eq ${true}`],
  ["false", odata`PartitionKey eq ${"types"} and value eq ${false}`],
  ["when", odata`PartitionKey eq ${"types"} and value eq ${when}`],
  ["guid", odata`PartitionKey eq ${"types"} and value eq guid'${guid}'`],
  ["binary", odata`PartitionKey eq ${"types"} and value eq X'62696e617279'`],
  ["binary", odata`PartitionKey eq ${"types"} and value eq binary'62696e617279'`],
])
  test(`a filter: ${filter}`, async () => assert.deepEqual(await found(filter), [rowKey]));

for (const [text, expected] of [
  ["n eq 7", [7]],
  ["n gt 97", [98, 99]],
  ["n ge 98", [98, 99]],
  ["n lt 2", [0, 1]],
  ["n le 1", [0, 1]],
  ["n ge 4 and n le 8 and even", [4, 6, 8]],
  ["n lt 6 and not even", [1, 3, 5]],
  ["n eq 3 or n eq 5", [3, 5]],
  ["(n eq 3 or n eq 5) and n ne 3", [5]],
])
  test(`operators: ${text}`, async () =>
    assert.deepEqual(await found(`PartitionKey eq 'a' and (${text})`), padded(expected)));

test("what looks like a filter inside a string is text", async () => {
  assert.deepEqual(await found(odata`PartitionKey eq ${"a' or PartitionKey ne '"}`), []);
});

test("a range of row keys", async () => {
  const filter = odata`PartitionKey eq ${"b"} and RowKey ge ${"010"} and RowKey lt ${"013"}`;
  assert.deepEqual(await found(filter), ["010", "011", "012"]);
});

test("many row keys", async () => {
  const keys = padded(range(0, 200, 3));
  const filter = keys.map((key) => odata`(PartitionKey eq ${"a"} and RowKey eq ${key})`);
  assert.deepEqual(await found(filter.reverse().join(" or ")), keys.slice(0, 34));
});

test("select with a filter", async () => {
  const entities = await collect(list("PartitionKey eq 'a' and n lt 2", ["name", "missing"]));
  assert.deepEqual(entities.map(({ name, n, rowKey }) => ({ name, n, rowKey })), [
    { name: "name 0", n: undefined, rowKey: undefined },
    { name: "name 1", n: undefined, rowKey: undefined },
  ]);
  assert.ok(entities.every((e) => e.missing === null || e.missing === undefined));
});

test("pages of a filter", async () => {
  const seen = [];
  for await (const page of list("even").byPage({ maxPageSize: 7 })) {
    assert.ok(page.length <= 7);
    seen.push(...page.map((e) => [e.partitionKey, e.n]));
  }
  assert.deepEqual(seen, pairs(range(0, 100, 2)));
});

test("a continuation token of a filter resumes in a new call", async () => {
  const seen = [];
  let continuationToken;
  do {
    const pages = list(odata`n ge ${50}`).byPage({ maxPageSize: 30, continuationToken });
    const { value: page } = await pages.next();
    seen.push(...page.map((e) => [e.partitionKey, e.n]));
    continuationToken = page.continuationToken;
  } while (continuationToken);
  assert.deepEqual(seen, pairs(range(50, 100)));
});

test("rows come and go while paging", async () => {
  const table = await newTable();
  const key = (n) => String(n).padStart(4, "0");
  for (const first of [0, 100])
    await table.submitTransaction(range(first, first + 100).map((n) =>
      ["create", { partitionKey: "p", rowKey: key(n), n }]));
  const seen = [];
  const listing = table.listEntities({ queryOptions: { filter: "PartitionKey eq 'p' and n ge 0" } });
  for await (const page of listing.byPage({ maxPageSize: 20 })) {
    seen.push(...page.map((e) => e.rowKey));
    const last = parseInt(seen.at(-1));
    if (last + 1 < 200) await table.deleteEntity("p", key(last + 1)); // where the token points
    await table.upsertEntity({ partitionKey: "p", rowKey: `${key(last)}+`, n: 0 }); // after
    await table.upsertEntity({ partitionKey: "p", rowKey: "0000+", n: 0 }); // passed
  }
  assert.deepEqual(seen, [...new Set(seen)].sort());
  const left = (await collect(table.listEntities())).map((e) => e.rowKey);
  const steady = (keys) => keys.filter((k) => !k.endsWith("+"));
  assert.deepEqual(steady(seen), steady(left));
});

test("filters that are refused", async () => {
  await refused(found("aaa bbb ccc"), 400, "InvalidInput");
  await refused(found("name eq 'open"), 400, "InvalidInput");
  await refused(found("n eq 2147483648"), 400, "InvalidInput");
  await refused(found("startswith(name, 'n')"), 501, "NotImplemented");
});

test("listing tables by a filter, whole and by pages", async () => {
  const stem = tableName();
  const made = range(0, 5).map((i) => `${stem}t${i}`);
  for (const name of made) await service.createTable(name);
  const tables = (filter) => service.listTables({ queryOptions: { filter } });
  const names = async (filter) => (await collect(tables(filter))).map((t) => t.name);

  assert.deepEqual(await names(odata`TableName eq ${made[2]}`), [made[2]]);
  assert.deepEqual(await names(odata`TableName ge ${`${stem}t`} and TableName lt ${`${stem}u`}`),
    made);
  assert.deepEqual(await names(odata`TableName eq ${made[4]} or TableName eq ${made[0]}`),
    [made[0], made[4]]);
  assert.deepEqual(
    await names(odata`TableName ge ${`${stem}t`} and TableName lt ${`${stem}u`} and not (TableName eq ${made[0]})`),
    made.slice(1));
  const pages = [];
  const filter = odata`TableName ge ${made[1]} and TableName lt ${`${stem}u`}`;
  for await (const page of tables(filter).byPage({ maxPageSize: 2 }))
    pages.push(page.map((t) => t.name));
  // The last page may be followed by an empty one, for other tests have tables, too.
  assert.deepEqual(pages.filter((page) => page.length), [made.slice(1, 3), made.slice(3, 5)]);
  for (const name of made) await service.deleteTable(name);
});

test("an explained query has no entities", async () => {
  const queryOptions = { filter: odata`PartitionKey eq ${"a"}` };
  const requestOptions = { customHeaders: { "x-tavola-explain": "true" } };
  assert.deepEqual(await collect(client.listEntities({ queryOptions, requestOptions })), []);
  assert.equal((await collect(client.listEntities({ queryOptions }))).length, 100);
});
