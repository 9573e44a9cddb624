/* Keys and values of the rows with facts. */
#include "insight/facts/rows.h"

#include <string.h>

#include "base/assert.h"
#include "base/pack.h"
#include "store/engine/key.h"

enum { ACCOUNT_BYTES_MAX = 24 };

void tv_facts_sums_add(tv_facts_sums *sums, const tv_facts_sums *more)
{
    sums->entities += more->entities;
    sums->bytes += more->bytes;
    sums->created += more->created;
    sums->replaced += more->replaced;
    sums->deleted += more->deleted;
}

void tv_facts_sums_subtract(tv_facts_sums *sums, const tv_facts_sums *less)
{
    sums->entities -= less->entities;
    sums->bytes -= less->bytes;
    sums->created -= less->created;
    sums->replaced -= less->replaced;
    sums->deleted -= less->deleted;
}

static char *put_number(char *at, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *at++ = (char)(value | 0x80);
    *at++ = (char)value;
    return at;
}

/* Small numbers of either sign as small unsigned ones. */
static uint64_t zigzag(uint64_t value)
{
    return value << 1 ^ (value >> 63 ? UINT64_MAX : 0);
}

static uint64_t unzigzag(uint64_t value)
{
    return value >> 1 ^ (value & 1 ? UINT64_MAX : 0);
}

size_t tv_facts_sums_format(const tv_facts_sums *sums, char to[TV_FACTS_SUMS_BYTES_MAX])
{
    char *at = to;

    at = put_number(at, zigzag(sums->entities));
    at = put_number(at, zigzag(sums->bytes));
    at = put_number(at, sums->created);
    at = put_number(at, sums->replaced);
    at = put_number(at, sums->deleted);
    return (size_t)(at - to);
}

tv_err tv_facts_sums_parse(tv_slice value, tv_facts_sums *ret_sums)
{
    tv_unpack in = {.rest = value};
    tv_facts_sums sums;

    sums.entities = unzigzag(tv_unpack_number(&in));
    sums.bytes = unzigzag(tv_unpack_number(&in));
    sums.created = tv_unpack_number(&in);
    sums.replaced = tv_unpack_number(&in);
    sums.deleted = tv_unpack_number(&in);
    if (!tv_unpack_is_done(&in))
        return TV_ERR_CORRUPT;

    *ret_sums = sums;
    return TV_OK;
}

tv_err tv_facts_row_key_parse(tv_slice key, tv_facts_row_key *ret_key)
{
    size_t mark = tv_slice_find(key, TV_KEY_MARK), table_end = mark + 1 + TV_KEY_ID_CHARS;
    int64_t number = 0;

    if (table_end >= key.len || key.data[0] != 'f' || mark > 1 + ACCOUNT_BYTES_MAX ||
        tv_key_read_number(tv_slice_take(tv_slice_skip(key, mark + 1), TV_KEY_ID_CHARS), &number))
        return TV_ERR_CORRUPT;

    tv_slice rest = tv_slice_skip(key, table_end);

    *ret_key = (tv_facts_row_key){.table = tv_slice_skip(tv_slice_take(key, table_end), 1),
                                  .kind = (tv_facts_row_kind)rest.data[0]};
    switch (ret_key->kind) {
    case TV_FACTS_ROW_SUMS:
        if (rest.len != 2 || tv_key_read_number(tv_slice_skip(rest, 1), &number))
            return TV_ERR_CORRUPT;
        ret_key->committer = (int)number;
        return TV_OK;
    case TV_FACTS_ROW_BASE:
    case TV_FACTS_ROW_SKETCH:
    case TV_FACTS_ROW_UNCOUNTED:
        return rest.len == 1 ? TV_OK : TV_ERR_CORRUPT;
    }
    return TV_ERR_CORRUPT;
}

size_t tv_facts_row_key_format(tv_slice table, tv_facts_row_kind kind, int committer,
                               char to[TV_FACTS_ROW_KEY_BYTES_MAX])
{
    char *at = to;

    tv_assert(table.len <= ACCOUNT_BYTES_MAX + 1 + TV_KEY_ID_CHARS);
    *at++ = 'f';
    memcpy(at, table.data, table.len);
    at += table.len;
    *at++ = (char)kind;
    if (kind == TV_FACTS_ROW_SUMS)
        at = tv_key_put_number(at, committer, 1);
    return (size_t)(at - to);
}
