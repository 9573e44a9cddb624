/* Formatting, reading and comparing ETags. */
#include "services/table/etag.h"

#include "base/datetime.h"

static const tv_slice opening = {"W/\"datetime'", 12};
static const tv_slice closing = {"'\"", 2};

size_t tv_table_etag_format(char to[TV_TABLE_ETAG_TEXT_MAX], int64_t ticks)
{
    char plain[TV_DATETIME_TEXT_MAX];
    size_t plain_len = tv_datetime_format(plain, ticks);
    size_t len = opening.len;

    memcpy(to, opening.data, opening.len);
    for (size_t i = 0; i < plain_len; i++) {
        if (plain[i] == ':') {
            memcpy(to + len, "%3A", 3);
            len += 3;
        } else {
            to[len++] = plain[i];
        }
    }
    memcpy(to + len, closing.data, closing.len);
    return len + closing.len;
}

/* The date inside the quotes, with %3A or a plain colon. */
static bool parse_date(tv_slice text, int64_t *ret_ticks)
{
    char plain[TV_DATETIME_TEXT_MAX];
    size_t len = 0;

    while (text.len) {
        bool escaped = text.len >= 3 && tv_slice_eq_nocase(tv_slice_take(text, 3), TV_LIT("%3a"));

        if (len == sizeof plain)
            return false;
        plain[len++] = escaped ? ':' : text.data[0];
        text = tv_slice_skip(text, escaped ? 3 : 1);
    }
    return tv_datetime_parse_exact((tv_slice){plain, len}, ret_ticks);
}

tv_err tv_table_condition_parse(tv_slice if_match, tv_table_condition *ret_condition)
{
    *ret_condition = (tv_table_condition){TV_TABLE_CONDITION_NONE, 0};
    if (if_match.data == NULL)
        return TV_OK;

    if (tv_slice_eq(if_match, TV_LIT("*"))) {
        ret_condition->kind = TV_TABLE_CONDITION_ANY;
        return TV_OK;
    }

    /* W/"...", and no quote inside: that would be a list, of which a write can meet only one. */
    bool is_weak = if_match.len >= 4 &&
                   tv_slice_eq_nocase(tv_slice_take(if_match, 3), TV_LIT("w/\"")) &&
                   tv_slice_find(tv_slice_skip(if_match, 3), '"') == if_match.len - 4;

    if (!is_weak)
        return TV_ERR_ETAG_INVALID;

    ret_condition->kind = TV_TABLE_CONDITION_NEVER;
    if (if_match.len > opening.len + closing.len &&
        tv_slice_eq_nocase(tv_slice_take(if_match, opening.len), opening)) {
        tv_slice date = tv_slice_skip(if_match, opening.len);

        date.len -= closing.len;
        if (date.data[date.len] == '\'' && parse_date(date, &ret_condition->ticks))
            ret_condition->kind = TV_TABLE_CONDITION_EXACT;
    }
    return TV_OK;
}

bool tv_table_condition_holds(const tv_table_condition *condition, int64_t ticks)
{
    switch (condition->kind) {
    case TV_TABLE_CONDITION_NONE:
    case TV_TABLE_CONDITION_ANY:
        return true;
    case TV_TABLE_CONDITION_EXACT:
        return condition->ticks == ticks;
    case TV_TABLE_CONDITION_NEVER:
        return false;
    }
    return false;
}
