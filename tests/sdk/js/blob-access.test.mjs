// Who may use containers and blobs: keys, shared access signatures, access policies,
// everybody; and the properties, statistics and account of the service.

import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import {
  AccountSASPermissions, AccountSASResourceTypes, AccountSASServices, AnonymousCredential,
  BlobClient, BlobSASPermissions, BlobServiceClient, BlockBlobClient, ContainerClient,
  ContainerSASPermissions, SASProtocol, StorageSharedKeyCredential,
  generateAccountSASQueryParameters, generateBlobSASQueryParameters,
} from "@azure/storage-blob";
import {
  accounts, anHourAgo, blobEndpoint, blobKey, blobService, collect, firstAccount, inAnHour,
  mainAccount, newContainer, options, refused, secondAccount, someBytes, storageName, text, tls,
  wholeSecond,
} from "./storage.mjs";

const base = `${blobEndpoint}/${firstAccount}`;
const anonymous = new AnonymousCredential();
const denied = (promise) => refused(promise, 403, "AuthorizationPermissionMismatch");

let container;
before(async () => {
  container = await newContainer({}, firstAccount);
  await container.uploadBlockBlob("some/blob é", "content", 7,
    { blobHTTPHeaders: { blobContentType: "text/plain" } });
});

describe("keys of accounts", () => {
  for (const [what, account, key] of [
    ["a wrong key", firstAccount, Buffer.alloc(64, 7).toString("base64")],
    ["an unknown account", "nobody", accounts[firstAccount][0]],
    ["another account's key", firstAccount, accounts[secondAccount][0]],
  ]) {
    test(`${what} is refused`, async () => {
      const service = blobService(account, new StorageSharedKeyCredential(account, key));
      await refused(service.createContainer(storageName()), 403, "AuthenticationFailed");
    });
  }

  test("both keys of an account work, and accounts do not see each other", async () => {
    const second = blobService(firstAccount, blobKey(firstAccount, 1));
    const there = second.getContainerClient(container.containerName);
    assert.equal(await text(there.getBlobClient("some/blob é").download()), "content");
    const other = blobService(secondAccount).getContainerClient(container.containerName);
    assert.equal(await other.exists(), false);
  });

  test("a connection string works", async () => {
    const service = BlobServiceClient.fromConnectionString(
      `DefaultEndpointsProtocol=http;AccountName=${mainAccount};` +
      `AccountKey=${accounts[mainAccount][0]};BlobEndpoint=${blobEndpoint}/${mainAccount};`, options);
    await collect(service.listContainers());
  });

  test("UseDevelopmentStorage=true works",
    { skip: process.env.SDK_TEST_DEFAULT_PORTS ? false : "a default port is taken" },
    () => collect(BlobServiceClient.fromConnectionString("UseDevelopmentStorage=true", options)
      .listContainers()));

  test("a blob is reached over https", { skip: tls ? false : "the server has no certificate" },
    async () => {
      const blob = container.getBlobClient("some/blob é");
      const secure = new BlobClient(tls(blob.url), blobKey(firstAccount), options);
      assert.equal(await text(secure.download()), "content");
      const signed = await blob.generateSasUrl({
        permissions: BlobSASPermissions.parse("r"), expiresOn: inAnHour(),
        protocol: SASProtocol.Https,
      });
      assert.equal(await text(new BlobClient(tls(signed), anonymous, options).download()), "content");
      const data = someBytes(5_000_000);
      const large = new BlockBlobClient(
        tls(container.getBlobClient("over TLS").url), blobKey(firstAccount), options);
      await large.uploadData(data,
        { blockSize: 1024 * 1024, maxSingleShotSize: 1024, concurrency: 4 });
      assert.ok(data.equals(await large.downloadToBuffer(0, undefined, { blockSize: 900_000 })));
    });
});

