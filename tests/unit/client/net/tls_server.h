/*
 * The script server behind TLS, with certificates made on the spot: an authority, and what it
 * issued.  Files are in a folder of their own, which is removed at the end.
 */
#ifndef TEST_TLS_SERVER_H
#define TEST_TLS_SERVER_H

#include <signal.h>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "client/net/script_server.h"

typedef struct authority {
    EVP_PKEY *key;
    X509 *cert;
    char path[64]; /* of the certificate */
} authority;

static inline void add_extension(X509 *cert, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX context;

    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, issuer, cert, NULL, NULL, 0);

    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);

    tv_assert(extension && X509_add_ext(cert, extension, -1));
    X509_EXTENSION_free(extension);
}

/* A certificate: issued by itself when there is no issuer. */
static inline X509 *make_cert(EVP_PKEY *key, const authority *issuer, const char *names,
                              long begins_in, long ends_in)
{
    static long serial;
    X509 *cert = X509_new();
    X509_NAME *name = X509_get_subject_name(cert);
    char common_name[40];

    tv_assert(X509_set_version(cert, 2) && X509_set_pubkey(cert, key));
    ASN1_INTEGER_set(X509_get_serialNumber(cert), ++serial);
    X509_gmtime_adj(X509_getm_notBefore(cert), begins_in);
    X509_gmtime_adj(X509_getm_notAfter(cert), ends_in);
    snprintf(common_name, sizeof common_name, "%s %ld", issuer ? "server" : "authority", serial);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)common_name, -1, -1,
                               0);
    tv_assert(X509_set_issuer_name(cert, issuer ? X509_get_subject_name(issuer->cert) : name));
    if (issuer)
        add_extension(cert, issuer->cert, NID_subject_alt_name, names);
    else
        add_extension(cert, cert, NID_basic_constraints, "critical,CA:TRUE");
    tv_assert(X509_sign(cert, issuer ? issuer->key : key, EVP_sha256()));
    return cert;
}

static inline authority authority_new(void)
{
    authority made = {.key = EVP_EC_gen("P-256"), .path = "/tmp/tavola-ca-XXXXXX"};
    int fd = mkstemp(made.path);
    FILE *file = fdopen(fd, "w");

    made.cert = make_cert(made.key, NULL, NULL, -3600, 3600);
    tv_assert(file && PEM_write_X509(file, made.cert));
    fclose(file);
    return made;
}

static inline void authority_done(authority *made)
{
    unlink(made->path);
    X509_free(made->cert);
    EVP_PKEY_free(made->key);
}

static inline void *tls_wrap(script_server *server, int fd)
{
    SSL *ssl = SSL_new(server->user);

    SSL_set_fd(ssl, fd);
    if (SSL_accept(ssl) == 1) {
        const char *name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);

        snprintf(server->server_name, sizeof server->server_name, "%s", name ? name : "");
        return ssl;
    }
    SSL_free(ssl);
    return NULL;
}

static inline ssize_t tls_read(void *wrapped, int fd, void *to, size_t size)
{
    return SSL_read(wrapped, to, (int)size);
}

static inline ssize_t tls_write(void *wrapped, int fd, const void *from, size_t size)
{
    return SSL_write(wrapped, from, (int)size);
}

static inline void tls_unwrap(void *wrapped)
{
    SSL_shutdown(wrapped);
    SSL_free(wrapped);
}

/* Let a script server speak TLS with a certificate for these names: "DNS:localhost,IP:127.0.0.1".
 */
static inline void use_tls(script_server *server, const authority *issuer, const char *names,
                           long begins_in, long ends_in)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = make_cert(key, issuer, names, begins_in, ends_in);

    signal(SIGPIPE, SIG_IGN); /* this server's own sending does not avoid it */
    tv_assert(SSL_CTX_use_certificate(ctx, cert) == 1 && SSL_CTX_use_PrivateKey(ctx, key) == 1);
    SSL_CTX_set_session_id_context(ctx, (const unsigned char *)"t", 1);
    X509_free(cert);
    EVP_PKEY_free(key);
    server->user = ctx;
    server->wrap = tls_wrap;
    server->read = tls_read;
    server->write = tls_write;
    server->unwrap = tls_unwrap;
}

#endif
