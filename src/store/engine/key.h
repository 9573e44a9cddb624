/*
 * How everything is named in the engine's one ordered keyspace:
 *
 *     'm' name                                     the store's own attributes (format version)
 *     't' account 01 'a' table-name-in-lower-case  a table's access policies
 *     't' account 01 'n' table-name-in-lower-case  the catalogue of tables
 *     't' account 01 'd' table-id                  tables whose rows are still to be dropped
 *     't' account 01 'g'                           how often the catalogue was changed; on
 *                                                  shared engines alone
 *     't' account 01 'i'                           the last table id given out
 *     't' account 01 'p'                           the properties of the table service
 *     't' account 01 'u' table-name-in-lower-case  a table of that name was dropped, and not all
 *                                                  nodes may know; on shared engines alone
 *     'q' account 01 …                             the same for queues
 *     'b' account 01 …                             the same for containers of blobs
 *     'r' account 01 table-id PartitionKey 01 RowKey   the entities
 *     'f' account 01 table-id …                        facts about a table, see facts/rows.h
 *     'o' account 01 container-id name 01 …            the blobs, see blob/store/blob.h
 *     's' account 01 queue-id …                        the messages of a queue, see
 * queue/store/row.h
 *
 * 't' account 01 is one partition, so that creating and deleting a table are
 * atomic; so is 'r' account 01 table-id PartitionKey 01, as the guide promises,
 * 'o' account 01 container-id name 01, a blob with its snapshots and blocks, and
 * 's' account 01 queue-id, a queue.  Ids are 8 characters of base 32 and are
 * never reused within an account.  Keys sort like .NET ordinal strings, that is
 * by UTF-16 code units: PartitionKey, RowKey and the names of blobs are stored as
 * CESU-8, in which code points beyond the BMP are two surrogates of three bytes
 * each, because its bytes sort in just that order.
 * The terminator 0x01 is below every legal byte (control characters are
 * forbidden in keys), so a partition ends before any longer name with the same
 * beginning starts.  There is no NUL anywhere: a cluster engine cannot store one.
 */
#ifndef TV_STORE_ENGINE_KEY_H
#define TV_STORE_ENGINE_KEY_H

#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

/** Largest number of UTF-16 units in a PartitionKey, a RowKey or the name of a blob. */
#define TV_KEY_UNITS_MAX 1024
#define TV_TABLE_ID_MAX ((INT64_C(1) << 40) - 1)
#define TV_QUEUE_ID_MAX TV_TABLE_ID_MAX

/** Ends what has no fixed length - an account, a PartitionKey, the name of a blob - where more
 * follows. */
#define TV_KEY_MARK '\x01'
#define TV_KEY_MARK_TEXT "\x01"
/** At the end of a bound: behind all keys that begin with what is before it and TV_KEY_MARK. */
#define TV_KEY_BEHIND '\x02'
#define TV_KEY_BEHIND_TEXT "\x02"
/** The width of an id of a table, a queue or a container. */
enum { TV_KEY_ID_CHARS = 8 };

/** The row that holds the format of all others, and what this source writes into it. */
#define TV_KEY_FORMAT TV_LIT("mformat")
#define TV_FORMAT TV_LIT("3")
/** The one before it, which a server takes and brings up to date (facts/facts.h). */
#define TV_FORMAT_BEFORE TV_LIT("2")

/** The row that says about when the store was last written to, see instant.h. */
#define TV_KEY_TIME TV_LIT("mtime")
/** What such rows have in common: attributes about the store. */
#define TV_KEY_STORE TV_LIT("m")

/**
 * UTF-8 to CESU-8.  The input is valid UTF-8 without control characters of
 * either block (U+0000-001F, U+007F-009F): TV_ERR_OUT_OF_RANGE otherwise.
 */
tv_err tv_key_encode_text(tv_arena *arena, tv_slice utf8, tv_slice *ret_cesu8) TV_WARN_UNUSED;

/** CESU-8 from a stored key back to UTF-8; TV_ERR_CORRUPT when it cannot be one. */
tv_err tv_key_decode_text(tv_arena *arena, tv_slice cesu8, tv_slice *ret_utf8) TV_WARN_UNUSED;

/** What is before the first mark; all of it where there is none. */
static inline tv_slice tv_key_before_mark(tv_slice key)
{
    return tv_slice_take(key, tv_slice_find(key, TV_KEY_MARK));
}

/** The account in a key or a prefix of keys, all of it where there is none. */
static inline tv_slice tv_key_account(tv_slice key)
{
    return tv_key_before_mark(tv_slice_skip(key, key.len ? 1 : 0));
}

/**
 * The prefix of the partition that a key is in, a part of the key; the key itself when it is not
 * one of those above.  A store may be cut into ranges before any such prefix.
 */
tv_slice tv_key_partition_of(tv_slice key);

/** Prefix of all rows of a table: the range of a table is [prefix, tv_key_after(prefix)). */
tv_slice tv_key_table(tv_arena *arena, tv_slice account, int64_t table_id);

