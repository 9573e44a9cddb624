// Patterns of the table design guide that need queues and blobs in addition to tables.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { BlobClient } from "@azure/storage-blob";
import { blobKey, collect, newContainer, newQueue, noClock, options, pass, refused, someBytes, text }
  from "./storage.mjs";
import { newTable, refused as refusedByTables } from "./lib.mjs";

describe("eventually consistent transactions", { concurrency: true }, () => {
  // Archive employees: a worker takes the message, copies, deletes, then deletes the message.
  const WORKER = fileURLToPath(new URL("archive-worker.mjs", import.meta.url));

  async function work({ current, archive, queue }, crashAfter, visibilityTimeout) {
    const worker = spawn(process.execPath, [WORKER, current.tableName, archive.tableName,
      queue.name, String(visibilityTimeout), crashAfter], { stdio: ["ignore", "pipe", "inherit"] });
    const ended = once(worker, "exit");
    let said = "";
    for await (const chunk of worker.stdout) {
      said += chunk;
      // The worker says how far it came and waits there to be killed.
      if (said.includes("\n")) worker.kill("SIGKILL");
    }
    assert.deepEqual(await ended, [null, "SIGKILL"]);
    return said.trim();
  }

  const has = async (table, id) => (await collect(table.listEntities())).some((e) => e.rowKey === id);
  const count = async (queue) => (await queue.getProperties()).approximateMessagesCount;

  async function begin(crashAfter) {
    const [current, archive, queue] = [await newTable(), await newTable(), await newQueue()];
    await current.createEntity({ partitionKey: "Sales", rowKey: "456", name: "Jones", age: 42 });
    const { messageId } = await queue.sendMessage(
      JSON.stringify({ partitionKey: "Sales", rowKey: "456" }));
    const got = await work({ current, archive, queue }, crashAfter, 600);
    const hidden = (await queue.receiveMessages()).receivedMessageItems;
    assert.deepEqual([got, hidden], [`${crashAfter} ${messageId} 1`, []]);
    assert.equal(await has(archive, "456"), crashAfter !== "get");
    assert.equal(await has(current, "456"), crashAfter !== "delete");
    assert.equal(await count(queue), 1);
    return { current, archive, queue, messageId };
  }

  // All are killed before the time of all of them passes.
  const steps = ["get", "insert", "delete"];
  let begun;
  before(async () => {
    if (noClock) return;
    begun = await Promise.allSettled(steps.map(begin));
    await pass(601);
  });

  for (const [i, crashAfter] of steps.entries()) {
    test(`a worker that is killed after the ${crashAfter} leaves the work to the next`,
      { skip: noClock }, async () => {
        if (begun[i].reason) throw begun[i].reason;
        const { current, archive, queue, messageId } = begun[i].value;
        assert.equal(await work({ current, archive, queue }, "all", 60), `all ${messageId} 2`);
        assert.equal(await has(current, "456"), false);
        const kept = await archive.getEntity("Sales", "456");
        assert.deepEqual([kept.name, kept.age], ["Jones", 42]);
        assert.equal(await count(queue), 0);
      });
  }

  test("a message that is read too often goes to a queue of its own", async () => {
    const [queue, poison] = [await newQueue(), await newQueue()];
    await queue.sendMessage("this is no JSON");
    for (;;) {
      const [message] = (await queue.receiveMessages({ visibilityTimeout: 30 })).receivedMessageItems;
      if (message.dequeueCount > 3) {
        await poison.sendMessage(message.messageText);
        await queue.deleteMessage(message.messageId, message.popReceipt);
        break;
      }
      assert.throws(() => JSON.parse(message.messageText));
      await queue.updateMessage(message.messageId, message.popReceipt, undefined, 0);
    }
    assert.equal((await poison.peekMessages()).peekedMessageItems[0].messageText, "this is no JSON");
    assert.equal(await count(queue), 0);
  });
});

