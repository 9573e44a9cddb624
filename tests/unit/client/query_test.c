/* Queries as they are sent. */
#include "client/query/query.h"

#include "check.h"
#include "client/memory_faults.h"
#include "client/values.h"

static void check_query(const tavola_query *query, uint64_t limit_left, const char *const *extra,
                        const char *want)
{
    tvc_text text = {0};

    tvc_query_write(&text, query, limit_left, extra);
    CHECK_SLICE(tvc_text_slice(&text), tv_slice_of(want));
    tvc_text_done(&text);
}

TEST(writes_what_is_asked_for)
{
    static const char *const names[] = {"Name",
                                        "RowKey",
                                        "Stra\xc3\x9f"
                                        "e",
                                        "Name",
                                        "PartitionKey",
                                        NULL};
    static const char *const no_names[] = {NULL};
    static const char *const metadata[] = {"_ClientEncryptionMetadata1", "Name", NULL};
    tavola_query *query = tavola_query_new(NULL);

    check_query(NULL, 5, NULL, "");
    check_query(query, UINT64_MAX, metadata, "");
    tavola_query_set_page_size(query, 50);
    check_query(query, UINT64_MAX, NULL, "$top=50");
    check_query(query, 7, NULL, "$top=7");
    tavola_query_select(query, names);
    check_query(query, UINT64_MAX, NULL,
                "$select=PartitionKey,RowKey,Timestamp,Name,Stra%C3%9Fe&$top=50");
    check_query(query, UINT64_MAX, metadata,
                "$select=PartitionKey,RowKey,Timestamp,Name,Stra%C3%9Fe,_ClientEncryptionMetadata1&"
                "$top=50");
    tavola_query_select(query, no_names);
    check_query(query, UINT64_MAX, NULL, "$select=PartitionKey,RowKey,Timestamp&$top=50");
    tavola_query_select(query, NULL);
    check_query(query, UINT64_MAX, NULL, "$top=50");
    tavola_query_free(query);

    query = tavola_query_new(tavola_where("Name", TAVOLA_EQ, string_of("a+b & 'c'/%")));
    check_query(query, UINT64_MAX, NULL,
                "$filter=Name%20eq%20%27a%2Bb%20%26%20%27%27c%27%27%2F%25%27");
    check_query(query, 999, NULL,
                "$filter=Name%20eq%20%27a%2Bb%20%26%20%27%27c%27%27%2F%25%27&$top=999");
    tavola_query_free(query);
}

TEST(asks_for_no_more_than_is_wanted)
{
    static const struct {
        const char *label;
        uint32_t page_size;
        uint64_t limit_left;
        const char *want;
    } cases[] = {
        {"nothing set", 0, UINT64_MAX, ""},
        {"a large limit", 0, 1001, ""},
        {"a limit of a page", 0, 1000, ""},
        {"a small limit", 0, 10, "$top=10"},
        {"a page below the limit", 5, 10, "$top=5"},
        {"a page above the limit", 100, 10, "$top=10"},
        {"the largest page", 1000, UINT64_MAX, "$top=1000"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tavola_query *query = tavola_query_new(NULL);

        t_row = cases[i].label;
        if (cases[i].page_size)
            tavola_query_set_page_size(query, cases[i].page_size);
        check_query(query, cases[i].limit_left, NULL, cases[i].want);
        tavola_query_free(query);
    }
}

TEST(remembers_its_first_error)
{
    static const char *const bad[] = {"a,b", NULL}, *const good[] = {"a", NULL};
    tavola_query *query = tavola_query_new(NULL);

    assert_int_equal(tvc_query_error(query), TAVOLA_OK);
    tavola_query_select(query, bad);
    tavola_query_select(query, good);
    assert_int_equal(tvc_query_error(query), TAVOLA_ERR_INVALID);
    tavola_query_free(query);

    static char texts[254][8];
    const char *many[255];

    for (int i = 0; i < 254; i++) {
        snprintf(texts[i], sizeof texts[i], "n%d", i);
        many[i] = i < 253 ? texts[i] : NULL;
    }
    query = tavola_query_new(NULL);
    tavola_query_select(query, many + 1);
    assert_int_equal(tvc_query_error(query), TAVOLA_OK);
    tavola_query_select(query, many);
    assert_int_equal(tvc_query_error(query), TAVOLA_ERR_INVALID);
    tavola_query_free(query);

    static const uint32_t sizes[] = {1001, UINT32_MAX};

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        query = tavola_query_new(NULL);
        tavola_query_set_page_size(query, sizes[i]);
        assert_int_equal(tvc_query_error(query), TAVOLA_ERR_INVALID);
        tavola_query_free(query);
    }

    query = tavola_query_new(NULL);
    tavola_query_set_limit(query, 7);
    tavola_query_set_limit(query, 0);
    tavola_query_set_page_size(query, 0);
    assert_int_equal(tvc_query_error(query), TAVOLA_OK);
    assert_true(tvc_query_limit(query) == UINT64_MAX);
    tavola_query_free(query);

    query = tavola_query_new(tavola_filter_raw("("));
    assert_int_equal(tvc_query_error(query), TAVOLA_ERR_INVALID);
    tavola_query_free(query);

    assert_int_equal(tvc_query_error(NULL), TAVOLA_OK);
    tavola_query_select(NULL, good);
    tavola_query_set_limit(NULL, 1);
    tavola_query_set_page_size(NULL, 1);
    tavola_query_free(NULL);
}