describe("shared access signatures", () => {
  const sign = (more, n = 0) => generateBlobSASQueryParameters(
    { containerName: container.containerName, expiresOn: inAnHour(), ...more },
    blobKey(firstAccount, n));
  const ofBlob = (letters, more) =>
    sign({ blobName: "some/blob é", permissions: BlobSASPermissions.parse(letters), ...more });
  const ofContainer = (letters, more) =>
    sign({ permissions: ContainerSASPermissions.parse(letters), ...more });
  const blobUrl = (name) => container.getBlobClient(name).url;
  const blobWith = (sas, name = "some/blob é") =>
    new BlockBlobClient(`${blobUrl(name)}?${sas}`, anonymous, options);
  const containerWith = (sas) => new ContainerClient(`${container.url}?${sas}`, anonymous, options);

  test("a signature for a blob reads that blob", async () => {
    const blob = blobWith(ofBlob("r"));
    assert.equal(await text(blob.download()), "content");
    assert.equal(await text(blob.download(2, 3)), "nte");
    assert.equal((await blob.getProperties()).contentLength, 7);
    await denied(blob.upload("x", 1));
    await denied(blob.setMetadata({ a: "b" }));
    await denied(blob.delete());
    // The name is part of what is signed, so the signature is another blob's.
    await refused(blobWith(ofBlob("r"), "other").download(), 403, "AuthenticationFailed");
    const listing = collect(containerWith(ofBlob("r")).listBlobsFlat());
    assert.equal((await listing.then(() => null, (e) => e))?.statusCode, 403);
  });

  test("a name that the service changes is signed as it becomes", async () => {
    const given = container.getBlockBlobClient("//a b/ü\\c?d%\\e");
    await given.upload("special", 7);
    assert.equal(given.name, "//a b/ü/c?d%/e");
    const url = await given.generateSasUrl(
      { permissions: BlobSASPermissions.parse("r"), expiresOn: inAnHour() });
    assert.equal(await text(new BlobClient(url, anonymous, options).download()), "special");
    const [listed] = await collect(container.listBlobsFlat({ prefix: "//a b/" }));
    assert.equal(listed.name, given.name);
  });

  test("the second key signs as well", async () => {
    const sas = sign({ blobName: "some/blob é", permissions: BlobSASPermissions.parse("r") }, 1);
    assert.equal(await text(blobWith(sas).download()), "content");
  });

  test("each permission of a blob is one", async () => {
    const name = storageName();
    const permits = (letters) => blobWith(
      sign({ blobName: name, permissions: BlobSASPermissions.parse(letters) }), name);
    await denied(permits("r").upload("x", 1));
    await permits("c").upload("new", 3);
    await denied(permits("c").upload("again", 5));
    await permits("w").upload("over", 4);
    await permits("w").setMetadata({ a: "b" });
    await permits("w").stageBlock("AAAA", "x", 1);
    await permits("w").commitBlockList(["AAAA"]);
    await denied(permits("cwd").download());
    await denied(permits("rcw").delete());
    await permits("w").createSnapshot();
    await permits("d").delete({ deleteSnapshots: "include" });
    const append = container.getAppendBlobClient(name);
    await append.create();
    const adder = new ContainerClient(
      `${container.url}?${ofContainer("a")}`, anonymous, options).getAppendBlobClient(name);
    await adder.appendBlock("x", 1);
    assert.equal(await text(append.download()), "x");
    await append.delete();
  });

  test("a signature for a container reads, writes and lists its blobs", async () => {
    const reader = containerWith(ofContainer("rl"));
    assert.ok((await collect(reader.listBlobsFlat())).some((b) => b.name === "some/blob é"));
    assert.equal(await text(reader.getBlobClient("some/blob é").download()), "content");
    await denied(reader.uploadBlockBlob("new", "x", 1));
    await denied(collect(containerWith(ofContainer("r")).listBlobsFlat()));
    const writer = containerWith(ofContainer("racwd"));
    await writer.uploadBlockBlob("new", "x", 1);
    await writer.deleteBlob("new");
    const settings = await writer.setMetadata({ a: "b" }).then(() => null, (e) => e);
    assert.equal(settings?.statusCode, 403);
  });

  test("a signature for a snapshot reads that snapshot", async () => {
    const blob = container.getBlockBlobClient(storageName());
    await blob.upload("first", 5);
    const { snapshot: snapshotTime } = await blob.createSnapshot();
    await blob.upload("second", 6);
    const sas = sign({ blobName: blob.name, snapshotTime, permissions: BlobSASPermissions.parse("r") });
    const there = new BlobClient(
      `${blob.url}?snapshot=${encodeURIComponent(snapshotTime)}&${sas}`, anonymous, options);
    assert.equal(await text(there.download()), "first");
    const whole = await blobWith(sas, blob.name).download().then(() => null, (e) => e);
    assert.equal(whole?.statusCode, 403);
  });

  test("a token has its time, place and protocol", async () => {
    const read = (more) => blobWith(ofBlob("r", more)).download();
    await refused(read({ expiresOn: anHourAgo() }), 403, "AuthenticationFailed");
    await refused(read({ startsOn: inAnHour() }), 403, "AuthenticationFailed");
    await read({ startsOn: anHourAgo() });
    await read({ ipRange: { start: "127.0.0.1" } });
    await refused(read({ ipRange: { start: "10.0.0.1", end: "10.0.0.9" } }), 403,
      "AuthorizationSourceIPMismatch");
    await refused(read({ protocol: SASProtocol.Https }), 403, "AuthorizationProtocolMismatch");
    await read({ protocol: SASProtocol.HttpsAndHttp });
    await refused(blobWith(ofBlob("r").toString().replace("sp=r", "sp=rw")).download(), 403,
      "AuthenticationFailed");
  });

  test("a token overrides headers of the answer", async () => {
    const got = await blobWith(ofBlob("r", {
      cacheControl: "no-store", contentDisposition: 'attachment; filename="x & y.txt"',
      contentEncoding: "identity", contentLanguage: "de", contentType: "image/png",
    })).download();
    assert.deepEqual(
      [got.cacheControl, got.contentDisposition, got.contentEncoding, got.contentLanguage,
        got.contentType],
      ["no-store", 'attachment; filename="x & y.txt"', "identity", "de", "image/png"]);
    assert.equal((await container.getBlobClient("some/blob é").getProperties()).contentType,
      "text/plain");
    const changed = ofBlob("r", { contentType: "image/png" }).toString()
      .replace("image%2Fpng", "text%2Fhtml");
    await refused(blobWith(changed).download(), 403, "AuthenticationFailed");
  });

  test("the SDK's own SAS URLs work", async () => {
    const own = container.getBlobClient("some/blob é");
    const url = await own.generateSasUrl(
      { permissions: BlobSASPermissions.parse("r"), expiresOn: inAnHour() });
    assert.equal(await text(new BlobClient(url, anonymous, options).download()), "content");
  });

  test("access policies carry tokens until they are gone", async () => {
    const own = await newContainer({}, firstAccount);
    await own.uploadBlockBlob("blob", "text", 4);
    const start = wholeSecond(anHourAgo());
    const expiry = wholeSecond(inAnHour());
    const { etag } = await own.getProperties();
    const set = await own.setAccessPolicy(undefined, [
      { id: "reader & more", accessPolicy: { startsOn: start, expiresOn: expiry, permissions: "r" } },
      { id: "over", accessPolicy: { startsOn: start, expiresOn: start, permissions: "r" } },
    ]);
    assert.equal(set._response.status, 200);
    assert.notEqual(set.etag, etag);
    const got = await own.getAccessPolicy();
    assert.equal(got.blobPublicAccess, undefined);
    assert.deepEqual(got.signedIdentifiers.map((i) => i.id), ["reader & more", "over"]);
    assert.deepEqual(got.signedIdentifiers[0].accessPolicy,
      { startsOn: start, expiresOn: expiry, permissions: "r" });
    const by = (identifier) => new BlockBlobClient(`${own.getBlobClient("blob").url}?${
      generateBlobSASQueryParameters({ containerName: own.containerName, identifier },
        blobKey(firstAccount))}`, anonymous, options);
    assert.equal(await text(by("reader & more").download()), "text");
    await denied(by("reader & more").upload("x", 1));
    await refused(by("over").download(), 403, "AuthenticationFailed");
    await refused(by("none").download(), 403, "AuthenticationFailed");
    await own.setAccessPolicy();
    assert.deepEqual((await own.getAccessPolicy()).signedIdentifiers, []);
    await refused(by("reader & more").download(), 403, "AuthenticationFailed");
  });

  const serviceWith = (services, types, permissions) => new BlobServiceClient(
    `${base}?${generateAccountSASQueryParameters({
      expiresOn: inAnHour(), permissions: AccountSASPermissions.parse(permissions),
      services: AccountSASServices.parse(services).toString(),
      resourceTypes: AccountSASResourceTypes.parse(types).toString(),
    }, blobKey(firstAccount))}`, anonymous, options);

  test("an account SAS works on everything it names", async () => {
    const service = serviceWith("b", "sco", "rwdlac");
    const mine = service.getContainerClient(storageName());
    await mine.create();
    await mine.setMetadata({ a: "b" });
    const blob = mine.getBlockBlobClient("blob");
    await blob.upload("text", 4);
    assert.equal(await text(blob.download()), "text");
    assert.equal((await collect(mine.listBlobsFlat())).length, 1);
    assert.ok((await collect(service.listContainers())).some((c) => c.name === mine.containerName));
    await service.getProperties();
    await blob.delete();
    await mine.delete();
  });

  test("an account SAS is for its services, types and permissions", async () => {
    await refused(serviceWith("q", "sco", "rl").getProperties(), 403, "AuthorizationServiceMismatch");
    await refused(serviceWith("b", "o", "rwdl").createContainer(storageName()), 403,
      "AuthorizationResourceTypeMismatch");
    await denied(serviceWith("b", "c", "r").createContainer(storageName()));
    const objects = serviceWith("b", "o", "r").getContainerClient(container.containerName);
    assert.equal(await text(objects.getBlobClient("some/blob é").download()), "content");
    await denied(objects.uploadBlockBlob("x", "x", 1));
    const add = serviceWith("b", "o", "c").getContainerClient(container.containerName);
    await add.uploadBlockBlob("created", "x", 1);
    await denied(add.uploadBlockBlob("created", "y", 1));
  });
});

