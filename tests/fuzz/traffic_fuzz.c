/*
 * Files of traffic by key: whatever the bytes are, what is read has ascending bounds and as many
 * counts, and what was read is the same when it is written and read again.
 */
#include <stdlib.h>

#include "base/assert.h"
#include "base/crc64.h"
#include "fuzz.h"
#include "insight/traffic/gather.h"

static void check_piece(const tv_gathered *table, const tv_piece *piece)
{
    tv_column_writer writer = {0};
    tv_column_head head = {.minute = piece->minute, .grain = 1};
    tv_buf out = TV_BUF_EMPTY;
    tv_traffic_gather again = {.to = UINT32_MAX};

    tv_column_add(&writer, table->account, table->id, piece->axis, true, piece->counts);
    tv_column_finish(&writer, &head, &out);
    tv_traffic_gather_file(&again, tv_buf_slice(&out));
    tv_assert(again.count == 1 && again.tables[0].count == 1 && again.tables[0].id == table->id);
    tv_assert(tv_axis_eq(again.tables[0].pieces[0].axis, piece->axis));
    tv_assert(memcmp(again.tables[0].pieces[0].counts, piece->counts,
                     piece->axis->count * sizeof *piece->counts) == 0);
    tv_traffic_gather_done(&again);
    tv_column_writer_done(&writer);
    tv_buf_done(&out);
}

static void check_file(tv_slice file)
{
    tv_traffic_gather gather = {.to = UINT32_MAX};

    tv_traffic_gather_file(&gather, file);
    for (size_t i = 0; i < gather.count; i++) {
        for (size_t k = 0; k < gather.tables[i].count; k++)
            check_piece(&gather.tables[i], &gather.tables[i].pieces[k]);
    }
    tv_traffic_gather_done(&gather);
}

/* The bytes as the body of a column whose length and crc are right: a fuzzer finds no crc. */
static void check_body(tv_slice body)
{
    tv_buf file = TV_BUF_EMPTY;
    uint64_t crc = tv_crc64_of(body);

    tv_buf_add_lit(&file, "TVC1");
    for (int i = 0; i < 4; i++)
        tv_buf_add_char(&file, (char)(body.len >> (8 * i)));
    for (int i = 0; i < 8; i++)
        tv_buf_add_char(&file, (char)(crc >> (8 * i)));
    tv_buf_add(&file, body);
    check_file(tv_buf_slice(&file));
    tv_buf_done(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tv_slice bytes = {(const char *)data, size};
    tv_counts *counts;
    tv_axis *axis;

    check_file(bytes);
    check_body(bytes);
    if (tv_column_read_block(bytes, NULL, &axis, &counts) == TV_OK) {
        free(counts);
        tv_axis_unref(axis);
    }
    return 0;
}
