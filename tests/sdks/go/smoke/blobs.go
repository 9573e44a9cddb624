package main

import (
	"bytes"
	"crypto/md5"
	"encoding/base64"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/appendblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/lease"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"
)

func stream(text string) io.ReadSeekCloser { return streaming.NopCloser(strings.NewReader(text)) }

func id(n int) string { return base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "%04d", n)) }

func text(client *blob.Client, options *blob.DownloadStreamOptions) string {
	answer := must(client.DownloadStream(ctx, options))
	defer answer.Body.Close()
	return string(must(io.ReadAll(answer.Body)))
}

func blobs() {
	client := must(azblob.NewClientFromConnectionString(connection, nil))
	account := client.ServiceClient()
	box := account.NewContainerClient("smoke")
	block := box.NewBlockBlobClient("a folder/é")

	try("container: create", func() error {
		_, err := box.Create(ctx, &container.CreateOptions{Metadata: map[string]*string{"color": to("red")}})
		return err
	})
	try("container: list", func() error {
		page := must(account.NewListContainersPager(&service.ListContainersOptions{Prefix: to("smo"),
			Include: service.ListContainersInclude{Metadata: true}}).NextPage(ctx))
		item := page.ContainerItems[0]
		return want("the list", fmt.Sprint(*item.Name, *item.Metadata["color"], *item.Properties.DefaultEncryptionScope), "smokered$account-encryption-key")
	})
	try("container: metadata, properties", func() error {
		must(box.SetMetadata(ctx, &container.SetMetadataOptions{Metadata: map[string]*string{"a": to("b")}}))
		got := must(box.GetProperties(ctx, nil))
		return want("both", fmt.Sprint(*got.Metadata["A"], *got.HasLegalHold, *got.DenyEncryptionScopeOverride), "bfalse false")
	})
	try("container: access policies", func() error {
		start, expiry := time.Now().UTC(), time.Now().UTC().Add(time.Hour)
		must(box.SetAccessPolicy(ctx, &container.SetAccessPolicyOptions{Access: to(container.PublicAccessTypeBlob),
			ContainerACL: []*container.SignedIdentifier{{ID: to("reader"),
				AccessPolicy: &container.AccessPolicy{Start: &start, Expiry: &expiry, Permission: to("r")}}}}))
		got := must(box.GetAccessPolicy(ctx, nil))
		return want("the policy", fmt.Sprint(*got.SignedIdentifiers[0].ID, *got.BlobPublicAccess), "readerblob")
	})
	try("container: lease", func() error {
		holder := must(lease.NewContainerClient(box, nil))
		must(holder.AcquireLease(ctx, 15, nil))
		_, err := box.Delete(ctx, nil)
		if err = refused(err, 412, string(bloberror.LeaseIDMissing)); err != nil {
			return err
		}
		must(holder.RenewLease(ctx, nil))
		must(holder.ChangeLease(ctx, "6f9619ff-8b86-d011-b42d-00c04fc964ff", nil))
		must(holder.ReleaseLease(ctx, nil))
		return nil
	})
	try("blob: put, get, properties", func() error {
		sum := md5.Sum([]byte("hello"))
		must(block.Upload(ctx, stream("hello"), &blockblob.UploadOptions{
			HTTPHeaders: &blob.HTTPHeaders{BlobContentType: to("text/plain")}, Metadata: map[string]*string{"k": to("v")},
			TransactionalValidation: blob.TransferValidationTypeMD5(sum[:])}))
		got := must(block.GetProperties(ctx, nil))
		return want("the blob", fmt.Sprint(text(block.BlobClient(), nil), *got.ContentType, *got.Metadata["K"], bytes.Equal(got.ContentMD5, sum[:])), "hellotext/plainvtrue")
	})
	try("blob: CRC-64", func() error {
		must(block.Upload(ctx, stream("hello"), &blockblob.UploadOptions{TransactionalValidation: blob.TransferValidationTypeComputeCRC64()}))
		_, err := block.StageBlock(ctx, id(9), stream("hello"), &blockblob.StageBlockOptions{TransactionalValidation: blob.TransferValidationTypeCRC64(1)})
		return refused(err, 400, "Crc64Mismatch")
	})
	try("blob: range", func() error {
		return want("the range", text(block.BlobClient(), &blob.DownloadStreamOptions{Range: blob.HTTPRange{Offset: 1, Count: 3}}), "ell")
	})
	try("blob: only if new, only if unchanged", func() error {
		_, err := block.Upload(ctx, stream("x"), &blockblob.UploadOptions{AccessConditions: &blob.AccessConditions{
			ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfNoneMatch: to(azcore.ETagAny)}}})
		if err = refused(err, 409, string(bloberror.BlobAlreadyExists)); err != nil {
			return err
		}
		_, err = block.Upload(ctx, stream("x"), &blockblob.UploadOptions{AccessConditions: &blob.AccessConditions{
			ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfMatch: to(azcore.ETag(`"0x8D0000000000000"`))}}})
		return refused(err, 412, string(bloberror.ConditionNotMet))
	})
	try("blob: set headers and metadata", func() error {
		must(block.SetHTTPHeaders(ctx, blob.HTTPHeaders{BlobContentType: to("text/html"), BlobCacheControl: to("no-store")}, nil))
		must(block.SetMetadata(ctx, map[string]*string{"n": to("1")}, nil))
		got := must(block.GetProperties(ctx, nil))
		return want("both", *got.ContentType+*got.CacheControl+*got.Metadata["N"], "text/htmlno-store1")
	})
	try("blob: snapshot", func() error {
		shot := must(block.CreateSnapshot(ctx, nil))
		must(block.Upload(ctx, stream("later"), nil))
		old := must(block.BlobClient().WithSnapshot(*shot.Snapshot))
		_, err := block.Delete(ctx, nil)
		if err = refused(err, 409, string(bloberror.SnapshotsPresent)); err != nil {
			return err
		}
		is := text(old, nil)
		must(old.Delete(ctx, nil))
		return want("the snapshot", is, "hello")
	})
	try("blob: lease", func() error {
		holder := must(lease.NewBlobClient(block, nil))
		must(holder.AcquireLease(ctx, -1, nil))
		_, err := block.Upload(ctx, stream("x"), nil)
		if err = refused(err, 412, string(bloberror.LeaseIDMissing)); err != nil {
			return err
		}
		must(holder.RenewLease(ctx, nil))
		must(holder.BreakLease(ctx, &lease.BlobBreakOptions{BreakPeriod: to(int32(0))}))
		return want("the state", *must(block.GetProperties(ctx, nil)).LeaseState, "broken")
	})
	try("blob: blocks", func() error {
		blocks := box.NewBlockBlobClient("blocks")
		for i := 0; i < 3; i++ {
			must(blocks.StageBlock(ctx, id(i), stream(fmt.Sprint("part", i, " ")), nil))
		}
		must(blocks.CommitBlockList(ctx, []string{id(2), id(0)}, nil))
		list := must(blocks.GetBlockList(ctx, blockblob.BlockListTypeAll, nil))
		return want("the blob", fmt.Sprint(text(blocks.BlobClient(), nil), len(list.CommittedBlocks), len(list.UncommittedBlocks)), "part2 part0 2 0")
	})
	try("blob: large, in parallel", func() error {
		data := bytes.Repeat([]byte("0123456789abcdef"), 1<<18)
		must(client.UploadBuffer(ctx, "smoke", "large", data, &azblob.UploadBufferOptions{BlockSize: 1 << 20, Concurrency: 4}))
		got := make([]byte, len(data))
		must(client.DownloadBuffer(ctx, "smoke", "large", got, &azblob.DownloadBufferOptions{BlockSize: 1 << 20}))
		must(client.UploadStream(ctx, "smoke", "stream", bytes.NewReader(data), &azblob.UploadStreamOptions{BlockSize: 1 << 20}))
		return want("the same", bytes.Equal(data, got), true)
	})
	try("blob: append", func() error {
		log := box.NewAppendBlobClient("log")
		must(log.Create(ctx, nil))
		must(log.AppendBlock(ctx, stream("one"), nil))
		answer := must(log.AppendBlock(ctx, stream("two"), &appendblob.AppendBlockOptions{
			AppendPositionAccessConditions: &appendblob.AppendPositionAccessConditions{AppendPosition: to(int64(3))}}))
		return want("the log", fmt.Sprint(text(log.BlobClient(), nil), *answer.BlobAppendOffset, *answer.BlobCommittedBlockCount), "onetwo32")
	})
	try("blob: copy, and in one step", func() error {
		one, other := box.NewBlobClient("copy"), box.NewBlobClient("copy2")
		started := must(one.StartCopyFromURL(ctx, block.URL(), nil))
		url := must(block.GetSASURL(sas.BlobPermissions{Read: true}, time.Now().Add(time.Hour), nil))
		must(other.CopyFromURL(ctx, url, nil))
		_, err := one.AbortCopyFromURL(ctx, *started.CopyID, nil)
		if err = refused(err, 409, string(bloberror.NoPendingCopyOperation)); err != nil {
			return err
		}
		got := must(one.GetProperties(ctx, nil))
		return want("the copies", fmt.Sprint(text(one, nil), text(other, nil), *got.CopyStatus, *got.CopySource == block.URL()), "laterlatersuccesstrue")
	})
	try("blob: list, flat and by hierarchy", func() error {
		pager := box.NewListBlobsFlatPager(&container.ListBlobsFlatOptions{MaxResults: to(int32(2)),
			Include: container.ListBlobsInclude{Metadata: true, Copy: true, Snapshots: true, UncommittedBlobs: true}})
		var names []string
		for pager.More() {
			for _, item := range must(pager.NextPage(ctx)).Segment.BlobItems {
				names = append(names, *item.Name)
			}
		}
		page := must(box.NewListBlobsHierarchyPager("/", nil).NextPage(ctx))
		return want("the names", fmt.Sprint(names, *page.Segment.BlobPrefixes[0].Name), "[a folder/é blocks copy copy2 large log stream]a folder/")
	})
	try("blob: SAS of a blob and of a container", func() error {
		url := must(block.GetSASURL(sas.BlobPermissions{Read: true}, time.Now().Add(time.Hour), nil))
		reader := must(blob.NewClientWithNoCredential(url, nil))
		text(reader, nil)
		_, err := reader.Delete(ctx, nil)
		if err = refused(err, 403, "AuthorizationPermissionMismatch"); err != nil {
			return err
		}
		url = must(box.GetSASURL(sas.ContainerPermissions{List: true}, time.Now().Add(time.Hour), nil))
		must(must(container.NewClientWithNoCredential(url, nil)).NewListBlobsFlatPager(nil).NextPage(ctx))
		return nil
	})
	try("blob: anonymous", func() error {
		return want("the blob", text(must(blob.NewClientWithNoCredential(block.URL(), nil)), nil), "later")
	})
	try("blob: service properties, account", func() error {
		got := must(account.GetProperties(ctx, nil))
		must(account.SetProperties(ctx, &service.SetPropertiesOptions{DefaultServiceVersion: to("2021-12-02")}))
		after := must(account.GetProperties(ctx, nil))
		must(account.SetProperties(ctx, &service.SetPropertiesOptions{DefaultServiceVersion: got.DefaultServiceVersion}))
		info := must(account.GetAccountInfo(ctx, nil))
		return want("both", fmt.Sprint(*after.DefaultServiceVersion, *info.AccountKind), "2021-12-02StorageV2")
	})
	try("blob: what there is none of", func() error {
		_, err := block.SetTier(ctx, blob.AccessTierCool, nil)
		return refused(err, 501, "NotImplemented")
	})
	try("blob: delete", func() error {
		must(block.Delete(ctx, &blob.DeleteOptions{DeleteSnapshots: to(blob.DeleteSnapshotsOptionTypeInclude)}))
		_, err := block.GetProperties(ctx, nil)
		return refused(err, 404, string(bloberror.BlobNotFound))
	})
	try("container: delete", func() error {
		must(box.Delete(ctx, nil))
		_, err := box.GetProperties(ctx, nil)
		return refused(err, 404, string(bloberror.ContainerNotFound))
	})
}
