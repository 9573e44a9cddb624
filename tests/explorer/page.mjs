// A browser that has followed a link into the page.  Whatever it complains about, and every
// request that leaves the page's own address, fails the test that caused it.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { after } from "node:test";
import { chromium } from "playwright-core";

export const base = process.env.EXPLORER_TEST_PAGE;
export const control = async (what, body) => (await fetch(process.env.EXPLORER_TEST_CONTROL + what, { method: "POST", body })).json();

/** What the command line tool prints, given these arguments and this input. */
export async function tool(words, text = "") {
  const { code, out, err } = await control("/tool", JSON.stringify({ arguments: words, text }));
  assert.equal(code, 0, err);
  return out;
}

const axe = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
after(() => browser.close());

const TIMEOUT_MS = Number(process.env.EXPLORER_TEST_TIMEOUT_MS || 60_000); // of a machine that does other things too

/** A page that is logged in; `expected` are patterns of what the console may say. */
export async function open({ theme = "light", width = 1440, height = 900, expected = [] } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: theme, acceptDownloads: true, permissions: ["clipboard-read", "clipboard-write"] });
  const page = await context.newPage();
  page.setDefaultTimeout(TIMEOUT_MS);
  page.complaints = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type()) && !expected.some((pattern) => pattern.test(message.text()))) page.complaints.push(message.text());
  });
  page.on("pageerror", (error) => page.complaints.push(`${error.message} ${error.stack}`));
  page.on("request", (request) => { if (!request.url().startsWith(base) && !/^(blob|data|about):/.test(request.url())) page.complaints.push(`a request to ${request.url()}`); });
  await page.goto(`${base}/#/login/${(await control("/link")).link}`);
  await page.waitForSelector(".app");
  return page;
}

export async function close(page) {
  assert.deepEqual(page.complaints, []);
  await page.context().close();
}

/** Go to a view and wait until it is there. */
export async function go(page, view, selector) {
  const wanted = await page.evaluate((hash) => { location.hash = hash; return location.hash; }, `#/${view}`);
  await page.waitForFunction((hash) => document.querySelector("main")?.dataset.view === hash || /There is no page/.test(document.querySelector("main")?.textContent), wanted);
  await page.waitForSelector(selector || "main h1");
}

/** What axe has to say to the whole page. */
export async function violations(page) {
  await page.context().newCDPSession(page).then(async (session) => {
    await session.send("Page.setBypassCSP", { enabled: true });
    const { readFile } = await import("node:fs/promises");
    await session.send("Runtime.evaluate", { expression: await readFile(axe, "utf8") });
  });
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  return found.violations.map((each) => `${each.id}: ${each.nodes.map((node) => node.html.slice(0, 160)).slice(0, 3).join(" | ")}`);
}

/** Until a function, which may wait for something, is true in the page. */
export async function until(page, fact, argument) {
  const deadline = Date.now() + TIMEOUT_MS;
  while (!(await page.evaluate(fact, argument))) {
    assert.ok(Date.now() < deadline, `it has not come true: ${fact} ${argument}`);
    await new Promise((done) => setTimeout(done, 50));
  }
}

/** Ask a service as the page does. */
export const ask = (page, method, path, body, headers = {}) => page.evaluate(async ([how, where, what, more]) => {
  const reply = await fetch(where, { method: how, body: what, headers: { "x-tavola-page": localStorage.getItem("tavola.page"), "content-type": "application/json", ...more } });
  return { status: reply.status, text: await reply.text() };
}, [method, path, body, headers]);

/** Entities in order, by the tool: much faster than by the page.  `rows`: the objects of an NDJSON file. */
export const importTable = (name, rows) => tool(["import", name, "-", "--create", "--format", "ndjson", "--on-conflict", "replace"], rows.map((row) => JSON.stringify(row) + "\n").join(""));

const ACCOUNT = "devstoreaccount1";
export const tablePath = (rest) => `/api/table/${ACCOUNT}/${rest}`;

/** A table with `rows` entities, in batches of a hundred a partition. */
export async function makeTable(page, name, partitions, rows, properties = (i) => ({ Name: `name ${i}`, Age: i % 90 })) {
  const made = await ask(page, "POST", tablePath("Tables"), JSON.stringify({ TableName: name }));
  assert.ok([201, 204, 409].includes(made.status), made.text);
  await page.evaluate(async ([table, keys, count, bodies]) => {
    const { sendBatch } = await import(document.querySelector("script[src]").src.replace("shell.js", "api.js"));
    const { useAccount } = await import(document.querySelector("script[src]").src.replace("shell.js", "api.js"));
    useAccount("devstoreaccount1");
    for (const partition of keys) {
      for (let at = 0; at < count; at += 100) {
        await sendBatch(table, Array.from({ length: Math.min(100, count - at) }, (_, i) => ({
          how: "upsert", properties: new Map([["PartitionKey", { type: "Edm.String", value: partition }], ["RowKey", { type: "Edm.String", value: `r${String(at + i).padStart(5, "0")}` }],
            ...Object.entries(bodies[(at + i) % bodies.length]).map(([key, value]) => [key, { type: typeof value === "number" ? "Edm.Int32" : "Edm.String", value: String(value) }])]),
        })));
      }
    }
  }, [name, partitions, rows, Array.from({ length: Math.min(rows, 200) }, (_, i) => properties(i))]);
}
