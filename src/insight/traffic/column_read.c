#include <stdlib.h>

#include "base/crc64.h"
#include "insight/traffic/column.h"

enum {
    PREFIX_BYTES = 16, /* magic, length, crc */
    HEAD_BYTES = 8,    /* and the fixed part behind it */
    /* Places that look like the beginning of a column and are not, before the search behind a
     * damaged one is given up: each costs a crc. */
    FALSE_STARTS_MAX = 16,
};

static uint64_t number_at(const char *from, int bytes)
{
    uint64_t value = 0;

    for (int i = 0; i < bytes; i++)
        value |= (uint64_t)(unsigned char)from[i] << (8 * i);
    return value;
}

/* Takes a varint off the front; false when there is none that ends, or it is above `max`. */
static bool take_varint(tv_slice *from, uint64_t max, uint64_t *ret_value)
{
    uint64_t value = 0;

    for (size_t i = 0; i < from->len && i < 10; i++) {
        unsigned char byte = (unsigned char)from->data[i];

        if (i == 9 && byte > 1)
            return false;
        value |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte < 0x80) {
            *from = tv_slice_skip(*from, i + 1);
            *ret_value = value;
            return value <= max;
        }
    }
    return false;
}

/* Whether a column begins here and is whole; its end. */
static bool read_at(tv_slice file, size_t at, tv_column *ret_column, size_t *ret_end)
{
    if (file.len - at < PREFIX_BYTES + HEAD_BYTES)
        return false;

    const char *from = file.data + at;
    uint64_t len = number_at(from + 4, 4), count;

    if (memcmp(from, "TVC1", 4) != 0 || len < HEAD_BYTES || len > file.len - at - PREFIX_BYTES)
        return false;

    tv_slice body = {from + PREFIX_BYTES, len};

    if (tv_crc64_of(body) != number_at(from + 8, 8))
        return false;

    *ret_column = (tv_column){.head = {.minute = (uint32_t)number_at(body.data, 4),
                                       .grain = (uint16_t)number_at(body.data + 4, 2),
                                       .flags = (uint16_t)number_at(body.data + 6, 2)}};
    body = tv_slice_skip(body, HEAD_BYTES);
    if (!take_varint(&body, TV_COLUMN_TABLES_MAX, &count))
        return false;

    /* Where the list ends is known when all of it was read. */
    tv_column column = {.count = count, .list = body, .blocks = body};
    tv_column_table table;

    while (column.count) {
        if (tv_column_next_table(&column, &table))
            return false;
    }
    ret_column->count = count;
    ret_column->list = tv_slice_take(body, body.len - column.list.len);
    ret_column->blocks = column.list;
    *ret_end = at + PREFIX_BYTES + len;
    return true;
}

bool tv_column_next(tv_slice file, size_t *at, tv_column *ret_column)
{
    size_t from = *at, end;

    for (int false_starts = 0; false_starts < FALSE_STARTS_MAX; false_starts++) {
        if (from >= file.len)
            return false;
        if (read_at(file, from, ret_column, &end)) {
            ret_column->gap_bytes = from - *at;
            *at = end;
            return true;
        }

        const char *next = memmem(file.data + from + 1, file.len - from - 1, "TVC1", 4);

        if (next == NULL)
            return false;
        from = (size_t)(next - file.data);
    }
    return false;
}

tv_err tv_column_next_table(tv_column *column, tv_column_table *ret_table)
{
    uint64_t len, id, place;
    tv_slice list = column->list;

    if (column->count == 0)
        return TV_ERR_NOT_FOUND;
    if (!take_varint(&list, TV_COLUMN_ACCOUNT_BYTES_MAX, &len) || len > list.len)
        return TV_ERR_CORRUPT;
    ret_table->account = tv_slice_take(list, len);
    list = tv_slice_skip(list, len);
    if (!take_varint(&list, INT64_MAX, &id) || !take_varint(&list, column->blocks.len, &place))
        return TV_ERR_CORRUPT;
    ret_table->id = (int64_t)id;
    ret_table->block = tv_slice_skip(column->blocks, place);
    column->list = list;
    column->count--;
    return TV_OK;
}

/* Bounds that follow; NULL when they are not valid. */
static tv_axis *read_bounds(tv_slice *from)
{
    static _Thread_local char bytes[TV_COLUMN_BUCKETS_MAX][TV_COLUMN_BOUND_BYTES_MAX];
    tv_slice bounds[TV_COLUMN_BUCKETS_MAX];
    uint64_t count, common, more;

    if (!take_varint(from, TV_COLUMN_BUCKETS_MAX, &count) || count == 0)
        return NULL;

    bounds[0] = TV_LIT("");
    for (size_t i = 1; i < count; i++) {
        if (!take_varint(from, bounds[i - 1].len, &common) ||
            !take_varint(from, TV_COLUMN_BOUND_BYTES_MAX - common, &more) || more > from->len)
            return NULL;
        tv_slice_put(bytes[i], tv_slice_take(bounds[i - 1], common));
        tv_slice_put(bytes[i] + common, tv_slice_take(*from, more));
        *from = tv_slice_skip(*from, more);
        bounds[i] = (tv_slice){bytes[i], common + more};
        if (tv_slice_cmp(bounds[i - 1], bounds[i]) >= 0)
            return NULL;
    }
    return tv_axis_new(bounds, count);
}

/* The values of one measure; false when they are not as many as there are buckets. */
static bool read_values(tv_slice *from, tv_counts *counts, size_t count, int measure)
{
    for (size_t i = 0; i < count;) {
        uint64_t zeros, values;

        if (!take_varint(from, count - i, &zeros) ||
            !take_varint(from, count - i - zeros, &values) || zeros + values == 0)
            return false;
        i += zeros;
        for (size_t end = i + values; i < end; i++) {
            if (!take_varint(from, UINT64_MAX, &counts[i].by[measure]))
                return false;
        }
    }
    return true;
}

tv_err tv_column_read_block(tv_slice block, tv_axis *last, tv_axis **ret_axis,
                            tv_counts **ret_counts)
{
    tv_axis *axis = NULL;

    if (block.len == 0)
        return TV_ERR_CORRUPT;
    if (block.data[0] == 0 && last)
        axis = tv_axis_ref(last);
    else if (block.data[0] != 1)
        return TV_ERR_CORRUPT;
    block = tv_slice_skip(block, 1);
    if (axis == NULL)
        axis = read_bounds(&block);
    if (axis == NULL)
        return TV_ERR_CORRUPT;

    tv_counts *counts = tv_calloc(axis->count, sizeof *counts);
    unsigned mask = block.len ? (unsigned char)block.data[0] : 0;
    bool is_good = block.len > 0;

    _Static_assert(TV_MEASURES == 8, "each bit of the mask is a measure");
    if (is_good)
        block = tv_slice_skip(block, 1);
    for (int k = 0; k < TV_MEASURES && is_good; k++) {
        if (mask >> k & 1)
            is_good = read_values(&block, counts, axis->count, k);
    }
    if (!is_good) {
        free(counts);
        tv_axis_unref(axis);
        return TV_ERR_CORRUPT;
    }
    *ret_axis = axis;
    *ret_counts = counts;
    return TV_OK;
}
