/*
 * Lists of blocks from outside.  What is accepted is within its limits, and
 * written again it reads the same.
 */
#include "base/xml.h"
#include "fuzz.h"
#include "services/blob/body/block_list_xml.h"

static const char *element_of(tv_block_source source)
{
    return source == TV_BLOCK_LATEST      ? "Latest"
           : source == TV_BLOCK_COMMITTED ? "Committed"
                                          : "Uncommitted";
}

static void check_again(tv_arena *arena, const tv_block_choice *choices, size_t count)
{
    tv_buf text = TV_BUF_EMPTY;
    const tv_block_choice *again;
    size_t again_count;

    tv_buf_add_lit(&text, "<BlockList>");
    for (size_t i = 0; i < count; i++)
        tv_xml_add_element(&text, element_of(choices[i].source), choices[i].id);
    tv_buf_add_lit(&text, "</BlockList>");
    tv_assert(tv_block_list_parse(arena, tv_buf_slice(&text), &again, &again_count) == TV_OK);
    tv_assert(again_count == count);
    for (size_t i = 0; i < count; i++) {
        tv_assert(again[i].source == choices[i].source);
        tv_assert(tv_slice_eq(again[i].id, choices[i].id));
    }
    tv_buf_done(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const tv_block_choice *choices;
    tv_arena arena;
    size_t count;

    tv_arena_init(&arena);
    if (tv_block_list_parse(&arena, (tv_slice){(const char *)data, size}, &choices, &count) ==
        TV_OK) {
        tv_assert(count <= TV_BLOB_COMMITTED_BLOCKS_MAX);
        check_again(&arena, choices, count);
    }
    tv_arena_done(&arena);
    return 0;
}
