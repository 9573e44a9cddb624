/* Lists of blobs, as a service sends them and as it should not. */
#include "check.h"
#include "client/blob/blob.h"
#include "client/memory_faults.h"

static tavola_err read_document(const char *document, bool is_secondary, tavola_blobs **ret)
{
    /* Memory of just this size lets the address sanitizer see what goes past the end. */
    size_t len = strlen(document);
    char *copy = tvc_alloc(len);

    if (copy == NULL)
        return TAVOLA_ERR_NO_MEMORY;
    if (len)
        memcpy(copy, document, len);
    return tvc_blobs_read(copy, len, is_secondary, ret);
}

#define LIST(blobs, marker)                                                                        \
    "\xef\xbb\xbf<?xml version=\"1.0\" encoding=\"utf-8\"?><EnumerationResults "                   \
    "ServiceEndpoint=\"http://a/\" ContainerName=\"c\"><Prefix>p</Prefix><Blobs>" blobs            \
    "</Blobs>" marker "</EnumerationResults>"
#define BLOB(etag)                                                                                 \
    "<Blob><Name>a &amp; b</Name><Properties><Creation-Time>x</Creation-Time>"                     \
    "<Last-Modified>Fri, 02 Jan 2026 03:04:05 GMT</Last-Modified>" etag                            \
    "<Content-Length>18446744073709551615</Content-Length><Content-Type>a/b</Content-Type>"        \
    "<Content-Encoding "                                                                           \
    "/><BlobType>AppendBlob</BlobType></Properties><Metadata><k>v</k></Metadata>"                  \
    "</Blob>"

TEST(reads_every_field)
{
    static const struct {
        const char *label, *document, *etag, *token;
        bool is_secondary;
    } cases[] = {
        {"an etag without quotes", LIST(BLOB("<Etag>0x8D</Etag>"), "<NextMarker />"), "\"0x8D\"",
         NULL, false},
        {"an etag with quotes", LIST(BLOB("<Etag>\"0x8D\"</Etag>"), ""), "\"0x8D\"", NULL, false},
        {"an etag in CDATA", LIST(BLOB("<Etag><![CDATA[0x8D]]></Etag>"), ""), "\"0x8D\"", NULL,
         false},
        {"an empty etag", LIST(BLOB("<Etag/>"), ""), "", NULL, false},
        {"no etag", LIST(BLOB(""), ""), NULL, NULL, false},
        {"more to come", LIST(BLOB(""), "<NextMarker>a/b!c</NextMarker>"), NULL, "p;a%2Fb%21c",
         false},
        {"more to come at the secondary", LIST(BLOB(""), "<NextMarker>a</NextMarker>"), NULL, "s;a",
         true},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        t_row = cases[i].label;
        MEMORY_FAULTS(fault)
        {
            tavola_blobs *blobs = NULL;
            tavola_err err = read_document(cases[i].document, cases[i].is_secondary, &blobs);

            CHECK(err == TAVOLA_OK || (err == TAVOLA_ERR_NO_MEMORY && memory_fault_was_hit()));
            if (err)
                continue;

            const tavola_blob_info *info = tavola_blobs_at(blobs, 0);

            CHECK(tavola_blobs_count(blobs) == 1);
            assert_string_equal(info->name, "a & b");
            CHECK(info->size == UINT64_MAX && info->is_append && !info->is_prefix);
            CHECK(info->last_modified > 0);
            assert_string_equal(info->content_type, "a/b");
            CHECK((info->etag == NULL) == (cases[i].etag == NULL));
            if (cases[i].etag)
                assert_string_equal(info->etag, cases[i].etag);
            CHECK((tavola_blobs_token(blobs) == NULL) == (cases[i].token == NULL));
            if (cases[i].token)
                assert_string_equal(tavola_blobs_token(blobs), cases[i].token);
            tavola_blobs_free(blobs);
        }
    }
}

TEST(reads_many)
{
    enum { COUNT = 1000 };

    MEMORY_FAULTS(fault)
    {
        tvc_text text = {0};
        tavola_blobs *blobs = NULL;

        tvc_text_add_lit(&text, "<EnumerationResults><Blobs>");
        for (int i = 0; i < COUNT; i++)
            tvc_text_add_lit(&text, "<BlobPrefix><Name>a/</Name></BlobPrefix>");
        tvc_text_add_lit(&text, "</Blobs></EnumerationResults>");

        size_t len = text.buf.len;
        char *document = tvc_text_take(&text);
        tavola_err err =
            document ? tvc_blobs_read(document, len, false, &blobs) : TAVOLA_ERR_NO_MEMORY;

        CHECK(err == TAVOLA_OK || (err == TAVOLA_ERR_NO_MEMORY && memory_fault_was_hit()));
        if (!err) {
            CHECK(tavola_blobs_count(blobs) == COUNT);
            CHECK(tavola_blobs_at(blobs, COUNT - 1)->is_prefix);
            CHECK(tavola_blobs_at(blobs, COUNT) == NULL);
        }
        tavola_blobs_free(blobs);
    }
}

TEST(refuses_what_is_not_a_list_of_blobs)
{
    static const struct {
        const char *label, *document;
    } cases[] = {
        {"nothing", ""},
        {"an error", "<Error><Code>a</Code></Error>"},
        {"cut off", "<EnumerationResults><Blobs><Blob><Name>a</Name>"},
        {"no name", LIST("<Blob></Blob>", "")},
        {"an empty name", LIST("<Blob><Name/></Blob>", "")},
        {"a prefix without a name", LIST("<BlobPrefix/>", "")},
        {"a length that is none",
         LIST("<Blob><Name>a</Name><Properties><Content-Length>-1</Content-Length></Properties>"
              "</Blob>",
              "")},
        {"a date that is none",
         LIST("<Blob><Name>a</Name><Properties><Last-Modified>now</Last-Modified></Properties>"
              "</Blob>",
              "")},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tavola_blobs *blobs = NULL;

        t_row = cases[i].label;
        CHECK(read_document(cases[i].document, false, &blobs) == TAVOLA_ERR_PROTOCOL);
        CHECK(blobs == NULL);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_every_field),
        cmocka_unit_test(reads_many),
        cmocka_unit_test(refuses_what_is_not_a_list_of_blobs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
