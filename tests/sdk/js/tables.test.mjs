// Tables: create, list, delete, and the names that are refused.

import assert from "node:assert/strict";
import test from "node:test";
import { collect, connect, newTable, refused, tableName } from "./lib.mjs";

const { service, table } = connect();
const names = async (client = service) => (await collect(client.listTables())).map((t) => t.name);

test("a created table is listed until it is deleted", async () => {
  const name = tableName();
  await service.createTable(name);
  assert.ok((await names()).includes(name));
  await service.deleteTable(name);
  assert.ok(!(await names()).includes(name));
});

test("creating a table twice is no error for the SDK, and keeps its entities", async () => {
  const client = await newTable();
  await client.createEntity({ partitionKey: "p", rowKey: "r", n: 1 });
  let status;
  await service.createTable(client.tableName, { onResponse: (r) => (status = r.status) });
  assert.equal(status, 409);
  assert.equal((await client.getEntity("p", "r")).n, 1);
});

test("a name that differs only in case is the same table", async () => {
  const client = await newTable();
  let body;
  await service.createTable(client.tableName.toUpperCase(), {
    onResponse: (r) => (body = r.parsedBody),
  });
  assert.equal(body.odataError.code, "TableAlreadyExists");
  await client.createEntity({ partitionKey: "p", rowKey: "r", n: 7 });
  assert.equal((await table(client.tableName.toUpperCase()).getEntity("p", "r")).n, 7);
});

test("the listing keeps the case a table was created with", async () => {
  const name = `Camel${tableName()}Case`;
  await service.createTable(name);
  assert.ok((await names()).includes(name));
  await service.deleteTable(name);
});

test("deleting a table that does not exist answers 404, which the SDK forgives", async () => {
  let status;
  await service.deleteTable(tableName(), { onResponse: (r) => (status = r.status) });
  assert.equal(status, 404);
});

test("a deleted table can be created again and is empty", async () => {
  const client = await newTable();
  await client.createEntity({ partitionKey: "p", rowKey: "r" });
  await client.deleteTable();
  await refused(client.getEntity("p", "r"), 404, "TableNotFound");
  await client.createTable();
  await refused(client.getEntity("p", "r"), 404, "ResourceNotFound");
  assert.deepEqual(await collect(client.listEntities()), []);
});

for (const [what, name, code] of [
  ["too short", "ab", "OutOfRangeInput"],
  ["too long", "a".repeat(64), "OutOfRangeInput"],
  ["beginning with a digit", "1table", "InvalidResourceName"],
  ["with an underscore", "my_table", "InvalidResourceName"],
]) {
  test(`a name ${what} is refused`, () => refused(service.createTable(name), 400, code));
}

test("names of 3 and of 63 characters are accepted", async () => {
  for (const name of ["abc", "a".repeat(63)]) {
    await service.createTable(name);
    await service.deleteTable(name);
  }
});

test("listing pages of two give every table once", async () => {
  const made = [];
  for (let i = 0; i < 5; i++) made.push((await newTable()).tableName);
  const seen = [];
  for await (const page of service.listTables().byPage({ maxPageSize: 2 })) {
    assert.ok(page.length <= 2);
    seen.push(...page.map((t) => t.name));
  }
  assert.equal(new Set(seen).size, seen.length);
  for (const name of made) assert.ok(seen.includes(name));
});
