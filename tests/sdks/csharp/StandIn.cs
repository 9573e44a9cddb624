// What the code of cures uses of Azure.Data.Tables, with the signatures that its documentation has, for
// places whose registry does not have the package.  It shows that the code compiles and what it does to
// a server; that the package itself is so it cannot show.

using System.Collections;
using System.Globalization;
using System.Net;
using System.Net.Http.Headers;
using System.Security.Cryptography;
using System.Text;
using System.Text.Json;

namespace Azure
{
    public readonly struct ETag : IEquatable<ETag>
    {
        readonly string? value;
        public ETag(string value) => this.value = value;
        public static readonly ETag All = new("*");
        public bool Equals(ETag other) => value == other.value;
        public override string ToString() => value ?? "";
    }

    public class RequestFailedException : Exception
    {
        public RequestFailedException(int status, string message) : base(message) => Status = status;
        public int Status { get; }
        public Response? GetRawResponse() => null;
    }

    public class Response
    {
        public Core.ResponseHeaders Headers => default;
    }

    public class Response<T>
    {
        public Response(T value) => Value = value;
        public T Value { get; }
        public static implicit operator T(Response<T> response) => response.Value;
    }

    public class AsyncPageable<T> : IAsyncEnumerable<T>
    {
        readonly Func<IAsyncEnumerable<T>> read;
        public AsyncPageable(Func<IAsyncEnumerable<T>> read) => this.read = read;
        public IAsyncEnumerator<T> GetAsyncEnumerator(CancellationToken cancellation = default) => read().GetAsyncEnumerator(cancellation);
    }
}

namespace Azure.Core
{
    public readonly struct ResponseHeaders
    {
        public bool TryGetValue(string name, out string? value) => (value = null) is not null;
    }
}

namespace Azure.Data.Tables.Models
{
    public class TableItem
    {
        public TableItem(string name) => Name = name;
        public string Name { get; }
    }
}

namespace Azure.Data.Tables
{
    public class TableServiceClient
    {
        readonly string connection;

        public TableServiceClient(string connectionString) => connection = connectionString;
        public TableClient GetTableClient(string tableName) => new(connection, tableName);
        public async Task<Response> DeleteTableAsync(string tableName) => await GetTableClient(tableName).Send(HttpMethod.Delete, $"Tables('{tableName}')", null, "");

        public AsyncPageable<Models.TableItem> QueryAsync() => new(() => Read());

        async IAsyncEnumerable<Models.TableItem> Read()
        {
            var (root, _) = await GetTableClient("Tables").Ask(HttpMethod.Get, "Tables", null, "");
            foreach (var each in root.GetProperty("value").EnumerateArray()) yield return new(each.GetProperty("TableName").GetString()!);
        }
    }

    public enum TableUpdateMode { Merge, Replace }

    public enum TableTransactionActionType { Add, UpdateMerge, UpdateReplace, Delete, UpsertMerge, UpsertReplace }

    public class TableTransactionAction
    {
        public TableTransactionAction(TableTransactionActionType actionType, ITableEntity entity, ETag etag = default) => (ActionType, Entity, ETag) = (actionType, entity, etag);
        public TableTransactionActionType ActionType { get; }
        public ITableEntity Entity { get; }
        public ETag ETag { get; }
    }

    public class TableTransactionFailedException : RequestFailedException
    {
        public TableTransactionFailedException(int status, string message) : base(status, message) { }
    }

    public interface ITableEntity
    {
        string PartitionKey { get; set; }
        string RowKey { get; set; }
        ETag ETag { get; set; }
    }

    public sealed class TableEntity : ITableEntity, IDictionary<string, object>
    {
        readonly Dictionary<string, object> properties;

        public TableEntity() => properties = new();
        public TableEntity(string partitionKey, string rowKey) : this() => (PartitionKey, RowKey) = (partitionKey, rowKey);
        public TableEntity(IDictionary<string, object> values) => properties = new(values);

