// Every operation of queues.

public class Queues : Account
{
    static QueueClient Queue(QueueClientOptions options = null)
    {
        var queue = new QueueClient(Connection, Name("q"), options);
        queue.Create();
        return queue;
    }

    static QueueServiceClient Service(QueueClientOptions options = null) => new(Connection, options);

    [Case]
    public void A_queue_is_made_and_deleted()
    {
        var queue = new QueueClient(Connection, Name("q"));
        Check.That(!queue.Exists(), "it is not there");
        Check.That(queue.CreateIfNotExists() != null && queue.CreateIfNotExists() == null, "it is made once");
        queue.Create();
        Refused(409, "QueueAlreadyExists", () => queue.Create(new Dictionary<string, string> { ["a"] = "1" }));
        Check.That(queue.Exists(), "it is there");
        Check.That(queue.DeleteIfExists() && !queue.DeleteIfExists(), "it is deleted once");
        Refused(404, "QueueNotFound", () => queue.Delete());
        Refused(404, "QueueNotFound", () => queue.SendMessage("x"));
    }

    [Case]
    public void Queues_are_listed_by_pages()
    {
        var prefix = Name("list");
        foreach (var n in Enumerable.Range(0, 5))
            Service().CreateQueue($"{prefix}-{n}", new Dictionary<string, string> { ["n"] = $"{n}" });
        var pages = Service().GetQueues(QueueTraits.Metadata, prefix).AsPages(pageSizeHint: 2).ToList();
        Check.Sequence([2, 2, 1], pages.Select(page => page.Values.Count));
        Check.Sequence(["0", "1", "2", "3", "4"], pages.SelectMany(page => page.Values).Select(queue => queue.Metadata["n"]));
        var rest = Service().GetQueues(prefix: prefix).AsPages(pages[0].ContinuationToken, 10).Single();
        Check.Equal(3, rest.Values.Count);
        Service().DeleteQueue($"{prefix}-0");
        Check.Equal(4, Service().GetQueues(prefix: prefix).Count());
    }

    [Case]
    public void Metadata_and_the_count_are_read()
    {
        var queue = Queue();
        queue.SetMetadata(new Dictionary<string, string> { ["colour"] = "red" });
        queue.SendMessage("a");
        queue.SendMessage("b");
        var properties = queue.GetProperties().Value;
        Check.Equal("red", properties.Metadata["colour"]);
        Check.Equal(2, properties.ApproximateMessagesCount);
    }

    [Case]
    public void A_message_goes_all_its_way()
    {
        var queue = Queue();
        var sent = queue.SendMessage("first", timeToLive: TimeSpan.FromSeconds(-1)).Value;
        Check.That(sent.MessageId.Length == 36 && sent.PopReceipt.Length > 0, "an id and a receipt");
        Check.Equal("first", queue.PeekMessage().Value.MessageText);
        var got = queue.ReceiveMessage(TimeSpan.FromHours(1)).Value;
        Check.Equal((sent.MessageId, "first", 1L), (got.MessageId, got.MessageText, got.DequeueCount));
        Check.That(queue.ReceiveMessage().Value == null && queue.PeekMessage().Value == null, "it is hidden");
        var updated = queue.UpdateMessage(got.MessageId, got.PopReceipt, "second", TimeSpan.Zero).Value;
        Refused(404, "MessageNotFound", () => queue.DeleteMessage(got.MessageId, got.PopReceipt));
        Check.Equal("second", queue.PeekMessage().Value.MessageText);
        queue.DeleteMessage(got.MessageId, updated.PopReceipt);
        Check.Equal(0, queue.GetProperties().Value.ApproximateMessagesCount);
        Refused(404, "MessageNotFound", () => queue.DeleteMessage(got.MessageId, updated.PopReceipt));
    }

    [Case]
    public void An_update_without_a_text_keeps_it()
    {
        var queue = Queue();
        queue.SendMessage("kept");
        var got = queue.ReceiveMessage(TimeSpan.FromHours(1)).Value;
        queue.UpdateMessage(got.MessageId, got.PopReceipt, visibilityTimeout: TimeSpan.Zero);
        Check.Equal("kept", queue.PeekMessage().Value.MessageText);
    }

