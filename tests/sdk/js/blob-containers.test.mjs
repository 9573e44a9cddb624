// Containers: create, list, properties, metadata, leases, delete, and the names that are refused.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import test from "node:test";
import { blobService, collect, newContainer, refused, status, storageName } from "./storage.mjs";

const service = blobService();
const names = async (options) => (await collect(service.listContainers(options))).map((c) => c.name);
const etagForm = /^"?0x[0-9A-F]{15,16}"?$/;

test("a created container is listed until it is deleted", async () => {
  const container = service.getContainerClient(storageName());
  assert.equal(await container.exists(), false);
  const made = await container.create();
  assert.equal(made._response.status, 201);
  assert.match(made.etag, etagForm);
  assert.ok(made.lastModified instanceof Date);
  assert.equal(await container.exists(), true);
  assert.ok((await names()).includes(container.containerName));
  assert.equal(await status(container.delete()), 202);
  assert.equal(await container.exists(), false);
  assert.ok(!(await names()).includes(container.containerName));
});

test("creating twice is a conflict", async () => {
  const container = await newContainer();
  await refused(container.create(), 409, "ContainerAlreadyExists");
  assert.equal((await container.createIfNotExists()).succeeded, false);
});

test("a container that is not there", async () => {
  const container = service.getContainerClient(storageName());
  const missing = (promise) => refused(promise, 404, "ContainerNotFound");
  await missing(container.delete());
  assert.equal((await container.deleteIfExists()).succeeded, false);
  await missing(container.getProperties());
  await missing(container.setMetadata({ a: "b" }));
  await missing(container.getAccessPolicy());
  await missing(collect(container.listBlobsFlat()));
  const blob = container.getBlockBlobClient("blob");
  await missing(blob.upload("x", 1));
  await missing(blob.stageBlock("AAAA", "x", 1));
  await missing(blob.download());
  await missing(blob.getProperties());
  assert.equal(await blob.exists(), false);
});

test("properties and metadata", async () => {
  const container = await newContainer({ metadata: { one: "1", two: "zwei & drei" } });
  const first = await container.getProperties();
  assert.deepEqual(first.metadata, { one: "1", two: "zwei & drei" });
  assert.match(first.etag, etagForm);
  assert.deepEqual([first.leaseState, first.leaseStatus], ["available", "unlocked"]);
  assert.equal(first.hasImmutabilityPolicy, false);
  assert.equal(first.hasLegalHold, false);
  assert.equal(first.blobPublicAccess, undefined);
  const set = await container.setMetadata({ three: "3" });
  assert.equal(set._response.status, 200);
  assert.notEqual(set.etag, first.etag);
  const second = await container.getProperties();
  assert.deepEqual(second.metadata, { three: "3" });
  assert.equal(second.etag, set.etag);
  await container.setMetadata();
  assert.deepEqual((await container.getProperties()).metadata, {});
});

test("blobs do not change the etag of their container", async () => {
  const container = await newContainer();
  const { etag } = await container.getProperties();
  await container.uploadBlockBlob("blob", "x", 1);
  assert.equal((await container.getProperties()).etag, etag);
});

test("conditions on the time of a container", async () => {
  const container = await newContainer();
  const tomorrow = new Date(Date.now() + 86_400_000);
  const yesterday = new Date(Date.now() - 86_400_000);
  await refused(container.setMetadata({ a: "b" }, { conditions: { ifModifiedSince: tomorrow } }),
    412, "ConditionNotMet");
  await container.setMetadata({ a: "b" }, { conditions: { ifModifiedSince: yesterday } });
  await refused(container.delete({ conditions: { ifUnmodifiedSince: yesterday } }), 412,
    "ConditionNotMet");
  await container.delete({ conditions: { ifUnmodifiedSince: tomorrow } });
});

