// How an application connects, in each language; (account, connection string) -> text.

const c = (account, connection) => `/* cc app.c $(pkg-config --cflags --libs tavola) */
#include <tavola.h>

tavola_client *client = NULL;
tavola_table *people = NULL;
tavola_entity *ada = tavola_entity_new("Sales", "121");

tavola_entity_set_string(ada, "Name", "Ada");
if (tavola_client_open("${connection}", NULL, &client) ||
    tavola_table_open(client, "People", &people) ||
    tavola_table_create_if_absent(people, NULL) || tavola_insert_or_replace(people, ada, NULL))
    return 1;`;

export const SNIPPETS = {
  Python: (account, connection) => `# pip install azure-data-tables
from azure.data.tables import TableServiceClient

service = TableServiceClient.from_connection_string(
    "${connection}")
people = service.create_table_if_not_exists("People")
people.upsert_entity({"PartitionKey": "Sales", "RowKey": "1", "Name": "Ada"})
print(people.get_entity("Sales", "1"))`,

  JavaScript: (account, connection) => `// npm install @azure/data-tables
import { TableClient } from '@azure/data-tables';

const people = TableClient.fromConnectionString(
  '${connection}',
  'People', { allowInsecureConnection: true });
await people.createTable();
await people.upsertEntity({ partitionKey: 'Sales', rowKey: '1', name: 'Ada' });
console.log(await people.getEntity('Sales', '1'));`,

  '.NET': (account, connection) => `// dotnet add package Azure.Data.Tables
using Azure.Data.Tables;

var people = new TableClient(
    "${connection}", "People");
await people.CreateIfNotExistsAsync();
await people.UpsertEntityAsync(new TableEntity("Sales", "1") { ["Name"] = "Ada" });
Console.WriteLine(await people.GetEntityAsync<TableEntity>("Sales", "1"));`,

  Java: (account, connection) => `// com.azure:azure-data-tables
TableClient people = new TableClientBuilder()
    .connectionString("${connection}")
    .tableName("People").buildClient();
people.createTable();
people.upsertEntity(new TableEntity("Sales", "1").addProperty("Name", "Ada"));
System.out.println(people.getEntity("Sales", "1").getProperties());`,

  Go: (account, connection) => `// go get github.com/Azure/azure-sdk-for-go/sdk/data/aztables
service, err := aztables.NewServiceClientFromConnectionString(
    "${connection}", nil)
people := service.NewClient("People")
_, err = people.CreateTable(ctx, nil)
_, err = people.UpsertEntity(ctx,
    []byte(\`{"PartitionKey":"Sales","RowKey":"1","Name":"Ada"}\`), nil)`,

  Rust: account => `// cargo add azure_storage_queue azure_core; there is no crate for tables yet
let url = Url::parse("${account.endpoints.queue}?<SAS>")?;
let service = QueueServiceClient::new(url, None)?;
let work = service.queue_client("work");
work.create(None).await?;`,

  C: c,

  curl: account => `# with a SAS: make one under Shared access
curl -H 'Accept: application/json;odata=nometadata' \\
  "${account.endpoints.table}/People()?$filter=PartitionKey%20eq%20'Sales'&<SAS>"`,

  tavola: (account, connection) => `# the command line tool beside the server
export AZURE_STORAGE_CONNECTION_STRING='${connection}'
tavola table create People
tavola insert People Sales 1 Name=Ada
tavola query People --where "PartitionKey eq 'Sales'"`,
};
