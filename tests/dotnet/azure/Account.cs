// What cases of Azure.Storage share.
using System.Security.Cryptography;
using Azure.Core;
using Azure.Core.Cryptography;

public class Account
{
    public static readonly string Connection = Environment.GetEnvironmentVariable("TAVOLA_CONNECTION");
    static int names;

    protected static string Of(string name) =>
        Connection.Split(';').First(part => part.StartsWith(name + "="))[(name.Length + 1)..];

    public static readonly StorageSharedKeyCredential Key = new(Of("AccountName"), Of("AccountKey"));

    public static string Name(string prefix = "name") => $"{prefix}{Interlocked.Increment(ref names)}-{Guid.NewGuid():N}";

    public static DateTimeOffset Tomorrow => DateTimeOffset.UtcNow.AddDays(1);

    /// <summary>Asks again at once, and often enough for what cases plan.</summary>
    public static T Patient<T>(T options) where T : ClientOptions
    {
        options.Retry.MaxRetries = 4;
        options.Retry.Delay = options.Retry.MaxDelay = TimeSpan.FromMilliseconds(1);
        return options;
    }

    public static void Refused(int status, string code, Action action)
    {
        try
        {
            action();
        }
        catch (RequestFailedException trouble)
        {
            Check.Equal($"{status} {code ?? trouble.ErrorCode}", $"{trouble.Status} {trouble.ErrorCode}");
            return;
        }
        throw new WrongException($"{status} {code} did not come");
    }

    public static async Task Cancelled(Func<CancellationToken, Task> call)
    {
        using var faults = new Faults("hold_request");
        using var cancel = new CancellationTokenSource();
        var under = call(cancel.Token);
        faults.Do("HELD");
        cancel.Cancel();
        try
        {
            await under;
            throw new WrongException("it was answered");
        }
        catch (OperationCanceledException)
        {
            faults.Do("RELEASE");
        }
    }
}

/// <summary>A key of the program's own that wraps the keys of messages and blobs.</summary>
sealed class Kek(string id) : IKeyEncryptionKey, IKeyEncryptionKeyResolver
{
    readonly RSA rsa = RSA.Create(2048);

    public string KeyId => id;
    public byte[] WrapKey(string algorithm, ReadOnlyMemory<byte> key, CancellationToken token = default) =>
        rsa.Encrypt(key.ToArray(), RSAEncryptionPadding.OaepSHA256);
    public byte[] UnwrapKey(string algorithm, ReadOnlyMemory<byte> key, CancellationToken token = default) =>
        rsa.Decrypt(key.ToArray(), RSAEncryptionPadding.OaepSHA256);
    public Task<byte[]> WrapKeyAsync(string algorithm, ReadOnlyMemory<byte> key, CancellationToken token = default) =>
        Task.FromResult(WrapKey(algorithm, key, token));
    public Task<byte[]> UnwrapKeyAsync(string algorithm, ReadOnlyMemory<byte> key, CancellationToken token = default) =>
        Task.FromResult(UnwrapKey(algorithm, key, token));
    public IKeyEncryptionKey Resolve(string keyId, CancellationToken token = default) => this;
    public Task<IKeyEncryptionKey> ResolveAsync(string keyId, CancellationToken token = default) => Task.FromResult<IKeyEncryptionKey>(this);

    public ClientSideEncryptionOptions Options(ClientSideEncryptionVersion version) =>
        new(version) { KeyEncryptionKey = this, KeyResolver = this, KeyWrapAlgorithm = "RSA-OAEP-256" };
}
