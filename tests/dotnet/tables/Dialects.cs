// What the clients of these years say on the wire, and what they are told.

public class Dialects : Staff
{
    public static void Reads(TablePayloadFormat format)
    {
        var client = Client();
        client.DefaultRequestOptions.PayloadFormat = format;
        var table = Table(client);
        table.Execute(TableOperation.Insert(new Employee("Sales", "Adams", 40), true));
        var batch = new TableBatchOperation();
        batch.Insert(new Employee("Sales", "Baker", 41), true);
        Check.Equal(41, ((Employee)table.ExecuteBatch(batch)[0].Result).Age, $"{format}, echo of a batch");
        var found = table.Execute(TableOperation.Retrieve<Employee>("Sales", "Adams"));
        Check.Equal(40, ((Employee)found.Result).Age, $"{format}");
        Check.That(found.Etag.StartsWith("W/\"datetime'") && ((Employee)found.Result).Timestamp != default, $"{format}: an etag and a time");
        var all = table.ExecuteQuery(new TableQuery<Employee>().Where(In("Sales"))).ToList();
        Check.Sequence([40, 41], all.Select(one => one.Age));
        Check.That(all.All(one => one.ETag.StartsWith("W/\"datetime'")), $"{format}: an etag for each");
    }

    [Case]
    public void Minimal_and_full_metadata_are_read()
    {
        Reads(TablePayloadFormat.Json);
        Reads(TablePayloadFormat.JsonFullMetadata);
    }

    [Case]
    public void An_insert_echoes_when_it_is_asked_to()
    {
        var table = Table();
        Check.Equal(201, table.Execute(TableOperation.Insert(new Employee("Sales", "Adams"), true)).HttpStatusCode);
        var quiet = table.Execute(TableOperation.Insert(new Employee("Sales", "Baker"), false));
        Check.Equal(204, quiet.HttpStatusCode);
        Check.Equal(Read<Employee>(table, "Sales", "Baker").ETag, quiet.Etag);
    }

    [Case]
    public void The_clients_request_id_comes_back()
    {
        var table = Sales("Adams");
        var context = new OperationContext { ClientRequestID = Guid.NewGuid().ToString() };
        table.Execute(TableOperation.Retrieve<Employee>("Sales", "Adams"), null, context);
        Check.That(context.LastResult.ServiceRequestID.Length > 30, "there is an id of the service");
        Check.Equal(200, context.LastResult.HttpStatusCode);
    }

    [Case]
    public void The_secondary_is_read_and_not_written()
    {
        var client = Replicated();
        var table = Table(client);
        table.Execute(TableOperation.Insert(new Employee("Sales", "Adams")));
        var secondary = new TableRequestOptions { LocationMode = LocationMode.SecondaryOnly };
        var context = new OperationContext();
        Check.That(table.Execute(TableOperation.Retrieve<Employee>("Sales", "Adams"), secondary, context).Result != null, "it is read");
        Check.Equal(StorageLocation.Secondary, context.LastResult.TargetLocation);
        Check.Equal(1, table.ExecuteQuery(new TableQuery<DynamicTableEntity>().Where(In("Sales")), secondary).Count());
        Check.Equal(GeoReplicationStatus.Live, client.GetServiceStats(secondary).GeoReplication.Status);
        var replica = new CloudTable(new Uri($"{client.StorageUri.SecondaryUri}/{table.Name}"), client.Credentials);
        Refused(403, null, () => replica.Execute(TableOperation.Insert(new Employee("Sales", "Baker"))));
    }

    [Case]
    public void Service_properties_are_kept()
    {
        var client = Client();
        var before = client.GetServiceProperties();
        var properties = new ServiceProperties(new LoggingProperties { Version = "1.0", LoggingOperations = LoggingOperations.Delete, RetentionDays = 3 },
            new MetricsProperties { Version = "1.0", MetricsLevel = MetricsLevel.ServiceAndApi, RetentionDays = 4 },
            new MetricsProperties { Version = "1.0", MetricsLevel = MetricsLevel.None }, new CorsProperties());
        properties.Cors.CorsRules.Add(new CorsRule { AllowedOrigins = ["http://a.example"], AllowedMethods = CorsHttpMethods.Get | CorsHttpMethods.Merge,
            AllowedHeaders = ["x-ms-*"], ExposedHeaders = ["*"], MaxAgeInSeconds = 60 });
        try
        {
            client.SetServiceProperties(properties);
            var read = client.GetServiceProperties();
            Check.Equal(LoggingOperations.Delete, read.Logging.LoggingOperations);
            Check.Equal(3, read.Logging.RetentionDays);
            Check.Equal(MetricsLevel.ServiceAndApi, read.HourMetrics.MetricsLevel);
            Check.Equal(4, read.HourMetrics.RetentionDays);
            Check.Equal(CorsHttpMethods.Get | CorsHttpMethods.Merge, read.Cors.CorsRules.Single().AllowedMethods);
            Check.Equal(60, read.Cors.CorsRules.Single().MaxAgeInSeconds);
        }
        finally
        {
            client.SetServiceProperties(before);
        }
    }
}
