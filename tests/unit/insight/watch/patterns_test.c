/* Walks, runs, conflicts, deletes, directions, heavy keys and retries, out of what was recorded. */
#include "fixture.h"

/* --- walks --- */

/* Pages of a query over `p`, which came with and gave these tokens. */
static void page(uint64_t token_in, uint64_t token_out, tv_page_end end)
{
    tv_watch_event event = query_of("PartitionKey eq 'p'", TV_PLAN_PARTITION, 1000, 1000);

    event.query.token_in = token_in;
    event.query.token_out = token_out;
    event.query.end = (uint8_t)end;
    record(&event);
}

static tv_evidence_walks walks_of(const char *mark)
{
    return shape_named(judged(mark), "PartitionKey eq ?s")->walks;
}

TEST(a_walk_over_pages_is_one_execution)
{
    page(0, 11, TV_PAGE_END_ROWS);
    pass(10 * MS);
    page(11, 12, TV_PAGE_END_ROWS);
    pass(10 * MS);
    page(12, 0, TV_PAGE_END_DONE);

    const tv_evidence_shape *shape = shape_named(judged(NULL), "PartitionKey eq ?s");

    CHECK_INT(shape->executions, 1);
    CHECK_INT(shape->pages, 3);
    CHECK_INT(shape->examined_max, 3000); /* of the whole walk */
    CHECK_INT(shape->walks.to_end, 1);
    CHECK_INT(shape->walks.to_end_client, 1);
    CHECK_INT(shape->walks.left, 0);
}

TEST(scans_of_one_page_count_for_their_client_and_leave_room_for_walks)
{
    for (int i = 0; i < 5 * TV_WALKS_MAX; i++) {
        tv_watch_event scan = query_of("", TV_PLAN_TABLE, 10, 10);

        scan.query.end = TV_PAGE_END_DONE;
        record(&scan);
    }
    page(0, 11, TV_PAGE_END_ROWS);
    page(11, 0, TV_PAGE_END_DONE);

    const tv_evidence_walks *scans = &shape_named(judged(NULL), "*")->walks;

    CHECK(scans->to_end_client >= TV_WALKS_MAX);
    CHECK_INT(scans->to_end, 0); /* of several pages */
    CHECK_INT(walks_of(NULL).to_end, 1);
}

TEST(a_walk_is_left_when_nobody_goes_on_for_a_minute)
{
    page(0, 11, TV_PAGE_END_ROWS);
    pass(10 * MS);
    page(11, 12, TV_PAGE_END_ROWS);
    pass(59 * SECOND);
    CHECK_INT(walks_of(NULL).left, 0);
    pass(2 * SECOND);
    CHECK_INT(walks_of(NULL).left, 1);
    CHECK_INT(walks_of(NULL).left_pages, 2);
    CHECK_INT(walks_of(NULL).left_returned, 2000);
    CHECK_INT(walks_of(NULL).left_by_person, 0);
    CHECK_INT(walks_of(NULL).ignored, 0);
}

TEST(the_newest_of_those_that_wait_for_a_token_goes_on)
{
    for (int i = 0; i < 22; i++) {
        page(0, 11, TV_PAGE_END_ROWS); /* left; nobody has gone on with it after a pause */
        pass(5 * SECOND);
        page(0, 11, TV_PAGE_END_ROWS);
        pass(10 * MS);
        page(11, 12, TV_PAGE_END_ROWS);
        pass(5 * SECOND);
    }
    pass(61 * SECOND);

    tv_evidence_walks walks = walks_of(NULL);

    CHECK_INT(walks.left, 22);
    CHECK_INT(walks.left_pages, 44);
    CHECK_INT(walks.left_by_person, 0);
    CHECK_INT(walks.ignored, 22);
}

