/* Signatures of requests, against published and computed vectors. */
#include "client/account/sign.h"

#include "base/base64.h"
#include "check.h"
#include "client/memory_faults.h"
#include "model/auth/canonical.h"

#define DATE "Fri, 02 Jan 2026 03:04:05 GMT"
#define DEV_KEY                                                                                    \
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="

static tvc_credentials development(void)
{
    static char account[] = "devstoreaccount1";
    tvc_credentials credentials = {.account = account, .has_key = true};
    char secret[128];
    size_t len;

    assert_true(tv_base64_decode(secret, TV_LIT(DEV_KEY), &len));
    tv_hmac_key_init(&credentials.key, (tv_slice){secret, len});
    return credentials;
}

/* What a signature over a text that is written here by hand looks like. */
static void check_signs(const tvc_to_sign *request, const char *scheme, const char *signed_text)
{
    tvc_credentials credentials = development();
    unsigned char mac[TV_HMAC_BYTES];
    tvc_text text = {0}, wanted = {0};

    tv_hmac_sign(&credentials.key, tv_slice_of(signed_text), mac);
    tvc_text_add_lit(&wanted, "before ");
    tvc_text_add(&wanted, tv_slice_of(scheme));
    tvc_text_add_lit(&wanted, " devstoreaccount1:");
    tvc_text_add_base64(&wanted, (tv_slice){(const char *)mac, sizeof mac});

    tvc_text_add_lit(&text, "before ");
    tvc_sign(&text, &credentials, request);
    assert_false(text.has_failed);
    CHECK_SLICE(tvc_text_slice(&text), tvc_text_slice(&wanted));
    tvc_text_done(&text);
    tvc_text_done(&wanted);
}

TEST(signs_a_table_request_like_the_published_vector)
{
    tvc_credentials credentials = development();
    tvc_to_sign request = {
        .service = TV_SERVICE_TABLE,
        .method = TV_LIT("GET"),
        .path = TV_LIT("/devstoreaccount1/Employees(PartitionKey='Sales',RowKey='212')"),
        .date = TV_LIT(DATE),
    };
    tvc_text text = {0};

    tvc_sign(&text, &credentials, &request);
    CHECK_SLICE(tvc_text_slice(&text), TV_LIT("SharedKeyLite devstoreaccount1:"
                                              "j7HvBZRPF6dOJ5rzNF2GL1R5+ZcrOLLiT8Td1W1KG38="));
    tvc_text_done(&text);
}

