/* See book.h. */
#include "insight/advice/book.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/crc64.h"
#include "insight/advice/finding_code.h"
#include "insight/advice/redact.h"

enum { HEAD_BYTES = 4 + 8, FILE_BYTES_MAX = 32 << 20 };

static const char magic[4] = {'T', 'V', 'A', '1'};
static const int64_t minute = 60 * TV_TICKS_PER_SECOND;
static const int64_t forget_after = 7 * 24 * 60 * 60 * TV_TICKS_PER_SECOND;

const char *tv_finding_state_name(tv_finding_state state)
{
    static const char *const names[TV_STATES] = {"seen", "active", "quiet", "resolved"};

    return names[state];
}

static void entry_free(tv_book_entry *entry)
{
    free(entry->data);
    free(entry);
}

void tv_book_done(tv_book *book)
{
    for (size_t i = 0; i < book->count; i++)
        entry_free(book->entries[i]);
    *book = (tv_book){.count = 0};
}

static tv_book_entry *find(const tv_book *book, tv_slice id)
{
    for (size_t i = 0; i < book->count; i++) {
        if (tv_slice_eq(book->entries[i]->id, id))
            return book->entries[i];
    }
    return NULL;
}

const tv_book_entry *tv_book_find(const tv_book *book, tv_slice id)
{
    return find(book, id);
}

static void drop(tv_book *book, size_t at)
{
    entry_free(book->entries[at]);
    book->entries[at] = book->entries[--book->count];
    book->is_changed = true;
}

/* Room for one more. */
static void make_room(tv_book *book)
{
    size_t oldest = 0;

    if (book->count < TV_BOOK_MAX)
        return;
    for (size_t i = 1; i < book->count; i++) {
        const tv_book_entry *entry = book->entries[i], *other = book->entries[oldest];
        bool is_kept = entry->ignored_until != 0, is_other_kept = other->ignored_until != 0;

        if (is_kept != is_other_kept ? is_other_kept : entry->last_ticks < other->last_ticks)
            oldest = i;
    }
    drop(book, oldest);
}

/* Keep the finding's newest text and numbers; takes over nothing. */
static void keep_finding(tv_book_entry *entry, const tv_finding *finding)
{
    tv_buf out = TV_BUF_EMPTY;
    tv_finding kept;

    tv_finding_encode(&out, finding);
    free(entry->data);
    entry->data = tv_malloc(out.len);
    memcpy(entry->data, out.data, out.len);
    entry->len = out.len;
    tv_buf_done(&out);
    tv_assert(tv_finding_decode((tv_slice){entry->data, entry->len}, &kept));
    entry->id = kept.id;
}

static void see(tv_book *book, const tv_finding *finding, const tv_params *params, int64_t now,
                void (*on_open)(void *ctx, const tv_finding *finding), void *ctx)
{
    tv_book_entry *entry = find(book, finding->id);
    bool opens;

    if (entry == NULL) {
        make_room(book);
        entry = tv_malloc(sizeof *entry);
        *entry = (tv_book_entry){.state = TV_STATE_SEEN, .first_ticks = now};
        book->entries[book->count++] = entry;
    }
    entry->is_found = true;
    entry->judgements++;
    entry->last_ticks = now;
    keep_finding(entry, finding);
    opens = (entry->state == TV_STATE_SEEN || entry->state == TV_STATE_RESOLVED) &&
            entry->judgements >= params->value[TV_PARAM_ALL_open_judgements];
    if (opens && entry->state == TV_STATE_RESOLVED)
        entry->first_ticks = now;
    if (opens || entry->state == TV_STATE_QUIET)
        entry->state = TV_STATE_ACTIVE;
    if (opens && on_open && !tv_book_is_ignored(entry, now))
        on_open(ctx, finding);
    book->is_changed = true;
}

/* Whether a stronger finding has taken the place of what was found before. */
static bool is_replaced(const tv_book_entry *entry, const tv_findings *found)
{
    tv_finding kept;

    tv_assert(tv_finding_decode((tv_slice){entry->data, entry->len}, &kept));
    return tv_finding_is_silenced(found, &kept);
}

/* What was not found this time grows old. */
static void age_entries(tv_book *book, const tv_findings *found, const tv_params *params,
                        int64_t now)
{
    int64_t quiet_after = (int64_t)(params->value[TV_PARAM_ALL_quiet_min] * (double)minute);
    int64_t resolved_after =
        (int64_t)(params->value[TV_PARAM_ALL_resolved_h] * 60 * (double)minute);

    for (size_t i = book->count; i-- > 0;) {
        tv_book_entry *entry = book->entries[i];
        tv_finding_state before = entry->state;
        int64_t age = now - entry->last_ticks;

        if (entry->ignored_until && entry->ignored_until <= now) {
            entry->ignored_until = 0;
            book->is_changed = true;
        }
        if (age >= forget_after && entry->ignored_until == 0) {
            drop(book, i);
            continue;
        }
        if (entry->is_found) {
            entry->is_found = false;
            continue;
        }
        entry->judgements = 0;
        if (entry->state == TV_STATE_SEEN) {
            drop(book, i);
            continue;
        }
        if (age >= resolved_after || is_replaced(entry, found))
            entry->state = TV_STATE_RESOLVED;
        else if (age >= quiet_after && entry->state == TV_STATE_ACTIVE)
            entry->state = TV_STATE_QUIET;
        book->is_changed |= entry->state != before;
    }
}

