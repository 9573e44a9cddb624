/* The memory of writes, and the writing. */
#include "services/table/call.h"

/*
 * Strings are used where they are in the body unless something in them is
 * escaped; with the encoded rows that is up to twice the body, and the answer
 * once more.  What small bodies take fits what every request has.
 */
tv_err tv_table_call_reserve(tv_call *call)
{
    enum { SMALL_BYTES = 4 * 1024 };
    tv_request *req = call->req;
    size_t len = req->body.len;
    tv_err err;

    if (len <= SMALL_BYTES)
        return TV_OK;

    err = tv_arena_reserve(&req->arena, 2 * len);
    return err ? err : tv_charge_reserve(&req->charge, len);
}

/* The answer to one insert without its entity has no body. */
tv_err tv_table_call_reserve_reply(tv_call *call)
{
    enum { SMALL_BYTES = 4 * 1024, ENTITY_BYTES = 1024 };
    const tv_table_change_set *set = &tv_table_call_of(call)->changes;
    bool is_batch = tv_call_op(call) == TV_TABLE_OP_BATCH;
    size_t bytes = is_batch ? tv_table_batch_reply_max(set) : 0;

    for (size_t i = 0; i < set->count; i++) {
        const tv_entity_change *change = &set->changes[i];
        bool has_content = change->op->kind == TV_TABLE_OP_INSERT_ENTITY &&
                           change->op->prefer != TV_TABLE_PREFER_NO_CONTENT;

        if (has_content)
            bytes += ENTITY_BYTES + change->sent.len + change->sent.len / 4;
    }
    if (!is_batch && bytes <= SMALL_BYTES)
        return TV_OK;
    return tv_buf_try_reserve(&call->req->out, bytes);
}

static bool merge_in_turn(tv_call *call, tv_turn *turn)
{
    (void)turn;
    call->result = tv_table_change_set_merge_ahead(&tv_table_call_of(call)->changes,
                                                   call->service->engine, &call->write);
    return true;
}

/* Raise what is known of a table; false when it is not more. */
static bool is_wider(_Atomic uint64_t *widest, uint64_t value)
{
    if (value <= atomic_load_explicit(widest, memory_order_relaxed))
        return false;

    atomic_store_explicit(widest, value, memory_order_relaxed);
    return true;
}

/* Whether an entity has more of anything than those before it; few have. */
static bool is_widest(tv_table_counts *counts, const tv_entity_properties *properties)
{
    enum { LONG_BYTES = 24576 }; /* such values are counted, each */
    uint64_t cost = 0, longest = 0;

    for (size_t i = 0; i < properties->count; i++) {
        const tv_property *property = &properties->list[i];

        cost += tv_property_cost(property);
        if ((property->type == TV_EDM_STRING || property->type == TV_EDM_BINARY) &&
            property->bytes.len > longest)
            longest = property->bytes.len;
    }

    bool has_more = is_wider(&counts->widest[0], properties->count + 1);
    bool costs_more = is_wider(&counts->widest[1], cost);

    return is_wider(&counts->widest[2], longest) || has_more || costs_more || longest >= LONG_BYTES;
}

/* The properties that a merge has left: those that were there, with what the request says. */
static tv_entity_properties merged_properties(tv_arena *arena, tv_slice stored)
{
    tv_entity_properties properties = {
        .list = tv_arena_alloc(arena, TV_ENTITY_PROPERTIES_MAX * sizeof *properties.list)};
    tv_entity_cursor cursor;

    tv_entity_cursor_init(&cursor, stored);
    while (properties.count < TV_ENTITY_PROPERTIES_MAX &&
           tv_entity_next(&cursor, &properties.list[properties.count]))
        properties.count++;
    return properties;
}

/* An entity may be the widest of its table. */
static void note_entities(tv_call *call)
{
    const tv_table_change_set *set = &tv_table_call_of(call)->changes;
    tv_facts *facts = TV_CALL_OF(tv_table_service, call->service, base)->facts;
    tv_arena scratch;

    if (facts == NULL)
        return;

    tv_arena_init(&scratch);
    for (size_t i = 0; i < set->count; i++) {
        const tv_entity_change *change = &set->changes[i];
        bool has_merged = tv_table_op_is_merge(change->op->kind) && change->old_timestamp;
        tv_entity_properties properties =
            has_merged ? merged_properties(&scratch, change->value) : change->op->body.properties;

        if (change->op->kind != TV_TABLE_OP_DELETE_ENTITY &&
            is_widest(set->table->service_data, &properties))
            tv_facts_note_entity(facts, set->table->account, set->table->id, change->key,
                                 properties.list, properties.count);
        tv_arena_reset(&scratch);
    }
    tv_arena_done(&scratch);
}

static tv_err on_changes_done(tv_call *call, tv_err err)
{
    if (err == TV_OK)
        note_entities(call);
    return tv_table_call_of(call)->changes_then(call, err);
}

static tv_err on_merged(tv_call *call, tv_err err)
{
    if (err)
        return on_changes_done(call, err);

    tv_call_write(call, on_changes_done);
    return TV_OK;
}

static tv_err on_changes_run(tv_call *call, tv_err err)
{
    if (err == TV_ERR_WOULD_BLOCK) {
        err = tv_call_take_turns(call, merge_in_turn, on_merged);
        if (err == TV_OK)
            return TV_OK;
    }
    return on_changes_done(call, err);
}

void tv_table_call_write_changes(tv_call *call, tv_call_then *then)
{
    tv_table_call *t = tv_table_call_of(call);

    t->changes.refuses_much = true;
    t->changes_then = then;
    tv_call_write(call, on_changes_run);
}
