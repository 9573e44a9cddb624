// Who may use a queue: keys, shared access signatures, access policies; and the
// properties and statistics of the service.

import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import {
  AccountSASPermissions, AccountSASResourceTypes, AccountSASServices, AnonymousCredential,
  QueueClient, QueueSASPermissions, QueueServiceClient, SASProtocol, StorageSharedKeyCredential,
  generateAccountSASQueryParameters, generateQueueSASQueryParameters,
} from "@azure/storage-queue";
import {
  accounts, anHourAgo, collect, firstAccount, inAnHour, mainAccount, newQueue, options,
  queueEndpoint, queueKey, queueService, refused, secondAccount, storageName, tls, wholeSecond,
} from "./storage.mjs";

const base = `${queueEndpoint}/${firstAccount}`;
const anonymous = new AnonymousCredential();
const denied = (promise) => refused(promise, 403, "AuthorizationPermissionMismatch");

describe("keys of accounts", () => {
  const wrongKeys = [
    ["a wrong key", firstAccount, Buffer.alloc(64, 7).toString("base64")],
    ["an unknown account", "nobody", accounts[firstAccount][0]],
    ["another account's key", firstAccount, accounts[secondAccount][0]],
  ];
  for (const [what, account, key] of wrongKeys) {
    test(`${what} is refused`, async () => {
      const service = queueService(account, new StorageSharedKeyCredential(account, key));
      await refused(service.createQueue(storageName()), 403, "AuthenticationFailed");
      await refused(service.getQueueClient("some").receiveMessages(), 403, "AuthenticationFailed");
    });
  }

  test("both keys of an account work, and accounts do not see each other", async () => {
    const queue = await newQueue({}, firstAccount);
    const second = queueService(firstAccount, queueKey(firstAccount, 1)).getQueueClient(queue.name);
    await second.sendMessage("mine");
    const other = queueService(secondAccount);
    assert.equal(await other.getQueueClient(queue.name).exists(), false);
    const seen = (await collect(other.listQueues())).map((q) => q.name);
    assert.ok(!seen.includes(queue.name));
  });

  test("a connection string works", async () => {
    const service = QueueServiceClient.fromConnectionString(
      `DefaultEndpointsProtocol=http;AccountName=${mainAccount};` +
      `AccountKey=${accounts[mainAccount][0]};QueueEndpoint=${queueEndpoint}/${mainAccount};`, options);
    await collect(service.listQueues());
  });

  test("UseDevelopmentStorage=true works",
    { skip: process.env.SDK_TEST_DEFAULT_PORTS ? false : "a default port is taken" },
    () => collect(QueueServiceClient.fromConnectionString("UseDevelopmentStorage=true", options)
      .listQueues()));

  test("a queue is reached over https", { skip: tls ? false : "the server has no certificate" },
    async () => {
      const queue = await newQueue();
      const secure = new QueueClient(tls(queue.url), queueKey(), options);
      await secure.sendMessage("over TLS");
      assert.equal((await queue.peekMessages()).peekedMessageItems[0].messageText, "over TLS");
      const signed = queue.generateSasUrl({
        permissions: QueueSASPermissions.parse("r"), expiresOn: inAnHour(),
        protocol: SASProtocol.Https,
      });
      await new QueueClient(tls(signed), anonymous, options).peekMessages();
    });
});

