/* Access policies, from XML and to XML. */
#include "model/catalog/acl.h"

#include "check.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define ALL(identifiers) "<SignedIdentifiers>" identifiers "</SignedIdentifiers>"
#define ONE(content) ALL("<SignedIdentifier>" content "</SignedIdentifier>")
#define POLICY(content) ONE("<Id>p</Id><AccessPolicy>" content "</AccessPolicy>")
#define PLAIN(id) "<SignedIdentifier><Id>" id "</Id></SignedIdentifier>"
#define TEN "aaaaaaaaaa"
#define SIXTY TEN TEN TEN TEN TEN TEN

static tv_arena arena;

static int set_up(__attribute__((unused)) void **state)
{
    tv_arena_init(&arena);
    return 0;
}

static int tear_down(__attribute__((unused)) void **state)
{
    tv_arena_done(&arena);
    return 0;
}

static const struct {
    const char *what, *document;
    const char *again; /* as it is written; NULL: refused with `err` */
    tv_err err;
} documents[] = {
    {"none", ALL(""), "<SignedIdentifiers />", TV_OK},
    {"an id alone", ONE("<Id>p</Id>"), ONE("<Id>p</Id>"), TV_OK},
    {"an empty policy", POLICY(""), ONE("<Id>p</Id>"), TV_OK},
    {"a policy of empty fields", POLICY("<Start/><Expiry></Expiry><Permission> </Permission>"),
     ONE("<Id>p</Id>"), TV_OK},
    {"permissions in any order", POLICY("<Permission>dar</Permission>"),
     POLICY("<Permission>dar</Permission>"), TV_OK},
    {"fields in any order",
     ONE("<AccessPolicy><Permission>r</Permission><Start>2026-01-02T03:04Z</Start></AccessPolicy>"
         "<Id>p</Id>"),
     POLICY("<Start>2026-01-02T03:04:00.0000000Z</Start><Permission>r</Permission>"), TV_OK},
    {"a day", POLICY("<Expiry>2026-01-02</Expiry>"),
     POLICY("<Expiry>2026-01-02T00:00:00.0000000Z</Expiry>"), TV_OK},
    {"another zone", POLICY("<Expiry>2026-01-02T03:04:05.1234567+02:00</Expiry>"),
     POLICY("<Expiry>2026-01-02T01:04:05.1234567Z</Expiry>"), TV_OK},
    {"an id that is escaped, blanks and all", ONE("<Id> a&lt;&#13;b </Id>"),
     ONE("<Id> a&lt;&#xD;b </Id>"), TV_OK},
    {"ids differ by case", ALL(PLAIN("a") PLAIN("A")), ALL(PLAIN("a") PLAIN("A")), TV_OK},
    {"an id of 64", ONE("<Id>" SIXTY "aaaa</Id>"), ONE("<Id>" SIXTY "aaaa</Id>"), TV_OK},
    {"an id of 65", ONE("<Id>" SIXTY "aaaaa</Id>"), NULL, TV_ERR_XML_NODE_VALUE},
    {"an id of 63 and one beyond the BMP", ONE("<Id>" SIXTY "aaa\xF0\x9F\x98\x80</Id>"), NULL,
     TV_ERR_XML_NODE_VALUE},
    {"an id of 65 twice", ALL(PLAIN(SIXTY "aaaaa") PLAIN(SIXTY "aaaaa")), NULL,
     TV_ERR_XML_DOCUMENT},
    {"a bad time before a bad document",
     ALL("<SignedIdentifier><Id>1</Id><AccessPolicy><Start>soon</Start></AccessPolicy>"
         "</SignedIdentifier><SignedIdentifier/>"),
     NULL, TV_ERR_XML_DOCUMENT},
    {"an empty id", ONE("<Id/>"), NULL, TV_ERR_XML_NODE_VALUE},
    {"no id", ONE("<AccessPolicy/>"), NULL, TV_ERR_XML_DOCUMENT},
    {"two ids", ONE("<Id>a</Id><Id>b</Id>"), NULL, TV_ERR_XML_DOCUMENT},
    {"two policies in one", ONE("<Id>a</Id><AccessPolicy/><AccessPolicy/>"), NULL,
     TV_ERR_XML_DOCUMENT},
    {"two of one id", ALL(PLAIN("a") PLAIN("b") PLAIN("a")), NULL, TV_ERR_XML_DOCUMENT},
    {"six", ALL(PLAIN("1") PLAIN("2") PLAIN("3") PLAIN("4") PLAIN("5") PLAIN("6")), NULL,
     TV_ERR_XML_DOCUMENT},
    {"a permission of blobs", POLICY("<Permission>rw</Permission>"), NULL, TV_ERR_XML_NODE_VALUE},
    {"a permission twice", POLICY("<Permission>rar</Permission>"), NULL, TV_ERR_XML_NODE_VALUE},
    {"a permission in upper case", POLICY("<Permission>R</Permission>"), NULL,
     TV_ERR_XML_NODE_VALUE},
    {"no time", POLICY("<Start>soon</Start>"), NULL, TV_ERR_XML_NODE_VALUE},
    {"no day", POLICY("<Start>2026-02-30</Start>"), NULL, TV_ERR_XML_NODE_VALUE},
    {"elements for a time", POLICY("<Start><b/></Start>"), NULL, TV_ERR_XML_DOCUMENT},
    {"a field twice", POLICY("<Permission>r</Permission><Permission>d</Permission>"), NULL,
     TV_ERR_XML_DOCUMENT},
    {"an unknown field", POLICY("<Other/>"), NULL, TV_ERR_XML_DOCUMENT},
    {"a text for a policy", POLICY("raud"), NULL, TV_ERR_XML_DOCUMENT},
    {"an unknown element", ALL("<Other><Id>a</Id></Other>"), NULL, TV_ERR_XML_DOCUMENT},
    {"another document", "<SignedIdentifier/>", NULL, TV_ERR_XML_DOCUMENT},
    {"a text for a document", ALL("text"), NULL, TV_ERR_XML_DOCUMENT},
    {"no XML", "raud", NULL, TV_ERR_XML_DOCUMENT},
};

