/*
 * RocksDB's log files, read by ourselves: whatever the bytes are, the good ones
 * read the same without those after them, and nothing but zeros follows a whole
 * log.
 */
#include "base/assert.h"
#include "fuzz.h"
#include "store/engine/rocksdb/wal.h"

static void count_record(void *ctx, tv_slice head)
{
    tv_assert(head.len <= TV_WAL_HEAD_BYTES_MAX);
    ++*(uint64_t *)ctx;
}

static void check(tv_wal_kind kind, tv_wal_mark mark, tv_slice file)
{
    uint64_t count = 0;
    tv_wal_scan scan, again;

    tv_wal_scan_bytes(kind, file, mark, count_record, &count, &scan);
    tv_assert(scan.good_bytes + scan.bad_bytes <= file.len && count == scan.good.records);
    if (scan.state == TV_WAL_WHOLE)
        tv_assert(scan.bad_bytes == 0 && scan.bad.records == 0);
    if (scan.state == TV_WAL_TORN || scan.state == TV_WAL_DOUBTFUL)
        tv_assert(scan.bad_bytes > 0 && scan.bad.records == 0);

    tv_wal_scan_bytes(kind, tv_slice_take(file, scan.good_bytes), mark, NULL, NULL, &again);
    tv_assert(again.state == TV_WAL_WHOLE && again.good_bytes == scan.good_bytes &&
              again.good.records == count && again.next_sequence == scan.next_sequence);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tv_slice file = {(const char *)data, size};
    tv_wal_manifest manifest = {0};
    tv_wal_mark none = {0};
    tv_wal_scan scan;

    check(TV_WAL_LOG, none, file);
    check(TV_WAL_LOG, (tv_wal_mark){UINT64_C(0x0101010101010101)}, file);
    check(TV_WAL_MANIFEST, none, file);
    tv_wal_scan_bytes(TV_WAL_MANIFEST, file, none, tv_wal_manifest_record, &manifest, &scan);
    tv_wal_manifest_record(&manifest, file); /* as if it were the text of an edit */
    return 0;
}