describe("shared access signatures", () => {
  let queue;
  before(async () => {
    queue = await newQueue({}, firstAccount);
  });

  const token = (permissions, more = {}, n = 0) => generateQueueSASQueryParameters({
    queueName: queue.name, expiresOn: inAnHour(),
    permissions: QueueSASPermissions.parse(permissions), ...more,
  }, queueKey(firstAccount, n));
  const withToken = (sas, name = queue.name) =>
    new QueueClient(`${base}/${name}?${sas}`, anonymous, options);
  const permits = (permissions, more) => withToken(token(permissions, more));

  test("each permission of a queue is one", async () => {
    const adder = permits("a");
    const { messageId, popReceipt } = await adder.sendMessage("text");
    await denied(adder.peekMessages());
    await denied(adder.receiveMessages());
    const reader = permits("r");
    assert.equal((await reader.peekMessages()).peekedMessageItems[0].messageText, "text");
    assert.equal((await reader.getProperties()).approximateMessagesCount, 1);
    await denied(reader.sendMessage("text"));
    const updater = permits("u");
    const updated = await updater.updateMessage(messageId, popReceipt, "new", 0);
    await denied(updater.deleteMessage(messageId, updated.popReceipt));
    const processor = permits("p");
    const [got] = (await processor.receiveMessages()).receivedMessageItems;
    assert.equal(got.messageText, "new");
    await denied(processor.updateMessage(messageId, got.popReceipt, "newer", 0));
    await processor.deleteMessage(messageId, got.popReceipt);
  });

  test("the second key signs as well", async () => {
    await withToken(token("r", {}, 1)).peekMessages();
  });

  test("a token is for its queue and not for the queue's own settings", async () => {
    const other = await newQueue({}, firstAccount);
    // The name is part of what is signed, so the signature is another queue's.
    await refused(withToken(token("raup"), other.name).peekMessages(), 403, "AuthenticationFailed");
    const all = permits("raup");
    for (const act of [() => all.delete(), () => all.getAccessPolicy(),
      () => all.setMetadata({ a: "b" })]) {
      const error = await act().then(() => null, (e) => e);
      assert.equal(error?.statusCode, 403);
    }
  });

  test("a token has its time, place and protocol", async () => {
    await refused(permits("r", { expiresOn: anHourAgo() }).peekMessages(), 403,
      "AuthenticationFailed");
    await refused(permits("r", { startsOn: inAnHour() }).peekMessages(), 403,
      "AuthenticationFailed");
    await permits("r", { startsOn: anHourAgo() }).peekMessages();
    await permits("r", { ipRange: { start: "127.0.0.1" } }).peekMessages();
    await refused(permits("r", { ipRange: { start: "10.0.0.1", end: "10.0.0.9" } }).peekMessages(),
      403, "AuthorizationSourceIPMismatch");
    await refused(permits("r", { protocol: SASProtocol.Https }).peekMessages(), 403,
      "AuthorizationProtocolMismatch");
    await permits("r", { protocol: SASProtocol.HttpsAndHttp }).peekMessages();
  });

  test("a changed token is refused", async () => {
    const sas = token("r").toString();
    await refused(withToken(sas.replace("sp=r", "sp=raup")).peekMessages(), 403,
      "AuthenticationFailed");
  });

  test("no credential at all is refused", async () => {
    const error = await withToken("").peekMessages().then(() => null, (e) => e);
    assert.ok([401, 403, 404].includes(error?.statusCode), error?.stack);
    assert.ok(error.response.headers.get("x-ms-error-code"));
  });

  test("the SDK's own SAS URLs work", async () => {
    const url = queue.generateSasUrl(
      { permissions: QueueSASPermissions.parse("r"), expiresOn: inAnHour() });
    await new QueueClient(url, anonymous, options).peekMessages();
    const account = queueService(firstAccount).generateAccountSasUrl(
      inAnHour(), AccountSASPermissions.parse("rl"), "sco");
    await collect(new QueueServiceClient(account, anonymous, options).listQueues());
  });

  test("access policies carry tokens until they are gone", async () => {
    const own = await newQueue({}, firstAccount);
    const start = wholeSecond(anHourAgo());
    const expiry = wholeSecond(inAnHour());
    assert.deepEqual((await own.getAccessPolicy()).signedIdentifiers, []);
    await own.setAccessPolicy([
      { id: "reader & more", accessPolicy: { startsOn: start, expiresOn: expiry, permissions: "r" } },
      { id: "over", accessPolicy: { expiresOn: start, permissions: "raup" } },
    ]);
    const { signedIdentifiers } = await own.getAccessPolicy();
    assert.deepEqual(signedIdentifiers.map((i) => i.id), ["reader & more", "over"]);
    assert.deepEqual(signedIdentifiers[0].accessPolicy,
      { startsOn: start, expiresOn: expiry, permissions: "r" });
    const by = (identifier) => withToken(generateQueueSASQueryParameters(
      { queueName: own.name, identifier }, queueKey(firstAccount)), own.name);
    await by("reader & more").peekMessages();
    await denied(by("reader & more").sendMessage("text"));
    await refused(by("over").peekMessages(), 403, "AuthenticationFailed");
    await refused(by("none").peekMessages(), 403, "AuthenticationFailed");
    await own.setAccessPolicy([]);
    assert.deepEqual((await own.getAccessPolicy()).signedIdentifiers, []);
    await refused(by("reader & more").peekMessages(), 403, "AuthenticationFailed");
  });

  test("more than five policies are refused", async () => {
    const six = [1, 2, 3, 4, 5, 6].map((i) => ({ id: `${i}`, accessPolicy: { permissions: "r" } }));
    await refused(queue.setAccessPolicy(six), 400, "InvalidXmlDocument");
  });

  const accountToken = (services, types, permissions) => generateAccountSASQueryParameters({
    expiresOn: inAnHour(), permissions: AccountSASPermissions.parse(permissions),
    services: AccountSASServices.parse(services).toString(),
    resourceTypes: AccountSASResourceTypes.parse(types).toString(),
  }, queueKey(firstAccount)).toString();
  const serviceWith = (...what) =>
    new QueueServiceClient(`${base}?${accountToken(...what)}`, anonymous, options);

  test("an account SAS works on everything it names", async () => {
    const service = serviceWith("q", "sco", "rwdlacup");
    const mine = service.getQueueClient(storageName());
    await mine.create();
    await mine.setMetadata({ a: "b" });
    assert.ok((await collect(service.listQueues())).some((q) => q.name === mine.name));
    await mine.sendMessage("text");
    const [got] = (await mine.receiveMessages()).receivedMessageItems;
    const { popReceipt } = await mine.updateMessage(got.messageId, got.popReceipt, "new", 0);
    await mine.deleteMessage(got.messageId, popReceipt);
    await mine.clearMessages();
    await service.getProperties();
    await mine.delete();
  });

  test("an account SAS is for its services, types and permissions", async () => {
    await refused(serviceWith("b", "sco", "rl").getProperties(), 403,
      "AuthorizationServiceMismatch");
    await refused(serviceWith("q", "o", "rwdl").createQueue(storageName()), 403,
      "AuthorizationResourceTypeMismatch");
    await denied(serviceWith("q", "c", "r").createQueue(storageName()));
    const objects = serviceWith("q", "o", "r").getQueueClient(queue.name);
    await objects.peekMessages();
    await denied(objects.sendMessage("text"));
    await denied(serviceWith("q", "o", "ra").getQueueClient(queue.name).clearMessages());
    await serviceWith("q", "o", "a").getQueueClient(queue.name).sendMessage("text");
    await serviceWith("q", "o", "d").getQueueClient(queue.name).clearMessages();
  });
});

