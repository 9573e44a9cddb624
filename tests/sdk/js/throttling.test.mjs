// An account with a scalability target: the SDK's own retries get a burst through.

import assert from "node:assert/strict";
import test from "node:test";
import { AzureNamedKeyCredential, TableClient } from "@azure/data-tables";
import { accounts, collect, endpoint, tableName } from "./lib.mjs";

const slow = "slowaccount";
const admin = process.env.SDK_TEST_ADMIN_URL;

async function throttled() {
  const text = await (await fetch(`${admin}/metrics`)).text();
  return Number(/tavola_throttled_total{scope="partition"} (\d+)/.exec(text)[1]);
}

// 20 entities a second are let in, or more at once; the rest is told to come again.
test("a burst gets through", { skip: !admin }, async () => {
  const credential = new AzureNamedKeyCredential(slow, accounts[slow][0]);
  const table = new TableClient(`${endpoint}/${slow}`, tableName(), credential,
    { allowInsecureConnection: true });
  await table.createTable();
  const before = await throttled();
  let rows = 0;
  // A transaction counts as all of its entities, so that what comes after it is above the target
  // also on a slow machine.
  const next = () => ({ partitionKey: "p", rowKey: String(rows++).padStart(5, "0") });
  while ((await throttled()) === before && rows < 3000) {
    await table.submitTransaction(Array.from({ length: 50 }, () => ["create", next()]));
    await Promise.all(Array.from({ length: 10 }, () => table.createEntity(next())));
  }
  assert.ok((await throttled()) > before);
  const filter = "PartitionKey eq 'p'";
  const found = await collect(table.listEntities({ queryOptions: { filter } }));
  assert.deepEqual(found.map((entity) => entity.rowKey),
    Array.from({ length: rows }, (_, row) => String(row).padStart(5, "0")));
  await table.deleteTable();
});
