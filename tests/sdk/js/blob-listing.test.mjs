// List Blobs: flat and by hierarchy, by prefix and pages, and what may be included.

import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { collect, newContainer, refused } from "./storage.mjs";

const names = async (iterator) => (await collect(iterator)).map((b) => b.name);

describe("a container of a few", () => {
  const all = [
    "a.txt", "b/1", "b/2", "b/c/3", "b/c/4", "b-5", "d/6", "e", "ü/7", "x y/8", "z&<>",
  ].sort((x, y) => Buffer.compare(Buffer.from(x), Buffer.from(y)));
  let container;
  before(async () => {
    container = await newContainer();
    for (const name of [...all].reverse())
      await container.uploadBlockBlob(name, name, Buffer.byteLength(name), {
        metadata: { first: String(name.charCodeAt(0)) },
        blobHTTPHeaders: { blobContentType: "text/plain" },
      });
  });

  test("flat, in the order of names", async () => {
    assert.deepEqual(await names(container.listBlobsFlat()), all);
  });

  test("by prefix", async () => {
    const starting = (prefix) => all.filter((name) => name.startsWith(prefix));
    for (const prefix of ["b", "b/", "b/c/", "ü", "x y", "z&", "none"])
      assert.deepEqual(await names(container.listBlobsFlat({ prefix })), starting(prefix), prefix);
  });

  test("by pages, and on from a token", async () => {
    const pages = await collect(container.listBlobsFlat().byPage({ maxPageSize: 4 }));
    assert.deepEqual(pages.map((p) => p.segment.blobItems.length), [4, 4, 3]);
    assert.deepEqual(pages.flatMap((p) => p.segment.blobItems.map((b) => b.name)), all);
    assert.equal(pages[0].maxPageSize, 4);
    assert.equal(pages[0].containerName, container.containerName);
    assert.ok(!pages[2].continuationToken);
    const { continuationToken } = pages[0];
    const [rest] = await collect(container.listBlobsFlat().byPage({ continuationToken }));
    assert.deepEqual(rest.segment.blobItems.map((b) => b.name), all.slice(4));
  });

  async function level(prefix) {
    const seen = { prefixes: [], blobs: [] };
    for await (const item of container.listBlobsByHierarchy("/", { prefix }))
      seen[item.kind === "prefix" ? "prefixes" : "blobs"].push(item.name);
    return seen;
  }

  test("by hierarchy", async () => {
    assert.deepEqual(await level(), {
      prefixes: ["b/", "d/", "x y/", "ü/"], blobs: ["a.txt", "b-5", "e", "z&<>"],
    });
    assert.deepEqual(await level("b/"), { prefixes: ["b/c/"], blobs: ["b/1", "b/2"] });
    assert.deepEqual(await level("b/c/"), { prefixes: [], blobs: ["b/c/3", "b/c/4"] });
    assert.deepEqual(await level("b"), { prefixes: ["b/"], blobs: ["b-5"] });
    assert.deepEqual(await level("none"), { prefixes: [], blobs: [] });
  });

  test("by hierarchy and pages", async () => {
    const seen = [];
    for await (const page of container.listBlobsByHierarchy("/").byPage({ maxPageSize: 1 })) {
      const here = [...(page.segment.blobPrefixes ?? []), ...page.segment.blobItems];
      assert.ok(here.length <= 1);
      seen.push(...here.map((one) => one.name));
    }
    assert.deepEqual(seen.sort(), ["a.txt", "b-5", "b/", "d/", "e", "x y/", "z&<>", "ü/"]);
  });

  test("another delimiter", async () => {
    const seen = [];
    for await (const item of container.listBlobsByHierarchy("c/")) seen.push(item.name);
    assert.ok(seen.includes("b/c/"));
    assert.ok(!seen.includes("b/c/3"));
    assert.ok(seen.includes("d/6"));
  });

  test("properties and metadata", async () => {
    const [bare] = await collect(container.listBlobsFlat({ prefix: "a.txt" }));
    assert.ok(!bare.metadata);
    const [{ metadata, properties, snapshot, deleted }] =
      await collect(container.listBlobsFlat({ prefix: "a.txt", includeMetadata: true }));
    assert.deepEqual(metadata, { first: "97" });
    const head = await container.getBlobClient("a.txt").getProperties();
    assert.equal(`"${properties.etag.replaceAll('"', "")}"`, head.etag);
    for (const name of ["lastModified", "createdOn", "contentLength", "contentType", "blobType",
      "leaseState", "leaseStatus", "accessTier"])
      assert.deepEqual(properties[name], head[name], name);
    assert.deepEqual(Buffer.from(properties.contentMD5), Buffer.from(head.contentMD5));
    assert.ok(!snapshot && !deleted);
  });
});

