// Leases of blobs: acquire, renew, change, release, break, expire, and what they protect.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { before, describe, test } from "node:test";
import { newContainer, noClock, pass, refused, storageName, text } from "./storage.mjs";

let container;
before(async () => {
  container = await newContainer();
});
async function newBlob() {
  const blob = container.getBlockBlobClient(storageName());
  await blob.upload("text", 4);
  return blob;
}
const state = async (blob) => {
  const { leaseState, leaseStatus, leaseDuration } = await blob.getProperties();
  return [leaseState, leaseStatus, leaseDuration];
};

test("a lease is acquired, renewed, changed and released", async () => {
  const blob = await newBlob();
  const { etag, lastModified } = await blob.getProperties();
  assert.deepEqual(await state(blob), ["available", "unlocked", undefined]);
  const lease = blob.getBlobLeaseClient();
  const taken = await lease.acquireLease(60);
  assert.equal(taken._response.status, 201);
  assert.equal(taken.leaseId, lease.leaseId);
  assert.deepEqual([taken.etag, taken.lastModified], [etag, lastModified]);
  assert.deepEqual(await state(blob), ["leased", "locked", "fixed"]);
  const renewed = await lease.renewLease();
  assert.deepEqual([renewed._response.status, renewed.leaseId], [200, taken.leaseId]);
  const other = randomUUID();
  const changed = await lease.changeLease(other);
  assert.deepEqual([changed._response.status, changed.leaseId, lease.leaseId], [200, other, other]);
  const old = blob.getBlobLeaseClient(taken.leaseId);
  await refused(old.renewLease(), 409, "LeaseIdMismatchWithLeaseOperation");
  await refused(old.releaseLease(), 409, "LeaseIdMismatchWithLeaseOperation");
  assert.equal((await lease.releaseLease())._response.status, 200);
  assert.deepEqual(await state(blob), ["available", "unlocked", undefined]);
  assert.equal((await blob.getProperties()).etag, etag);
});

test("a lease for ever, taken again by its owner only", async () => {
  const blob = await newBlob();
  const lease = blob.getBlobLeaseClient(randomUUID());
  await lease.acquireLease(-1);
  assert.deepEqual(await state(blob), ["leased", "locked", "infinite"]);
  await refused(blob.getBlobLeaseClient(randomUUID()).acquireLease(-1), 409, "LeaseAlreadyPresent");
  await lease.acquireLease(30);
  assert.deepEqual(await state(blob), ["leased", "locked", "fixed"]);
});

test("a lease protects from all who write without it, and from nobody who reads", async () => {
  const blob = await newBlob();
  const lease = blob.getBlobLeaseClient(randomUUID());
  const { leaseId } = await lease.acquireLease(-1);
  const writes = [
    (conditions) => blob.upload("new", 3, { conditions }),
    (conditions) => blob.setMetadata({ a: "b" }, { conditions }),
    (conditions) => blob.setHTTPHeaders({}, { conditions }),
    (conditions) => blob.stageBlock("AAAA", "x", 1, { conditions }),
    (conditions) => blob.commitBlockList(["AAAA"], { conditions }),
    (conditions) => blob.delete({ conditions }),
  ];
  for (const write of writes) {
    await refused(write(), 412, "LeaseIdMissing");
    await refused(write({ leaseId: randomUUID() }), 412, "LeaseIdMismatchWithBlobOperation");
  }
  assert.equal(await text(blob.download()), "text");
  await blob.getProperties();
  await blob.createSnapshot();
  for (const write of writes.slice(0, -1)) await write({ leaseId });
  await refused(blob.download(0, 1, { conditions: { leaseId: randomUUID() } }), 412,
    "LeaseIdMismatchWithBlobOperation");
  assert.equal(await text(blob.download(0, undefined, { conditions: { leaseId } })), "x");
  assert.deepEqual(await state(blob), ["leased", "locked", "infinite"]);
  await blob.delete({ conditions: { leaseId }, deleteSnapshots: "include" });
});

