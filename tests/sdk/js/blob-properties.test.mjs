// What a blob has in addition to its content: properties, metadata, conditions, snapshots, copies.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { before, describe, test } from "node:test";
import { BlobSASPermissions } from "@azure/storage-blob";
import {
  blobService, collect, inAnHour, newContainer, noClock, pass, refused, secondAccount, status, storageName,
  text,
} from "./storage.mjs";

const tomorrow = () => new Date(Date.now() + 86_400_000);
const yesterday = () => new Date(Date.now() - 86_400_000);
const other = '"0x8D6D4168CB24240"';

let container;
let count = 0;
before(async () => {
  container = await newContainer();
});
async function newBlob(content = "content", options) {
  const blob = container.getBlockBlobClient(`blob${++count}`);
  await blob.upload(content, Buffer.byteLength(content), options);
  return blob;
}

describe("properties", () => {
  const headers = {
    blobContentType: "text/plain; charset=utf-8", blobContentEncoding: "identity",
    blobContentLanguage: "de", blobCacheControl: "max-age=60",
    blobContentDisposition: 'attachment; filename="a b.txt"',
  };
  const shown = ({ contentType, contentEncoding, contentLanguage, cacheControl, contentDisposition }) =>
    [contentType, contentEncoding, contentLanguage, cacheControl, contentDisposition];

  test("HTTP headers are kept and sent", async () => {
    const blob = await newBlob("text", { blobHTTPHeaders: headers });
    assert.deepEqual(shown(await blob.getProperties()), Object.values(headers));
    assert.deepEqual(shown(await blob.download()), Object.values(headers));
    const listed = (await collect(container.listBlobsFlat({ prefix: blob.name })))[0].properties;
    assert.deepEqual(shown(listed), Object.values(headers));
  });

  test("setting HTTP headers clears those left out", async () => {
    const blob = await newBlob("text", { blobHTTPHeaders: headers, metadata: { a: "b" } });
    const before = await blob.getProperties();
    const set = await blob.setHTTPHeaders({ blobContentType: "text/html" });
    assert.equal(set._response.status, 200);
    const after = await blob.getProperties();
    assert.deepEqual(shown(after), ["text/html", undefined, undefined, undefined, undefined]);
    assert.deepEqual(after.metadata, { a: "b" });
    assert.notEqual(after.etag, before.etag);
    assert.equal(after.etag, set.etag);
    assert.deepEqual(after.createdOn, before.createdOn);
    assert.equal(after.contentMD5, undefined);
    const md5 = createHash("md5").update("text").digest();
    await blob.setHTTPHeaders({ blobContentMD5: md5 });
    assert.deepEqual(Buffer.from((await blob.getProperties()).contentMD5), md5);
    await blob.setHTTPHeaders({ blobContentMD5: Buffer.from([1, 2, 3, 4]) });
    assert.deepEqual([...(await blob.getProperties()).contentMD5], [1, 2, 3, 4]);
    await blob.setHTTPHeaders();
    assert.deepEqual(shown(await blob.getProperties()),
      [undefined, undefined, undefined, undefined, undefined]);
    const [listed] = await collect(container.listBlobsFlat({ prefix: blob.name }));
    assert.ok(!listed.properties.contentType);
  });

  test("metadata is set whole", async () => {
    const blob = await newBlob("text", { metadata: { one: "1", two: "zwei" } });
    assert.deepEqual((await blob.getProperties()).metadata, { one: "1", two: "zwei" });
    assert.deepEqual((await blob.download()).metadata, { one: "1", two: "zwei" });
    const set = await blob.setMetadata({ three: "drei = 3" });
    assert.equal(set._response.status, 200);
    const got = await blob.getProperties();
    assert.deepEqual([got.metadata, got.etag], [{ three: "drei = 3" }, set.etag]);
    await blob.setMetadata();
    assert.deepEqual((await blob.getProperties()).metadata, {});
    assert.equal(await text(blob.download()), "text");
  });

  test("more than 8 KiB of metadata are refused", async () => {
    const blob = await newBlob();
    const part = "x".repeat(3000);
    await refused(blob.setMetadata({ one: part, two: part, three: part }), 400, "MetadataTooLarge");
    await blob.setMetadata({ one: part, two: part });
  });

  test("all that HEAD tells", async () => {
    const blob = await newBlob("12345");
    const got = await blob.getProperties();
    assert.equal(got._response.status, 200);
    assert.deepEqual([got.contentLength, got.blobType, got.acceptRanges, got.isServerEncrypted],
      [5, "BlockBlob", "bytes", true]);
    assert.deepEqual([got.leaseState, got.leaseStatus, got.leaseDuration],
      ["available", "unlocked", undefined]);
    assert.deepEqual([got.accessTier, got.accessTierInferred], ["Hot", true]);
    assert.ok(got.createdOn instanceof Date && got.lastModified instanceof Date);
  });
});

