// Block blobs: upload whole and in blocks, download whole and in parts, checksums, odd names.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { Readable } from "node:stream";
import { after, before, describe, test } from "node:test";
import { crc64 } from "./crc64.mjs";
import { collect, newContainer, refused, someBytes, status, text } from "./storage.mjs";

const KIB = 1024;
const MIB = 1024 * KIB;
const md5 = (data) => createHash("md5").update(data).digest();
const id = (n) => Buffer.from(String(n).padStart(6, "0")).toString("base64");

let container;
let count = 0;
before(async () => {
  container = await newContainer();
});
// A part's answer has its checksum, in one of two ways.
function checked(answer, content) {
  if (answer.contentMD5) assert.deepEqual(Buffer.from(answer.contentMD5), md5(content));
  else assert.deepEqual(Buffer.from(answer.xMsContentCrc64), crc64(content));
}
const newBlob = () => container.getBlockBlobClient(`blob ${++count}`);
async function uploaded(content, options) {
  const blob = newBlob();
  await blob.upload(content, Buffer.byteLength(content), options);
  return blob;
}

test("a blob is uploaded and downloaded", async () => {
  const blob = newBlob();
  const put = await blob.upload("hello, blob", 11);
  assert.equal(put._response.status, 201);
  assert.match(put.etag, /^"?0x[0-9A-F]{15,16}"?$/);
  assert.deepEqual(Buffer.from(put.contentMD5), md5("hello, blob"));
  assert.equal(put.isServerEncrypted, true);
  const got = await blob.download();
  assert.equal(got._response.status, 200);
  assert.equal(await text(got), "hello, blob");
  assert.equal(got.contentLength, 11);
  assert.equal(got.contentType, "application/octet-stream");
  assert.equal(got.blobType, "BlockBlob");
  assert.equal(got.acceptRanges, "bytes");
  assert.equal(got.etag, put.etag);
  assert.deepEqual(got.lastModified, put.lastModified);
  assert.deepEqual(Buffer.from(got.contentMD5), md5("hello, blob"));
  assert.deepEqual([got.leaseState, got.leaseStatus], ["available", "unlocked"]);
  assert.ok(got.createdOn instanceof Date);
});

test("an upload replaces what was there, with all that belonged to it", async () => {
  const blob = await uploaded("first",
    { metadata: { a: "b" }, blobHTTPHeaders: { blobContentType: "text/plain" } });
  const first = await blob.getProperties();
  await blob.upload("second!", 7);
  const second = await blob.getProperties();
  assert.equal(await text(blob.download()), "second!");
  assert.notEqual(second.etag, first.etag);
  assert.deepEqual([second.metadata, second.contentType, second.contentLength],
    [{}, "application/octet-stream", 7]);
});

test("a blob that is not there", async () => {
  const blob = newBlob();
  assert.equal(await blob.exists(), false);
  await refused(blob.download(), 404, "BlobNotFound");
  await refused(blob.getProperties(), 404, "BlobNotFound");
  await refused(blob.setMetadata({ a: "b" }), 404, "BlobNotFound");
  await refused(blob.setHTTPHeaders({}), 404, "BlobNotFound");
  await refused(blob.createSnapshot(), 404, "BlobNotFound");
  await refused(blob.getBlockList("all"), 404, "BlobNotFound");
  await refused(blob.delete(), 404, "BlobNotFound");
  assert.equal((await blob.deleteIfExists()).succeeded, false);
});

test("an empty blob is a blob", async () => {
  const blob = await uploaded("");
  assert.equal((await blob.getProperties()).contentLength, 0);
  assert.equal(await text(blob.download()), "");
  assert.equal((await blob.downloadToBuffer()).length, 0);
  await refused(blob.download(0, 1), 416, "InvalidRange");
  const committed = newBlob();
  await committed.commitBlockList([]);
  assert.equal((await committed.getProperties()).contentLength, 0);
});

