// The eight property types come back exactly as they went in.

import assert from "node:assert/strict";
import test from "node:test";
import { newTable, refused } from "./lib.mjs";

const client = await newTable();
let row = 0;

async function roundTrip(value, readOptions) {
  const rowKey = `r${++row}`;
  await client.createEntity({ partitionKey: "types", rowKey, value });
  const inserted = (await client.getEntity("types", rowKey, readOptions)).value;
  // An update takes another path through the server than an insert.
  await client.updateEntity({ partitionKey: "types", rowKey, value }, "Replace");
  assert.deepEqual((await client.getEntity("types", rowKey, readOptions)).value, inserted);
  return inserted;
}

const same = (what, value) =>
  test(what, async () => assert.deepEqual(await roundTrip(value), value));
// With type conversion off the SDK shows the text and the type of the wire.
const exact = (what, type, value, expected = value) =>
  test(what, async () =>
    assert.deepEqual(await roundTrip({ type, value }, { disableTypeConversion: true }), {
      type,
      value: expected,
    }));

same("String", "hello");
same("String, empty", "");
same("String that looks like JSON", '{"a":[1,"\\u0041"]}\\');
same("String with control characters", "\u0000\u0001\b\f\n\r\t\u001f\u007f\u0085\u2028");
same("String beyond ASCII", "Grüße, Ελλάδα, 日本語");
same("String beyond the BMP", "𝄞 😀 👩‍👩‍👧‍👦 \u{10ffff}");
same("String that looks like a date", "2020-01-02T03:04:05Z");
same("String that looks like a GUID", "6f9619ff-8b86-d011-b42d-00c04fc964ff");
same("String of 32767 characters", "é".repeat(32767));
same("Boolean true", true);
same("Boolean false", false);
for (const n of [0, 1, -1, 2147483647, -2147483648]) same(`Int32 ${n}`, n);
for (const n of [0n, 1n, -1n, 9007199254740993n, 9223372036854775807n, -9223372036854775808n])
  same(`Int64 ${n}`, n);
for (const x of [0.5, -0.1, 3.1, 1 / 3, 123456789012345.12, 5e-324, 2.2250738585072014e-308,
  1.7976931348623157e308, -1.7976931348623157e308, 1e21, 4294967296.5])
  same(`Double ${x}`, x);
test("a number too large for Int32 becomes a Double", async () => {
  assert.equal(await roundTrip(4294967296), 4294967296);
});
for (const x of ["NaN", "Infinity", "-Infinity"]) exact(`Double ${x}`, "Double", x);
test("a whole Double stays a Double on the wire", async () => {
  await client.createEntity({ partitionKey: "w", rowKey: "w", value: { type: "Double", value: 20 } });
  let text;
  await client.getEntity("w", "w", { onResponse: (r) => (text = r.bodyAsText) });
  assert.match(text, /"value":20\.0[,}]/);
});
same("DateTime to the millisecond", new Date("2026-02-03T04:05:06.789Z"));
same("DateTime, first of the range", new Date("1601-01-01T00:00:00Z"));
exact("DateTime to 100 ns", "DateTime", "2026-02-03T04:05:06.1234567Z");
exact("DateTime, last of the range", "DateTime", "9999-12-31T23:59:59.9999999Z");
exact("DateTime loses the zeros at its end", "DateTime",
  "2026-02-03T04:05:06.1200000Z", "2026-02-03T04:05:06.12Z");
exact("DateTime loses an empty fraction", "DateTime",
  "1973-10-04T00:00:00.000000Z", "1973-10-04T00:00:00Z");
same("Guid", { type: "Guid", value: "6f9619ff-8b86-d011-b42d-00c04fc964ff" });
test("Binary", async () => {
  const bytes = Uint8Array.from({ length: 256 }, (_, i) => i);
  assert.deepEqual(Uint8Array.from(await roundTrip(bytes)), bytes);
});
test("Binary, empty", async () => {
  assert.equal((await roundTrip(new Uint8Array())).length, 0);
});
test("Binary of 64 KiB", async () => {
  const bytes = new Uint8Array(65536).fill(0xa5);
  assert.deepEqual(Uint8Array.from(await roundTrip(bytes)), bytes);
});

test("names of properties differ by case and may be beyond ASCII", async () => {
  const names = { birthday: 1, Birthday: 2, größe: 3, _x1: 4, "\ua015": 5, timestamp2: 6 };
  await client.createEntity({ partitionKey: "names", rowKey: "r", ...names });
  const got = await client.getEntity("names", "r");
  for (const [name, value] of Object.entries(names)) assert.equal(got[name], value);
});

const many = (count) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`p${i}`, i]));
test("252 properties fit, 253 do not", async () => {
  await client.createEntity({ partitionKey: "many", rowKey: "1", ...many(252) });
  assert.equal((await client.getEntity("many", "1")).p251, 251);
  await refused(
    client.createEntity({ partitionKey: "many", rowKey: "2", ...many(253) }),
    400, "TooManyProperties");
});

for (const [what, more, code] of [
  ["a string over 64 KiB", { s: "x".repeat(32769) }, "PropertyValueTooLarge"],
  ["binary over 64 KiB", { b: new Uint8Array(65537) }, "PropertyValueTooLarge"],
  ["an entity over 1 MiB",
    Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`s${i}`, "x".repeat(32000)])),
    "EntityTooLarge"],
  ["a property name over 255 characters", { ["n".repeat(256)]: 1 }, "PropertyNameTooLong"],
  ["a property name with a dash", { "a-b": 1 }, "PropertyNameInvalid"],
  ["a date before 1601", { d: { type: "DateTime", value: "1600-12-31T23:59:59Z" } },
    "OutOfRangeInput"],
  ["an Int32 that is none", { n: { type: "Int32", value: "x" } }, "InvalidInput"],
  ["an Int64 out of range", { n: { type: "Int64", value: "9223372036854775808" } }, "InvalidInput"],
  ["a Guid that is none", { g: { type: "Guid", value: "123" } }, "InvalidInput"],
  ["Binary that is no base64", { b: { type: "Binary", value: "***" } }, "InvalidInput"],
]) {
  test(`${what} is refused and not stored`, async () => {
    await refused(
      client.createEntity({ partitionKey: "bad", rowKey: "r", ...more }), 400, code);
    await refused(client.getEntity("bad", "r"), 404, "ResourceNotFound");
  });
}
