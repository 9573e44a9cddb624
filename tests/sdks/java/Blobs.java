import com.azure.core.util.BinaryData;
import com.azure.core.util.Context;
import com.azure.storage.blob.*;
import com.azure.storage.blob.models.*;
import com.azure.storage.blob.options.*;
import com.azure.storage.blob.sas.*;
import com.azure.storage.blob.specialized.*;
import com.azure.storage.common.sas.SasProtocol;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.security.MessageDigest;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.util.*;

class Blobs {
    static BinaryData data(String text) {
        return BinaryData.fromString(text);
    }

    static String id(int n) {
        return Base64.getEncoder().encodeToString(String.format("%04d", n).getBytes());
    }

    static void run() {
        BlobServiceClient service = new BlobServiceClientBuilder().connectionString(Smoke.CONNECTION).buildClient();
        BlobContainerClient box = service.getBlobContainerClient("smoke");
        BlobClient blob = box.getBlobClient("a folder/é");
        BlockBlobClient block = blob.getBlockBlobClient();

        Smoke.check("container: create", () -> box.createWithResponse(Map.of("color", "red"), null, null, Context.NONE));
        Smoke.check("container: list", () -> {
            BlobContainerItem item = service.listBlobContainers(new ListBlobContainersOptions().setPrefix("smo")
                .setDetails(new BlobContainerListDetails().setRetrieveMetadata(true)), null).iterator().next();
            Smoke.same("smoke red $account-encryption-key", item.getName() + " " + item.getMetadata().get("color") + " "
                + item.getProperties().getDefaultEncryptionScope());
        });
        Smoke.check("container: metadata, properties", () -> {
            box.setMetadata(Map.of("a", "b"));
            BlobContainerProperties got = box.getProperties();
            Smoke.same("b false", got.getMetadata().get("a") + " " + got.isEncryptionScopeOverridePrevented());
        });
        Smoke.check("container: access policies", () -> {
            box.setAccessPolicy(PublicAccessType.BLOB, List.of(new BlobSignedIdentifier().setId("reader")
                .setAccessPolicy(new BlobAccessPolicy().setStartsOn(OffsetDateTime.now())
                    .setExpiresOn(OffsetDateTime.now().plusHours(1)).setPermissions("r"))));
            BlobContainerAccessPolicies got = box.getAccessPolicy();
            Smoke.same("reader blob", got.getIdentifiers().get(0).getId() + " " + got.getBlobAccessType());
        });
        Smoke.check("container: lease", () -> {
            BlobLeaseClient lease = new BlobLeaseClientBuilder().containerClient(box).buildClient();
            lease.acquireLease(15);
            Smoke.refused(412, "LeaseIdMissing", box::delete);
            lease.renewLease();
            lease.changeLease("6f9619ff-8b86-d011-b42d-00c04fc964ff");
            lease.releaseLease();
        });
        Smoke.check("blob: put, get, properties", () -> {
            byte[] md5 = MessageDigest.getInstance("MD5").digest("hello".getBytes());
            block.uploadWithResponse(new BlockBlobSimpleUploadOptions(data("hello")).setContentMd5(md5)
                .setHeaders(new BlobHttpHeaders().setContentType("text/plain")).setMetadata(Map.of("k", "v")), null, Context.NONE);
            BlobProperties got = blob.getProperties();
            Smoke.same("hello text/plain v", blob.downloadContent() + " " + got.getContentType() + " " + got.getMetadata().get("k"));
            Smoke.same(true, Arrays.equals(md5, got.getContentMd5()));
        });
        Smoke.check("blob: range", () -> {
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            blob.downloadStreamWithResponse(out, new BlobRange(1, 3L), null, null, true, null, Context.NONE);
            Smoke.same("ell", out);
        });
        Smoke.check("blob: only if new, only if unchanged", () -> {
            Smoke.refused(409, "BlobAlreadyExists", () -> blob.upload(data("x")));
            Smoke.refused(412, "ConditionNotMet", () -> blob.setHttpHeadersWithResponse(new BlobHttpHeaders(),
                new BlobRequestConditions().setIfMatch("\"0x8D0000000000000\""), null, Context.NONE));
        });
        Smoke.check("blob: set headers and metadata", () -> {
            blob.setHttpHeaders(new BlobHttpHeaders().setContentType("text/html").setCacheControl("no-store"));
            blob.setMetadata(Map.of("n", "1"));
            BlobProperties got = blob.getProperties();
            Smoke.same("text/html no-store 1", got.getContentType() + " " + got.getCacheControl() + " " + got.getMetadata().get("n"));
        });
        Smoke.check("blob: snapshot", () -> {
            BlobClientBase old = blob.createSnapshot();
            blob.upload(data("later"), true);
            Smoke.refused(409, "SnapshotsPresent", blob::delete);
            Smoke.same("hello", old.downloadContent());
            old.delete();
        });
        Smoke.check("blob: lease", () -> {
            BlobLeaseClient lease = new BlobLeaseClientBuilder().blobClient(blob).buildClient();
            lease.acquireLease(-1);
            Smoke.refused(412, "LeaseIdMissing", () -> blob.upload(data("x"), true));
            lease.renewLease();
            lease.breakLeaseWithResponse(new BlobBreakLeaseOptions().setBreakPeriod(Duration.ZERO), null, Context.NONE);
            Smoke.same("broken", blob.getProperties().getLeaseState());
        });
        Smoke.check("blob: blocks", () -> {
            BlockBlobClient blocks = box.getBlobClient("blocks").getBlockBlobClient();
            for (int i = 0; i < 3; i++)
                blocks.stageBlock(id(i), data("part" + i + " "));
            blocks.commitBlockList(List.of(id(2), id(0)));
            BlockList list = blocks.listBlocks(BlockListType.ALL);
            Smoke.same("part2 part0  2 0", blocks.downloadContent() + " " + list.getCommittedBlocks().size() + " " + list.getUncommittedBlocks().size());
        });
        Smoke.check("blob: large, in parallel", () -> {
            byte[] bytes = new byte[4 << 20];
            new Random(1).nextBytes(bytes);
            BlobClient large = box.getBlobClient("large");
            large.uploadWithResponse(new BlobParallelUploadOptions(new ByteArrayInputStream(bytes))
                .setParallelTransferOptions(new ParallelTransferOptions().setBlockSizeLong(1L << 20).setMaxSingleUploadSizeLong(1L << 20)
                    .setMaxConcurrency(4)), null, Context.NONE);
            Smoke.same(true, Arrays.equals(bytes, large.downloadContent().toBytes()));
        });
        Smoke.check("blob: append", () -> {
            AppendBlobClient log = box.getBlobClient("log").getAppendBlobClient();
            log.create();
            log.appendBlock(new ByteArrayInputStream("one".getBytes()), 3);
            AppendBlobItem answer = log.appendBlockWithResponse(new ByteArrayInputStream("two".getBytes()), 3, null,
                new AppendBlobRequestConditions().setAppendPosition(3L), null, Context.NONE).getValue();
            Smoke.same("onetwo 3 2", log.downloadContent() + " " + answer.getBlobAppendOffset() + " " + answer.getBlobCommittedBlockCount());
        });
        Smoke.check("blob: copy, and in one step", () -> {
            BlobClient one = box.getBlobClient("copy"), other = box.getBlobClient("copy2");
            BlobCopyInfo done = one.beginCopy(blob.getBlobUrl(), Duration.ofMillis(100)).waitForCompletion(Duration.ofSeconds(30)).getValue();
            Smoke.same("success", done.getCopyStatus());
            other.copyFromUrl(blob.getBlobUrl() + "?" + blob.generateSas(new BlobServiceSasSignatureValues(
                OffsetDateTime.now().plusHours(1), BlobSasPermission.parse("r"))));
            Smoke.same("laterlater", one.downloadContent() + "" + other.downloadContent());
            Smoke.same(blob.getBlobUrl(), one.getProperties().getCopySource());
            Smoke.refused(409, "NoPendingCopyOperation", () -> one.abortCopyFromUrl(done.getCopyId()));
        });
        Smoke.check("blob: list, flat and by hierarchy", () -> {
            List<String> names = new ArrayList<>();
            for (BlobItem item : box.listBlobs(new ListBlobsOptions().setMaxResultsPerPage(2).setDetails(new BlobListDetails()
                .setRetrieveMetadata(true).setRetrieveCopy(true).setRetrieveSnapshots(true).setRetrieveUncommittedBlobs(true)), null))
                names.add(item.getName());
            Smoke.same("[a folder/é, blocks, copy, copy2, large, log]", names);
            names.clear();
            for (BlobItem item : box.listBlobs(new ListBlobsOptions().setStartFrom("copy2"), null))
                names.add(item.getName());
            Smoke.same("[copy2, large, log]", names);
            names.clear();
            for (BlobItem item : box.listBlobsByHierarchy("")) // the client puts blobs before prefixes
                names.add(item.getName() + (Boolean.TRUE.equals(item.isPrefix()) ? " and more" : ""));
            Smoke.same("[blocks, copy, copy2, large, log, a folder/ and more]", names);
        });
        Smoke.check("blob: SAS of a blob and of a container", () -> {
            BlobClient reader = new BlobClientBuilder().endpoint(blob.getBlobUrl() + "?" + blob.generateSas(
                new BlobServiceSasSignatureValues(OffsetDateTime.now().plusHours(1), BlobSasPermission.parse("r"))
                    .setProtocol(SasProtocol.HTTPS_HTTP))).buildClient();
            Smoke.same("later", reader.downloadContent());
            Smoke.refused(403, "AuthorizationPermissionMismatch", reader::delete);
            BlobContainerClient lister = new BlobContainerClientBuilder().endpoint(box.getBlobContainerUrl() + "?"
                + box.generateSas(new BlobServiceSasSignatureValues(OffsetDateTime.now().plusHours(1),
                    BlobContainerSasPermission.parse("l")))).buildClient();
            Smoke.same("a folder/é", lister.listBlobs().iterator().next().getName());
        });
        Smoke.check("blob: service properties, account", () -> {
            BlobServiceProperties before = service.getProperties();
            service.setProperties(service.getProperties().setDefaultServiceVersion("2021-12-02"));
            Smoke.same("2021-12-02", service.getProperties().getDefaultServiceVersion());
            service.setProperties(before);
            Smoke.same("StorageV2", service.getAccountInfo().getAccountKind());
        });
        Smoke.check("blob: what there is none of",
            () -> Smoke.refused(501, "NotImplemented", () -> blob.setAccessTier(AccessTier.COOL)));
        Smoke.check("blob: delete", () -> {
            blob.deleteWithResponse(DeleteSnapshotsOptionType.INCLUDE, null, null, Context.NONE);
            Smoke.refused(404, "BlobNotFound", blob::getProperties);
        });
        Smoke.check("container: delete", () -> {
            box.delete();
            Smoke.refused(404, "ContainerNotFound", box::getProperties);
        });
    }
}
