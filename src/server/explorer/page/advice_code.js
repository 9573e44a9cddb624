// The cure of a finding as code, where a key is the cure: the second copy, and the query that uses it.

/** A template like email_{Email} as an expression of a language. */
function expression(template, join) {
  const parts = [...template.matchAll(/\{([^}:]+)(?::[^}]*)?\}|([^{}]+)/g)].map(([, name, text]) => name ? { name } : { text });
  return join(parts);
}

const python = parts => `f"${parts.map(part => part.name ? `{e['${part.name}']}` : part.text).join('')}"`;
const csharp = parts => `$"${parts.map(part => part.name ? `{e["${part.name}"]}` : part.text).join('')}"`;
const javascript = parts => `\`${parts.map(part => part.name ? `\${e.${part.name === 'PartitionKey' ? 'partitionKey' : part.name === 'RowKey' ? 'rowKey' : part.name}}` : part.text).join('')}\``;

const BATCH = {
  C: `/* up to 100 of one partition, in one request, all or none */
tavola_batch *batch = tavola_batch_new(table);
for (size_t i = 0; i < count && i < 100; i++)
    tavola_batch_add(batch, TAVOLA_INSERT_OR_REPLACE, entities[i], NULL);
err = tavola_batch_run(batch, NULL);
tavola_batch_free(batch);`,
  Python: `# up to 100 of one partition, in one request, all or none
table.submit_transaction([("upsert", e) for e in entities[:100]])`,
  'C#': `// up to 100 of one partition, in one request, all or none
await table.SubmitTransactionAsync(entities.Take(100).Select(
    e => new TableTransactionAction(TableTransactionActionType.UpsertReplace, e)));`,
  JavaScript: `// up to 100 of one partition, in one request, all or none
await table.submitTransaction(entities.slice(0, 100).map((e) => ["upsert", e]));`,
};
const DELETES = {
  C: `/* finds the keys and deletes them, up to 100 of a partition in a request */
err = tavola_delete_where(table, tavola_where("PartitionKey", TAVOLA_EQ, tavola_string(partition)),
                          NULL, &deleted);`,
  Python: `keys = table.query_entities("PartitionKey eq @p", parameters={"p": partition}, select=["PartitionKey", "RowKey"])
for some in batched(keys, 100):
    table.submit_transaction([("delete", e) for e in some])`,
  'C#': `var keys = table.QueryAsync<TableEntity>(e => e.PartitionKey == partition, select: new[] { "PartitionKey", "RowKey" });
await foreach (var page in keys.AsPages(pageSizeHint: 100))
    await table.SubmitTransactionAsync(page.Values.Select(
        e => new TableTransactionAction(TableTransactionActionType.Delete, e)));`,
  JavaScript: `const keys = table.listEntities({ queryOptions: { filter: odata\`PartitionKey eq \${partition}\`, select: ["PartitionKey", "RowKey"] } });
for await (const page of keys.byPage({ maxPageSize: 100 }))
  if (page.length) await table.submitTransaction(page.map((e) => ["delete", e]));`,
};
const SELECT = {
  C: `tavola_query_select(query, (const char *const[]){"Name", "Status", NULL}); /* what is used */`,
  Python: `table.query_entities(filter, select=["Name", "Status"])  # what is used`,
  'C#': `table.QueryAsync<TableEntity>(filter, select: new[] { "Name", "Status" }); // what is used`,
  JavaScript: `table.listEntities({ queryOptions: { filter, select: ["Name", "Status"] } }); // what is used`,
};
const PAGES = {
  C: `/* a scan follows the tokens to the end; a limit stops it, and the server, where you stop */
tavola_query_set_limit(query, 50);
err = tavola_scan_open(table, query, NULL, &scan);
while (err == TAVOLA_OK && (err = tavola_scan_next(scan, &entity)) == TAVOLA_OK && entity)
    use(entity);
tavola_scan_close(scan);`,
  Python: `# the iterator follows the tokens to the end; results_per_page asks for what is used
for e in table.query_entities(filter, results_per_page=50):
    use(e)`,
  'C#': `// the iterator follows the tokens to the end; maxPerPage asks for what is used
await foreach (var e in table.QueryAsync<TableEntity>(filter, maxPerPage: 50)) Use(e);`,
  JavaScript: `// the iterator follows the tokens to the end; maxPageSize asks for what is used
for await (const page of table.listEntities({ queryOptions: { filter } }).byPage({ maxPageSize: 50 }))
  page.forEach(use);`,
};
const RANGE = {
  C: `/* one range instead of many points */
tavola_query *query = tavola_query_new(tavola_and(
    tavola_where("PartitionKey", TAVOLA_EQ, tavola_string(partition)), tavola_where_prefix("RowKey", "order_")));`,
  Python: `# one range instead of many points
table.query_entities("PartitionKey eq @p and RowKey ge 'order_' and RowKey lt 'order\`'", parameters={"p": partition})`,
  'C#': `// one range instead of many points
table.QueryAsync<TableEntity>(TableClient.CreateQueryFilter($"PartitionKey eq {partition} and RowKey ge 'order_' and RowKey lt 'order\`'"));`,
  JavaScript: `// one range instead of many points
table.listEntities({ queryOptions: { filter: odata\`PartitionKey eq \${partition} and RowKey ge 'order_' and RowKey lt 'order\\\`'\` } });`,
};
const BY_RULE = { W01: DELETES, W03: BATCH, W04: BATCH, Q08: RANGE, Q09: SELECT, C01: PAGES, C02: PAGES };