test("large entities: the photo is a blob, its address a property", async () => {
  const table = await newTable();
  const photos = await newContainer();
  const photo = someBytes(2_000_000);
  await refusedByTables(
    table.createEntity({ partitionKey: "Sales", rowKey: "1", photo: photo.subarray(0, 70_000) }),
    400, "PropertyValueTooLarge");
  const blob = photos.getBlockBlobClient("Sales/1/photo.jpg");
  await blob.uploadData(photo, { blobHTTPHeaders: { blobContentType: "image/jpeg" } });
  await table.createEntity({ partitionKey: "Sales", rowKey: "1", name: "Jones", photo: blob.url });

  const entity = await table.getEntity("Sales", "1");
  const there = new BlobClient(entity.photo, blobKey(), options);
  assert.ok(photo.equals(await there.downloadToBuffer()));
  assert.equal((await there.getProperties()).contentType, "image/jpeg");
  await there.delete();
  await refused(there.download(), 404, "BlobNotFound");
});

describe("index blobs", () => {
  // A blob per last name holds the keys of the employees that have it.
  let table, index;
  before(async () => {
    [table, index] = [await newTable(), await newContainer()];
  });

  const read = async (lastName) => {
    const blob = index.getBlockBlobClient(`${lastName}.json`);
    if (!(await blob.exists())) return { keys: [] };
    const got = await blob.download();
    return { keys: JSON.parse(await text(got)), etag: got.etag };
  };

  // Read, change, write if nobody else wrote, else from the start.
  async function changeIndex(lastName, change) {
    const blob = index.getBlockBlobClient(`${lastName}.json`);
    for (;;) {
      const { keys, etag } = await read(lastName);
      const content = JSON.stringify(change(keys));
      try {
        return await blob.upload(content, Buffer.byteLength(content),
          { conditions: etag ? { ifMatch: etag } : { ifNoneMatch: "*" } });
      } catch (error) {
        if (error.statusCode !== 412 && error.statusCode !== 409) throw error;
      }
    }
  }

  async function addEmployee(partitionKey, rowKey, lastName) {
    await table.createEntity({ partitionKey, rowKey, lastName });
    await changeIndex(lastName, (keys) => [...keys, [partitionKey, rowKey]]);
  }

  test("writers at the same time lose no employee of an index", async () => {
    await Promise.all(Array.from({ length: 12 }, (_, i) =>
      addEmployee(i % 2 ? "Sales" : "Marketing", String(i), "Jones")));
    await addEmployee("Sales", "100", "Smith");
    const { keys } = await read("Jones");
    assert.equal(keys.length, 12);
    const found = await Promise.all(keys.map(([p, r]) => table.getEntity(p, r)));
    assert.ok(found.every((e) => e.lastName === "Jones"));
    assert.deepEqual(found.map((e) => Number(e.rowKey)).sort((a, b) => a - b),
      Array.from({ length: 12 }, (_, i) => i));
  });

  test("an employee who goes leaves the index", async () => {
    await addEmployee("Sales", "200", "Miller");
    await addEmployee("Sales", "201", "Miller");
    await table.deleteEntity("Sales", "200");
    await changeIndex("Miller", (keys) => keys.filter(([, r]) => r !== "200"));
    assert.deepEqual((await read("Miller")).keys, [["Sales", "201"]]);
  });
});

test("log data: append blobs named by time, found by prefix", async () => {
  const logs = await newContainer();
  for (const hour of ["1700", "1800", "1900"])
    for (const file of ["000000", "000001"]) {
      const log = logs.getAppendBlobClient(`queue/2014/07/31/${hour}/${file}.log`);
      await log.createIfNotExists({ metadata: { starttime: `2014-07-31T${hour.slice(0, 2)}:00:00Z` } });
      for (let i = 0; i < 3; i++) {
        const line = `1.0;2014-07-31;${hour};${file};${i}\n`;
        await log.appendBlock(line, line.length);
      }
    }
  const found = await collect(
    logs.listBlobsFlat({ prefix: "queue/2014/07/31/1800", includeMetadata: true }));
  assert.deepEqual(found.map((b) => b.name),
    ["queue/2014/07/31/1800/000000.log", "queue/2014/07/31/1800/000001.log"]);
  assert.deepEqual(found.map((b) => b.metadata.starttime), Array(2).fill("2014-07-31T18:00:00Z"));
  const lines = (await text(logs.getBlobClient(found[1].name).download())).trim().split("\n");
  assert.deepEqual(lines.map((line) => line.split(";").at(-1)), ["0", "1", "2"]);
});
