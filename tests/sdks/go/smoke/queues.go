package main

import (
	"fmt"
	"os"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/queueerror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/sas"
)

func queues() {
	service := must(azqueue.NewServiceClientFromConnectionString(connection, nil))
	queue := service.NewQueueClient("smoke")

	try("queue: create", func() error {
		_, err := queue.Create(ctx, &azqueue.CreateOptions{Metadata: map[string]*string{"color": to("red")}})
		return err
	})
	try("queue: list", func() error {
		page := must(service.NewListQueuesPager(&azqueue.ListQueuesOptions{Prefix: to("smo"),
			Include: azqueue.ListQueuesInclude{Metadata: true}}).NextPage(ctx))
		return want("the list", fmt.Sprint(*page.Queues[0].Name, *page.Queues[0].Metadata["color"]), "smokered")
	})
	try("queue: metadata", func() error {
		must(queue.SetMetadata(ctx, &azqueue.SetMetadataOptions{Metadata: map[string]*string{"a": to("b")}}))
		got := must(queue.GetProperties(ctx, nil))
		return want("the metadata", *got.Metadata["A"], "b")
	})
	try("queue: put, peek, get, update, delete", func() error {
		must(queue.EnqueueMessage(ctx, "hello <&> é", nil))
		peeked := must(queue.PeekMessage(ctx, nil)).Messages[0]
		got := must(queue.DequeueMessage(ctx, &azqueue.DequeueMessageOptions{VisibilityTimeout: to(int32(30))})).Messages[0]
		if err := want("the text", *peeked.MessageText+*got.MessageText, "hello <&> éhello <&> é"); err != nil {
			return err
		}
		updated := must(queue.UpdateMessage(ctx, *got.MessageID, *got.PopReceipt, "changed",
			&azqueue.UpdateMessageOptions{VisibilityTimeout: to(int32(0))}))
		again := must(queue.DequeueMessage(ctx, nil)).Messages[0]
		if err := want("the message", fmt.Sprint(*again.MessageText, *again.DequeueCount, updated.PopReceipt != nil), "changed2 true"); err != nil {
			return err
		}
		must(queue.DeleteMessage(ctx, *again.MessageID, *again.PopReceipt, nil))
		_, err := queue.DeleteMessage(ctx, *again.MessageID, *again.PopReceipt, nil)
		return refused(err, 404, string(queueerror.MessageNotFound))
	})
	try("queue: several, clear", func() error {
		for i := 0; i < 5; i++ {
			must(queue.EnqueueMessage(ctx, fmt.Sprint(i), &azqueue.EnqueueMessageOptions{TimeToLive: to(int32(-1))}))
		}
		got := must(queue.DequeueMessages(ctx, &azqueue.DequeueMessagesOptions{NumberOfMessages: to(int32(3))})).Messages
		peeked := must(queue.PeekMessages(ctx, &azqueue.PeekMessagesOptions{NumberOfMessages: to(int32(32))})).Messages
		must(queue.ClearMessages(ctx, nil))
		left := must(queue.GetProperties(ctx, nil)).ApproximateMessagesCount
		return want("messages", fmt.Sprint(len(got), len(peeked), *left), "3 2 0")
	})
	try("queue: access policies", func() error {
		start, expiry := time.Now().UTC(), time.Now().UTC().Add(time.Hour)
		must(queue.SetAccessPolicy(ctx, &azqueue.SetAccessPolicyOptions{QueueACL: []*azqueue.SignedIdentifier{
			{ID: to("adder"), AccessPolicy: &azqueue.AccessPolicy{Start: &start, Expiry: &expiry, Permission: to("a")}}}}))
		got := must(queue.GetAccessPolicy(ctx, nil)).SignedIdentifiers
		return want("the policy", *got[0].ID+*got[0].AccessPolicy.Permission, "addera")
	})
	try("queue: SAS", func() error {
		// Those that the client makes by itself are for HTTPS.
		key := must(azqueue.NewSharedKeyCredential(os.Getenv("TAVOLA_ACCOUNT"), os.Getenv("TAVOLA_KEY")))
		token := must(sas.QueueSignatureValues{Version: sas.Version, Protocol: sas.ProtocolHTTPSandHTTP, QueueName: "smoke",
			ExpiryTime: time.Now().UTC().Add(time.Hour), Permissions: to(sas.QueuePermissions{Add: true}).String()}.SignWithSharedKey(key))
		adder := must(azqueue.NewQueueClientWithNoCredential(queue.URL()+"?"+token.Encode(), nil))
		must(adder.EnqueueMessage(ctx, "by SAS", nil))
		_, err := adder.DequeueMessage(ctx, nil)
		return refused(err, 403, "AuthorizationPermissionMismatch")
	})
	try("queue: service properties", func() error {
		got := must(service.GetServiceProperties(ctx, nil))
		must(service.SetProperties(ctx, &azqueue.SetPropertiesOptions{Logging: &azqueue.Logging{Version: to("1.0"),
			Delete: to(true), Read: to(false), Write: to(false), RetentionPolicy: &azqueue.RetentionPolicy{Enabled: to(false)}}}))
		after := must(service.GetServiceProperties(ctx, nil))
		must(service.SetProperties(ctx, &azqueue.SetPropertiesOptions{Logging: got.Logging}))
		return want("Logging.Delete", *after.Logging.Delete, true)
	})
	try("queue: delete", func() error {
		must(queue.Delete(ctx, nil))
		_, err := queue.GetProperties(ctx, nil)
		return refused(err, 404, string(queueerror.QueueNotFound))
	})
}
