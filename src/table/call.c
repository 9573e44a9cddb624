/* The memory of writes, and the writing. */
#include "table/call.h"

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

/* An entity may be the widest of its table.  (What a merge has left is looked at when the table is
 * counted.) */
static void note_entities(tv_call *call)
{
    const tv_table_change_set *set = &tv_table_call_of(call)->changes;
    tv_facts *facts = TV_CALL_OF(tv_table_service, call->service, base)->facts;

    for (size_t i = 0; facts && i < set->count; i++) {
        const tv_table_op *op = set->changes[i].op;

        if (op->kind != TV_TABLE_OP_DELETE_ENTITY &&
            is_widest(set->table->service_data, &op->body.properties))
            tv_facts_note_entity(facts, set->table->account, set->table->id, set->changes[i].key,
                                 op->body.properties.list, op->body.properties.count);
    }
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