        public string PartitionKey { get => GetString("PartitionKey"); set => this["PartitionKey"] = value; }
        public string RowKey { get => GetString("RowKey"); set => this["RowKey"] = value; }
        public ETag ETag { get => new(GetString("odata.etag") ?? ""); set => this["odata.etag"] = value.ToString(); }

        public object this[string key] { get => properties.GetValueOrDefault(key)!; set => properties[key] = value; }
        public string GetString(string key) => (string)this[key];
        public Guid? GetGuid(string key) => (Guid?)this[key];
        public DateTimeOffset? GetDateTimeOffset(string key) => (DateTimeOffset?)this[key];

        public ICollection<string> Keys => properties.Keys;
        ICollection<object> IDictionary<string, object>.Values => properties.Values;
        public int Count => properties.Count;
        bool ICollection<KeyValuePair<string, object>>.IsReadOnly => false;
        public void Add(string key, object value) => properties[key] = value;
        public bool ContainsKey(string key) => properties.ContainsKey(key);
        public bool Remove(string key) => properties.Remove(key);
        public bool TryGetValue(string key, out object value) => properties.TryGetValue(key, out value!);
        public void Clear() => properties.Clear();
        void ICollection<KeyValuePair<string, object>>.Add(KeyValuePair<string, object> item) => Add(item.Key, item.Value);
        bool ICollection<KeyValuePair<string, object>>.Contains(KeyValuePair<string, object> item) => properties.Contains(item);
        void ICollection<KeyValuePair<string, object>>.CopyTo(KeyValuePair<string, object>[] array, int at) => ((ICollection<KeyValuePair<string, object>>)properties).CopyTo(array, at);
        bool ICollection<KeyValuePair<string, object>>.Remove(KeyValuePair<string, object> item) => properties.Remove(item.Key);
        public IEnumerator<KeyValuePair<string, object>> GetEnumerator() => properties.GetEnumerator();
        IEnumerator IEnumerable.GetEnumerator() => GetEnumerator();
    }

    public class TableClient
    {
        static readonly HttpClient http = new();
        readonly Dictionary<string, string> settings;
        readonly string table;

        public TableClient(string connectionString, string tableName)
        {
            settings = connectionString.Split(';', StringSplitOptions.RemoveEmptyEntries).Select(part => part.Split('=', 2)).ToDictionary(part => part[0], part => part[1]);
            table = tableName;
        }

        public string Name => table;

        public async Task<Response<Models.TableItem>> CreateIfNotExistsAsync()
        {
            try
            {
                await Ask(HttpMethod.Post, "Tables", $"{{\"TableName\":\"{table}\"}}", "");
            }
            catch (RequestFailedException error) when (error.Status == 409)
            {
            }
            return new(new Models.TableItem(table));
        }

        public async Task<Response> AddEntityAsync<T>(T entity) where T : ITableEntity => await Send(HttpMethod.Post, table, entity, "");
        public async Task<Response> UpsertEntityAsync<T>(T entity, TableUpdateMode mode = TableUpdateMode.Merge) where T : ITableEntity => await Send(MethodOf(mode), PathOf(entity), entity, "");
        public async Task<Response> UpdateEntityAsync<T>(T entity, ETag ifMatch, TableUpdateMode mode = TableUpdateMode.Merge) where T : ITableEntity => await Send(MethodOf(mode), PathOf(entity), entity, ifMatch.ToString());
        public async Task<Response> DeleteEntityAsync(string partitionKey, string rowKey, ETag ifMatch = default)
        {
            try
            {
                return await Send(HttpMethod.Delete, PathOf(new TableEntity(partitionKey, rowKey)), null, ifMatch.Equals(default) ? "*" : ifMatch.ToString());
            }
            catch (RequestFailedException error) when (error.Status == 404)
            {
                return new Response();
            }
        }