describe("conditions", () => {
  const failed = (promise) => refused(promise, 412, "ConditionNotMet");
  const unchanged = (promise) => refused(promise, 304, "ConditionNotMet");

  test("reads", async () => {
    const blob = await newBlob();
    const { etag } = await blob.getProperties();
    const read = (conditions) => blob.download(0, undefined, { conditions });
    const head = (conditions) => blob.getProperties({ conditions });
    for (const get of [read, head]) {
      await get({ ifMatch: etag });
      await get({ ifMatch: "*" });
      await failed(get({ ifMatch: other }));
      await get({ ifNoneMatch: other });
      await unchanged(get({ ifNoneMatch: etag }));
      await get({ ifModifiedSince: yesterday() });
      await unchanged(get({ ifModifiedSince: tomorrow() }));
      await get({ ifUnmodifiedSince: tomorrow() });
      await failed(get({ ifUnmodifiedSince: yesterday() }));
    }
  });

  test("writes", async () => {
    const blob = await newBlob();
    const { etag } = await blob.getProperties();
    const write = (conditions) => blob.upload("x", 1, { conditions });
    await failed(write({ ifMatch: other }));
    await failed(write({ ifNoneMatch: etag }));
    await failed(write({ ifModifiedSince: tomorrow() }));
    await failed(write({ ifUnmodifiedSince: yesterday() }));
    await refused(write({ ifNoneMatch: "*" }), 409, "BlobAlreadyExists");
    await write({ ifMatch: etag });
    await failed(write({ ifMatch: etag }));
    await write({ ifNoneMatch: etag });
    await write({ ifModifiedSince: yesterday() });
    await write({ ifUnmodifiedSince: tomorrow() });
    const fresh = container.getBlockBlobClient(storageName());
    await failed(fresh.upload("x", 1, { conditions: { ifMatch: "*" } }));
    await fresh.upload("x", 1, { conditions: { ifNoneMatch: "*" } });
  });

  test("other changes", async () => {
    const blob = await newBlob();
    const conditions = { ifMatch: other };
    await failed(blob.setMetadata({ a: "b" }, { conditions }));
    await failed(blob.setHTTPHeaders({}, { conditions }));
    await failed(blob.createSnapshot({ conditions }));
    await failed(blob.delete({ conditions }));
    const block = Buffer.from("1").toString("base64");
    await blob.stageBlock(block, "x", 1);
    await failed(blob.commitBlockList([block], { conditions }));
    await refused(blob.commitBlockList([block], { conditions: { ifNoneMatch: "*" } }), 409,
      "BlobAlreadyExists");
    const { etag } = await blob.getProperties();
    await blob.commitBlockList([block], { conditions: { ifMatch: etag } });
    assert.equal(await text(blob.download()), "x");
    await blob.delete({ conditions: { ifMatch: (await blob.getProperties()).etag } });
  });

  test("of writers that compare, one wins", async () => {
    const blob = await newBlob();
    const { etag: ifMatch } = await blob.getProperties();
    const writers = Array.from({ length: 8 }, (_, i) =>
      blob.upload(String(i), 1, { conditions: { ifMatch } }).then(() => i, (e) => e.statusCode));
    const results = await Promise.all(writers);
    const winners = results.filter((r) => r !== 412);
    assert.equal(winners.length, 1);
    assert.equal(await text(blob.download()), String(winners[0]));
  });
});

