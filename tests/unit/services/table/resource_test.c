/* Hosts and paths to accounts and resources. */
#include "services/service/endpoint.h"
#include "services/table/resource.h"

#include "check.h"

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

static const struct {
    const char *what, *host, *path;
    bool is_tls;
    tv_err err;
    const char *account, *base_url, *rest;
} endpoints[] = {
    {"path style", "127.0.0.1:10002", "/acct/Tables", false, TV_OK, "acct",
     "http://127.0.0.1:10002/acct", "Tables"},
    {"path style over TLS", "127.0.0.1", "/acct/Tables", true, TV_OK, "acct",
     "https://127.0.0.1/acct", "Tables"},
    {"a name", "localhost:10002", "/acct/t()", false, TV_OK, "acct", "http://localhost:10002/acct",
     "t()"},
    {"an IPv6 address", "[::1]:10002", "/acct/t", false, TV_OK, "acct", "http://[::1]:10002/acct",
     "t"},
    {"host style", "acct.table.core.windows.net", "/Tables", true, TV_OK, "acct",
     "https://acct.table.core.windows.net", "Tables"},
    {"host style with a port", "acct.table.localhost:10002", "/t(PartitionKey='a',RowKey='/b')",
     false, TV_OK, "acct", "http://acct.table.localhost:10002", "t(PartitionKey='a',RowKey='/b')"},
    {"host style, the root", "acct.table.local", "/", false, TV_OK, "acct",
     "http://acct.table.local", ""},
    {"other services are not host style", "acct.queue.local", "/acct/t", false, TV_OK, "acct",
     "http://acct.queue.local/acct", "t"},
    {"no account in front of the point", ".table.local", "/acct/t", false, TV_OK, "acct",
     "http://.table.local/acct", "t"},
    {"the account alone", "127.0.0.1", "/acct", false, TV_OK, "acct", "http://127.0.0.1/acct", ""},
    {"the account and a slash", "127.0.0.1", "/acct/", false, TV_OK, "acct",
     "http://127.0.0.1/acct", ""},
    {"two slashes", "127.0.0.1", "//Tables", false, TV_ERR_INVALID_URI, "", "", ""},
    {"an empty host", "", "/acct/t", false, TV_ERR_INVALID_HEADER, "", "", ""},
    {"a quote in the host", "a\"b", "/acct/t", false, TV_ERR_INVALID_HEADER, "", "", ""},
    {"a blank in the host", "a b", "/acct/t", false, TV_ERR_INVALID_HEADER, "", "", ""},
    {"a slash in the host", "a/b", "/acct/t", false, TV_ERR_INVALID_HEADER, "", "", ""},
    {"a name beyond ASCII", "\xC3\xB4", "/acct/t", false, TV_ERR_INVALID_HEADER, "", "", ""},
};

TEST(an_endpoint_is_found_in_host_or_path)
{
    for (size_t i = 0; i < COUNT(endpoints); i++) {
        tv_endpoint endpoint;

        t_row = endpoints[i].what;
        CHECK_ERR(tv_endpoint_parse(&arena, TV_LIT("table"), endpoints[i].is_tls,
                                    tv_slice_of(endpoints[i].host), tv_slice_of(endpoints[i].path),
                                    &endpoint),
                  endpoints[i].err);
        if (endpoints[i].err)
            continue;
        CHECK_TEXT(endpoint.account, endpoints[i].account);
        CHECK_TEXT(endpoint.base_url, endpoints[i].base_url);
        CHECK_TEXT(endpoint.rest, endpoints[i].rest);
    }
}

/* For the rest of this program, so it is the last of its tests. */
TEST(a_host_names_no_account_once_hosts_are_ignored)
{
    tv_endpoint endpoint;

    tv_endpoint_ignore_hosts();
    CHECK_ERR(tv_endpoint_parse(&arena, TV_LIT("table"), false, TV_LIT("azurite.table.svc:10002"),
                                TV_LIT("/acct/People"), &endpoint),
              TV_OK);
    CHECK_TEXT(endpoint.account, "acct");
    CHECK_TEXT(endpoint.base_url, "http://azurite.table.svc:10002/acct");
}

