// One entity at a time: insert, read, update, upsert, delete, and their conditions.

import assert from "node:assert/strict";
import test from "node:test";
import { collect, connect, etagForm, newTable, refused, storedNow, tableName } from "./lib.mjs";

const client = await newTable();
let row = 0;
const fresh = (more = {}) => ({ partitionKey: "p", rowKey: `r${++row}`, ...more });
const stored = ({ partitionKey, rowKey }) => client.getEntity(partitionKey, rowKey);
const properties = async (key) => {
  const { "odata.metadata": _, etag, partitionKey, rowKey, timestamp, ...rest } = await stored(key);
  return rest;
};
const STALE = `W/"datetime'2001-02-03T04%3A05%3A06.789Z'"`;

test("an inserted entity is read back with its etag and timestamp", async () => {
  const before = await storedNow();
  const entity = fresh({ name: "Ada", age: 36 });
  const { etag } = await client.createEntity(entity);
  assert.match(etag, etagForm);
  const got = await stored(entity);
  assert.equal(got.etag, etag);
  assert.equal(got.name, "Ada");
  assert.equal(got.age, 36);
  // The etag and the timestamp are the same instant.
  assert.equal(decodeURIComponent(etag).slice(12, -2), got.timestamp);
  const written = Date.parse(got.timestamp);
  assert.ok(written > before - 60_000 && written < (await storedNow()) + 60_000);
});

test("inserting the same keys again is a conflict and changes nothing", async () => {
  const entity = fresh({ n: 1 });
  await client.createEntity(entity);
  const error = await refused(client.createEntity({ ...entity, n: 2 }), 409, "EntityAlreadyExists");
  assert.match(error.details.odataError.message.value, /^The specified entity already exists\./);
  assert.deepEqual(await properties(entity), { n: 1 });
});

test("reading what is not there is 404", async () => {
  await refused(client.getEntity("p", "none"), 404, "ResourceNotFound");
  await refused(connect().table(tableName()).getEntity("p", "r"), 404, "TableNotFound");
});

test("writing into a table that is not there is 404", async () => {
  const nowhere = connect().table(tableName());
  await refused(nowhere.createEntity(fresh()), 404, "TableNotFound");
  await refused(nowhere.upsertEntity(fresh()), 404, "TableNotFound");
});

for (const [mode, expected] of [
  ["Merge", { a: 1, b: 20, c: 3 }],
  ["Replace", { b: 20, c: 3 }],
]) {
  test(`update ${mode} without an etag (that is, *)`, async () => {
    const entity = fresh({ a: 1, b: 2 });
    const first = await client.createEntity(entity);
    const second = await client.updateEntity({ ...entity, a: undefined, b: 20, c: 3 }, mode);
    assert.match(second.etag, etagForm);
    assert.notEqual(second.etag, first.etag);
    assert.deepEqual(await properties(entity), expected);
    assert.equal((await stored(entity)).etag, second.etag);
  });

  test(`update ${mode} with the right etag`, async () => {
    const entity = fresh({ a: 1, b: 2 });
    const { etag } = await client.createEntity(entity);
    await client.updateEntity({ ...entity, a: undefined, b: 20, c: 3 }, mode, { etag });
    assert.deepEqual(await properties(entity), expected);
  });

  test(`update ${mode} with a stale etag is refused and changes nothing`, async () => {
    const entity = fresh({ a: 1, b: 2 });
    const { etag } = await client.createEntity(entity);
    for (const wrong of [STALE, etag]) {
      if (wrong === etag) await client.updateEntity({ ...entity, a: 1 }, "Merge");
      await refused(
        client.updateEntity({ ...entity, b: 20 }, mode, { etag: wrong }),
        412,
        "UpdateConditionNotSatisfied",
      );
    }
    assert.deepEqual(await properties(entity), { a: 1, b: 2 });
  });

  test(`update ${mode} of what is not there is 404`, async () => {
    await refused(client.updateEntity(fresh({ a: 1 }), mode), 404, "ResourceNotFound");
    await refused(
      client.updateEntity(fresh({ a: 1 }), mode, { etag: STALE }),
      404,
      "ResourceNotFound",
    );
  });

  test(`upsert ${mode} inserts, then ${mode.toLowerCase()}s`, async () => {
    const entity = fresh({ a: 1, b: 2 });
    const first = await client.upsertEntity(entity, mode);
    assert.match(first.etag, etagForm);
    assert.deepEqual(await properties(entity), { a: 1, b: 2 });
    await client.upsertEntity({ ...entity, a: undefined, b: 20, c: 3 }, mode);
    assert.deepEqual(await properties(entity), expected);
  });
}