describe("the service", () => {
  const service = queueService(secondAccount);

  test("properties come back, and what is left out stays", async () => {
    const retentionPolicy = { enabled: true, days: 5 };
    const queueAnalyticsLogging =
      { version: "1.0", read: true, write: false, deleteProperty: true, retentionPolicy };
    const hourMetrics = { version: "1.0", enabled: true, includeAPIs: true, retentionPolicy };
    const minuteMetrics = { version: "1.0", enabled: false, retentionPolicy: { enabled: false } };
    const cors = [{
      allowedOrigins: "http://a.example,http://b.example", allowedMethods: "GET,PUT",
      allowedHeaders: "accept,x-ms-*", exposedHeaders: "*", maxAgeInSeconds: 60,
    }];
    const set = await service.setProperties(
      { queueAnalyticsLogging, hourMetrics, minuteMetrics, cors });
    assert.equal(set._response.status, 202);
    await service.setProperties({ queueAnalyticsLogging: { ...queueAnalyticsLogging, write: true } });
    const got = await service.getProperties();
    assert.deepEqual(got.queueAnalyticsLogging, { ...queueAnalyticsLogging, write: true });
    assert.deepEqual(got.hourMetrics, hourMetrics);
    assert.equal(got.minuteMetrics.enabled, false);
    assert.deepEqual(got.cors, cors);
    await service.setProperties({ cors: [] });
    assert.deepEqual((await service.getProperties()).cors ?? [], []);
  });

  test("statistics come from the secondary", async () => {
    const secondary = new QueueServiceClient(
      `${queueEndpoint}/${secondAccount}-secondary`, queueKey(secondAccount), options);
    const { geoReplication } = await secondary.getStatistics();
    assert.equal(geoReplication.status, "live");
    assert.ok(geoReplication.lastSyncOn instanceof Date);
  });
});