describe("ranges", () => {
  const content = "0123456789abcdefghijklmnopqrstuvwxyz";
  let blob;
  before(async () => {
    blob = await uploaded(content);
  });

  for (const [what, offset, length, expected] of [
    ["from the start", 0, 5, "01234"],
    ["from the middle", 10, 5, "abcde"],
    ["to the end", 30, undefined, "uvwxyz"],
    ["past the end", 30, 1000, "uvwxyz"],
    ["of the last byte", 35, 1, "z"],
  ]) {
    test(`a range ${what}`, async () => {
      const got = await blob.download(offset, length);
      assert.equal(got._response.status, 206);
      assert.equal(await text(got), expected);
      assert.equal(got.contentRange, `bytes ${offset}-${offset + expected.length - 1}/36`);
      assert.equal(got.contentLength, expected.length);
      assert.equal(got.contentMD5, undefined);
      assert.deepEqual(Buffer.from(got.blobContentMD5), md5(content));
    });
  }

  test("a range that begins beyond the end is refused", async () => {
    const error = await refused(blob.download(36, 1), 416, "InvalidRange");
    assert.equal(error.response.headers.get("content-range"), "bytes */36");
  });

  test("a range comes with a checksum when asked for", async () => {
    const withMd5 = await blob.download(10, 5, { rangeGetContentMD5: true });
    assert.deepEqual(Buffer.from(withMd5.contentMD5), md5("abcde"));
    assert.equal(await text(withMd5), "abcde");
    const withCrc = await blob.download(10, 5, { rangeGetContentCrc64: true });
    assert.deepEqual(Buffer.from(withCrc.contentCrc64), crc64("abcde"));
  });
});

describe("blocks", () => {
  test("blocks become a blob in the order of the list", async () => {
    const blob = newBlob();
    for (const [n, content] of [[1, "one"], [2, "two"], [3, "three"]]) {
      const staged = await blob.stageBlock(id(n), content, content.length);
      assert.equal(staged._response.status, 201);
      checked(staged, content);
    }
    assert.equal(await blob.exists(), false);
    const put = await blob.commitBlockList([id(3), id(1), id(2), id(1)], {
      blobHTTPHeaders: { blobContentType: "text/plain" }, metadata: { a: "b" },
    });
    assert.equal(put._response.status, 201);
    assert.ok(put.etag && put.lastModified);
    assert.equal(await text(blob.download()), "threeonetwoone");
    const got = await blob.getProperties();
    assert.deepEqual([got.contentType, got.metadata, got.contentLength],
      ["text/plain", { a: "b" }, 14]);
    assert.equal(got.contentMD5, undefined);
    assert.equal(got.etag, put.etag);
  });

  test("the block list tells what is committed and what is not", async () => {
    const blob = newBlob();
    await blob.stageBlock(id(1), "one", 3);
    const before = await blob.getBlockList("all");
    assert.deepEqual([before.committedBlocks ?? [], before.uncommittedBlocks],
      [[], [{ name: id(1), size: 3 }]]);
    assert.equal(before.etag, undefined);
    await blob.commitBlockList([id(1)]);
    await blob.stageBlock(id(2), "zwei", 4);
    const all = await blob.getBlockList("all");
    assert.deepEqual(all.committedBlocks, [{ name: id(1), size: 3 }]);
    assert.deepEqual(all.uncommittedBlocks, [{ name: id(2), size: 4 }]);
    assert.equal(all.blobContentLength, 3);
    assert.equal(all.etag, (await blob.getProperties()).etag);
    assert.deepEqual((await blob.getBlockList("committed")).uncommittedBlocks ?? [], []);
    assert.deepEqual((await blob.getBlockList("uncommitted")).committedBlocks ?? [], []);
    assert.equal(await text(blob.download()), "one");
    await blob.commitBlockList([id(1), id(2)]);
    assert.equal(await text(blob.download()), "onezwei");
    assert.deepEqual((await blob.getBlockList("uncommitted")).uncommittedBlocks ?? [], []);
  });

  test("a block may be staged again, and the latest counts", async () => {
    const blob = newBlob();
    await blob.stageBlock(id(1), "old", 3);
    await blob.stageBlock(id(1), "newer", 5);
    await blob.commitBlockList([id(1)]);
    await blob.stageBlock(id(1), "newest", 6);
    assert.equal(await text(blob.download()), "newer");
    await blob.commitBlockList([id(1)]);
    assert.equal(await text(blob.download()), "newest");
  });

  test("a commit and an upload drop what was staged", async () => {
    const blob = newBlob();
    await blob.stageBlock(id(1), "one", 3);
    await blob.stageBlock(id(2), "two", 3);
    await blob.commitBlockList([id(1)]);
    await refused(blob.commitBlockList([id(1), id(2)]), 400, "InvalidBlockList");
    await blob.stageBlock(id(2), "two", 3);
    await blob.upload("whole", 5);
    await refused(blob.commitBlockList([id(2)]), 400, "InvalidBlockList");
    assert.equal(await text(blob.download()), "whole");
    const { committedBlocks, uncommittedBlocks } = await blob.getBlockList("all");
    assert.deepEqual([committedBlocks ?? [], uncommittedBlocks ?? []], [[], []]);
  });

  test("unknown blocks, and ids that are none", async () => {
    const blob = newBlob();
    await refused(blob.commitBlockList([id(1)]), 400, "InvalidBlockList");
    await blob.stageBlock(id(1), "one", 3);
    await refused(blob.commitBlockList([id(1), id(9)]), 400, "InvalidBlockList");
    const long = Buffer.alloc(65, 97).toString("base64");
    const error = await blob.stageBlock(long, "x", 1).then(() => null, (e) => e);
    assert.equal(error?.statusCode, 400);
    // All ids of a blob have one length.
    await refused(blob.stageBlock(Buffer.from("longer id").toString("base64"), "x", 1), 400,
      "InvalidBlobOrBlock");
  });
});

