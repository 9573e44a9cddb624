/* Requests are recorded, and what was recorded is told over windows and since marks. */
#include "fixture.h"

#include <math.h>

#include "insight/advice/rules.h"
#include "random.h"

TEST(queries_are_counted_by_shape)
{
    for (int i = 0; i < 3; i++) {
        tv_watch_event event = query_of(i ? "Age gt 30" : "Age gt 77", TV_PLAN_TABLE, 100, 5);

        event.query.has_residual = true;
        event.bytes_out = 1000;
        record(&event);
    }
    tv_watch_event other = query_of("PartitionKey eq 'a'", TV_PLAN_PARTITION, 10, 10);

    record(&other);

    const tv_evidence_table *of = judged(NULL);
    const tv_evidence_shape *shape = shape_named(of, "Age gt ?i");

    CHECK_INT(of->shape_count, 2);
    CHECK_INT(of->requests, 4);
    CHECK_INT(shape->executions, 3);
    CHECK_INT(shape->pages, 3);
    CHECK_INT(shape->plans[TV_PLAN_TABLE], 3);
    CHECK_INT(shape->residual, 3);
    CHECK_INT(shape->examined, 300);
    CHECK_INT(shape->returned, 15);
    CHECK_INT(shape->examined_max, 100);
    CHECK_INT(shape->bytes_out, 3000);
    CHECK_INT((int64_t)shape->fingerprint, 0x8dc2974986e5945c);
    CHECK_TEXT(shape->example, "Age gt 0");
    CHECK(shape->p50_ms > 0.08 && shape->p50_ms < 0.13);
}

TEST(the_window_is_an_hour_and_marks_are_as_long_as_wanted)
{
    tv_watch_event event = query_of("Age gt 30", TV_PLAN_TABLE, 100, 5);
    tv_evidence *none;
    char first[TV_WATCH_MARK_SIZE], second[TV_WATCH_MARK_SIZE];

    record(&event);
    tv_watch_mark(watch, first);
    pass(30 * 60 * SECOND);
    event.query.examined = 40;
    record(&event);
    CHECK_INT(shape_named(judged(NULL), "Age gt ?i")->executions, 2);
    CHECK_INT(shape_named(judged(first), "Age gt ?i")->executions, 1);
    CHECK_INT(shape_named(judged(first), "Age gt ?i")->examined_max, 40);
    tv_watch_mark(watch, second);
    CHECK_INT(judged(second)->shape_count, 0);
    CHECK_INT(judged(second)->requests, 0);

    pass(45 * 60 * SECOND); /* the first is older than an hour now */
    CHECK_INT(shape_named(judged(NULL), "Age gt ?i")->executions, 1);
    CHECK_INT(shape_named(judged(NULL), "Age gt ?i")->examined_max, 40);
    pass(3600 * SECOND);
    CHECK_INT(judged(NULL)->shape_count, 0);
    CHECK_INT(shape_named(judged(first), "Age gt ?i")->executions, 1);
    CHECK_INT(tv_watch_take(watch, &arena, "m99", &none), TV_ERR_NOT_FOUND);
    CHECK_INT(tv_watch_take(watch, &arena, "x", &none), TV_ERR_NOT_FOUND);
    CHECK_INT(tv_watch_take(watch, &arena, "m12345678901234567890123", &none), TV_ERR_NOT_FOUND);
    for (int i = 0; i < TV_TALLY_MARKS; i++)
        tv_watch_mark(watch, second);
    CHECK_INT(tv_watch_take(watch, &arena, first, &none), TV_ERR_NOT_FOUND); /* eight are kept */
}

TEST(a_day_is_remembered_of_what_rules_ask_for)
{
    insert("p", "1");
    pass(5 * 3600 * SECOND);
    insert("p", "2");
    CHECK_INT(judged(NULL)->inserts, 1);
    CHECK_INT(judged(NULL)->inserts_day, 2);
    pass(20 * 3600 * SECOND);
    CHECK_INT(judged(NULL)->inserts_day, 1);
    pass(6 * 3600 * SECOND);
    CHECK_INT(judged(NULL)->inserts_day, 0);
}