void tv_book_judge(tv_book *book, const tv_findings *found, const tv_params *params, int64_t now,
                   void (*on_open)(void *ctx, const tv_finding *finding), void *ctx)
{
    for (size_t i = 0; i < found->count && i < TV_BOOK_MAX; i++)
        see(book, found->items[i], params, now, on_open, ctx);
    age_entries(book, found, params, now);
}

bool tv_book_ignore(tv_book *book, tv_slice id, int64_t until)
{
    tv_book_entry *entry = find(book, id);

    if (entry == NULL || entry->state == TV_STATE_SEEN)
        return false;
    entry->ignored_until = until;
    book->is_changed = true;
    return true;
}

/* ---- the file -------------------------------------------------------------------------------- */

void tv_book_encode(tv_book *book, tv_buf *out)
{
    unsigned char crc[TV_CRC64_BYTES];
    size_t start = out->len;

    tv_buf_add(out, (tv_slice){magic, sizeof magic});
    memset(tv_buf_reserve(out, TV_CRC64_BYTES), 0, TV_CRC64_BYTES);
    out->len += TV_CRC64_BYTES;
    tv_code_add_number(out, book->count);
    for (size_t i = 0; i < book->count; i++) {
        const tv_book_entry *entry = book->entries[i];

        tv_code_add_number(out, entry->state);
        tv_code_add_number(out, (uint64_t)entry->first_ticks);
        tv_code_add_number(out, (uint64_t)entry->last_ticks);
        tv_code_add_number(out, (uint64_t)entry->ignored_until);
        tv_code_add_number(out, entry->len);
        tv_buf_add(out, (tv_slice){entry->data, entry->len});
    }
    if (out->is_lost)
        return;
    tv_crc64_encode(
        tv_crc64_of((tv_slice){out->data + start + HEAD_BYTES, out->len - start - HEAD_BYTES}),
        crc);
    memcpy(out->data + start + sizeof magic, crc, sizeof crc);
    book->is_changed = false;
}

static bool is_time(uint64_t ticks)
{
    return ticks <= (uint64_t)TV_TICKS_MAX;
}

/* By the secret of this process: what was kept may be of an earlier one, or of before there was
 * one.
 */
static void renew_id(tv_finding *finding, tv_buf *id)
{
    if (finding->subject != TV_SUBJECT_PARTITION && finding->subject != TV_SUBJECT_ENTITY)
        return;
    tv_finding_add_key_id(id, finding);
    finding->id = tv_buf_slice(id);
}

static bool take_entry(tv_book *book, tv_slice *rest)
{
    tv_buf id = TV_BUF_EMPTY;
    uint64_t state, first, last, until, len;
    tv_book_entry *entry;
    tv_finding finding;
    tv_slice bytes;

    if (!tv_code_take_number(rest, &state) || !tv_code_take_number(rest, &first) ||
        !tv_code_take_number(rest, &last) || !tv_code_take_number(rest, &until) ||
        !tv_code_take_number(rest, &len) || state >= TV_STATES || !is_time(first) ||
        !is_time(last) || (!is_time(until) && until != INT64_MAX) || len > rest->len)
        return false;
    bytes = tv_slice_take(*rest, (size_t)len);
    *rest = tv_slice_skip(*rest, (size_t)len);
    if (!tv_finding_decode(bytes, &finding))
        return true; /* of a rule that is gone */
    renew_id(&finding, &id);
    if (find(book, finding.id)) {
        tv_buf_done(&id);
        return true;
    }
    entry = tv_malloc(sizeof *entry);
    *entry = (tv_book_entry){.state = (tv_finding_state)state,
                             .first_ticks = (int64_t)first,
                             .last_ticks = (int64_t)last,
                             .ignored_until = (int64_t)until};
    book->entries[book->count++] = entry;
    keep_finding(entry, &finding);
    tv_buf_done(&id);
    return true;
}

bool tv_book_decode(tv_book *book, tv_slice bytes)
{
    unsigned char crc[TV_CRC64_BYTES];
    uint64_t count;
    tv_slice rest;

    tv_book_done(book);
    if (bytes.len < HEAD_BYTES || bytes.len > FILE_BYTES_MAX ||
        memcmp(bytes.data, magic, sizeof magic) != 0)
        return false;
    rest = tv_slice_skip(bytes, HEAD_BYTES);
    tv_crc64_encode(tv_crc64_of(rest), crc);
    if (memcmp(crc, bytes.data + sizeof magic, sizeof crc) != 0)
        return false;
    if (!tv_code_take_number(&rest, &count) || count > TV_BOOK_MAX)
        return false;
    for (uint64_t i = 0; i < count; i++) {
        if (!take_entry(book, &rest)) {
            tv_book_done(book);
            return false;
        }
    }
    book->is_changed = false;
    return true;
}
