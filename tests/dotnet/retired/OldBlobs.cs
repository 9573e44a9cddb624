// Blobs through WindowsAzure.Storage.
using Microsoft.WindowsAzure.Storage.Blob;

public class OldBlobs : Staff
{
    static CloudBlobClient Blobs(string connection = null) => CloudStorageAccount.Parse(connection ?? Connection).CreateCloudBlobClient();

    static CloudBlobContainer Container()
    {
        var container = Blobs().GetContainerReference("c" + Guid.NewGuid().ToString("N"));
        container.Create();
        return container;
    }

    static byte[] Bytes(int count)
    {
        var bytes = new byte[count];
        new Random(count).NextBytes(bytes);
        return bytes;
    }

    static byte[] Read(CloudBlob blob, BlobRequestOptions options = null)
    {
        var read = new MemoryStream();
        blob.DownloadToStream(read, null, options);
        return read.ToArray();
    }

    [Case]
    public void An_old_client_makes_and_lists_containers()
    {
        var container = Blobs().GetContainerReference("c" + Guid.NewGuid().ToString("N"));
        Check.That(container.CreateIfNotExists() && !container.CreateIfNotExists() && container.Exists(), "it is made once");
        container.Metadata["colour"] = "red";
        container.SetMetadata();
        Check.Equal("red", Blobs().ListContainers(container.Name, ContainerListingDetails.Metadata).Single().Metadata["colour"]);
        foreach (var name in new[] { "a/1", "a/2", "b" })
            container.GetBlockBlobReference(name).UploadText(name);
        Check.Equal(2, container.ListBlobs().Count());
        Check.Equal(3, container.ListBlobs(useFlatBlobListing: true, blobListingDetails: BlobListingDetails.Metadata).Count());
        Check.Equal(2, container.GetDirectoryReference("a").ListBlobs().Count());
        container.SetPermissions(new BlobContainerPermissions { PublicAccess = BlobContainerPublicAccessType.Container });
        Check.Equal(3, new CloudBlobContainer(container.Uri).ListBlobs(useFlatBlobListing: true).Count());
        Check.That(container.DeleteIfExists() && !container.DeleteIfExists(), "it is deleted once");
    }

    [Case]
    public void An_old_client_uploads_in_blocks_side_by_side()
    {
        var content = Bytes(5_000_000);
        var blob = Container().GetBlockBlobReference("large");
        blob.StreamWriteSizeInBytes = 300_000;
        blob.UploadFromStream(new MemoryStream(content), null, new BlobRequestOptions
            { SingleBlobUploadThresholdInBytes = 1024 * 1024, ParallelOperationThreadCount = 4, StoreBlobContentMD5 = true, UseTransactionalMD5 = true });
        Check.Equal(17, blob.DownloadBlockList().Count());
        Check.That(Read(blob).SequenceEqual(content), "it comes back, and its MD5 is right");
        var range = new byte[1000];
        blob.DownloadRangeToByteArray(range, 0, 123_456, 1000);
        Check.That(range.SequenceEqual(content[123_456..124_456]), "a range of it");
        using var stream = blob.OpenRead();
        stream.Seek(4_999_990, SeekOrigin.Begin);
        Check.Equal(10, stream.Read(new byte[100], 0, 100));
    }

    [Case]
    public void An_old_client_keeps_properties_and_conditions()
    {
        var blob = Container().GetBlockBlobReference("a");
        blob.Properties.ContentType = "text/x";
        blob.Metadata["n"] = "1";
        blob.UploadText("one");
        var etag = blob.Properties.ETag;
        blob.FetchAttributes();
        Check.Equal(("text/x", "1", etag), (blob.Properties.ContentType, blob.Metadata["n"], blob.Properties.ETag));
        blob.UploadText("two", accessCondition: AccessCondition.GenerateIfMatchCondition(etag));
        Refused(412, "ConditionNotMet", () => blob.UploadText("three", accessCondition: AccessCondition.GenerateIfMatchCondition(etag)));
        Refused(409, "BlobAlreadyExists", () => blob.UploadText("three", accessCondition: AccessCondition.GenerateIfNotExistsCondition()));
        Refused(304, null, () => blob.DownloadText(accessCondition: AccessCondition.GenerateIfNoneMatchCondition(blob.Properties.ETag)));
        Check.Equal("two", blob.DownloadText());
    }

    [Case]
    public void An_old_client_leases_and_snapshots()
    {
        var blob = Container().GetBlockBlobReference("a");
        blob.UploadText("old");
        var snapshot = blob.CreateSnapshot();
        var id = blob.AcquireLease(TimeSpan.FromSeconds(60), null);
        Refused(412, "LeaseIdMissing", () => blob.UploadText("new"));
        blob.UploadText("new", accessCondition: AccessCondition.GenerateLeaseCondition(id));
        id = blob.ChangeLease(Guid.NewGuid().ToString(), AccessCondition.GenerateLeaseCondition(id));
        blob.RenewLease(AccessCondition.GenerateLeaseCondition(id));
        blob.ReleaseLease(AccessCondition.GenerateLeaseCondition(id));
        blob.AcquireLease(null, null);
        blob.BreakLease(TimeSpan.Zero);
        Check.Equal(("old", "new"), (snapshot.DownloadText(), blob.DownloadText()));
        Refused(409, "SnapshotsPresent", () => blob.Delete());
        blob.Delete(DeleteSnapshotsOption.IncludeSnapshots);
    }