TEST(signs_of_a_table_request_only_date_path_and_comp)
{
    static const struct {
        const char *label, *path, *query, *text;
    } cases[] = {
        {"a plain path", "/Tables", "", DATE "\n/devstoreaccount1/Tables"},
        {"no path is the root", "", "", DATE "\n/devstoreaccount1/"},
        {"comp alone", "/", "comp=list", DATE "\n/devstoreaccount1/?comp=list"},
        {"comp after others", "/T", "restype=service&comp=properties&timeout=3",
         DATE "\n/devstoreaccount1/T?comp=properties"},
        {"only a name that ends with comp", "/T", "xcomp=1&$filter=comp%20eq%201",
         DATE "\n/devstoreaccount1/T"},
        {"a filter does not count", "/T()", "$filter=a%20eq%20'b'&$top=5",
         DATE "\n/devstoreaccount1/T()"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tvc_to_sign request = {
            .service = TV_SERVICE_TABLE,
            .method = TV_LIT("GET"),
            .path = tv_slice_of(cases[i].path),
            .query = tv_slice_of(cases[i].query),
            .date = TV_LIT(DATE),
            .headers = TV_LIT("x-ms-version: 2019-02-02\r\n"),
        };

        t_row = cases[i].label;
        check_signs(&request, "SharedKeyLite", cases[i].text);
    }
}

TEST(signs_every_header_and_parameter_of_queues_and_blobs)
{
    static const struct {
        const char *label;
        tv_service_kind service;
        const char *method, *path, *query, *headers;
        uint64_t body_len;
        const char *text;
    } cases[] = {
        {"a read of a queue", TV_SERVICE_QUEUE, "GET", "/devstoreaccount1/jobs/messages",
         "numofmessages=32&visibilitytimeout=60",
         "x-ms-date: " DATE "\r\nHost: 127.0.0.1:10001\r\nx-ms-version: 2018-03-28\r\n", 0,
         "GET\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:" DATE "\nx-ms-version:2018-03-28\n"
         "/devstoreaccount1/devstoreaccount1/jobs/messages\nnumofmessages:32\nvisibilitytimeout:"
         "60"},
        {"a blob with a body", TV_SERVICE_BLOB, "PUT", "/c/a%20b", "",
         "x-ms-version: 2019-02-02\r\nX-MS-Blob-Type:  BlockBlob \r\nContent-Type: text/plain\r\n"
         "If-None-Match: *\r\nContent-Length: 11\r\nx-ms-date: " DATE "\r\n",
         11,
         "PUT\n\n\n11\n\ntext/plain\n\n\n\n*\n\n\nx-ms-blob-type:BlockBlob\nx-ms-date:" DATE
         "\nx-ms-version:2019-02-02\n/devstoreaccount1/c/a%20b"},
        {"the length of a body without a header for it", TV_SERVICE_BLOB, "PUT", "/c/b", "",
         "x-ms-date: " DATE "\r\nx-ms-version: 2019-02-02\r\n", 5,
         "PUT\n\n\n5\n\n\n\n\n\n\n\n\nx-ms-date:" DATE
         "\nx-ms-version:2019-02-02\n/devstoreaccount1/c/b"},
        {"an empty body", TV_SERVICE_BLOB, "PUT", "/c", "restype=container",
         "Content-Length: 0\r\nx-ms-date: " DATE "\r\nx-ms-version: 2019-02-02\r\n", 0,
         "PUT\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:" DATE
         "\nx-ms-version:2019-02-02\n/devstoreaccount1/c\nrestype:container"},
        {"parameters are sorted and decoded", TV_SERVICE_BLOB, "GET", "/c",
         "restype=container&prefix=a%2Fb%20c&comp=list&Include=metadata",
         "x-ms-date: " DATE "\r\nx-ms-version: 2019-02-02\r\n", 0,
         "GET\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:" DATE "\nx-ms-version:2019-02-02\n"
         "/devstoreaccount1/c\ncomp:list\ninclude:metadata\nprefix:a/b c\nrestype:container"},
        {"no path is the root", TV_SERVICE_QUEUE, "GET", "", "comp=list",
         "x-ms-date: " DATE "\r\nx-ms-version: 2019-02-02\r\n", 0,
         "GET\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:" DATE
         "\nx-ms-version:2019-02-02\n/devstoreaccount1/\ncomp:list"},
        {"a range", TV_SERVICE_BLOB, "GET", "/c/b", "",
         "Range: bytes=0-9\r\nIf-Match: \"1\"\r\nx-ms-date: " DATE "\r\n", 0,
         "GET\n\n\n\n\n\n\n\n\"1\"\n\n\nbytes=0-9\nx-ms-date:" DATE "\n/devstoreaccount1/c/b"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tvc_to_sign request = {
            .service = cases[i].service,
            .method = tv_slice_of(cases[i].method),
            .path = tv_slice_of(cases[i].path),
            .query = tv_slice_of(cases[i].query),
            .date = TV_LIT(DATE),
            .headers = tv_slice_of(cases[i].headers),
            .body_len = cases[i].body_len,
        };

        t_row = cases[i].label;
        check_signs(&request, "SharedKey", cases[i].text);
    }
}

TEST(signs_any_size_of_request_and_survives_a_lack_of_memory)
{
    tvc_credentials credentials = development();
    tvc_text headers = {0}, query = {0};

    for (int i = 0; i < 200; i++) {
        tvc_text_add_lit(&headers, "X-Ms-Meta-");
        tvc_text_add_int64(&headers, i);
        tvc_text_add_lit(&headers, ": v\r\n");
        tvc_text_add_lit(&query, "&%41%42");
        tvc_text_add_int64(&query, i);
        tvc_text_add_lit(&query, "=%43");
    }
    for (int service = 0; service < TVC_SERVICES; service++) {
        tvc_to_sign request = {
            .service = (tv_service_kind)service,
            .method = TV_LIT("GET"),
            .path = TV_LIT("/c/b"),
            .query = tvc_text_slice(&query),
            .date = TV_LIT(DATE),
            .headers = tvc_text_slice(&headers),
        };
        char whole[128] = "";

        MEMORY_FAULTS(fault)
        {
            tvc_text text = {0};

            tvc_sign(&text, &credentials, &request);
            if (text.has_failed) {
                assert_true(memory_fault_was_hit());
            } else {
                char *made = tvc_text_take(&text);

                if (made && whole[0] == '\0')
                    snprintf(whole, sizeof whole, "%s", made);
                if (made)
                    assert_string_equal(made, whole);
                tavola_free(made);
            }
            tvc_text_done(&text);
        }
        assert_true(strlen(whole) > 50);
    }
    /* Made with the library's own memory, which MEMORY_FAULTS has put back. */
    tvc_text_done(&headers);
    tvc_text_done(&query);
}

TEST(gives_odd_requests_some_signature)
{
    static const struct {
        const char *label, *query, *headers;
    } cases[] = {
        {"a query that cannot be decoded", "a=%zz", "x-ms-date: d\r\n"},
        {"a parameter that looks like two", "a=b%0Ac:d", "x-ms-date: d\r\n"},
        {"headers without colons", "", "one\r\ntwo\r\n\r\n"},
        {"a header without a name", "", ": v\r\n:\n"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tvc_credentials credentials = development();
        tvc_to_sign request = {
            .service = TV_SERVICE_BLOB,
            .method = TV_LIT("GET"),
            .query = tv_slice_of(cases[i].query),
            .headers = tv_slice_of(cases[i].headers),
        };
        tvc_text text = {0};

        t_row = cases[i].label;
        tvc_sign(&text, &credentials, &request);
        assert_false(text.has_failed);
        assert_int_equal(text.buf.len, strlen("SharedKey devstoreaccount1:") + 44);
        tvc_text_done(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signs_a_table_request_like_the_published_vector),
        cmocka_unit_test(signs_of_a_table_request_only_date_path_and_comp),
        cmocka_unit_test(signs_every_header_and_parameter_of_queues_and_blobs),
        cmocka_unit_test(signs_any_size_of_request_and_survives_a_lack_of_memory),
        cmocka_unit_test(gives_odd_requests_some_signature),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