/**
 * Prefix of all rows of a partition: also the `partition` of every write to it.
 * TV_ERR_OUT_OF_RANGE as tv_key_encode_text, and for more than TV_KEY_UNITS_MAX units.
 */
tv_err tv_key_partition(tv_arena *arena, tv_slice account, int64_t table_id, tv_slice partition_key,
                        tv_slice *ret_prefix) TV_WARN_UNUSED;

/** One entity's row: a partition prefix and a RowKey.  The same errors. */
tv_err tv_key_row(tv_arena *arena, tv_slice partition_prefix, tv_slice row_key,
                  tv_slice *ret_key) TV_WARN_UNUSED;

/**
 * Take an entity's key apart.  `table_prefix` is that of tv_key_table; the key
 * begins with it.  TV_ERR_CORRUPT when it is not of this form.
 */
tv_err tv_key_split_row(tv_arena *arena, tv_slice table_prefix, tv_slice key,
                        tv_slice *ret_partition_key, tv_slice *ret_row_key) TV_WARN_UNUSED;

/** Prefix of the facts about a table: also the `partition` of every write to them. */
tv_slice tv_key_table_facts(tv_arena *arena, tv_slice account, int64_t table_id);

/** Prefix of all rows of a queue: also the `partition` of every write to it. */
tv_slice tv_key_queue(tv_arena *arena, tv_slice account, int64_t queue_id);

/** Prefix of all blobs of all accounts. */
#define TV_KEY_BLOBS TV_LIT("o")

/** Prefix of all rows of a container. */
tv_slice tv_key_container(tv_arena *arena, tv_slice account, int64_t container_id);

/**
 * Prefix of all rows of a blob: also the `partition` of every write to it.
 * TV_ERR_OUT_OF_RANGE as tv_key_encode_text, and for a name that is empty or has
 * more than TV_KEY_UNITS_MAX units.
 */
tv_err tv_key_blob(tv_arena *arena, tv_slice container_prefix, tv_slice name,
                   tv_slice *ret_prefix) TV_WARN_UNUSED;

/**
 * Take a key of a blob's row apart: the blob's prefix, which is a part of the
 * key, and its name (NULL if it is not wanted).  `container_prefix` is
 * that of tv_key_container; the key begins with it.  TV_ERR_CORRUPT.
 */
tv_err tv_key_split_blob(tv_arena *arena, tv_slice container_prefix, tv_slice key,
                         tv_slice *ret_blob_prefix, tv_slice *ret_name) TV_WARN_UNUSED;

/** Whose catalogue: every service has one of its own for each account. */
typedef enum tv_key_space {
    TV_SPACE_TABLES = 't',
    TV_SPACE_QUEUES = 'q',
    TV_SPACE_CONTAINERS = 'b',
} tv_key_space;

/** The catalogue partition of an account. */
tv_slice tv_key_catalog(tv_arena *arena, tv_key_space space, tv_slice account);

/** The row of a name in the catalogue (name in any case). */
tv_slice tv_key_catalog_name(tv_arena *arena, tv_key_space space, tv_slice account, tv_slice name);

/** The row of the access policies of a table, queue or container (name in any case). */
tv_slice tv_key_catalog_policies(tv_arena *arena, tv_key_space space, tv_slice account,
                                 tv_slice name);

/** The row that says that the last one of a name is dropped and not fenced yet (in any case). */
tv_slice tv_key_catalog_unfenced(tv_arena *arena, tv_key_space space, tv_slice account,
                                 tv_slice name);

/** The row of the account's service properties. */
tv_slice tv_key_catalog_properties(tv_arena *arena, tv_key_space space, tv_slice account);

/** Prefix of what is still to be dropped, the row of one, and the id out of such a row's key. */
tv_slice tv_key_catalog_dropped(tv_arena *arena, tv_key_space space, tv_slice account);
tv_slice tv_key_catalog_dropped_id(tv_arena *arena, tv_key_space space, tv_slice account,
                                   int64_t table_id);
tv_err tv_key_split_dropped(tv_slice dropped_prefix, tv_slice key,
                            int64_t *ret_table_id) TV_WARN_UNUSED;

/** The row that holds the last id given out. */
tv_slice tv_key_catalog_last_id(tv_arena *arena, tv_key_space space, tv_slice account);

/** The row that tells other nodes that something in the account's catalogue has changed. */
tv_slice tv_key_catalog_generation(tv_arena *arena, tv_key_space space, tv_slice account);

/**
 * A number as `chars` digits of base 32, most significant first, which sort as
 * numbers do; it must fit, and 13 digits hold any.  Returns the end.  And
 * back: TV_ERR_CORRUPT when `digits` are not a number from 0 to INT64_MAX.
 */
char *tv_key_put_number(char *out, int64_t number, int chars);
tv_err tv_key_read_number(tv_slice digits, int64_t *ret_number) TV_WARN_UNUSED;

/** The least key greater than every key that begins with `prefix`. */
tv_slice tv_key_after(tv_arena *arena, tv_slice prefix);

#endif