describe("checksums", () => {
  const wrong = md5("something else");

  // The client's upload() has no place for a checksum of the body; blocks and appends have.
  test("a right MD5 is accepted, a wrong one is not", async () => {
    const blob = newBlob();
    await blob.stageBlock(id(1), "text", 4, { transactionalContentMD5: md5("text") });
    await refused(blob.stageBlock(id(2), "TEXT", 4, { transactionalContentMD5: wrong }), 400,
      "Md5Mismatch");
    assert.deepEqual((await blob.getBlockList("uncommitted")).uncommittedBlocks,
      [{ name: id(1), size: 4 }]);
  });

  test("an MD5 that is none is refused", async () => {
    await refused(newBlob().stageBlock(id(1), "text", 4,
      { transactionalContentMD5: Buffer.from("short") }), 400, "InvalidMd5");
  });

  test("a CRC64 is checked and answered", async () => {
    const blob = newBlob();
    const staged = await blob.stageBlock(id(1), "123456789", 9,
      { transactionalContentCrc64: crc64("123456789") });
    assert.deepEqual(Buffer.from(staged.xMsContentCrc64), crc64("123456789"));
    await refused(blob.stageBlock(id(2), "123456789", 9,
      { transactionalContentCrc64: crc64("another") }), 400, "Crc64Mismatch");
    await blob.commitBlockList([id(1)]);
    assert.equal(await text(blob.download()), "123456789");
  });

  test("an MD5 given for a blob is compared when its content comes with it", async () => {
    const blob = newBlob();
    await refused(blob.upload("text", 4, { blobHTTPHeaders: { blobContentMD5: wrong } }), 400,
      "Md5Mismatch");
    await blob.upload("text", 4, { blobHTTPHeaders: { blobContentMD5: md5("text") } });
    assert.deepEqual(Buffer.from((await blob.getProperties()).contentMD5), md5("text"));
  });

  test("an MD5 given for the blob is kept as it is", async () => {
    const blob = newBlob();
    await blob.stageBlock(id(1), "text", 4);
    await blob.commitBlockList([id(1)], { blobHTTPHeaders: { blobContentMD5: wrong } });
    assert.deepEqual(Buffer.from((await blob.getProperties()).contentMD5), wrong);
    assert.deepEqual(Buffer.from((await blob.download()).contentMD5), wrong);
  });
});

