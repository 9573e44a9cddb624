// A blob of 150 MB, up and down in parallel parts and in one piece, while the server
// holds only what is under way.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { Readable } from "node:stream";
import { before, describe, test } from "node:test";
import { newContainer, someBytes } from "./storage.mjs";

const MIB = 1024 * 1024;
const LENGTH = 150_000_000;
const pid = process.env.SDK_TEST_SERVER_PID;
const PEAK_MIB_MAX = Number(process.env.SDK_TEST_PEAK_MIB ?? 512);

// 150 MB of which no MiB is like another, one MiB at a time.
function* content() {
  const bytes = someBytes(MIB);
  for (let at = 0; at < LENGTH; at += MIB) {
    const part = Buffer.from(bytes.subarray(0, Math.min(MIB, LENGTH - at)));
    part.writeUInt32LE(at / MIB);
    yield part;
  }
}

const hashOf = (parts) => {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest("hex");
};

function forgetPeak() {
  if (pid) writeFileSync(`/proc/${pid}/clear_refs`, "5");
}

function checkPeak(t, what) {
  if (!pid) return;
  const [, kib] = /VmHWM:\s*(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "ascii"));
  const peak = kib / 1024;
  t.diagnostic(`figure: ${what}: the server's peak memory ${peak.toFixed(0)} MiB`);
  assert.ok(peak < PEAK_MIB_MAX, `the server held ${peak} MiB`);
}

describe("150 MB", () => {
  const expected = hashOf(content());
  let blob;
  before(async () => {
    blob = (await newContainer()).getBlockBlobClient("large");
  });

  test("uploaded as a stream, four blocks at a time", async (t) => {
    forgetPeak();
    await blob.uploadStream(Readable.from(content()), 4 * MIB, 4);
    checkPeak(t, "150 MB up in blocks");
    assert.equal((await blob.getProperties()).contentLength, LENGTH);
    assert.equal((await blob.getBlockList("committed")).committedBlocks.length,
      Math.ceil(LENGTH / (4 * MIB)));
  });

  test("downloaded four parts at a time", async (t) => {
    forgetPeak();
    const got = await blob.downloadToBuffer(0, undefined, { concurrency: 4 });
    checkPeak(t, "150 MB down in parts");
    assert.equal(hashOf([got]), expected);
  });

  test("downloaded in one piece by a reader who stops now and then", async (t) => {
    forgetPeak();
    const hash = createHash("sha256");
    let length = 0;
    for await (const chunk of (await blob.download()).readableStreamBody) {
      if (Math.floor(length / (50 * MIB)) < Math.floor((length + chunk.length) / (50 * MIB)))
        for (let i = 0; i < 10; i++) await blob.getProperties();
      length += chunk.length;
      hash.update(chunk);
    }
    checkPeak(t, "150 MB down at once");
    assert.deepEqual([length, hash.digest("hex")], [LENGTH, expected]);
  });

  test("uploaded in one request", async (t) => {
    forgetPeak();
    await blob.upload(() => Readable.from(content()), LENGTH);
    checkPeak(t, "150 MB up at once");
    const properties = await blob.getProperties();
    const md5 = createHash("md5");
    for (const part of content()) md5.update(part);
    assert.equal(Buffer.from(properties.contentMD5).toString("hex"), md5.digest("hex"));
    const end = await blob.downloadToBuffer(LENGTH - 1000);
    assert.ok([...content()].at(-1).subarray(-1000).equals(end));
  });
});