test("a listing by prefix, with metadata and properties", async () => {
  const prefix = storageName("list");
  const made = ["c", "a", "b"].map((x) => service.getContainerClient(`${prefix}-${x}`));
  for (const one of made) await one.create({ metadata: { forContainer: one.containerName } });
  assert.deepEqual(await names({ prefix }), ["a", "b", "c"].map((x) => `${prefix}-${x}`));
  const [first] = await collect(service.listContainers({ prefix, includeMetadata: true }));
  assert.deepEqual(first.metadata, { forContainer: `${prefix}-a` });
  assert.match(first.properties.etag, etagForm);
  assert.ok(first.properties.lastModified instanceof Date);
  assert.deepEqual([first.properties.leaseState, first.properties.leaseStatus],
    ["available", "unlocked"]);
  assert.deepEqual(await names({ prefix: `${prefix}-no` }), []);
  for (const one of made) await one.delete();
});

test("a listing by pages gives every container once, and goes on from a token", async () => {
  const prefix = storageName("page");
  const made = [];
  for (let i = 0; i < 5; i++) {
    made.push(`${prefix}-${i}`);
    await service.createContainer(made[i]);
  }
  const seen = await collect(service.listContainers({ prefix }).byPage({ maxPageSize: 2 }));
  assert.deepEqual(seen.map((page) => page.containerItems.length), [2, 2, 1]);
  assert.deepEqual(seen.flatMap((page) => page.containerItems.map((c) => c.name)), made);
  const rest = await collect(service.listContainers({ prefix })
    .byPage({ continuationToken: seen[0].continuationToken }));
  assert.deepEqual(rest[0].containerItems.map((c) => c.name), made.slice(2));
  for (const name of made) await service.deleteContainer(name);
});

for (const [what, name, code] of [
  ["too short", "ab", "OutOfRangeInput"],
  ["too long", "a".repeat(64), "OutOfRangeInput"],
  ["with capitals", "MyContainer", "InvalidResourceName"],
  ["with two hyphens", "my--container", "InvalidResourceName"],
  ["with an underscore", "my_container", "InvalidResourceName"],
]) {
  test(`a name ${what} is refused`, () => refused(service.createContainer(name), 400, code));
}

test("a container that comes again is empty", async () => {
  const container = await newContainer({ metadata: { a: "b" }, access: "blob" });
  await container.uploadBlockBlob("blob", "x", 1);
  await container.delete();
  await container.create();
  assert.deepEqual(await collect(container.listBlobsFlat()), []);
  await refused(container.getBlobClient("blob").download(), 404, "BlobNotFound");
  const { metadata, blobPublicAccess } = await container.getProperties();
  assert.deepEqual([metadata, blobPublicAccess], [{}, undefined]);
});

test("a lease keeps a container from being deleted", async () => {
  const container = await newContainer();
  const lease = container.getBlobLeaseClient(randomUUID());
  const { etag } = await container.getProperties();
  const taken = await lease.acquireLease(-1);
  assert.equal(taken._response.status, 201);
  assert.equal(taken.leaseId, lease.leaseId);
  assert.equal(taken.etag, etag);
  const { leaseState, leaseStatus, leaseDuration } = await container.getProperties();
  assert.deepEqual([leaseState, leaseStatus, leaseDuration], ["leased", "locked", "infinite"]);
  await refused(container.delete(), 412, "LeaseIdMissing");
  await refused(container.delete({ conditions: { leaseId: randomUUID() } }), 412,
    "LeaseIdMismatchWithContainerOperation");
  await container.uploadBlockBlob("blob", "x", 1);
  await refused(container.getBlobLeaseClient(randomUUID()).acquireLease(15), 409,
    "LeaseAlreadyPresent");
  await lease.renewLease();
  const other = randomUUID();
  await lease.changeLease(other);
  assert.equal(lease.leaseId, other);
  await lease.releaseLease();
  assert.equal((await container.getProperties()).leaseState, "available");
  await lease.acquireLease(60);
  assert.equal((await container.getProperties()).leaseDuration, "fixed");
  assert.equal((await lease.breakLease(0)).leaseTime, 0);
  assert.equal((await container.getProperties()).leaseState, "broken");
  await lease.acquireLease(60);
  assert.equal(await status(container.delete({ conditions: { leaseId: lease.leaseId } })), 202);
});
