// Append blobs: create, append, their conditions, and that they are not block blobs.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { before, test } from "node:test";
import { collect, newContainer, refused, someBytes, storageName, text } from "./storage.mjs";

const md5 = (data) => createHash("md5").update(data).digest();
let container;
before(async () => {
  container = await newContainer();
});
async function newBlob(options) {
  const blob = container.getAppendBlobClient(storageName());
  await blob.create(options);
  return blob;
}

test("an append blob grows", async () => {
  const blob = container.getAppendBlobClient(storageName());
  const made = await blob.create(
    { metadata: { a: "b" }, blobHTTPHeaders: { blobContentType: "text/plain" } });
  assert.equal(made._response.status, 201);
  const first = await blob.appendBlock("one, ", 5);
  assert.equal(first._response.status, 201);
  assert.deepEqual([first.blobAppendOffset, first.blobCommittedBlockCount], ["0", 1]);
  assert.ok(first.etag && first.etag !== made.etag && first.lastModified);
  const second = await blob.appendBlock("two", 3);
  assert.deepEqual([second.blobAppendOffset, second.blobCommittedBlockCount], ["5", 2]);
  assert.equal(await text(blob.download()), "one, two");
  assert.equal(await text(blob.download(3, 3)), ", t");
  const got = await blob.getProperties();
  assert.deepEqual([got.blobType, got.contentLength, got.contentType, got.metadata],
    ["AppendBlob", 8, "text/plain", { a: "b" }]);
  assert.equal(got.blobCommittedBlockCount, 2);
  assert.equal(got.etag, second.etag);
  const [listed] = await collect(container.listBlobsFlat({ prefix: blob.name }));
  assert.deepEqual([listed.properties.blobType, listed.properties.contentLength], ["AppendBlob", 8]);
});

test("creating again empties it, unless a condition keeps it", async () => {
  const blob = await newBlob();
  await blob.appendBlock("text", 4);
  await refused(blob.create({ conditions: { ifNoneMatch: "*" } }), 409, "BlobAlreadyExists");
  assert.equal((await blob.createIfNotExists()).succeeded, false);
  await blob.create();
  assert.equal((await blob.getProperties()).contentLength, 0);
});

test("conditions of position and size", async () => {
  const blob = await newBlob();
  await blob.appendBlock("12345", 5, { conditions: { appendPosition: 0 } });
  await refused(blob.appendBlock("x", 1, { conditions: { appendPosition: 4 } }), 412,
    "AppendPositionConditionNotMet");
  await blob.appendBlock("67890", 5, { conditions: { appendPosition: 5, maxSize: 10 } });
  await refused(blob.appendBlock("x", 1, { conditions: { maxSize: 10 } }), 412,
    "MaxBlobSizeConditionNotMet");
  assert.equal(await text(blob.download()), "1234567890");
});

test("conditions of etag and time", async () => {
  const blob = await newBlob();
  const { etag } = await blob.getProperties();
  await blob.appendBlock("a", 1, { conditions: { ifMatch: etag } });
  await refused(blob.appendBlock("b", 1, { conditions: { ifMatch: etag } }), 412, "ConditionNotMet");
  await refused(blob.appendBlock("b", 1,
    { conditions: { ifUnmodifiedSince: new Date(Date.now() - 86_400_000) } }), 412,
    "ConditionNotMet");
  assert.equal(await text(blob.download()), "a");
});

test("checksums of what is appended", async () => {
  const blob = await newBlob();
  await blob.appendBlock("text", 4, { transactionalContentMD5: md5("text") });
  await refused(blob.appendBlock("text", 4, { transactionalContentMD5: md5("other") }), 400,
    "Md5Mismatch");
  assert.equal((await blob.getProperties()).contentLength, 4);
});

test("an append blob that is not there, and blobs of another type", async () => {
  await refused(container.getAppendBlobClient(storageName()).appendBlock("x", 1), 404,
    "BlobNotFound");
  const block = container.getBlockBlobClient(storageName());
  await block.upload("text", 4);
  await refused(container.getAppendBlobClient(block.name).appendBlock("x", 1), 409,
    "InvalidBlobType");
  const append = await newBlob();
  await refused(container.getBlockBlobClient(append.name).stageBlock("AAAA", "x", 1), 409,
    "InvalidBlobType");
  const other = container.getBlockBlobClient(append.name);
  await refused(other.upload("a block blob", 12), 409, "InvalidBlobType");
  await append.delete();
  await other.upload("a block blob", 12);
  assert.equal((await append.getProperties()).blobType, "BlockBlob");
});

test("writers at the same time lose nothing", async () => {
  const blob = await newBlob();
  await Promise.all(Array.from({ length: 40 }, (_, i) =>
    blob.appendBlock(`${String(i).padStart(3, "0")}\n`, 4)));
  const lines = (await text(blob.download())).trim().split("\n").sort();
  assert.deepEqual(lines, Array.from({ length: 40 }, (_, i) => String(i).padStart(3, "0")));
  assert.equal((await blob.getProperties()).blobCommittedBlockCount, 40);
});

test("blocks of some MiB", async () => {
  const blob = await newBlob();
  const data = someBytes(3 * 1024 * 1024 + 17);
  await blob.appendBlock(data, data.length);
  await blob.appendBlock(data, data.length);
  assert.ok(Buffer.concat([data, data]).equals(await blob.downloadToBuffer()));
});

test("a snapshot of an append blob stays as it was", async () => {
  const blob = await newBlob();
  await blob.appendBlock("one", 3);
  const { snapshot } = await blob.createSnapshot();
  await blob.appendBlock("two", 3);
  assert.equal(await text(blob.withSnapshot(snapshot).download()), "one");
  assert.equal(await text(blob.download()), "onetwo");
});
