/* List Blobs: order, prefixes, delimiters, pages. */
#include "services/blob/store/list.h"

#include "blobs.h"

/*
 * All pages of a list with `size` entries each, as text: names, "~n" after the
 * n-th snapshot of a blob, "?" after one without a head, "|" between pages.
 */
static const char *list_of(tv_blob_list_query query, int size)
{
    tv_buf text = TV_BUF_EMPTY;
    tv_slice marker = TV_NONE;

    query.container = container;
    do {
        tv_blob_list *list;
        tv_blob_entry entry;
        int count = 0;

        if (marker.len)
            tv_buf_add_lit(&text, "| ");
        query.marker = marker;
        CHECK_OK(tv_blob_list_open(engine, &query, &list));
        while (count < size && tv_blob_list_next(list, &entry)) {
            count++;
            tv_buf_add(&text, entry.name);
            if (entry.kind == TV_BLOB_ENTRY_UNCOMMITTED)
                tv_buf_add_lit(&text, "?");
            else if (entry.kind == TV_BLOB_ENTRY_PREFIX)
                tv_buf_add_lit(&text, "*");
            else if (entry.head.snapshot)
                tv_buf_printf(&text, "~%d", (int)entry.head.metadata.count);
            tv_buf_add_char(&text, ' ');
        }
        CHECK_OK(tv_blob_list_status(list));
        CHECK_OK(tv_blob_list_next_marker(list, &arena, &marker));
        CHECK(tv_slice_is_printable(marker));
        tv_blob_list_close(list);
    } while (marker.len);

    tv_buf_add_char(&text, '\0');

    const char *copy = tv_arena_dup(&arena, tv_buf_slice(&text)).data;

    tv_buf_done(&text);
    return copy;
}

/* A snapshot that shows its number by how much metadata it has. */
static void numbered_snapshot(const char *name, size_t number)
{
    tv_metadata_pair pairs[] = {{TV_LIT("a"), TV_LIT("")}, {TV_LIT("b"), TV_LIT("")}};
    tv_snapshot_blob take = {.change = change_of(name), .metadata = {pairs, number}};

    CHECK_OK(RUN(tv_snapshot_blob_run, &take));
}

static void fill(void)
{
    static const char *const names[] = {"a", "a/1", "a/2", "a/b/3", "b", "b/1", "c-"};
    tv_append_block append = {.change = change_of("b"), .data = text_data("x")};

    for (size_t i = 0; i < COUNT(names); i++)
        put_text(names[i], i == 4 ? NULL : "x");
    for (int i = 0; i < 10; i++)
        CHECK_OK(RUN(tv_append_block_run, &append));
    numbered_snapshot("b", 1);
    numbered_snapshot("b", 2);
    numbered_snapshot("a/2", 1);
    CHECK_OK(put_block("a/2", "MDA=", text_data("x")));
    CHECK_OK(put_block("bb", "MDA=", text_data("x")));
    CHECK_OK(put_block("bb", "MDE=", text_data("x")));
    CHECK_OK(put_block("d/1", "MDA=", text_data("x")));
}