TEST(first_pages_whose_token_nobody_uses_are_ignored_tokens)
{
    for (int i = 0; i < 5; i++) {
        page(0, 11, TV_PAGE_END_ROWS);
        pass(60 * SECOND);
    }
    page(0, 11, TV_PAGE_END_TOP); /* what was asked for is there */
    pass(70 * SECOND);

    tv_evidence_walks walks = walks_of(NULL);

    CHECK_INT(walks.ignored, 5);
    CHECK_INT(walks.ignored_paged, 5);
    CHECK_INT(walks.ignored_returned, 5000);
    CHECK_INT(walks.ignored_end, TV_PAGE_END_ROWS);
    CHECK_TEXT(walks.ignored_client, "tests");
    CHECK_INT(walks.left, 0);
}

TEST(a_run_that_has_ended_leaves_its_walks)
{
    char mark[TV_WATCH_MARK_SIZE];

    page(0, 11, TV_PAGE_END_ROWS);
    pass(SECOND);
    tv_watch_mark(watch, mark);
    page(0, 21, TV_PAGE_END_ROWS);
    CHECK_INT(walks_of(mark).ignored, 0);
    pass(6 * SECOND);
    CHECK_INT(walks_of(mark).ignored, 1);
    CHECK_INT(walks_of(NULL).ignored, 0); /* not yet */
}

TEST(a_full_table_of_walks_forgets_the_oldest)
{
    for (uint64_t i = 0; i < TV_WALKS_MAX + 100; i++)
        page(0, 1000 + i, TV_PAGE_END_ROWS);
    CHECK_INT(watch->walks.open_count, TV_WALKS_MAX);
    pass(61 * SECOND);
    CHECK_INT(watch->walks.open_count, 0);
    CHECK_INT(walks_of(NULL).ignored, TV_WALKS_MAX);
}

/* --- runs --- */

TEST(ten_reads_of_a_partition_within_a_second_are_a_run)
{
    char row[8];

    for (int run = 0; run < 3; run++) {
        for (int i = 0; i < 24; i++) {
            snprintf(row, sizeof row, "r%03d", i);
            get("p", row);
            pass(5 * MS);
        }
        pass(2 * SECOND);
    }
    for (int i = 0; i < 9; i++)
        get("q", "same"); /* too few */
    CHECK_INT(judged(NULL)->read_runs.runs, 3);
    CHECK_INT(judged(NULL)->read_runs.requests, 72);
    CHECK_INT(judged(NULL)->read_runs.contiguous, 3);
    CHECK_INT(judged(NULL)->read_runs.same_key, 0);
    CHECK_INT(judged(NULL)->read_runs.longest, 24);
    CHECK(judged(NULL)->read_runs.ms > 110 && judged(NULL)->read_runs.ms < 120);
    CHECK_TEXT(judged(NULL)->read_runs.first_key, "r000");
    CHECK_TEXT(judged(NULL)->read_runs.last_key, "r023");
}

TEST(a_run_of_one_key_is_told_from_others)
{
    for (int i = 0; i < 12; i++, pass(5 * MS))
        get("p", "the-same");
    pass(2 * SECOND);
    for (int i = 0; i < 12; i++, pass(5 * MS)) /* each second one is a part of the one before */
        get("p", i % 2 ? "r" : "rrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrr");
    pass(2 * SECOND);
    CHECK_INT(judged(NULL)->read_runs.runs, 2);
    CHECK_INT(judged(NULL)->read_runs.same_key, 1);
    CHECK_INT(judged(NULL)->read_runs.contiguous, 0);
}

TEST(a_read_or_a_pause_ends_a_run_of_writes)
{
    char row[8];

    for (int i = 0; i < 100; i++) {
        snprintf(row, sizeof row, "r%03d", i);
        insert("p", row);
        pass(2 * MS);
        if (i % 9 == 8)
            get("other", "x");
    }
    CHECK_INT(judged(NULL)->write_runs.runs, 0);
    for (int i = 0; i < 50; i++) {
        snprintf(row, sizeof row, "s%03d", i);
        insert("p", row);
        pass(51 * MS);
    }
    CHECK_INT(judged(NULL)->write_runs.runs, 0);
    for (int i = 0; i < 50; i++) {
        snprintf(row, sizeof row, "t%03d", i);
        insert("p", row);
        pass(2 * MS);
    }
    CHECK_INT(judged(NULL)->write_runs.runs, 1);
    CHECK(judged(NULL)->write_runs.requests >= 50);
    for (int i = 0; i < 50; i++)
        touch(TV_ENTITY_OP_UPDATE_ENTITY, "p", "one", TV_WATCH_CHANGED, 204);
    CHECK_INT(judged(NULL)->write_runs.runs, 1);
}

