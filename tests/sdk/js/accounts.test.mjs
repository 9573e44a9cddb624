// Accounts and keys: who gets in, and that they do not see each other.

import assert from "node:assert/strict";
import test from "node:test";
import { TableServiceClient, TableClient } from "@azure/data-tables";
import {
  accounts, collect, connect, endpoint, firstAccount, newTable, options, refused,
  secondAccount, tableName,
} from "./lib.mjs";

const names = async (service) => (await collect(service.listTables())).map((t) => t.name);

test("a wrong key is refused", async () => {
  const wrong = Buffer.alloc(64, 7).toString("base64");
  const { service, table } = connect(firstAccount, wrong);
  await refused(collect(service.listTables()), 403, "AuthenticationFailed");
  await refused(table(tableName()).getEntity("p", "r"), 403, "AuthenticationFailed");
});

test("an unknown account is refused", async () => {
  const { service } = connect("nobody", accounts[firstAccount][0]);
  await refused(collect(service.listTables()), 403, "AuthenticationFailed");
});

test("the key of another account is refused", async () => {
  const { service } = connect(firstAccount, accounts[secondAccount][0]);
  await refused(collect(service.listTables()), 403, "AuthenticationFailed");
});

test("the second key of an account works like the first", async () => {
  const client = await newTable(firstAccount);
  const second = connect(firstAccount, accounts[firstAccount][1]).table(client.tableName);
  await second.createEntity({ partitionKey: "p", rowKey: "r", n: 1 });
  assert.equal((await client.getEntity("p", "r")).n, 1);
});

test("two accounts do not see each other's tables and entities", async () => {
  const mine = await newTable(firstAccount);
  await mine.createEntity({ partitionKey: "p", rowKey: "r", owner: "first" });
  const theirs = connect(secondAccount);
  assert.ok(!(await names(theirs.service)).includes(mine.tableName));
  const sameName = theirs.table(mine.tableName);
  await refused(sameName.getEntity("p", "r"), 404, "TableNotFound");
  await sameName.createTable();
  await refused(sameName.getEntity("p", "r"), 404, "ResourceNotFound");
  await sameName.createEntity({ partitionKey: "p", rowKey: "r", owner: "second" });
  assert.equal((await mine.getEntity("p", "r")).owner, "first");
  await sameName.deleteTable();
  assert.equal((await mine.getEntity("p", "r")).owner, "first");
});

test("a connection string works", async () => {
  const connection =
    `DefaultEndpointsProtocol=http;AccountName=${firstAccount};` +
    `AccountKey=${accounts[firstAccount][0]};TableEndpoint=${endpoint}/${firstAccount};`;
  await collect(TableServiceClient.fromConnectionString(connection, options).listTables());
});

test("UseDevelopmentStorage=true works",
  { skip: process.env.SDK_TEST_DEFAULT_PORTS ? false : "port 10002 is taken by another program" },
  async () => {
    const client = TableClient.fromConnectionString(
      "UseDevelopmentStorage=true", tableName(), options);
    await client.createTable();
    await client.createEntity({ partitionKey: "p", rowKey: "r", n: 1 });
    assert.equal((await client.getEntity("p", "r")).n, 1);
    await client.deleteTable();
  });
