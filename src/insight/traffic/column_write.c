#include "base/crc64.h"
#include "insight/traffic/column.h"

static void add_varint(tv_buf *buf, uint64_t value)
{
    while (value >= 0x80) {
        tv_buf_add_char(buf, (char)(value | 0x80));
        value >>= 7;
    }
    tv_buf_add_char(buf, (char)value);
}

static void add_number(tv_buf *buf, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        tv_buf_add_char(buf, (char)(value >> (8 * i)));
}

void tv_column_writer_done(tv_column_writer *writer)
{
    tv_buf_done(&writer->list);
    tv_buf_done(&writer->blocks);
    writer->count = 0;
}

static void add_bounds(tv_buf *out, const tv_axis *axis)
{
    add_varint(out, axis->count);
    for (size_t i = 1; i < axis->count; i++) {
        tv_slice before = axis->bounds[i - 1], bound = axis->bounds[i];
        size_t common = 0;

        while (common < before.len && common < bound.len &&
               before.data[common] == bound.data[common])
            common++;
        add_varint(out, common);
        add_varint(out, bound.len - common);
        tv_buf_add(out, tv_slice_skip(bound, common));
    }
}

static void add_values(tv_buf *out, const tv_counts *counts, size_t count, int measure)
{
    for (size_t i = 0; i < count;) {
        size_t zeros = i, values;

        while (zeros < count && counts[zeros].by[measure] == 0)
            zeros++;
        values = zeros;
        while (values < count && counts[values].by[measure] != 0)
            values++;
        add_varint(out, zeros - i);
        add_varint(out, values - zeros);
        for (i = zeros; i < values; i++)
            add_varint(out, counts[i].by[measure]);
    }
}

void tv_column_add(tv_column_writer *writer, tv_slice account, int64_t table_id,
                   const tv_axis *axis, bool has_bounds, const tv_counts *counts)
{
    tv_buf *out = &writer->blocks;
    unsigned mask = 0;

    tv_assert(axis->count <= TV_COLUMN_BUCKETS_MAX && account.len <= TV_COLUMN_ACCOUNT_BYTES_MAX);
    add_varint(&writer->list, account.len);
    tv_buf_add(&writer->list, account);
    add_varint(&writer->list, (uint64_t)table_id);
    add_varint(&writer->list, out->len);
    writer->count++;

    tv_buf_add_char(out, has_bounds ? 1 : 0);
    if (has_bounds)
        add_bounds(out, axis);
    for (size_t i = 0; i < axis->count; i++) {
        for (int k = 0; k < TV_MEASURES; k++)
            mask |= counts[i].by[k] ? 1u << k : 0;
    }
    tv_buf_add_char(out, (char)mask);
    for (int k = 0; k < TV_MEASURES; k++) {
        if (mask >> k & 1)
            add_values(out, counts, axis->count, k);
    }
}

void tv_column_finish(tv_column_writer *writer, const tv_column_head *head, tv_buf *out)
{
    size_t start = out->len, body;
    tv_buf place = TV_BUF_EMPTY;

    tv_assert(writer->count <= TV_COLUMN_TABLES_MAX);
    tv_buf_add_lit(out, "TVC1");
    tv_buf_add_lit(out, "lengthandcrc"); /* both are known at the end */
    body = out->len;
    add_number(out, head->minute, 4);
    add_number(out, head->grain, 2);
    add_number(out, head->flags, 2);
    add_varint(out, writer->count);
    tv_buf_add(out, tv_buf_slice(&writer->list));
    tv_buf_add(out, tv_buf_slice(&writer->blocks));

    add_number(&place, out->len - body, 4);
    add_number(&place, tv_crc64_of(tv_slice_skip(tv_buf_slice(out), body)), 8);
    memcpy(out->data + start + 4, place.data, place.len);
    tv_buf_done(&place);
    writer->list.len = writer->blocks.len = 0;
    writer->count = 0;
}