TEST(tools_and_overload_are_not_judged)
{
    tv_watch_event event = query_of("Age gt 30", TV_PLAN_TABLE, 100, 5);

    event.client.is_own_tool = true;
    record(&event);
    event.client.is_own_tool = false;
    event.is_overloaded = true;
    event.status = 503;
    record(&event);
    CHECK_INT(judged(NULL)->requests, 0);
    CHECK_INT(judged(NULL)->shape_count, 0);
}

TEST(point_reads_and_writes_are_counted_by_outcome)
{
    get("p", "1");
    touch(TV_ENTITY_OP_QUERY_ENTITY, "p", "2", TV_WATCH_MISSING, 404);
    insert("p", "3");
    touch(TV_ENTITY_OP_INSERT_OR_REPLACE_ENTITY, "p", "3", TV_WATCH_CHANGED, 204);
    touch(TV_ENTITY_OP_INSERT_OR_REPLACE_ENTITY, "p", "4", TV_WATCH_CREATED, 204);
    touch(TV_ENTITY_OP_DELETE_ENTITY, "p", "3", TV_WATCH_DELETED, 204);

    tv_watch_event point = query_of("PartitionKey eq 'p' and RowKey eq '1'", TV_PLAN_POINT, 1, 1);

    record(&point);

    const tv_evidence_table *of = judged(NULL);

    CHECK_INT(of->point_reads, 3);
    CHECK_INT(of->point_misses, 1);
    CHECK_INT(of->point_whole, 1);
    CHECK_INT(of->inserts, 2);
    CHECK_INT(of->updates, 1);
    CHECK_INT(of->writes, 4);
    CHECK_INT(of->deletes.single, 1);
}

TEST(sources_and_selects_are_kept)
{
    tv_watch_event event = query_of("Age gt 30", TV_PLAN_TABLE, 100, 5);
    static const char *const sources[] = {"a.c:1", "b.c:2", "a.c:1", "c.c:3", "d.c:4", "e.c:5"};

    event.query.select = TV_LIT("Name,Age");
    for (size_t i = 0; i < 6; i++) {
        event.source = tv_slice_of(sources[i]);
        record(&event);
        pass(SECOND);
    }

    const tv_evidence_shape *shape = shape_named(judged(NULL), "Age gt ?i");

    CHECK_INT(shape->source_count, 4);
    CHECK_TEXT(shape->sources[0], "a.c:1");
    CHECK_TEXT(shape->sources[3], "d.c:4");
    CHECK_TEXT(shape->select, "Name,Age");
    CHECK(shape->has_select && !shape->select_differs);
    event.query.select = TV_LIT("Name");
    record(&event);
    CHECK(shape_named(judged(NULL), "Age gt ?i")->select_differs);
}

/* 300 shapes of one table: 256 are told apart, the others are one. */
TEST(shapes_that_find_no_room_are_counted_as_others)
{
    for (int i = 0; i < 300; i++) {
        tv_slice text = tv_arena_printf(&arena, "P%d eq 1", i);
        tv_watch_event event = query_of(text.data, TV_PLAN_TABLE, 1, 1);

        record(&event);
    }

    const tv_evidence_table *of = judged(NULL);

    CHECK_INT(of->shape_count, 257);
    CHECK_INT(shape_named(of, "(other)")->executions, 44);
    CHECK_INT(tv_watch_read_usage(watch).evicted, 44);
}

