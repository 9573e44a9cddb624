/* Reading shared access signatures: parameters, signed texts, times, addresses. */
#include "model/auth/sas.h"

#include "base/clock.h"
#include "base/datetime.h"
#include "check.h"
#include "parameters.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

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

static tv_err parse(const char *query, tv_sas *ret_sas, bool *ret_is_sas)
{
    tv_parameters parameters = query_of(&arena, tv_slice_of(query));

    return tv_sas_parse(&arena, &parameters, ret_sas, ret_is_sas);
}

/* --- parameters --- */

static const struct {
    const char *name;
    size_t offset;
} parameters[] = {
    {"sv", offsetof(tv_sas, version)},
    {"sig", offsetof(tv_sas, signature)},
    {"sp", offsetof(tv_sas, permission)},
    {"st", offsetof(tv_sas, start)},
    {"se", offsetof(tv_sas, expiry)},
    {"sip", offsetof(tv_sas, ip)},
    {"spr", offsetof(tv_sas, protocol)},
    {"tn", offsetof(tv_sas, table)},
    {"si", offsetof(tv_sas, policy_id)},
    {"spk", offsetof(tv_sas, start_partition)},
    {"srk", offsetof(tv_sas, start_row)},
    {"epk", offsetof(tv_sas, end_partition)},
    {"erk", offsetof(tv_sas, end_row)},
    {"ss", offsetof(tv_sas, services)},
    {"srt", offsetof(tv_sas, resource_types)},
    {"ses", offsetof(tv_sas, encryption_scope)},
    {"sr", offsetof(tv_sas, resource)},
    {"snapshot", offsetof(tv_sas, snapshot)},
    {"rscc", offsetof(tv_sas, cache_control)},
    {"rscd", offsetof(tv_sas, content_disposition)},
    {"rsce", offsetof(tv_sas, content_encoding)},
    {"rscl", offsetof(tv_sas, content_language)},
    {"rsct", offsetof(tv_sas, content_type)},
    {"skoid", offsetof(tv_sas, user)},
};

static tv_slice field(const tv_sas *sas, size_t i)
{
    return *(const tv_slice *)((const char *)sas + parameters[i].offset);
}

TEST(each_parameter_lands_in_its_own_field)
{
    for (size_t i = 0; i < COUNT(parameters); i++) {
        char query[64];
        tv_sas sas;
        bool is_sas;

        t_row = parameters[i].name;
        snprintf(query, sizeof query, "timeout=3&%s=a%%2Bb+c&x=1", parameters[i].name);
        CHECK_OK(parse(query, &sas, &is_sas));
        CHECK_INT(is_sas, strcmp(parameters[i].name, "sig") == 0);
        for (size_t j = 0; j < COUNT(parameters); j++) {
            if (j == i)
                CHECK_TEXT(field(&sas, j), "a+b c");
            else
                CHECK(field(&sas, j).data == NULL);
        }
    }
}

TEST(a_parameter_given_twice_spoils_the_whole)
{
    for (size_t i = 0; i < COUNT(parameters); i++) {
        const char *name = parameters[i].name;
        char query[200];
        tv_sas sas;
        bool is_sas;

        t_row = name;
        snprintf(query, sizeof query, "%s=a&x=1&%s=a", name, name);
        CHECK_ERR(parse(query, &sas, &is_sas), TV_ERR_AUTHENTICATION_FAILED);
        snprintf(query, sizeof query, "%s=a&%%%02x%s=b", name, name[0], name + 1);
        CHECK_ERR(parse(query, &sas, &is_sas), TV_ERR_AUTHENTICATION_FAILED);
        snprintf(query, sizeof query, "%s&%s=b", name, name);
        CHECK_ERR(parse(query, &sas, &is_sas), TV_ERR_AUTHENTICATION_FAILED);
    }
}

