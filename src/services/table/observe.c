/* What the recorder is told of requests to tables. */
#include "base/clock.h"
#include "base/hash.h"
#include "base/number.h"
#include "insight/advice/language.h"
#include "insight/facts/estimate.h"
#include "insight/watch/conn.h"
#include "insight/watch/trace.h"
#include "insight/watch/watch.h"
#include "services/table/call.h"
#include "services/table/counts.h"
#include "services/table/token.h"
#include "store/engine/key.h"

/* What is known of a connection. */
typedef struct observed_conn {
    struct tv_watch_conn runs;
    uint64_t client; /* hash of account, address and agent; 0: not known yet */
    size_t agent_len;
    bool is_own_tool;
    uint8_t language; /* of its SDK */
    char agent[160];  /* that the hash is of */
} observed_conn;

static tv_table_service *service_of(const tv_call *call)
{
    return TV_CALL_OF(tv_table_service, call->service, base);
}

/* --- who --- */

static uint64_t client_hash(const tv_call *call, tv_slice agent)
{
    tv_slice peer = tv_slice_of(call->req->peer);
    size_t port = peer.len;

    while (port > 0 && peer.data[port - 1] != ':')
        port--;
    return (tv_hash(call->endpoint.account) * 31 + tv_hash(tv_slice_take(peer, port))) * 31 +
           tv_hash(agent);
}

/* The command line tool, which says so; an owner's requests are known without that. */
static bool is_own_tool(tv_slice agent)
{
    return tv_slice_starts_with(agent, TV_LIT("tavola-tool "));
}

static tv_watch_client client_of(const tv_call *call, observed_conn *conn)
{
    tv_slice agent = tv_request_header(call->req, TV_LIT("user-agent"));
    bool is_same = conn->client && agent.len == conn->agent_len &&
                   agent.len <= sizeof conn->agent &&
                   (agent.len == 0 || memcmp(agent.data, conn->agent, agent.len) == 0);

    if (!is_same) {
        conn->client = client_hash(call, agent) | 1;
        conn->is_own_tool = is_own_tool(agent);
        conn->language = tv_language_number(agent);
        conn->agent_len = agent.len;
        if (agent.len && agent.len <= sizeof conn->agent)
            memcpy(conn->agent, agent.data, agent.len);
    }
    return (tv_watch_client){.hash = conn->client,
                             .agent = agent,
                             .language = conn->language,
                             .is_own_tool = conn->is_own_tool || call->is_owner};
}

/* file:line of the program that sent it, at most 128 bytes; anything else is left out. */
static tv_slice source_of(const tv_request *req)
{
    tv_slice source = tv_request_header(req, TV_LIT("x-tavola-source"));
    size_t colon = source.len;
    uint64_t line;

    while (colon > 0 && source.data[colon - 1] != ':')
        colon--;
    if (source.len > TV_WATCH_SOURCE_BYTES || colon < 2 || !tv_slice_is_printable(source) ||
        !tv_parse_uint64(tv_slice_skip(source, colon), &line))
        return TV_NONE;
    return source;
}

/* --- what --- */

/* The rows of ops.def that are about entities are the last. */
static bool is_about_entities(int kind)
{
    return kind >= TV_TABLE_OP_QUERY_ENTITIES;
}

static uint8_t entity_op_of(int kind)
{
    return (uint8_t)(kind - TV_TABLE_OP_QUERY_ENTITIES);
}

static uint32_t units_of(size_t bytes)
{
    return bytes <= 1024 ? 1 : (uint32_t)((bytes + 1023) / 1024);
}

static tv_watch_outcome outcome_of_error(tv_err err)
{
    switch (err) {
    case TV_ERR_ENTITY_EXISTS:
        return TV_WATCH_EXISTS;
    case TV_ERR_ENTITY_NOT_FOUND:
        return TV_WATCH_MISSING;
    case TV_ERR_ETAG_MISMATCH:
        return TV_WATCH_CONFLICT;
    default:
        return TV_WATCH_REFUSED;
    }
}

static tv_watch_outcome outcome_of(const tv_entity_change *change)
{
    if (change->command->kind == TV_TABLE_OP_DELETE_ENTITY)
        return TV_WATCH_DELETED;
    return change->old_timestamp ? TV_WATCH_CHANGED : TV_WATCH_CREATED;
}

