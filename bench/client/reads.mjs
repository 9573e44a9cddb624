// Point reads with @azure/data-tables, many in flight: the load that client_bench makes in C.
//   node reads.mjs ENDPOINT ACCOUNT KEY TABLE COUNT IN_FLIGHT SECONDS
import { AzureNamedKeyCredential, TableClient } from "@azure/data-tables";

const [endpoint, account, key, table, count, inFlight, seconds] = process.argv.slice(2);
const client = new TableClient(endpoint, table, new AzureNamedKeyCredential(account, key),
  { allowInsecureConnection: true });
const partitions = 1000;
let next = 0;
let done = 0;
const began = performance.now();
const cpu = process.cpuUsage();

async function read() {
  while (performance.now() - began < seconds * 1000) {
    next = (next + 7919) % count;
    await client.getEntity(`p${String(next % partitions).padStart(3, "0")}`,
      `r${String(Math.floor(next / partitions)).padStart(9, "0")}`);
    done++;
  }
}

await Promise.all(Array.from({ length: Number(inFlight) }, read));
const used = process.cpuUsage(cpu);
console.log(JSON.stringify({ count: done, seconds: (performance.now() - began) / 1000,
  cpu_s: (used.user + used.system) / 1e6, rss_kb: process.resourceUsage().maxRSS }));
