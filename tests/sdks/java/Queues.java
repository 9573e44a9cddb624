import com.azure.core.util.Context;
import com.azure.storage.common.sas.SasProtocol;
import com.azure.storage.queue.*;
import com.azure.storage.queue.models.*;
import com.azure.storage.queue.sas.*;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.util.*;

class Queues {
    static void run() {
        QueueServiceClient service = new QueueServiceClientBuilder().connectionString(Smoke.CONNECTION).buildClient();
        QueueClient queue = service.getQueueClient("smoke");

        Smoke.check("queue: create", () -> queue.createWithResponse(Map.of("color", "red"), null, Context.NONE));
        Smoke.check("queue: list", () -> {
            QueueItem item = service.listQueues(new QueuesSegmentOptions().setPrefix("smo").setIncludeMetadata(true),
                null, Context.NONE).iterator().next();
            Smoke.same("smoke red", item.getName() + " " + item.getMetadata().get("color"));
        });
        Smoke.check("queue: metadata", () -> {
            queue.setMetadata(Map.of("a", "b"));
            Smoke.same("b", queue.getProperties().getMetadata().get("a"));
        });
        Smoke.check("queue: put, peek, get, update, delete", () -> {
            queue.sendMessage("hello <&> é");
            Smoke.same("hello <&> é", queue.peekMessage().getBody());
            QueueMessageItem got = queue.receiveMessage();
            Smoke.same("hello <&> é", got.getBody());
            queue.updateMessage(got.getMessageId(), got.getPopReceipt(), "changed", Duration.ZERO);
            QueueMessageItem again = queue.receiveMessage();
            Smoke.same("changed 2", again.getBody() + " " + again.getDequeueCount());
            queue.deleteMessage(again.getMessageId(), again.getPopReceipt());
            Smoke.refused(404, "MessageNotFound",
                () -> queue.deleteMessage(again.getMessageId(), again.getPopReceipt()));
        });
        Smoke.check("queue: several, clear", () -> {
            for (int i = 0; i < 5; i++)
                queue.sendMessageWithResponse("m" + i, Duration.ZERO, Duration.ofSeconds(-1), null, Context.NONE);
            int got = 0, peeked = 0;
            for (QueueMessageItem ignored : queue.receiveMessages(3))
                got++;
            for (PeekedMessageItem ignored : queue.peekMessages(32, null, Context.NONE))
                peeked++;
            queue.clearMessages();
            Smoke.same("3 2 0", got + " " + peeked + " " + queue.getProperties().getApproximateMessagesCount());
        });
        Smoke.check("queue: access policies", () -> {
            // The service takes seconds or seven digits after them; the client sends all it has.
            OffsetDateTime now = OffsetDateTime.now(ZoneOffset.UTC).truncatedTo(ChronoUnit.SECONDS);
            queue.setAccessPolicy(List.of(new QueueSignedIdentifier().setId("adder").setAccessPolicy(
                new QueueAccessPolicy().setStartsOn(now).setExpiresOn(now.plusHours(1))
                    .setPermissions("a"))));
            Smoke.same("adder", queue.getAccessPolicy().iterator().next().getId());
        });
        Smoke.check("queue: SAS", () -> {
            String sas = queue.generateSas(new QueueServiceSasSignatureValues(OffsetDateTime.now().plusHours(1),
                QueueSasPermission.parse("a")).setProtocol(SasProtocol.HTTPS_HTTP));
            QueueClient adder = new QueueClientBuilder().endpoint(queue.getQueueUrl() + "?" + sas).buildClient();
            adder.sendMessage("by SAS");
            Smoke.refused(403, "AuthorizationPermissionMismatch", adder::receiveMessage);
        });
        Smoke.check("queue: service properties", () -> {
            QueueServiceProperties before = service.getProperties();
            service.setProperties(service.getProperties().setCors(List.of(new QueueCorsRule()
                .setAllowedOrigins("http://example.org").setAllowedMethods("GET").setAllowedHeaders("*")
                .setExposedHeaders("*").setMaxAgeInSeconds(5))));
            Smoke.same("http://example.org", service.getProperties().getCors().get(0).getAllowedOrigins());
            service.setProperties(before);
        });
        Smoke.check("queue: delete", () -> {
            queue.delete();
            Smoke.refused(404, "QueueNotFound", queue::getProperties);
        });
    }
}
