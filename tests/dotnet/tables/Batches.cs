// Entity group transactions.

public class Batches : Staff
{
    [Case]
    public void A_batch_does_everything_at_once()
    {
        var table = Sales("Adams", "Baker", "Clark", "Davis");
        Employee Sent(string name, string etag) => new("Sales", name, 50) { ETag = etag, LastName = null };
        var batch = new TableBatchOperation
        {
            TableOperation.Insert(new Employee("Sales", "New")),
            TableOperation.Delete(Sent("Adams", "*")),
            TableOperation.Replace(Sent("Baker", "*")),
            TableOperation.Merge(Sent("Clark", Read<Employee>(table, "Sales", "Clark").ETag)),
            TableOperation.InsertOrMerge(Sent("Davis", null)),
            TableOperation.InsertOrReplace(Sent("Evans", null))
        };
        var results = table.ExecuteBatch(batch);
        Check.Sequence([204, 204, 204, 204, 204, 204], results.Select(one => one.HttpStatusCode == 201 ? 204 : one.HttpStatusCode));
        Check.That(results.Where((_, n) => n != 1).All(one => one.Etag.StartsWith("W/")), "each has an etag");
        var left = table.ExecuteQuery(new TableQuery<Employee>().Where(Rows("A", "Dd")).Take(9)).ToDictionary(one => one.RowKey);
        Check.Equal("Baker Clark Davis", string.Join(" ", left.Keys));
        Check.That(left["Baker"].LastName == null, "replaced");
        Check.Equal("Clark", left["Clark"].LastName, "merged");
        Check.Equal("Davis", left["Davis"].LastName, "merged");
        Check.That(left.Values.All(one => one.Age == 50), "all are changed");
    }

    [Case]
    public void A_hundred_operations_fit()
    {
        var table = Many("Sales", 100);
        Check.Equal(100, table.ExecuteQuery(new TableQuery<DynamicTableEntity>().Where(In("Sales"))).Count());
    }

    [Case]
    public void A_batch_that_fails_does_nothing_and_names_the_operation()
    {
        var table = Sales("Adams");
        var batch = new TableBatchOperation();
        batch.Insert(new Employee("Sales", "Baker"));
        batch.Insert(new Employee("Sales", "Clark"));
        batch.Insert(new Employee("Sales", "Adams"));
        var trouble = Refused(409, "EntityAlreadyExists", () => table.ExecuteBatch(batch));
        Check.That(trouble.RequestInformation.ExtendedErrorInformation.ErrorMessage.StartsWith("2:"), "the third is named");
        Check.That(Read<Employee>(table, "Sales", "Baker") == null, "nothing was written");
    }

    [Case]
    public void A_stale_etag_fails_the_batch()
    {
        var table = Sales("Adams");
        var stale = Read<Employee>(table, "Sales", "Adams");
        table.Execute(TableOperation.InsertOrMerge(new Employee("Sales", "Adams", 2)));
        var batch = new TableBatchOperation();
        batch.Insert(new Employee("Sales", "Baker"));
        batch.Replace(stale);
        Refused(412, "UpdateConditionNotSatisfied", () => table.ExecuteBatch(batch));
        Check.That(Read<Employee>(table, "Sales", "Baker") == null, "nothing was written");
    }

    [Case]
    public void A_batch_reads_one_entity()
    {
        var table = Sales("Adams");
        var batch = new TableBatchOperation();
        batch.Retrieve<Employee>("Sales", "Adams");
        Check.Equal("adams@contoso.com", ((Employee)table.ExecuteBatch(batch).Single().Result).Email);
        batch = new TableBatchOperation();
        batch.Retrieve<Employee>("Sales", "Nobody");
        Check.Equal(404, table.ExecuteBatch(batch).Single().HttpStatusCode);
    }

    [Case]
    public void An_insert_in_a_batch_can_echo()
    {
        var table = Table();
        var batch = new TableBatchOperation();
        batch.Insert(new Employee("Sales", "Adams"), true);
        batch.Insert(new Employee("Sales", "Baker"), false);
        var results = table.ExecuteBatch(batch);
        Check.Sequence([201, 204], results.Select(one => one.HttpStatusCode));
        Check.That(((Employee)results[0].Result).Timestamp != default, "the echo has its time");
    }
}
