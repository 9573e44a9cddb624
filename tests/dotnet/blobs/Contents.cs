// Block and append blobs: what is in them, and what they are told.

public class Contents : Films
{
    [Case]
    public void A_blob_is_uploaded_once_unless_it_may_be_overwritten()
    {
        var blob = Container().GetBlobClient("dir/a ö.txt");
        blob.Upload(Data("one"));
        Refused(409, "BlobAlreadyExists", () => blob.Upload(Data("two")));
        blob.Upload(Data("two"), overwrite: true);
        Check.Equal("two", Text(blob));
        Check.That(blob.Exists() && blob.DeleteIfExists() && !blob.DeleteIfExists() && !blob.Exists(), "it is deleted once");
        Refused(404, "BlobNotFound", () => Text(blob));
    }

    [Case]
    public void A_large_upload_goes_in_blocks_side_by_side()
    {
        var content = Bytes(5_000_000);
        var blob = Container().GetBlobClient("large");
        var told = new List<long>();
        blob.Upload(new MemoryStream(content), new BlobUploadOptions
        {
            TransferOptions = new StorageTransferOptions { InitialTransferSize = 300_000, MaximumTransferSize = 300_000, MaximumConcurrency = 4 },
            ProgressHandler = new Noting(told)
        });
        Check.Equal(17, blob.AsBlocks().GetBlockList().Value.CommittedBlocks.Count());
        Check.Equal(content.Length, told.Max());
        var read = new MemoryStream();
        blob.DownloadTo(read, new BlobDownloadToOptions { TransferOptions = new StorageTransferOptions
            { InitialTransferSize = 100_000, MaximumTransferSize = 400_000, MaximumConcurrency = 4 } });
        Check.That(read.ToArray().SequenceEqual(content), "it comes back");
    }

    sealed class Noting(List<long> told) : IProgress<long>
    {
        public void Report(long value)
        {
            lock (told)
                told.Add(value);
        }
    }

    [Case]
    public void Checksums_go_both_ways()
    {
        var content = Bytes(300_000);
        foreach (var algorithm in new[] { StorageChecksumAlgorithm.MD5, StorageChecksumAlgorithm.StorageCrc64 })
        {
            var blob = Container().GetBlobClient("a");
            blob.Upload(new MemoryStream(content), new BlobUploadOptions
            {
                TransferValidation = new UploadTransferValidationOptions { ChecksumAlgorithm = algorithm },
                TransferOptions = new StorageTransferOptions { InitialTransferSize = 100_000, MaximumTransferSize = 100_000 }
            });
            var check = new DownloadTransferValidationOptions { ChecksumAlgorithm = algorithm, AutoValidateChecksum = true };
            Check.That(blob.DownloadContent(new BlobDownloadOptions { Range = new HttpRange(5, 1000), TransferValidation = check }).Value.Content.ToArray()
                .SequenceEqual(content[5..1005]), $"{algorithm}: a range");
            var read = new MemoryStream();
            blob.DownloadTo(read, new BlobDownloadToOptions { TransferValidation = check });
            Check.That(read.ToArray().SequenceEqual(content), $"{algorithm}: all of it");
        }
        Refused(400, "Md5Mismatch", () => Container().GetBlockBlobClient("a").StageBlock("AAAA", new MemoryStream(content), new BlockBlobStageBlockOptions
            { TransferValidation = new UploadTransferValidationOptions { ChecksumAlgorithm = StorageChecksumAlgorithm.MD5, PrecalculatedChecksum = new byte[16] } }));
    }

    [Case]
    public void Blocks_are_staged_and_committed()
    {
        var blob = Container().GetBlockBlobClient("a");
        string Id(int n) => Convert.ToBase64String([(byte)n, 0, 0]);
        foreach (var n in new[] { 1, 2, 3 })
            blob.StageBlock(Id(n), new MemoryStream([(byte)('0' + n)]));
        Check.Equal(3, blob.GetBlockList(BlockListTypes.Uncommitted).Value.UncommittedBlocks.Count());
        Refused(404, "BlobNotFound", () => Text(blob));
        blob.CommitBlockList([Id(3), Id(1)], new CommitBlockListOptions { HttpHeaders = new BlobHttpHeaders { ContentType = "text/x" } });
        Check.Equal("31", Text(blob));
        blob.StageBlock(Id(4), new MemoryStream("4"u8.ToArray()));
        blob.CommitBlockList([Id(1), Id(4)]);
        Check.Equal("14", Text(blob));
        Check.Sequence([Id(1), Id(4)], blob.GetBlockList().Value.CommittedBlocks.Select(one => one.Name));
        Refused(400, "InvalidBlockList", () => blob.CommitBlockList([Id(9)]));
    }

