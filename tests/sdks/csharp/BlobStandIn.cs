// What the code of cures uses of Azure.Storage.Blobs, beside StandIn.cs and for the same reason.

using System.Net;
using System.Security.Cryptography;
using System.Text;
using System.Xml.Linq;
using Azure.Storage.Blobs.Models;

namespace System
{
    public class BinaryData
    {
        readonly byte[] bytes;
        public BinaryData(byte[] data) => bytes = data;
        public static BinaryData FromString(string data) => new(Encoding.UTF8.GetBytes(data));
        public Stream ToStream() => new MemoryStream(bytes);
        public byte[] ToArray() => bytes;
        public override string ToString() => Encoding.UTF8.GetString(bytes);
    }
}

namespace Azure.Storage.Blobs.Models
{
    public class BlobItem
    {
        public BlobItem(string name) => Name = name;
        public string Name { get; }
    }

    public class BlobDownloadResult
    {
        public BlobDownloadResult(BinaryData content) => Content = content;
        public BinaryData Content { get; }
    }
}

namespace Azure.Storage.Blobs
{
    public class BlobContainerClient
    {
        static readonly HttpClient http = new();
        readonly Dictionary<string, string> settings;

        public BlobContainerClient(string connectionString, string blobContainerName)
        {
            settings = connectionString.Split(';', StringSplitOptions.RemoveEmptyEntries).Select(part => part.Split('=', 2)).ToDictionary(part => part[0], part => part[1]);
            Name = blobContainerName;
        }

        public string Name { get; }
        public BlobClient GetBlobClient(string blobName) => new(this, blobName);
        public async Task<Response> CreateAsync() => await Send(HttpMethod.Put, "", "restype=container", null);
        public AsyncPageable<BlobItem> GetBlobsAsync(string? prefix = null) => new(() => List(prefix ?? ""));

        async IAsyncEnumerable<BlobItem> List(string prefix)
        {
            var text = Encoding.UTF8.GetString(await Ask(HttpMethod.Get, "", $"restype=container&comp=list&prefix={Uri.EscapeDataString(prefix)}", null));
            foreach (var name in XDocument.Parse(text.TrimStart('\ufeff')).Descendants("Blob").Select(blob => blob.Element("Name")!.Value)) yield return new BlobItem(name);
        }

        internal async Task<Response> Send(HttpMethod method, string blob, string query, byte[]? body, params (string Name, string Value)[] headers)
        {
            await Ask(method, blob, query, body, headers);
            return new Response();
        }

        /// <summary>With SharedKeyLite: the x-ms- headers in order, and of the query only comp.</summary>
        internal async Task<byte[]> Ask(HttpMethod method, string blob, string query, byte[]? body, params (string Name, string Value)[] headers)
        {
            var address = new Uri($"{settings["BlobEndpoint"].TrimEnd('/')}/{Name}{(blob.Length > 0 ? "/" + blob : "")}{(query.Length > 0 ? "?" + query : "")}");
            var request = new HttpRequestMessage(method, address);
            var named = headers.Append(("x-ms-date", DateTime.UtcNow.ToString("R"))).Append(("x-ms-version", "2021-12-02")).OrderBy(one => one.Item1, StringComparer.Ordinal).ToList();
            string comp = query.Split('&').FirstOrDefault(part => part.StartsWith("comp=")) is { } found ? "?" + found : "";
            string text = $"{method}\n\n\n\n{string.Concat(named.Where(one => one.Item1.StartsWith("x-ms-")).Select(one => $"{one.Item1}:{one.Item2}\n"))}/{settings["AccountName"]}{address.AbsolutePath}{comp}";
            string sign = Convert.ToBase64String(HMACSHA256.HashData(Convert.FromBase64String(settings["AccountKey"]), Encoding.UTF8.GetBytes(text)));

            foreach (var (name, value) in named) request.Headers.TryAddWithoutValidation(name, value);
            request.Headers.TryAddWithoutValidation("Authorization", $"SharedKeyLite {settings["AccountName"]}:{sign}");
            request.Content = method == HttpMethod.Put ? new ByteArrayContent(body ?? Array.Empty<byte>()) : null;
            using var reply = await http.SendAsync(request);
            var bytes = await reply.Content.ReadAsByteArrayAsync();
            if (!reply.IsSuccessStatusCode) throw new RequestFailedException((int)reply.StatusCode, Encoding.UTF8.GetString(bytes));
            return bytes;
        }
    }

    public class BlobClient
    {
        readonly BlobContainerClient container;
        readonly string name;
        internal BlobClient(BlobContainerClient container, string name) => (this.container, this.name) = (container, name);

        public async Task<Response> UploadAsync(BinaryData content) => await container.Send(HttpMethod.Put, name, "", content.ToArray(), ("x-ms-blob-type", "BlockBlob"));
        public async Task<Response<BlobDownloadResult>> DownloadContentAsync() => new(new BlobDownloadResult(new BinaryData(await container.Ask(HttpMethod.Get, name, "", null))));

        public async Task<Response<bool>> DeleteIfExistsAsync()
        {
            try
            {
                await container.Send(HttpMethod.Delete, name, "", null);
                return new(true);
            }
            catch (RequestFailedException error) when (error.Status == 404)
            {
                return new(false);
            }
        }
    }
}

namespace Azure.Storage.Blobs.Specialized
{
    public class AppendBlobClient
    {
        readonly BlobContainerClient container;
        readonly string name;
        internal AppendBlobClient(BlobContainerClient container, string name) => (this.container, this.name) = (container, name);

        public async Task<Response> AppendBlockAsync(Stream content)
        {
            var bytes = new MemoryStream();
            await content.CopyToAsync(bytes);
            return await container.Send(HttpMethod.Put, name, "comp=appendblock", bytes.ToArray());
        }

        public async Task<Response> CreateIfNotExistsAsync()
        {
            try
            {
                return await container.Send(HttpMethod.Put, name, "", null, ("If-None-Match", "*"), ("x-ms-blob-type", "AppendBlob"));
            }
            catch (RequestFailedException error) when (error.Status == 409)
            {
                return new Response();
            }
        }
    }

    public static class SpecializedBlobExtensions
    {
        public static AppendBlobClient GetAppendBlobClient(this BlobContainerClient client, string blobName) => new(client, blobName);
    }
}