/* --- conflicts and deletes --- */

static void update_if(uint64_t client, const char *row, tv_watch_outcome outcome, int status)
{
    tv_watch_event event = event_of(TV_ENTITY_OP_MERGE_ENTITY, status);
    tv_property sent = {.name = TV_LIT("Count"), .type = TV_EDM_INT32};
    tv_watch_key key = key_of("p", row, TV_ENTITY_OP_MERGE_ENTITY, outcome);

    key.condition = TV_WATCH_IF_ETAG;
    key.sent = &sent;
    key.sent_count = 1;
    event.client.hash = client;
    event.keys = &key;
    event.key_count = 1;
    record(&event);
}

TEST(conflicts_are_counted_by_row_for_five_minutes)
{
    const tv_evidence_row *row = NULL;

    for (int round = 0; round < 25; round++) {
        for (uint64_t client = 1; client <= 8; client++) {
            bool is_first = client == 1;

            update_if(client, "hot", is_first ? TV_WATCH_CHANGED : TV_WATCH_CONFLICT,
                      is_first ? 204 : 412);
        }
        pass(10 * MS);
    }
    for (size_t i = 0; i < judged(NULL)->row_count; i++) {
        if (judged(NULL)->rows[i].conflicts)
            row = &judged(NULL)->rows[i];
    }
    CHECK(row != NULL);
    CHECK_TEXT(row->partition_key, "p");
    CHECK_TEXT(row->row_key, "hot");
    CHECK_INT(row->conflicts, 175);
    CHECK_INT(row->conditional_writes, 199); /* from the first conflict on */
    CHECK_INT(row->conflict_clients, 4);
    CHECK_TEXT(row->changed[0], "Count");
    CHECK_INT(row->changed_count, 1);
    CHECK_INT(row->changed_numbers, 1);
    pass(6 * 60 * SECOND);
    for (size_t i = 0; i < judged(NULL)->row_count; i++)
        CHECK_INT(judged(NULL)->rows[i].conflicts, 0);
}

static void update_with_id(uint64_t id, tv_watch_outcome outcome, int status)
{
    tv_watch_event event = event_of(TV_ENTITY_OP_UPDATE_ENTITY, status);
    tv_watch_key key = key_of("p", "hot", TV_ENTITY_OP_UPDATE_ENTITY, outcome);

    key.condition = TV_WATCH_IF_ETAG;
    event.keys = &key;
    event.key_count = 1;
    event.request_id = id;
    record(&event);
}

TEST(a_conflict_of_a_request_that_failed_before_is_a_replay)
{
    char mark[TV_WATCH_MARK_SIZE];

    update_with_id(77, TV_WATCH_CONFLICT, 412);
    tv_watch_mark(watch, mark);
    update_with_id(5, TV_WATCH_REFUSED, 500); /* it was stored, but its client does not know */
    update_with_id(5, TV_WATCH_CONFLICT, 412);
    update_with_id(6, TV_WATCH_CONFLICT, 412);
    CHECK_INT(judged(NULL)->rows[0].conflicts, 3);
    CHECK_INT(judged(NULL)->rows[0].conflicts_replayed, 1);
    CHECK_INT(judged(mark)->rows[0].conflicts, 2);
    CHECK_INT(judged(mark)->rows[0].conflicts_replayed, 1);
    pass(6 * 60 * SECOND);
    for (size_t i = 0; i < judged(NULL)->row_count; i++)
        CHECK_INT(judged(NULL)->rows[i].conflicts_replayed, 0);
}