static tv_watch_condition condition_of(const tv_table_command *command)
{
    switch (command->condition.kind) {
    case TV_TABLE_CONDITION_NONE:
        return TV_WATCH_UNCONDITIONAL;
    case TV_TABLE_CONDITION_ANY:
        return TV_WATCH_IF_ANY;
    default:
        return TV_WATCH_IF_ETAG;
    }
}

static void set_key(tv_watch_key *key, tv_slice stored, const tv_container *table)
{
    key->key = tv_slice_skip(stored, table->prefix.len);
    key->partition_len = (uint32_t)tv_slice_find(key->key, TV_KEY_MARK);
}

static tv_watch_key change_key(const tv_table_change_set *set, size_t i, tv_err err)
{
    const tv_entity_change *change = &set->changes[i];
    tv_watch_key key = {
        .op = entity_op_of(change->command->kind),
        .outcome = (uint8_t)(err == TV_OK       ? outcome_of(change)
                             : i == set->failed ? outcome_of_error(err)
                                                : TV_WATCH_REFUSED),
        .condition = (uint8_t)condition_of(change->command),
        .bytes = (uint32_t)change->value.len,
        .age_s = -1,
        .sent = change->command->body.properties.list,
        .sent_count = change->command->body.properties.count,
    };

    key.units = key.outcome == TV_WATCH_DELETED ? 1 : units_of(change->value.len);
    set_key(&key, change->key, set->table);
    if (err == TV_OK && change->old_timestamp) {
        int64_t age = (tv_clock_steady_ticks() - change->old_timestamp) / TV_TICKS_PER_SECOND;

        key.age_s = age < 0 ? 0 : age;
    }
    return key;
}

static void add_changes(const tv_call *call, tv_watch_event *event, tv_err err)
{
    const tv_table_change_set *set = &tv_table_call_of((tv_call *)call)->outcome.changes;
    tv_watch_key *keys = tv_arena_alloc(&call->req->arena, set->count * sizeof *keys);

    for (size_t i = 0; i < set->count; i++)
        keys[i] = change_key(set, i, err);
    event->keys = keys;
    event->key_count = set->count;
}

/* A point read by URL, alone or as a batch. */
static void add_read(tv_call *call, tv_watch_event *event, tv_watch_key *key)
{
    const tv_table_call *t = tv_table_call_of(call);
    const tv_table_command *command =
        event->op == TV_ENTITY_OP_BATCH ? &t->batch.commands[0] : &t->command;

    if (t->outcome.key.data == NULL)
        return;
    *key = (tv_watch_key){
        .op = TV_ENTITY_OP_QUERY_ENTITY,
        .outcome =
            (uint8_t)(event->error ? outcome_of_error((tv_err)event->error) : TV_WATCH_FOUND),
        .units = units_of(t->outcome.value.len),
        .bytes = (uint32_t)t->outcome.value.len,
        .age_s = -1,
    };
    set_key(key, t->outcome.key, call->container);
    if (command->select.count)
        event->query.select = command->select.url_text;
    event->keys = key;
    event->key_count = 1;
}

/* --- queries --- */

static bool selects_keys(const tv_table_select *select)
{
    for (size_t i = 0; i < select->count; i++) {
        if (!tv_slice_eq(select->names->list[i], TV_LIT("PartitionKey")) &&
            !tv_slice_eq(select->names->list[i], TV_LIT("RowKey")))
            return false;
    }
    return select->count > 0;
}

/* What follows the table's prefix in a bound; nothing for the end of the table. */
static tv_slice behind_prefix(const tv_container *table, tv_slice key)
{
    return tv_slice_starts_with(key, table->prefix) ? tv_slice_skip(key, table->prefix.len)
                                                    : TV_LIT("");
}

/* One range of RowKeys that ends where the first text ends that does not begin like it. */
static bool is_prefix_range(const tv_plan *plan)
{
    const tv_key_range *range = &plan->ranges[0];

    return plan->count == 1 && plan->kind == TV_PLAN_RANGE && range->from.len == range->to.len &&
           range->from.len > 0 &&
           memcmp(range->from.data, range->to.data, range->from.len - 1) == 0 &&
           (unsigned char)range->from.data[range->from.len - 1] + 1 ==
               (unsigned char)range->to.data[range->to.len - 1];
}

static tv_slice kept(const tv_table_scan_key *key)
{
    return (tv_slice){key->bytes, key->len};
}

