// What the pages can do; esbuild makes one script of it and of the SDKs, as a web
// application would.  In a test: page.evaluate((x) => page.useTables(x), ...).

import { AzureSASCredential, TableClient } from "@azure/data-tables";
import { BlobServiceClient } from "@azure/storage-blob";
import { QueueServiceClient } from "@azure/storage-queue";

// --- the SDKs

const once = { retryOptions: { maxRetries: 0, maxTries: 1 } };

export async function useTables({ url, sas, name }) {
  const client = new TableClient(url, name, new AzureSASCredential(sas),
    { allowInsecureConnection: true, ...once });
  await client.createTable();
  await client.createEntity({ partitionKey: "p", rowKey: "1", text: "äöü" });
  await client.submitTransaction([["create", { partitionKey: "p", rowKey: "2", text: "batch" }]]);
  await client.updateEntity({ partitionKey: "p", rowKey: "2", more: 1 }, "Merge");
  const found = [];
  for await (const entity of client.listEntities({ queryOptions: { filter: "PartitionKey eq 'p'" } }))
    found.push(entity.text);
  const { etag } = await client.getEntity("p", "1");
  await client.deleteEntity("p", "1");
  return { found, hasEtag: etag.startsWith("W/") };
}

export async function useQueues({ url, sas, name }) {
  const client = new QueueServiceClient(`${url}?${sas}`, undefined, once).getQueueClient(name);
  await client.create();
  await client.sendMessage("from a page");
  const { receivedMessageItems: [got] } = await client.receiveMessages();
  await client.updateMessage(got.messageId, got.popReceipt, "changed", 0);
  const { peekedMessageItems: [peeked] } = await client.peekMessages();
  const { approximateMessagesCount } = await client.getProperties();
  return { got: got.messageText, peeked: peeked.messageText, count: approximateMessagesCount };
}

export async function useBlobs({ url, sas, name }) {
  const container = new BlobServiceClient(`${url}?${sas}`, undefined, once)
    .getContainerClient(name);
  await container.create();
  const client = container.getBlockBlobClient("folder/a.txt");
  await client.uploadData(new Blob(["0123456789"]), {
    blockSize: 4, maxSingleShotSize: 4, metadata: { from: "page" },
    blobHTTPHeaders: { blobContentType: "text/plain" },
  });
  const whole = await (await client.download()).blobBody;
  const part = await (await client.download(2, 3)).blobBody;
  const { metadata, contentType, etag } = await client.getProperties();
  return {
    whole: await whole.text(), part: await part.text(), metadata, contentType, hasEtag: !!etag,
  };
}

// --- the well-known key, by hand; browsers have crypto.subtle for pages of https and localhost

async function sign(key, text) {
  const bytes = (binary) => Uint8Array.from(binary, (c) => c.charCodeAt(0));
  const hmac = await crypto.subtle.importKey("raw", bytes(atob(key)),
    { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  const mac = await crypto.subtle.sign("HMAC", hmac, new TextEncoder().encode(text));
  return btoa(String.fromCharCode(...new Uint8Array(mac)));
}

export async function makeSas({ account, key }) {
  const sv = "2019-02-02", ss = "bqt", srt = "sco", sp = "rwdlacup", se = "2099-01-01";
  const sig = await sign(key, [account, sp, ss, srt, "", se, "", "", sv, ""].join("\n"));
  return new URLSearchParams({ sv, ss, srt, sp, se, sig }).toString();
}

// With a header of its own it is no simple request: the browser asks first.
export async function createTableWithKey({ url, account, key, name }) {
  const date = new Date().toUTCString();
  const signature = await sign(key, `${date}\n/${account}/${account}/Tables`);
  const reply = await fetch(`${url}/Tables`, {
    method: "POST", body: JSON.stringify({ TableName: name }),
    headers: {
      "x-ms-date": date, "content-type": "application/json",
      authorization: `SharedKeyLite ${account}:${signature}`,
    },
  });
  return reply.status;
}

// --- what any page can make a browser send without asking anybody

const fetchIt = (url, options) =>
  fetch(url, { mode: "no-cors", referrerPolicy: "no-referrer", ...options }).catch(() => {});

const element = (name, attributes, parent = document.body) =>
  parent.appendChild(Object.assign(document.createElement(name), attributes));

const aboutBlank = (attributes) => element("iframe", attributes).contentDocument;

// A body of a form is NAME=VALUE: the = hides where it does no harm.
function submit(url, [name, value], rel = "", root = document.body) {
  const form = element("form", { action: url, method: "post", enctype: "text/plain", rel }, root);
  element("input", { type: "hidden", name, value }, form);
  form.submit();
}

export const gets = {
  fetch: (url) => fetchIt(url),
  image: (url) => void (new Image().src = url),
  "silent image": (url) => void Object.assign(new Image(), { referrerPolicy: "no-referrer", src: url }),
  script: (url) => void element("script", { src: url }),
  style: (url) => void element("link", { rel: "stylesheet", href: url }),
  video: (url) => void element("video", { src: url, preload: "auto" }),
  object: (url) => void element("object", { data: url }),
  prefetch: (url) => void element("link", { rel: "prefetch", href: url }, document.head),
  EventSource: (url) => void new EventSource(url),
  WebSocket: (url) => void new WebSocket(url.replace("http:", "ws:")),
  frame: (url) => void element("iframe", { src: url }),
  download: (url) => element("a", { href: url, download: "a.xml" }).click(),
  link: (url) => element("a", { href: url, rel: "noreferrer" }).click(),
  location: (url) => void (location.href = url),
  redirect: (url) => fetchIt(`/bounce?${encodeURIComponent(url)}`),
  "image in a blank frame": (url) => void element("img", { src: url }, aboutBlank({}).body),
};

export const posts = {
  fetch: (url, body) => fetchIt(url, { method: "POST", body: body.join("=") }),
  XMLHttpRequest: (url, body) => {
    const request = new XMLHttpRequest();
    request.open("POST", url);
    request.send(body.join("="));
  },
  ping: (url) => element("a", { href: "#", ping: url }).click(),
  beacon: (url, body) => void navigator.sendBeacon(url, body.join("=")),
  form: (url, body) => submit(url, body),
  "silent form": (url, body) => submit(url, body, "noreferrer"),
  "form in a blank frame": (url, body) => submit(url, body, "", aboutBlank({}).body),
  "sandboxed frame": (url, body) => void element("iframe", {
    sandbox: "allow-scripts",
    srcdoc: `<script>fetch(${JSON.stringify(url)}, { method: "POST", mode: "no-cors", body:
      ${JSON.stringify(body.join("=")).replaceAll("</", "<\\/")} })</script>`,
  }),
  "redirected form": (url, body) => submit(`/bounce?${encodeURIComponent(url)}`, body),
  "redirected fetch": (url, body) =>
    fetchIt(`/bounce?${encodeURIComponent(url)}`, { method: "POST", body: body.join("=") }),
};
