// The cure of a finding as code, where a key is the cure: the second copy, and the query that uses it.

/** A template like email_{Email} as an expression of a language. */
function expression(template, join) {
  const parts = [...template.matchAll(/\{([^}:]+)(?::[^}]*)?\}|([^{}]+)/g)].map(([, name, text]) => name ? { name } : { text });
  return join(parts);
}

const python = parts => `f"${parts.map(part => part.name ? `{e['${part.name}']}` : part.text).join('')}"`;
const csharp = parts => `$"${parts.map(part => part.name ? `{e["${part.name}"]}` : part.text).join('')}"`;
const javascript = parts => `\`${parts.map(part => part.name ? `\${e.${part.name === 'PartitionKey' ? 'partitionKey' : part.name === 'RowKey' ? 'rowKey' : part.name}}` : part.text).join('')}\``;

/** {C, Python, 'C#', JavaScript}; {} when no key is proposed. */
export function codeFor(finding) {
  const proposal = finding.cure.proposal;
  if (!proposal?.partitionKey || !proposal.rowKey) return {};
  const { partitionKey, rowKey, filterAfter = '' } = proposal, functions = (finding.cure.functions || []).join(', ');
  const query = filterAfter.replace(/"/g, '\\"');
  return {
    C: `/* ${functions} */
/* a second copy: PartitionKey = ${partitionKey}
 *                RowKey       = ${rowKey} */
tavola_query *query = tavola_query_new(tavola_where("${query}"));`,
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
