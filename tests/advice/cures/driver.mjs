// Run the JavaScript code of cures: see driver.py.

import { readFile } from "node:fs/promises";
import { TableClient, TableServiceClient } from "@azure/data-tables";
import { ContainerClient } from "@azure/storage-blob";

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
    if (["bigint", "number", "string"].includes(typeof result) || Buffer.isBuffer(result)) return String(result);
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
  const container = new ContainerClient(connection, job.table.toLowerCase());
  if (["log_blob", "large"].includes(job.c)) await container.create();
  const blobs = async () => {
    let count = 0;
    for await (const _ of container.listBlobsFlat()) count++;
    return count;
  };
  const told = [];
  // The table is there already.
  for (const [name, ...rest] of job.steps) {
    passMillisecond();
    const call = name === "behind" ? behind : name === "blobs" ? blobs : code[NAMES[name] ?? name];
    const of = { period: [name === "drop_before" ? service : open], log_blob: [container], large: [table, container] }[job.c] ?? [table];
    const given = rest.map(argument);
    if (name === "put" && job.c === "large") given[1] = Buffer.from(given[1]);
    told.push(await run(() => call(...of, ...given), job.c.includes("select")));
  }
  results.push(told);
}
console.log(JSON.stringify(results));