describe("data in parallel", () => {
  const data = someBytes(9 * MIB + 12345);
  let folder;
  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "tavola-sdk-"));
  });
  after(() => rm(folder, { recursive: true }));

  test("uploadData in blocks, downloadToBuffer in parts", async () => {
    const blob = newBlob();
    const seen = [];
    await blob.uploadData(data, {
      blockSize: MIB, maxSingleShotSize: MIB, concurrency: 4,
      onProgress: (progress) => seen.push(progress.loadedBytes),
    });
    assert.equal((await blob.getBlockList("committed")).committedBlocks.length, 10);
    assert.equal(seen.at(-1), data.length);
    const whole = await blob.downloadToBuffer(0, undefined, { blockSize: 700 * KIB, concurrency: 4 });
    assert.ok(data.equals(whole));
    const part = await blob.downloadToBuffer(5 * MIB - 7, 2 * MIB, { blockSize: 300 * KIB });
    assert.ok(data.subarray(5 * MIB - 7, 7 * MIB - 7).equals(part));
  });

  test("uploadData at once", async () => {
    const blob = newBlob();
    await blob.uploadData(data);
    assert.deepEqual((await blob.getBlockList("committed")).committedBlocks ?? [], []);
    assert.ok(data.equals(await blob.downloadToBuffer()));
  });

  test("uploadFile and downloadToFile", async () => {
    const from = path.join(folder, "from");
    const to = path.join(folder, "to");
    await writeFile(from, data);
    const blob = newBlob();
    await blob.uploadFile(from, { blockSize: 2 * MIB, maxSingleShotSize: MIB, concurrency: 3 });
    await blob.downloadToFile(to);
    assert.ok(data.equals(await readFile(to)));
    await blob.downloadToFile(to, MIB + 1, 100);
    assert.ok(data.subarray(MIB + 1, MIB + 101).equals(await readFile(to)));
  });

  test("uploadStream", async () => {
    const blob = newBlob();
    const parts = [];
    for (let i = 0; i < data.length; i += 100_000) parts.push(data.subarray(i, i + 100_000));
    await blob.uploadStream(Readable.from(parts), MIB, 4);
    assert.ok(data.equals(await blob.downloadToBuffer()));
  });

  test("many readers of one blob, and a reader who gives up", async () => {
    const blob = newBlob();
    await blob.uploadData(data);
    await Promise.all(Array.from({ length: 8 }, async (_, i) => {
      const part = await blob.downloadToBuffer(i * MIB, MIB);
      assert.ok(data.subarray(i * MIB, (i + 1) * MIB).equals(part));
    }));
    const given = await blob.download();
    given.readableStreamBody.destroy();
    assert.equal((await blob.getProperties()).contentLength, data.length);
  });
});

for (const name of [
  "with space", "100%", "%41 is not A", "a+b", "a/b//c", "/slash first", "ünï-龜🐢", "q?x=1&y#z",
  "semi;colon,comma", `'single' "double"`, "(~!*)", "dots..in...it", "<xml>&amp;", "x".repeat(1024),
]) {
  test(`a blob named ${name.slice(0, 30)}`, async () => {
    const own = await newContainer();
    const blob = own.getBlockBlobClient(name);
    await blob.upload(name, Buffer.byteLength(name));
    assert.equal(await text(blob.download()), name);
    assert.deepEqual((await collect(own.listBlobsFlat())).map((b) => b.name), [name]);
    assert.deepEqual((await collect(own.listBlobsFlat({ prefix: name.slice(0, 3) }))).length, 1);
    assert.equal(await status(blob.delete()), 202);
    assert.equal(await blob.exists(), false);
  });
}

test("names differ by case", async () => {
  const own = await newContainer();
  await own.uploadBlockBlob("Name", "A", 1);
  await own.uploadBlockBlob("name", "b", 1);
  assert.equal(await text(own.getBlobClient("Name").download()), "A");
  assert.deepEqual((await collect(own.listBlobsFlat())).map((b) => b.name), ["Name", "name"]);
});

test("a page blob is refused with a code", async () => {
  const page = container.getPageBlobClient("pages");
  const error = await page.create(512).then(() => null, (e) => e);
  assert.equal(error?.name, "RestError");
  assert.ok(error.statusCode >= 400 && error.statusCode < 500, String(error.statusCode));
  assert.ok(error.code && error.code === error.response.headers.get("x-ms-error-code"));
  assert.equal(await page.exists(), false);
});