static void delete_aged(const char *partition, const char *row, int64_t age_s)
{
    tv_watch_event event = event_of(TV_ENTITY_OP_DELETE_ENTITY, 204);
    tv_watch_key key = key_of(partition, row, TV_ENTITY_OP_DELETE_ENTITY, TV_WATCH_DELETED);

    key.age_s = age_s;
    event.keys = &key;
    event.key_count = 1;
    record(&event);
}

TEST(deletes_after_a_scan_are_told_from_others)
{
    tv_watch_event scan =
        query_of("Timestamp lt datetime'2026-01-01T00:00:00Z'", TV_PLAN_TABLE, 5000, 100);

    delete_aged("p", "early", 60);
    record(&scan);
    for (int i = 0; i < 100; i++) {
        char row[8];

        snprintf(row, sizeof row, "r%03d", i);
        delete_aged(i < 50 ? "p" : "q", row, 61 * 24 * 3600);
        pass(5 * MS);
    }
    pass(61 * SECOND);
    delete_aged("p", "late", 60);

    const tv_evidence_deletes *deletes = &judged(NULL)->deletes;

    CHECK_INT(deletes->single, 102);
    CHECK_INT(deletes->batched, 0);
    CHECK_INT(deletes->after_scan_day, 100);
    CHECK_INT(deletes->scan_examined_day, 5000);
    CHECK_INT((int64_t)deletes->scan_fingerprint,
              (int64_t)shape_named(judged(NULL), "Timestamp lt ?t")->fingerprint);
    CHECK_INT(deletes->aged, 102);
    CHECK(deletes->age_p10_hours >= 1024 && deletes->age_p90_hours <= 2048);
    CHECK(deletes->run_per_partition > 30 && deletes->run_per_partition < 60);
}

/* --- direction --- */

typedef enum order { UPWARDS, DOWNWARDS, SPREAD, HOURLY } order;

static void insert_many(order how, int count, int64_t gap)
{
    uint64_t random = 12345;

    for (int i = 0; i < count; i++) {
        char partition[24], row[24];

        random = random * UINT64_C(6364136223846793005) + 1;
        snprintf(partition, sizeof partition, how == HOURLY ? "h%05d" : "p%05d",
                 how == HOURLY   ? (int)(tv_watch_now(watch) / SECOND / 60 % 100000)
                 : how == SPREAD ? (int)(random >> 40) % 1000
                                 : 1);
        snprintf(row, sizeof row, "%08d",
                 how == DOWNWARDS ? 10000000 - i
                 : how == UPWARDS ? i
                                  : (int)(random >> 40));
        insert(partition, row);
        if (i % 10 == 9)
            pass(10 * gap);
    }
}

TEST(inserts_at_the_end_move_the_table)
{
    insert_many(UPWARDS, 4000, 100 * MS);

    tv_evidence_direction direction = judged(NULL)->direction;

    CHECK(direction.windows >= 4 && direction.windows_up == direction.windows);
    CHECK(direction.row > 0.95 && direction.last_share > 0.8);
    CHECK(!direction.has_partition);
}

/* What one program appends, eight a second; `place` is where in that order each insert is done. */
static double last_share_of(int count, int (*place)(int i))
{
    for (int i = 0; i < count; i++) {
        tv_watch_event event = event_of(TV_ENTITY_OP_INSERT_ENTITY, 201);
        char row[24];

        snprintf(row, sizeof row, "%08d", place(i));

        tv_watch_key key = key_of("log", row, TV_ENTITY_OP_INSERT_ENTITY, TV_WATCH_CREATED);

        event.keys = &key;
        event.key_count = 1;
        event.time_ns += i % 8 * 125 * MS;
        tv_watch_record(tv_watch_shard_at(watch, i % 2), &event); /* two connections, two threads */
        if (i % 8 == 7)
            pass(SECOND);
    }
    return judged(NULL)->direction.last_share;
}

static int in_order(int i)
{
    return i;
}