TEST(batches_are_counted_by_size)
{
    static const size_t sizes[] = {1, 2, 9, 10, 49, 50, 99, 100};
    tv_watch_key keys[100];

    for (size_t i = 0; i < 100; i++) {
        char row[8];

        snprintf(row, sizeof row, "%03zu", i);
        keys[i] = key_of("p", row, TV_ENTITY_OP_INSERT_ENTITY, TV_WATCH_CREATED);
    }
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        tv_watch_event event = event_of(TV_ENTITY_OP_BATCH, 202);

        event.keys = keys;
        event.key_count = sizes[i];
        record(&event);
    }

    tv_watch_event across = event_of(TV_ENTITY_OP_BATCH, 400);

    across.across_partitions = 3;
    record(&across);

    const tv_evidence_table *of = judged(NULL);

    CHECK_INT(of->batches.count, 8);
    CHECK_INT(of->batches.sizes[0], 1);
    CHECK_INT(of->batches.sizes[1], 2);
    CHECK_INT(of->batches.sizes[2], 2);
    CHECK_INT(of->batches.sizes[3], 2);
    CHECK_INT(of->batches.sizes[4], 1);
    CHECK_INT(of->batches.operations, 320);
    CHECK_INT(of->batches.across_partitions, 1);
    CHECK_INT(of->batches.across_partitions_max, 3);
    CHECK_INT(of->inserts, 320);
    CHECK_INT(of->batched_writes, 319);
}

TEST(samples_stand_for_those_that_were_not_taken)
{
    tv_watch *sampled =
        tv_watch_new(&(tv_watch_options){.shard_count = 1, .is_clock_manual = true});
    uint32_t number = tv_watch_table(sampled, TV_LIT("acct"), TV_LIT("T"), 0);
    tv_watch_key key = key_of("hot", "row", TV_ENTITY_OP_QUERY_ENTITY, TV_WATCH_FOUND);
    tv_watch_event event = event_of(TV_ENTITY_OP_QUERY_ENTITY, 200);

    event.table = number;
    event.keys = &key;
    event.key_count = 1;
    event.conn = NULL;
    atomic_store(&tv_watch_shard_at(sampled, 0)->period, 16);
    for (int i = 0; i < 16000; i++)
        tv_watch_record(tv_watch_shard_at(sampled, 0), &event);

    tv_watch_fold(sampled);
    tv_evidence *evidence;

    CHECK_OK(tv_watch_take(sampled, &arena, NULL, &evidence));

    const tv_evidence_table *of = &evidence->tables[0];

    CHECK_INT(of->point_reads, 16000);
    CHECK_INT(of->partition_count, 1);
    CHECK_TEXT(of->partitions[0].partition_key, "hot");
    CHECK(of->partitions[0].rate.units > 14000 && of->partitions[0].rate.units < 18000);
    CHECK(of->partitions[0].rate.units_error > 0);
    tv_watch_free(sampled);
}

/* What rules tell of the partition "hot" of a recorder. */
static const tv_finding *hot_partition_of(tv_watch *of)
{
    tv_params params = tv_params_default(TV_EVIDENCE_LIVE);
    tv_evidence *evidence;
    tv_findings found;

    tv_watch_fold(of);
    CHECK_OK(tv_watch_take(of, &arena, NULL, &evidence));
    found = tv_rules_judge(&arena, evidence, &params);
    for (size_t i = 0; i < found.count; i++) {
        if (found.items[i]->rule == TV_RULE_P01 &&
            tv_slice_eq(found.items[i]->partition_key, TV_LIT("hot")))
            return found.items[i];
    }
    CHECK_FAIL("there is no finding");
    return NULL;
}

/* Whether a field holds what was really so, within its error. */
static bool holds(const tv_finding *finding, const char *name, double truth)
{
    for (size_t i = 0; i < finding->field_count; i++) {
        const tv_field *field = &finding->fields[i];

        if (tv_slice_eq(field->name, tv_slice_of(name))) {
            CHECK(field->error > 0 && field->error < truth);
            return fabs(field->number - truth) <= field->error;
        }
    }
    CHECK_FAIL("there is no field %s", name);
    return false;
}

