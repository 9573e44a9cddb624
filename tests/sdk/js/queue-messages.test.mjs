// Messages: send, receive, peek, update, delete, clear; their receipts, counts and times.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { newQueue, noClock, pass, refused, status, storedNow, wholeSecond } from "./storage.mjs";

const WEEK = 7 * 24 * 3600;
const receive = async (queue, options) =>
  (await queue.receiveMessages(options)).receivedMessageItems;
const peek = async (queue, options) => (await queue.peekMessages(options)).peekedMessageItems;
const count = async (queue) => (await queue.getProperties()).approximateMessagesCount;

test("a message is sent, received and deleted", async () => {
  const queue = await newQueue();
  const before = wholeSecond(await storedNow());
  const sent = await queue.sendMessage("hello");
  assert.equal(sent._response.status, 201);
  assert.match(sent.messageId, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  assert.ok(sent.popReceipt);
  assert.ok(sent.insertedOn >= before && sent.insertedOn <= await storedNow());
  assert.equal(sent.expiresOn - sent.insertedOn, WEEK * 1000);
  assert.ok(sent.nextVisibleOn - sent.insertedOn <= 1000);

  const [message, ...more] = await receive(queue);
  assert.deepEqual(more, []);
  assert.equal(message.messageText, "hello");
  assert.equal(message.messageId, sent.messageId);
  assert.deepEqual(message.insertedOn, sent.insertedOn);
  assert.deepEqual(message.expiresOn, sent.expiresOn);
  assert.equal(message.dequeueCount, 1);
  assert.ok(message.nextVisibleOn - before >= 30_000 &&
    message.nextVisibleOn - (await storedNow()) <= 30_000, "30 seconds, when not said otherwise");
  assert.deepEqual(await receive(queue), [], "it is hidden now");

  assert.equal(await status(queue.deleteMessage(message.messageId, message.popReceipt)), 204);
  assert.equal(await count(queue), 0);
});

test("an empty queue gives no messages", async () => {
  const queue = await newQueue();
  assert.deepEqual(await receive(queue, { numberOfMessages: 32 }), []);
  assert.deepEqual(await peek(queue, { numberOfMessages: 32 }), []);
  assert.equal(await count(queue), 0);
});

test("32 messages come at once, in the order they went, and no more than 32", async () => {
  const queue = await newQueue();
  const sent = [];
  for (let i = 0; i < 40; i++) sent.push((await queue.sendMessage(`message ${i}`)).messageId);
  assert.equal(await count(queue), 40);
  assert.equal((await receive(queue)).length, 1, "one, when not said otherwise");
  const many = await receive(queue, { numberOfMessages: 32 });
  assert.deepEqual(many.map((m) => m.messageId), sent.slice(1, 33));
  assert.deepEqual(many.map((m) => m.messageText),
    Array.from({ length: 32 }, (_, i) => `message ${i + 1}`));
  assert.equal((await receive(queue, { numberOfMessages: 32 })).length, 7);
  assert.equal(await count(queue), 40, "hidden messages count");
  for (const numberOfMessages of [0, 33])
    await refused(queue.receiveMessages({ numberOfMessages }), 400, "OutOfRangeQueryParameterValue");
});

test("clearing a queue takes hidden messages too", async () => {
  const queue = await newQueue();
  for (let i = 0; i < 3; i++) await queue.sendMessage(`message ${i}`);
  const [message] = await receive(queue);
  assert.equal(await status(queue.clearMessages()), 204);
  assert.equal(await count(queue), 0);
  assert.deepEqual(await peek(queue), []);
  await refused(queue.deleteMessage(message.messageId, message.popReceipt), 404, "MessageNotFound");
});

test("peeking changes nothing", async () => {
  const queue = await newQueue();
  for (let i = 0; i < 3; i++) await queue.sendMessage(`message ${i}`);
  for (let round = 0; round < 2; round++) {
    const seen = await peek(queue, { numberOfMessages: 32 });
    assert.deepEqual(seen.map((m) => [m.messageText, m.dequeueCount]),
      [["message 0", 0], ["message 1", 0], ["message 2", 0]]);
    assert.equal(seen[0].popReceipt, undefined);
    assert.equal(seen[0].nextVisibleOn, undefined);
    assert.ok(seen[0].insertedOn && seen[0].expiresOn);
  }
  assert.equal((await peek(queue)).length, 1);
  await receive(queue);
  assert.deepEqual((await peek(queue, { numberOfMessages: 5 })).map((m) => m.messageText),
    ["message 1", "message 2"]);
  for (const numberOfMessages of [0, 33])
    await refused(queue.peekMessages({ numberOfMessages }), 400, "OutOfRangeQueryParameterValue");
});

test("an update changes text and receipt, not the count", async () => {
  const queue = await newQueue();
  await queue.sendMessage("first");
  const [got] = await receive(queue);
  const updated = await queue.updateMessage(got.messageId, got.popReceipt, "second", 0);
  assert.equal(updated._response.status, 204);
  assert.ok(updated.popReceipt && updated.popReceipt !== got.popReceipt);
  assert.ok(updated.nextVisibleOn instanceof Date);
  assert.equal((await peek(queue))[0].dequeueCount, 1);
  const [again] = await receive(queue);
  assert.deepEqual([again.messageText, again.dequeueCount], ["second", 2]);
  assert.deepEqual(again.insertedOn, got.insertedOn);
});

test("an update without text keeps the text", async () => {
  const queue = await newQueue();
  await queue.sendMessage("the text");
  const [got] = await receive(queue);
  await queue.updateMessage(got.messageId, got.popReceipt, undefined, 0);
  const [again] = await receive(queue);
  assert.equal(again.messageText, "the text");
  await queue.updateMessage(again.messageId, again.popReceipt, "", 0);
  assert.equal((await receive(queue))[0].messageText, "");
});

test("an update hides for longer", { skip: noClock }, async () => {
  const queue = await newQueue();
  await queue.sendMessage("text");
  const [got] = await receive(queue, { visibilityTimeout: 60 });
  const updated = await queue.updateMessage(got.messageId, got.popReceipt, "text", 1200);
  assert.ok(updated.nextVisibleOn - got.nextVisibleOn >= 1140_000);
  await pass(600);
  assert.deepEqual(await receive(queue), []);
  await queue.deleteMessage(got.messageId, updated.popReceipt);
});

test("a receipt is good until the next one", async () => {
  const queue = await newQueue();
  const sent = await queue.sendMessage("text");
  const [got] = await receive(queue, { visibilityTimeout: 30 });
  assert.notEqual(got.popReceipt, sent.popReceipt);
  const wrong = [404, "MessageNotFound"];
  await refused(queue.deleteMessage(sent.messageId, sent.popReceipt), ...wrong);
  await refused(queue.updateMessage(sent.messageId, sent.popReceipt, "new", 0), ...wrong);
  const updated = await queue.updateMessage(got.messageId, got.popReceipt, "new", 0);
  await refused(queue.deleteMessage(got.messageId, got.popReceipt), ...wrong);
  const [last] = await receive(queue);
  await refused(queue.deleteMessage(got.messageId, updated.popReceipt), ...wrong);
  await queue.deleteMessage(got.messageId, last.popReceipt);
  await refused(queue.deleteMessage(got.messageId, last.popReceipt), 404, "MessageNotFound");
  await refused(queue.updateMessage(got.messageId, last.popReceipt, "", 0), 404, "MessageNotFound");
});

test("the receipt of sending deletes and updates an unread message", async () => {
  const queue = await newQueue();
  const one = await queue.sendMessage("one");
  const two = await queue.sendMessage("two");
  await queue.deleteMessage(one.messageId, one.popReceipt);
  await queue.updateMessage(two.messageId, two.popReceipt, "zwei", 0);
  assert.deepEqual((await receive(queue, { numberOfMessages: 5 })).map((m) => m.messageText),
    ["zwei"]);
});

test("a receipt that is none, and a message that is none", async () => {
  const queue = await newQueue();
  const { messageId, popReceipt } = await queue.sendMessage("text");
  await refused(queue.deleteMessage(messageId, "this is no receipt"), 400,
    "InvalidQueryParameterValue");
  await refused(queue.deleteMessage("00000000-0000-4000-8000-000000000000", popReceipt), 404,
    "MessageNotFound");
});

test("a message can be received again and again, and counts it", async () => {
  const queue = await newQueue();
  await queue.sendMessage("text");
  for (let n = 1; n <= 5; n++) {
    const [got] = await receive(queue);
    assert.equal(got.dequeueCount, n);
    await queue.updateMessage(got.messageId, got.popReceipt, undefined, 0);
  }
});

describe("times", () => {
  test("a message is hidden for its visibility timeout", { skip: noClock }, async () => {
    const queue = await newQueue();
    await queue.sendMessage("text");
    const [got] = await receive(queue, { visibilityTimeout: 600 });
    assert.deepEqual(await receive(queue), []);
    assert.deepEqual(await peek(queue), []);
    await pass(601);
    assert.equal((await peek(queue))[0].dequeueCount, 1);
    const [again] = await receive(queue, { visibilityTimeout: 60 });
    assert.deepEqual([again.messageId, again.dequeueCount], [got.messageId, 2]);
    await refused(queue.deleteMessage(got.messageId, got.popReceipt), 404, "MessageNotFound");
    await queue.deleteMessage(again.messageId, again.popReceipt);
  });

  test("a message may be sent hidden", { skip: noClock }, async () => {
    const queue = await newQueue();
    const sent = await queue.sendMessage("later", { visibilityTimeout: 600 });
    assert.ok(sent.nextVisibleOn > sent.insertedOn);
    assert.deepEqual(await receive(queue), []);
    await queue.sendMessage("now");
    assert.deepEqual((await receive(queue, { visibilityTimeout: 6000 })).map((m) => m.messageText),
      ["now"]);
    assert.equal(await count(queue), 2);
    await pass(601);
    assert.deepEqual((await receive(queue)).map((m) => m.messageText), ["later"]);
  });

  test("a receipt outlives the timeout while nobody else received the message", { skip: noClock }, async () => {
    const queue = await newQueue();
    await queue.sendMessage("text");
    const [got] = await receive(queue, { visibilityTimeout: 600 });
    await pass(601);
    await queue.deleteMessage(got.messageId, got.popReceipt);
    assert.equal(await count(queue), 0);
  });

  test("a message expires", { skip: noClock }, async () => {
    const queue = await newQueue();
    const sent = await queue.sendMessage("short", { messageTimeToLive: 600 });
    assert.equal(sent.expiresOn - sent.insertedOn, 600_000);
    await queue.sendMessage("long", { messageTimeToLive: 6000 });
    assert.equal((await peek(queue, { numberOfMessages: 5 })).length, 2);
    await pass(601);
    assert.deepEqual((await peek(queue, { numberOfMessages: 5 })).map((m) => m.messageText),
      ["long"]);
    assert.deepEqual((await receive(queue, { numberOfMessages: 5 })).map((m) => m.messageText),
      ["long"]);
    await refused(queue.deleteMessage(sent.messageId, sent.popReceipt), 404, "MessageNotFound");
  });

  test("a message expires while it is hidden", { skip: noClock }, async () => {
    const queue = await newQueue();
    await queue.sendMessage("short", { messageTimeToLive: 600 });
    const [got] = await receive(queue, { visibilityTimeout: 3000 });
    await pass(601);
    await refused(queue.deleteMessage(got.messageId, got.popReceipt), 404, "MessageNotFound");
  });
});

test("a message may live for ever, or for years", async () => {
  const queue = await newQueue();
  const forever = await queue.sendMessage("forever", { messageTimeToLive: -1 });
  assert.equal(forever.expiresOn.getUTCFullYear(), 9999);
  const years = await queue.sendMessage("years", { messageTimeToLive: 3 * 365 * 24 * 3600 });
  assert.equal(years.expiresOn - years.insertedOn, 3 * 365 * 24 * 3600 * 1000);
  assert.equal((await receive(queue))[0].expiresOn.getUTCFullYear(), 9999);
});

test("times outside their limits are refused", async () => {
  const queue = await newQueue();
  const { messageId, popReceipt } = await queue.sendMessage("text");
  const wrong = [400, "OutOfRangeQueryParameterValue"];
  await refused(queue.sendMessage("text", { visibilityTimeout: WEEK + 1 }), ...wrong);
  await refused(queue.sendMessage("text", { visibilityTimeout: -1 }), ...wrong);
  await refused(queue.sendMessage("text", { visibilityTimeout: 10, messageTimeToLive: 10 }),
    400, "InvalidQueryParameterValue");
  for (const messageTimeToLive of [0, -2])
    await refused(queue.sendMessage("text", { messageTimeToLive }), ...wrong);
  await refused(queue.receiveMessages({ visibilityTimeout: 0 }), ...wrong);
  await refused(queue.receiveMessages({ visibilityTimeout: WEEK + 1 }), ...wrong);
  await refused(queue.updateMessage(messageId, popReceipt, "text", WEEK + 1), ...wrong);
  await refused(queue.updateMessage(messageId, popReceipt, "text", -1), ...wrong);
  await queue.sendMessage("text", { visibilityTimeout: WEEK - 1 });
  assert.equal((await receive(queue, { visibilityTimeout: WEEK })).length, 1);
});

for (const [what, messageText] of [
  ["with XML's own characters", `<a b="c">&amp; 'd' ]]> &#65;</a>`],
  ["beyond ASCII", "żółw 龜 Schildkröte ‏سلحفاة"],
  ["beyond the basic plane", "🐢𝒯𝓊𝓇𝓉𝓁𝑒"],
  ["of base64", Buffer.from("bytes \0\x01\x02").toString("base64")],
  ["of JSON", JSON.stringify({ id: 456, tags: ["a", "b"], none: null })],
  // This SDK drops lines when it sends and spaces at both ends when it reads.
  ["with spaces inside", "two  spaces   and\ta tab"],
]) {
  test(`text ${what} comes back`, async () => {
    const queue = await newQueue();
    await queue.sendMessage(messageText);
    assert.equal((await peek(queue))[0].messageText, messageText);
    assert.equal((await receive(queue))[0].messageText, messageText);
  });
}

test("an empty message is a message", async () => {
  const queue = await newQueue();
  await queue.sendMessage("");
  assert.equal((await receive(queue))[0].messageText, "");
});

test("characters that XML does not have are refused", async () => {
  const queue = await newQueue();
  await refused(queue.sendMessage("a\x01b"), 400, "InvalidXmlDocument");
});

test("64 KiB are a message, one byte more is not", async () => {
  const queue = await newQueue();
  const largest = "x".repeat(64 * 1024);
  await queue.sendMessage(largest);
  const [got] = await receive(queue);
  assert.equal(got.messageText, largest);
  await refused(queue.sendMessage(`${largest}x`), 413, "RequestBodyTooLarge");
  await refused(queue.updateMessage(got.messageId, got.popReceipt, `${largest}x`, 0), 413,
    "RequestBodyTooLarge");
  await refused(queue.sendMessage("ü".repeat(32 * 1024 + 1)), 413, "RequestBodyTooLarge");
});

test("readers at the same time never get the same message", async () => {
  const queue = await newQueue();
  const all = [];
  await Promise.all(Array.from({ length: 100 }, async (_, i) => {
    all.push((await queue.sendMessage(`message ${i}`)).messageId);
  }));
  const got = [];
  await Promise.all(Array.from({ length: 8 }, async () => {
    for (;;) {
      const messages = await receive(queue, { numberOfMessages: 5, visibilityTimeout: 60 });
      if (!messages.length) return;
      for (const message of messages) {
        got.push(message.messageId);
        await queue.deleteMessage(message.messageId, message.popReceipt);
      }
    }
  }));
  assert.deepEqual(got.sort(), all.sort());
  assert.equal(await count(queue), 0);
});
