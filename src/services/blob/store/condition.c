/*
 * Conditional headers and ETags.  The number of an ETag is the time of the
 * change in ticks, which for the years around ours is 0x8D… or 0x8E….
 */
#include "services/blob/store/condition.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/hex.h"
#include "services/blob/store/blob.h"

enum { ETAG_DIGITS = TV_BLOB_ETAG_LEN - 2 };

void tv_blob_etag_format(char to[TV_BLOB_ETAG_LEN], int64_t ticks)
{
    uint64_t rest = (uint64_t)ticks;

    to[0] = '0';
    to[1] = 'x';
    for (int i = TV_BLOB_ETAG_LEN - 1; i >= 2; i--) {
        to[i] = "0123456789ABCDEF"[rest & 15];
        rest >>= 4;
    }
    tv_assert(rest == 0);
}

bool tv_blob_etag_parse(tv_slice text, int64_t *ret_ticks)
{
    int64_t ticks = 0;

    if (text.len >= 2 && text.data[0] == '"' && text.data[text.len - 1] == '"')
        text = tv_slice_take(tv_slice_skip(text, 1), text.len - 2);
    if (text.len != TV_BLOB_ETAG_LEN || text.data[0] != '0' || tv_ascii_lower(text.data[1]) != 'x')
        return false;

    for (size_t i = 2; i < text.len; i++) {
        int digit = tv_hex_value(text.data[i]);

        if (digit < 0)
            return false;
        ticks = ticks << 4 | digit;
    }
    *ret_ticks = ticks;
    return true;
}

tv_etag_condition tv_etag_condition_parse(tv_slice text)
{
    tv_etag_condition condition = {.test = TV_ETAG_OTHER};

    text = tv_slice_trim(text);
    if (tv_slice_eq(text, TV_LIT("*")) || tv_slice_eq(text, TV_LIT("\"*\"")))
        condition.test = TV_ETAG_ANY;
    else if (tv_blob_etag_parse(text, &condition.etag))
        condition.test = TV_ETAG_IS;
    else if (tv_slice_find(text, ',') < text.len)
        condition = (tv_etag_condition){.test = TV_ETAG_LIST, .list = text};
    return condition;
}

static bool list_has(tv_slice list, int64_t etag)
{
    int64_t one;
    tv_slice item;

    while (tv_slice_next(&list, ',', &item)) {
        if (tv_blob_etag_parse(tv_slice_trim(item), &one) && one == etag)
            return true;
    }
    return false;
}

/* Something that was last changed at `etag` exists: is it named? */
static bool names(const tv_etag_condition *condition, int64_t etag)
{
    return condition->test == TV_ETAG_ANY ||
           (condition->test == TV_ETAG_IS && condition->etag == etag) ||
           (condition->test == TV_ETAG_LIST && list_has(condition->list, etag));
}

static bool is_later(int64_t etag, int64_t date)
{
    return etag / TV_TICKS_PER_SECOND > date / TV_TICKS_PER_SECOND;
}

static bool is_unmodified(const tv_blob_conditions *conditions, int64_t etag)
{
    return conditions->unmodified_since == 0 || !is_later(etag, conditions->unmodified_since);
}

/* If-Match, else If-Unmodified-Since, of what was last changed at `etag`. */
static bool is_as_wanted(const tv_blob_conditions *conditions, int64_t etag)
{
    if (conditions->if_match.test != TV_ETAG_ABSENT)
        return names(&conditions->if_match, etag);
    return is_unmodified(conditions, etag);
}

/* If-None-Match, else If-Modified-Since. */
static bool is_news(const tv_blob_conditions *conditions, int64_t etag)
{
    if (conditions->if_none_match.test != TV_ETAG_ABSENT)
        return !names(&conditions->if_none_match, etag);
    return conditions->modified_since == 0 || is_later(etag, conditions->modified_since);
}

tv_err tv_conditions_check_read(const tv_blob_conditions *conditions, int64_t etag)
{
    bool has_tag = conditions->if_none_match.test != TV_ETAG_ABSENT;
    bool has_date = conditions->modified_since != 0;

    if (!is_as_wanted(conditions, etag) || !is_unmodified(conditions, etag))
        return TV_ERR_CONDITION_NOT_MET;
    if ((has_tag && !names(&conditions->if_none_match, etag)) ||
        (has_date && is_later(etag, conditions->modified_since)))
        return TV_OK;
    return has_tag || has_date ? TV_ERR_NOT_MODIFIED : TV_OK;
}

tv_err tv_conditions_check_write(const tv_blob_conditions *conditions, int64_t etag)
{
    return is_as_wanted(conditions, etag) && is_news(conditions, etag) ? TV_OK
                                                                       : TV_ERR_CONDITION_NOT_MET;
}

tv_err tv_conditions_check_put(const tv_blob_conditions *conditions, int64_t etag)
{
    /* What does not exist can match no ETag; dates say nothing about it. */
    if (etag == 0)
        return conditions->if_match.test == TV_ETAG_ABSENT ? TV_OK : TV_ERR_CONDITION_NOT_MET;
    if (conditions->if_none_match.test != TV_ETAG_ANY)
        return tv_conditions_check_write(conditions, etag);
    if (!conditions->has_lease_id)
        return TV_ERR_BLOB_EXISTS;
    return is_as_wanted(conditions, etag) ? TV_OK : TV_ERR_CONDITION_NOT_MET;
}

tv_err tv_conditions_check_commit(const tv_blob_conditions *conditions, int64_t last_block)
{
    tv_err err = tv_conditions_check_put(conditions, 0);
    bool has_tag = conditions->if_none_match.test != TV_ETAG_ABSENT;

    if (err || has_tag || conditions->modified_since == 0)
        return err;
    return is_later(last_block, conditions->modified_since) ? TV_OK : TV_ERR_CONDITION_NOT_MET;
}

tv_err tv_conditions_check_source(const tv_blob_conditions *conditions, int64_t etag)
{
    return tv_conditions_check_write(conditions, etag) ? TV_ERR_SOURCE_CONDITION : TV_OK;
}
