// Whatever filter texts LINQ makes.

public class Linq : Staff
{
    static TableQuery<Employee> Of(CloudTable table) => table.CreateQuery<Employee>();

    static void Finds(string names, IQueryable<Employee> query) =>
        Check.Equal(names, string.Join(" ", query.AsTableQuery().Execute().Select(one => one.RowKey)), query.AsTableQuery().FilterString ?? "LINQ");

    static CloudTable People()
    {
        var table = Table();
        var batch = new TableBatchOperation();
        foreach (var (name, age) in new[] { ("Adams", 20), ("Baker", 30), ("Brown", 40), ("Clark", 50), ("O'Hara", 60) })
            batch.Insert(new Employee("Sales", name, age) { FirstName = age < 40 ? "Ann" : "Bob" });
        table.ExecuteBatch(batch);
        return table;
    }

    [Case]
    public void A_range_of_rows_is_found()
    {
        var query = from one in Of(People())
                    where one.PartitionKey == "Sales" && one.RowKey.CompareTo("B") >= 0 && one.RowKey.CompareTo("C") < 0
                    select one;
        Finds("Baker Brown", query);
    }

    [Case]
    public void All_comparisons_are_understood()
    {
        var table = People();
        Finds("Baker", Of(table).Where(one => one.Age == 30));
        Finds("Adams Brown Clark O'Hara", Of(table).Where(one => one.Age != 30));
        Finds("Adams", Of(table).Where(one => one.Age < 30));
        Finds("Adams Baker", Of(table).Where(one => one.Age <= 30));
        Finds("O'Hara", Of(table).Where(one => one.Age > 50));
        Finds("Clark O'Hara", Of(table).Where(one => 50 <= one.Age));
        Finds("O'Hara", Of(table).Where(one => one.LastName == "O'Hara"));
    }

    [Case]
    public void Conditions_are_combined()
    {
        var table = People();
        Finds("Adams Clark", Of(table).Where(one => one.Age == 20 || one.Age == 50));
        Finds("Brown Clark O'Hara", Of(table).Where(one => !(one.Age < 40)));
        Finds("Baker Brown", Of(table).Where(one => one.Age > 20).Where(one => one.Age < 50));
        Finds("Baker", Of(table).Where(one => one.PartitionKey == "Sales" && (one.Age == 30 || one.Age == 99) && !(one.FirstName == "Bob")));
    }

    [Case]
    public void Values_of_the_program_are_written_out()
    {
        var table = People();
        var wanted = new { Ages = new[] { 20, 50 }, Name = "Clark" };
        Finds("Clark", Of(table).Where(one => one.Age == wanted.Ages[1] && one.LastName == wanted.Name));
        Finds("Adams Baker Brown Clark O'Hara", Of(table).Where(one => one.Timestamp < DateTimeOffset.UtcNow.AddDays(1)));
        Finds("", Of(table).Where(one => one.Timestamp < DateTimeOffset.UtcNow.AddDays(-1)));
    }

    [Case]
    public void Properties_of_all_types_are_compared()
    {
        var table = Table();
        var id = Guid.NewGuid();
        table.Execute(TableOperation.Insert(new DynamicTableEntity("p", "r", null, new Dictionary<string, EntityProperty>
        {
            ["I"] = new(-5), ["L"] = new(5_000_000_000L), ["D"] = new(-1.5), ["B"] = new(true), ["G"] = new(id), ["X"] = new(new byte[] { 1, 2 }),
            ["T"] = new(new DateTimeOffset(2026, 1, 2, 3, 4, 5, 678, TimeSpan.Zero)), ["S"] = new("a&b=c d+é")
        })));
        var all = table.CreateQuery<DynamicTableEntity>();
        var when = new DateTime(2026, 1, 2, 3, 4, 5, 678, DateTimeKind.Utc);
        foreach (var query in new[]
        {
            all.Where(one => one.Properties["I"].Int32Value == -5), all.Where(one => one.Properties["L"].Int64Value >= 5_000_000_000L),
            all.Where(one => one.Properties["D"].DoubleValue < -1.0), all.Where(one => one.Properties["B"].BooleanValue == true),
            all.Where(one => one.Properties["G"].GuidValue == id), all.Where(one => one.Properties["S"].StringValue == "a&b=c d+é"),
            all.Where(one => one.Properties["T"].DateTime == when)
        })
            Check.Equal(1, query.AsTableQuery().Execute().Count(), query.ToString());
    }

    [Case]
    public void First_and_single_are_one_row()
    {
        var table = People();
        Check.Equal("Baker", Of(table).Where(one => one.PartitionKey == "Sales" && one.RowKey == "Baker").Single().RowKey);
        Check.Equal("Adams", Of(table).Where(one => one.PartitionKey == "Sales").First().RowKey);
        Check.That(Of(table).Where(one => one.RowKey == "Nobody").FirstOrDefault() == null, "there is none");
    }

    [Case]
    public void Take_is_a_limit()
    {
        Check.Equal(2, Of(People()).Where(one => one.PartitionKey == "Sales").Take(2).AsTableQuery().Execute().Count());
    }

    [Case]
    public void A_selection_is_a_projection()
    {
        var found = (from one in Of(People()) where one.Age >= 50 select new { one.RowKey, one.Email }).ToList();
        Check.Sequence(["clark@contoso.com", "o'hara@contoso.com"], found.Select(one => one.Email));
    }

    [Case]
    public void A_query_goes_over_all_pages_of_a_table()
    {
        var table = Many("Sales", 1100);
        Check.Equal(1100, (from one in Of(table) where one.PartitionKey == "Sales" select one).AsTableQuery().Execute().Count());
        var segment = (from one in Of(table) where one.PartitionKey == "Sales" select one).AsTableQuery().ExecuteSegmented(null);
        Check.Equal(1000, segment.Results.Count);
        Check.That(segment.ContinuationToken != null, "there is more");
    }

    [Case]
    public void A_resolver_ends_a_query()
    {
        var names = Of(People()).Where(one => one.Age < 40).Resolve((_, row, _, properties, _) => $"{row}:{properties["Age"].Int32Value}").Execute();
        Check.Sequence(["Adams:20", "Baker:30"], names);
    }
}
