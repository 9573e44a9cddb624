// Entities that WindowsAzure.Storage encrypts, and libtavola's, for each other.
using System.Runtime.InteropServices;
using System.Security.Cryptography;
using Microsoft.Azure.KeyVault.Core;

/// <summary>A key-encryption key: AES key wrap as in RFC 3394, or RSA with OAEP.</summary>
abstract class Kek(string id, string algorithm) : IKey
{
    public string Kid => id;
    public string DefaultKeyWrapAlgorithm => algorithm;
    public string DefaultEncryptionAlgorithm => null;
    public string DefaultSignatureAlgorithm => null;

    protected abstract byte[] Wrap(byte[] key);
    protected abstract byte[] Unwrap(byte[] key);

    public Task<Tuple<byte[], string>> WrapKeyAsync(byte[] key, string _, CancellationToken token) => Task.FromResult(Tuple.Create(Wrap(key), algorithm));

    public Task<byte[]> UnwrapKeyAsync(byte[] key, string by, CancellationToken token)
    {
        Check.Equal(algorithm, by, "the algorithm");
        return Task.FromResult(Unwrap(key));
    }

    public Task<byte[]> DecryptAsync(byte[] a, byte[] b, byte[] c, byte[] d, string e, CancellationToken f) => throw new NotSupportedException();
    public Task<Tuple<byte[], byte[], string>> EncryptAsync(byte[] a, byte[] b, byte[] c, string d, CancellationToken e) => throw new NotSupportedException();
    public Task<Tuple<byte[], string>> SignAsync(byte[] a, string b, CancellationToken c) => throw new NotSupportedException();
    public Task<bool> VerifyAsync(byte[] a, byte[] b, string c, CancellationToken d) => throw new NotSupportedException();
    public void Dispose() { }
}

sealed class AesKek(string id, byte[] secret) : Kek(id, $"A{secret.Length * 8}KW")
{
    static readonly byte[] Begin = Enumerable.Repeat((byte)0xA6, 8).ToArray();

    protected override byte[] Wrap(byte[] key)
    {
        using var aes = Aes.Create();
        aes.Key = secret;
        var all = Begin.Concat(key).ToArray();
        for (var step = 1; step <= 6 * (key.Length / 8); step++)
        {
            var at = 8 * ((step - 1) % (key.Length / 8) + 1);
            var block = aes.EncryptEcb([.. all[..8], .. all[at..(at + 8)]], PaddingMode.None);
            Count(block, step);
            block[..8].CopyTo(all, 0);
            block[8..].CopyTo(all, at);
        }
        return all;
    }

    protected override byte[] Unwrap(byte[] key)
    {
        using var aes = Aes.Create();
        aes.Key = secret;
        var all = (byte[])key.Clone();
        var count = key.Length / 8 - 1;
        for (var step = 6 * count; step > 0; step--)
        {
            var at = 8 * ((step - 1) % count + 1);
            Count(all, step);
            var block = aes.DecryptEcb([.. all[..8], .. all[at..(at + 8)]], PaddingMode.None);
            block[..8].CopyTo(all, 0);
            block[8..].CopyTo(all, at);
        }
        return all[..8].SequenceEqual(Begin) ? all[8..] : throw new CryptographicException("another key");
    }

    /// <summary>The number of the step, into the last bytes of the register.</summary>
    static void Count(byte[] register, int step)
    {
        register[6] ^= (byte)(step >> 8);
        register[7] ^= (byte)step;
    }
}

sealed class RsaKek(string id, RSA rsa) : Kek(id, "RSA-OAEP")
{
    protected override byte[] Wrap(byte[] key) => rsa.Encrypt(key, RSAEncryptionPadding.OaepSHA1);
    protected override byte[] Unwrap(byte[] key) => rsa.Decrypt(key, RSAEncryptionPadding.OaepSHA1);
}

/// <summary>As much of libtavola as is needed here.</summary>
static unsafe class Library
{
    const string Name = "tavola";

    static Library() => NativeLibrary.SetDllImportResolver(typeof(Library).Assembly, (name, _, _) =>
        name == Name ? NativeLibrary.Load(Environment.GetEnvironmentVariable("TAVOLA_LIBRARY")) : 0);