    [Case]
    public void Messages_come_in_numbers()
    {
        var queue = Queue();
        foreach (var n in Enumerable.Range(0, 40))
            queue.SendMessage($"{n}");
        Check.Equal(32, queue.PeekMessages(32).Value.Length);
        var got = queue.ReceiveMessages(32, TimeSpan.FromHours(1)).Value;
        Check.Sequence(Enumerable.Range(0, 32).Select(n => $"{n}"), got.Select(one => one.MessageText));
        Check.Equal(8, queue.ReceiveMessages(32).Value.Length);
        Refused(400, "OutOfRangeQueryParameterValue", () => queue.ReceiveMessages(33));
        queue.ClearMessages();
        Check.Equal(0, queue.GetProperties().Value.ApproximateMessagesCount);
    }

    [Case]
    public void Texts_come_back_as_they_were()
    {
        var texts = new[] { "", " a\tb\n", "<&>\"'", "Malmö \U0001f600", new string('x', 64 * 1024) };
        var queue = Queue();
        foreach (var text in texts)
            queue.SendMessage(text);
        Check.Sequence(texts, queue.ReceiveMessages(32).Value.Select(one => one.MessageText));
        Refused(413, "RequestBodyTooLarge", () => queue.SendMessage(new string('x', 64 * 1024 + 1)));
    }

    [Case]
    public void Bytes_travel_as_base64()
    {
        var failed = 0;
        var options = new QueueClientOptions { MessageEncoding = QueueMessageEncoding.Base64 };
        options.MessageDecodingFailed += _ => { failed++; return Task.CompletedTask; };
        var queue = Queue(options);
        queue.SendMessage(new BinaryData(new byte[] { 0, 255, 1 }));
        Check.Sequence(new byte[] { 0, 255, 1 }, queue.ReceiveMessage().Value.Body.ToArray());
        new QueueClient(Connection, queue.Name).SendMessage("%%%");
        Check.That(queue.ReceiveMessage().Value == null && failed == 1, "what is not base64 is told to the program");
    }

    [Case]
    public void Policies_and_signatures_are_kept_to()
    {
        var queue = Queue();
        queue.SendMessage("x");
        queue.SetAccessPolicy([new QueueSignedIdentifier { Id = "readers", AccessPolicy = new QueueAccessPolicy
            { StartsOn = DateTimeOffset.UtcNow.AddDays(-1), ExpiresOn = Tomorrow, Permissions = "r" } }]);
        Check.Equal("r", queue.GetAccessPolicy().Value.Single().AccessPolicy.Permissions);
        QueueClient By(QueueSasBuilder builder) => new(queue.GenerateSasUri(builder));
        var stored = By(new QueueSasBuilder { QueueName = queue.Name, Identifier = "readers" });
        Check.Equal("x", stored.PeekMessage().Value.MessageText);
        Refused(403, "AuthorizationPermissionMismatch", () => stored.SendMessage("y"));
        var adder = By(new QueueSasBuilder(QueueSasPermissions.Add, Tomorrow) { QueueName = queue.Name });
        adder.SendMessage("y");
        Refused(403, "AuthorizationPermissionMismatch", () => adder.ReceiveMessage());
        var late = By(new QueueSasBuilder(QueueSasPermissions.All, DateTimeOffset.UtcNow.AddDays(-1)) { QueueName = queue.Name });
        Refused(403, "AuthenticationFailed", () => late.PeekMessage());
        queue.SetAccessPolicy([]);
        Refused(403, null, () => stored.PeekMessage());
        Refused(403, "AuthenticationFailed", () => new QueueClient(queue.Uri, new StorageSharedKeyCredential(Key.AccountName,
            Convert.ToBase64String(new byte[64]))).PeekMessage());
    }

    [Case]
    public void A_signature_of_the_account_covers_its_queues()
    {
        var uri = Service().GenerateAccountSasUri(AccountSasPermissions.List | AccountSasPermissions.Read | AccountSasPermissions.Create, Tomorrow,
            AccountSasResourceTypes.All);
        var service = new QueueServiceClient(uri);
        var queue = service.CreateQueue(Name("sas")).Value;
        Check.Equal(1, service.GetQueues(prefix: queue.Name).Count());
        Check.Equal(0, queue.GetProperties().Value.ApproximateMessagesCount);
        Refused(403, "AuthorizationPermissionMismatch", () => queue.Delete());
    }

