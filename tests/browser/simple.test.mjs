// A page that nobody trusts has the well-known key, as all pages have, and makes the
// browser send what it sends without asking first: requests of scripts, forms, images.

import assert from "node:assert/strict";
import { before, beforeEach, test } from "node:test";
import {
  account, awaitLogged, forgetLogged, key, names, openPage, queues, sas, services, setRule,
  tables, webPort,
} from "./browser.mjs";
import { gets, posts } from "./page.mjs";

const jobs = queues.getQueueClient("jobs");
const message = ["<QueueMessage><MessageText>evil</MessageText></QueueMessage><!--", "-->"];
const newTable = ['{"TableName":"evil","x":"', '"}'];
const week = 7 * 24 * 3600;

// By the names that a page can use for this machine.  To the last two of them browsers do
// not send Sec-Fetch-Site.
const everyName = ["127.0.0.1", "localhost", "0.0.0.0", "[::ffff:127.0.0.1]"];
const pages = {
  "http://evil.example": everyName,
  "https://secure.example": ["127.0.0.1", "localhost"], // others are mixed content
  [`http://127.0.0.1:${webPort}`]: ["127.0.0.1", "0.0.0.0"],
  [`http://localhost:${webPort}`]: ["127.0.0.1", "localhost"],
};

const page = await openPage();

before(() => jobs.create());

beforeEach(async () => {
  await setRule(null);
  await tables.deleteTable("evil"); // 404 is no error to it
  await jobs.clearMessages();
  await jobs.sendMessage("mine");
});

// Nothing has come, and what was there is to be had.
async function nothingHappened(what) {
  assert.deepEqual(await names(tables.listTables()), [], what);
  const { peekedMessageItems: seen } = await jobs.peekMessages({ numberOfMessages: 32 });
  assert.deepEqual(seen.map((one) => [one.messageText, one.dequeueCount]), [["mine", 0]], what);
}

// Send it in one way from a page of this origin: what the server says it was asked, and answered.
async function attack(origin, kind, way, url, body) {
  const [method, service] = [kind === "gets" ? "GET" : "POST", body === newTable ? "table" : "queue"];
  const tab = await page.context().newPage();
  await tab.goto(`${origin}/`);
  await forgetLogged();
  await tab.evaluate(([kind, way, url, body]) => void window.page[kind][way](url, body),
    [kind, way, url, body]);
  const lines = await awaitLogged(`${service} ${method}`);
  await tab.close();
  return lines.map((line) => line.split(" ").slice(0, 3).join(" "));
}

for (const [origin, hosts] of Object.entries(pages)) {
  const name = origin.replace(/:\d+$/, ""); // the same in every run
  for (const host of hosts) {
    const at = services(host);

    test(`${name} takes no messages at ${host}`, async () => {
      for (const way of Object.keys(gets)) {
        const url = `${at.queue}/jobs/messages?visibilitytimeout=${week}&${sas}`;
        assert.deepEqual(await attack(origin, "gets", way, url), ["queue GET 403"], way);
        await nothingHappened(way);
      }
    });

    test(`${name} puts no messages and makes no tables at ${host}`, async () => {
      for (const way of Object.keys(posts)) {
        assert.deepEqual(await attack(origin, "posts", way, `${at.queue}/jobs/messages?${sas}`,
          message), ["queue POST 403"], way);
        assert.deepEqual(await attack(origin, "posts", way, `${at.table}/Tables?${sas}`,
          newTable), ["table POST 403"], way);
        await nothingHappened(way);
      }
    });
  }
}

test("what is refused above would have worked: with a rule it does", async () => {
  const origin = "http://evil.example";
  await setRule(origin);
  for (const way of ["fetch", "XMLHttpRequest", "beacon", "form", "form in a blank frame"]) {
    const url = services().queue;
    assert.deepEqual(await attack(origin, "posts", way, `${url}/jobs/messages?${sas}`, message),
      ["queue POST 201"], way);
    assert.deepEqual(await attack(origin, "posts", way, `${services().table}/Tables?${sas}`,
      newTable), ["table POST 201"], way);
    await tables.deleteTable("evil");
    await jobs.clearMessages();
  }
});

test("a form shows the person why it was refused", async () => {
  for (const [service, path, body] of [["queue", "jobs/messages", message],
    ["table", "Tables", newTable]]) {
    await page.goto("http://evil.example/");
    const url = `${services()[service]}/${path}?${sas}`;
    const [reply] = await Promise.all([
      page.waitForResponse((one) => one.url() === url),
      page.evaluate(([url, body]) => void window.page.posts.form(url, body), [url, body]),
    ]);
    await page.waitForURL(url);
    const shown = await page.evaluate(() => document.documentElement.textContent);
    assert.equal(reply.status(), 403);
    assert.match(shown, /a browser sent it for a page of another site/);
    assert.match(shown, /The key of this account is known to everybody/);
    assert.match(shown, new RegExp(`the method POST in the properties of the ${service} service`));
  }
});

test("a page that signs by itself is refused too", async () => {
  await page.goto("https://secure.example/");
  const made = await page.evaluate((known) => window.page.makeSas(known), { account, key });

  // The signature is good: who is no browser is let in with it.
  const good = await fetch(`${services().queue}/jobs/messages?peekonly=true&${made}`);
  assert.equal(good.status, 200);
  assert.deepEqual(await attack("https://secure.example", "posts", "fetch",
    `${services().queue}/jobs/messages?${made}`, message), ["queue POST 403"]);
  await nothingHappened();
});

test("a signature in a header has to be asked for, and is not granted", async () => {
  await page.goto("https://secure.example/");
  await forgetLogged();
  const outcome = await page.evaluate((known) => window.page.createTableWithKey(known).catch(String),
    { url: services().table, account, key, name: "evil" });
  assert.match(String(outcome), /Failed to fetch/);
  assert.deepEqual(await awaitLogged("table"), [`table OPTIONS 403 /${account}/Tables`]);
  await nothingHappened();
});

test("a name that its owner makes point here does not take the key", async () => {
  for (const origin of ["http://evil.example", `http://rebind.example:${webPort}`]) {
    assert.deepEqual(await attack(origin, "posts", "fetch",
      `${services("rebind.example").queue}/jobs/messages?${sas}`, message), ["queue POST 403"]);
    assert.deepEqual(await attack(origin, "gets", "image",
      `${services("rebind.example").queue}/jobs/messages?visibilitytimeout=${week}&${sas}`),
    ["queue GET 403"]);
    await nothingHappened(origin);
  }
});

test("an image that only reads is sent", async () => {
  assert.deepEqual(await attack("http://evil.example", "gets", "image",
    `${services().queue}/jobs/messages?peekonly=true&${sas}`), ["queue GET 200"]);
  await nothingHappened();
});

test("a person who types the address takes a message", async () => {
  const reply = await page.goto(`${services().queue}/jobs/messages?visibilitytimeout=1&${sas}`);
  assert.equal(reply.status(), 200);
  assert.match(await reply.text(), /<MessageText>mine<\/MessageText>/);
});