TEST(no_value_may_bring_a_line_of_its_own)
{
    for (size_t i = 0; i < COUNT(parameters); i++) {
        char query[64];
        tv_sas sas;
        bool is_sas;

        t_row = parameters[i].name;
        snprintf(query, sizeof query, "%s=a%%0Ab", parameters[i].name);
        CHECK_ERR(parse(query, &sas, &is_sas), TV_ERR_AUTHENTICATION_FAILED);
        snprintf(query, sizeof query, "%s=%%0a", parameters[i].name);
        CHECK_ERR(parse(query, &sas, &is_sas), TV_ERR_AUTHENTICATION_FAILED);
    }
}

static const struct {
    const char *what, *query;
    tv_err err;
    bool is_sas;
    const char *signature;
} queries[] = {
    {"no query", "", TV_OK, false, ""},
    {"others only", "comp=acl&timeout=9", TV_OK, false, ""},
    {"a signature alone", "sig=abc", TV_OK, true, "abc"},
    {"an empty signature is one", "sig=", TV_OK, true, ""},
    {"without an equals sign too", "sig", TV_OK, true, ""},
    {"an encoded name", "%73%69%67=abc", TV_OK, true, "abc"},
    {"names are case-sensitive", "SIG=abc", TV_OK, false, ""},
    {"a value may hold equals signs", "sig=a=b==", TV_OK, true, "a=b=="},
    {"others may come twice", "x=1&sig=abc&x=2", TV_OK, true, "abc"},
    {"other values may hold lines", "x=%0A&sig=abc", TV_OK, true, "abc"},
    {"empty parts are nothing", "&&sig=abc&", TV_OK, true, "abc"},
    {"half an escape", "sig=abc%2", TV_ERR_AUTHENTICATION_FAILED, false, ""},
    {"an invalid escape", "sig=abc%zz", TV_ERR_AUTHENTICATION_FAILED, false, ""},
    {"bytes that are not UTF-8", "sig=abc&spk=%ff", TV_ERR_AUTHENTICATION_FAILED, false, ""},
    {"overlong UTF-8", "sig=abc&spk=%c0%8a", TV_ERR_AUTHENTICATION_FAILED, false, ""},
    {"a name that is not UTF-8", "%ff=1&sig=abc", TV_ERR_AUTHENTICATION_FAILED, false, ""},
    {"decoded once only", "sig=%2541", TV_OK, true, "%41"},
};

TEST(a_query_is_a_sas_when_it_has_a_signature)
{
    for (size_t i = 0; i < COUNT(queries); i++) {
        tv_sas sas = {0};
        bool is_sas = true;

        t_row = queries[i].what;
        CHECK_ERR(parse(queries[i].query, &sas, &is_sas), queries[i].err);
        if (queries[i].err)
            continue;
        CHECK_INT(is_sas, queries[i].is_sas);
        CHECK_TEXT(sas.signature, queries[i].signature);
    }
}

/* --- signed texts --- */

#define TABLE_QUERY                                                                                \
    "sp=raud&st=2026-01-01&se=2026-01-02T03:04:05Z&tn=MyTable&si=pol&sip=1.2.3.4&spr=https&"       \
    "spk=a&srk=b&epk=c&erk=d&sig=x&sv="

static const struct {
    const char *what, *version, *text;
} table_texts[] = {
    {"the first version of all", "2012-02-12",
     "raud\n2026-01-01\n2026-01-02T03:04:05Z\n/acct/mytable\npol\n2012-02-12\na\nb\nc\nd"},
    {"the next", "2013-08-15",
     "raud\n2026-01-01\n2026-01-02T03:04:05Z\n/acct/mytable\npol\n2013-08-15\na\nb\nc\nd"},
    {"the day before the prefix", "2015-02-20",
     "raud\n2026-01-01\n2026-01-02T03:04:05Z\n/acct/mytable\npol\n2015-02-20\na\nb\nc\nd"},
    {"the prefix comes", "2015-02-21",
     "raud\n2026-01-01\n2026-01-02T03:04:05Z\n/table/acct/mytable\npol\n2015-02-21\na\nb\nc\nd"},
    {"the day before addresses", "2015-04-04",
     "raud\n2026-01-01\n2026-01-02T03:04:05Z\n/table/acct/mytable\npol\n2015-04-04\na\nb\nc\nd"},
    {"address and protocol come", "2015-04-05",
     "raud\n2026-01-01\n2026-01-02T03:04:05Z\n/table/acct/mytable\npol\n1.2.3.4\nhttps\n"
     "2015-04-05\na\nb\nc\nd"},
    {"what the SDKs send", "2019-02-02",
     "raud\n2026-01-01\n2026-01-02T03:04:05Z\n/table/acct/mytable\npol\n1.2.3.4\nhttps\n"
     "2019-02-02\na\nb\nc\nd"},
    {"nothing is new for tables", "2020-12-06",
     "raud\n2026-01-01\n2026-01-02T03:04:05Z\n/table/acct/mytable\npol\n1.2.3.4\nhttps\n"
     "2020-12-06\na\nb\nc\nd"},
    {"nor later", "2026-02-06",
     "raud\n2026-01-01\n2026-01-02T03:04:05Z\n/table/acct/mytable\npol\n1.2.3.4\nhttps\n"
     "2026-02-06\na\nb\nc\nd"},
};