test("a merge may change a property's type", async () => {
  const entity = fresh({ age: 39 });
  await client.createEntity(entity);
  await client.updateEntity({ ...entity, age: "abc" }, "Merge");
  assert.deepEqual(await properties(entity), { age: "abc" });
});

test("a merge of null leaves the stored value; a replace drops it", async () => {
  const entity = fresh({ a: 1, b: 2 });
  await client.createEntity(entity);
  await client.updateEntity({ ...entity, a: null }, "Merge");
  assert.deepEqual(await properties(entity), { a: 1, b: 2 });
  await client.updateEntity({ ...entity, a: null }, "Replace");
  assert.deepEqual(await properties(entity), { b: 2 });
});

test("every write gives a new etag, however fast", async () => {
  const entity = fresh({ n: 0 });
  const etags = new Set([(await client.createEntity(entity)).etag]);
  for (let n = 1; n <= 20; n++)
    etags.add((await client.updateEntity({ ...entity, n }, "Replace")).etag);
  assert.equal(etags.size, 21);
});

test("delete without an etag (that is, *)", async () => {
  const entity = fresh();
  await client.createEntity(entity);
  await client.deleteEntity(entity.partitionKey, entity.rowKey);
  await refused(stored(entity), 404, "ResourceNotFound");
  await refused(
    client.deleteEntity(entity.partitionKey, entity.rowKey),
    404,
    "ResourceNotFound",
  );
});

test("delete with an etag wants the right one", async () => {
  const entity = fresh();
  const { etag } = await client.createEntity(entity);
  await refused(
    client.deleteEntity(entity.partitionKey, entity.rowKey, { etag: STALE }),
    412,
    "UpdateConditionNotSatisfied",
  );
  await client.deleteEntity(entity.partitionKey, entity.rowKey, { etag });
  await refused(stored(entity), 404, "ResourceNotFound");
});

test("two writers with one etag: exactly one wins", async () => {
  const entity = fresh({ n: 0 });
  const { etag } = await client.createEntity(entity);
  const results = await Promise.allSettled(
    [1, 2, 3, 4, 5, 6, 7, 8].map((n) => client.updateEntity({ ...entity, n }, "Replace", { etag })),
  );
  const won = results.filter((r) => r.status === "fulfilled");
  const lost = results.filter((r) => r.status === "rejected");
  assert.equal(won.length, 1);
  for (const { reason } of lost) assert.equal(reason.statusCode, 412);
  assert.equal((await stored(entity)).etag, won[0].value.etag);
});

test("select returns the properties named and no others", async () => {
  const entity = fresh({ a: 1, b: 2 });
  await client.createEntity(entity);
  const got = await client.getEntity(entity.partitionKey, entity.rowKey, {
    queryOptions: { select: ["b"] },
  });
  assert.equal(got.b, 2);
  assert.ok(!("a" in got) && !("rowKey" in got));
});

for (const [what, key] of [
  ["a quote", "it's"],
  ["many quotes", "''a''''b'"],
  ["a percent sign", "100%"],
  ["what looks escaped", "x-%20-%27"],
  ["blanks", " a b "],
  ["signs of a URL", "a:b@c+d,e$f=g&h;i!j*k(l)[m]"],
  ["a double quote and braces", 'a"b{c}<d>|^`~'],
  ["letters beyond ASCII", "Grüße-日本語"],
  ["a letter beyond the BMP", "clef-𝄞-😀"],
  ["nothing", ""],
]) {
  test(`keys with ${what}`, async () => {
    const entity = { partitionKey: key, rowKey: key, n: 1 };
    await client.createEntity(entity);
    const got = await client.getEntity(key, key);
    assert.deepEqual([got.partitionKey, got.rowKey, got.n], [key, key, 1]);
    await client.updateEntity({ ...entity, n: 2 }, "Merge");
    await client.upsertEntity({ partitionKey: key, rowKey: key, m: 3 }, "Merge");
    const filter = `PartitionKey eq '${key.replaceAll("'", "''")}'`;
    const found = await collect(client.listEntities({ queryOptions: { filter } }));
    assert.deepEqual(found.map((e) => [e.rowKey, e.n, e.m]), [[key, 2, 3]]);
    await client.deleteEntity(key, key);
    await refused(client.getEntity(key, key), 404, "ResourceNotFound");
  });
}

for (const character of ["/", "\\", "#", "?", "\t", "\u0085"]) {
  test(`a key with ${JSON.stringify(character)} is refused`, async () => {
    const key = `a${character}b`;
    await refused(
      client.createEntity({ partitionKey: key, rowKey: "r" }), 400, "OutOfRangeInput");
    await refused(
      client.createEntity({ partitionKey: "p", rowKey: key }), 400, "OutOfRangeInput");
  });
}
