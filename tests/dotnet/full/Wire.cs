// What is sent, in the builds that show it.

public class Wire : Staff
{
    readonly List<string> sent = [];

    /// <summary>Notes method and headers of what is sent.</summary>
    OperationContext Noting()
    {
        var context = new OperationContext();
        context.SendingRequest += (_, told) => sent.Add($"{told.Request.Method}\n{told.Request.Headers}");
        return context;
    }

    [Case]
    public void A_payload_format_is_asked_for()
    {
        var table = Table();
        foreach (var (format, accepted) in new[]
        {
            (TablePayloadFormat.Json, "odata=minimalmetadata"), (TablePayloadFormat.JsonFullMetadata, "odata=fullmetadata"),
            (TablePayloadFormat.JsonNoMetadata, "odata=nometadata")
        })
        {
            var options = new TableRequestOptions { PayloadFormat = format };
            table.Execute(TableOperation.InsertOrReplace(new Employee("Sales", "Adams")), options, Noting());
            table.Execute(TableOperation.Retrieve<Employee>("Sales", "Adams"), options, Noting());
            Check.Equal(1, table.ExecuteQuery(new TableQuery<Employee>(), options, Noting()).Count());
            Check.Equal(3, sent.Count);
            Check.That(sent.Skip(1).All(one => one.Contains(accepted)), $"{accepted} was asked for by all of: {string.Join("; ", sent)}");
            Check.That(sent.All(one => one.Contains("DataServiceVersion: 3.0")), $"the version of OData is in all of: {string.Join("; ", sent)}");
            sent.Clear();
        }
    }

    [Case]
    public void A_merge_has_the_verb_of_old()
    {
        var table = Sales("Adams");
        table.Execute(TableOperation.Merge(new Employee("Sales", "Adams", 7) { ETag = "*" }), null, Noting());
        Check.That(sent[0].StartsWith("MERGE") || sent[0].Contains("X-HTTP-Method: MERGE"), sent[0]);
        Check.Equal(7, Read<Employee>(table, "Sales", "Adams").Age);
    }
}
