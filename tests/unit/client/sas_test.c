/* Shared access signatures: made, against computed vectors, and taken apart. */
#include "client/account/sas.h"

#include "check.h"
#include "client/account/connection.h"
#include "client/blob/blob.h"
#include "client/memory_faults.h"
#include "client/queue/queue.h"
#include "client/text.h"

#define START INT64_C(639029088000000000)  /* 2026-01-02 */
#define EXPIRY INT64_C(639029952000000000) /* 2026-01-03 */
#define ST "2026-01-02T00:00:00Z"
#define SE "2026-01-03T00:00:00Z"
#define EXPIRY_QUERY "&se=2026-01-03T00%3A00%3A00Z"
#define TIMES_QUERY "&st=2026-01-02T00%3A00%3A00Z" EXPIRY_QUERY

/* A client as far as signatures need one. */
static tavola_client client;
static tavola_table table = {.client = &client, .name = (char[]){"Employees"}};
static tavola_queue queue = {{&client, TV_SERVICE_QUEUE, (char[]){"jobs"}}};
static tavola_container container = {{&client, TV_SERVICE_BLOB, (char[]){"pics"}}};

static int open_client(__attribute__((unused)) void **state)
{
    tvc_connection connection;

    if (tvc_connection_parse("UseDevelopmentStorage=true", false, &connection) != TAVOLA_OK)
        return -1;
    client.credentials = connection.credentials;
    connection.credentials = (tvc_credentials){0};
    tvc_connection_done(&connection);
    return 0;
}

static int close_client(__attribute__((unused)) void **state)
{
    tvc_connection connection = {.credentials = client.credentials};

    tvc_connection_done(&connection);
    return 0;
}

/* --- vectors --- */

#define TEXT(literal)                                                                              \
    {                                                                                              \
        (literal), sizeof(literal) - 1                                                             \
    }

TEST(signs_like_the_vectors)
{
    static const struct {
        const char *label;
        tvc_sas_kind kind;
        tv_sas fields;
        const char *signature;
    } cases[] = {
        {"a table",
         TVC_SAS_TABLE,
         {.permission = TEXT("raud"),
          .start = TEXT(ST),
          .expiry = TEXT(SE),
          .table = TEXT("Employees"),
          .protocol = TEXT("https,http"),
          .version = TEXT("2019-02-02")},
         "89gTlzEsxGnzsWoyokWb3wvgSYfEyIvhiHx7ZYa15jw="},
        {"a range of a table",
         TVC_SAS_TABLE,
         {.permission = TEXT("raud"),
          .start = TEXT(ST),
          .expiry = TEXT(SE),
          .table = TEXT("Employees"),
          .protocol = TEXT("https,http"),
          .version = TEXT("2019-02-02"),
          .start_partition = TEXT("Sales"),
          .start_row = TEXT("000100"),
          .end_partition = TEXT("Sales"),
          .end_row = TEXT("000199")},
         "fu/dz8QaklG9jmUSytE53maK9rYeAqClqII6DNtXaos="},
        {"a stored policy",
         TVC_SAS_TABLE,
         {.policy_id = TEXT("reader"), .table = TEXT("Employees"), .version = TEXT("2019-02-02")},
         "bn4O8yKaFTLdZMqMV2DRw7On8Kgf62UsZieGeMGbxrE="},
        {"an old version",
         TVC_SAS_TABLE,
         {.permission = TEXT("raud"),
          .start = TEXT(ST),
          .expiry = TEXT(SE),
          .table = TEXT("Employees"),
          .version = TEXT("2014-02-14")},
         "xUurTbFhP+masY6It3AyMNh41jklWFPYq/bdFLCNItU="},
        {"an account",
         TVC_SAS_ACCOUNT,
         {.permission = TEXT("rwdlacu"),
          .services = TEXT("t"),
          .resource_types = TEXT("sco"),
          .start = TEXT(ST),
          .expiry = TEXT(SE),
          .protocol = TEXT("https,http"),
          .version = TEXT("2019-02-02")},
         "jODwkZQLiltjGm9AutFtjYeseb7euLxgfZzpsDWh1/Q="},
        {"an account, newer",
         TVC_SAS_ACCOUNT,
         {.permission = TEXT("rwdlacu"),
          .services = TEXT("t"),
          .resource_types = TEXT("sco"),
          .start = TEXT(ST),
          .expiry = TEXT(SE),
          .protocol = TEXT("https,http"),
          .version = TEXT("2020-12-06")},
         "+4S3V8pknYt6gOVfGlmtdmSAVQOx0wwA9w18VrWYAZE="},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tavola_sas *sas = NULL;
        char *query =
            tvc_sas_sign(&client.credentials, cases[i].kind, &cases[i].fields, TV_NONE, TV_NONE);

        t_row = cases[i].label;
        CHECK_INT(tavola_sas_parse(query, &sas), TAVOLA_OK);
        CHECK_TEXT(tv_slice_of(tavola_sas_field(sas, "sig")), cases[i].signature);
        CHECK_TEXT(tv_slice_of(tavola_sas_kind(sas)), tvc_sas_kind_name(cases[i].kind));
        tavola_sas_free(sas);
        tavola_free(query);
    }
}