    [DllImport(Name)] public static extern int tavola_client_open([MarshalAs(UnmanagedType.LPUTF8Str)] string text, nint options, out nint client);
    [DllImport(Name)] public static extern int tavola_table_open(nint client, [MarshalAs(UnmanagedType.LPUTF8Str)] string name, out nint table);
    [DllImport(Name)] public static extern int tavola_crypto_new_aes([MarshalAs(UnmanagedType.LPUTF8Str)] string kid, byte[] kek, nuint size, out nint crypto);
    [DllImport(Name)] public static extern int tavola_crypto_new_rsa([MarshalAs(UnmanagedType.LPUTF8Str)] string kid, [MarshalAs(UnmanagedType.LPUTF8Str)] string pem, nuint size, out nint crypto);
    [DllImport(Name)] public static extern void tavola_crypto_set_protocol(nint crypto, int version);
    [DllImport(Name)] public static extern void tavola_crypto_set_properties(nint crypto, delegate* unmanaged<nint, byte*, byte*, byte*, byte> choose, nint user);
    [DllImport(Name)] public static extern void tavola_table_set_crypto(nint table, nint crypto);
    [DllImport(Name)] public static extern nint tavola_entity_new([MarshalAs(UnmanagedType.LPUTF8Str)] string partition, [MarshalAs(UnmanagedType.LPUTF8Str)] string row);
    [DllImport(Name)] public static extern void tavola_entity_set_string(nint entity, [MarshalAs(UnmanagedType.LPUTF8Str)] string name, [MarshalAs(UnmanagedType.LPUTF8Str)] string value);
    [DllImport(Name)] public static extern nint tavola_entity_json(nint entity);
    [DllImport(Name)] public static extern int tavola_insert_or_replace(nint table, nint entity, nint options);
    [DllImport(Name)] public static extern int tavola_get(nint table, [MarshalAs(UnmanagedType.LPUTF8Str)] string partition,
        [MarshalAs(UnmanagedType.LPUTF8Str)] string row, nint options, out nint entity);
    [DllImport(Name)] public static extern nint tavola_err_name(int err);

    public static void Must(int err) => Check.Equal(0, err, err == 0 ? "" : Marshal.PtrToStringUTF8(tavola_err_name(err)));

    [UnmanagedCallersOnly]
    static byte IsSecret(nint user, byte* partition, byte* row, byte* name) => (byte)(*name == (byte)'S' ? 1 : 0);

    /// <summary>A table through libtavola, which encrypts what begins with S.</summary>
    public static nint Open(string name, nint crypto)
    {
        Must(tavola_client_open(Staff.Connection, 0, out var client));
        Must(tavola_table_open(client, name, out var table));
        tavola_crypto_set_properties(crypto, &IsSecret, 0);
        tavola_table_set_crypto(table, crypto);
        return table;
    }
}

public class Encryption : Staff
{
    const string Partition = "pk é", Row = "rk 'ö'", Id = "local:key1";
    static readonly byte[] Secret = Enumerable.Range(0, 32).Select(n => (byte)n).ToArray();
    static readonly RSA Rsa = RSA.Create(2048);
    static readonly string Pem = Rsa.ExportPkcs8PrivateKeyPem();

    static readonly Dictionary<string, string> Texts = new()
    {
        ["SName"] = "Malmö \U0001f600", ["SEmpty"] = "", ["Sété"] = "accent", ["Open"] = "open",
        ["SLong"] = string.Concat(Enumerable.Repeat("0123456789abcdef", 100))
    };

    static TableRequestOptions By(IKey key, bool isRequired = true) => new()
    {
        EncryptionPolicy = new TableEncryptionPolicy(key, null), EncryptionResolver = (_, _, name) => name.StartsWith('S'), RequireEncryption = isRequired
    };

    static DynamicTableEntity Entity() =>
        new(Partition, Row, null, Texts.ToDictionary(pair => pair.Key, pair => new EntityProperty(pair.Value)));

