// What cases of blobs share: containers of their own.
using Azure.Core;

public class Films : Account
{
    protected static BlobServiceClient Service(BlobClientOptions options = null) => new(Connection, options);

    protected static BlobContainerClient Container(BlobClientOptions options = null)
    {
        var container = new BlobContainerClient(Connection, Name("films"), options);
        container.Create();
        return container;
    }

    protected static byte[] Bytes(int count)
    {
        var bytes = new byte[count];
        new Random(count).NextBytes(bytes);
        return bytes;
    }

    protected static BlobClient Put(BlobContainerClient container, string name, string text = "content")
    {
        var blob = container.GetBlobClient(name);
        blob.Upload(BinaryData.FromString(text), overwrite: true);
        return blob;
    }

    protected static string Text(BlobBaseClient blob, BlobDownloadOptions options = null) =>
        blob.DownloadContent(options).Value.Content.ToString();

    protected static BinaryData Data(string text) => BinaryData.FromString(text);

    protected static BlobRequestConditions Leased(string id) => new() { LeaseId = id };
}