/** {C, Python, 'C#', JavaScript}; {} where the cure is no code. */
export function codeFor(finding) {
  const proposal = finding.cure.proposal;
  if (!proposal?.partitionKey || !proposal.rowKey) return BY_RULE[finding.code] || {};
  const { partitionKey, rowKey, filterAfter = '' } = proposal, query = filterAfter.replace(/"/g, '\\"');
  const index = /^([^{}]*)\{(\w+)\}$/.exec(rowKey);
  return {
    C: partitionKey === '{PartitionKey}' && index ? `static const tavola_index index = {.prefix = "${index[1]}", .property = "${index[2]}"};

err = tavola_indexed_put(table, &index, 1, entity, NULL); /* the entity and its copy, together */
err = tavola_indexed_get(table, &index, partition, value, NULL, &found); /* one point query */` : `/* a second copy: PartitionKey = ${partitionKey}
 *                RowKey       = ${rowKey}
 * ${(finding.cure.functions || []).join(', ')} */
tavola_query *query = tavola_query_new(tavola_filter_raw("${query}"));`,
    Python: `copy = dict(e)
copy["PartitionKey"] = ${expression(partitionKey, python)}
copy["RowKey"] = ${expression(rowKey, python)}
table.upsert_entity(copy)

table.query_entities("${query}")`,
    'C#': `var copy = new TableEntity(e);
copy.PartitionKey = ${expression(partitionKey, csharp)};
copy.RowKey = ${expression(rowKey, csharp)};
await table.UpsertEntityAsync(copy);

table.QueryAsync<TableEntity>("${query}");`,
    JavaScript: `await table.upsertEntity({
  ...e,
  partitionKey: ${expression(partitionKey, javascript)},
  rowKey: ${expression(rowKey, javascript)},
});

table.listEntities({ queryOptions: { filter: "${query}" } });`,
  };
}

// --- the command that replays a trace ---

const PLACEHOLDER = /^[^:{}]+(:(pad\(\d+\)|ticks|inv|date\(\w+\)|lower|first\(\d+\)|hash\(\d+\)))?$/;
const COPIES = new Set(['intra-partition-secondary-index', 'inter-partition-secondary-index', 'log-tail']);
const KEYS = new Set(['finer-partition-key', 'spread-partition', 'padded-number']);
const shellQuoted = text => `'${text.replace(/'/g, `'\\''`)}'`;

/** `tavola whatif ...` for a proposal; '' when it proposes no keys that whatif could try. */
export function whatifCommand(finding) {
  const { pattern, partitionKey, rowKey, columns } = finding.cure.proposal || {};
  const flag = COPIES.has(pattern) ? '--copy' : KEYS.has(pattern) ? '--key' : '';
  const names = [...`${partitionKey}${rowKey}`.matchAll(/\{([^{}]*)\}/g)].map(([, inside]) => inside);
  if (!flag || !partitionKey || !rowKey || !names.every(name => PLACEHOLDER.test(name))) return '';
  return `tavola whatif run.trace --table ${finding.table} ${flag} ${shellQuoted(`PartitionKey=${partitionKey};RowKey=${rowKey}${flag === '--copy' && columns?.length ? `;Columns=${columns.join(',')}` : ''}`)}`;
}

// --- the place on the map ---

const MEASURES = { Q: 'scanned', K: 'scanned', W: 'writes', D: 'bytes', C: 'reads' }, BY_CODE = { Q08: 'reads', Q09: 'bytes', P03: 'conflicts', P04: 'writes', P05: 'writes', W01: 'deletes', W02: 'deletes' };
const LEAST_S = 900; // a finding of a moment is shown with what is around it

/** What the heat map has to be asked for: its measure, the time and the keys of a finding. */
export function placeOnMap({ code, map, subject = {} }, now = Date.now()) {
  const place = { m: BY_CODE[code] || MEASURES[code?.[0]] || 'reads' };
  if (!map?.from) return place;
  const middle = (Date.parse(map.from) + Date.parse(map.to)) / 2000, half = Math.max(LEAST_S, (Date.parse(map.to) - Date.parse(map.from)) / 1000) / 2;
  if (now / 1000 - middle - half > 4 * 86400) place.g = '1h'; else if (now / 1000 - (middle - half) > 6 * 3600) place.g = '10m';
  place.x = `${Math.floor(middle - half)},${Math.ceil(middle + half)}`;
  if (map.toKey?.length) {
    const [partition, row] = map.fromKey;
    place.y = JSON.stringify(map.toKey.length === 2 && subject.rowKey != null ? [[partition, row], [partition, row, '']] : [[partition], [partition, '\u0002']]);
  }
  return place;
}
