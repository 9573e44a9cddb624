/* TLS by OpenSSL over a pair of memory BIOs. */
#include "wire/net/tls.h"

#include <limits.h>
#include <pthread.h>

#include <openssl/err.h>
#include <openssl/pkcs12.h>
#include <openssl/provider.h>
#include <openssl/ssl.h>

#include "base/assert.h"

struct tv_tls {
    pthread_mutex_t lock; /* guards `ctx`, which is counted by OpenSSL */
    SSL_CTX *ctx;
};

struct tv_tls_session {
    SSL *ssl;
    BIO *in, *out; /* owned by `ssl` */
    bool has_failed;
};

/* Clients that offer protocols get HTTP/1.1; one that offers only others may still try. */
static int choose_protocol(SSL *ssl, const unsigned char **ret_name, unsigned char *ret_len,
                           const unsigned char *offered, unsigned offered_len, void *arg)
{
    static const unsigned char ours[] = "\x08http/1.1";
    unsigned char *name;

    if (SSL_select_next_proto(&name, ret_len, ours, sizeof ours - 1, offered, offered_len) !=
        OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_NOACK;

    *ret_name = name;
    return SSL_TLSEXT_ERR_OK;
}

/* OpenSSL would ask at the terminal, and everything that needs the certificate would wait. */
static int no_pass_phrase(char *ret_phrase, int size, int for_writing, void *arg)
{
    (void)ret_phrase;
    (void)size;
    (void)for_writing;
    (void)arg;
    return 0;
}

static void explain(const char *what, const char *path, char *reterr_text, size_t reterr_size)
{
    const char *reason = ERR_reason_error_string(ERR_peek_last_error());

    snprintf(reterr_text, reterr_size, "cannot use %s %s: %s", what, path,
             reason ? reason : "unknown reason");
    ERR_clear_error();
}

static bool use_pem(SSL_CTX *ctx, tv_tls_files files, char *reterr_text, size_t reterr_size)
{
    if (SSL_CTX_use_certificate_chain_file(ctx, files.cert) != 1) {
        explain("certificate", files.cert, reterr_text, reterr_size);
        return false;
    }
    if (SSL_CTX_use_PrivateKey_file(ctx, files.key, SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_check_private_key(ctx) != 1) {
        explain("key", files.key, reterr_text, reterr_size);
        return false;
    }
    return true;
}

/* Older programs encrypt their files with what OpenSSL keeps apart: RC2, and digests of MD5. */
static bool take_apart(PKCS12 *file, const char *password, EVP_PKEY **ret_key, X509 **ret_cert,
                       STACK_OF(X509) * *ret_chain)
{
    if (PKCS12_parse(file, password, ret_key, ret_cert, ret_chain) == 1)
        return true;

    OSSL_PROVIDER *legacy = OSSL_PROVIDER_try_load(NULL, "legacy", 1);

    if (legacy == NULL)
        return false;

    ERR_clear_error();
    bool ok = PKCS12_parse(file, password, ret_key, ret_cert, ret_chain) == 1;

    OSSL_PROVIDER_unload(legacy);
    return ok;
}

static bool use_pkcs12(SSL_CTX *ctx, tv_tls_files files, char *reterr_text, size_t reterr_size)
{
    BIO *bio = BIO_new_file(files.cert, "rb");
    PKCS12 *file = bio ? d2i_PKCS12_bio(bio, NULL) : NULL;
    STACK_OF(X509) *chain = NULL;
    EVP_PKEY *key = NULL;
    X509 *cert = NULL;
    bool ok = false;

    if (bio == NULL) {
        explain("certificate", files.cert, reterr_text, reterr_size);
    } else if (file == NULL) {
        ERR_clear_error();
        snprintf(reterr_text, reterr_size,
                 "%s is no PKCS#12 file (.pfx); a PEM certificate needs --key, too", files.cert);
    } else if (!take_apart(file, files.password ? files.password : "", &key, &cert, &chain)) {
        explain("certificate", files.cert, reterr_text, reterr_size);
    } else if (key == NULL || cert == NULL) {
        snprintf(reterr_text, reterr_size, "%s has no %s in it", files.cert,
                 key == NULL ? "private key" : "certificate");
    } else {
        ok = SSL_CTX_use_cert_and_key(ctx, cert, key, chain, 1) == 1;
        if (!ok)
            explain("certificate", files.cert, reterr_text, reterr_size);
    }
    sk_X509_pop_free(chain, X509_free);
    X509_free(cert);
    EVP_PKEY_free(key);
    PKCS12_free(file);
    BIO_free(bio);
    return ok;
}

static SSL_CTX *load(tv_tls_files files, char *reterr_text, size_t reterr_size)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());

    ERR_clear_error();
    tv_assert(ctx);
    tv_assert(SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION));
    SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                 SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_alpn_select_cb(ctx, choose_protocol, NULL);
    SSL_CTX_set_default_passwd_cb(ctx, no_pass_phrase);

    if (files.key ? use_pem(ctx, files, reterr_text, reterr_size)
                  : use_pkcs12(ctx, files, reterr_text, reterr_size))
        return ctx;

    SSL_CTX_free(ctx);
    return NULL;
}

