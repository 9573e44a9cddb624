// The SDKs in the page of a web application on this machine, as its developer has them:
// refused at first, and at work once a CORS rule allows its origin, as with the service.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import {
  account, awaitLogged, blobs, closePage, forgetLogged, key, names, openPage, queues, sas, services,
  setRule, table, tables, webPort,
} from "./browser.mjs";

const every = ["Tables", "Queues", "Blobs"];
const local = [`http://127.0.0.1:${webPort}`, `http://localhost:${webPort}`];

beforeEach(() => setRule(null));

let count = 0;

// What the SDKs do for a page of this origin: {Tables, Queues, Blobs}, each a result or an error,
// and the server's lines about it up to the last.
async function useAll(origin, last) {
  const page = await openPage(origin);
  const name = `page${++count}`;
  const done = { name };
  await forgetLogged();
  for (const service of every) {
    const url = services()[service.toLowerCase().slice(0, -1)];
    done[service] = await page.evaluate(([service, at]) =>
      window.page[`use${service}`](at).catch((error) => ({ error: `${error.name} ${error.message}` })),
    [service, { url, sas, name }]);
  }
  done.lines = await awaitLogged(last);
  await closePage(page);
  return done;
}

async function assertRefused(origin) {
  const done = await useAll(origin, "blob OPTIONS");
  for (const service of every) assert.match(done[service].error ?? "worked", /^RestError /, service);
  // The browser asked, and sent nothing after it had its answer.
  assert.deepEqual(done.lines.map((line) => line.split(" ").slice(0, 3).join(" ")),
    ["table OPTIONS 403", "queue OPTIONS 403", "blob OPTIONS 403"], origin);
  assert.ok(!(await names(tables.listTables())).includes(done.name));
  assert.ok(!(await names(queues.listQueues())).includes(done.name));
  assert.ok(!(await names(blobs.listContainers())).includes(done.name));
}

async function assertWorks(origin) {
  const { name, Tables, Queues, Blobs, lines } = await useAll(origin, "blob HEAD");
  assert.deepEqual(Tables, { found: ["äöü", "batch"], hasEtag: true }, origin);
  assert.deepEqual(Queues, { got: "from a page", peeked: "changed", count: 1 }, origin);
  assert.deepEqual(Blobs, {
    whole: "0123456789", part: "234", metadata: { from: "page" }, contentType: "text/plain",
    hasEtag: true,
  }, origin);
  for (const service of ["table", "queue", "blob"])
    assert.ok(lines.some((line) => line.startsWith(`${service} OPTIONS 200`)), `${service}: ${lines}`);
  assert.deepEqual(lines.filter((line) => / [45]\d\d /.test(line)), [], origin);

  // It is there for others too.
  assert.equal((await table(name).getEntity("p", "2")).text, "batch");
  const { peekedMessageItems: [seen] } = await queues.getQueueClient(name).peekMessages();
  assert.equal(seen.messageText, "changed");
  const blob = blobs.getContainerClient(name).getBlobClient("folder/a.txt");
  assert.equal((await blob.downloadToBuffer()).toString(), "0123456789");
}

for (const origin of local) {
  test(`without a rule the SDKs in a page of ${origin.replace(/:\d+/, "")} are refused`,
    () => assertRefused(origin));

  test(`with a rule for it the SDKs in a page of ${origin.replace(/:\d+/, "")} work`, async () => {
    await setRule(origin);
    await assertWorks(origin);
  });
}

test("a rule for one origin is none for others", async () => {
  await setRule(local[0]);
  await assertRefused(local[1]);
  await assertRefused("http://evil.example");
  await assertRefused("https://secure.example");
});

test("a rule for all subdomains lets them in, and nobody else", async () => {
  await setRule("http://*.example");
  await assertWorks("http://app.example");
  await assertWorks("http://deep.app.example");
  for (const other of ["http://example", "http://app.example.test", "http://app.example:8080",
    "https://secure.example", "http://notexample.test", ...local])
    await assertRefused(other);
});

test("a rule for subdomains with a port is for that port", async () => {
  await setRule("http://*.app.example:8080");
  await assertWorks("http://one.app.example:8080");
  await assertRefused("http://one.app.example");
  await assertRefused("http://app.example:8080");
});

test("a rule for everybody lets everybody in", async () => {
  await setRule("*");
  await assertWorks("http://evil.example");
  await assertWorks("https://secure.example");
});

test("a page with a rule signs with the key itself", async () => {
  await setRule(local[1]);
  const page = await openPage(local[1]);
  const status = await page.evaluate((at) => window.page.createTableWithKey(at),
    { url: services().table, account, key, name: "signed" });
  assert.equal(status, 201);
  await closePage(page);
});

test("a preflight that the browser remembers does not outlive its rule", async () => {
  await queues.createQueue("remembered");
  const page = await openPage(local[0]);
  const put = () => page.evaluate((url) => fetch(url, {
    method: "POST", headers: { "content-type": "application/xml" },
    body: "<QueueMessage><MessageText>text</MessageText></QueueMessage>",
  }).then((reply) => reply.status, String), `${services().queue}/remembered/messages?${sas}`);
  const path = `/${account}/remembered/messages`;
  const asked = async () => (await awaitLogged("queue POST")).filter((line) => line.endsWith(path));

  await setRule(local[0], 600);
  await forgetLogged();
  assert.equal(await put(), 201);
  assert.deepEqual(await asked(), [`queue OPTIONS 200 ${path}`, `queue POST 201 ${path}`]);

  await setRule(null);
  await forgetLogged();
  assert.match(String(await put()), /Failed to fetch/);
  assert.deepEqual(await asked(), [`queue POST 403 ${path}`]);
  const { peekedMessageItems: seen } = await queues.getQueueClient("remembered")
    .peekMessages({ numberOfMessages: 32 });
  assert.equal(seen.length, 1);
  await closePage(page);
});

test("the SDKs that are in no page need no rule", async () => {
  await tables.createTable("node");
  await table("node").createEntity({ partitionKey: "p", rowKey: "1", text: "node" });
  assert.equal((await table("node").getEntity("p", "1")).text, "node");
  const queue = queues.getQueueClient("node");
  await queue.create();
  await queue.sendMessage("node");
  const { receivedMessageItems: [got] } = await queue.receiveMessages();
  assert.equal(got.messageText, "node");
  const container = blobs.getContainerClient("node");
  await container.create();
  await container.getBlockBlobClient("a").upload("node", 4);
  assert.equal((await container.getBlobClient("a").downloadToBuffer()).toString(), "node");
});
