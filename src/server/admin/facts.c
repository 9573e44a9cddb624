#include "server/admin/facts.h"

#include <math.h>

#include "base/json.h"
#include "insight/facts/facts.h"
#include "server/admin/admin.h"

/* Facts that are taken on a scanner's thread: entities of the sample may have to be read. */
typedef struct taking {
    tv_task task;
    tv_request *req;
    tv_facts *facts;
    tv_slice account, name;
    int64_t id;
    int parts;
    bool has_keys; /* partitions and the keys of the sample alone */
    tv_err err;
} taking;

bool tv_admin_has_facts(const tv_admin *admin)
{
    return admin->facts != NULL;
}

static bool find_table(tv_admin *admin, tv_request *req, taking *to)
{
    tv_container *table = tv_admin_find_table(admin, req, &to->account, &to->name);

    if (table == NULL)
        return false;
    to->id = table->id;
    tv_container_unref(table);
    return true;
}

/* --- JSON --- */

static void add_key(tv_buf *out, const tv_evidence_key *key)
{
    tv_json_text(out, "partitionKey", key->partition_key);
    tv_json_text(out, "rowKey", key->row_key);
}

static void add_count(tv_buf *out, const tv_facts_count *count)
{
    tv_json_bool(out, "exact", count->basis == TV_FACTS_EXACT);
    tv_json_text(out, "basis", tv_slice_of(tv_facts_basis_name(count->basis)));
    if (count->basis == TV_FACTS_UNKNOWN)
        return;
    tv_json_number(out, "entities", count->entities);
    tv_json_number(out, "bytes", count->bytes);
    tv_json_number(out, "created", count->created);
    tv_json_number(out, "replaced", count->replaced);
    tv_json_number(out, "deleted", count->deleted);
}

/* HUGE_VAL is not known. */
static void add_number_or_null(tv_buf *out, const char *name, double number)
{
    tv_json_name(out, name);
    if (number == HUGE_VAL)
        tv_buf_add_lit(out, "null");
    else
        tv_buf_printf(out, "%.0f", ceil(number));
}

static void add_partitions(tv_buf *out, const tv_facts_table *table)
{
    tv_json_open(out, "partitions", '{');
    add_number_or_null(out, "count", table->has_sample ? table->partitions : HUGE_VAL);
    add_number_or_null(out, "error", table->has_sample ? table->partitions_error : HUGE_VAL);
    tv_json_open(out, "largest", '[');
    for (size_t i = 0; i < table->largest_partition_count; i++) {
        const tv_facts_partition *partition = &table->largest_partitions[i];

        tv_json_open(out, NULL, '{');
        tv_json_text(out, "partitionKey", partition->partition_key);
        tv_json_number(out, "entities", partition->entities);
        tv_json_number(out, "bytes", partition->bytes);
        tv_json_bool(out, "exact", partition->is_exact);
        add_number_or_null(out, "error",
                           table->count.basis == TV_FACTS_EXACT ? (double)partition->error
                                                                : HUGE_VAL);
        tv_buf_add_char(out, '}');
    }
    tv_buf_add_lit(out, "]}");
}

static void add_largest(tv_buf *out, const tv_facts_table *table)
{
    tv_json_open(out, "largest", '[');
    for (size_t i = 0; i < table->largest_count; i++) {
        tv_json_open(out, NULL, '{');
        add_key(out, &table->largest[i].key);
        tv_buf_printf(out, ",\"bytes\":%llu}", (unsigned long long)table->largest[i].bytes);
    }
    tv_buf_add_char(out, ']');
}

static void add_classes(tv_buf *out, const char *name, const tv_facts_class *list, size_t count)
{
    tv_json_open(out, name, '[');
    for (size_t i = 0; i < count; i++) {
        tv_json_open(out, NULL, '{');
        tv_json_text(out, "class", list[i].text.len ? list[i].text : TV_LIT("(other)"));
        tv_buf_printf(out,
                      ",\"count\":%llu,\"lengths\":[%u,%u],\"leadingZeros\":%llu,"
                      "\"monthNames\":%llu}",
                      (unsigned long long)list[i].count, list[i].length_min, list[i].length_max,
                      (unsigned long long)list[i].leading_zeros,
                      (unsigned long long)list[i].month_names);
    }
    tv_buf_add_char(out, ']');
}

static void add_properties(tv_buf *out, const tv_facts_table *table)
{
    tv_json_number(out, "billedBytes", (uint64_t)table->billed);
    add_number_or_null(out, "billedBytesError", table->billed_error);
    tv_buf_printf(out, ",\"propertySamples\":%llu,\"properties\":[",
                  (unsigned long long)table->property_samples);
    for (size_t i = 0; i < table->property_count; i++) {
        const tv_evidence_property *property = &table->properties[i];

        tv_json_open(out, NULL, '{');
        tv_json_text(out, "name", property->name);
        tv_json_number(out, "count", property->count);
        tv_json_open(out, "types", '{');
        for (int type = 1; type < TV_EVIDENCE_TYPES; type++) {
            if (property->types[type])
                tv_json_number(out, tv_edm_name((tv_edm_type)type).data, property->types[type]);
        }
        tv_buf_printf(out,
                      "},\"bytes\":%llu,\"bytesMax\":%llu,\"distinctLow\":%.0f,"
                      "\"distinctHigh\":%.0f}",
                      (unsigned long long)property->bytes, (unsigned long long)property->max_bytes,
                      property->distinct_low, property->distinct_high);
    }
    tv_buf_add_char(out, ']');
}