test("an empty container", async () => {
  const container = await newContainer();
  assert.deepEqual(await collect(container.listBlobsFlat()), []);
  assert.deepEqual(await collect(container.listBlobsByHierarchy("/")), []);
});

test("snapshots, when included, before their blob and in order", async () => {
  const container = await newContainer();
  const blob = container.getBlockBlobClient("blob");
  await blob.upload("one", 3);
  const first = (await blob.createSnapshot()).snapshot;
  await blob.upload("second", 6);
  const second = (await blob.createSnapshot()).snapshot;
  await container.uploadBlockBlob("other", "x", 1);
  const listed = await collect(container.listBlobsFlat({ includeSnapshots: true }));
  assert.deepEqual(listed.map((b) => [b.name, b.snapshot ?? "", b.properties.contentLength]),
    [["blob", first, 3], ["blob", second, 6], ["blob", "", 6], ["other", "", 1]]);
  assert.deepEqual(await names(container.listBlobsFlat()), ["blob", "other"]);
});

test("uncommitted blobs, when included", async () => {
  const container = await newContainer();
  await container.getBlockBlobClient("staged").stageBlock("AAAA", "text", 4);
  await container.uploadBlockBlob("whole", "x", 1);
  assert.deepEqual(await names(container.listBlobsFlat()), ["whole"]);
  const listed = await collect(container.listBlobsFlat({ includeUncommitedBlobs: true }));
  assert.deepEqual(listed.map((b) => [b.name, b.properties.contentLength]),
    [["staged", 0], ["whole", 1]]);
});

test("copies, when included", async () => {
  const container = await newContainer();
  const { blockBlobClient } = await container.uploadBlockBlob("source", "text", 4);
  const target = container.getBlobClient("target");
  await (await target.beginCopyFromURL(blockBlobClient.url)).pollUntilDone();
  const listed = await collect(container.listBlobsFlat({ includeCopy: true }));
  assert.deepEqual(listed.map((b) => b.properties.copyStatus), [undefined, "success"]);
});

test("a listing that grows while it is read gives no blob twice", async () => {
  const container = await newContainer();
  const name = (n) => `blob-${String(n).padStart(3, "0")}`;
  await Promise.all(Array.from({ length: 30 },
    (_, n) => container.uploadBlockBlob(name(2 * n), "x", 1)));
  const seen = [];
  for await (const page of container.listBlobsFlat().byPage({ maxPageSize: 7 })) {
    seen.push(...page.segment.blobItems.map((b) => b.name));
    await container.uploadBlockBlob(name(seen.length), "y", 1);
    await container.uploadBlockBlob(name(2 * seen.length + 1), "y", 1);
  }
  assert.equal(new Set(seen).size, seen.length);
  assert.deepEqual([...seen].sort(), seen);
  for (let n = 0; n < 30; n++) assert.ok(seen.includes(name(2 * n)));
});

test("a page size that is none is refused", async () => {
  const container = await newContainer();
  const error = await container.listBlobsFlat().byPage({ maxPageSize: -1 }).next()
    .then(() => null, (e) => e);
  assert.equal(error?.statusCode, 400);
  await refused(container.listBlobsFlat().byPage({ maxPageSize: 0 }).next(), 400,
    "OutOfRangeQueryParameterValue");
});