/* Of what a finding says of sampled traffic 95 in 100 are as far from the truth as it says. */
TEST(errors_of_samples_are_what_they_are)
{
    enum { TRIALS = 60, REQUESTS = 40000, FIELDS = 5 };
    int held = 0;

    t_random_seed(20261119);
    for (int trial = 0; trial < TRIALS; trial++) {
        tv_watch *sampled =
            tv_watch_new(&(tv_watch_options){.shard_count = 1, .is_clock_manual = true});
        tv_watch_event event = event_of(TV_ENTITY_OP_QUERY_ENTITY, 200);
        double hot[2] = {0}, all[2] = {0}; /* reads, writes */
        const tv_finding *finding;

        event.table = tv_watch_table(sampled, TV_LIT("acct"), TV_LIT("T"), 0);
        event.conn = NULL;
        event.key_count = 1;
        for (int i = 0; i < REQUESTS; i++) {
            bool is_hot = t_random() % 100 < 80, is_write = t_random() % 100 < 30;
            char row[24];
            tv_watch_key key;

            if (i % 5000 == 0) { /* as a second ends */
                tv_watch_fold(sampled);
                atomic_store(&tv_watch_shard_at(sampled, 0)->period, 16);
            }
            snprintf(row, sizeof row, "r%05d", (int)(t_random() % 100000));
            event.op = is_write ? TV_ENTITY_OP_UPDATE_ENTITY : TV_ENTITY_OP_QUERY_ENTITY;
            key = key_of(is_hot ? "hot" : row, row, (tv_entity_op)event.op,
                         is_write ? TV_WATCH_CHANGED : TV_WATCH_FOUND);
            event.keys = &key;
            tv_watch_record(tv_watch_shard_at(sampled, 0), &event);
            all[is_write]++;
            hot[is_write] += is_hot;
        }
        finding = hot_partition_of(sampled);
        held += holds(finding, "reads", hot[0]) + holds(finding, "writes", hot[1]) +
                holds(finding, "readShare", hot[0] / all[0]) +
                holds(finding, "writeShare", hot[1] / all[1]) +
                holds(finding, "share", (hot[0] + hot[1]) / (all[0] + all[1]));
        tv_watch_free(sampled);
    }
    print_message("# %d of %d held\n", held, TRIALS * FIELDS);
    CHECK(held >= TRIALS * FIELDS * 93 / 100);
}

TEST(names_of_tables_are_known_in_any_case)
{
    CHECK_INT(tv_watch_table(watch, TV_LIT("acct"), TV_LIT("PEOPLE"), 0), table);
    CHECK(tv_watch_table(watch, TV_LIT("other"), TV_LIT("People"), 0) != table);
    for (int i = 0; i < 200; i++) {
        tv_slice name = tv_arena_printf(&arena, "T%d", i);

        CHECK_INT(tv_watch_table(watch, TV_LIT("acct"), name, 0), table + 2 + (uint32_t)i);
    }
    CHECK_INT(tv_watch_table(watch, TV_LIT("acct"), TV_LIT("people"), 0), table);
}

TEST(shapes_are_listed_as_json)
{
    tv_watch_event event = query_of("Name eq 'secret'", TV_PLAN_TABLE, 100, 5);
    tv_buf out = TV_BUF_EMPTY;

    record(&event);
    get("p", "1");
    CHECK(tv_watch_list_shapes(watch, &(tv_watch_list){.table = TV_LIT("people")}, &out));
    CHECK(memmem(out.data, out.len, "\"text\":\"Name eq ?s\"", 19));
    CHECK(memmem(out.data, out.len, "\"fingerprint\":\"35e7898ff5ab90c3\"", 32));
    CHECK(memmem(out.data, out.len, "secret", 6) == NULL);
    tv_buf_done(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ONE(queries_are_counted_by_shape),
        ONE(the_window_is_an_hour_and_marks_are_as_long_as_wanted),
        ONE(a_day_is_remembered_of_what_rules_ask_for),
        ONE(tools_and_overload_are_not_judged),
        ONE(point_reads_and_writes_are_counted_by_outcome),
        ONE(sources_and_selects_are_kept),
        ONE(shapes_that_find_no_room_are_counted_as_others),
        ONE(batches_are_counted_by_size),
        ONE(samples_stand_for_those_that_were_not_taken),
        ONE(errors_of_samples_are_what_they_are),
        ONE(names_of_tables_are_known_in_any_case),
        ONE(shapes_are_listed_as_json),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