static const struct {
    const char *what, *path;
    tv_err err;
    tv_table_where where;
    const char *table, *partition_key, *row_key;
} paths[] = {
    {"the service", "", TV_OK, TV_TABLE_AT_SERVICE, "", "", ""},
    {"the tables", "Tables", TV_OK, TV_TABLE_AT_TABLES, "", "", ""},
    {"the tables with parentheses", "Tables()", TV_OK, TV_TABLE_AT_TABLES, "", "", ""},
    {"the tables, encoded", "%54ables", TV_OK, TV_TABLE_AT_TABLES, "", "", ""},
    {"a batch", "$batch", TV_OK, TV_TABLE_AT_BATCH, "", "", ""},
    {"a batch, encoded", "%24batch", TV_OK, TV_TABLE_AT_BATCH, "", "", ""},
    {"a table", "Tables('people')", TV_OK, TV_TABLE_AT_TABLE, "people", "", ""},
    {"a table, encoded", "Tables(%27people%27)", TV_OK, TV_TABLE_AT_TABLE, "people", "", ""},
    {"a table by the name of its key", "Tables(TableName='people')", TV_OK, TV_TABLE_AT_TABLE,
     "people", "", ""},
    {"a table without quotes", "Tables(people)", TV_ERR_QUERY_SYNTAX, 0, "", "", ""},
    {"more after a table", "Tables('people'x)", TV_ERR_QUERY_SYNTAX, 0, "", "", ""},
    {"an open table", "Tables('people)", TV_ERR_QUERY_SYNTAX, 0, "", "", ""},
    {"a set", "people", TV_OK, TV_TABLE_AT_ENTITIES, "people", "", ""},
    {"a set with parentheses", "people()", TV_OK, TV_TABLE_AT_ENTITIES, "people", "", ""},
    {"a set and a slash", "people/", TV_OK, TV_TABLE_AT_ENTITIES, "people", "", ""},
    {"lower case is a set", "tables", TV_OK, TV_TABLE_AT_ENTITIES, "tables", "", ""},
    {"a client with a table in its account URL", "people/Tables", TV_OK, TV_TABLE_AT_ENTITIES,
     "people", "", ""},
    {"the same table again", "people/people", TV_OK, TV_TABLE_AT_ENTITIES, "people", "", ""},
    {"with parentheses", "people/People()", TV_OK, TV_TABLE_AT_ENTITIES, "People", "", ""},
    {"with keys", "t/t(PartitionKey='a/b',RowKey='r')", TV_OK, TV_TABLE_AT_ENTITY, "t", "a/b", "r"},
    {"an open one", "t/t(", TV_ERR_QUERY_SYNTAX, 0, "", "", ""},
    {"thrice", "t/t/t", TV_ERR_INVALID_URI, 0, "", "", ""},
    {"a deeper path", "people/x", TV_ERR_INVALID_URI, 0, "", "", ""},
    {"and a still deeper one", "people/Tables/x", TV_ERR_INVALID_URI, 0, "", "", ""},
    {"an entity", "t(PartitionKey='p',RowKey='r')", TV_OK, TV_TABLE_AT_ENTITY, "t", "p", "r"},
    {"keys in the other order", "t(RowKey='r',PartitionKey='p')", TV_OK, TV_TABLE_AT_ENTITY, "t",
     "p", "r"},
    {"empty keys", "t(PartitionKey='',RowKey='')", TV_OK, TV_TABLE_AT_ENTITY, "t", "", ""},
    {"blanks around", "t(PartitionKey='p', RowKey = 'r' )", TV_OK, TV_TABLE_AT_ENTITY, "t", "p",
     "r"},
    {"encoded blanks", "t(PartitionKey='p',%20RowKey='r')", TV_OK, TV_TABLE_AT_ENTITY, "t", "p",
     "r"},
    {"encoded quotes", "t(PartitionKey=%27p%27,RowKey=%27r%27)", TV_OK, TV_TABLE_AT_ENTITY, "t",
     "p", "r"},
    {"doubled quotes", "t(PartitionKey='it''s',RowKey='''')", TV_OK, TV_TABLE_AT_ENTITY, "t",
     "it's", "'"},
    {"doubled encoded quotes", "t(PartitionKey='%27%27%27%27',RowKey='r')", TV_OK,
     TV_TABLE_AT_ENTITY, "t", "''", "r"},
    {"signs of the syntax inside", "t(PartitionKey='a,b=(c)',RowKey=')')", TV_OK,
     TV_TABLE_AT_ENTITY, "t", "a,b=(c)", ")"},
    {"a plus stays a plus", "t(PartitionKey='a+b',RowKey='%2B')", TV_OK, TV_TABLE_AT_ENTITY, "t",
     "a+b", "+"},
    {"decoded once", "t(PartitionKey='%2520',RowKey='r')", TV_OK, TV_TABLE_AT_ENTITY, "t", "%20",
     "r"},
    {"an encoded slash is left to the check of keys", "t(PartitionKey='a%2Fb',RowKey='r')", TV_OK,
     TV_TABLE_AT_ENTITY, "t", "a/b", "r"},
    {"one key", "t(PartitionKey='p')", TV_ERR_KEY_COUNT, 0, "", "", ""},
    {"the other key", "t(RowKey='r')", TV_ERR_KEY_COUNT, 0, "", "", ""},
    {"a bare value", "t('p')", TV_ERR_KEY_COUNT, 0, "", "", ""},
    {"a third key", "t(PartitionKey='p',RowKey='r',Timestamp='t')", TV_ERR_KEY_COUNT, 0, "", "",
     ""},
    {"a key in another case", "t(partitionkey='p',RowKey='r')", TV_ERR_KEY_COUNT, 0, "", "", ""},
    {"a key twice", "t(PartitionKey='p',PartitionKey='q')", TV_ERR_QUERY_SYNTAX, 0, "", "", ""},
    {"an empty key twice", "t(PartitionKey='',PartitionKey='')", TV_ERR_QUERY_SYNTAX, 0, "", "",
     ""},
    {"no value", "t(PartitionKey,RowKey='r')", TV_ERR_KEY_COUNT, 0, "", "", ""},
    {"no value at the end", "t(RowKey='r',PartitionKey)", TV_ERR_QUERY_SYNTAX, 0, "", "", ""},
    {"a number for a value", "t(PartitionKey=1,RowKey='r')", TV_ERR_QUERY_SYNTAX, 0, "", "", ""},
    {"an open quote", "t(PartitionKey='p,RowKey=)", TV_ERR_QUERY_SYNTAX, 0, "", "", ""},
    {"a lone quote inside", "t(PartitionKey='it's',RowKey='r')", TV_ERR_QUERY_SYNTAX, 0, "", "",
     ""},
    {"no parenthesis at the end", "t(PartitionKey='p',RowKey='r'", TV_ERR_QUERY_SYNTAX, 0, "", "",
     ""},
    {"more after the parenthesis", "t(PartitionKey='p',RowKey='r')x", TV_ERR_QUERY_SYNTAX, 0, "",
     "", ""},
    {"an open parenthesis alone", "t(", TV_ERR_QUERY_SYNTAX, 0, "", "", ""},
    {"a bad escape", "t%2", TV_ERR_URL_UNPARSABLE, 0, "", "", ""},
    {"not UTF-8", "t%FF", TV_ERR_URL_UNPARSABLE, 0, "", "", ""},
};