static void add_query(tv_call *call, tv_watch_query *to)
{
    const tv_table_call *t = tv_table_call_of(call);
    const tv_table_scan *scan = &t->outcome.scan;

    to->filter = t->query.filter;
    to->shape = t->shape;
    to->has_top = t->query.has_top;
    to->top = (uint32_t)t->query.top;
    if (t->command.select.count)
        to->select = t->command.select.url_text;
    to->selects_keys = selects_keys(&t->command.select);
    if (scan->table == NULL)
        return; /* it has failed before it had a plan */

    to->plan = (uint8_t)scan->plan.kind;
    to->end = (uint8_t)scan->page.end;
    to->has_residual = scan->plan.residual != NULL;
    to->range_count = (uint32_t)scan->plan.count;
    to->is_prefix_range = is_prefix_range(&scan->plan);
    to->examined = scan->page.examined;
    to->returned = scan->page.returned;
    to->first = scan->page.first;
    to->last = scan->page.last;
    if (t->query.next_partition.data)
        to->token_in = tv_table_token_hash(t->query.next_partition, t->query.next_row);
    to->token_out = scan->next_hash;
    to->partition = tv_key_before_mark(behind_prefix(scan->table, tv_plan_partition(&scan->plan)));
    if (scan->plan.count)
        to->from = behind_prefix(scan->table, scan->plan.ranges[0].from);
    if (scan->keys) {
        to->first_key = kept(&scan->keys->first);
        to->last_key = kept(&scan->keys->last);
        to->first_looked = kept(&scan->keys->first_looked);
        to->last_looked = kept(&scan->keys->last_looked);
    }
}

/* --- which table --- */

static uint32_t number_of(tv_watch *watch, const tv_container *table)
{
    tv_table_counts *counts = table->service_data;
    uint32_t number = atomic_load_explicit(&counts->watch_number, memory_order_relaxed);

    if (!tv_watch_has_table(watch, number)) {
        number = tv_watch_table(watch, table->account, table->name, table->id);
        atomic_store_explicit(&counts->watch, watch, memory_order_relaxed);
        atomic_store_explicit(&counts->watch_number, number, memory_order_relaxed);
    }
    return number;
}

bool tv_table_shape_history(tv_call *call, tv_estimate_history *ret_history)
{
    const tv_table_call *t = tv_table_call_of(call);
    tv_watch *watch = service_of(call)->watch;
    tv_watch_history found;

    if (watch == NULL)
        return false;

    uint64_t fingerprint = t->shape ? t->shape->fingerprint
                                    : tv_shape_make(&call->req->arena, t->query.filter,
                                                    t->command.select.count > 0, t->query.has_top)
                                          .fingerprint;

    if (!tv_watch_shape_history(watch, number_of(watch, call->container), fingerprint, &found))
        return false;

    *ret_history = (tv_estimate_history){.examined = found.examined,
                                         .returned = found.returned,
                                         .bytes = found.bytes_out,
                                         .share_low = found.share_low,
                                         .share_high = found.share_high};
    return true;
}

/* A batch that was refused as a whole has no table yet, nor what an account's target refuses. */
static tv_slice name_of_refused(const tv_call *call)
{
    const tv_table_call *t = tv_table_call_of((tv_call *)call);

    return t->batch.commands    ? t->batch.commands[0].resource.table
           : call->is_throttled ? t->command.resource.table
                                : TV_LIT("");
}

static uint32_t number_of_refused(tv_call *call)
{
    tv_slice name = name_of_refused(call);
    tv_container *table = NULL;
    uint32_t number = 0;

    if (name.len)
        table = tv_catalog_find(call->service->catalog, call->endpoint.account, name);
    if (table)
        number = number_of(service_of(call)->watch, table);
    tv_container_unref(table);
    return number;
}

static bool is_judged(const tv_call *call)
{
    const tv_table_call *t = tv_table_call_of((tv_call *)call);
    int status = call->req->status;

    return status && status != 401 && status != 403 && call->identity && !t->query.is_explained &&
           !tv_table_query_is_explained(call->req) &&
           !(call->container && tv_slice_starts_with(call->container->name, TV_LIT("$")));
}

/* A request without a connection, in a test, has `room`. */
static observed_conn *conn_of(const tv_request *req, observed_conn *room)
{
    if (req->of_conn == NULL)
        return memset(room, 0, sizeof *room);
    if (*req->of_conn == NULL)
        *req->of_conn = tv_calloc(1, sizeof(observed_conn));
    return *req->of_conn;
}

