/*
 * Sketches as the value of a row:
 *
 *     form (1), changes, seed
 *     distinct PartitionKeys: created, deleted, registers that are set, then each: index, value
 *     sample: reach, count, then each: bytes of the entity, key
 *     partitions: count, then each: PartitionKey, entities, bytes
 *     largest: floor, count, then each: bytes, key
 *     extremes: four times value, name; long Strings, long Binaries
 *
 * Numbers are varints, keys and names have their length before them (base/pack.h).
 */
#include <stdlib.h>

#include "base/assert.h"
#include "base/pack.h"
#include "insight/facts/sketch.h"

enum { FORM = 1, REGISTER_MAX = 64 - TV_DISTINCT_BITS + 1 };

static tv_slice key_of(const tv_sketch_key *item)
{
    return (tv_slice){item->key, item->len};
}

void tv_sketch_save(const tv_sketch *sketch, uint64_t changes, tv_buf *out)
{
    size_t count = 0;

    tv_pack_number(out, FORM);
    tv_pack_number(out, changes);
    tv_pack_number(out, sketch->seed);

    tv_pack_number(out, sketch->created);
    tv_pack_number(out, sketch->deleted);
    for (size_t i = 0; i < TV_DISTINCT_REGISTERS; i++)
        count += sketch->partition_keys.registers[i] != 0;
    tv_pack_number(out, count);
    for (size_t i = 0; i < TV_DISTINCT_REGISTERS; i++) {
        if (sketch->partition_keys.registers[i] == 0)
            continue;
        tv_pack_number(out, i);
        tv_pack_number(out, sketch->partition_keys.registers[i]);
    }

    tv_pack_number(out, sketch->sample_reach);
    tv_pack_number(out, sketch->sample_count);
    for (size_t i = 0; i < sketch->sample_count; i++) {
        tv_pack_number(out, sketch->sample[i].bytes);
        tv_pack_bytes(out, key_of(&sketch->sample[i]));
    }

    tv_pack_number(out, sketch->partition_count);
    for (size_t i = 0; sketch->partitions && i < TV_SKETCH_PARTITION_SLOTS; i++) {
        const tv_sketch_partition *partition = &sketch->partitions[i];

        if (partition->key == NULL)
            continue;
        tv_pack_bytes(out, (tv_slice){partition->key, partition->len});
        tv_pack_number(out, partition->entities);
        tv_pack_number(out, partition->bytes);
    }

    tv_pack_number(out, sketch->largest_floor);
    tv_pack_number(out, sketch->largest_count);
    for (size_t i = 0; i < sketch->largest_count; i++) {
        tv_pack_number(out, sketch->largest[i].bytes);
        tv_pack_bytes(out, key_of(&sketch->largest[i]));
    }

    for (int i = 0; i < TV_EXTREME_KINDS; i++) {
        tv_pack_number(out, sketch->extremes[i].value);
        tv_pack_bytes(out, (tv_slice){sketch->extremes[i].name ? sketch->extremes[i].name : "",
                                      sketch->extremes[i].len});
    }
    tv_pack_number(out, sketch->long_strings);
    tv_pack_number(out, sketch->long_binaries);
}

static char *copy(tv_slice bytes)
{
    char *to = tv_malloc(bytes.len ? bytes.len : 1);

    memcpy(to, bytes.data, bytes.len);
    return to;
}

static void load_distinct(tv_sketch *sketch, tv_unpack *in)
{
    sketch->created = tv_unpack_number(in);
    sketch->deleted = tv_unpack_number(in);

    uint64_t count = tv_unpack_number_max(in, TV_DISTINCT_REGISTERS), next = 0;

    for (uint64_t i = 0; i < count && !in->has_failed; i++) {
        uint64_t index = tv_unpack_number_max(in, TV_DISTINCT_REGISTERS - 1);
        uint64_t value = tv_unpack_number_max(in, REGISTER_MAX);

        if (index < next || value == 0) {
            tv_unpack_fail(in);
            return;
        }
        sketch->partition_keys.registers[index] = (uint8_t)value;
        next = index + 1;
    }
}