/* --- what applications ask for --- */

/* The query without its signature, which must be that of `signed_text`. */
static void check_query(tavola_err err, char *query, const char *want, const char *signed_text)
{
    unsigned char mac[TV_HMAC_BYTES];
    tvc_text whole = {0}, signature = {0};

    CHECK_INT(err, TAVOLA_OK);
    tv_hmac_sign(&client.credentials.key, tv_slice_of(signed_text), mac);
    tvc_text_add_base64(&signature, (tv_slice){(const char *)mac, sizeof mac});
    tvc_text_add(&whole, tv_slice_of(want));
    tvc_text_add_lit(&whole, "&sig=");
    tvc_text_add_encoded(&whole, tvc_text_slice(&signature));
    CHECK_SLICE(tv_slice_of(query), tvc_text_slice(&whole));
    tvc_text_done(&signature);
    tvc_text_done(&whole);
    tavola_free(query);
}

#define OPTIONS .struct_size = sizeof(tavola_sas_options)

TEST(makes_signatures_for_tables)
{
    static const struct {
        const char *label;
        tavola_sas_options options;
        const char *query, *text;
    } cases[] = {
        {"permissions are put in order, once each",
         {OPTIONS, .permissions = "duarrd", .expiry = EXPIRY},
         "sv=2019-02-02&tn=Employees" EXPIRY_QUERY "&sp=raud",
         "raud\n\n" SE "\n/table/devstoreaccount1/employees\n\n\n\n2019-02-02\n\n\n\n"},
        {"all options, fractions of seconds cut off",
         {OPTIONS, .permissions = "r", .start = START + 9999999, .expiry = EXPIRY + 1,
          .ip_range = "10.0.0.1-10.0.0.9", .https_only = true, .start_pk = "a b", .start_rk = "",
          .end_pk = "c&d", .end_rk = "\xc3\xb6", .version = "2018-03-28"},
         "sv=2018-03-28&tn=Employees&spk=a%20b&srk=&epk=c%26d&erk=%C3%B6" TIMES_QUERY
         "&sip=10.0.0.1-10.0.0.9&spr=https&sp=r",
         "r\n" ST "\n" SE "\n/table/devstoreaccount1/employees\n\n10.0.0.1-10.0.0.9\nhttps\n"
         "2018-03-28\na b\n\nc&d\n\xc3\xb6"},
        {"a policy alone",
         {OPTIONS, .policy_id = "reader"},
         "sv=2019-02-02&tn=Employees&si=reader",
         "\n\n\n/table/devstoreaccount1/employees\nreader\n\n\n2019-02-02\n\n\n\n"},
        {"a policy and what it leaves open",
         {OPTIONS, .policy_id = "reader", .expiry = EXPIRY, .permissions = "r"},
         "sv=2019-02-02&tn=Employees" EXPIRY_QUERY "&si=reader&sp=r",
         "r\n\n" SE "\n/table/devstoreaccount1/employees\nreader\n\n\n2019-02-02\n\n\n\n"},
        {"an old version",
         {OPTIONS, .permissions = "r", .expiry = EXPIRY, .version = "2012-02-12"},
         "sv=2012-02-12&tn=Employees" EXPIRY_QUERY "&sp=r",
         "r\n\n" SE "\n/devstoreaccount1/employees\n\n2012-02-12\n\n\n\n"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *query = NULL;

        t_row = cases[i].label;

        tavola_err err = tavola_table_sas(&table, &cases[i].options, &query);

        check_query(err, query, cases[i].query, cases[i].text);
    }
}

TEST(makes_signatures_for_the_other_kinds)
{
    tavola_sas_options options = {OPTIONS, .expiry = EXPIRY};
    char *query = NULL;
    tavola_err err;

    options.permissions = "ucaldwr";
    err = tavola_account_sas(&client, "tqb", "ocs", &options, &query);
    check_query(err, query, "sv=2019-02-02&ss=bqt&srt=sco" EXPIRY_QUERY "&sp=rwdlacu",
                "devstoreaccount1\nrwdlacu\nbqt\nsco\n\n" SE "\n\n\n2019-02-02\n");

    options.permissions = "pr";
    err = tavola_queue_sas(&queue, &options, &query);
    check_query(err, query, "sv=2019-02-02" EXPIRY_QUERY "&sp=rp",
                "rp\n\n" SE "\n/queue/devstoreaccount1/jobs\n\n\n\n2019-02-02");

    options.permissions = "lwr";
    err = tavola_container_sas(&container, &options, &query);
    check_query(err, query, "sv=2019-02-02&sr=c" EXPIRY_QUERY "&sp=rwl",
                "rwl\n\n" SE "\n/blob/devstoreaccount1/pics\n\n\n\n2019-02-02\nc\n\n\n\n\n\n");

    options.permissions = "dcar";
    err = tavola_blob_sas(&container, "a b/c.png", &options, &query);
    check_query(err, query, "sv=2019-02-02&sr=b" EXPIRY_QUERY "&sp=racd",
                "racd\n\n" SE
                "\n/blob/devstoreaccount1/pics/a b/c.png\n\n\n\n2019-02-02\nb\n\n\n\n\n\n");
}

TEST(refuses_what_would_not_work_or_not_protect)
{
    static const struct {
        const char *label;
        tavola_sas_options options;
    } cases[] = {
        {"no size", {.permissions = "r", .expiry = EXPIRY}},
        {"no permissions", {OPTIONS, .expiry = EXPIRY}},
        {"empty permissions", {OPTIONS, .permissions = "", .expiry = EXPIRY}},
        {"permissions of another kind", {OPTIONS, .permissions = "rw", .expiry = EXPIRY}},
        {"permissions in capitals", {OPTIONS, .permissions = "R", .expiry = EXPIRY}},
        {"no expiry", {OPTIONS, .permissions = "r"}},
        {"a negative expiry", {OPTIONS, .permissions = "r", .expiry = -1}},
        {"an expiry after all time", {OPTIONS, .permissions = "r", .expiry = INT64_MAX}},
        {"an expiry at the start",
         {OPTIONS, .permissions = "r", .start = EXPIRY, .expiry = EXPIRY}},
        {"a row without a partition",
         {OPTIONS, .permissions = "r", .expiry = EXPIRY, .start_rk = "a"}},
        {"the same at the end", {OPTIONS, .permissions = "r", .expiry = EXPIRY, .end_rk = "a"}},
        {"an empty end", {OPTIONS, .permissions = "r", .expiry = EXPIRY, .end_pk = ""}},
        {"an empty end of rows",
         {OPTIONS, .permissions = "r", .expiry = EXPIRY, .end_pk = "a", .end_rk = ""}},
        {"a line in a bound", {OPTIONS, .permissions = "r", .expiry = EXPIRY, .start_pk = "a\nb"}},
        {"a bound that is not UTF-8",
         {OPTIONS, .permissions = "r", .expiry = EXPIRY, .start_pk = "\xff"}},
        {"a line in a policy", {OPTIONS, .policy_id = "a\nb"}},
        {"an empty policy", {OPTIONS, .policy_id = ""}},
        {"a long policy",
         {OPTIONS,
          .policy_id = "12345678901234567890123456789012345678901234567890123456789012345"}},
        {"no version", {OPTIONS, .permissions = "r", .expiry = EXPIRY, .version = "new"}},
        {"too old a version",
         {OPTIONS, .permissions = "r", .expiry = EXPIRY, .version = "2011-08-18"}},
        {"https that an old version does not sign",
         {OPTIONS, .permissions = "r", .expiry = EXPIRY, .version = "2014-02-14",
          .https_only = true}},
        {"addresses that an old version does not sign",
         {OPTIONS, .permissions = "r", .expiry = EXPIRY, .version = "2015-02-21",
          .ip_range = "1.2.3.4"}},
        {"an address that is none",
         {OPTIONS, .permissions = "r", .expiry = EXPIRY, .ip_range = "localhost"}},
        {"an empty address", {OPTIONS, .permissions = "r", .expiry = EXPIRY, .ip_range = ""}},
    };
    const tavola_sas_options good = {OPTIONS, .permissions = "r", .expiry = EXPIRY};
    tavola_sas_options other;
    char *query = NULL;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        t_row = cases[i].label;
        CHECK_INT(tavola_table_sas(&table, &cases[i].options, &query), TAVOLA_ERR_INVALID);
    }

    t_row = "arguments";
    CHECK_INT(tavola_table_sas(NULL, &good, &query), TAVOLA_ERR_INVALID);
    CHECK_INT(tavola_table_sas(&table, NULL, &query), TAVOLA_ERR_INVALID);
    CHECK_INT(tavola_table_sas(&table, &good, NULL), TAVOLA_ERR_INVALID);
    CHECK_INT(tavola_account_sas(NULL, "t", "o", &good, &query), TAVOLA_ERR_INVALID);
    CHECK_INT(tavola_account_sas(&client, "x", "o", &good, &query), TAVOLA_ERR_INVALID);
    CHECK_INT(tavola_account_sas(&client, NULL, "o", &good, &query), TAVOLA_ERR_INVALID);
    CHECK_INT(tavola_account_sas(&client, "t", "", &good, &query), TAVOLA_ERR_INVALID);
    CHECK_INT(tavola_queue_sas(NULL, &good, &query), TAVOLA_ERR_INVALID);
    CHECK_INT(tavola_container_sas(NULL, &good, &query), TAVOLA_ERR_INVALID);
    CHECK_INT(tavola_blob_sas(&container, "", &good, &query), TAVOLA_ERR_INVALID);
    CHECK_INT(tavola_blob_sas(&container, "a\nb", &good, &query), TAVOLA_ERR_INVALID);

    t_row = "options of another kind";
    other = good;
    other.start_pk = "a";
    CHECK_INT(tavola_queue_sas(&queue, &other, &query), TAVOLA_ERR_INVALID);
    other = good;
    other.policy_id = "reader";
    CHECK_INT(tavola_account_sas(&client, "t", "o", &other, &query), TAVOLA_ERR_INVALID);
    other = good;
    other.version = "2014-02-14";
    CHECK_INT(tavola_account_sas(&client, "t", "o", &other, &query), TAVOLA_ERR_INVALID);

    t_row = "no key";
    client.credentials.has_key = false;
    CHECK_INT(tavola_table_sas(&table, &good, &query), TAVOLA_ERR_INVALID);
    client.credentials.has_key = true;
    assert_null(query);
}

