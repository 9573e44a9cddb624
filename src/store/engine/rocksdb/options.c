/*
 * RocksDB's options, each with its reason.  They were chosen by measuring a
 * million entities of about a kilobyte on two cores; what is not set here is
 * RocksDB's default.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file_copy.h"
#include "base/machine.h"
#include "store/engine/rocksdb/internal.h"

enum {
    MIB = 1 << 20,
    BLOCK_BYTES = 8 * 1024,
    PARTITION_BYTES = 128 * 1024,
    CACHE_SHARD_MIB_MIN = 32,
    CACHE_SHARD_BITS_MAX = 6,
    BLOOM_BITS_PER_KEY = 10, /* one false positive in a hundred */
    WRITE_BUFFER_COUNT = 4,
    OPEN_FILES_MAX = 1000,
    DELETES_WINDOW = 8192,     /* rows in sequence */
    READ_TIER_BLOCK_CACHE = 1, /* rocksdb::kBlockCacheTier; the C header has no name for it */
};

/*
 * A cache in few shards.  RocksDB by itself makes 64 of any cache from 32 MiB
 * on, and a block that is larger than its shard is thrown out as soon as it has
 * been used.
 */
static rocksdb_cache_t *new_cache(size_t bytes)
{
    rocksdb_lru_cache_options_t *options = rocksdb_lru_cache_options_create();
    int bits = 0;

    while (bits < CACHE_SHARD_BITS_MAX && bytes >> (bits + 1) >= (size_t)CACHE_SHARD_MIB_MIN * MIB)
        bits++;
    rocksdb_lru_cache_options_set_capacity(options, bytes);
    rocksdb_lru_cache_options_set_num_shard_bits(options, bits);
    rocksdb_cache_t *cache = rocksdb_cache_create_lru_opts(options);
    rocksdb_lru_cache_options_destroy(options);
    return cache;
}

static void set_tables(tv_rocksdb_settings *settings, size_t cache_bytes)
{
    rocksdb_block_based_table_options_t *table = rocksdb_block_based_options_create();

    /* By the machine: at 5 M small rows in random order a read of a row costs a fifth less
     * with a gigabyte than with 256 MiB. */
    settings->cache = new_cache(cache_bytes ? cache_bytes : tv_machine_memory_share());
    rocksdb_block_based_options_set_block_cache(table, settings->cache);
    rocksdb_block_based_options_set_block_size(table, BLOCK_BYTES);
    rocksdb_block_based_options_set_format_version(table, 5);
    rocksdb_block_based_options_set_filter_policy(
        table, rocksdb_filterpolicy_create_bloom_full(BLOOM_BITS_PER_KEY));

    /* In partitions: the filter of a table file with millions of small rows has megabytes, and a
     * read that does not find it in the cache would read all of it.  Large ones: with RocksDB's own
     * 4 KiB a read costs a quarter more. */
    rocksdb_block_based_options_set_index_type(
        table, rocksdb_block_based_table_index_type_two_level_index_search);
    rocksdb_block_based_options_set_partition_filters(table, 1);
    rocksdb_block_based_options_set_metadata_block_size(table, PARTITION_BYTES);
    rocksdb_block_based_options_set_pin_top_level_index_and_filter(table, 1);

    /* Inside the cache, so that its size bounds all memory for reading; those of the newest level
     * stay there, because every read goes through them. */
    rocksdb_block_based_options_set_cache_index_and_filter_blocks(table, 1);
    rocksdb_block_based_options_set_cache_index_and_filter_blocks_with_high_priority(table, 1);
    rocksdb_block_based_options_set_pin_l0_filter_and_index_blocks_in_cache(table, 1);
    rocksdb_options_set_block_based_table_factory(settings->db, table);
    rocksdb_block_based_options_destroy(table);
}

static void set_shape(rocksdb_options_t *db, size_t write_buffer_bytes, int open_files_max)
{
    size_t buffer = write_buffer_bytes ? write_buffer_bytes : 64 * MIB;

    rocksdb_options_set_write_buffer_size(db, buffer);
    rocksdb_options_set_max_write_buffer_number(db, WRITE_BUFFER_COUNT);
    rocksdb_options_set_target_file_size_base(db, buffer);
    rocksdb_options_set_max_bytes_for_level_base(db, 4 * buffer);
    rocksdb_options_set_level_compaction_dynamic_level_bytes(db, 1);

    /* A Bloom filter over each write buffer, 2 % of its size: an insert first looks for the row and
     * mostly finds none, and most rows read are in table files.  It takes 1-3 us CPU of about 12
     * off a durable insert. */
    rocksdb_options_set_memtable_prefix_bloom_size_ratio(db, 0.02);
    rocksdb_options_set_memtable_whole_key_filtering(db, 1);

    /* A scan steps over what is deleted one by one, within one call that nothing can interrupt: a
     * million deletes in front of a row are half a second, and without this stay until enough is
     * written after them.  Files in which half of a window are deletes are merged at once. */
    rocksdb_options_add_compact_on_deletion_collector_factory(db, DELETES_WINDOW,
                                                              DELETES_WINDOW / 2);

    /* At the last level too: zstd there saves a quarter to two fifths of the disk, and a row that
     * is not in the cache then costs a third more. */
    rocksdb_options_set_compression(db, rocksdb_lz4_compression);
    rocksdb_options_set_max_background_jobs(db, 3);
    rocksdb_options_set_max_open_files(db, open_files_max ? open_files_max : OPEN_FILES_MAX);
    rocksdb_options_set_max_file_opening_threads(db, 2); /* 16 start even for an empty store */

    /* Let the kernel write table files out as they grow instead of all at once at their end, where
     * it would delay the log's fsync. */
    rocksdb_options_set_bytes_per_sync(db, MIB);
}