    [Case]
    public void The_service_has_properties_and_a_secondary()
    {
        var properties = Service().GetProperties().Value;
        properties.Cors.Add(new QueueCorsRule { AllowedOrigins = "http://a.example", AllowedMethods = "GET,PUT", AllowedHeaders = "x-ms-*",
            ExposedHeaders = "*", MaxAgeInSeconds = 60 });
        Service().SetProperties(properties);
        Check.Equal("GET,PUT", Service().GetProperties().Value.Cors.Single().AllowedMethods);
        properties.Cors.Clear();
        Service().SetProperties(properties);
        Check.Equal(0, Service().GetProperties().Value.Cors.Count);

        var queue = Queue();
        queue.SendMessage("x");
        var secondary = new QueueClient(new Uri(queue.Uri.ToString().Replace(Key.AccountName, Key.AccountName + "-secondary")), Key);
        Check.Equal("x", secondary.PeekMessage().Value.MessageText);
        Refused(403, null, () => secondary.SendMessage("y"));
    }

    [Case]
    public async Task Everything_is_done_without_waiting()
    {
        var service = Service();
        QueueClient queue = await service.CreateQueueAsync(Name("async"));
        Check.That(await queue.ExistsAsync(), "it is there");
        await queue.SetMetadataAsync(new Dictionary<string, string> { ["a"] = "b" });
        await Task.WhenAll(Enumerable.Range(0, 20).Select(n => queue.SendMessageAsync($"{n}")));
        Check.Equal(20, (await queue.GetPropertiesAsync()).Value.ApproximateMessagesCount);
        Check.Equal(5, (await queue.PeekMessagesAsync(5)).Value.Length);
        var got = (await Task.WhenAll(Enumerable.Range(0, 4).Select(_ => queue.ReceiveMessagesAsync(5, TimeSpan.FromHours(1)))))
            .SelectMany(one => one.Value).ToList();
        Check.Equal(20, got.Select(one => one.MessageId).Distinct().Count());
        var updated = (await queue.UpdateMessageAsync(got[0].MessageId, got[0].PopReceipt, "new", TimeSpan.FromHours(1))).Value;
        await queue.DeleteMessageAsync(got[0].MessageId, updated.PopReceipt);
        await Task.WhenAll(got.Skip(1).Select(one => queue.DeleteMessageAsync(one.MessageId, one.PopReceipt)));
        await queue.ClearMessagesAsync();
        await queue.SetAccessPolicyAsync([]);
        Check.Equal(0, (await queue.GetAccessPolicyAsync()).Value.Count());
        var count = 0;
        await foreach (var one in service.GetQueuesAsync(prefix: queue.Name))
            count++;
        Check.Equal(1, count);
        Check.That(await queue.DeleteIfExistsAsync(), "it is deleted");
    }

    [Case]
    public void A_busy_server_is_asked_again()
    {
        var queue = Queue();
        var faulty = new QueueClient(Faults.Connection, queue.Name, Patient(new QueueClientOptions()));
        using var faults = new Faults("status 503 times 2", "status 500 on 4", "cut_answer 0 on 6");
        faulty.SendMessage("x");
        Check.Equal(3, faults.Requests);
        Check.Equal("x", faulty.PeekMessage().Value.MessageText);
        Check.Equal(5, faults.Requests);
        Check.Equal("x", faulty.PeekMessage().Value.MessageText);
        Check.Equal(7, faults.Requests);
    }

    [Case]
    public async Task A_call_is_cancelled_while_it_waits()
    {
        var faulty = new QueueClient(Faults.Connection, Queue().Name);
        await Cancelled(token => faulty.ReceiveMessagesAsync(token));
        Check.That((await faulty.ReceiveMessageAsync()).Value == null, "the next call is fine");
    }

    [Case]
    public void Messages_are_encrypted()
    {
        foreach (var version in new[] { ClientSideEncryptionVersion.V1_0, ClientSideEncryptionVersion.V2_0 })
        {
            var kek = new Kek("key1");
            var queue = Queue(new SpecializedQueueClientOptions { ClientSideEncryption = kek.Options(version) });
            queue.SendMessage("secret");
            var stored = new QueueClient(Connection, queue.Name).PeekMessage().Value.MessageText;
            Check.That(stored.Contains("EncryptedMessageContents") && !stored.Contains("secret"), $"{version}: {stored}");
            Check.Equal("secret", queue.ReceiveMessage().Value.MessageText);
        }
    }
}
