// Signatures, trouble, encryption, calls that do not wait, and what the server does not have.

public class Rest : Films
{
    [Case]
    public void Signatures_are_kept_to()
    {
        var container = Container();
        var blob = Put(container, "a");
        var snapshot = blob.WithSnapshot(blob.CreateSnapshot().Value.Snapshot);
        BlobClient By(BlobSasBuilder builder) => new(blob.GenerateSasUri(builder));

        var reader = By(new BlobSasBuilder(BlobSasPermissions.Read, Tomorrow) { BlobContainerName = container.Name, BlobName = "a", Resource = "b",
            ContentType = "text/x", Protocol = SasProtocol.HttpsAndHttp });
        Check.Equal("text/x", reader.DownloadContent().Value.Details.ContentType);
        Refused(403, "AuthorizationPermissionMismatch", () => reader.Delete());
        var all = new BlobContainerClient(container.GenerateSasUri(BlobContainerSasPermissions.Read | BlobContainerSasPermissions.List, Tomorrow));
        Check.Equal("content", Text(all.GetBlobClient("a")));
        Check.Equal(1, all.GetBlobs().Count());
        Refused(403, "AuthorizationPermissionMismatch", () => all.GetBlobClient("b").Upload(Data("x")));
        var old = new BlobBaseClient(snapshot.GenerateSasUri(BlobSasPermissions.Read, Tomorrow));
        Check.Equal("content", Text(old));
        Refused(403, "AuthenticationFailed", () => Text(By(new BlobSasBuilder(BlobSasPermissions.Read, DateTimeOffset.UtcNow.AddDays(-1))
            { BlobContainerName = container.Name, BlobName = "a", Resource = "b" })));

        container.SetAccessPolicy(permissions: [new BlobSignedIdentifier { Id = "p", AccessPolicy = new BlobAccessPolicy
            { PolicyExpiresOn = Tomorrow, Permissions = "rw" } }]);
        var stored = By(new BlobSasBuilder { BlobContainerName = container.Name, BlobName = "a", Resource = "b", Identifier = "p" });
        stored.Upload(Data("by policy"), overwrite: true);
        Check.Equal("by policy", Text(stored));
        container.SetAccessPolicy();
        Refused(403, null, () => Text(stored));

        var account = new BlobServiceClient(Service().GenerateAccountSasUri(AccountSasPermissions.Read | AccountSasPermissions.List, Tomorrow,
            AccountSasResourceTypes.All));
        Check.Equal("by policy", Text(account.GetBlobContainerClient(container.Name).GetBlobClient("a")));
        Refused(403, "AuthorizationPermissionMismatch", () => account.GetBlobContainerClient(container.Name).GetBlobClient("a").Delete());
    }

    [Case]
    public void A_busy_server_is_asked_again()
    {
        var container = Container();
        var blob = new BlobContainerClient(Faults.Connection, container.Name, Patient(new BlobClientOptions())).GetBlobClient("a");
        using var faults = new Faults("status 503 times 2", "status 500 on 4", "cut_answer 0 on 6");
        blob.Upload(Data("x"));
        Check.Equal(3, faults.Requests);
        Check.Equal("x", Text(blob));
        Check.Equal(5, faults.Requests);
        blob.SetMetadata(new Dictionary<string, string> { ["a"] = "b" });
        Check.Equal(7, faults.Requests);
    }

    [Case]
    public void A_download_that_is_cut_goes_on_where_it_was()
    {
        var content = Bytes(2_000_000);
        var container = Container();
        container.GetBlobClient("a").Upload(new MemoryStream(content));
        var blob = new BlobContainerClient(Faults.Connection, container.Name, Patient(new BlobClientOptions())).GetBlobClient("a");
        using var faults = new Faults("cut_body 700000 fin");
        var read = new MemoryStream();
        blob.DownloadStreaming().Value.Content.CopyTo(read);
        Check.That(read.ToArray().SequenceEqual(content), "nothing is lost");
        Check.Equal(2, faults.Requests);
    }

    [Case]
    public void A_large_upload_goes_on_past_busy_answers()
    {
        var content = Bytes(1_000_000);
        var container = Container();
        var blob = new BlobContainerClient(Faults.Connection, container.Name, Patient(new BlobClientOptions())).GetBlobClient("a");
        using var faults = new Faults("status 503 on 2", "status 503 on 5", "status 503 on 8");
        blob.Upload(new MemoryStream(content), new BlobUploadOptions { TransferOptions = new StorageTransferOptions
            { InitialTransferSize = 100_000, MaximumTransferSize = 100_000, MaximumConcurrency = 3 } });
        Check.That(blob.DownloadContent().Value.Content.ToArray().SequenceEqual(content), "it is whole");
    }

    [Case]
    public async Task A_call_is_cancelled_while_it_waits()
    {
        var container = Container();
        var blob = new BlobContainerClient(Faults.Connection, container.Name).GetBlobClient("a");
        await Cancelled(token => blob.UploadAsync(Data("x"), token));
        await blob.UploadAsync(Data("y"), overwrite: true);
        Check.Equal("y", Text(blob));
    }