static void add_extremes(tv_buf *out, const tv_evidence_extremes *extremes)
{
    tv_buf_printf(out, ",\"extremes\":{\"properties\":{\"count\":%u", extremes->properties_max);
    add_key(out, &extremes->properties_key);
    tv_buf_printf(out, "},\"cost\":{\"bytes\":%llu", (unsigned long long)extremes->cost_max);
    add_key(out, &extremes->cost_key);
    tv_buf_printf(out, "},\"string\":{\"units\":%u,\"long\":%llu", extremes->string_units_max,
                  (unsigned long long)extremes->string_count);
    tv_json_text(out, "property", extremes->string_property);
    tv_buf_printf(out, "},\"binary\":{\"bytes\":%u,\"long\":%llu", extremes->binary_bytes_max,
                  (unsigned long long)extremes->binary_count);
    tv_json_text(out, "property", extremes->binary_property);
    tv_buf_add_lit(out, "}}");
}

/* What the sample is: whether it has every key, and how old it is; null when that is not known. */
static void open_sample(tv_buf *out, const tv_facts_table *table)
{
    bool is_exact = table->has_sample && table->count.basis == TV_FACTS_EXACT;

    tv_json_open(out, "sample", '{');
    tv_json_bool(out, "isAll", table->sample_is_all);
    add_number_or_null(out, "ageSeconds",
                       table->has_sample ? (double)table->sample_seconds : HUGE_VAL);
    add_number_or_null(out, "changesSince", is_exact ? (double)table->sample_changes : HUGE_VAL);
}

/* A ladder of the table: every n-th key of it, about, in key order. */
static void add_sample_keys(tv_buf *out, const tv_facts_table *table)
{
    open_sample(out, table);
    tv_json_open(out, "keys", '[');
    for (size_t i = 0; i < table->sample_count; i++) {
        tv_json_open(out, NULL, '{');
        add_key(out, &table->sample[i]);
        tv_buf_add_char(out, '}');
    }
    tv_buf_add_lit(out, "]}");
}

static void add_all(tv_buf *out, const taking *t, const tv_facts_table *table)
{
    tv_buf_add_char(out, '{');
    tv_json_text(out, "account", t->account);
    tv_json_text(out, "table", t->name);
    add_count(out, &table->count);
    if (t->parts)
        add_partitions(out, table);
    if (t->has_keys) {
        add_sample_keys(out, table);
    } else if (t->parts) {
        open_sample(out, table);
        tv_buf_printf(out, ",\"keys\":%zu}", table->sample_count);
    }
    if (t->parts && !t->has_keys && table->has_sample) {
        add_largest(out, table);
        add_classes(out, "partitionKeyClasses", table->partition_classes,
                    table->partition_class_count);
        add_classes(out, "rowKeyClasses", table->row_classes, table->row_class_count);
        add_extremes(out, &table->extremes);
    }
    if (t->parts & TV_FACTS_PROPERTIES && table->has_sample)
        add_properties(out, table);
    tv_buf_add_lit(out, "}\n");
}

/* --- taking --- */

/* On a scanner's thread, which owns the request meanwhile. */
static bool run(tv_task *task, tv_turn *turn)
{
    taking *t = (taking *)(void *)task;
    tv_facts_table table;

    (void)turn;
    t->err = tv_facts_take(t->facts, t->account, t->id, t->parts, TV_FACTS_WAIT_NS, &t->req->arena,
                           &table);
    if (t->err == TV_OK)
        add_all(&t->req->out, t, &table);
    return true;
}

static void on_taken(tv_mail *mail)
{
    taking *t = (taking *)(void *)mail;

    tv_admin_respond(t->req,
                     t->err ? tv_admin_refuse(t->req, 503, "the facts cannot be read now") : 200);
}

int tv_admin_get_facts(tv_admin *admin, tv_request *req)
{
    taking *t = tv_arena_alloc(&req->arena, sizeof *t);
    tv_slice parts;

    *t = (taking){.req = req, .facts = admin->facts, .parts = TV_FACTS_KEYS | TV_FACTS_PROPERTIES};
    if (!tv_admin_parameter(req, "parts", TV_LIT("all"), &parts))
        return tv_admin_refuse(req, 400, "parts cannot be decoded");
    if (tv_slice_eq(parts, TV_LIT("counts")))
        t->parts = TV_FACTS_COUNTS_ONLY;
    else if (tv_slice_eq(parts, TV_LIT("keys")))
        t->parts = TV_FACTS_KEYS;
    else if (!tv_slice_eq(parts, TV_LIT("all")))
        return tv_admin_refuse(req, 400, "parts is all, counts or keys");
    t->has_keys = t->parts == TV_FACTS_KEYS;
    if (!find_table(admin, req, t))
        return tv_admin_refuse(req, 404, "there is no such table in this account");

    return tv_admin_run_later(admin, req, &t->task, run, on_taken);
}

int tv_admin_post_recount(tv_admin *admin, tv_request *req)
{
    taking t = {.req = req};

    if (!find_table(admin, req, &t))
        return tv_admin_refuse(req, 404, "there is no such table in this account");

    tv_facts_recount(admin->facts, t.account, t.id);
    tv_buf_add_lit(&req->out, "{\"state\":\"counting\"}\n");
    return 202;
}