/* Four workers, of which any may be the first to be done. */
static int in_fours(int i)
{
    static const int orders[][4] = {{1, 0, 3, 2}, {3, 2, 1, 0}, {2, 3, 0, 1}, {0, 3, 1, 2}};

    return i / 4 * 4 + orders[i / 4 % 4][i % 4];
}

/* Every tenth goes to where only one in a hundred of those before it were. */
static int tenth_inside(int i)
{
    return i % 10 == 9 ? i / 100 : i;
}

TEST(what_one_program_appends_over_several_connections_is_all_behind)
{
    CHECK(last_share_of(8 * 300, in_order) == 1);
}

TEST(what_workers_append_side_by_side_is_all_behind)
{
    CHECK(last_share_of(8 * 300, in_fours) == 1);
}

TEST(what_goes_inside_is_not_behind)
{
    double share = last_share_of(8 * 300, tenth_inside);

    CHECK(share > 0.88 && share < 0.92);
}

TEST(inserts_at_the_beginning_move_it_too)
{
    insert_many(DOWNWARDS, 4000, 100 * MS);
    CHECK(judged(NULL)->direction.windows_down >= 4);
    CHECK_INT(judged(NULL)->direction.windows_up, 0);
    CHECK(judged(NULL)->direction.first_share > 0.8);
}

TEST(spread_inserts_do_not)
{
    insert_many(SPREAD, 4000, 100 * MS);
    CHECK(judged(NULL)->direction.windows >= 4);
    CHECK_INT(judged(NULL)->direction.windows_up + judged(NULL)->direction.windows_down, 0);
    CHECK(judged(NULL)->direction.last_share < 0.3);
}

TEST(a_partition_for_each_time_is_followed)
{
    insert_many(HOURLY, 6000, 100 * MS); /* ten minutes, a partition for each */

    tv_evidence_direction direction = judged(NULL)->direction;

    CHECK(direction.hot_changes >= 8);
    CHECK_INT(direction.hot_changes_up, direction.hot_changes);
    CHECK(direction.hot_share >= 0.8);
}

TEST(few_inserts_are_not_judged)
{
    insert_many(UPWARDS, 49, 1000 * MS);
    CHECK_INT(judged(NULL)->direction.windows, 0);
    insert_many(UPWARDS, 60, 1000 * MS);
    CHECK_INT(judged(NULL)->direction.windows, 1);
}

/* At the least number of inserts that a window has, for twelve hours. */
TEST(few_spread_inserts_do_not_move_it_either)
{
    int moved = 0;

    for (int hour = 0; hour < 12; hour++) {
        insert_many(SPREAD, 3600 * 5 / 6, 1200 * MS);
        moved += (int)(judged(NULL)->direction.windows_up + judged(NULL)->direction.windows_down);
    }
    CHECK_INT(moved, 0);
}

/* --- writes by minutes --- */

/* From the oldest minute of the window that has any, "5 0 7". */
static const char *minutes_of(const tv_evidence_table *of)
{
    tv_buf text = TV_BUF_EMPTY;
    const char *dup;

    for (size_t i = 0; i < of->minute_count; i++) {
        if (text.len || of->writes_by_minute[i])
            tv_buf_printf(&text, "%s%u", text.len ? " " : "", of->writes_by_minute[i]);
    }
    dup = tv_arena_printf(&arena, "%.*s", TV_FMT(tv_buf_slice(&text))).data;
    tv_buf_done(&text);
    return dup;
}

static void write_some(int count)
{
    for (int i = 0; i < count; i++)
        insert("p", "r");
    tv_watch_fold(watch);
}

