/* See data.h. */
#include "data.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/hash.h"
#include "store/engine/key.h"

enum { TABLES_MAX = 4096, PROPERTIES_MAX = 512 };

typedef struct property {
    tv_evidence_property sum;
    uint32_t classes[TV_EVIDENCE_TYPES]; /* of RowKeys, a bit each */
} property;

typedef struct table {
    struct table *next;
    tv_slice account, name;
    tv_evidence_key keys[TV_EVIDENCE_KEYS_MAX];
    size_t key_count;
    uint64_t keys_seen;
    uint64_t random;
    property *properties;
    size_t property_count;
    uint32_t properties_max, units_max;
} table;

struct tool_lint_data {
    tv_arena arena;
    table *tables;
    size_t table_count;
};

tool_lint_data *tool_lint_data_new(void)
{
    tool_lint_data *data = tv_calloc(1, sizeof *data);

    tv_arena_init(&data->arena);
    return data;
}

void tool_lint_data_free(tool_lint_data *data)
{
    if (data == NULL)
        return;
    for (table *of = data->tables; of; of = of->next)
        free(of->properties);
    tv_arena_done(&data->arena);
    free(data);
}

static table *find_table(const tool_lint_data *data, tv_slice account, tv_slice name)
{
    table *of = data->tables;

    while (of && !(tv_slice_eq(of->name, name) && tv_slice_eq(of->account, account)))
        of = of->next;
    return of;
}

static table *take_table(tool_lint_data *data, tv_slice account, tv_slice name)
{
    table *of = find_table(data, account, name);

    if (of || data->table_count == TABLES_MAX)
        return of;
    of = tv_arena_zalloc(&data->arena, sizeof *of);
    of->account = tv_arena_dup(&data->arena, account);
    of->name = tv_arena_dup(&data->arena, name);
    of->next = data->tables;
    data->tables = of;
    data->table_count++;
    return of;
}

/* Every key that was made is as likely to be kept as any other. */
static void add_key(tool_lint_data *data, table *of, const tv_watch_key *key)
{
    size_t at = of->key_count;
    tv_evidence_key texts;

    of->keys_seen++;
    if (at == TV_EVIDENCE_KEYS_MAX) {
        of->random = of->random * UINT64_C(6364136223846793005) + 1442695040888963407u;
        at = (size_t)((of->random >> 33) % of->keys_seen);
        if (at >= TV_EVIDENCE_KEYS_MAX)
            return;
    }
    if (tv_key_decode_text(&data->arena, tv_slice_take(key->key, key->partition_len),
                           &texts.partition_key) ||
        tv_key_decode_text(&data->arena, tv_slice_skip(key->key, key->partition_len + 1),
                           &texts.row_key))
        return;
    of->keys[at].partition_key = tv_arena_dup(&data->arena, texts.partition_key);
    of->keys[at].row_key = tv_arena_dup(&data->arena, texts.row_key);
    of->key_count += at == of->key_count;
}

static property *take_property(tool_lint_data *data, table *of, tv_slice name)
{
    for (size_t i = 0; i < of->property_count; i++) {
        if (tv_slice_eq(of->properties[i].sum.name, name))
            return &of->properties[i];
    }
    if (of->property_count == PROPERTIES_MAX)
        return NULL;
    if (of->properties == NULL)
        of->properties = tv_calloc(PROPERTIES_MAX, sizeof *of->properties);
    of->properties[of->property_count].sum.name = tv_arena_dup(&data->arena, name);
    return &of->properties[of->property_count++];
}

/* One of 32 bits for a class of RowKeys. */
static uint32_t bit_of(tv_slice class)
{
    return UINT32_C(1) << (tv_fnv(class) >> 59);
}

static void add_types(tool_lint_data *data, table *of, const tv_watch_traced *request)
{
    const tv_watch_key *key = &request->keys[0];

    for (size_t i = 0; i < key->sent_count; i++) {
        property *to = take_property(data, of, key->sent[i].name);

        if (to == NULL)
            return;
        to->sum.count++;
        to->sum.types[key->sent[i].type]++;
        to->classes[key->sent[i].type] |= bit_of(request->row_class);
    }
}

void tool_lint_data_add(tool_lint_data *data, const tv_watch_trace_head *head,
                        const tv_watch_traced *request)
{
    table *of = NULL;

    for (size_t i = 0; i < request->event.key_count; i++) {
        const tv_watch_key *key = &request->keys[i];

        if (key->outcome != TV_WATCH_CREATED && key->outcome != TV_WATCH_CHANGED)
            continue;
        if (of == NULL)
            of = take_table(data, request->account, request->table);
        if (of == NULL)
            return;
        if (key->units > of->units_max)
            of->units_max = key->units;
        if (head->values == TV_WATCH_TRACE_FULL && key->outcome == TV_WATCH_CREATED)
            add_key(data, of, key);
    }
    if (of == NULL)
        return;
    if (request->properties_max > of->properties_max)
        of->properties_max = request->properties_max;
    if (request->event.op != TV_ENTITY_OP_BATCH && request->event.key_count == 1)
        add_types(data, of, request);
}

static bool are_types_apart(const property *of)
{
    uint32_t seen = 0;

    for (int type = 1; type < TV_EVIDENCE_TYPES; type++) {
        if (of->classes[type] & seen)
            return false;
        seen |= of->classes[type];
    }
    return true;
}

void tool_lint_data_fill(const tool_lint_data *data, tv_arena *arena, tv_evidence_table *to)
{
    const table *of = find_table(data, to->account, to->name);

    if (of == NULL)
        return;
    to->keys = tv_arena_alloc(arena, (of->key_count + 1) * sizeof *to->keys);
    memcpy(to->keys, of->keys, of->key_count * sizeof *to->keys);
    to->key_count = of->key_count;
    /* Samples of properties stay 0: nothing is known of their values. */
    to->properties = tv_arena_alloc(arena, (of->property_count + 1) * sizeof *to->properties);
    to->property_count = of->property_count;
    for (size_t i = 0; i < of->property_count; i++) {
        to->properties[i] = of->properties[i].sum;
        to->properties[i].types_by_class = are_types_apart(&of->properties[i]);
    }
    to->extremes.properties_max = of->properties_max;
    /* Units are rounded up. */
    to->extremes.cost_max = of->units_max > 1 ? (of->units_max - 1) * UINT64_C(1024) : 0;
}