    [Case]
    public void Streams_are_written_and_read()
    {
        var content = Bytes(1_000_000);
        var container = Container();
        using (var to = container.GetBlockBlobClient("a").OpenWrite(true, new BlockBlobOpenWriteOptions { BufferSize = 150_000 }))
            to.Write(content);
        using var from = container.GetBlobClient("a").OpenRead(new BlobOpenReadOptions(false) { BufferSize = 100_000 });
        from.Position = 500_000;
        var read = new MemoryStream();
        from.CopyTo(read);
        Check.That(read.ToArray().SequenceEqual(content[500_000..]), "from the middle to the end");
    }

    [Case]
    public void Ranges_are_read()
    {
        var blob = Put(Container(), "a", "0123456789");
        string Range(HttpRange range) => Text(blob, new BlobDownloadOptions { Range = range });
        Check.Equal("345", Range(new HttpRange(3, 3)));
        Check.Equal("789", Range(new HttpRange(7)));
        Check.Equal("89", Range(new HttpRange(8, 100)));
        Refused(416, "InvalidRange", () => Range(new HttpRange(10, 1)));
        var streamed = blob.DownloadStreaming().Value;
        Check.Equal("0123456789", new StreamReader(streamed.Content).ReadToEnd());
        Check.Equal(BlobType.Block, streamed.Details.BlobType);
    }

    [Case]
    public void Headers_and_metadata_are_kept()
    {
        var blob = Container().GetBlobClient("a");
        blob.Upload(new MemoryStream([1]), new BlobUploadOptions
        {
            HttpHeaders = new BlobHttpHeaders { ContentType = "text/plain", CacheControl = "no-cache", ContentLanguage = "de", ContentDisposition = "inline" },
            Metadata = new Dictionary<string, string> { ["Colour"] = "red" }
        });
        var properties = blob.GetProperties().Value;
        Check.Equal(("text/plain", "no-cache", "de", "inline", "red"), (properties.ContentType, properties.CacheControl, properties.ContentLanguage,
            properties.ContentDisposition, properties.Metadata["colour"]));
        blob.SetHttpHeaders(new BlobHttpHeaders { ContentType = "text/html" });
        blob.SetMetadata(new Dictionary<string, string> { ["size"] = "big" });
        properties = blob.GetProperties().Value;
        Check.Equal(("text/html", "", "big"), (properties.ContentType, properties.CacheControl ?? "", properties.Metadata.Single().Value));
    }

    [Case]
    public void Conditions_are_kept_to()
    {
        var blob = Put(Container(), "a");
        var etag = blob.GetProperties().Value.ETag;
        var now = blob.GetProperties().Value.LastModified;
        void Upload(BlobRequestConditions conditions) => blob.Upload(new MemoryStream([1]), new BlobUploadOptions { Conditions = conditions });
        Refused(409, "BlobAlreadyExists", () => Upload(new BlobRequestConditions { IfNoneMatch = ETag.All }));
        Refused(412, "ConditionNotMet", () => Upload(new BlobRequestConditions { IfMatch = new ETag("\"0x1\"") }));
        Refused(412, "ConditionNotMet", () => Upload(new BlobRequestConditions { IfUnmodifiedSince = now.AddDays(-1) }));
        Refused(412, "ConditionNotMet", () => blob.Delete(conditions: new BlobRequestConditions { IfModifiedSince = now.AddDays(1) }));
        Refused(304, null, () => blob.GetProperties(new BlobRequestConditions { IfNoneMatch = etag }));
        Check.Equal(304, blob.DownloadContent(new BlobDownloadOptions { Conditions = new BlobRequestConditions { IfModifiedSince = now.AddDays(1) } }).GetRawResponse().Status);
        Upload(new BlobRequestConditions { IfMatch = etag });
        Refused(412, "ConditionNotMet", () => Text(blob, new BlobDownloadOptions { Conditions = new BlobRequestConditions { IfMatch = etag } }));
    }

    [Case]
    public void Blobs_are_leased()
    {
        var blob = Put(Container(), "a");
        var lease = blob.GetBlobLeaseClient();
        var id = lease.Acquire(TimeSpan.FromSeconds(60)).Value.LeaseId;
        Refused(412, "LeaseIdMissing", () => blob.Upload(Data("x"), overwrite: true));
        Refused(412, "LeaseIdMismatchWithBlobOperation", () => blob.Delete(conditions: Leased(Guid.NewGuid().ToString())));
        blob.SetMetadata(new Dictionary<string, string>(), Leased(id));
        id = lease.Change(Guid.NewGuid().ToString()).Value.LeaseId;
        lease.Renew();
        var properties = blob.GetProperties().Value;
        Check.Equal((LeaseState.Leased, LeaseStatus.Locked, LeaseDurationType.Fixed), (properties.LeaseState, properties.LeaseStatus, properties.LeaseDuration));
        lease.Release();
        blob.GetBlobLeaseClient().Acquire(BlobLeaseClient.InfiniteLeaseDuration);
        lease.Break();
        blob.Delete();
    }