TEST(reads_only_as_much_of_the_options_as_there_is)
{
    tavola_sas_options options = {.struct_size = offsetof(tavola_sas_options, https_only),
                                  .permissions = "r",
                                  .expiry = EXPIRY,
                                  .https_only = true,
                                  .version = "none"};
    char *query = NULL;

    assert_int_equal(tavola_table_sas(&table, &options, &query), TAVOLA_OK);
    assert_null(strstr(query, "spr="));
    tavola_free(query);
}

/* --- taking apart --- */

TEST(takes_signatures_apart)
{
    static const struct {
        const char *label, *text, *kind;
    } cases[] = {
        {"a table", "sv=2019-02-02&tn=T&sp=r&se=2026-01-03&sig=a%2Bb%3D", "table"},
        {"with a question mark", "?sv=2019-02-02&tn=T&si=x&sig=a%2Bb%3D", "table"},
        {"a URL", "https://a.table.core.windows.net/T?sv=1&tn=T&sp=r&sig=a%2Bb%3D", "table"},
        {"a URL with more", "http://h/a?comp=x&sv=1&tn=T&sp=r&sig=a%2Bb%3D#there", "table"},
        {"an account", "ss=t&srt=o&sv=1&sp=r&sig=a%2Bb%3D", "account"},
        {"a queue", "sv=1&sp=r&sig=a%2Bb%3D", "queue"},
        {"a container", "sr=c&sv=1&sp=r&sig=a%2Bb%3D", "container"},
        {"a blob", "sr=b&sv=1&sp=r&sig=a%2Bb%3D", "blob"},
        {"a snapshot", "sr=bs&sv=1&sp=r&sig=a%2Bb%3D&&", "blob"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tavola_sas *sas = NULL;

        t_row = cases[i].label;
        CHECK_INT(tavola_sas_parse(cases[i].text, &sas), TAVOLA_OK);
        CHECK_TEXT(tv_slice_of(tavola_sas_kind(sas)), cases[i].kind);
        CHECK_TEXT(tv_slice_of(tavola_sas_field(sas, "sig")), "a+b=");
        CHECK(tavola_sas_field(sas, "rscc") == NULL);
        CHECK(tavola_sas_field(sas, NULL) == NULL);
        tavola_sas_free(sas);
    }
    assert_null(tavola_sas_kind(NULL));
    assert_null(tavola_sas_field(NULL, "sp"));
    tavola_sas_free(NULL);
}

TEST(refuses_what_is_no_signature)
{
    static const char *const cases[] = {
        "",
        "?",
        "https://host/path",
        "sv=1&sp=r",
        "sv=1&sig=a",
        "sp=r&sig=a",
        "sv=1&sp=r&sig=a&sig=b",
        "sv=1&sp=r&sp=r&sig=a",
        "sv=1&sp=r&sig=%zz",
        "sv=1&sp=r&sig=%0A",
        "sv=1&sp=r%00&sig=a",
        "sv=1&sp=r&sig=%ff",
        "%ff=1&sv=1&sp=r&sig=a",
        "sr=f&sv=1&sp=r&sig=a",
    };
    static char large[70000], many[2000];
    tavola_sas *sas = NULL;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        t_row = cases[i];
        CHECK_INT(tavola_sas_parse(cases[i], &sas), TAVOLA_ERR_INVALID);
    }
    memset(large, 'a', sizeof large - 1);
    memset(many, '&', sizeof many - 1);
    CHECK_INT(tavola_sas_parse(large, &sas), TAVOLA_ERR_INVALID);
    CHECK_INT(tavola_sas_parse(many, &sas), TAVOLA_ERR_INVALID);
    CHECK_INT(tavola_sas_parse(NULL, &sas), TAVOLA_ERR_INVALID);
    CHECK_INT(tavola_sas_parse(cases[0], NULL), TAVOLA_ERR_INVALID);
    assert_null(sas);
}

