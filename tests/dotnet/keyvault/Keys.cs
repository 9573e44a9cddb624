namespace Microsoft.Azure.KeyVault.Core;

public interface IKey : IDisposable
{
    string DefaultEncryptionAlgorithm { get; }
    string DefaultKeyWrapAlgorithm { get; }
    string DefaultSignatureAlgorithm { get; }
    string Kid { get; }

    Task<byte[]> DecryptAsync(byte[] text, byte[] iv, byte[] data, byte[] tag, string algorithm, CancellationToken token);
    Task<Tuple<byte[], byte[], string>> EncryptAsync(byte[] text, byte[] iv, byte[] data, string algorithm, CancellationToken token);
    Task<Tuple<byte[], string>> WrapKeyAsync(byte[] key, string algorithm, CancellationToken token);
    Task<byte[]> UnwrapKeyAsync(byte[] key, string algorithm, CancellationToken token);
    Task<Tuple<byte[], string>> SignAsync(byte[] digest, string algorithm, CancellationToken token);
    Task<bool> VerifyAsync(byte[] digest, byte[] signature, string algorithm, CancellationToken token);
}

public interface IKeyResolver
{
    Task<IKey> ResolveKeyAsync(string kid, CancellationToken token);
}
