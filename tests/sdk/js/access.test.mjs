// Access policies of tables and properties of the service.

import assert from "node:assert/strict";
import test from "node:test";
import { connect, newTable, refused, secondAccount } from "./lib.mjs";

// The SDK sends whole seconds.
const start = new Date("2026-01-02T03:04:05Z");
const expiry = new Date("2026-02-03T00:00:00Z");

test("a new table has no access policies", async () => {
  const table = await newTable();
  assert.deepEqual([...(await table.getAccessPolicy())], []);
});

test("access policies come back", async () => {
  const table = await newTable();
  await table.setAccessPolicy([
    { id: "full", accessPolicy: { start, expiry, permission: "raud" } },
    { id: "read", accessPolicy: { permission: "r" } },
    { id: "name & alone" },
  ]);
  const [full, read, alone, ...more] = await table.getAccessPolicy();
  assert.deepEqual(more, []);
  assert.equal(full.id, "full");
  assert.deepEqual(full.accessPolicy, { start, expiry, permission: "raud" });
  assert.equal(read.accessPolicy.permission, "r");
  assert.equal(read.accessPolicy.start, undefined);
  assert.equal(alone.id, "name & alone");
});

test("setting none clears them", async () => {
  const table = await newTable();
  await table.setAccessPolicy([{ id: "p", accessPolicy: { permission: "r" } }]);
  await table.setAccessPolicy([]);
  assert.deepEqual([...(await table.getAccessPolicy())], []);
});

test("more than five, and permissions that tables do not have, are refused", async () => {
  const table = await newTable();
  const policies = [1, 2, 3, 4, 5, 6].map((i) => ({ id: `${i}`, accessPolicy: { permission: "r" } }));
  await table.setAccessPolicy(policies.slice(0, 5));
  await refused(table.setAccessPolicy(policies), 400, "InvalidXmlDocument");
  await refused(
    table.setAccessPolicy([{ id: "p", accessPolicy: { permission: "rw" } }]),
    400,
    "InvalidXmlNodeValue",
  );
  assert.equal([...(await table.getAccessPolicy())].length, 5);
});

test("policies are gone when the table comes again", async () => {
  const table = await newTable();
  await table.setAccessPolicy([{ id: "p", accessPolicy: { permission: "r" } }]);
  await table.deleteTable();
  await refused(table.getAccessPolicy(), 404, "TableNotFound");
  await table.createTable();
  assert.deepEqual([...(await table.getAccessPolicy())], []);
});

test("service properties come back, and what is left out stays", async () => {
  const { service } = connect(secondAccount);
  const retentionPolicy = { enabled: true, days: 5 };
  const logging = { version: "1.0", read: true, write: false, delete: true, retentionPolicy };
  const hourMetrics = { version: "1.0", enabled: true, includeAPIs: true, retentionPolicy };
  const minuteMetrics = { version: "1.0", enabled: true, includeAPIs: false, retentionPolicy };
  const cors = [
    {
      allowedOrigins: "http://a.example,http://b.example",
      allowedMethods: "GET,PUT",
      allowedHeaders: "accept,x-ms-*",
      exposedHeaders: "*",
      maxAgeInSeconds: 60,
    },
  ];
  await service.setProperties({ logging, hourMetrics, minuteMetrics, cors });
  await service.setProperties({ logging: { ...logging, write: true } });

  const got = await service.getProperties();
  assert.deepEqual(got.logging, { ...logging, write: true });
  assert.deepEqual(got.hourMetrics, hourMetrics);
  assert.deepEqual(got.minuteMetrics, minuteMetrics);
  assert.deepEqual(got.cors, cors);

  const off = { version: "1.0", enabled: false, retentionPolicy: { enabled: false } };
  await service.setProperties({ minuteMetrics: off });
  const { enabled, includeAPIs } = (await service.getProperties()).minuteMetrics;
  assert.deepEqual([enabled, includeAPIs], [false, undefined]);
  await service.setProperties({ cors: [] });
});

test("properties beyond the limits are refused", async () => {
  const { service } = connect(secondAccount);
  await refused(
    service.setProperties({
      minuteMetrics: {
        version: "1.0",
        enabled: false,
        retentionPolicy: { enabled: true, days: 366 },
      },
    }),
    400,
    "InvalidXmlDocument",
  );
});