TEST(a_table_sas_is_signed_by_the_layout_of_its_version)
{
    for (size_t i = 0; i < COUNT(table_texts); i++) {
        char query[300];
        tv_sas sas;
        bool is_sas;

        t_row = table_texts[i].what;
        snprintf(query, sizeof query, TABLE_QUERY "%s", table_texts[i].version);
        CHECK_OK(parse(query, &sas, &is_sas));
        CHECK(!tv_sas_is_account(&sas));
        CHECK_TEXT(tv_sas_table_text(&arena, &sas, TV_LIT("acct")), table_texts[i].text);
    }
}

#define QUEUE_QUERY "sp=raup&st=S&se=E&si=pol&sip=1.2.3.4&spr=https&sr=b&rscc=a&sig=x&sv="

static const struct {
    const char *what, *version, *text;
} queue_texts[] = {
    {"the first version of all", "2012-02-12", "raup\nS\nE\n/acct/jobs\npol\n2012-02-12"},
    {"the next", "2013-08-15", "raup\nS\nE\n/acct/jobs\npol\n2013-08-15"},
    {"the prefix comes", "2015-02-21", "raup\nS\nE\n/queue/acct/jobs\npol\n2015-02-21"},
    {"address and protocol come", "2015-04-05",
     "raup\nS\nE\n/queue/acct/jobs\npol\n1.2.3.4\nhttps\n2015-04-05"},
    {"nothing is new", "2026-02-06",
     "raup\nS\nE\n/queue/acct/jobs\npol\n1.2.3.4\nhttps\n2026-02-06"},
};

TEST(a_queue_sas_is_signed_by_the_layout_of_its_version)
{
    for (size_t i = 0; i < COUNT(queue_texts); i++) {
        char query[300];
        tv_sas sas;
        bool is_sas;

        t_row = queue_texts[i].what;
        snprintf(query, sizeof query, QUEUE_QUERY "%s", queue_texts[i].version);
        CHECK_OK(parse(query, &sas, &is_sas));
        CHECK(!tv_sas_is_account(&sas));
        CHECK_TEXT(tv_sas_queue_text(&arena, &sas, TV_LIT("acct"), TV_LIT("jobs")),
                   queue_texts[i].text);
    }
}

#define BLOB_QUERY                                                                                 \
    "sp=r&st=S&se=E&si=pol&sip=1.2.3.4&spr=https&snapshot=T&ses=scope&rscc=1&rscd=2&rsce=3&"       \
    "rscl=4&rsct=5&sig=x&"

