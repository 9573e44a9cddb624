// Scan a table by a property: see scan.py.

import { TableClient } from "@azure/data-tables";

const table = TableClient.fromConnectionString(process.argv[2], process.argv[3], { allowInsecureConnection: true });
for (let n = 0; n < 5; n++) for await (const e of table.listEntities({ queryOptions: { filter: `Email eq 'u${n}@x'` } })) void e;
