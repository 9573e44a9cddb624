// Print requests and SAS as the JavaScript SDK signs them, as JSON for make_vectors.py.  Run it
// where @azure/storage-blob and @azure/storage-queue are installed:
//
//     node make_vectors.mjs >vectors.json

import { createRequire } from "node:module";
import path from "node:path";

const require = createRequire(path.join(process.cwd(), "package.json"));
const blob = require("@azure/storage-blob");
const queue = require("@azure/storage-queue");

const account = "acct";
const key = "c2VjcmV0IG9uZQ==";
const date = "Fri, 02 Jan 2026 03:04:05 GMT";
const snapshot = "2026-01-01T00:00:00.1234567Z";

// The SDK dates what it signs; these are always of the same day.
Date.prototype.toUTCString = () => date;

// A transport that keeps what would have been sent.
async function sent(makeClient, act) {
  let kept;
  const httpClient = {
    async sendRequest(request) {
      kept = request;
      throw new Error("kept");
    },
  };
  await act(makeClient({ httpClient, retryOptions: { maxTries: 1 } })).catch(() => {});
  const url = new URL(kept.url);
  const headers = {};
  for (const { name, value } of kept.headers.headersArray()) {
    if (!["authorization", "user-agent", "accept"].includes(name.toLowerCase())) {
      headers[name] = value;
    }
  }
  return { kept, target: kept.url.slice(url.origin.length), headers };
}

const blobKey = new blob.StorageSharedKeyCredential(account, key);
const queueKey = new queue.StorageSharedKeyCredential(account, key);
const blobClient = (options) =>
  new blob.BlobServiceClient("http://127.0.0.1/acct", blobKey, options);
const queueClient = (options) =>
  new queue.QueueServiceClient("http://127.0.0.1/acct", queueKey, options);

const calls = [
  ["create a container", "BLOB", blobClient, (c) => c.getContainerClient("films").create()],
  ["list blobs", "BLOB", blobClient, (c) =>
    c.getContainerClient("films").listBlobsFlat({ prefix: "a b/é", includeMetadata: true }).next()],
  ["upload", "BLOB", blobClient, (c) =>
    c.getContainerClient("films").getBlockBlobClient("a b/é+x.mov").upload("hello", 5, {
      metadata: { title: "The  Title", x: "1" },
      blobHTTPHeaders: { blobContentType: "text/plain" },
    })],
  ["metadata that sorts oddly", "BLOB", blobClient, (c) =>
    c.getContainerClient("films").getBlobClient("a").setMetadata({ a1: "1", a_: "2", aa: "3" })],
  ["metadata with dashes that sorts oddly", "BLOB", blobClient, (c) =>
    c.getContainerClient("films").getBlobClient("a").setMetadata({ "a-z": "1", ab: "2" })],
  ["download", "BLOB", blobClient, (c) =>
    c.getContainerClient("films").getBlobClient("a").withSnapshot(snapshot).download(0, 5)],
  ["create a queue", "QUEUE", queueClient, (c) => c.getQueueClient("jobs").create()],
  ["send", "QUEUE", queueClient, (c) => c.getQueueClient("jobs").sendMessage("hello")],
  ["delete a message", "QUEUE", queueClient, (c) =>
    c.getQueueClient("jobs").deleteMessage("1", "AgAAAAMAAAAAAAAA/w==")],
];

const requests = [];
for (const [what, service, makeClient, act] of calls) {
  const { kept, target, headers } = await sent(makeClient, act);
  requests.push({
    what, service, verb: kept.method, target, headers,
    authorization: kept.headers.get("authorization"),
  });
}

const expiresOn = new Date("2026-01-03T00:00:00Z");
const startsOn = new Date("2026-01-01T00:00:00Z");
const answer = {
  cacheControl: "no-cache", contentDisposition: "inline", contentEncoding: "gzip",
  contentLanguage: "de", contentType: "text/html",
};
const tokens = [];
for (const version of ["2015-04-05", "2018-03-28", "2018-11-09", "2020-10-02", "2020-12-06", "2026-02-06"]) {
  const rest = { version, expiresOn, startsOn, protocol: "https,http", ...answer };
  const films = { containerName: "films", ...rest };
  const make = (values) => blob.generateBlobSASQueryParameters(values, blobKey).toString();
  const read = blob.BlobSASPermissions.parse("r");
  tokens.push({
    what: `container ${version}`, service: "BLOB", container: "films", blob: "",
    token: make({ ...films, permissions: blob.ContainerSASPermissions.parse("rl") }),
  }, {
    what: `blob ${version}`, service: "BLOB", container: "films", blob: "a/b c",
    token: make({ ...films, blobName: "a/b c", permissions: read }),
  }, {
    what: `queue ${version}`, service: "QUEUE", container: "jobs", blob: "",
    token: queue.generateQueueSASQueryParameters({
      queueName: "jobs", version, expiresOn, startsOn,
      permissions: queue.QueueSASPermissions.parse("rp"),
    }, queueKey).toString(),
  }, {
    what: `account ${version}`, service: "BLOB", container: "films", blob: "a",
    token: blob.generateAccountSASQueryParameters({
      version, expiresOn, services: "bq", resourceTypes: "sco",
      permissions: blob.AccountSASPermissions.parse("r"),
    }, blobKey).toString(),
  });
  if (version >= "2018-11-09") {
    tokens.push({
      what: `snapshot ${version}`, service: "BLOB", container: "films", blob: "a", snapshot,
      token: make({ ...films, blobName: "a", snapshotTime: snapshot, permissions: read }),
    });
  }
}
console.log(JSON.stringify({ requests, tokens }, null, 1));