/*
 * What to do with a log that does not read to its end: refuse it.  What a crash
 * may leave there has been cut off before (wal.h), and what an operator has given
 * up with `drop_damaged_log` too, so any flaw that RocksDB finds is one that no
 * operator has decided about.  Its other modes would start all the same and drop
 * writes that clients were told are durable, without a word.  Recycled logs would
 * have old records after the end, so they stay off.
 */
static void set_recovery(rocksdb_options_t *db)
{
    rocksdb_options_set_wal_recovery_mode(db, rocksdb_absolute_consistency_recovery);
    rocksdb_options_set_recycle_log_file_num(db, 0);
    rocksdb_options_set_paranoid_checks(db, 1);
    rocksdb_options_set_skip_stats_update_on_db_open(db, 1); /* it reads every file's properties */
}

/* RocksDB keeps a diary in LOG files next to the data: two small ones, warnings only. */
static void set_diary(rocksdb_options_t *db)
{
    enum { INFO_LOG_WARN = 2 };

    rocksdb_options_set_info_log_level(db, INFO_LOG_WARN);
    rocksdb_options_set_max_log_file_size(db, MIB);
    rocksdb_options_set_keep_log_file_num(db, 2);
    rocksdb_options_set_stats_dump_period_sec(db, 0);
    rocksdb_options_set_stats_persist_period_sec(db, 0);
    rocksdb_options_set_max_manifest_file_size(db, 16 * MIB);
}

/*
 * What has been looked at before (wal.h) has at most a torn end, which is left
 * there and passed over; and the diary goes to a folder of its own, because not
 * even that may be changed.
 */
static void set_read_only(tv_rocksdb_settings *settings)
{
    const char *base = getenv("TMPDIR");

    rocksdb_options_set_wal_recovery_mode(settings->db, rocksdb_point_in_time_recovery);
    rocksdb_options_set_skip_checking_sst_file_sizes_on_db_open(settings->db, 0);
    snprintf(settings->diary_dir, sizeof settings->diary_dir, "%.40s/tavola-look-XXXXXX",
             base && base[0] ? base : "/tmp");
    if (mkdtemp(settings->diary_dir))
        rocksdb_options_set_db_log_dir(settings->db, settings->diary_dir);
    else
        settings->diary_dir[0] = '\0';
}

void tv_rocksdb_settings_init(tv_rocksdb_settings *settings, const tv_rocksdb_options *options)
{
    settings->db = rocksdb_options_create();
    set_tables(settings, options->block_cache_bytes);
    set_shape(settings->db, options->write_buffer_bytes, options->open_files_max);
    set_recovery(settings->db);
    set_diary(settings->db);
    settings->diary_dir[0] = '\0';
    if (options->is_read_only)
        set_read_only(settings);

    /* The promises of engine.h rest on these: a write is in the log and on the disk before it is in
     * a write buffer, where readers look, and writes become visible in their order. */
    rocksdb_options_set_enable_pipelined_write(settings->db, 0);
    rocksdb_options_set_unordered_write(settings->db, 0);
    settings->write = rocksdb_writeoptions_create();
    rocksdb_writeoptions_set_sync(settings->write, 1);
    rocksdb_writeoptions_disable_WAL(settings->write, 0);

    settings->read_any = rocksdb_readoptions_create();
    settings->read_cached = rocksdb_readoptions_create();
    rocksdb_readoptions_set_read_tier(settings->read_cached, READ_TIER_BLOCK_CACHE);
}

void tv_rocksdb_settings_done(tv_rocksdb_settings *settings)
{
    rocksdb_readoptions_destroy(settings->read_cached);
    rocksdb_readoptions_destroy(settings->read_any);
    rocksdb_writeoptions_destroy(settings->write);
    rocksdb_options_destroy(settings->db);
    rocksdb_cache_destroy(settings->cache);
    if (settings->diary_dir[0])
        (void)tv_file_remove_tree(AT_FDCWD, settings->diary_dir);
}
