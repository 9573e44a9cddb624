/*
 * Findings that were kept.  The input is a file; what is in a file, to which its head with the right
 * checksum is added, so that more than checksums is tried; and the text of a shape.
 */
#include "base/assert.h"
#include "base/crc64.h"
#include "base/json.h"
#include "fuzz.h"
#include "insight/advice/book.h"
#include "insight/advice/finding_code.h"
#include "insight/advice/finding_write.h"
#include "insight/advice/shape_view.h"

/* What can be read can be shown, and is the same when it is written and read again. */
static void check_book(tv_slice bytes)
{
    tv_book book = {.count = 0}, again = {.count = 0};
    tv_buf first = TV_BUF_EMPTY, second = TV_BUF_EMPTY, json = TV_BUF_EMPTY;

    if (tv_book_decode(&book, bytes)) {
        tv_book_encode(&book, &first);
        tv_assert(tv_book_decode(&again, tv_buf_slice(&first)));
        tv_book_encode(&again, &second);
        tv_assert(tv_slice_eq(tv_buf_slice(&first), tv_buf_slice(&second)));
    }
    for (size_t i = 0; i < book.count; i++) {
        tv_finding_status status = {"active", book.entries[i]->first_ticks,
                                    book.entries[i]->last_ticks, book.entries[i]->ignored_until};
        tv_json_reader reader;
        tv_json_member member;
        tv_finding finding;
        tv_arena arena;

        tv_assert(tv_finding_decode((tv_slice){book.entries[i]->data, book.entries[i]->len},
                                    &finding));
        json.len = 0;
        tv_finding_write(&json, &finding, &status, i % 2);
        tv_arena_init(&arena);
        tv_json_reader_init(&reader, &arena, tv_buf_slice(&json));
        while (tv_json_next(&reader, &member))
            ;
        tv_assert(!reader.failed);
        tv_arena_done(&arena);
    }
    tv_book_done(&book);
    tv_book_done(&again);
    tv_buf_done(&first);
    tv_buf_done(&second);
    tv_buf_done(&json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tv_slice input = {(const char *)data, size};
    unsigned char crc[TV_CRC64_BYTES];
    tv_buf file = TV_BUF_EMPTY;
    tv_arena arena;

    check_book(input);
    tv_crc64_encode(tv_crc64_of(input), crc);
    tv_buf_add_lit(&file, "TVA1");
    tv_buf_add(&file, (tv_slice){(const char *)crc, sizeof crc});
    tv_buf_add(&file, input);
    check_book(tv_buf_slice(&file));
    tv_buf_done(&file);

    tv_arena_init(&arena);
    if (size <= 4096)
        tv_shape_view_of(&arena, input);
    tv_arena_done(&arena);
    return 0;
}
