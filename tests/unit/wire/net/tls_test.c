/* HTTP over TLS, with a certificate made here. */
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/provider.h>
#include <openssl/x509.h>

#include "wire/http/flow.h"

static char cert_path[64], key_path[64], pfx_path[64], old_pfx_path[64],
    folder[] = "/tmp/tavola-tls-XXXXXX";
static SSL_CTX *client_ctx;

/* Both in one file, as others write it; old programs with RC2, which OpenSSL keeps apart. */
static void write_pfx(const char *path, int cipher, EVP_PKEY *key, X509 *cert)
{
    OSSL_PROVIDER *legacy = OSSL_PROVIDER_try_load(NULL, "legacy", 1);
    PKCS12 *both = PKCS12_create("sesame", NULL, key, cert, NULL, cipher, cipher, 0, 0, 0);
    FILE *file = fopen(path, "w");

    tv_assert(legacy && both && i2d_PKCS12_fp(file, both));
    fclose(file);
    PKCS12_free(both);
    OSSL_PROVIDER_unload(legacy);
}

/* A key and a certificate it signs itself, as PEM files in a folder of their own. */
static int make_certificate(void **state)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = X509_new();
    X509_NAME *name = X509_get_subject_name(cert);

    X509_gmtime_adj(X509_getm_notBefore(cert), 0);
    X509_gmtime_adj(X509_getm_notAfter(cert), 3600);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"localhost", -1, -1,
                               0);
    X509_set_issuer_name(cert, name);
    X509_set_pubkey(cert, key);
    tv_assert(X509_sign(cert, key, EVP_sha256()) > 0);

    tv_assert(mkdtemp(folder));
    snprintf(cert_path, sizeof cert_path, "%s/cert.pem", folder);
    snprintf(key_path, sizeof key_path, "%s/key.pem", folder);
    FILE *cert_file = fopen(cert_path, "w"), *key_file = fopen(key_path, "w");

    snprintf(pfx_path, sizeof pfx_path, "%s/cert.pfx", folder);
    snprintf(old_pfx_path, sizeof old_pfx_path, "%s/old.pfx", folder);
    write_pfx(pfx_path, 0, key, cert);
    write_pfx(old_pfx_path, NID_pbe_WithSHA1And40BitRC2_CBC, key, cert);
    tv_assert(PEM_write_X509(cert_file, cert));
    tv_assert(PEM_write_PrivateKey(key_file, key, NULL, NULL, 0, NULL, NULL));
    fclose(cert_file);
    fclose(key_file);
    X509_free(cert);
    EVP_PKEY_free(key);
    client_ctx = SSL_CTX_new(TLS_client_method());
    return 0;
}

static int remove_certificate(void **state)
{
    SSL_CTX_free(client_ctx);
    unlink(cert_path);
    unlink(key_path);
    unlink(pfx_path);
    unlink(old_pfx_path);
    rmdir(folder);
    return 0;
}

static tv_tls *load(void)
{
    char error[256] = "";
    tv_tls *tls =
        tv_tls_new((tv_tls_files){.cert = cert_path, .key = key_path}, error, sizeof error);

    if (tls == NULL)
        CHECK_FAIL("%s", error);
    return tls;
}

/* Connect and shake hands with one version of TLS.  False when that fails. */
static bool open_with(const server *s, int version, client *ret_client)
{
    client c = client_open(s);

    c.ssl = SSL_new(client_ctx);
    SSL_set_fd(c.ssl, c.fd);
    SSL_set_security_level(c.ssl, 0);
    SSL_set_min_proto_version(c.ssl, version);
    SSL_set_max_proto_version(c.ssl, version);
    *ret_client = c;
    return SSL_connect(c.ssl) == 1;
}

static const struct {
    const char *what;
    int version;
    bool is_welcome;
} versions[] = {
    {"TLS 1.0", TLS1_VERSION, false},
    {"TLS 1.1", TLS1_1_VERSION, false},
    {"TLS 1.2", TLS1_2_VERSION, true},
    {"TLS 1.3", TLS1_3_VERSION, true},
};

TEST(requests_work_over_tls_1_2_and_1_3_only)
{
    tv_tls *tls = load();
    server *s = server_start(NULL, tls);

    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        client c;

        t_row = versions[i].what;
        CHECK_INT(open_with(s, versions[i].version, &c), versions[i].is_welcome);
        if (versions[i].is_welcome) {
            client_send(&c, "PUT /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nhi");
            client_expect(&c, 200, "PUT /echo? hi");
            client_send(&c, "GET /later HTTP/1.1\r\nHost: h\r\n\r\n"
                            "GET /bye HTTP/1.1\r\nHost: h\r\n\r\n");
            client_expect(&c, 200, "GET /later? ");
            client_expect(&c, 200, "GET /bye? ");
            CHECK(client_is_at_end(&c));
            CHECK(SSL_get_shutdown(c.ssl) & SSL_RECEIVED_SHUTDOWN);
        }
        client_close(&c);
    }
    server_end(s);
    tv_tls_free(tls);
}

