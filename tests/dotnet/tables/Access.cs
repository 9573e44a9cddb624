// Shared access signatures, stored policies, wrong keys.

public class Access : Staff
{
    static SharedAccessTablePolicy May(SharedAccessTablePermissions permissions) =>
        new() { Permissions = permissions, SharedAccessExpiryTime = DateTimeOffset.UtcNow.AddDays(1) };

    const SharedAccessTablePermissions All = SharedAccessTablePermissions.Query | SharedAccessTablePermissions.Add |
                                             SharedAccessTablePermissions.Update | SharedAccessTablePermissions.Delete;

    static CloudTable By(CloudTable table, string signature) => new(table.Uri, new StorageCredentials(signature));

    [Case]
    public void A_signature_allows_what_it_says()
    {
        var table = Sales("Adams");
        var reader = By(table, table.GetSharedAccessSignature(May(SharedAccessTablePermissions.Query)));
        Check.That(Read<Employee>(reader, "Sales", "Adams") != null, "it reads");
        Check.Equal(2, reader.ExecuteQuery(new TableQuery<DynamicTableEntity>()).Count());
        Refused(403, null, () => reader.Execute(TableOperation.Insert(new Employee("Sales", "Baker"))));
        Refused(403, null, () => reader.Execute(TableOperation.InsertOrMerge(new Employee("Sales", "Adams"))));
        Refused(403, null, () => reader.Execute(TableOperation.Delete(new Employee("Sales", "Adams") { ETag = "*" })));
        var adder = By(table, table.GetSharedAccessSignature(May(SharedAccessTablePermissions.Add)));
        adder.Execute(TableOperation.Insert(new Employee("Sales", "Baker")));
        Refused(403, null, () => Read<Employee>(adder, "Sales", "Baker"));
        var writer = By(table, table.GetSharedAccessSignature(May(All)));
        var batch = new TableBatchOperation();
        batch.InsertOrReplace(new Employee("Sales", "Clark"));
        batch.Delete(new Employee("Sales", "Baker") { ETag = "*" });
        writer.ExecuteBatch(batch);
        Check.That(Read<Employee>(writer, "Sales", "Baker") == null, "it is deleted");
    }

    [Case]
    public void A_signature_covers_a_range_of_keys()
    {
        var table = Sales("Adams", "Baker", "Clark");
        table.Execute(TableOperation.Insert(new Employee("Marketing", "Adams")));
        var reader = By(table, table.GetSharedAccessSignature(May(All), null, "Sales", "B", "Sales", "C~"));
        Check.Sequence(["Baker", "Clark"], reader.ExecuteQuery(new TableQuery<DynamicTableEntity>()).Select(one => one.RowKey));
        Check.That(Read<Employee>(reader, "Sales", "Baker") != null, "inside");
        Refused(403, null, () => Read<Employee>(reader, "Sales", "Adams"));
        Refused(403, null, () => Read<Employee>(reader, "Marketing", "Adams"));
        reader.Execute(TableOperation.InsertOrMerge(new Employee("Sales", "Brown")));
        Refused(403, null, () => reader.Execute(TableOperation.InsertOrMerge(new Employee("Sales", "Evans"))));
        var partition = By(table, table.GetSharedAccessSignature(May(All), null, "Marketing", null, "Marketing", null));
        Check.Sequence(["Adams"], partition.ExecuteQuery(new TableQuery<DynamicTableEntity>()).Select(one => one.RowKey));
    }

    [Case]
    public void A_stored_policy_is_made_used_and_withdrawn()
    {
        var table = Sales("Adams");
        var permissions = new TablePermissions();
        permissions.SharedAccessPolicies.Add("readers", May(SharedAccessTablePermissions.Query));
        permissions.SharedAccessPolicies.Add("writers", May(All));
        table.SetPermissions(permissions);
        var read = table.GetPermissions().SharedAccessPolicies;
        Check.Sequence(["readers", "writers"], read.Keys.Order());
        Check.Equal(All, read["writers"].Permissions);
        var reader = By(table, table.GetSharedAccessSignature(null, "readers", null, null, null, null));
        Check.That(Read<Employee>(reader, "Sales", "Adams") != null, "it reads");
        Refused(403, null, () => reader.Execute(TableOperation.Insert(new Employee("Sales", "Baker"))));
        table.SetPermissions(new TablePermissions());
        Refused(403, null, () => Read<Employee>(reader, "Sales", "Adams"));
        Check.Equal(0, table.GetPermissions().SharedAccessPolicies.Count);
    }

    [Case]
    public void A_signature_of_the_account_covers_its_tables()
    {
        var account = CloudStorageAccount.Parse(Connection);
        var signature = account.GetSharedAccessSignature(new SharedAccessAccountPolicy
        {
            Services = SharedAccessAccountServices.Table, Permissions = SharedAccessAccountPermissions.List | SharedAccessAccountPermissions.Create |
                SharedAccessAccountPermissions.Read | SharedAccessAccountPermissions.Add | SharedAccessAccountPermissions.Delete,
            ResourceTypes = SharedAccessAccountResourceTypes.Object | SharedAccessAccountResourceTypes.Container,
            SharedAccessExpiryTime = DateTimeOffset.UtcNow.AddDays(1)
        });
        var client = new CloudTableClient(account.TableEndpoint, new StorageCredentials(signature));
        var table = Table(client);
        table.Execute(TableOperation.Insert(new Employee("Sales", "Adams")));
        Check.Equal(1, table.ExecuteQuery(new TableQuery<DynamicTableEntity>()).Count());
        Check.Equal(1, client.ListTables(table.Name).Count());
        Refused(403, null, () => table.Execute(TableOperation.Merge(new Employee("Sales", "Adams") { ETag = "*" })));
        table.Delete();
    }

    [Case]
    public void A_signature_that_is_over_or_changed_is_refused()
    {
        var table = Sales("Adams");
        var past = new SharedAccessTablePolicy { Permissions = All, SharedAccessExpiryTime = DateTimeOffset.UtcNow.AddDays(-1) };
        Refused(403, "AuthenticationFailed", () => Read<Employee>(By(table, table.GetSharedAccessSignature(past)), "Sales", "Adams"));
        var changed = table.GetSharedAccessSignature(May(SharedAccessTablePermissions.Query)).Replace("sp=r", "sp=raud");
        Refused(403, "AuthenticationFailed", () => Read<Employee>(By(table, changed), "Sales", "Adams"));
    }

    [Case]
    public void A_wrong_key_is_refused()
    {
        var table = Sales("Adams");
        var client = Client();
        var wrong = new CloudTable(table.Uri, new StorageCredentials(client.Credentials.AccountName, Convert.ToBase64String(new byte[64])));
        Refused(403, "AuthenticationFailed", () => Read<Employee>(wrong, "Sales", "Adams"));
    }
}