TEST(a_path_names_a_resource)
{
    for (size_t i = 0; i < COUNT(paths); i++) {
        size_t len = strlen(paths[i].path);
        char *copy = memcpy(tv_malloc(len + 1), paths[i].path, len);
        tv_error_info info = {0};
        tv_table_resource resource = {0};

        t_row = paths[i].what;
        CHECK_ERR(tv_table_resource_parse(&arena, TV_LIT("acct"), (tv_slice){copy, len}, &resource,
                                          &info),
                  paths[i].err);
        CHECK_INT(info.text.data != NULL, paths[i].err == TV_ERR_KEY_COUNT);
        if (paths[i].err == TV_OK) {
            CHECK_INT(resource.where, paths[i].where);
            CHECK_TEXT(resource.table, paths[i].table);
            CHECK_TEXT(resource.partition_key, paths[i].partition_key);
            CHECK_TEXT(resource.row_key, paths[i].row_key);
        }
        free(copy);
    }
}

TEST(the_error_for_missing_keys_names_the_table)
{
    tv_error_info info = {0};
    tv_table_resource resource;

    CHECK_ERR(
        tv_table_resource_parse(&arena, TV_LIT("acct"), TV_LIT("people('x')"), &resource, &info),
        TV_ERR_KEY_COUNT);
    CHECK_TEXT(info.text, "The number of keys specified in the URI does not match number of key "
                          "properties for the resource 'acct.people'.");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_endpoint_is_found_in_host_or_path),
        cmocka_unit_test(a_path_names_a_resource),
        cmocka_unit_test(the_error_for_missing_keys_names_the_table),
        cmocka_unit_test(a_host_names_no_account_once_hosts_are_ignored),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