TEST(large_bodies_and_responses_pass_through_tls)
{
    enum { BYTES = 3 * 1024 * 1024 };
    tv_tls *tls = load();
    server *s = server_start(NULL, tls);
    tv_buf body = TV_BUF_EMPTY;
    client c;

    t_row = "";
    for (int i = 0; i < BYTES; i++)
        tv_buf_add_char(&body, (char)('a' + i % 19));
    CHECK(open_with(s, TLS1_3_VERSION, &c));
    client_send(&c, "PUT /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 3145728\r\n\r\n");
    client_send_slice(&c, tv_buf_slice(&body));
    answer a = client_answer(&c);

    CHECK(tv_slice_eq(tv_slice_skip(a.body, 11), tv_buf_slice(&body)));
    client_forget(&c, &a);

    client_send(&c, "GET /big HTTP/1.1\r\nHost: h\r\n\r\nGET /echo HTTP/1.1\r\nHost: h\r\n\r\n");
    a = client_answer(&c);
    CHECK_INT(a.body.len, BIG_BYTES);
    client_forget(&c, &a);
    client_expect(&c, 200, "GET /echo? ");
    client_close(&c);
    tv_buf_done(&body);
    server_end(s);
    tv_tls_free(tls);
}

static const struct {
    const char *what, *up, *down;
    size_t chunk;
    int version;
} streams[] = {
    {"TLS 1.3", "/take", "/give?5242880,262144", 0, TLS1_3_VERSION},
    {"TLS 1.3, pauses and messages", "/pause?100000", "/later?5242880,1048576", 0, TLS1_3_VERSION},
    {"TLS 1.3, a pause at every piece", "/pause?1", "/give?5242880,5242880", 9999, TLS1_3_VERSION},
    {"TLS 1.2, pauses and messages", "/pause?100000", "/later?5242880,65536", 0, TLS1_2_VERSION},
};

TEST(streamed_bodies_pass_through_tls)
{
    enum { BYTES = 5 * 1024 * 1024, READ_BYTES_MAX = 64 * 1024, RECORD_BYTES_MAX = 16 * 1024 };
    tv_tls *tls = load();
    server *s = flow_start(NULL, tls);
    tv_buf body = TV_BUF_EMPTY;

    flow_fill(&body, 0, BYTES);
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) {
        client c;

        t_row = streams[i].what;
        CHECK(open_with(s, streams[i].version, &c));
        for (int k = 0; k < 2; k++) {
            flow_send(&c, streams[i].up, tv_buf_slice(&body), streams[i].chunk);
            client_expect(&c, 200, flow_receipt(tv_buf_slice(&body)));
            client_send(&c, "GET ");
            client_send(&c, streams[i].down);
            client_send(&c, " HTTP/1.1\r\nHost: h\r\n\r\n");
            flow_expect(&c, BYTES);
        }
        client_close(&c);
    }
    CHECK(atomic_load(&flow_pauses) > 0);
    /* A record that one read has begun and the next completed comes on top. */
    CHECK(atomic_load(&flow_waiting_max) <= READ_BYTES_MAX + RECORD_BYTES_MAX);
    tv_buf_done(&body);
    server_end(s);
    tv_tls_free(tls);
}

TEST(a_client_may_end_tls_while_a_sink_is_paused)
{
    tv_tls *tls = load();
    server *s = flow_start(NULL, tls);
    client c;

    t_row = "";
    CHECK(open_with(s, TLS1_3_VERSION, &c));
    client_send(&c, "PUT /hold HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nab");
    wait_for(&flow_pauses, 1);
    SSL_shutdown(c.ssl);
    client_close(&c);
    wait_until_gone(s);
    CHECK_INT(atomic_load(&s->done), 0);
    server_release(s);
    wait_for(&s->dropped, 1);
    server_end(s);
    tv_tls_free(tls);
}

/* The first byte tells; the service decides whether it takes plain requests. */
TEST(a_port_with_a_certificate_takes_plain_requests_too)
{
    tv_tls *tls = load();
    server *s = server_start(NULL, tls);
    client c = client_open(s);

    client_send(&c, "GET /echo HTTP/1.1\r\nHost: h\r\n\r\n");
    client_expect(&c, 200, "GET /echo? ");
    client_close(&c);
    server_end(s);
    tv_tls_free(tls);
}

TEST(what_only_begins_like_tls_is_closed)
{
    tv_tls *tls = load();
    server *s = server_start(NULL, tls);
    client c = client_open(s);

    client_send(&c, "\x16GET /echo HTTP/1.1\r\nHost: h\r\n\r\n");
    while (client_receive(&c))
        CHECK(c.in.len < 100); /* an alert at most */
    CHECK_INT(atomic_load(&s->seen), 0);
    client_close(&c);
    server_end(s);
    tv_tls_free(tls);
}