TEST(writes_are_known_by_minutes)
{
    pass(60 * SECOND - tv_watch_now(watch) % (60 * SECOND)); /* a minute begins */
    write_some(5);
    pass(120 * SECOND);
    write_some(7);
    CHECK_TEXT(tv_slice_of(minutes_of(judged(NULL))), "5 0 7");
    pass(60 * SECOND);
    CHECK_TEXT(tv_slice_of(minutes_of(judged(NULL))), "5 0 7 0");
    get("p", "r"); /* a read is none */
    CHECK_TEXT(tv_slice_of(minutes_of(judged(NULL))), "5 0 7 0");
    pass(200 * 60 * SECOND);
    CHECK_TEXT(tv_slice_of(minutes_of(judged(NULL))), "");
    write_some(3);
    CHECK_TEXT(tv_slice_of(minutes_of(judged(NULL))), "3");
    for (int i = 0; i < 130; i++) { /* twice around */
        pass(60 * SECOND);
        write_some(1);
    }
    CHECK_INT(judged(NULL)->writes_by_minute[judged(NULL)->minute_count - 1], 1);
    CHECK(judged(NULL)->minute_count >= 50 && judged(NULL)->minute_count <= 61);
    CHECK_INT(strlen(minutes_of(judged(NULL))), 2 * judged(NULL)->minute_count - 1);
}

/* --- heavy keys --- */

TEST(the_heaviest_partitions_are_found_among_many)
{
    uint64_t random = 1;

    for (int i = 0; i < 20000; i++) {
        char partition[24], row[24];

        random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
        snprintf(partition, sizeof partition, "p%04d", (int)(random >> 40) % 5000);
        snprintf(row, sizeof row, "r%04d", i);
        if (i % 4 == 0)
            get("hot", "row");
        else
            get(partition, row);
        if (i % 100 == 99)
            pass(100 * MS); /* 1,000 a second */
    }

    const tv_evidence_table *of = judged(NULL);

    CHECK_TEXT(of->partitions[0].partition_key, "hot");
    CHECK(of->partitions[0].share > 0.24 && of->partitions[0].share < 0.26);
    CHECK(of->partitions[0].rate.peak_per_second > 240);
    CHECK(of->partition_count <= TV_WATCH_SKETCH_KEYS);
    CHECK_TEXT(of->rows[0].row_key, "row");
    CHECK(of->rate.peak_per_second > 950 && of->rate.peak_per_second < 1050);
}

TEST(sustained_is_what_three_slots_had)
{
    for (int slot = 0; slot < 6; slot++) {
        int count = slot == 1 ? 500 : 100;

        for (int i = 0; i < count; i++)
            get("p", "r");
        pass(10 * SECOND);
    }

    const tv_evidence_partition *partition = &judged(NULL)->partitions[0];

    CHECK(partition->rate.peak_per_second == 50);
    CHECK(partition->rate.sustained_per_second == 10);
}

/* --- retries --- */

static void send_again(uint64_t id, int status)
{
    tv_watch_event event = event_of(TV_ENTITY_OP_INSERT_ENTITY, status);

    event.request_id = tv_watch_wants_id(watch, status) ? id : 0;
    event.throttle = status == 503 ? TV_WATCH_THROTTLED_PARTITION : TV_WATCH_NOT_THROTTLED;
    record(&event);
}

TEST(retries_are_requests_with_the_id_of_a_failed_one)
{
    pass(60 * SECOND - tv_watch_now(watch) % (60 * SECOND)); /* all of it is in one minute */
    for (uint64_t id = 1; id <= 20; id++) {
        send_again(id, 503);
        pass(5 * MS);
        send_again(id, 503);
        pass(5 * MS);
        send_again(id, 201);
        pass(5 * MS);
        send_again(id, 201); /* that id is forgotten */
    }

    const tv_evidence_retries *retries = &judged(NULL)->retries;

    CHECK_INT(retries->retries, 40);
    CHECK_INT(retries->requests, 80);
    CHECK_INT(retries->attempts[3], 20);
    CHECK_INT(retries->attempts_max, 3);
    CHECK_INT(retries->status_503, 40);
    CHECK(retries->gap_p50_ms > 2 && retries->gap_p50_ms < 10);
    CHECK(!retries->gaps_grow);
    CHECK_TEXT(retries->client, "tests");
    CHECK_INT(judged(NULL)->throttled, 40);
    pass(61 * SECOND);
    CHECK_INT(judged(NULL)->retries.retries, 40); /* the worst minute of the hour */
    pass(2 * 3600 * SECOND);
    CHECK_INT(judged(NULL)->retries.retries, 0);
}

