// Answers without metadata.  Not in the build for the .NET Framework: it knows them by the text of their content type,
// which HttpWebResponse of today gives it in another form than the service sent it.

public class NoMetadata : Staff
{
    [Case]
    public void No_metadata_is_read() => Dialects.Reads(TablePayloadFormat.JsonNoMetadata);

    [Case]
    public void Without_metadata_types_come_from_the_program()
    {
        var table = Table();
        table.Execute(TableOperation.Insert(new DynamicTableEntity("p", "r", null, new Dictionary<string, EntityProperty>
            { ["Long"] = new(7L), ["Id"] = new(Guid.Empty) })));
        var options = new TableRequestOptions
        {
            PayloadFormat = TablePayloadFormat.JsonNoMetadata,
            PropertyResolver = (_, _, name, _) => name == "Long" ? EdmType.Int64 : name == "Id" ? EdmType.Guid : EdmType.String
        };
        var found = (DynamicTableEntity)table.Execute(TableOperation.Retrieve<DynamicTableEntity>("p", "r"), options).Result;
        Check.Equal(7L, found.Properties["Long"].Int64Value);
        Check.Equal(Guid.Empty, found.Properties["Id"].GuidValue);
    }
}
