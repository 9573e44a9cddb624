/* See key_forms.h. */
#include "insight/advice/key_forms.h"

#include <stdlib.h>

#include "base/chars.h"

/* With nothing behind it that could be more of it. */
bool tv_is_guid_at(tv_slice key, size_t at)
{
    return key.len >= at && tv_begins_with_guid(tv_slice_skip(key, at)) &&
           (key.len == at + TV_GUID_CHARS || !tv_is_hex(key.data[at + TV_GUID_CHARS]));
}

static void write_class(tv_buf *out, tv_slice key, bool with_lengths)
{
    for (size_t i = 0; i < key.len;) {
        char c = key.data[i];
        size_t start = i;

        if (tv_is_guid_at(key, i)) {
            tv_buf_add_char(out, 'G');
            i += 36;
        } else if (tv_is_digit(c)) {
            while (i < key.len && tv_is_digit(key.data[i]))
                i++;
            tv_buf_add_char(out, '9');
            if (with_lengths)
                tv_buf_printf(out, "{%zu}", i - start);
        } else if (tv_is_lower(c) || tv_is_upper(c)) {
            bool is_small = tv_is_lower(c);

            while (i < key.len && (is_small ? tv_is_lower(key.data[i]) : tv_is_upper(key.data[i])))
                i++;
            tv_buf_add_char(out, is_small ? 'a' : 'A');
        } else {
            tv_buf_add_char(out, c);
            i++;
        }
    }
}

void tv_key_class(tv_buf *out, tv_slice key)
{
    write_class(out, key, true);
}

void tv_key_form(tv_buf *out, tv_slice key)
{
    write_class(out, key, false);
}

static int compare_slices(const void *a, const void *b)
{
    return tv_slice_cmp(*(const tv_slice *)a, *(const tv_slice *)b);
}

/* The most frequent of some texts, which are sorted by it. */
static tv_slice most_frequent(tv_slice *texts, size_t count)
{
    tv_slice best = TV_LIT("");
    size_t best_count = 0;

    qsort(texts, count, sizeof *texts, compare_slices);
    for (size_t i = 0; i < count;) {
        size_t end = i;

        while (end < count && tv_slice_eq(texts[i], texts[end]))
            end++;
        if (end - i > best_count) {
            best = texts[i];
            best_count = end - i;
        }
        i = end;
    }
    return best;
}

tv_slice tv_row_key_class(tv_arena *arena, const tv_evidence_table *table)
{
    tv_slice *classes = tv_arena_alloc(arena, (table->key_count + 1) * sizeof *classes);

    for (size_t i = 0; i < table->key_count; i++) {
        tv_buf out = TV_BUF_EMPTY;

        tv_key_class(&out, table->keys[i].row_key);
        classes[i] = tv_arena_dup(arena, tv_buf_slice(&out));
        tv_buf_done(&out);
    }
    return most_frequent(classes, table->key_count);
}

bool tv_is_time_class(tv_slice class)
{
    static const char *const times[] = {"9{19}", "9{14}", "9{4}-9{2}-9{2}A9{2}:9{2}:9{2}"};

    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        if (tv_slice_starts_with(class, tv_slice_of(times[i])))
            return true;
    }
    return false;
}

/* What is before the first separator. */
static size_t head_of(tv_slice key)
{
    size_t i = 0;

    while (i < key.len && (tv_is_digit(key.data[i]) || tv_is_lower(key.data[i]) ||
                           tv_is_upper(key.data[i]) || (unsigned char)key.data[i] >= 0x80))
        i++;
    return i;
}

static int compare_by_head(const void *a, const void *b)
{
    const tv_evidence_key *one = a, *other = b;

    return tv_slice_cmp(tv_slice_take(one->row_key, head_of(one->row_key)),
                        tv_slice_take(other->row_key, head_of(other->row_key)));
}

tv_slice tv_partition_from_row_key(tv_arena *arena, const tv_evidence_table *table)
{
    tv_evidence_key *keys = tv_arena_alloc(arena, (table->key_count + 1) * sizeof *keys);
    size_t decided = 0, heads = 0;

    if (table->key_count < 20 || table->partitions_now < 2)
        return TV_LIT("");
    memcpy(keys, table->keys, table->key_count * sizeof *keys);
    qsort(keys, table->key_count, sizeof *keys, compare_by_head);
    for (size_t i = 0; i < table->key_count;) {
        size_t head = head_of(keys[i].row_key), end = i, same = 0;

        while (end < table->key_count && compare_by_head(&keys[i], &keys[end]) == 0) {
            same += tv_slice_eq(keys[i].partition_key, keys[end].partition_key);
            end++;
        }
        /* A key without a separator, or one of its kind, shows nothing. */
        if (head < keys[i].row_key.len && end - i >= 2)
            decided += same;
        heads++;
        i = end;
    }
    return heads > 1 && decided * 100 >= table->key_count * 95
               ? TV_LIT("what is before its first separator")
               : TV_LIT("");
}

