// The calls that wait, which this build of the package does not have, by those that do not.

static class Waiting
{
    static T Wait<T>(Task<T> task) => task.GetAwaiter().GetResult();

    public static void Create(this CloudTable table) => table.CreateAsync().GetAwaiter().GetResult();
    public static bool CreateIfNotExists(this CloudTable table) => Wait(table.CreateIfNotExistsAsync());
    public static void Delete(this CloudTable table) => table.DeleteAsync().GetAwaiter().GetResult();
    public static bool DeleteIfExists(this CloudTable table) => Wait(table.DeleteIfExistsAsync());
    public static bool Exists(this CloudTable table) => Wait(table.ExistsAsync());
    public static TablePermissions GetPermissions(this CloudTable table) => Wait(table.GetPermissionsAsync());
    public static void SetPermissions(this CloudTable table, TablePermissions permissions) =>
        table.SetPermissionsAsync(permissions).GetAwaiter().GetResult();

    public static TableResult Execute(this CloudTable table, TableOperation operation, TableRequestOptions options = null,
        OperationContext context = null) => Wait(table.ExecuteAsync(operation, options, context));

    public static IList<TableResult> ExecuteBatch(this CloudTable table, TableBatchOperation batch) =>
        Wait(table.ExecuteBatchAsync(batch));

    public static TableQuerySegment<T> ExecuteQuerySegmented<T>(this CloudTable table, TableQuery<T> query, TableContinuationToken token,
        TableRequestOptions options = null, OperationContext context = null) where T : ITableEntity, new() =>
        Wait(table.ExecuteQuerySegmentedAsync(query, token, options, context));

    public static IEnumerable<T> ExecuteQuery<T>(this CloudTable table, TableQuery<T> query, TableRequestOptions options = null,
        OperationContext context = null) where T : ITableEntity, new() =>
        Segments(token => Wait(table.ExecuteQuerySegmentedAsync(query, token, options, context)), query.TakeCount);

    public static IEnumerable<R> ExecuteQuery<T, R>(this CloudTable table, TableQuery<T> query, EntityResolver<R> resolver)
        where T : ITableEntity, new() => Segments(token => Wait(table.ExecuteQuerySegmentedAsync(query, resolver, token)), query.TakeCount);

    public static IEnumerable<CloudTable> ListTables(this CloudTableClient client, string prefix)
    {
        TableContinuationToken token = null;
        do
        {
            var segment = Wait(client.ListTablesSegmentedAsync(prefix, token));
            foreach (var table in segment.Results)
                yield return table;
            token = segment.ContinuationToken;
        } while (token != null);
    }

    public static ServiceProperties GetServiceProperties(this CloudTableClient client) => Wait(client.GetServicePropertiesAsync());
    public static void SetServiceProperties(this CloudTableClient client, ServiceProperties properties) =>
        client.SetServicePropertiesAsync(properties).GetAwaiter().GetResult();
    public static ServiceStats GetServiceStats(this CloudTableClient client, TableRequestOptions options) =>
        Wait(client.GetServiceStatsAsync(options, null));

    static IEnumerable<T> Segments<T>(Func<TableContinuationToken, TableQuerySegment<T>> next, int? most)
    {
        TableContinuationToken token = null;
        var left = most ?? int.MaxValue;
        do
        {
            var segment = next(token);
            foreach (var one in segment.Results.Take(left))
                yield return one;
            left -= segment.Results.Count;
            token = segment.ContinuationToken;
        } while (token != null && left > 0);
    }
}