describe("snapshots", () => {
  test("a snapshot keeps what was", async () => {
    const blob = await newBlob("first", { metadata: { n: "1" } });
    const { etag } = await blob.getProperties();
    const taken = await blob.createSnapshot();
    assert.equal(taken._response.status, 201);
    assert.match(taken.snapshot, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z$/);
    assert.equal(taken.etag, etag);
    await blob.upload("second", 6);
    const old = blob.withSnapshot(taken.snapshot);
    assert.equal(await text(old.download()), "first");
    assert.equal(await text(old.download(1, 2)), "ir");
    assert.deepEqual((await old.getProperties()).metadata, { n: "1" });
    assert.equal(await old.exists(), true);
    assert.equal(await text(blob.download()), "second");
    await refused(blob.withSnapshot("2020-01-02T03:04:05.1234567Z").download(), 404, "BlobNotFound");
  });

  test("a snapshot may have metadata of its own", async () => {
    const blob = await newBlob("text", { metadata: { n: "1" } });
    const { snapshot } = await blob.createSnapshot({ metadata: { n: "2" } });
    assert.deepEqual((await blob.withSnapshot(snapshot).getProperties()).metadata, { n: "2" });
    assert.deepEqual((await blob.getProperties()).metadata, { n: "1" });
  });

  test("deleting a blob with snapshots", async () => {
    const blob = await newBlob("text");
    const one = (await blob.createSnapshot()).snapshot;
    const two = (await blob.createSnapshot()).snapshot;
    assert.ok(one < two);
    await refused(blob.delete(), 409, "SnapshotsPresent");
    assert.equal(await status(blob.withSnapshot(one).delete()), 202);
    await refused(blob.withSnapshot(one).getProperties(), 404, "BlobNotFound");
    await blob.delete({ deleteSnapshots: "only" });
    assert.equal(await text(blob.download()), "text");
    await refused(blob.withSnapshot(two).getProperties(), 404, "BlobNotFound");
    const three = (await blob.createSnapshot()).snapshot;
    await blob.delete({ deleteSnapshots: "include" });
    assert.equal(await blob.exists(), false);
    await refused(blob.withSnapshot(three).download(), 404, "BlobNotFound");
  });

  test("a snapshot brings a blob back", async () => {
    const blob = await newBlob("first");
    const { snapshot } = await blob.createSnapshot();
    await blob.upload("second", 6);
    await (await blob.beginCopyFromURL(blob.withSnapshot(snapshot).url)).pollUntilDone();
    assert.equal(await text(blob.download()), "first");
  });
});

