// Shared access signatures and access policies, made and used by the SDK, over http and https.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import {
  AzureNamedKeyCredential, AzureSASCredential, TableClient, TableServiceClient,
  generateAccountSas, generateTableSas,
} from "@azure/data-tables";
import { accounts, collect, endpoint, firstAccount, options, refused, tableName } from "./lib.mjs";

const [key, secondKey] = accounts[firstAccount].map(
  (text) => new AzureNamedKeyCredential(firstAccount, text));
const tlsEndpoint = process.env.SDK_TEST_TLS && endpoint.replace("http:", "https:");
const inAnHour = () => new Date(Date.now() + 3600_000);
const anHourAgo = () => new Date(Date.now() - 3600_000);

function suite(name, base, skip) {
  describe(`access over ${name}`, { skip }, () => {
    const url = `${base}/${firstAccount}`;
    const table = tableName();
    const owner = new TableClient(url, table, key, options);

    const withToken = (token, other = table) =>
      new TableClient(url, other, new AzureSASCredential(token), options);
    const serviceWithToken = (token) =>
      new TableServiceClient(url, new AzureSASCredential(token), options);
    const token = (more = {}, by = key) => generateTableSas(table, by,
      { permissions: { query: true }, expiresOn: inAnHour(), ...more });
    const keys = async (iterator) => (await collect(iterator)).map((e) => e.partitionKey);

    before(async () => {
      await owner.createTable();
      for (const partitionKey of ["a", "b", "c", "d"])
        await owner.createEntity({ partitionKey, rowKey: "1", n: 1 });
    });
    after(() => owner.deleteTable());

    test(`a table SAS reads, ${name}`, async () => {
      for (const by of [key, secondKey]) {
        const client = withToken(token({}, by));
        assert.equal((await client.getEntity("a", "1")).n, 1);
        assert.deepEqual(await keys(client.listEntities()), ["a", "b", "c", "d"]);
        await refused(client.createEntity({ partitionKey: "new", rowKey: "1" }), 403,
          "AuthorizationPermissionMismatch");
      }
    });

    test(`each permission of a table SAS is one, ${name}`, async () => {
      const permits = (...names) => withToken(token(
        { permissions: Object.fromEntries(names.map((n) => [n, true])) }));
      const entity = { partitionKey: "own", rowKey: "1", n: 1 };
      await permits("add").createEntity(entity);
      await permits("update").updateEntity({ ...entity, n: 2 }, "Replace");
      await permits("add", "update").upsertEntity({ ...entity, n: 3 }, "Merge");
      assert.equal((await permits("query").getEntity("own", "1")).n, 3);
      const denied = (promise) => refused(promise, 403, "AuthorizationPermissionMismatch");
      await denied(permits("update").createEntity(entity));
      await denied(permits("add").updateEntity(entity));
      await denied(permits("add").upsertEntity(entity));
      await denied(permits("update").upsertEntity(entity));
      await denied(permits("query", "add", "update").deleteEntity("own", "1"));
      await permits("delete").deleteEntity("own", "1");
    });

    test(`a table SAS is for its table and for no other, ${name}`, async () => {
      const other = new TableClient(url, tableName(), key, options);
      await other.createTable();
      await refused(withToken(token(), other.tableName).getEntity("a", "1"), 403,
        "AuthorizationFailure");
      await other.deleteTable();
    });

    test(`transactions need the permissions of their parts, ${name}`, async () => {
      const entities = ["1", "2", "3"].map((rowKey) => ({ partitionKey: "batch", rowKey }));
      const client = withToken(token({ permissions: { add: true, update: true } }));
      await client.submitTransaction(entities.map((e) => ["upsert", e]));
      await assert.rejects(client.submitTransaction(entities.map((e) => ["delete", e])),
        (error) => error.statusCode === 403);
      await owner.submitTransaction(entities.map((e) => ["delete", e]));
    });

    test(`key ranges hold, ${name}`, async () => {
      const client = withToken(token({
        permissions: { query: true, add: true, update: true, delete: true },
        startPartitionKey: "b", startRowKey: "1", endPartitionKey: "c", endRowKey: "1",
      }));
      assert.deepEqual(await keys(client.listEntities()), ["b", "c"]);
      const filter = "PartitionKey eq 'a' or PartitionKey eq 'c'";
      assert.deepEqual(await keys(client.listEntities({ queryOptions: { filter } })), ["c"]);
      await client.upsertEntity({ partitionKey: "c", rowKey: "1", n: 1 });
      for (const partitionKey of ["a", "d"]) {
        await refused(client.getEntity(partitionKey, "1"), 403, "AuthorizationFailure");
        await refused(client.upsertEntity({ partitionKey, rowKey: "1" }), 403,
          "AuthorizationFailure");
      }
    });

    test(`a token has its time, ${name}`, async () => {
      await refused(withToken(token({ expiresOn: anHourAgo() })).getEntity("a", "1"), 403,
        "AuthenticationFailed");
      await refused(withToken(token({ startsOn: inAnHour() })).getEntity("a", "1"), 403,
        "AuthenticationFailed");
      await withToken(token({ startsOn: anHourAgo() })).getEntity("a", "1");
    });

    test(`a token has its place, ${name}`, async () => {
      await withToken(token({ ipRange: { start: "127.0.0.1" } })).getEntity("a", "1");
      const far = token({ ipRange: { start: "10.0.0.1", end: "10.0.0.9" } });
      await refused(withToken(far).getEntity("a", "1"), 403, "AuthorizationSourceIPMismatch");
      const secure = withToken(token({ protocol: "https" })).getEntity("a", "1");
      if (name === "https") await secure;
      else await refused(secure, 403, "AuthorizationProtocolMismatch");
      await withToken(token({ protocol: "https,http" })).getEntity("a", "1");
    });

    test(`access policies carry tokens until they are gone, ${name}`, async () => {
      await owner.setAccessPolicy([
        { id: "reader",
          accessPolicy: { start: anHourAgo(), expiry: inAnHour(), permission: "r" } },
        { id: "over", accessPolicy: { expiry: anHourAgo(), permission: "r" } },
      ]);
      const stored = await owner.getAccessPolicy();
      assert.deepEqual(stored.map((policy) => policy.id), ["reader", "over"]);
      assert.equal(stored[0].accessPolicy.permission, "r");
      const by = (identifier) => withToken(generateTableSas(table, key, { identifier }));
      assert.equal((await by("reader").getEntity("a", "1")).n, 1);
      await refused(by("reader").deleteEntity("a", "1"), 403, "AuthorizationPermissionMismatch");
      await refused(by("over").getEntity("a", "1"), 403, "AuthenticationFailed");
      await refused(by("none").getEntity("a", "1"), 403, "AuthenticationFailed");
      await owner.setAccessPolicy([]);
      assert.deepEqual(await owner.getAccessPolicy(), []);
      await refused(by("reader").getEntity("a", "1"), 403, "AuthenticationFailed");
    });

    const accountToken = (resourceTypes, ...names) => generateAccountSas(key, {
      resourceTypes, expiresOn: inAnHour(),
      permissions: Object.fromEntries(names.map((n) => [n, true])),
    });

    test(`an account SAS works on everything it names, ${name}`, async () => {
      const service = serviceWithToken(accountToken("sco", "query", "write", "delete", "list",
        "add", "create", "update"));
      const made = tableName();
      await service.createTable(made);
      assert.ok((await collect(service.listTables())).some((t) => t.name === made));
      await service.getProperties();
      await service.deleteTable(made);
    });

    test(`an account SAS is for its types and permissions, ${name}`, async () => {
      await refused(serviceWithToken(accountToken("o", "query", "list")).createTable(tableName()),
        403, "AuthorizationResourceTypeMismatch");
      await refused(serviceWithToken(accountToken("c", "delete")).createTable(tableName()), 403,
        "AuthorizationPermissionMismatch");
      assert.equal((await withToken(accountToken("o", "query")).getEntity("a", "1")).n, 1);
      await serviceWithToken(accountToken("s", "query")).getProperties();
    });
  });
}

suite("http", endpoint, false);
suite("https", tlsEndpoint, tlsEndpoint ? false : "the server that is tested has no certificate");