describe("everybody", () => {
  const blobOf = (one) => new BlobClient(one.getBlobClient("blob").url, anonymous, options);
  const listOf = (one) => collect(new ContainerClient(one.url, anonymous, options).listBlobsFlat());
  async function open(access) {
    const own = await newContainer(access && { access });
    await own.uploadBlockBlob("blob", "public", 6);
    return own;
  }
  async function shut(promise) {
    const error = await promise.then(() => null, (e) => e);
    assert.ok([401, 403, 404].includes(error?.statusCode), error?.stack ?? "no error");
    assert.ok(error.response.headers.get("x-ms-error-code"));
  }

  test("a private container is shut", async () => {
    const own = await open();
    await shut(blobOf(own).download());
    await shut(blobOf(own).getProperties());
    await shut(listOf(own));
  });

  test("public blobs can be read, not listed", async () => {
    const own = await open("blob");
    assert.equal((await own.getProperties()).blobPublicAccess, "blob");
    assert.equal(await text(blobOf(own).download()), "public");
    assert.equal(await text(blobOf(own).download(1, 2)), "ub");
    assert.equal((await blobOf(own).getProperties()).contentLength, 6);
    await shut(listOf(own));
    await shut(new BlockBlobClient(own.getBlobClient("blob").url, anonymous, options).upload("x", 1));
    await shut(blobOf(own).delete());
  });

  test("a public container can be listed too", async () => {
    const own = await open("container");
    assert.deepEqual((await listOf(own)).map((b) => b.name), ["blob"]);
    assert.equal(await text(blobOf(own).download()), "public");
    assert.equal((await own.getAccessPolicy()).blobPublicAccess, "container");
    const [listed] = await collect(blobService().listContainers({ prefix: own.containerName }));
    assert.equal(listed.properties.publicAccess, "container");
    await own.setAccessPolicy();
    assert.equal((await own.getProperties()).blobPublicAccess, undefined);
    await shut(blobOf(own).download());
  });
});

