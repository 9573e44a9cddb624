/*
 * Continuation tokens.  The input is a token that is refused or stands for a
 * text; a text that comes back from its token as it was; and the options of a
 * query, whose tokens must name keys that a row could have.
 */
#include "base/assert.h"
#include "base/utf8.h"
#include "fuzz.h"
#include "parameters.h"
#include "services/table/query.h"
#include "services/table/token.h"
#include "store/engine/key.h"

static void check_round_trip(tv_arena *arena, tv_slice text)
{
    tv_slice token = tv_table_token_format(arena, text), again;

    tv_assert(tv_slice_is_printable(token));
    tv_assert(tv_table_token_parse(arena, token, &again) == TV_OK);
    tv_assert(tv_slice_eq(again, text));
}

static void check_query(tv_arena *arena, tv_slice url_query)
{
    tv_table_command command = {.kind = TV_TABLE_OP_QUERY_ENTITIES};
    tv_request request = {.query = query_of(arena, url_query)};
    tv_error_info info = {0};
    tv_slice key;
    tv_table_query query;

    if (tv_table_query_parse(arena, &request, &command, &query, &info) == TV_OK) {
        tv_assert(query.top <= 1000);
        if (query.next_partition.data) {
            tv_assert(tv_key_partition(arena, TV_LIT("acct"), 7, query.next_partition, &key) ==
                      TV_OK);
            tv_assert(tv_key_row(arena, key, query.next_row, &key) == TV_OK);
        }
    }
    command.kind = TV_TABLE_OP_QUERY_TABLES;
    if (tv_table_query_parse(arena, &request, &command, &query, &info) == TV_OK &&
        query.next_table.data)
        tv_assert(query.next_table.len >= 3 && query.next_table.len <= 63);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tv_slice input = {(const char *)data, size}, text;
    tv_arena arena;

    tv_arena_init(&arena);
    if (tv_table_token_parse(&arena, input, &text) == TV_OK) {
        tv_assert(tv_utf8_is_valid(text));
        check_round_trip(&arena, text);
    }
    if (tv_utf8_is_valid(input))
        check_round_trip(&arena, input);
    check_query(&arena, input);
    check_query(&arena, tv_arena_printf(&arena, "NextPartitionKey=%.*s&NextRowKey=%.*s",
                                        TV_FMT(input), TV_FMT(input)));
    check_query(&arena, tv_arena_printf(&arena, "NextTableName=%.*s", TV_FMT(input)));
    tv_arena_done(&arena);
    return 0;
}
