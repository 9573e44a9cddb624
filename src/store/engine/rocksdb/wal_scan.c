/*
 * What is in a log file, or a manifest, and where it ends: see wal.h.  No files
 * here, only bytes.
 */
#include "store/engine/rocksdb/wal.h"

#include <endian.h>

#include "base/crc32c.h"

enum {
    FRAGMENT_HEADER_BYTES = 7,
    BATCH_HEADER_BYTES = 12,
    OLD_STAMP_BYTES = 8, /* only when it was written */
    SEAL = 0x55,         /* the two differ in every bit */
    SEAL_WITH_ZEROS = 0xaa,
    SEARCH_BYTES_MAX = 1 << 30, /* checksummed in search of records after damage */
    SEQUENCE_BITS = 56,
    TAG_LOG_DATA = 3,   /* within a batch */
    TAG_COMPARATOR = 1, /* within an edit of the manifest */
    TAG_LOG_NUMBER = 2,
    TAG_NEXT_FILE_NUMBER = 3,
    TAG_LAST_SEQUENCE = 4,
    TAG_PREVIOUS_LOG_NUMBER = 9,
    TAG_MIN_LOG_NUMBER = 10,
    TAG_MAX_COLUMN_FAMILY = 203,
    TAG_DB_ID = 8193,
};

typedef enum fragment_type {
    FRAGMENT_WHOLE = 1,
    FRAGMENT_FIRST,
    FRAGMENT_MIDDLE,
    FRAGMENT_LAST,
} fragment_type;

typedef enum reading {
    READ_OK,
    READ_END, /* of the file, where nothing was begun */
    READ_CUT, /* the file ends within it */
    READ_BAD,
} reading;

typedef struct wal_fragment {
    fragment_type type;
    tv_slice bytes;
    size_t end; /* where the next one can begin */
} wal_fragment;

typedef struct wal_record {
    size_t end;
    size_t head_len;
    char head[TV_WAL_HEAD_BYTES_MAX];
    /* Of a record of a log: */
    uint64_t sequence, count;
    int64_t ticks;
    tv_wal_mark mark;
} wal_record;

/* A file and what is known of it before its first byte is read. */
typedef struct wal_file {
    tv_wal_kind kind;
    tv_slice bytes;
    tv_wal_mark mark; /* that its records have; 0: they have none, or that is not known */
} wal_file;

/* --- numbers --- */

static uint32_t load32(const char *from)
{
    uint32_t v;

    memcpy(&v, from, sizeof v);
    return le32toh(v);
}

static uint64_t load64(const char *from)
{
    uint64_t v;

    memcpy(&v, from, sizeof v);
    return le64toh(v);
}

/* RocksDB stores CRCs rotated and shifted, so that the CRC of a CRC is never met. */
static uint32_t unmask(uint32_t masked)
{
    uint32_t rotated = masked - UINT32_C(0xa282ead8);

    return rotated >> 17 | rotated << 15;
}

/* Seven bits a byte, the lowest first. */
static bool take_varint(tv_slice *bytes, uint64_t *ret_value)
{
    uint64_t value = 0;

    for (unsigned shift = 0; bytes->len > 0 && shift < 64; shift += 7) {
        unsigned char byte = (unsigned char)bytes->data[0];

        *bytes = tv_slice_skip(*bytes, 1);
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *ret_value = value;
            return true;
        }
    }
    return false;
}

/* --- fragments and records --- */

/* Where a fragment can begin that does not begin before `at`. */
static size_t skip_trailer(size_t at)
{
    size_t left = TV_WAL_BLOCK_BYTES - at % TV_WAL_BLOCK_BYTES;

    return left < FRAGMENT_HEADER_BYTES ? at + left : at;
}

/* Everything about the fragment at `at` but its checksum. */
static reading read_header(tv_slice file, size_t at, wal_fragment *ret_fragment)
{
    size_t left = TV_WAL_BLOCK_BYTES - at % TV_WAL_BLOCK_BYTES;

    if (at >= file.len)
        return READ_END;
    if (file.len - at < FRAGMENT_HEADER_BYTES)
        return READ_CUT;

    const unsigned char *header = (const unsigned char *)file.data + at;
    size_t len = header[4] | (size_t)header[5] << 8;

    if (header[6] < FRAGMENT_WHOLE || header[6] > FRAGMENT_LAST ||
        FRAGMENT_HEADER_BYTES + len > left)
        return READ_BAD;
    if (file.len - at < FRAGMENT_HEADER_BYTES + len)
        return READ_CUT;

    *ret_fragment = (wal_fragment){.type = (fragment_type)header[6],
                                   .bytes = {(const char *)header + FRAGMENT_HEADER_BYTES, len},
                                   .end = at + FRAGMENT_HEADER_BYTES + len};
    return READ_OK;
}

