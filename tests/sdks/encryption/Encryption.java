import com.google.common.util.concurrent.Futures;
import com.google.common.util.concurrent.ListenableFuture;
import com.microsoft.azure.keyvault.core.IKey;
import com.microsoft.azure.storage.CloudStorageAccount;
import com.microsoft.azure.storage.table.*;
import java.util.HashMap;
import javax.crypto.Cipher;
import javax.crypto.spec.SecretKeySpec;
import org.apache.commons.lang3.tuple.Pair;
import org.apache.commons.lang3.tuple.Triple;

/** Writes or reads one entity with the encryption of the retired client for Java. */
public class Encryption {
    /** The key 00 01 .. 1f, with AES key wrap. */
    static class Key implements IKey {
        private byte[] run(int mode, byte[] key) throws Exception {
            byte[] kek = new byte[32];
            for (int i = 0; i < 32; i++)
                kek[i] = (byte) i;
            Cipher cipher = Cipher.getInstance("AESWrap");
            cipher.init(mode, new SecretKeySpec(kek, "AES"));
            return mode == Cipher.WRAP_MODE ? cipher.wrap(new SecretKeySpec(key, "AES"))
                : cipher.unwrap(key, "AES", Cipher.SECRET_KEY).getEncoded();
        }
        public String getDefaultEncryptionAlgorithm() { return null; }
        public String getDefaultKeyWrapAlgorithm() { return "A256KW"; }
        public String getDefaultSignatureAlgorithm() { return null; }
        public String getKid() { return "local:key1"; }
        public ListenableFuture<byte[]> decryptAsync(byte[] a, byte[] b, byte[] c, byte[] d, String e) {
            throw new UnsupportedOperationException();
        }
        public ListenableFuture<Triple<byte[], byte[], String>> encryptAsync(byte[] a, byte[] b, byte[] c, String d) {
            throw new UnsupportedOperationException();
        }
        public ListenableFuture<Pair<byte[], String>> wrapKeyAsync(byte[] key, String algorithm) {
            try {
                return Futures.immediateFuture(Pair.of(run(Cipher.WRAP_MODE, key), "A256KW"));
            } catch (Exception e) {
                throw new RuntimeException(e);
            }
        }
        public ListenableFuture<byte[]> unwrapKeyAsync(byte[] key, String algorithm) {
            try {
                return Futures.immediateFuture(run(Cipher.UNWRAP_MODE, key));
            } catch (Exception e) {
                throw new RuntimeException(e);
            }
        }
        public ListenableFuture<Pair<byte[], String>> signAsync(byte[] a, String b) {
            throw new UnsupportedOperationException();
        }
        public ListenableFuture<Boolean> verifyAsync(byte[] a, byte[] b, String c) {
            throw new UnsupportedOperationException();
        }
        public void close() { }
    }

    public static void main(String[] arguments) throws Exception {
        CloudTable table = CloudStorageAccount.parse(System.getenv("TAVOLA_CONNECTION"))
            .createCloudTableClient().getTableReference(arguments[1]);
        TableRequestOptions options = new TableRequestOptions();
        options.setEncryptionPolicy(new TableEncryptionPolicy(new Key(), null));
        options.setEncryptionResolver((pk, rk, name) -> name.startsWith("S"));

        if (arguments[0].equals("write")) {
            HashMap<String, EntityProperty> properties = new HashMap<>();
            for (int i = 4; i + 1 < arguments.length; i += 2)
                properties.put(arguments[i], new EntityProperty(arguments[i + 1]));
            table.execute(TableOperation.insertOrReplace(
                new DynamicTableEntity(arguments[2], arguments[3], properties)), options, null);
            return;
        }
        DynamicTableEntity entity = table.execute(TableOperation.retrieve(arguments[2], arguments[3],
            DynamicTableEntity.class), options, null).getResultAsType();
        entity.getProperties().forEach((name, value) ->
            System.out.println(name + "=" + value.getEdmType() + " " + value.getValueAsString()));
    }
}