TEST(ids_are_looked_at_while_a_failed_one_is_remembered)
{
    CHECK(!tv_watch_wants_id(watch, 200));
    CHECK(tv_watch_wants_id(watch, 503));
    send_again(1, 503);
    CHECK(tv_watch_wants_id(watch, 200));
    send_again(1, 201);
    CHECK(!tv_watch_wants_id(watch, 200));
}

/* --- spans --- */

TEST(what_a_partition_scan_returns_side_by_side_is_a_span)
{
    tv_watch_event event =
        query_of("PartitionKey eq 'p' and Year eq 2026", TV_PLAN_PARTITION, 5000, 40);

    event.query.has_residual = true;
    event.query.first = 100;
    event.query.last = 140;
    event.query.partition = TV_LIT("p");
    event.query.first_key = TV_LIT("p\x01order_2026_000100");
    event.query.last_key = TV_LIT("p\x01order_2026_000139");
    event.query.first_looked = TV_LIT("p\x01order_1999_000000");
    event.query.last_looked = TV_LIT("p\x01order_2027_000000");
    for (int i = 0; i < 10; i++)
        record(&event);

    const tv_evidence_shape *shape = shape_named(judged(NULL), "PartitionKey eq ?s and Year eq ?i");

    CHECK_INT(shape->spans, 10);
    CHECK_INT(shape->span_rows, 410);
    CHECK_INT(shape->span_returned, 400);
    CHECK_TEXT(shape->returned_prefix, "order_2026_0001");
    CHECK_TEXT(shape->partition_prefix, "order_");
    CHECK_TEXT(shape->literal_property, "Year");
    CHECK_INT(shape->literal_at, 6);
    CHECK_INT(shape->literal_hits, 10);
    CHECK_INT(shape->literal_tries, 10);
    CHECK(shape->partitions_asked > 0.9 && shape->partitions_asked < 1.1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ONE(a_walk_over_pages_is_one_execution),
        ONE(scans_of_one_page_count_for_their_client_and_leave_room_for_walks),
        ONE(a_walk_is_left_when_nobody_goes_on_for_a_minute),
        ONE(the_newest_of_those_that_wait_for_a_token_goes_on),
        ONE(first_pages_whose_token_nobody_uses_are_ignored_tokens),
        ONE(a_run_that_has_ended_leaves_its_walks),
        ONE(a_full_table_of_walks_forgets_the_oldest),
        ONE(ten_reads_of_a_partition_within_a_second_are_a_run),
        ONE(a_run_of_one_key_is_told_from_others),
        ONE(a_read_or_a_pause_ends_a_run_of_writes),
        ONE(conflicts_are_counted_by_row_for_five_minutes),
        ONE(a_conflict_of_a_request_that_failed_before_is_a_replay),
        ONE(deletes_after_a_scan_are_told_from_others),
        ONE(inserts_at_the_end_move_the_table),
        ONE(what_one_program_appends_over_several_connections_is_all_behind),
        ONE(what_workers_append_side_by_side_is_all_behind),
        ONE(what_goes_inside_is_not_behind),
        ONE(inserts_at_the_beginning_move_it_too),
        ONE(spread_inserts_do_not),
        ONE(a_partition_for_each_time_is_followed),
        ONE(few_inserts_are_not_judged),
        ONE(few_spread_inserts_do_not_move_it_either),
        ONE(writes_are_known_by_minutes),
        ONE(the_heaviest_partitions_are_found_among_many),
        ONE(sustained_is_what_three_slots_had),
        ONE(retries_are_requests_with_the_id_of_a_failed_one),
        ONE(ids_are_looked_at_while_a_failed_one_is_remembered),
        ONE(what_a_partition_scan_returns_side_by_side_is_a_span),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