TEST(a_handshake_has_a_deadline)
{
    tv_http_limits limits = tv_http_limits_default;
    tv_tls *tls = load();

    limits.header_timeout_ms = 1000;
    server *s = server_start(&limits, tls);
    client c = client_open(s);

    client_send(&c, "\x16\x03\x01");
    CHECK(client_is_at_end(&c));
    client_close(&c);
    server_end(s);
    tv_tls_free(tls);
}

TEST(certificate_and_key_may_be_in_one_file)
{
    const char *const paths[] = {pfx_path, old_pfx_path};

    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        char error[256] = "";
        tv_tls *tls =
            tv_tls_new((tv_tls_files){.cert = paths[i], .password = "sesame"}, error, sizeof error);

        t_row = paths[i];
        if (tls == NULL)
            CHECK_FAIL("%s", error);

        server *s = server_start(&tv_http_limits_default, tls);
        client c;

        CHECK(open_with(s, TLS1_3_VERSION, &c));
        client_close(&c);
        server_end(s);
        CHECK(tv_tls_reload(tls, (tv_tls_files){.cert = paths[i], .password = "sesame"}, error,
                            sizeof error));
        CHECK(!tv_tls_reload(tls, (tv_tls_files){.cert = paths[i], .password = "wrong"}, error,
                             sizeof error));
        CHECK(strstr(error, paths[i]));
        tv_tls_free(tls);
    }
}

TEST(a_bad_certificate_or_key_is_named)
{
    char error[256];

    CHECK(tv_tls_new((tv_tls_files){.cert = "/nonexistent/cert.pem", .key = key_path}, error,
                     sizeof error) == NULL);
    CHECK(strstr(error, "cannot use certificate /nonexistent/cert.pem: "));
    CHECK(tv_tls_new((tv_tls_files){.cert = cert_path, .key = cert_path}, error, sizeof error) ==
          NULL);
    CHECK(strstr(error, "cannot use key "));
    CHECK(tv_tls_new((tv_tls_files){.cert = cert_path}, error, sizeof error) == NULL);
    CHECK(strstr(error, "no PKCS#12 file (.pfx); a PEM certificate needs --key"));
    CHECK(tv_tls_new((tv_tls_files){.cert = pfx_path}, error, sizeof error) == NULL);
    CHECK(strstr(error, "cannot use certificate "));
    CHECK(tv_tls_new((tv_tls_files){.cert = "/nonexistent.pfx"}, error, sizeof error) == NULL);
    CHECK(strstr(error, "cannot use certificate /nonexistent.pfx: "));
}

/* A prompt would block the thread that waits for signals, and with it the end of the server. */
TEST(nobody_is_asked_for_a_pass_phrase)
{
    char locked_path[64], error[256];
    EVP_PKEY *key = EVP_EC_gen("P-256");
    int answers[2], input = dup(STDIN_FILENO);
    FILE *file;

    snprintf(locked_path, sizeof locked_path, "%s/locked.pem", folder);
    file = fopen(locked_path, "w");
    tv_assert(PEM_write_PrivateKey(file, key, EVP_aes_256_cbc(), (const unsigned char *)"sesame", 6,
                                   NULL, NULL));
    fclose(file);
    tv_assert(pipe(answers) == 0 && write(answers[1], "sesame\n", 7) == 7);
    close(answers[1]);
    dup2(answers[0], STDIN_FILENO);

    CHECK(tv_tls_new((tv_tls_files){.cert = cert_path, .key = locked_path}, error, sizeof error) ==
          NULL);
    CHECK(strstr(error, "cannot use key "));
    CHECK_INT(read(answers[0], error, sizeof error), 7);

    dup2(input, STDIN_FILENO);
    close(input);
    close(answers[0]);
    unlink(locked_path);
    EVP_PKEY_free(key);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_work_over_tls_1_2_and_1_3_only),
        cmocka_unit_test(large_bodies_and_responses_pass_through_tls),
        cmocka_unit_test(streamed_bodies_pass_through_tls),
        cmocka_unit_test(a_client_may_end_tls_while_a_sink_is_paused),
        cmocka_unit_test(a_port_with_a_certificate_takes_plain_requests_too),
        cmocka_unit_test(what_only_begins_like_tls_is_closed),
        cmocka_unit_test(a_handshake_has_a_deadline),
        cmocka_unit_test(certificate_and_key_may_be_in_one_file),
        cmocka_unit_test(a_bad_certificate_or_key_is_named),
        cmocka_unit_test(nobody_is_asked_for_a_pass_phrase),
    };

    return cmocka_run_group_tests(tests, make_certificate, remove_certificate);
}