/* The checksum is that of the type and the bytes, which are next to each other. */
static bool has_checksum(const wal_fragment *fragment)
{
    tv_slice covered = {fragment->bytes.data - 1, fragment->bytes.len + 1};

    return tv_crc32c(0, covered) == unmask(load32(fragment->bytes.data - FRAGMENT_HEADER_BYTES));
}

static reading read_fragment(tv_slice file, size_t at, wal_fragment *ret_fragment)
{
    reading result = read_header(file, at, ret_fragment);

    return result == READ_OK && !has_checksum(ret_fragment) ? READ_BAD : result;
}

static void keep_head(wal_record *record, tv_slice bytes)
{
    size_t room = sizeof record->head - record->head_len;
    size_t len = bytes.len < room ? bytes.len : room;

    memcpy(record->head + record->head_len, bytes.data, len);
    record->head_len += len;
}

/* What follows the header of a batch, if that is a stamp. */
static void parse_stamp(wal_record *record, tv_slice rest)
{
    size_t len = rest.len >= 2 && rest.data[0] == TAG_LOG_DATA ? (unsigned char)rest.data[1] : 0;

    if ((len != TV_WAL_STAMP_BYTES && len != OLD_STAMP_BYTES) || rest.len < 2 + len)
        return;

    int64_t ticks = (int64_t)load64(rest.data + 2);

    record->ticks = ticks > 0 ? ticks : 0;
    if (len == TV_WAL_STAMP_BYTES)
        record->mark.value = load64(rest.data + 2 + sizeof(uint64_t));
}

/* Sequence number, count, and the stamp if it begins with one. */
static bool parse_batch(wal_record *record)
{
    if (record->head_len < BATCH_HEADER_BYTES)
        return false;

    record->sequence = load64(record->head);
    record->count = load32(record->head + 8);
    record->ticks = 0;
    record->mark.value = 0;
    parse_stamp(record,
                tv_slice_skip((tv_slice){record->head, record->head_len}, BATCH_HEADER_BYTES));
    return true;
}

/*
 * Read the record that begins at `at`.  `ret_own_end`, on failure, is the end of
 * those of its fragments that could be read: nothing before it can be another
 * record.
 */
static reading read_record(tv_wal_kind kind, tv_slice file, size_t at, wal_record *ret_record,
                           size_t *ret_own_end)
{
    wal_fragment part;
    bool is_first = true;

    ret_record->head_len = 0;
    *ret_own_end = at;
    for (;; is_first = false) {
        at = skip_trailer(at);
        reading result = read_fragment(file, at, &part);

        if (result != READ_OK)
            return result == READ_END && !is_first ? READ_CUT : result;
        if ((part.type == FRAGMENT_WHOLE || part.type == FRAGMENT_FIRST) != is_first)
            return READ_BAD;

        keep_head(ret_record, part.bytes);
        at = *ret_own_end = ret_record->end = part.end;
        if (part.type == FRAGMENT_WHOLE || part.type == FRAGMENT_LAST)
            return kind == TV_WAL_LOG && !parse_batch(ret_record) ? READ_BAD : READ_OK;
    }
}

/* --- after damage --- */

static size_t without_zeros(tv_slice bytes)
{
    size_t len = bytes.len;

    while (len > 0 && bytes.data[len - 1] == 0)
        len--;
    return len;
}

/*
 * Can a record of this number follow?  A log of `bytes` bytes cannot hold more
 * numbers than that.
 */
static bool can_follow(const tv_wal_scan *scan, uint64_t sequence, size_t bytes)
{
    if (scan->good.records == 0)
        return sequence >> SEQUENCE_BITS == 0;

    return sequence >= scan->next_sequence && sequence - scan->next_sequence <= bytes;
}

/*
 * Has the record at `at` the mark of this file's records?  Its first fragment is
 * good; the mark may lie in the next.
 */
static bool has_mark(const wal_file *file, size_t at)
{
    wal_record record;
    size_t own_end;

    (void)read_record(file->kind, file->bytes, at, &record, &own_end);
    return parse_batch(&record) && record.mark.value == file->mark.value;
}

/*
 * Does a record begin at just this place?  In a log its sequence number is asked
 * before the checksum, which leaves next to nothing to be checksummed.
 */
