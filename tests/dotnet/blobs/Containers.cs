// Containers, and the service itself.

public class Containers : Films
{
    [Case]
    public void A_container_is_made_and_deleted()
    {
        var container = new BlobContainerClient(Connection, Name("films"));
        Check.That(!container.Exists(), "it is not there");
        Check.That(container.CreateIfNotExists() != null && container.CreateIfNotExists() == null, "it is made once");
        Refused(409, "ContainerAlreadyExists", () => container.Create());
        container.SetMetadata(new Dictionary<string, string> { ["colour"] = "red" });
        var properties = container.GetProperties().Value;
        Check.Equal("red", properties.Metadata["colour"]);
        Check.That(properties.ETag != default && properties.LastModified > DateTimeOffset.UtcNow.AddDays(-1), "an etag and a time");
        Check.That(container.DeleteIfExists() && !container.DeleteIfExists(), "it is deleted once");
        Refused(404, "ContainerNotFound", () => container.GetProperties());
    }

    [Case]
    public void Containers_are_listed_by_pages()
    {
        var prefix = Name("list");
        foreach (var n in Enumerable.Range(0, 5))
            Service().CreateBlobContainer($"{prefix}-{n}", metadata: new Dictionary<string, string> { ["n"] = $"{n}" });
        var pages = Service().GetBlobContainers(BlobContainerTraits.Metadata, prefix: prefix).AsPages(pageSizeHint: 2).ToList();
        Check.Sequence([2, 2, 1], pages.Select(page => page.Values.Count));
        Check.Sequence(["0", "1", "2", "3", "4"], pages.SelectMany(page => page.Values).Select(one => one.Properties.Metadata["n"]));
        Check.Equal(3, Service().GetBlobContainers(prefix: prefix).AsPages(pages[0].ContinuationToken).Single().Values.Count);
        Service().DeleteBlobContainer($"{prefix}-0");
        Check.Equal(4, Service().GetBlobContainers(prefix: prefix).Count());
    }

    [Case]
    public void Policies_and_public_access_are_kept()
    {
        var container = Container();
        var blob = Put(container, "a");
        var anybody = new BlobClient(blob.Uri);
        Refused(401, "NoAuthenticationInformation", () => Text(anybody));
        container.SetAccessPolicy(PublicAccessType.Blob, [new BlobSignedIdentifier { Id = "readers", AccessPolicy = new BlobAccessPolicy
            { PolicyStartsOn = DateTimeOffset.UtcNow.AddDays(-1), PolicyExpiresOn = Tomorrow, Permissions = "r" } }]);
        var policy = container.GetAccessPolicy().Value;
        Check.Equal(PublicAccessType.Blob, policy.BlobPublicAccess);
        Check.Equal("r", policy.SignedIdentifiers.Single().AccessPolicy.Permissions);
        Check.Equal("content", Text(anybody));
        Refused(401, "NoAuthenticationInformation", () => new BlobContainerClient(container.Uri).GetBlobs().Any());
        container.SetAccessPolicy(PublicAccessType.BlobContainer);
        Check.Equal(1, new BlobContainerClient(container.Uri).GetBlobs().Count());
    }

    [Case]
    public void A_container_is_leased()
    {
        var container = Container();
        var lease = container.GetBlobLeaseClient();
        lease.Acquire(TimeSpan.FromSeconds(60));
        Refused(412, "LeaseIdMissing", () => container.Delete());
        Refused(409, "LeaseAlreadyPresent", () => container.GetBlobLeaseClient().Acquire(TimeSpan.FromSeconds(60)));
        lease.Renew();
        lease.Change(Guid.NewGuid().ToString());
        Check.Equal(LeaseState.Leased, container.GetProperties().Value.LeaseState);
        lease.Release();
        lease.Acquire(BlobLeaseClient.InfiniteLeaseDuration);
        lease.Break(TimeSpan.Zero);
        Check.Equal(LeaseState.Broken, container.GetProperties().Value.LeaseState);
        container.Delete();
    }

    [Case]
    public void The_service_has_properties_and_an_account()
    {
        var properties = Service().GetProperties().Value;
        properties.Cors.Add(new BlobCorsRule { AllowedOrigins = "*", AllowedMethods = "GET", AllowedHeaders = "", ExposedHeaders = "", MaxAgeInSeconds = 5 });
        Service().SetProperties(properties);
        Check.Equal(5, Service().GetProperties().Value.Cors.Single().MaxAgeInSeconds);
        properties.Cors.Clear();
        Service().SetProperties(properties);
        var account = Service().GetAccountInfo().Value;
        Check.Equal((SkuName.StandardLrs, AccountKind.StorageV2), (account.SkuName, account.AccountKind));
    }

    [Case]
    public void The_secondary_is_read_and_has_statistics()
    {
        var blob = Put(Container(), "a");
        var there = new Uri(Service().Uri.ToString().Replace(Key.AccountName, Key.AccountName + "-secondary"));
        Check.Equal(BlobGeoReplicationStatus.Live, new BlobServiceClient(there, Key).GetStatistics().Value.GeoReplication.Status);
        var secondary = new BlobServiceClient(there, Key).GetBlobContainerClient(blob.BlobContainerName).GetBlobClient("a");
        Check.Equal("content", Text(secondary));
        Refused(403, null, () => secondary.Delete());
    }

    [Case]
    public void Blobs_are_listed_in_every_way()
    {
        var container = Container();
        foreach (var name in new[] { "a/1", "a/2", "b", "c/d/e", "z & \"<ö>" })
            Put(container, name).SetMetadata(new Dictionary<string, string> { ["name"] = "x" });
        container.GetBlobClient("b").CreateSnapshot();
        container.GetBlockBlobClient("never").StageBlock(Convert.ToBase64String([1]), new MemoryStream([1]));
        Check.Sequence(["a/1", "a/2", "b", "c/d/e", "z & \"<ö>"], container.GetBlobs().Select(one => one.Name));
        Check.Sequence(["a/1", "a/2"], container.GetBlobs(prefix: "a/").Select(one => one.Name));
        // This client has the prefixes of a page before its blobs.
        Check.Sequence(["a/", "c/", "b", "z & \"<ö>"], container.GetBlobsByHierarchy(delimiter: "/").Select(one => one.IsPrefix ? one.Prefix : one.Blob.Name));
        Check.Sequence(["c/d/"], container.GetBlobsByHierarchy(delimiter: "/", prefix: "c/").Select(one => one.Prefix));
        Check.That(container.GetBlobs(BlobTraits.Metadata).All(one => one.Metadata["name"] == "x"), "each has metadata");
        Check.Equal(2, container.GetBlobs(states: BlobStates.Snapshots).Count(one => one.Name == "b"));
        Check.Equal(1, container.GetBlobs(states: BlobStates.Uncommitted).Count(one => one.Name == "never"));
        var pages = container.GetBlobs().AsPages(pageSizeHint: 2).ToList();
        Check.Sequence([2, 2, 1], pages.Select(page => page.Values.Count));
        Check.Equal("content".Length, container.GetBlobs().First().Properties.ContentLength);
    }
}