TEST(knows_its_limit_and_filter)
{
    tavola_query *query = tavola_query_new(tavola_filter_raw("A eq 1"));

    assert_int_equal(tvc_query_limit(NULL), UINT64_MAX);
    assert_int_equal(tvc_query_limit(query), UINT64_MAX);
    tavola_query_set_limit(query, 5000);
    assert_int_equal(tvc_query_limit(query), 5000);
    tavola_query_free(query);
}

static tavola_query *full_query(void)
{
    static const char *const names[] = {"Name", "Age", NULL};
    tavola_query *query = tavola_query_new(tavola_filter_raw("A eq 1"));

    tavola_query_select(query, names);
    tavola_query_set_page_size(query, 10);
    tavola_query_set_limit(query, 25);
    return query;
}

TEST(copies)
{
    tavola_query *query = full_query(), *copy = tvc_query_copy(query),
                 *keys = tvc_query_keys_only(query), *all_keys = tvc_query_keys_only(NULL);

    tavola_query_free(query);
    check_query(copy, 25, NULL,
                "$filter=A%20eq%201&$select=PartitionKey,RowKey,Timestamp,Name,Age&$top=10");
    check_query(keys, 25, NULL, "$filter=A%20eq%201&$select=PartitionKey,RowKey&$top=10");
    check_query(all_keys, UINT64_MAX, NULL, "$select=PartitionKey,RowKey");
    assert_int_equal(tvc_query_limit(keys), 25);
    tavola_query_free(copy);
    tavola_query_free(keys);
    tavola_query_free(all_keys);

    query = tavola_query_new(tavola_filter_raw(""));
    copy = tvc_query_copy(query);
    assert_int_equal(tvc_query_error(copy), TAVOLA_ERR_INVALID);
    tavola_query_free(copy);
    tavola_query_free(query);
}

/* A query for which there was no memory must not be one for everything. */
TEST(survives_a_lack_of_memory)
{
    MEMORY_FAULTS(fault)
    {
        tavola_query *query = full_query(), *copy = tvc_query_copy(query),
                     *keys = tvc_query_keys_only(query);
        tvc_text text = {0};

        assert_non_null(query);
        if (tvc_query_error(query)) {
            assert_int_equal(tvc_query_error(query), TAVOLA_ERR_NO_MEMORY);
            assert_true(memory_fault_was_hit());
        } else if (copy) {
            tvc_query_write(&text, copy, 25, NULL);
            if (!text.has_failed)
                CHECK_SLICE(tvc_text_slice(&text),
                            TV_LIT("$filter=A%20eq%201&$select=PartitionKey,RowKey,Timestamp,Name,"
                                   "Age&$top=10"));
        }
        assert_true((copy && keys) || memory_fault_was_hit());
        tvc_text_done(&text);
        tavola_query_free(keys);
        tavola_query_free(copy);
        tavola_query_free(query);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_what_is_asked_for),
        cmocka_unit_test(remembers_its_first_error),
        cmocka_unit_test(asks_for_no_more_than_is_wanted),
        cmocka_unit_test(knows_its_limit_and_filter),
        cmocka_unit_test(copies),
        cmocka_unit_test(survives_a_lack_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