describe("the service", () => {
  const service = blobService(secondAccount);

  test("properties come back, and what is left out stays", async () => {
    const retentionPolicy = { enabled: true, days: 5 };
    const blobAnalyticsLogging =
      { version: "1.0", read: true, write: false, deleteProperty: true, retentionPolicy };
    const hourMetrics = { version: "1.0", enabled: true, includeAPIs: true, retentionPolicy };
    const minuteMetrics = { version: "1.0", enabled: false, retentionPolicy: { enabled: false } };
    const cors = [{
      allowedOrigins: "http://a.example,http://b.example", allowedMethods: "GET,PUT",
      allowedHeaders: "accept,x-ms-*", exposedHeaders: "*", maxAgeInSeconds: 60,
    }];
    const set = await service.setProperties({ blobAnalyticsLogging, hourMetrics, minuteMetrics, cors });
    assert.equal(set._response.status, 202);
    await service.setProperties({ blobAnalyticsLogging: { ...blobAnalyticsLogging, write: true } });
    const got = await service.getProperties();
    assert.deepEqual(got.blobAnalyticsLogging, { ...blobAnalyticsLogging, write: true });
    assert.deepEqual(got.hourMetrics, hourMetrics);
    assert.equal(got.minuteMetrics.enabled, false);
    assert.deepEqual(got.cors, cors);
    await service.setProperties({ cors: [] });
    assert.deepEqual((await service.getProperties()).cors ?? [], []);
  });

  test("statistics come from the secondary", async () => {
    const secondary = new BlobServiceClient(
      `${blobEndpoint}/${secondAccount}-secondary`, blobKey(secondAccount), options);
    const { geoReplication } = await secondary.getStatistics();
    assert.equal(geoReplication.status, "live");
    assert.ok(geoReplication.lastSyncOn instanceof Date);
  });

  test("the account says what it is", async () => {
    const { skuName, accountKind } = await service.getAccountInfo();
    assert.match(skuName, /^Standard_/);
    assert.match(accountKind, /Storage/);
    assert.deepEqual((await container.getBlobClient("some/blob é").getAccountInfo()).skuName, skuName);
  });
});