/* Build, take apart, sign again from what came out. */
TEST(survives_the_round_trip)
{
    const tavola_sas_options options = {
        OPTIONS,        .permissions = "ra", .expiry = EXPIRY,
        .start_pk = "", .end_pk = "50% +&=", .end_rk = "\xf0\x9f\x98\x80"};
    static const struct {
        const char *name;
        size_t offset;
    } fields[] = {
        {"sv", offsetof(tv_sas, version)},          {"sp", offsetof(tv_sas, permission)},
        {"se", offsetof(tv_sas, expiry)},           {"tn", offsetof(tv_sas, table)},
        {"spk", offsetof(tv_sas, start_partition)}, {"epk", offsetof(tv_sas, end_partition)},
        {"erk", offsetof(tv_sas, end_row)},
    };
    tavola_sas *sas = NULL;
    char *query = NULL, *again;
    tv_sas parts = {0};

    assert_int_equal(tavola_table_sas(&table, &options, &query), TAVOLA_OK);
    assert_int_equal(tavola_sas_parse(query, &sas), TAVOLA_OK);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        const char *value = tavola_sas_field(sas, fields[i].name);

        t_row = fields[i].name;
        CHECK(value != NULL);
        *(tv_slice *)((char *)&parts + fields[i].offset) = tv_slice_of(value);
    }
    again = tvc_sas_sign(&client.credentials, TVC_SAS_TABLE, &parts, TV_NONE, TV_NONE);
    assert_string_equal(again, query);
    tavola_free(again);
    tavola_free(query);
    tavola_sas_free(sas);
}