tv_tls *tv_tls_new(tv_tls_files files, char *reterr_text, size_t reterr_size)
{
    SSL_CTX *ctx = load(files, reterr_text, reterr_size);

    if (ctx == NULL)
        return NULL;

    tv_tls *tls = tv_calloc(1, sizeof *tls);

    tls->ctx = ctx;
    tv_assert(pthread_mutex_init(&tls->lock, NULL) == 0);
    return tls;
}

bool tv_tls_reload(tv_tls *tls, tv_tls_files files, char *reterr_text, size_t reterr_size)
{
    SSL_CTX *ctx = load(files, reterr_text, reterr_size);

    if (ctx == NULL)
        return false;

    pthread_mutex_lock(&tls->lock);
    SSL_CTX *old = tls->ctx;
    tls->ctx = ctx;
    pthread_mutex_unlock(&tls->lock);
    SSL_CTX_free(old); /* open sessions hold their own reference */
    return true;
}

void tv_tls_free(tv_tls *tls)
{
    if (tls == NULL)
        return;

    SSL_CTX_free(tls->ctx);
    pthread_mutex_destroy(&tls->lock);
    free(tls);
}

tv_tls_session *tv_tls_session_new(tv_tls *tls)
{
    tv_tls_session *session = tv_calloc(1, sizeof *session);

    pthread_mutex_lock(&tls->lock);
    session->ssl = SSL_new(tls->ctx);
    pthread_mutex_unlock(&tls->lock);
    session->in = BIO_new(BIO_s_mem());
    session->out = BIO_new(BIO_s_mem());
    tv_assert(session->ssl && session->in && session->out);
    SSL_set_bio(session->ssl, session->in, session->out);
    SSL_set_accept_state(session->ssl);
    return session;
}

void tv_tls_session_free(tv_tls_session *session)
{
    if (session == NULL)
        return;

    SSL_free(session->ssl);
    free(session);
}

void tv_tls_session_feed(tv_tls_session *session, tv_slice bytes)
{
    tv_assert(bytes.len <= INT_MAX);
    tv_assert(BIO_write(session->in, bytes.data, (int)bytes.len) == (int)bytes.len);
}

tv_tls_result tv_tls_session_read(tv_tls_session *session, char *to, size_t size, size_t *ret_len)
{
    if (session->has_failed)
        return TV_TLS_FAILED;

    /* SSL_get_error looks at the thread's error queue, which must not hold another's error. */
    ERR_clear_error();
    int result = SSL_read_ex(session->ssl, to, size, ret_len);
    if (result == 1)
        return TV_TLS_DATA;

    switch (SSL_get_error(session->ssl, result)) {
    case SSL_ERROR_WANT_READ:
        return TV_TLS_MORE;
    case SSL_ERROR_ZERO_RETURN:
        return TV_TLS_END;
    default:
        ERR_clear_error();
        session->has_failed = true;
        return TV_TLS_FAILED;
    }
}

bool tv_tls_session_write(tv_tls_session *session, tv_slice bytes)
{
    size_t written;

    if (session->has_failed)
        return false;
    if (bytes.len == 0)
        return true;

    /* A memory BIO takes everything, so there is no partial write. */
    ERR_clear_error();
    if (SSL_write_ex(session->ssl, bytes.data, bytes.len, &written) == 1 && written == bytes.len)
        return true;

    ERR_clear_error();
    session->has_failed = true;
    return false;
}

void tv_tls_session_end(tv_tls_session *session)
{
    /* OpenSSL forbids it after a fatal error, and before the handshake there is nothing to end. */
    if (session->has_failed || !SSL_is_init_finished(session->ssl))
        return;

    ERR_clear_error();
    SSL_shutdown(session->ssl);
    ERR_clear_error();
}

tv_slice tv_tls_session_output(tv_tls_session *session)
{
    char *data = NULL;
    long len = BIO_get_mem_data(session->out, &data);

    return (tv_slice){data, len > 0 ? (size_t)len : 0};
}

void tv_tls_session_output_clear(tv_tls_session *session)
{
    BIO_reset(session->out);
}