static bool begins_record(const wal_file *file, size_t at, const tv_wal_scan *scan,
                          size_t *searched)
{
    wal_fragment part;

    if (read_header(file->bytes, at, &part) != READ_OK ||
        (part.type != FRAGMENT_WHOLE && part.type != FRAGMENT_FIRST))
        return false;
    if (file->kind == TV_WAL_LOG && part.bytes.len >= sizeof(uint64_t) &&
        !can_follow(scan, load64(part.bytes.data), file->bytes.len))
        return false;

    *searched += part.bytes.len;
    return has_checksum(&part) && (file->mark.value == 0 || has_mark(file, at));
}

/* The first place from `at` on where a record begins; the file's length when there is none. */
static size_t find_record(const wal_file *file, size_t at, const tv_wal_scan *scan,
                          size_t *searched)
{
    while (at < file->bytes.len && *searched < SEARCH_BYTES_MAX &&
           !begins_record(file, at, scan, searched))
        at++;
    return at;
}

static void count_record(tv_wal_count *count, const wal_record *record)
{
    count->records++;
    if (record->ticks)
        count->last_ticks = record->ticks;
}

/* Count what can still be read from `at` on.  True if anything begins there at all. */
static bool count_after(const wal_file *file, size_t at, tv_wal_scan *scan)
{
    size_t searched = 0, own_end;
    bool has_found = false;
    wal_record found;

    while ((at = find_record(file, at, scan, &searched)) < file->bytes.len) {
        has_found = true;
        if (searched >= SEARCH_BYTES_MAX)
            break;
        if (read_record(file->kind, file->bytes, at, &found, &own_end) == READ_OK) {
            count_record(&scan->bad, &found);
            at = found.end;
        } else {
            at = own_end > at ? own_end : at + 1;
        }
    }
    return has_found;
}

/*
 * Is the fragment at `at` all there, but claims to be longer?  With a shorter
 * length its checksum is right, and the file ends there or goes on with another.
 * That length is what was damaged, then: nothing was cut.
 */
static bool is_whole_but_for_its_length(tv_slice file, size_t at)
{
    wal_fragment next;

    if (at >= file.len || file.len - at < FRAGMENT_HEADER_BYTES)
        return false;

    size_t block_end = at - at % TV_WAL_BLOCK_BYTES + TV_WAL_BLOCK_BYTES;
    size_t end = at + FRAGMENT_HEADER_BYTES;
    uint32_t want = unmask(load32(file.data + at));
    uint32_t sum = tv_crc32c(0, (tv_slice){file.data + end - 1, 1}); /* of the type */

    for (; end < file.len && end < block_end; end++) {
        if (sum == want && read_fragment(file, skip_trailer(end), &next) == READ_OK)
            return true;
        sum = tv_crc32c(sum, (tv_slice){file.data + end, 1});
    }
    return sum == want && end == file.len;
}

/*
 * The end of what belongs to an unreadable record by the headers of its
 * fragments, without their checksums: nothing before it can be another record.
 * A header that lies about its length ends this.
 */
static size_t end_of_claimed(tv_slice file, size_t at, bool is_first)
{
    wal_fragment part;

    for (;; is_first = false) {
        at = skip_trailer(at);
        if (is_whole_but_for_its_length(file, at))
            return at + 1;

        reading result = read_header(file, at, &part);

        if (result == READ_CUT)
            return file.len;
        if (result != READ_OK ||
            (part.type == FRAGMENT_WHOLE || part.type == FRAGMENT_FIRST) != is_first)
            return is_first ? at + 1 : at;
        at = part.end;
        if (part.type == FRAGMENT_WHOLE || part.type == FRAGMENT_LAST)
            return at;
    }
}

/* Is there a sector whose part in `file` from `at` on is all zeros? */
static bool has_lost_sector(tv_slice file, size_t at)
{
    while (at < file.len) {
        size_t end = at - at % TV_WAL_SECTOR_BYTES + TV_WAL_SECTOR_BYTES;

        end = end < file.len ? end : file.len;
        if (without_zeros((tv_slice){file.data + at, end - at}) == 0)
            return true;
        at = end;
    }
    return false;
}

/*
 * Can a sector of zeros in this record be one that was written?  A record without
 * its seal has lost its end; one bit of the seal may be what was damaged.
 */
static bool may_have_written_zeros(const wal_file *file, tv_slice record)
{
    unsigned char seal = (unsigned char)record.data[record.len - 1];

    if (file->kind == TV_WAL_MANIFEST)
        return false; /* it lists files, in less than a sector each, by numbers and keys */
    return file->mark.value == 0 || __builtin_popcount(seal ^ SEAL_WITH_ZEROS) <= 1;
}