static void fill(tv_call *call, tv_watch_event *event, tv_watch_key *read)
{
    const tv_table_call *t = tv_table_call_of(call);

    if (event->op == TV_ENTITY_OP_QUERY_ENTITIES)
        add_query(call, &event->query);
    else if (event->op == TV_ENTITY_OP_QUERY_ENTITY ||
             (event->op == TV_ENTITY_OP_BATCH && t->batch.is_query))
        add_read(call, event, read);
    else if (t->outcome.changes.count)
        add_changes(call, event, (tv_err)event->error);
    if (event->error == TV_ERR_BATCH_PARTITIONS)
        event->across_partitions = 2; /* the rest of it was not looked at */
}

/* A partition is to blame for its own target only, not for those of the account. */
static tv_watch_throttle throttle_of(const tv_call *call)
{
    if (!call->is_throttled)
        return TV_WATCH_NOT_THROTTLED;
    return call->throttle.scope == TV_TARGET_PARTITION ? TV_WATCH_THROTTLED_PARTITION
                                                       : TV_WATCH_THROTTLED_ACCOUNT;
}

static uint64_t id_of(const tv_request *req)
{
    tv_slice id = tv_request_header(req, TV_LIT("x-ms-client-request-id"));

    return id.len ? tv_hash(id) : 0;
}

static void write_trace(tv_call *call, tv_watch_event event)
{
    tv_slice table = call->container ? call->container->name
                     : event.table   ? name_of_refused(call)
                                     : TV_LIT("");

    event.request_id = id_of(call->req);
    tv_watch_trace_add(service_of(call)->trace, call->endpoint.account, table, &event);
}

void tv_table_unobserve(tv_container *table)
{
    tv_table_counts *counts = table->service_data;
    tv_watch *watch = atomic_load(&counts->watch);

    if (watch)
        tv_watch_drop_table(watch, atomic_load(&counts->watch_number), table->id);
}

/* --- when it is done --- */

void tv_table_observe(tv_call *call, int64_t end_ns)
{
    tv_watch *watch = service_of(call)->watch;
    tv_request *req = call->req;
    const tv_table_call *t = tv_table_call_of(call);
    tv_watch_key read;

    if (watch == NULL || !is_about_entities(tv_call_kind(call)) || !is_judged(call))
        return;

    tv_err error = t->outcome.part_error ? t->outcome.part_error
                   : req->status >= 300  ? call->error
                                         : TV_OK;
    observed_conn room, *conn = conn_of(req, &room);
    tv_watch_event event = {
        .time_ns = tv_watch_at(watch, end_ns),
        .duration_ns = end_ns - req->start_ns,
        .op = entity_op_of(tv_call_kind(call)),
        .status =
            (uint16_t)(t->outcome.part_error ? tv_err_status(t->outcome.part_error) : req->status),
        .error = (uint16_t)error,
        .throttle = (uint8_t)throttle_of(call),
        .is_overloaded = error == TV_ERR_OVERLOADED,
        .bytes_in = req->body_length,
        .bytes_out = req->out.len,
        .client = client_of(call, conn),
        .conn = &conn->runs,
    };

    if (event.client.is_own_tool)
        return;
    event.table = call->container ? number_of(watch, call->container) : number_of_refused(call);
    if (tv_watch_wants_id(watch, event.status))
        event.request_id = id_of(req);
    event.source = source_of(req);
    fill(call, &event, &read);
    tv_watch_record(tv_watch_shard_at(watch, tv_loop_index(req->loop)), &event);
    if (service_of(call)->trace)
        write_trace(call, event);
}

/* --- when a query has its plan --- */

/* The shape of a long filter takes as long as its plan, so it is made by the same thread. */
static const tv_shape *make_shape(tv_call *call)
{
    tv_table_call *t = tv_table_call_of(call);
    tv_shape *shape = tv_arena_alloc(&call->req->arena, sizeof *shape);

    *shape = tv_shape_make(&call->req->arena, t->query.filter, t->command.select.count > 0,
                           t->query.has_top);
    return shape;
}

void tv_table_observe_plan(tv_call *call)
{
    tv_table_call *t = tv_table_call_of(call);
    tv_table_scan *scan = &t->outcome.scan;

    if (service_of(call)->watch == NULL)
        return;
    if (t->query.filter_text.len > TV_TABLE_QUERY_SHORT_FILTER_BYTES)
        t->shape = make_shape(call);
    if (scan->plan.kind != TV_PLAN_POINT)
        scan->keys = tv_arena_zalloc(scan->arena, sizeof *scan->keys);
}
