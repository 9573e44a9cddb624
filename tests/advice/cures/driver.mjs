// Run the JavaScript code of cures: see driver.py.

import { readFile } from "node:fs/promises";
import { TableClient } from "@azure/data-tables";

const NAMES = { PartitionKey: "partitionKey", RowKey: "rowKey" };
const TYPES = { "Edm.Int64": (value) => BigInt(value), "Edm.DateTime": (value) => new Date(value), "Edm.Guid": (value) => ({ type: "Guid", value }) };

function argument(one) {
  if (typeof one !== "object") return one;
  if (one.time) return new Date(one.time);
  return Object.fromEntries(Object.entries(one).filter(([name]) => !name.includes("@")).map(([name, value]) => [NAMES[name] ?? name, TYPES[one[`${name}@odata.type`]]?.(value) ?? value]));
}

async function names(found) {
  const list = [];
  if (found[Symbol.asyncIterator]) for await (const each of found) list.push(each);
  else list.push(found);
  return list.map((each) => each.TavolaPrimary ?? each.rowKey);
}

async function run(call) {
  try {
    const result = await call();
    return result?.rowKey || result?.[Symbol.asyncIterator] ? await names(result) : "ok";
  } catch (error) {
    if (error.statusCode) return String(error.statusCode);
    if (error instanceof RangeError) return "invalid";
    throw error;
  }
}

const [connection, jobs] = process.argv.slice(2), results = [];
for (const job of JSON.parse(await readFile(jobs))) {
  const code = await import(job.file);
  const table = TableClient.fromConnectionString(connection, job.table, { allowInsecureConnection: true });
  const told = [];
  await table.createTable();
  for (const [name, ...rest] of job.steps) told.push(await run(() => code[name === "delete" ? "remove" : name](table, ...rest.map(argument))));
  results.push(told);
}
console.log(JSON.stringify(results));