    [Case]
    public void An_old_client_appends_and_copies()
    {
        var container = Container();
        var log = container.GetAppendBlobReference("log");
        log.CreateOrReplace();
        log.AppendText("one");
        Check.Equal(3L, log.AppendBlock(new MemoryStream("two"u8.ToArray()), accessCondition: AccessCondition.GenerateIfAppendPositionEqualCondition(3)));
        Refused(412, "AppendPositionConditionNotMet", () => log.AppendBlock(new MemoryStream([1]),
            accessCondition: AccessCondition.GenerateIfAppendPositionEqualCondition(3)));
        var copy = container.GetAppendBlobReference("copy");
        var id = copy.StartCopy(log);
        copy.FetchAttributes();
        Check.Equal((CopyStatus.Success, "onetwo"), (copy.CopyState.Status, copy.DownloadText()));
        Refused(409, "NoPendingCopyOperation", () => copy.AbortCopy(id));
        Refused(400, "BlobTypeNotSupported", () => container.GetPageBlobReference("page").Create(512));
    }

    [Case]
    public void An_old_client_signs_for_blobs()
    {
        var container = Container();
        var blob = container.GetBlockBlobReference("a");
        blob.UploadText("x");
        var policy = new SharedAccessBlobPolicy { Permissions = SharedAccessBlobPermissions.Read, SharedAccessExpiryTime = DateTimeOffset.UtcNow.AddDays(1) };
        var reader = new CloudBlockBlob(blob.Uri, new StorageCredentials(blob.GetSharedAccessSignature(policy,
            new SharedAccessBlobHeaders { ContentType = "text/y" })));
        Check.Equal("x", reader.DownloadText());
        Check.Equal("text/y", reader.Properties.ContentType);
        Refused(403, null, () => reader.Delete());
        var permissions = new BlobContainerPermissions();
        permissions.SharedAccessPolicies.Add("readers", policy);
        container.SetPermissions(permissions);
        var all = new CloudBlobContainer(container.Uri, new StorageCredentials(container.GetSharedAccessSignature(null, "readers")));
        Check.Equal("x", all.GetBlockBlobReference("a").DownloadText());
        Refused(403, null, () => all.ListBlobs().Any());
    }

    [Case]
    public void An_old_client_encrypts_blobs()
    {
        var content = Bytes(100_000);
        var blob = Container().GetBlockBlobReference("a");
        var options = new BlobRequestOptions { EncryptionPolicy = new BlobEncryptionPolicy(new AesKek("key1", new byte[32]), null), RequireEncryption = true };
        blob.UploadFromStream(new MemoryStream(content), null, options);
        Check.That(!Read(blob).AsSpan(0, 16).SequenceEqual(content.AsSpan(0, 16)), "it is encrypted");
        Check.That(Read(blob, options).SequenceEqual(content), "it is read");
    }

    [Case]
    public void An_old_client_reads_the_secondary_when_the_primary_fails()
    {
        var written = Container().GetBlockBlobReference("a");
        written.UploadText("x");
        var client = Blobs();
        var faulty = new StorageUri(Blobs(Faults.Connection).BaseUri, new Uri(client.BaseUri.ToString().TrimEnd('/') + "-secondary"));
        var blob = new CloudBlobClient(faulty, client.Credentials).GetContainerReference(written.Container.Name).GetBlockBlobReference("a");
        using var faults = new Faults("status 503 always");
        Check.Equal("x", blob.DownloadText(options: new BlobRequestOptions
            { LocationMode = LocationMode.PrimaryThenSecondary, RetryPolicy = new LinearRetry(TimeSpan.FromMilliseconds(1), 3) }));
        Check.Equal(1, faults.Requests);
    }

    [Case]
    public void An_old_client_goes_on_where_a_download_was_cut()
    {
        var content = Bytes(2_000_000);
        var written = Container().GetBlockBlobReference("a");
        written.UploadFromByteArray(content, 0, content.Length);
        var blob = Blobs(Faults.Connection).GetContainerReference(written.Container.Name).GetBlockBlobReference("a");
        using var faults = new Faults("cut_body 700000 fin");
        Check.That(Read(blob, new BlobRequestOptions { RetryPolicy = new LinearRetry(TimeSpan.FromMilliseconds(1), 3) }).SequenceEqual(content), "nothing is lost");
        Check.Equal(2, faults.Requests);
    }
}
