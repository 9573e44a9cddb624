// Run the C# code of cures: Driver CONNECTION JOBS.json; tests/advice/cures/driver.py has the form.
// All classes of code are compiled into this program, and are found by their names.

using System.Collections;
using System.Reflection;
using System.Text.Json;
using Azure;
using Azure.Data.Tables;
using Azure.Storage.Blobs;

var results = new List<List<object>>();
foreach (var job in JsonDocument.Parse(File.ReadAllText(args[1])).RootElement.EnumerateArray())
{
    var code = Assembly.GetExecutingAssembly().GetType(job.GetProperty("class").GetString()!)!;
    var table = new TableClient(args[0], job.GetProperty("table").GetString()!);
    string kind = job.GetProperty("c").GetString()!;
    bool isSelect = kind.Contains("select");
    var container = new BlobContainerClient(args[0], table.Name.ToLowerInvariant());
    if (kind is "log_blob" or "large") await container.CreateAsync();
    var of = kind switch
    {
        "period" => new List<object> { new TableServiceClient(args[0]) },
        "log_blob" => new List<object> { container },
        "large" => new List<object> { table, container },
        _ => new List<object> { table },
    };
    var told = new List<object>();
    foreach (var step in job.GetProperty("steps").EnumerateArray())
        told.Add(await Run(code, of, step.EnumerateArray().ToList(), isSelect));
    results.Add(told);
}
Console.WriteLine(JsonSerializer.Serialize(results));

static async Task<object> Run(Type code, List<object> of, List<JsonElement> step, bool isSelect)
{
    string name = step[0].GetString()!;
    if (name == "behind")
    {
        await ((TableClient)of[0]).DeleteEntityAsync(step[1].GetString()!, step[2].GetString()!);
        return "ok";
    }
    if (name == "blobs")
    {
        int count = 0;
        await foreach (var _ in ((BlobContainerClient)of[^1]).GetBlobsAsync()) count++;
        return count.ToString();
    }
    var method = code.GetMethod(string.Concat(name.Split('_').Select(word => char.ToUpper(word[0]) + word[1..])))!;
    var wanted = method.GetParameters().Skip(of.Count).ToList();
    var given = new List<object>(of);
    for (int i = 0; i < wanted.Count; i++) given.Add(Argument(step[i + 1], wanted[i].ParameterType));
    try
    {
        var result = method.Invoke(null, given.ToArray());
        if (result is Task task)
        {
            await task;
            result = method.ReturnType == typeof(Task) ? null : task.GetType().GetProperty("Result")!.GetValue(task);
        }
        if (result is long or int or string or BinaryData) return result.ToString()!;
        return result is null ? "ok" : (await Found(result)).Select(e => Name(e, isSelect)).ToList();
    }
    catch (RequestFailedException error)
    {
        return error.Status.ToString();
    }
    catch (TargetInvocationException error) when (error.InnerException is ArgumentException)
    {
        return "invalid";
    }
    catch (ArgumentException)
    {
        return "invalid";
    }
}

static async Task<List<TableEntity>> Found(object result)
{
    if (result is TableEntity one) return new List<TableEntity> { one };
    if (result is List<TableEntity> list) return list;
    var all = new List<TableEntity>();
    await foreach (var e in (IAsyncEnumerable<TableEntity>)result) all.Add(e);
    return all;
}

static string Name(TableEntity e, bool isSelect) => isSelect
    ? $"{e.RowKey}:{string.Join(",", e.Keys.Where(name => name is not ("PartitionKey" or "RowKey" or "Timestamp" or "odata.etag")).Order())}"
    : e.GetString("TavolaPrimary") ?? e.RowKey;

static object Argument(JsonElement value, Type type)
{
    if (type == typeof(string)) return value.GetString()!;
    if (type == typeof(BinaryData)) return BinaryData.FromString(value.GetString()!);
    if (type == typeof(int)) return value.GetInt32();
    if (type == typeof(long)) return value.GetInt64();
    if (type == typeof(DateTimeOffset)) return value.GetProperty("time").GetDateTimeOffset();
    if (type == typeof(TableEntity)) return Entity(value);
    if (type == typeof(IEnumerable<(string, string)>)) return value.EnumerateArray().Select(each => (each[0].GetString()!, each[1].GetString()!)).ToList();
    if (type == typeof(string[])) return value.EnumerateArray().Select(each => each.GetString()!).ToArray();
    return value.EnumerateArray().Select(Entity).ToList();
}

static TableEntity Entity(JsonElement json)
{
    var entity = new TableEntity();
    foreach (var member in json.EnumerateObject().Where(member => !member.Name.Contains('@')))
    {
        string type = json.TryGetProperty(member.Name + "@odata.type", out var text) ? text.GetString()! : "";
        entity[member.Name] = type switch
        {
            "Edm.Int64" => long.Parse(member.Value.GetString()!),
            "Edm.DateTime" => member.Value.GetDateTimeOffset(),
            "Edm.Guid" => member.Value.GetGuid(),
            _ => member.Value.ValueKind == JsonValueKind.Number ? member.Value.GetInt32() : member.Value.GetString()!,
        };
    }
    return entity;
}