describe("copies", () => {
  const permissions = BlobSASPermissions.parse("r");
  const signed = (blob) => blob.generateSasUrl({ permissions, expiresOn: inAnHour() });

  test("a blob of the account is copied", async () => {
    const source = await newBlob("to be copied",
      { metadata: { a: "b" }, blobHTTPHeaders: { blobContentType: "text/plain" } });
    const target = container.getBlockBlobClient(storageName());
    const poller = await target.beginCopyFromURL(source.url, { intervalInMs: 50 });
    const done = await poller.pollUntilDone();
    assert.equal(done.copyStatus, "success");
    assert.ok(done.copyId);
    assert.equal(await text(target.download()), "to be copied");
    const got = await target.getProperties();
    assert.deepEqual([got.metadata, got.contentType], [{ a: "b" }, "text/plain"]);
    assert.deepEqual([got.copyStatus, got.copyId], ["success", done.copyId]);
    assert.equal(got.copyProgress, "12/12");
    assert.equal(got.copySource, source.url);
    assert.ok(got.copyCompletedOn instanceof Date);
    await refused(target.abortCopyFromURL(done.copyId), 409, "NoPendingCopyOperation");
  });

  test("a snapshot is copied, and its URL comes back", async () => {
    const source = await newBlob("before");
    const snapshot = source.withSnapshot((await source.createSnapshot()).snapshot);
    await source.upload("after", 5);
    const target = container.getBlockBlobClient(storageName());
    await (await target.beginCopyFromURL(snapshot.url)).pollUntilDone();
    assert.equal(await text(target.download()), "before");
    assert.equal((await target.getProperties()).copySource, snapshot.url);
  });

  test("a copy may have metadata of its own, and is a blob of its own", async () => {
    const source = await newBlob("text", { metadata: { a: "b" } });
    const target = container.getBlockBlobClient(storageName());
    await (await target.beginCopyFromURL(source.url, { metadata: { c: "d" } })).pollUntilDone();
    await source.upload("changed", 7);
    assert.equal(await text(target.download()), "text");
    assert.deepEqual((await target.getProperties()).metadata, { c: "d" });
    await source.delete();
    assert.equal(await text(target.download()), "text");
  });

  test("a copy in one step", async () => {
    const source = await newBlob("text", { metadata: { a: "b" } });
    const target = container.getBlockBlobClient(storageName());
    const answer = await target.syncCopyFromURL(await signed(source));
    assert.equal(answer._response.status, 202);
    assert.equal(answer.copyStatus, "success");
    assert.ok(answer.copyId && answer.etag && answer.lastModified);
    assert.equal(await text(target.download()), "text");
    assert.deepEqual((await target.getProperties()).metadata, { a: "b" });
  });

  test("a copy of blocks has the blocks' content", async () => {
    const source = container.getBlockBlobClient(storageName());
    const ids = ["one", "two"].map((x) => Buffer.from(x).toString("base64"));
    for (const id of ids) await source.stageBlock(id, id, id.length);
    await source.commitBlockList(ids);
    const target = container.getBlockBlobClient(storageName());
    await (await target.beginCopyFromURL(source.url)).pollUntilDone();
    assert.equal(await text(target.download()), ids.join(""));
  });

  test("a copy from another account needs its signature", async () => {
    const there = await newContainer({}, secondAccount);
    const source = there.getBlockBlobClient("source");
    await source.upload("from afar", 9);
    const target = container.getBlockBlobClient(storageName());
    const error = await target.beginCopyFromURL(source.url).then(() => null, (e) => e);
    assert.ok(error?.statusCode >= 400 && error.statusCode < 500, error?.stack ?? "no error");
    await (await target.beginCopyFromURL(await signed(source))).pollUntilDone();
    assert.equal(await text(target.download()), "from afar");
  });

  test("conditions of source and target", async () => {
    const source = await newBlob("text");
    const target = await newBlob("old");
    await refused(target.beginCopyFromURL(source.url, { sourceConditions: { ifMatch: other } }), 412,
      "SourceConditionNotMet");
    const error = await target.beginCopyFromURL(source.url, { conditions: { ifMatch: other } })
      .then(() => null, (e) => e);
    assert.equal(error?.statusCode, 412);
    assert.equal(await text(target.download()), "old");
    const { etag: ifMatch } = await source.getProperties();
    const poller = await target.beginCopyFromURL(source.url, { sourceConditions: { ifMatch } });
    await poller.pollUntilDone();
    assert.equal(await text(target.download()), "text");
  });

  test("a source that is not there, and one that is elsewhere", async () => {
    const target = container.getBlockBlobClient(storageName());
    const missing = container.getBlobClient("there is no such blob");
    const gone = await target.beginCopyFromURL(missing.url).then(() => null, (e) => e);
    assert.equal(gone?.statusCode, 404, gone?.stack);
    const elsewhere = await target.beginCopyFromURL("http://127.0.0.1:1/account/container/blob")
      .then(() => null, (e) => e);
    assert.ok(elsewhere?.statusCode >= 400 && elsewhere.statusCode < 500, elsewhere?.stack);
    assert.ok(elsewhere.response.headers.get("x-ms-error-code"));
    assert.equal(await target.exists(), false);
  });
});

test("times are of the last change", { skip: noClock }, async () => {
  const blob = await newBlob();
  const first = await blob.getProperties();
  await pass(2);
  await blob.setMetadata({ a: "b" });
  const second = await blob.getProperties();
  assert.ok(second.lastModified > first.lastModified);
  assert.deepEqual(second.createdOn, first.createdOn);
  await refused(blob.download(0, undefined, { conditions: { ifUnmodifiedSince: first.lastModified } }),
    412, "ConditionNotMet");
  await blob.download(0, undefined, { conditions: { ifModifiedSince: first.lastModified } });
  await refused(blob.download(0, undefined, { conditions: { ifModifiedSince: second.lastModified } }),
    304, "ConditionNotMet");
  assert.deepEqual((await blobService().getContainerClient(container.containerName)
    .getBlobClient(blob.name).getProperties()).lastModified, second.lastModified);
});