    [Case]
    public void Snapshots_are_read_and_deleted()
    {
        var blob = Put(Container(), "a", "old");
        var snapshot = blob.WithSnapshot(blob.CreateSnapshot(new Dictionary<string, string> { ["n"] = "1" }).Value.Snapshot);
        blob.Upload(Data("new"), overwrite: true);
        Check.Equal("old", Text(snapshot));
        Check.Equal("1", snapshot.GetProperties().Value.Metadata["n"]);
        Refused(409, "SnapshotsPresent", () => blob.Delete());
        blob.Delete(DeleteSnapshotsOption.OnlySnapshots);
        Refused(404, "BlobNotFound", () => Text(snapshot));
        blob.CreateSnapshot();
        blob.Delete(DeleteSnapshotsOption.IncludeSnapshots);
        Check.That(!blob.Exists(), "all are gone");
    }

    [Case]
    public void Append_blobs_grow()
    {
        var blob = Container().GetAppendBlobClient("log");
        Refused(404, "BlobNotFound", () => blob.AppendBlock(new MemoryStream([1])));
        blob.CreateIfNotExists();
        blob.AppendBlock(new MemoryStream("one"u8.ToArray()));
        var done = blob.AppendBlock(new MemoryStream("two"u8.ToArray()), new AppendBlobAppendBlockOptions
            { Conditions = new AppendBlobRequestConditions { IfAppendPositionEqual = 3, IfMaxSizeLessThanOrEqual = 6 } }).Value;
        Check.Equal(("3", 2), (done.BlobAppendOffset, done.BlobCommittedBlockCount));
        Refused(412, "AppendPositionConditionNotMet", () => blob.AppendBlock(new MemoryStream([1]), new AppendBlobAppendBlockOptions
            { Conditions = new AppendBlobRequestConditions { IfAppendPositionEqual = 3 } }));
        Refused(412, "MaxBlobSizeConditionNotMet", () => blob.AppendBlock(new MemoryStream([1]), new AppendBlobAppendBlockOptions
            { Conditions = new AppendBlobRequestConditions { IfMaxSizeLessThanOrEqual = 6 } }));
        using (var to = blob.OpenWrite(false))
            to.Write("three"u8);
        Check.Equal("onetwothree", Text(blob));
        Refused(409, "InvalidBlobType", () => Container().GetParentBlobServiceClient().GetBlobContainerClient(blob.BlobContainerName)
            .GetBlobClient("log").Upload(Data("x"), overwrite: true));
    }

    [Case]
    public void Blobs_are_copied()
    {
        var container = Container();
        var from = Put(container, "a", "original");
        from.SetMetadata(new Dictionary<string, string> { ["n"] = "1" });
        var to = container.GetBlobClient("b");
        var copy = to.StartCopyFromUri(from.Uri);
        copy.WaitForCompletion();
        Check.Equal(("original", CopyStatus.Success, "1"), (Text(to), to.GetProperties().Value.BlobCopyStatus!.Value, to.GetProperties().Value.Metadata["n"]));
        Refused(409, "NoPendingCopyOperation", () => to.AbortCopyFromUri(copy.Id));
        var signed = from.GenerateSasUri(BlobSasPermissions.Read, Tomorrow);
        container.GetBlobClient("c").SyncCopyFromUri(signed);
        Check.Equal("original", Text(container.GetBlobClient("c")));
        Refused(404, "CannotVerifyCopySource", () => to.StartCopyFromUri(container.GetBlobClient("nowhere").Uri));
        container.GetBlobClient("d").SyncCopyFromUri(from.Uri); // signed with a key of the source's account
        var elsewhere = new BlobClient(container.GetBlobClient("e").GenerateSasUri(BlobSasPermissions.Write, Tomorrow));
        Refused(401, "CannotVerifyCopySource", () => elsewhere.SyncCopyFromUri(from.Uri));
    }
}

static class OfBlobs
{
    public static BlockBlobClient AsBlocks(this BlobClient blob) =>
        new BlobServiceClient(Account.Connection).GetBlobContainerClient(blob.BlobContainerName).GetBlockBlobClient(blob.Name);
}