        public async Task<Response<T>> GetEntityAsync<T>(string partitionKey, string rowKey) where T : class, ITableEntity =>
            new((T)(object)Parse((await Ask(HttpMethod.Get, PathOf(new TableEntity(partitionKey, rowKey)), null, "")).Root));

        public AsyncPageable<T> QueryAsync<T>(string? filter = null, int? maxPerPage = null, IEnumerable<string>? select = null) where T : class, ITableEntity =>
            new(() => Read<T>(filter, maxPerPage, select));

        public static string CreateQueryFilter(FormattableString filter) =>
            string.Format(CultureInfo.InvariantCulture, filter.Format, filter.GetArguments().Select(value => value is string text ? $"'{text.Replace("'", "''")}'" : value).ToArray());

        public async Task<Response<IReadOnlyList<Response>>> SubmitTransactionAsync(IEnumerable<TableTransactionAction> transactionActions)
        {
            var body = new StringBuilder("--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n");
            foreach (var action in transactionActions)
            {
                var (method, isNamed) = action.ActionType switch
                {
                    TableTransactionActionType.Add => ("POST", false),
                    TableTransactionActionType.Delete => ("DELETE", true),
                    TableTransactionActionType.UpdateMerge or TableTransactionActionType.UpsertMerge => ("MERGE", true),
                    _ => ("PUT", true),
                };
                var json = method == "DELETE" ? "" : Format(action.Entity);
                body.Append($"--c\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n{method} {Url(isNamed ? PathOf(action.Entity) : table)} HTTP/1.1\r\nAccept: application/json;odata=minimalmetadata\r\nPrefer: return-no-content\r\n");
                if (!action.ETag.Equals(default)) body.Append($"If-Match: {action.ETag}\r\n");
                if (json.Length > 0) body.Append($"Content-Type: application/json\r\nContent-Length: {Encoding.UTF8.GetByteCount(json)}\r\n");
                body.Append($"\r\n{json}\r\n");
            }
            body.Append("--c--\r\n--b--\r\n");
            var (_, text) = await Exchange(HttpMethod.Post, "$batch", new StringContent(body.ToString()), "multipart/mixed; boundary=b", "");
            foreach (var line in text.Split("\r\n").Where(line => line.StartsWith("HTTP/1.1 ")))
            {
                int status = int.Parse(line.Split(' ')[1]);
                if (status >= 400) throw new TableTransactionFailedException(status, text);
            }
            return new(new List<Response>());
        }

        static HttpMethod MethodOf(TableUpdateMode mode) => mode == TableUpdateMode.Replace ? HttpMethod.Put : new HttpMethod("MERGE");
        string PathOf(ITableEntity e) => $"{table}(PartitionKey='{Quoted(e.PartitionKey)}',RowKey='{Quoted(e.RowKey)}')";
        static string Quoted(string key) => Uri.EscapeDataString(key.Replace("'", "''"));
        string Url(string path) => $"{settings["TableEndpoint"]}/{path}";

        internal async Task<Response> Send(HttpMethod method, string path, ITableEntity? entity, string ifMatch)
        {
            await Ask(method, path, entity is null ? null : Format(entity), ifMatch);
            return new Response();
        }

        internal async Task<(JsonElement Root, HttpResponseHeaders Headers)> Ask(HttpMethod method, string path, string? body, string ifMatch)
        {
            var (headers, text) = await Exchange(method, path, body is null ? null : new StringContent(body), "application/json", ifMatch);
            return (text.Length > 0 ? JsonDocument.Parse(text).RootElement : default, headers);
        }

        async Task<(HttpResponseHeaders, string)> Exchange(HttpMethod method, string path, HttpContent? content, string type, string ifMatch)
        {
            var request = new HttpRequestMessage(method, Url(path)) { Content = content };
            string date = DateTime.UtcNow.ToString("R"), account = settings["AccountName"];
            var key = Convert.FromBase64String(settings["AccountKey"]);
            var sign = Convert.ToBase64String(HMACSHA256.HashData(key, Encoding.UTF8.GetBytes($"{date}\n/{account}{request.RequestUri!.AbsolutePath}")));
            request.Headers.TryAddWithoutValidation("x-ms-date", date);
            request.Headers.TryAddWithoutValidation("x-ms-version", "2019-02-02");
            request.Headers.TryAddWithoutValidation("Authorization", $"SharedKeyLite {account}:{sign}");
            request.Headers.TryAddWithoutValidation("Accept", "application/json;odata=minimalmetadata");
            request.Headers.TryAddWithoutValidation("Prefer", "return-no-content");
            request.Headers.TryAddWithoutValidation("User-Agent", "azsdk-net-Data.Tables/0 (stand-in)");
            if (ifMatch.Length > 0) request.Headers.TryAddWithoutValidation("If-Match", ifMatch);
            if (content is not null)
            {
                content.Headers.Remove("Content-Type");
                content.Headers.TryAddWithoutValidation("Content-Type", type);
            }
            var reply = await http.SendAsync(request);
            var text = await reply.Content.ReadAsStringAsync();
            if ((int)reply.StatusCode >= 400) throw new RequestFailedException((int)reply.StatusCode, text);
            return (reply.Headers, text);
        }

        async IAsyncEnumerable<T> Read<T>(string? filter, int? maxPerPage, IEnumerable<string>? select) where T : class
        {
            string query = $"{table}()?" + (filter is not null ? $"$filter={Uri.EscapeDataString(filter)}" : ""), token = "";
            if (maxPerPage is not null) query += $"&$top={maxPerPage}";
            if (select is not null) query += $"&$select={Uri.EscapeDataString(string.Join(",", select))}";
            do
            {
                var (root, headers) = await Ask(HttpMethod.Get, query + token, null, "");
                foreach (var each in root.GetProperty("value").EnumerateArray()) yield return (T)(object)Parse(each);
                string Next(string name) => headers.TryGetValues($"x-ms-continuation-{name}", out var values) ? $"&{name}={Uri.EscapeDataString(values.First())}" : "";
                token = Next("NextPartitionKey") + Next("NextRowKey");
            } while (token.Length > 0);
        }

        static TableEntity Parse(JsonElement json)
        {
            var entity = new TableEntity();
            foreach (var member in json.EnumerateObject())
            {
                string type = json.TryGetProperty(member.Name + "@odata.type", out var text) ? text.GetString()! : "";
                if (member.Name == "odata.etag") entity.ETag = new ETag(member.Value.GetString()!);
                if (member.Name.StartsWith("odata.") || member.Name.Contains('@')) continue;
                entity[member.Name] = type switch
                {
                    "Edm.Int64" => long.Parse(member.Value.GetString()!),
                    "Edm.DateTime" => member.Value.GetDateTimeOffset(),
                    "Edm.Guid" => member.Value.GetGuid(),
                    _ => member.Value.ValueKind switch { JsonValueKind.Number => member.Value.TryGetInt32(out int whole) && !member.Value.GetRawText().Contains('.') ? whole : member.Value.GetDouble(), JsonValueKind.True => true, JsonValueKind.False => false, _ => member.Value.GetString()! },
                };
            }
            return entity;
        }

        static string Format(ITableEntity entity)
        {
            var members = new Dictionary<string, object>();
            foreach (var (name, value) in (TableEntity)entity)
            {
                if (name is "odata.etag" or "Timestamp" || value is null) continue;
                var type = value switch { long => "Edm.Int64", double => "Edm.Double", DateTimeOffset => "Edm.DateTime", Guid => "Edm.Guid", _ => "" };
                members[name] = value switch { long number => number.ToString(), DateTimeOffset time => time.UtcDateTime.ToString("yyyy-MM-ddTHH:mm:ss.fffffffZ"), _ => value };
                if (type.Length > 0) members[name + "@odata.type"] = type;
            }
            return JsonSerializer.Serialize(members);
        }
    }
}