static const struct {
    const char *what, *query, *text;
} blob_texts[] = {
    {"the first version of all", "sr=b&sv=2012-02-12", "r\nS\nE\n/acct/c/a/b\npol\n2012-02-12"},
    {"of a container", "sr=c&sv=2012-02-12", "r\nS\nE\n/acct/c\npol\n2012-02-12"},
    {"the day before headers", "sr=c&sv=2013-08-14", "r\nS\nE\n/acct/c\npol\n2013-08-14"},
    {"headers come", "sr=b&sv=2013-08-15", "r\nS\nE\n/acct/c/a/b\npol\n2013-08-15\n1\n2\n3\n4\n5"},
    {"the prefix comes", "sr=c&sv=2015-02-21",
     "r\nS\nE\n/blob/acct/c\npol\n2015-02-21\n1\n2\n3\n4\n5"},
    {"address and protocol come", "sr=b&sv=2015-04-05",
     "r\nS\nE\n/blob/acct/c/a/b\npol\n1.2.3.4\nhttps\n2015-04-05\n1\n2\n3\n4\n5"},
    {"and are alone for long", "sr=c&sv=2018-03-28",
     "r\nS\nE\n/blob/acct/c\npol\n1.2.3.4\nhttps\n2018-03-28\n1\n2\n3\n4\n5"},
    {"the resource comes", "sr=b&sv=2018-11-09",
     "r\nS\nE\n/blob/acct/c/a/b\npol\n1.2.3.4\nhttps\n2018-11-09\nb\n\n1\n2\n3\n4\n5"},
    {"and the snapshot", "sr=bs&sv=2018-11-09",
     "r\nS\nE\n/blob/acct/c/a/b\npol\n1.2.3.4\nhttps\n2018-11-09\nbs\nT\n1\n2\n3\n4\n5"},
    {"the day before scopes", "sr=c&sv=2020-12-05",
     "r\nS\nE\n/blob/acct/c\npol\n1.2.3.4\nhttps\n2020-12-05\nc\n\n1\n2\n3\n4\n5"},
    {"scopes come", "sr=c&sv=2020-12-06",
     "r\nS\nE\n/blob/acct/c\npol\n1.2.3.4\nhttps\n2020-12-06\nc\n\nscope\n1\n2\n3\n4\n5"},
    {"and stay", "sr=bs&sv=2026-02-06",
     "r\nS\nE\n/blob/acct/c/a/b\npol\n1.2.3.4\nhttps\n2026-02-06\nbs\nT\nscope\n1\n2\n3\n4\n5"},
};

TEST(a_blob_sas_is_signed_by_the_layout_of_its_version)
{
    for (size_t i = 0; i < COUNT(blob_texts); i++) {
        char query[300];
        tv_sas sas;
        bool is_sas;

        t_row = blob_texts[i].what;
        snprintf(query, sizeof query, BLOB_QUERY "%s", blob_texts[i].query);
        CHECK_OK(parse(query, &sas, &is_sas));
        CHECK(!tv_sas_is_account(&sas));
        CHECK_TEXT(tv_sas_blob_text(&arena, &sas, TV_LIT("acct"), TV_LIT("c"), TV_LIT("a/b")),
                   blob_texts[i].text);
    }
}

/* The examples of the documentation. */
TEST(the_documented_texts_come_out)
{
    tv_sas sas;
    bool is_sas;

    CHECK_OK(parse("st=2009-02-09&se=2009-02-10&sr=c&sp=r&si=YWJjZGVmZw%3D%3D&sv=2012-02-12&sig=x",
                   &sas, &is_sas));
    CHECK_TEXT(tv_sas_blob_text(&arena, &sas, TV_LIT("myaccount"), TV_LIT("pictures"),
                                TV_LIT("profile.jpg")),
               "r\n2009-02-09\n2009-02-10\n/myaccount/pictures\nYWJjZGVmZw==\n2012-02-12");
}

TEST(missing_fields_leave_empty_lines)
{
    tv_sas sas;
    bool is_sas;

    CHECK_OK(parse("sv=2019-02-02&tn=t&sig=x", &sas, &is_sas));
    CHECK_TEXT(tv_sas_table_text(&arena, &sas, TV_LIT("acct")),
               "\n\n\n/table/acct/t\n\n\n\n2019-02-02\n\n\n\n");
    CHECK_OK(parse("sv=2014-02-14&tn=t&sig=x", &sas, &is_sas));
    CHECK_TEXT(tv_sas_table_text(&arena, &sas, TV_LIT("acct")),
               "\n\n\n/acct/t\n\n2014-02-14\n\n\n\n");
    CHECK_OK(parse("sv=2019-02-02&ss=t&sig=x", &sas, &is_sas));
    CHECK_TEXT(tv_sas_account_text(&arena, &sas, TV_LIT("acct")),
               "acct\n\nt\n\n\n\n\n\n2019-02-02\n");
    CHECK_OK(parse("sv=2012-02-12&sig=x", &sas, &is_sas));
    CHECK_TEXT(tv_sas_queue_text(&arena, &sas, TV_LIT("acct"), TV_LIT("q")),
               "\n\n\n/acct/q\n\n2012-02-12");
    CHECK_OK(parse("sv=2021-12-02&sr=c&sig=x", &sas, &is_sas));
    CHECK_TEXT(tv_sas_blob_text(&arena, &sas, TV_LIT("acct"), TV_LIT("c"), TV_LIT("")),
               "\n\n\n/blob/acct/c\n\n\n\n2021-12-02\nc\n\n\n\n\n\n\n");
}

