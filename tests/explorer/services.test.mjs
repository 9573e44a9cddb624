// Queues and blobs, and what is set for a whole service.

import assert from "node:assert/strict";
import { ask, close, eventually, go, open, test, toastSays, tool } from "./page.mjs";

const queuePath = (rest) => `/api/queue/devstoreaccount1/${rest}`;
const makeQueue = (page, name) => ask(page, "PUT", queuePath(name));
const putText = (page, queue, text) => ask(page, "POST", queuePath(`${queue}/messages`), `<QueueMessage><MessageText>${text}</MessageText></QueueMessage>`);
const stored = async (page, queue) => [...(await ask(page, "GET", queuePath(`${queue}/messages?peekonly=true&numofmessages=32`))).text.matchAll(/<MessageText>(.*?)<\/MessageText>/g)].map((found) => found[1]);
const texts = (page, where = "main") => page.$$eval(`${where} pre.cell`, (all) => all.map((each) => each.textContent));

test("a queue is put into, peeked and cleared", async () => {
  const page = await open();
  await makeQueue(page, "errands");
  await go(page, "q/errands", ".putbox");
  await page.fill(".putbox textarea", "<b>hello</b>");
  await page.click(".putbox >> text=/^Put$/");
  await page.waitForSelector("pre.cell:has-text('<b>hello</b>')");
  await page.fill(".putbox textarea", "later");
  await page.fill(".putbox >> text=Hidden for seconds >> input", "600");
  await page.click(".putbox >> text=/^Put$/");
  await toastSays(page, /Message put/);
  await page.waitForFunction(() => /2 messages, 1 visible, 1 being worked on/.test(document.querySelector(".facts").textContent));
  await page.click("text=/^Clear$/");
  await page.click("dialog .danger");
  await page.waitForSelector("text=No message.");
  await close(page);
});

test("message encoding is one setting, in the page and in the tool", async () => {
  const page = await open();
  await makeQueue(page, "coded");
  await go(page, "q/coded", ".putbox");
  assert.equal(await page.textContent("[aria-label='Message encoding'] [aria-pressed=true]"), "text");
  await page.click("[aria-label='Message encoding'] >> text=base64");
  await page.fill(".putbox textarea", '{"grüß": [1]}');
  await page.click(".putbox >> text=/^Put$/");
  await page.waitForSelector("pre.cell:has-text('grüß')");
  assert.deepEqual(await stored(page, "coded"), [Buffer.from('{"grüß": [1]}').toString("base64")]);
  await page.click("text=Indent JSON");
  assert.deepEqual(await texts(page), ['{\n  "grüß": [\n    1\n  ]\n}']);
  await tool(["message", "put", "coded", "of the tool", "--encoding", "base64"]);
  await tool(["message", "put", "coded", "plain!", "--encoding", "text"]);
  await tool(["message", "put", "coded", "-", "--encoding", "base64"], "nul\0");
  await eventually(async () => assert.deepEqual((await texts(page)).slice(1), ["of the tool", "plain!", Buffer.from("nul\0").toString("base64")]));
  assert.deepEqual(await page.$$eval("main tbody tr", (rows) => rows.map((row) => row.querySelector(".chip")?.textContent)), [undefined, undefined, "not base64", "bytes, not text"]);
  await page.waitForSelector("text=1 of 4 are not base64");
  const said = (await tool(["message", "peek", "coded", "-n", "2", "--encoding", "base64", "--select", "Text", "-o", "value"])).split("\n");
  assert.deepEqual(said, ['{"grüß": [1]}', "of the tool", ""]);
  // It is kept, for every queue.
  await makeQueue(page, "other");
  await go(page, "q/other", ".putbox");
  assert.equal(await page.textContent("[aria-label='Message encoding'] [aria-pressed=true]"), "base64");
  await go(page, "q/coded", ".putbox");
  await page.click("[aria-label='Message encoding'] >> text=text");
  await page.waitForSelector("text=2 of 4 look like base64.");
  assert.deepEqual(await texts(page), await stored(page, "coded"));
  await close(page);
});

test("messages are dequeued, deleted and put back", async () => {
  const page = await open({ expected: [/404/] }); // one of them is deleted before
  await makeQueue(page, "work");
  for (let i = 1; i <= 5; i++) await putText(page, "work", `job ${i}`);
  await go(page, "q/work", ".taken");
  await page.fill(".taken >> text=Messages >> input", "3");
  await page.fill(".taken >> text=hidden for seconds >> input", "3600");
  await page.click(".taken >> text=/^Dequeue$/ >> nth=1");
  await toastSays(page, /3 messages dequeued/);
  await eventually(async () => assert.deepEqual(await texts(page), ["job 4", "job 5", "job 1", "job 2", "job 3"]));
  await page.click("[aria-label='Delete message 1']");
  await toastSays(page, /1 message deleted/);
  await page.click("[aria-label='Put back message 2']");
  await toastSays(page, /1 message put back/);
  await eventually(async () => assert.deepEqual([await texts(page, ".taken"), (await stored(page, "work")).sort()], [["job 2"], ["job 3", "job 4", "job 5"]]));
  // Somebody else has deleted it meanwhile: that is said, and nothing else happens.
  await ask(page, "DELETE", queuePath("work/messages"));
  await page.click(".taken >> text=Delete all of these");
  await toastSays(page, /1 message not deleted: hidden no longer/);
  assert.deepEqual(await texts(page, ".taken"), []);
  await page.click(".taken >> text=/^Dequeue$/ >> nth=1");
  await toastSays(page, /No message is visible/);
  await close(page);
});
