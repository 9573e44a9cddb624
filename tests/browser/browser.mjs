// What every test file here needs: a browser whose names all lead to this machine, a
// web server for its pages, clients beside the browser, and what the server logged.
//
// tests/browser/run.py says where the server is (BROWSER_TEST_...).

import assert from "node:assert/strict";
import fs from "node:fs";
import http from "node:http";
import https from "node:https";
import { after } from "node:test";
import { AzureNamedKeyCredential, TableClient, TableServiceClient } from "@azure/data-tables";
import {
  AccountSASPermissions, AccountSASResourceTypes, AccountSASServices, BlobServiceClient,
  StorageSharedKeyCredential as BlobKey, generateAccountSASQueryParameters,
} from "@azure/storage-blob";
import { QueueServiceClient, StorageSharedKeyCredential as QueueKey } from "@azure/storage-queue";
import { build } from "esbuild";
import { chromium } from "playwright-core";

const told = (name) => process.env[`BROWSER_TEST_${name}`];

export const account = told("ACCOUNT");
export const key = told("KEY");

// Where the services are, by any name for this machine.
export const services = (host = "127.0.0.1") => ({
  table: `http://${host}:${told("TABLE_PORT")}/${account}`,
  queue: `http://${host}:${told("QUEUE_PORT")}/${account}`,
  blob: `http://${host}:${told("BLOB_PORT")}/${account}`,
});

// --- clients that are no browser: they make what pages ask for, and see what pages did

const own = services();
const tableKey = new AzureNamedKeyCredential(account, key);
const insecure = { allowInsecureConnection: true };

export const tables = new TableServiceClient(own.table, tableKey, insecure);
export const table = (name) => new TableClient(own.table, name, tableKey, insecure);
export const queues = new QueueServiceClient(own.queue, new QueueKey(account, key));
export const blobs = new BlobServiceClient(own.blob, new BlobKey(account, key));

export async function names(iterator) {
  const all = [];
  for await (const { name } of iterator) all.push(name);
  return all.sort();
}

// What an account SAS for everything looks like; any page can make one, for all know the key.
export const sas = generateAccountSASQueryParameters({
  expiresOn: new Date(Date.now() + 3600_000),
  permissions: AccountSASPermissions.parse("rwdlacup"),
  resourceTypes: AccountSASResourceTypes.parse("sco").toString(),
  services: AccountSASServices.parse("btq").toString(),
}, new BlobKey(account, key)).toString();

// One rule for these origins in each of the services, or none at all.
export async function setRule(origins, maxAgeInSeconds = 0) {
  const cors = origins === null ? [] : [{
    allowedOrigins: origins, allowedMethods: "DELETE,GET,HEAD,MERGE,PATCH,POST,OPTIONS,PUT",
    allowedHeaders: "*", exposedHeaders: "*", maxAgeInSeconds,
  }];
  await queues.setProperties({ cors });
  await blobs.setProperties({ cors });
  await tables.setProperties({ cors });
}

// --- what the server logged

let read = 0;

const TIMEOUT_MS = 60_000; // of a machine that does other things too

// The lines since the last call: "queue POST 403 /devstoreaccount1/jobs/messages".  The picture
// that browsers ask for with every page they show is not among them.
function logged() {
  const text = fs.readFileSync(told("LOG"), "utf8");
  const end = text.lastIndexOf("\n") + 1;
  const lines = text.slice(read, end).matchAll(
    /event=access service=(\w+) method=(\w+) .*?status=(\d+) .*?path="([^"]*)"/g);
  read = end;
  return [...lines].filter((line) => line[4] !== "/favicon.ico")
    .map((line) => line.slice(1).join(" "));
}

async function loggedUntil(what, isIt) {
  const lines = [];
  for (const deadline = Date.now() + TIMEOUT_MS; Date.now() < deadline;) {
    lines.push(...logged());
    if (lines.some(isIt)) return lines;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return assert.fail(`the server never logged "${what}", but: ${lines.join("; ")}`);
}

// The lines since the last call, once one of them begins like this.
export const awaitLogged = (start) => loggedUntil(start, (line) => line.startsWith(start));

let marks = 0;

// Forget what was asked before.  A line is written after its answer: behind that of a request of
// our own, for the server has one thread, there is none of an earlier one.
export async function forgetLogged() {
  const name = `mark${++marks}`;
  await (await fetch(`${own.queue}/${name}`)).text();
  await loggedUntil(name, (line) => line.endsWith(`/${name}`));
}

// --- pages

const bundle = await build({
  entryPoints: [new URL("page.mjs", import.meta.url).pathname],
  bundle: true, platform: "browser", format: "iife", globalName: "page", write: false,
});

// Every page has the functions of page.mjs; /bounce?URL sends the browser on.
function serve(request, response) {
  const [path, query] = request.url.split(/\?(.*)/s);
  if (path === "/bounce") {
    response.writeHead(307, { location: decodeURIComponent(query) }).end();
  } else if (path === "/page.js") {
    response.writeHead(200, { "content-type": "text/javascript" }).end(bundle.outputFiles[0].text);
  } else {
    response.writeHead(200, { "content-type": "text/html; charset=utf-8" })
      .end('<!doctype html><title>A page</title><body><script src="/page.js"></script>');
  }
}

async function listen(web) {
  await new Promise((resolve) => web.listen(0, "127.0.0.1", resolve));
  return web.address().port;
}

const plain = http.createServer(serve);
const secure = https.createServer({
  cert: fs.readFileSync(told("CERTIFICATE")), key: fs.readFileSync(told("CERTIFICATE_KEY")),
}, serve);
export const webPort = await listen(plain);
const securePort = await listen(secure);

// Names under "example" and "test" are served here whatever port they have: "secure." over
// https.  "rebind." is a name whose owner makes it point at loopback.  No other name is found.
const browser = await chromium.launch({
  executablePath: "/usr/bin/chromium",
  args: ["--no-sandbox", "--host-resolver-rules=" + [
    "MAP rebind.example 127.0.0.1", `MAP secure.example 127.0.0.1:${securePort}`,
    `MAP *.example 127.0.0.1:${webPort}`, `MAP example 127.0.0.1:${webPort}`,
    `MAP *.test 127.0.0.1:${webPort}`, "MAP localhost 127.0.0.1",
    "MAP * ~NOTFOUND", "EXCLUDE 127.0.0.1", "EXCLUDE 0.0.0.0", "EXCLUDE *:*"].join(",")],
});

after(async () => {
  await browser.close();
  plain.close();
  secure.close();
});

// A page of this origin in a window of its own.
export async function openPage(origin) {
  const context = await browser.newContext({ ignoreHTTPSErrors: true });
  context.setDefaultTimeout(TIMEOUT_MS);
  const page = await context.newPage();
  if (origin) await page.goto(`${origin}/`);
  return page;
}

export const closePage = (page) => page.context().close();
