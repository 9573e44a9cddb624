// Run the JavaScript code of cures: see driver.py.

import { readFile } from "node:fs/promises";
import { TableClient, TableServiceClient } from "@azure/data-tables";

const NAMES = { PartitionKey: "partitionKey", RowKey: "rowKey", delete: "remove", drop_before: "dropBefore" };
const TYPES = { "Edm.Int64": (value) => BigInt(value), "Edm.DateTime": (value) => new Date(value), "Edm.Guid": (value) => ({ type: "Guid", value }) };

function argument(one) {
  if (typeof one !== "object") return one;
  if (Array.isArray(one)) return one.map(argument);
  if (one.time) return new Date(one.time);
  return Object.fromEntries(Object.entries(one).filter(([name]) => !name.includes("@")).map(([name, value]) => [NAMES[name] ?? name, TYPES[one[`${name}@odata.type`]]?.(value) ?? value]));
}

async function names(found, isSelect) {
  const list = [];
  if (found[Symbol.asyncIterator] || Array.isArray(found)) for await (const each of found) list.push(each);
  else list.push(found);
  return list.map((each) => isSelect ? `${each.rowKey}:${Object.keys(each).filter((name) => /^[A-Z]/.test(name)).sort().join(",")}` : each.TavolaPrimary ?? each.rowKey);
}

async function run(call, isSelect) {
  try {
    const result = await call();
    if (["bigint", "number"].includes(typeof result)) return String(result);
    return result?.rowKey !== undefined || Array.isArray(result) || result?.[Symbol.asyncIterator] ? await names(result, isSelect) : "ok";
  } catch (error) {
    if (error.statusCode) return String(error.statusCode);
    if (error instanceof RangeError) return "invalid";
    throw error;
  }
}

/** The times in keys are whole milliseconds: entities of the same one have no order. */
function passMillisecond() {
  const before = Date.now();
  while (Date.now() === before);
}

const [connection, jobs] = process.argv.slice(2), results = [];
for (const job of JSON.parse(await readFile(jobs))) {
  const code = await import(job.file);
  const open = (name) => TableClient.fromConnectionString(connection, name, { allowInsecureConnection: true });
  const service = TableServiceClient.fromConnectionString(connection, { allowInsecureConnection: true });
  const table = open(job.table);
  const behind = (table, partition, row) => table.deleteEntity(partition, row);
  const told = [];
  // The table is there already.
  for (const [name, ...rest] of job.steps) {
    passMillisecond();
    const call = name === "behind" ? behind : code[NAMES[name] ?? name];
    const of = job.c !== "period" ? table : name === "drop_before" ? service : open;
    told.push(await run(() => call(of, ...rest.map(argument)), job.c.includes("select")));
  }
  results.push(told);
}
console.log(JSON.stringify(results));