TEST(survives_a_lack_of_memory)
{
    const tavola_sas_options options = {OPTIONS, .permissions = "r", .expiry = EXPIRY};

    MEMORY_FAULTS(fault)
    {
        char *query = NULL;
        tavola_sas *sas = NULL;
        tavola_err err = tavola_table_sas(&table, &options, &query);

        if (err == TAVOLA_OK)
            err = tavola_sas_parse(query, &sas);
        if (err == TAVOLA_OK)
            assert_string_equal(tavola_sas_field(sas, "tn"), "Employees");
        else
            assert_true(err == TAVOLA_ERR_NO_MEMORY && memory_fault_was_hit());
        tavola_sas_free(sas);
        tavola_free(query);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signs_like_the_vectors),
        cmocka_unit_test(makes_signatures_for_tables),
        cmocka_unit_test(makes_signatures_for_the_other_kinds),
        cmocka_unit_test(refuses_what_would_not_work_or_not_protect),
        cmocka_unit_test(reads_only_as_much_of_the_options_as_there_is),
        cmocka_unit_test(takes_signatures_apart),
        cmocka_unit_test(refuses_what_is_no_signature),
        cmocka_unit_test(survives_the_round_trip),
        cmocka_unit_test(survives_a_lack_of_memory),
    };

    return cmocka_run_group_tests(tests, open_client, close_client);
}