#define ACCOUNT_QUERY                                                                              \
    "ss=bt&srt=sco&sp=rwl&st=2026-01-01&se=2026-01-02&sip=::1&spr=https,http&ses=scope&sig=x&sv="

static const struct {
    const char *what, *version, *text;
} account_texts[] = {
    {"the first with account SAS", "2015-04-05",
     "acct\nrwl\nbt\nsco\n2026-01-01\n2026-01-02\n::1\nhttps,http\n2015-04-05\n"},
    {"what the SDKs send", "2019-02-02",
     "acct\nrwl\nbt\nsco\n2026-01-01\n2026-01-02\n::1\nhttps,http\n2019-02-02\n"},
    {"the day before scopes", "2020-12-05",
     "acct\nrwl\nbt\nsco\n2026-01-01\n2026-01-02\n::1\nhttps,http\n2020-12-05\n"},
    {"scopes come", "2020-12-06",
     "acct\nrwl\nbt\nsco\n2026-01-01\n2026-01-02\n::1\nhttps,http\n2020-12-06\nscope\n"},
    {"and stay", "2026-02-06",
     "acct\nrwl\nbt\nsco\n2026-01-01\n2026-01-02\n::1\nhttps,http\n2026-02-06\nscope\n"},
};

TEST(an_account_sas_ends_with_a_line_and_later_with_the_scope)
{
    for (size_t i = 0; i < COUNT(account_texts); i++) {
        char query[300];
        tv_sas sas;
        bool is_sas;

        t_row = account_texts[i].what;
        snprintf(query, sizeof query, ACCOUNT_QUERY "%s", account_texts[i].version);
        CHECK_OK(parse(query, &sas, &is_sas));
        CHECK(tv_sas_is_account(&sas));
        CHECK_TEXT(tv_sas_account_text(&arena, &sas, TV_LIT("acct")), account_texts[i].text);
    }
}

/* --- times --- */

static const struct {
    const char *text, *instant; /* NULL when it is not a time */
} times[] = {
    {"2026-01-02", "2026-01-02T00:00:00Z"},
    {"2026-01-02T03:04Z", "2026-01-02T03:04:00Z"},
    {"2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z"},
    {"2026-01-02T03:04:05.0000000Z", "2026-01-02T03:04:05Z"},
    {"2026-01-02T03:04:05.5Z", "2026-01-02T03:04:05.5Z"},
    {"", NULL},
    {"now", NULL},
    {"2026-13-02", NULL},
    {"2026-02-29", NULL},
    {"2026/01/02", NULL},
    {"2026-01-02 ", NULL},
    {"2026-01-02T", NULL},
    {"2026-01-02T24:00:00Z", NULL},
    {"2026-01-02T03:04:05ZZ", NULL},
    {"Fri, 02 Jan 2026 03:04:05 GMT", NULL},
};

TEST(times_are_dates_minutes_or_seconds)
{
    for (size_t i = 0; i < COUNT(times); i++) {
        int64_t got = 0, want = 0;

        t_row = times[i].text;
        CHECK_INT(tv_sas_parse_time(tv_slice_of(times[i].text), &got), times[i].instant != NULL);
        if (times[i].instant == NULL)
            continue;
        CHECK(tv_datetime_parse(tv_slice_of(times[i].instant), &want));
        CHECK_INT(got, want);
    }
}