/* The record after the last good one could not be read: is it what a crash leaves? */
static tv_wal_state judge_tail(const wal_file *file, reading result, size_t own_end,
                               tv_wal_scan *scan)
{
    tv_slice bytes = file->bytes, tail = tv_slice_skip(bytes, scan->good_bytes);
    bool is_first = own_end == scan->good_bytes;

    scan->bad_bytes = without_zeros(tail);
    if (scan->bad_bytes == 0)
        return TV_WAL_WHOLE;
    /* A fragment that was read is the record's own; one that was not can hide any other. */
    if (count_after(file,
                    file->mark.value == 0 ? end_of_claimed(bytes, own_end, is_first)
                                          : own_end + is_first,
                    scan))
        return TV_WAL_DAMAGED;

    if (result == READ_CUT && !is_whole_but_for_its_length(bytes, skip_trailer(own_end)))
        return TV_WAL_TORN;

    /* The zeros that fill up a block belong to no record. */
    if (!has_lost_sector(bytes, skip_trailer(scan->good_bytes)))
        return TV_WAL_DAMAGED;

    return may_have_written_zeros(file, tv_slice_take(tail, scan->bad_bytes)) ? TV_WAL_DOUBTFUL
                                                                              : TV_WAL_TORN;
}

void tv_wal_scan_bytes(tv_wal_kind kind, tv_slice bytes, tv_wal_mark mark, tv_wal_record_fn *found,
                       void *ctx, tv_wal_scan *ret_scan)
{
    wal_file file = {kind, bytes, mark};
    tv_wal_scan scan = {0};
    size_t own_end;
    reading result;
    wal_record record = {0};

    while ((result = read_record(kind, bytes, scan.good_bytes, &record, &own_end)) == READ_OK) {
        if (kind == TV_WAL_LOG && scan.good.records && record.sequence != scan.next_sequence)
            break;

        if (scan.good.records == 0)
            scan.first_sequence = record.sequence;
        scan.next_sequence = record.sequence + record.count;
        scan.good_bytes = record.end;
        file.mark = record.mark; /* one server writes all of a log */
        count_record(&scan.good, &record);
        if (found)
            found(ctx, (tv_slice){record.head, record.head_len});
    }
    if (result == READ_OK) {
        /* A record, but not the next: something between the two is missing. */
        scan.state = TV_WAL_DAMAGED;
        scan.bad_bytes = without_zeros(tv_slice_skip(bytes, scan.good_bytes));
        count_record(&scan.bad, &record);
        count_after(&file, record.end, &scan);
    } else if (result != READ_END) {
        scan.state = judge_tail(&file, result, own_end, &scan);
    }
    *ret_scan = scan;
}

void tv_wal_stamp(int64_t ticks, tv_wal_mark mark, char ret_stamp[TV_WAL_STAMP_BYTES])
{
    uint64_t both[] = {htole64((uint64_t)ticks), htole64(mark.value)};

    memcpy(ret_stamp, both, sizeof both);
}

char tv_wal_seal(bool has_zeros)
{
    return (char)(has_zeros ? SEAL_WITH_ZEROS : SEAL);
}

/* Wherever a sector of zeros begins, it covers one of these halves of a sector. */
bool tv_wal_has_zeros(tv_slice bytes)
{
    enum { HALF = TV_WAL_SECTOR_BYTES / 2 };

    for (size_t at = 0; at + HALF <= bytes.len; at += HALF) {
        if (bytes.data[at] == 0 && without_zeros((tv_slice){bytes.data + at, HALF}) == 0)
            return true;
    }
    return false;
}

/*
 * An edit is a list of tags with their values, in an order that is always the
 * same; the numbers of logs come before everything that is hard to read.
 */
void tv_wal_manifest_record(void *ctx, tv_slice head)
{
    tv_wal_manifest *manifest = ctx;
    uint64_t tag, value;

    while (take_varint(&head, &tag)) {
        switch (tag) {
        case TAG_DB_ID:
        case TAG_COMPARATOR:
            if (!take_varint(&head, &value) || value > head.len)
                return;
            head = tv_slice_skip(head, (size_t)value);
            break;
        case TAG_LOG_NUMBER:
        case TAG_MIN_LOG_NUMBER:
            if (!take_varint(&head, &value))
                return;
            if (value > manifest->log_number)
                manifest->log_number = value;
            break;
        case TAG_NEXT_FILE_NUMBER:
        case TAG_LAST_SEQUENCE:
        case TAG_PREVIOUS_LOG_NUMBER:
        case TAG_MAX_COLUMN_FAMILY:
            if (!take_varint(&head, &value))
                return;
            break;
        default:
            return;
        }
    }
}