test("an id where there is no lease", async () => {
  const blob = await newBlob();
  const leaseId = randomUUID();
  await refused(blob.setMetadata({ a: "b" }, { conditions: { leaseId } }), 412,
    "LeaseNotPresentWithBlobOperation");
  const lease = blob.getBlobLeaseClient(leaseId);
  for (const act of [() => lease.renewLease(), () => lease.releaseLease(),
    () => lease.changeLease(randomUUID())]) {
    const error = await act().then(() => null, (e) => e);
    assert.equal(error?.statusCode, 409);
    assert.match(error.code, /^Lease(NotPresent|IdMismatch)WithLeaseOperation$/);
  }
  await refused(lease.breakLease(0), 409, "LeaseNotPresentWithLeaseOperation");
  await refused(container.getBlobClient("none").getBlobLeaseClient().acquireLease(15), 404,
    "BlobNotFound");
});

test("durations and ids that are none", async () => {
  const blob = await newBlob();
  for (const seconds of [0, 14, 61])
    await refused(blob.getBlobLeaseClient().acquireLease(seconds), 400, "InvalidHeaderValue");
  await refused(blob.getBlobLeaseClient("not a guid").acquireLease(15), 400, "InvalidHeaderValue");
});

test("a lease on an append blob", async () => {
  const blob = container.getAppendBlobClient(storageName());
  await blob.create();
  const { leaseId } = await blob.getBlobLeaseClient().acquireLease(-1);
  await refused(blob.appendBlock("x", 1), 412, "LeaseIdMissing");
  await blob.appendBlock("x", 1, { conditions: { leaseId } });
  assert.equal(await text(blob.download()), "x");
});

describe("time", () => {
  test("a lease is broken at once", async () => {
    const blob = await newBlob();
    const lease = blob.getBlobLeaseClient();
    await lease.acquireLease(60);
    const broken = await lease.breakLease(0);
    assert.deepEqual([broken._response.status, broken.leaseTime], [202, 0]);
    assert.deepEqual(await state(blob), ["broken", "unlocked", undefined]);
    await refused(lease.renewLease(), 409, "LeaseIsBrokenAndCannotBeRenewed");
    await blob.setMetadata({ a: "b" });
    await blob.getBlobLeaseClient().acquireLease(15);
  });

  test("a lease is broken after a while", { skip: noClock }, async () => {
    const blob = await newBlob();
    const lease = blob.getBlobLeaseClient();
    await lease.acquireLease(-1);
    const { leaseTime } = await lease.breakLease(60);
    assert.ok(leaseTime >= 1 && leaseTime <= 60, String(leaseTime));
    assert.deepEqual((await state(blob)).slice(0, 2), ["breaking", "locked"]);
    await refused(blob.setMetadata({ a: "b" }), 412, "LeaseIdMissing");
    await refused(blob.getBlobLeaseClient().acquireLease(15), 409, "LeaseAlreadyPresent");
    await pass(61);
    assert.deepEqual((await state(blob)).slice(0, 2), ["broken", "unlocked"]);
    await blob.setMetadata({ a: "b" });
  });

  test("a lease expires, can be renewed until somebody wrote, and then is lost", { skip: noClock }, async () => {
    const blob = await newBlob();
    const lease = blob.getBlobLeaseClient();
    const { leaseId } = await lease.acquireLease(60);
    await pass(61);
    assert.deepEqual((await state(blob)).slice(0, 2), ["expired", "unlocked"]);
    await refused(blob.setMetadata({ a: "b" }, { conditions: { leaseId } }), 412, "LeaseLost");
    await lease.renewLease();
    assert.deepEqual(await state(blob), ["leased", "locked", "fixed"]);
  });

  test("a write to a blob whose lease expired clears it", { skip: noClock }, async () => {
    const blob = await newBlob();
    const lease = blob.getBlobLeaseClient();
    await lease.acquireLease(60);
    await pass(61);
    await blob.upload("mine now", 8);
    assert.deepEqual((await state(blob)).slice(0, 2), ["available", "unlocked"]);
    const error = await lease.renewLease().then(() => null, (e) => e);
    assert.equal(error?.statusCode, 409);
  });
});
