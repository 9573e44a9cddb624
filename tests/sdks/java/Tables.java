import com.azure.core.http.rest.PagedResponse;
import com.azure.data.tables.*;
import com.azure.data.tables.models.*;
import com.azure.data.tables.sas.*;
import java.time.OffsetDateTime;
import java.util.*;

class Tables {
    static void run() {
        TableServiceClient service = new TableServiceClientBuilder().connectionString(Smoke.CONNECTION).buildClient();
        TableClient table = service.getTableClient("smoke");

        Smoke.check("table: create", table::createTable);
        Smoke.check("table: create twice", () -> {
            Smoke.refused(409, "TableAlreadyExists", table::createTable);
            service.createTableIfNotExists("smoke");
        });
        Smoke.check("table: list", () -> Smoke.same("smoke", service
            .listTables(new ListTablesOptions().setFilter("TableName eq 'smoke'").setTop(5), null, null)
            .iterator().next().getName()));
        Smoke.check("table: insert, get", () -> {
            OffsetDateTime time = OffsetDateTime.parse("2026-01-02T03:04:05Z");
            UUID guid = UUID.fromString("6f9619ff-8b86-d011-b42d-00c04fc964ff");
            table.createEntity(new TableEntity("p", "1").addProperty("s", "é'").addProperty("i", 7)
                .addProperty("d", 1.5).addProperty("b", true).addProperty("l", 9007199254740993L)
                .addProperty("t", time).addProperty("g", guid).addProperty("x", new byte[] {1, 2, 3}));
            TableEntity got = table.getEntity("p", "1");
            Smoke.same(List.of("é'", 7, 1.5, true, 9007199254740993L, time, guid),
                List.of(got.getProperty("s"), got.getProperty("i"), got.getProperty("d"), got.getProperty("b"),
                    got.getProperty("l"), got.getProperty("t"), got.getProperty("g")));
            Smoke.same(3, ((byte[]) got.getProperty("x")).length);
        });
        Smoke.check("table: insert twice", () -> Smoke.refused(409, "EntityAlreadyExists",
            () -> table.createEntity(new TableEntity("p", "1"))));
        Smoke.check("table: merge and replace", () -> {
            table.updateEntity(new TableEntity("p", "1").addProperty("i", 8), TableEntityUpdateMode.MERGE);
            Smoke.same("é'", table.getEntity("p", "1").getProperty("s"));
            table.updateEntity(new TableEntity("p", "1").addProperty("i", 9), TableEntityUpdateMode.REPLACE);
            Smoke.same(null, table.getEntity("p", "1").getProperty("s"));
        });
        Smoke.check("table: an ETag that does not match", () -> {
            TableEntity old = table.getEntity("p", "1");
            table.updateEntity(new TableEntity("p", "1").addProperty("i", 10));
            Smoke.refused(412, "UpdateConditionNotSatisfied",
                () -> table.updateEntityWithResponse(old, TableEntityUpdateMode.MERGE, true, null, null));
            Smoke.refused(412, "UpdateConditionNotSatisfied",
                () -> table.deleteEntityWithResponse(old, true, null, null));
        });
        Smoke.check("table: insert or merge, insert or replace", () -> {
            table.upsertEntity(new TableEntity("p", "2").addProperty("a", 1));
            table.upsertEntityWithResponse(new TableEntity("p", "2").addProperty("b", 2),
                TableEntityUpdateMode.MERGE, null, null);
            Smoke.same(1, table.getEntity("p", "2").getProperty("a"));
            table.upsertEntityWithResponse(new TableEntity("p", "2").addProperty("c", 3),
                TableEntityUpdateMode.REPLACE, null, null);
            Smoke.same(null, table.getEntity("p", "2").getProperty("a"));
        });
        Smoke.check("table: transaction", () -> {
            List<TableTransactionAction> actions = new ArrayList<>();
            for (int i = 0; i < 20; i++)
                actions.add(new TableTransactionAction(TableTransactionActionType.CREATE,
                    new TableEntity("p", String.format("b%02d", i)).addProperty("n", i)));
            Smoke.same(20, table.submitTransaction(actions).getTransactionActionResponses().size());
            try {
                table.submitTransaction(actions.subList(3, 5));
                throw new AssertionError("it went well");
            } catch (TableTransactionFailedException expected) {
                Smoke.same(0, expected.getFailedTransactionActionIndex());
            }
        });
        Smoke.check("table: query by filter, in pages", () -> {
            int count = 0, pages = 0;
            for (PagedResponse<TableEntity> page : table.listEntities(new ListEntitiesOptions()
                .setFilter("PartitionKey eq 'p' and n ge 5").setSelect(List.of("RowKey", "n")).setTop(4), null, null)
                .iterableByPage()) {
                count += page.getValue().size();
                pages++;
            }
            Smoke.same("15 in 4", count + " in " + pages);
        });
        Smoke.check("table: delete entity", () -> {
            table.deleteEntity("p", "2");
            Smoke.refused(404, "ResourceNotFound", () -> table.getEntity("p", "2"));
        });
        Smoke.check("table: access policies", () -> {
            table.setAccessPolicies(List.of(new TableSignedIdentifier("reader").setAccessPolicy(
                new TableAccessPolicy().setStartsOn(OffsetDateTime.now().minusMinutes(5))
                    .setExpiresOn(OffsetDateTime.now().plusHours(1)).setPermissions("r"))));
            TableSignedIdentifier got = table.getAccessPolicies().getIdentifiers().get(0);
            Smoke.same("reader r", got.getId() + " " + got.getAccessPolicy().getPermissions());
            table.setAccessPolicies(List.of());
            Smoke.same(null, table.getAccessPolicies().getIdentifiers()); // so the client says "none"
        });
        Smoke.check("table: SAS of a table", () -> {
            String sas = table.generateSas(new TableSasSignatureValues(OffsetDateTime.now().plusHours(1),
                TableSasPermission.parse("r")).setProtocol(TableSasProtocol.HTTPS_HTTP));
            TableClient reader = new TableClientBuilder().endpoint(System.getenv("TAVOLA_TABLES"))
                .tableName("smoke").sasToken(sas).buildClient();
            reader.getEntity("p", "1");
            Smoke.refused(403, "AuthorizationPermissionMismatch", () -> reader.deleteEntity("p", "1"));
        });
        Smoke.check("table: service properties", () -> {
            TableServiceProperties before = service.getProperties();
            service.setProperties(new TableServiceProperties().setCorsRules(List.of(new TableServiceCorsRule()
                .setAllowedOrigins("http://example.org").setAllowedMethods("GET").setAllowedHeaders("*")
                .setExposedHeaders("*").setMaxAgeInSeconds(5))));
            Smoke.same("http://example.org", service.getProperties().getCorsRules().get(0).getAllowedOrigins());
            service.setProperties(before);
        });
        Smoke.check("table: delete", () -> {
            table.deleteTable();
            Smoke.refused(404, "TableNotFound", () -> table.getEntity("p", "1"));
        });
    }
}