    static void Same(IDictionary<string, EntityProperty> found)
    {
        foreach (var (name, text) in Texts)
            Check.Equal(text, found[name].StringValue, name);
        Check.Equal(Texts.Count, found.Count);
    }

    static void Written(nint table)
    {
        var entity = Library.tavola_entity_new(Partition, Row);
        foreach (var (name, text) in Texts)
            Library.tavola_entity_set_string(entity, name, text);
        Library.Must(Library.tavola_insert_or_replace(table, entity, 0));
    }

    static void ReadByLibrary(nint table)
    {
        Library.Must(Library.tavola_get(table, Partition, Row, 0, out var entity));
        using var json = System.Text.Json.JsonDocument.Parse(Marshal.PtrToStringUTF8(Library.tavola_entity_json(entity)));
        foreach (var (name, text) in Texts)
            Check.Equal(text, json.RootElement.GetProperty(name).GetString(), name);
    }

    static void BothWays(IKey key, nint crypto)
    {
        var table = Table();
        var library = Library.Open(table.Name, crypto);
        table.Execute(TableOperation.Insert(Entity()), By(key));
        var stored = Read<DynamicTableEntity>(table, Partition, Row).Properties;
        Check.Equal(EdmType.Binary, stored["SName"].PropertyType, "what is stored is encrypted");
        Check.Equal("open", stored["Open"].StringValue);
        ReadByLibrary(library);

        Library.tavola_crypto_set_protocol(crypto, 1);
        Written(library);
        Check.That(Read<DynamicTableEntity>(table, Partition, Row)["_ClientEncryptionMetadata1"].StringValue.Contains("tavola"), "libtavola wrote it");
        var found = (DynamicTableEntity)table.Execute(TableOperation.Retrieve(Partition, Row), By(key)).Result;
        Same(found.Properties);

        Library.tavola_crypto_set_protocol(crypto, 2);
        Written(library);
        try
        {
            table.Execute(TableOperation.Retrieve(Partition, Row), By(key));
        }
        catch (StorageException)
        {
            return;
        }
        throw new WrongException("version 2 was taken for version 1");
    }

    [Case]
    public void With_aes_both_read_what_the_other_wrote()
    {
        Library.Must(Library.tavola_crypto_new_aes(Id, Secret, (nuint)Secret.Length, out var crypto));
        BothWays(new AesKek(Id, Secret), crypto);
    }

    [Case]
    public void With_rsa_both_read_what_the_other_wrote()
    {
        Library.Must(Library.tavola_crypto_new_rsa(Id, Pem, (nuint)Pem.Length, out var crypto));
        BothWays(new RsaKek(Id, Rsa), crypto);
    }

    [Case]
    public void Batches_queries_and_projections_are_decrypted()
    {
        var table = Table();
        var options = By(new AesKek(Id, Secret));
        var batch = new TableBatchOperation();
        for (var n = 0; n < 20; n++)
            batch.InsertOrReplace(new DynamicTableEntity("p", $"{n:d2}", null, new Dictionary<string, EntityProperty>
                { ["SSecret"] = new($"secret {n}"), ["Open"] = new($"open {n}") }));
        table.ExecuteBatch(batch, options);
        var all = table.ExecuteQuery(new TableQuery<DynamicTableEntity>().Where(In("p")), options).ToList();
        Check.Sequence(Enumerable.Range(0, 20).Select(n => $"secret {n}"), all.Select(one => one["SSecret"].StringValue));
        var some = table.ExecuteQuery(new TableQuery<DynamicTableEntity>().Where(In("p")).Select(["SSecret"]), options).ToList();
        Check.Equal("secret 3", some[3]["SSecret"].StringValue);
        Check.That(!some[3].Properties.ContainsKey("Open"), "nothing else came");
    }

    [Case]
    public void Another_key_reads_nothing()
    {
        var table = Table();
        table.Execute(TableOperation.Insert(Entity()), By(new AesKek(Id, Secret)));
        var other = new byte[32];
        try
        {
            table.Execute(TableOperation.Retrieve(Partition, Row), By(new AesKek(Id, other)));
        }
        catch (StorageException)
        {
            return;
        }
        throw new WrongException("it was read with another key");
    }
}