TEST(documents_are_read_and_written)
{
    for (size_t i = 0; i < COUNT(documents); i++) {
        tv_access_policies policies;
        tv_buf buf = TV_BUF_EMPTY;

        t_row = documents[i].what;
        CHECK_ERR(
            tv_acl_parse(&arena, TV_SERVICE_TABLE, tv_slice_of(documents[i].document), &policies),
            documents[i].err);
        if (documents[i].err)
            continue;
        tv_acl_add_xml(&buf, &policies);
        CHECK_TEXT(tv_buf_slice(&buf), documents[i].again);
        buf.len = 0;
        CHECK_OK(
            tv_acl_parse(&arena, TV_SERVICE_TABLE, tv_slice_of(documents[i].again), &policies));
        tv_acl_add_xml(&buf, &policies);
        CHECK_TEXT(tv_buf_slice(&buf), documents[i].again);
        tv_buf_done(&buf);
    }
}

TEST(copies_are_whole)
{
    static const char document[] =
        ALL("<SignedIdentifier><Id>a</Id><AccessPolicy><Start>2026-01-02T00:00:00.0000000Z</Start>"
            "</AccessPolicy></SignedIdentifier>" PLAIN("b"));
    tv_access_policies policies, copy;
    tv_access_policies *kept;
    tv_buf buf = TV_BUF_EMPTY;

    CHECK_OK(tv_acl_parse(&arena, TV_SERVICE_TABLE, TV_LIT(document), &policies));
    kept = tv_acl_new(&policies);
    tv_arena_reset(&arena);
    tv_acl_copy(&arena, kept, &copy);
    free(kept);
    tv_acl_add_xml(&buf, &copy);
    CHECK_TEXT(tv_buf_slice(&buf), document);
    tv_buf_done(&buf);
    copy.count = 0;
    CHECK(tv_acl_new(&copy) == NULL);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(documents_are_read_and_written),
        CASE(copies_are_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