/* Keys in the order of their hashes, which are computed again: the row does not have them. */
static void load_sample(tv_sketch *sketch, tv_unpack *in)
{
    uint64_t last = 0;

    sketch->sample_reach = tv_unpack_number(in);

    uint64_t count = tv_unpack_number_max(in, sketch->sample_max);

    for (uint64_t i = 0; i < count && !in->has_failed; i++) {
        uint64_t bytes = tv_unpack_number(in);
        tv_slice key = tv_unpack_bytes(in);
        uint64_t hash = tv_sketch_hash(sketch->seed, key);

        if (in->has_failed || hash < last || hash > sketch->sample_reach) {
            tv_unpack_fail(in);
            return;
        }
        sketch->sample[sketch->sample_count++] = (tv_sketch_key){hash, bytes, copy(key), key.len};
        sketch->sample_bytes += key.len;
        last = hash;
    }
}

static void load_partitions(tv_sketch *sketch, tv_unpack *in)
{
    uint64_t count = tv_unpack_number_max(in, TV_FACTS_PARTITIONS_MAX);

    for (uint64_t i = 0; i < count && !in->has_failed; i++) {
        tv_slice key = tv_unpack_bytes(in);
        uint64_t entities = tv_unpack_number(in), bytes = tv_unpack_number(in);

        if (in->has_failed || tv_sketch_find_partition(sketch, key) ||
            !tv_sketch_add_partition(sketch, key, entities, bytes)) {
            tv_unpack_fail(in);
            return;
        }
    }
}

static void load_largest(tv_sketch *sketch, tv_unpack *in)
{
    sketch->largest_floor = tv_unpack_number(in);

    uint64_t count = tv_unpack_number_max(in, TV_FACTS_LARGEST_MAX), last = UINT64_MAX;

    for (uint64_t i = 0; i < count && !in->has_failed; i++) {
        uint64_t bytes = tv_unpack_number(in);
        tv_slice key = tv_unpack_bytes(in);

        if (in->has_failed || bytes > last || bytes < sketch->largest_floor) {
            tv_unpack_fail(in);
            return;
        }
        sketch->largest[sketch->largest_count++] = (tv_sketch_key){0, bytes, copy(key), key.len};
        last = bytes;
    }
}

tv_err tv_sketch_load(tv_slice value, size_t sample_max, tv_sketch **ret_sketch,
                      uint64_t *ret_changes)
{
    tv_unpack in = {.rest = value};
    uint64_t form = tv_unpack_number(&in), changes = tv_unpack_number(&in);

    if (in.has_failed || form != FORM)
        return TV_ERR_CORRUPT;

    tv_sketch *sketch = tv_sketch_new(tv_unpack_number(&in), TV_FACTS_SAMPLE_MAX);

    load_distinct(sketch, &in);
    load_sample(sketch, &in);
    load_partitions(sketch, &in);
    load_largest(sketch, &in);
    for (int i = 0; i < TV_EXTREME_KINDS; i++) {
        uint64_t extreme = tv_unpack_number(&in);
        tv_slice name = tv_unpack_bytes(&in);

        if (extreme && !in.has_failed)
            tv_sketch_note_extreme(sketch, (tv_sketch_extreme_kind)i, extreme, name);
    }
    sketch->long_strings = tv_unpack_number(&in);
    sketch->long_binaries = tv_unpack_number(&in);
    if (!tv_unpack_is_done(&in)) {
        tv_sketch_free(sketch);
        return TV_ERR_CORRUPT;
    }
    tv_sketch_limit_sample(sketch, sample_max);
    *ret_sketch = sketch;
    *ret_changes = changes;
    return TV_OK;
}