double tv_distinct_row_keys(tv_arena *arena, const tv_evidence_table *table)
{
    tv_slice *keys = tv_arena_alloc(arena, (table->key_count + 1) * sizeof *keys);
    size_t distinct = 0;

    if (table->key_count == 0)
        return 0;
    for (size_t i = 0; i < table->key_count; i++)
        keys[i] = table->keys[i].row_key;
    qsort(keys, table->key_count, sizeof *keys, compare_slices);
    for (size_t i = 0; i < table->key_count; i++)
        distinct += i == 0 || !tv_slice_eq(keys[i], keys[i - 1]);
    return (double)distinct / (double)table->key_count;
}

/* ---- dates ----------------------------------------------------------------------------------- */

/* Read 1 to `max` digits; 0 when there are none. */
static size_t read_digits(tv_slice key, size_t at, size_t max, int *ret_value)
{
    size_t count = 0;

    *ret_value = 0;
    while (count < max && at + count < key.len && tv_is_digit(key.data[at + count])) {
        *ret_value = *ret_value * 10 + (key.data[at + count] - '0');
        count++;
    }
    return count;
}

static bool is_year(int year)
{
    return year >= 1900 && year <= 2100;
}

static bool has_month_name(tv_slice key)
{
    static const char *const names[] = {"jan", "feb", "mar", "apr", "may", "jun",
                                        "jul", "aug", "sep", "oct", "nov", "dec"};

    for (size_t i = 0; i + 3 <= key.len; i++) {
        if (i && (tv_is_lower(key.data[i - 1]) || tv_is_upper(key.data[i - 1])))
            continue;
        for (int m = 0; m < 12; m++) {
            if (tv_slice_eq_nocase(tv_slice_take(tv_slice_skip(key, i), 3), tv_slice_of(names[m])))
                return true;
        }
    }
    return false;
}

static bool has_year(tv_slice key)
{
    for (size_t i = 0; i + 4 <= key.len; i++) {
        int year;

        if ((i == 0 || !tv_is_digit(key.data[i - 1])) && read_digits(key, i, 4, &year) == 4 &&
            is_year(year) && (i + 4 == key.len || !tv_is_digit(key.data[i + 4])))
            return true;
    }
    return false;
}

/* "03:04 PM": digits, a blank or none, and the letters at the end. */
static bool ends_with_half_day(tv_slice key)
{
    tv_slice last = key.len > 3 ? tv_slice_skip(key, key.len - 2) : TV_LIT("");

    return (tv_slice_eq_nocase(last, TV_LIT("AM")) || tv_slice_eq_nocase(last, TV_LIT("PM"))) &&
           (key.data[key.len - 3] == ' ' || tv_is_digit(key.data[key.len - 3])) &&
           tv_slice_find(key, ':') < key.len;
}

/* yyyy-MM-ddTHH:mm... with +hh:mm or -hh:mm behind it. */
static bool has_offset(tv_slice key)
{
    size_t t = tv_slice_find(key, 'T');

    if (t == key.len || t < 8)
        return false;
    for (size_t i = t + 3; i < key.len; i++) {
        if ((key.data[i] == '+' || key.data[i] == '-') && i + 2 < key.len &&
            tv_is_digit(key.data[i + 1]))
            return true;
    }
    return false;
}

static tv_date_form numeric_form(tv_slice key)
{
    int a, b, year;
    size_t one = read_digits(key, 0, 4, &a), two, three;
    char between = one < key.len ? key.data[one] : '\0';

    if (between != '.' && between != '-' && between != '_')
        return TV_DATE_NONE;
    two = read_digits(key, one + 1, 2, &b);
    if (two == 0 || one + 1 + two >= key.len || key.data[one + 1 + two] != between)
        return TV_DATE_NONE;
    three = read_digits(key, one + 2 + two, 4, &year);
    if (one == 4) {
        if (!is_year(a) || b < 1 || b > 12 || year < 1 || year > 31 || three > 2)
            return TV_DATE_NONE;
        if (has_offset(key))
            return TV_DATE_OFFSET;
        return two == 1 || three == 1 ? TV_DATE_UNPADDED : TV_DATE_NONE;
    }
    if (one > 2 || three != 4 || !is_year(year) || a < 1 || a > 31 || b < 1 || b > 31 ||
        (a > 12 && b > 12))
        return TV_DATE_NONE;
    return a > 12 ? TV_DATE_DAY_FIRST : b > 12 ? TV_DATE_MONTH_FIRST : TV_DATE_AMBIGUOUS;
}

tv_date_form tv_date_form_of(tv_slice key)
{
    tv_date_form form = numeric_form(key);

    if (form)
        return form;
    if (has_month_name(key) && has_year(key))
        return TV_DATE_MONTH_NAME;
    return ends_with_half_day(key) ? TV_DATE_HALF_DAY : TV_DATE_NONE;
}

const char *tv_date_form_name(tv_date_form form)
{
    static const char *const names[TV_DATE_FORMS] = {
        "",    "dd.MM.yyyy", "MM-dd-yyyy",         "dd-MM-yyyy or MM-dd-yyyy",
        "MMM", "AM or PM",   "ISO with an offset", "yyyy-M-d",
    };

    return names[form];
}