TEST(lists_are_in_order_and_as_asked_for)
{
    static const struct {
        tv_blob_list_query query;
        const char *want;
    } rows[] = {
        {{.with_snapshots = false}, "a a/1 a/2 a/b/3 b b/1 c- "},
        {{.with_snapshots = true}, "a a/1 a/2~1 a/2 a/b/3 b~1 b~2 b b/1 c- "},
        {{.with_uncommitted = true}, "a a/1 a/2 a/b/3 b b/1 bb? c- d/1? "},
        {{.prefix = {"a", 1}}, "a a/1 a/2 a/b/3 "},
        {{.prefix = {"a/", 2}}, "a/1 a/2 a/b/3 "},
        {{.prefix = {"x", 1}}, ""},
        {{.delimiter = {"/", 1}}, "a a/* b b/* c- "},
        {{.delimiter = {"/", 1}, .with_snapshots = true}, "a a/* b~1 b~2 b b/* c- "},
        {{.delimiter = {"/", 1}, .with_uncommitted = true}, "a a/* b b/* bb? c- d/* "},
        {{.delimiter = {"/", 1}, .prefix = {"a/", 2}}, "a/1 a/2 a/b/* "},
        {{.delimiter = {"/", 1}, .prefix = {"a", 1}}, "a a/* "},
        {{.delimiter = {"/b", 2}}, "a a/1 a/2 a/b* b b/1 c- "},
        {{.start = {"a/2", 3}}, "a/2 a/b/3 b b/1 c- "},
        {{.start = {"a/2", 3}, .with_snapshots = true}, "a/2~1 a/2 a/b/3 b~1 b~2 b b/1 c- "},
        {{.start = {"a/1x", 4}, .prefix = {"a", 1}}, "a/2 a/b/3 "},
        {{.start = {"a", 1}, .prefix = {"b", 1}}, "b b/1 "},
        {{.start = {"b/0", 3}, .delimiter = {"/", 1}}, "b/* c- "},
        {{.start = {"c", 1}, .prefix = {"a", 1}}, ""},
    };

    fill();
    for (size_t i = 0; i < COUNT(rows); i++) {
        tv_buf joined = TV_BUF_EMPTY;

        t_row = rows[i].want;
        CHECK_TEXT(tv_slice_of(list_of(rows[i].query, 5000)), rows[i].want);

        /* Pages of any size make up the same list. */
        for (int size = 1; size < 4; size++) {
            const char *paged = list_of(rows[i].query, size);

            joined.len = 0;
            for (const char *at = paged; *at; at++) {
                if (at[0] == '|')
                    at++;
                else
                    tv_buf_add_char(&joined, *at);
            }
            CHECK_TEXT(tv_buf_slice(&joined), rows[i].want);
        }
        tv_buf_done(&joined);
    }
    CHECK_TEXT(tv_slice_of(list_of((tv_blob_list_query){.with_snapshots = true}, 4)),
               "a a/1 a/2~1 a/2 | a/b/3 b~1 b~2 b | b/1 c- ");
}

TEST(other_containers_are_not_listed)
{
    tv_slice mine = container;

    container = tv_key_container(&arena, TV_LIT("acct"), 2);
    put_text("other", "x");
    container = mine;
    CHECK_TEXT(tv_slice_of(list_of((tv_blob_list_query){0}, 10)), "");
}

TEST(heads_are_whole)
{
    tv_blob_list_query query = {.container = container};
    tv_blob_list *list;
    tv_blob_entry entry;

    put_text("b", "hello");
    CHECK_OK(tv_blob_list_open(engine, &query, &list));
    CHECK(tv_blob_list_next(list, &entry));
    CHECK_INT(entry.head.length, 5);
    CHECK_INT(entry.head.etag, head_of("b", 0).etag);
    CHECK(!tv_blob_list_next(list, &entry));
    tv_blob_list_close(list);
}

/* Blobs that are not to be seen end a page too, when there are very many. */
TEST(a_page_ends_when_it_has_looked_at_enough)
{
    tv_blob_list_query query = {.container = container};
    tv_slice marker = TV_NONE;
    int pages = 0, entries = 0;

    put_text("z", "x");
    for (int i = 0; i < 12000; i++)
        CHECK_OK(put_block(tv_arena_printf(&arena, "b%06d%c", i, 0).data, "MDA=", text_data("x")));
    do {
        tv_blob_list *list;
        tv_blob_entry entry;

        query.marker = marker;
        CHECK_OK(tv_blob_list_open(engine, &query, &list));
        do
            entries += tv_blob_list_next(list, &entry);
        while (tv_blob_list_has_more(list));
        CHECK_OK(tv_blob_list_next_marker(list, &arena, &marker));
        tv_blob_list_close(list);
        pages++;
    } while (marker.len);
    CHECK_INT(entries, 1);
    CHECK_INT(pages, 2);
}

TEST(markers_that_no_page_gave_are_refused)
{
    static const char *const markers[] = {"x", "0000000000000\x01", "zzzzzzzzzzzzzb",
                                          "000000000000", "0000000000001"};
    tv_blob_list_query query = {.container = container};
    tv_blob_list *list;

    for (size_t i = 0; i < COUNT(markers); i++) {
        t_row = markers[i];
        query.marker = tv_slice_of(markers[i]);
        CHECK_ERR(tv_blob_list_open(engine, &query, &list), TV_ERR_OUT_OF_RANGE);
    }
    query = (tv_blob_list_query){.container = container, .prefix = TV_LIT("a\n")};
    CHECK_ERR(tv_blob_list_open(engine, &query, &list), TV_ERR_OUT_OF_RANGE);
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(lists_are_in_order_and_as_asked_for),
        T(other_containers_are_not_listed),
        T(heads_are_whole),
        T(a_page_ends_when_it_has_looked_at_enough),
        T(markers_that_no_page_gave_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