    [Case]
    public void Blobs_are_encrypted()
    {
        var content = Bytes(200_000);
        foreach (var version in new[] { ClientSideEncryptionVersion.V1_0, ClientSideEncryptionVersion.V2_0 })
        {
            var kek = new Kek("key1");
            var plain = Container();
            // A container client made of a connection string and such options hands out blobs that are not encrypted.
            var blob = plain.GetBlobClient("a").WithClientSideEncryptionOptions(kek.Options(version));
            blob.Upload(new MemoryStream(content));
            var stored = plain.GetBlobClient("a").DownloadContent().Value;
            Check.That(stored.Details.Metadata.ContainsKey("encryptiondata"), $"{version}: it says how");
            Check.That(!stored.Content.ToArray().AsSpan().StartsWith(content.AsSpan(0, 16)), $"{version}: it is encrypted");
            Check.That(blob.DownloadContent().Value.Content.ToArray().SequenceEqual(content), $"{version}: it is read");
            Check.That(blob.DownloadContent(new BlobDownloadOptions { Range = new HttpRange(100_001, 50) }).Value.Content.ToArray()
                .SequenceEqual(content[100_001..100_051]), $"{version}: a range of it");
        }
    }

    [Case]
    public async Task Everything_is_done_without_waiting()
    {
        var content = Bytes(500_000);
        BlobContainerClient container = await Service().CreateBlobContainerAsync(Name("async"));
        var transfer = new StorageTransferOptions { InitialTransferSize = 50_000, MaximumTransferSize = 50_000, MaximumConcurrency = 4 };
        await Task.WhenAll(Enumerable.Range(0, 5).Select(n => container.GetBlobClient($"{n}").UploadAsync(new MemoryStream(content),
            new BlobUploadOptions { TransferOptions = transfer })));
        var names = new List<string>();
        await foreach (var one in container.GetBlobsAsync())
            names.Add(one.Name);
        Check.Sequence(["0", "1", "2", "3", "4"], names);
        var blob = container.GetBlobClient("0");
        var read = new MemoryStream();
        await blob.DownloadToAsync(read, new BlobDownloadToOptions { TransferOptions = transfer });
        Check.That(read.ToArray().SequenceEqual(content), "it is read");
        var lease = blob.GetBlobLeaseClient();
        var id = (await lease.AcquireAsync(TimeSpan.FromSeconds(60))).Value.LeaseId;
        await blob.SetMetadataAsync(new Dictionary<string, string> { ["a"] = "b" }, Leased(id));
        await lease.ReleaseAsync();
        var snapshot = (await blob.CreateSnapshotAsync()).Value.Snapshot;
        await blob.SetHttpHeadersAsync(new BlobHttpHeaders { ContentType = "text/x" });
        Check.Equal("text/x", (await blob.GetPropertiesAsync()).Value.ContentType);
        Check.Equal(500_000L, (await blob.WithSnapshot(snapshot).GetPropertiesAsync()).Value.ContentLength);
        await (await container.GetBlobClient("copy").StartCopyFromUriAsync(blob.Uri)).WaitForCompletionAsync();
        var log = container.GetAppendBlobClient("log");
        await log.CreateAsync();
        await log.AppendBlockAsync(new MemoryStream([1, 2]));
        Check.Equal(2L, (await log.GetPropertiesAsync()).Value.ContentLength);
        var blocks = container.GetBlockBlobClient("blocks");
        await blocks.StageBlockAsync("AAAA", new MemoryStream([1]));
        await blocks.CommitBlockListAsync(["AAAA"]);
        Check.Equal(1, (await blocks.GetBlockListAsync()).Value.CommittedBlocks.Count());
        await blob.DeleteAsync(DeleteSnapshotsOption.IncludeSnapshots);
        Check.That(!await blob.ExistsAsync() && await container.DeleteIfExistsAsync(), "all is deleted");
    }

    [Case]
    public void What_is_not_there_says_so()
    {
        var container = Container();
        var blob = Put(container, "a");
        var blocks = container.GetBlockBlobClient("b");
        var source = blob.GenerateSasUri(BlobSasPermissions.Read, Tomorrow);
        void Missing(Action action) => Refused(501, "NotImplemented", action);

        Missing(() => blob.SetAccessTier(AccessTier.Cool));
        Missing(() => blob.SetTags(new Dictionary<string, string> { ["a"] = "b" }));
        Missing(() => blob.GetTags());
        Missing(() => Service().FindBlobsByTags("a = 'b'").Any());
        Missing(() => blob.Undelete());
        Missing(() => blob.SetImmutabilityPolicy(new BlobImmutabilityPolicy { ExpiresOn = Tomorrow, PolicyMode = BlobImmutabilityPolicyMode.Unlocked }));
        Missing(() => blob.DeleteImmutabilityPolicy());
        Missing(() => blob.SetLegalHold(true));
        Missing(() => blob.WithVersion("2026-01-01T00:00:00.0000000Z").GetProperties());
        Missing(() => blocks.SyncUploadFromUri(source));
        Missing(() => blocks.StageBlockFromUri(source, "AAAA"));
        Missing(() => blocks.Query("SELECT * FROM BlobStorage"));
        var log = container.GetAppendBlobClient("log");
        log.Create();
        Missing(() => log.AppendBlockFromUri(source));
        Missing(() => log.Seal());
        Refused(400, "BlobTypeNotSupported", () => container.GetPageBlobClient("p").Create(512));
        Missing(() => container.GetPageBlobClient("a").GetAllPageRanges().Any());
        Missing(() => Service().UndeleteBlobContainer(container.Name, "01D60F8BB59A4652"));
        Missing(() => blob.WithEncryptionScope("scope").Upload(Data("x"), overwrite: true));
    }
}
