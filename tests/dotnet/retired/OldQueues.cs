// Queues through WindowsAzure.Storage.
using Microsoft.WindowsAzure.Storage.Queue;
using Microsoft.WindowsAzure.Storage.Queue.Protocol;

public class OldQueues : Staff
{
    static CloudQueueClient Queues(string connection = null) => CloudStorageAccount.Parse(connection ?? Connection).CreateCloudQueueClient();

    static CloudQueue Queue()
    {
        var queue = Queues().GetQueueReference("q" + Guid.NewGuid().ToString("N"));
        queue.Create();
        return queue;
    }

    [Case]
    public void An_old_client_makes_and_lists_queues()
    {
        var queue = Queues().GetQueueReference("q" + Guid.NewGuid().ToString("N"));
        Check.That(queue.CreateIfNotExists() && !queue.CreateIfNotExists() && queue.Exists(), "it is made once");
        queue.Metadata["colour"] = "red";
        queue.SetMetadata();
        var listed = Queues().ListQueues(queue.Name, QueueListingDetails.Metadata).Single();
        Check.Equal("red", listed.Metadata["colour"]);
        queue.FetchAttributes();
        Check.Equal(0, queue.ApproximateMessageCount);
        Check.That(queue.DeleteIfExists() && !queue.DeleteIfExists(), "it is deleted once");
    }

    [Case]
    public void An_old_client_sends_and_takes_messages()
    {
        var queue = Queue();
        foreach (var text in new[] { "one", "Malmö \U0001f600", "" })
            queue.AddMessage(new CloudQueueMessage(text));
        queue.AddMessage(new CloudQueueMessage([0, 255]));
        Check.Equal("one", queue.PeekMessage().AsString);
        var got = queue.GetMessages(32, TimeSpan.FromHours(1)).ToList();
        Check.Sequence(["one", "Malmö \U0001f600", ""], got.Take(3).Select(one => one.AsString));
        Check.Sequence(new byte[] { 0, 255 }, got[3].AsBytes);
        got[0].SetMessageContent("changed");
        queue.UpdateMessage(got[0], TimeSpan.Zero, MessageUpdateFields.Content | MessageUpdateFields.Visibility);
        var again = queue.GetMessage();
        Check.Equal(("changed", 2), (again.AsString, again.DequeueCount));
        queue.DeleteMessage(again);
        Refused(404, "MessageNotFound", () => queue.DeleteMessage(again));
        queue.Clear();
    }

    [Case]
    public void An_old_client_signs_for_queues()
    {
        var queue = Queue();
        queue.AddMessage(new CloudQueueMessage("x"));
        CloudQueue By(string signature) => new(queue.Uri, new StorageCredentials(signature));
        var permissions = new QueuePermissions();
        permissions.SharedAccessPolicies.Add("readers", new SharedAccessQueuePolicy
            { Permissions = SharedAccessQueuePermissions.Read, SharedAccessExpiryTime = DateTimeOffset.UtcNow.AddDays(1) });
        queue.SetPermissions(permissions);
        Check.Equal(SharedAccessQueuePermissions.Read, queue.GetPermissions().SharedAccessPolicies["readers"].Permissions);
        var reader = By(queue.GetSharedAccessSignature(null, "readers"));
        Check.Equal("x", reader.PeekMessage().AsString);
        Refused(403, null, () => reader.AddMessage(new CloudQueueMessage("y")));
        var adder = By(queue.GetSharedAccessSignature(new SharedAccessQueuePolicy
            { Permissions = SharedAccessQueuePermissions.Add, SharedAccessExpiryTime = DateTimeOffset.UtcNow.AddDays(1) }));
        adder.AddMessage(new CloudQueueMessage("y"));
        Refused(403, null, () => adder.GetMessage());
    }

    [Case]
    public void An_old_client_encrypts_messages()
    {
        var queue = Queue();
        var options = new QueueRequestOptions { EncryptionPolicy = new QueueEncryptionPolicy(new AesKek("key1", new byte[32]), null) };
        queue.AddMessage(new CloudQueueMessage("secret"), options: options);
        var stored = Queues().GetQueueReference(queue.Name);
        stored.EncodeMessage = false;
        var text = stored.PeekMessage().AsString;
        Check.That(text.Contains("EncryptedMessageContents") && !text.Contains("secret"), text);
        Check.Equal("secret", queue.GetMessage(options: options).AsString);
    }

    [Case]
    public void An_old_client_reads_the_state_of_the_queue_service()
    {
        var client = Queues();
        var properties = client.GetServiceProperties();
        Check.Equal(0, properties.Cors.CorsRules.Count);
        client.SetServiceProperties(properties);
        var there = client.BaseUri.ToString().TrimEnd('/');
        var replicated = new CloudQueueClient(new StorageUri(new Uri(there), new Uri(there + "-secondary")), client.Credentials);
        var secondary = new QueueRequestOptions { LocationMode = LocationMode.SecondaryOnly };
        Check.Equal(GeoReplicationStatus.Live, replicated.GetServiceStats(secondary).GeoReplication.Status);
        var queue = replicated.GetQueueReference(Queue().Name);
        queue.AddMessage(new CloudQueueMessage("x"));
        Check.Equal("x", queue.PeekMessage(secondary).AsString);
    }

    [Case]
    public void An_old_client_asks_a_busy_queue_again()
    {
        var queue = Queues(Faults.Connection).GetQueueReference(Queue().Name);
        using var faults = new Faults("status 503 times 2");
        queue.AddMessage(new CloudQueueMessage("x"), options: new QueueRequestOptions { RetryPolicy = new LinearRetry(TimeSpan.FromMilliseconds(1), 5) });
        Check.Equal(3, faults.Requests);
    }
}