/* --- addresses --- */

static const struct {
    const char *range, *peer;
    bool is_in;
} addresses[] = {
    {"1.2.3.4", "1.2.3.4:5", true},
    {"1.2.3.4", "1.2.3.5:5", false},
    {"1.2.3.4", "11.2.3.4:5", false},
    {"1.2.3.4-1.2.3.9", "1.2.3.3:5", false},
    {"1.2.3.4-1.2.3.9", "1.2.3.4:5", true},
    {"1.2.3.4-1.2.3.9", "1.2.3.7:65535", true},
    {"1.2.3.4-1.2.3.9", "1.2.3.9:5", true},
    {"1.2.3.4-1.2.3.9", "1.2.3.10:5", false},
    {"1.2.3.9-1.2.3.100", "1.2.3.10:5", true}, /* by number, not by text */
    {"1.2.255.0-1.3.0.5", "1.3.0.1:5", true},
    {"1.2.3.9-1.2.3.4", "1.2.3.7:5", false}, /* the wrong way round is empty */
    {"0.0.0.0-255.255.255.255", "127.0.0.1:5", true},
    {"0.0.0.0-255.255.255.255", "[::1]:5", false},
    {"1.2.3.4", "[::ffff:1.2.3.4]:5", true}, /* a socket of both families shows it so */
    {"1.2.3.4-1.2.3.9", "[::ffff:1.2.3.5]:5", true},
    {"1.2.3.4-1.2.3.9", "[::ffff:1.2.3.10]:5", false},
    {"::ffff:1.2.3.4", "1.2.3.4:5", true},
    {"::1", "[::1]:5", true},
    {"::1", "[::2]:5", false},
    {"::1", "127.0.0.1:5", false},
    {"2001:db8::1-2001:db8::ffff", "[2001:db8::5]:5", true},
    {"2001:db8::1-2001:db8::ffff", "[2001:db8::1:0]:5", false},
    {"2001:DB8:0:0::1", "[2001:db8::1]:5", true},
    {"", "1.2.3.4:5", false},
    {"-", "1.2.3.4:5", false},
    {"1.2.3.4-", "1.2.3.4:5", false},
    {"-1.2.3.4", "1.2.3.4:5", false},
    {"1.2.3.4/24", "1.2.3.4:5", false},
    {"1.2.3", "1.2.3.0:5", false},
    {"1.2.3.4 ", "1.2.3.4:5", false},
    {"1.2.3.4,5.6.7.8", "1.2.3.4:5", false},
    {"1.2.3.4-1.2.3.9-1.2.3.10", "1.2.3.5:5", false},
    {"any", "1.2.3.4:5", false},
    {"1.2.3.4", "", false},
    {"1.2.3.4", "unix", false},
};

TEST(an_address_is_in_a_range_of_either_family)
{
    for (size_t i = 0; i < COUNT(addresses); i++) {
        char row[100];

        snprintf(row, sizeof row, "%s in %s", addresses[i].peer, addresses[i].range);
        t_row = row;
        CHECK_INT(tv_sas_ip_matches(tv_slice_of(addresses[i].range), addresses[i].peer),
                  addresses[i].is_in);
    }
    t_row = "";
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_parameter_lands_in_its_own_field),
        cmocka_unit_test(a_parameter_given_twice_spoils_the_whole),
        cmocka_unit_test(no_value_may_bring_a_line_of_its_own),
        cmocka_unit_test(a_query_is_a_sas_when_it_has_a_signature),
        cmocka_unit_test(a_table_sas_is_signed_by_the_layout_of_its_version),
        cmocka_unit_test(a_queue_sas_is_signed_by_the_layout_of_its_version),
        cmocka_unit_test(a_blob_sas_is_signed_by_the_layout_of_its_version),
        cmocka_unit_test(the_documented_texts_come_out),
        cmocka_unit_test(missing_fields_leave_empty_lines),
        cmocka_unit_test(an_account_sas_ends_with_a_line_and_later_with_the_scope),
        cmocka_unit_test(times_are_dates_minutes_or_seconds),
        cmocka_unit_test(an_address_is_in_a_range_of_either_family),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
