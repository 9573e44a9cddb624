/* What becomes of findings, and that they survive a restart and nothing else. */
#include "../../check.h"

#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "insight/advice/advice.h"
#include "insight/advice/finding_write.h"
#include "insight/advice/redact.h"

static const int64_t start = INT64_C(639028224000000000);
static const int64_t second = TV_TICKS_PER_SECOND;
static const int64_t hour = 3600 * TV_TICKS_PER_SECOND;

static int opened;

static void on_open(void *ctx, const tv_finding *finding)
{
    (void)ctx;
    (void)finding;
    opened++;
}

static tv_finding finding_of(const char *id)
{
    return (tv_finding){
        .rule = TV_RULE_P01,
        .severity = TV_SEVERITY_ERROR,
        .confidence = TV_CONFIDENCE_HIGH,
        .id = tv_slice_of(id),
        .account = TV_LIT("acct"),
        .table = TV_LIT("Emp"),
        .subject = TV_SUBJECT_PARTITION,
        .partition_key = TV_LIT("secret"),
        .title = TV_LIT("Partition {pk} is hot"),
        .fields = {{TV_LIT("share"), TV_FIELD_NUMBER, .number = 0.75, .error = 0.5},
                   {TV_LIT("topRows"), TV_FIELD_KEYS, .texts = {TV_LIT("secret-row")},
                    .text_count = 1}},
        .field_count = 2,
        .proposal = {.is_set = true,
                     .shows_keys = true,
                     .row_key = TV_LIT("secret{n}"),
                     .filter_after = TV_LIT("RowKey ge 'secret'")},
    };
}

static void judge(tv_book *book, bool is_found, int64_t now)
{
    tv_params params = tv_params_default(TV_EVIDENCE_LIVE);
    tv_finding finding = finding_of("hot-partition@acct/Emp/1");
    tv_finding *list[] = {&finding};

    tv_book_judge(book, &(tv_findings){list, is_found, is_found}, &params, now, on_open, NULL);
}

TEST(findings_open_and_fade)
{
    static const struct {
        const char *what;
        int64_t seconds; /* since the row before */
        bool is_found;
        int state; /* -1: there is none */
        int opened;
    } rows[] = {
        {"seen once", 10, true, TV_STATE_SEEN, 0},
        {"not seen again: nothing", 10, false, -1, 0},
        {"seen once", 10, true, TV_STATE_SEEN, 0},
        {"twice in a row: it opens", 10, true, TV_STATE_ACTIVE, 1},
        {"stays", 10, true, TV_STATE_ACTIVE, 1},
        {"an hour less a second without it", 3599, false, TV_STATE_ACTIVE, 1},
        {"an hour without it", 1, false, TV_STATE_QUIET, 1},
        {"it comes back at once, and silently", 10, true, TV_STATE_ACTIVE, 1},
        {"a day without it", 86400, false, TV_STATE_RESOLVED, 1},
        {"once after that is not enough", 10, true, TV_STATE_RESOLVED, 1},
        {"twice: it opens again", 10, true, TV_STATE_ACTIVE, 2},
        {"a week without it: forgotten", 7 * 86400, false, -1, 2},
    };
    tv_book book = {.count = 0};
    int64_t now = start;

    opened = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        t_row = rows[i].what;
        now += rows[i].seconds * second;
        judge(&book, rows[i].is_found, now);
        CHECK_INT(book.count, rows[i].state >= 0);
        if (rows[i].state >= 0)
            CHECK_INT(book.entries[0]->state, rows[i].state);
        CHECK_INT(opened, rows[i].opened);
    }
    tv_book_done(&book);
}

TEST(a_stronger_finding_takes_the_place_of_a_weaker_one)
{
    tv_params params = tv_params_default(TV_EVIDENCE_LIVE);
    tv_finding partition = finding_of("hot-partition@acct/Emp/1");
    tv_finding entity = finding_of("hot-entity@acct/Emp/1/2"), other = entity;
    tv_finding *only_partition[] = {&partition}, *entities[] = {&entity}, *others[] = {&other};
    tv_book book = {.count = 0};

    entity.rule = other.rule = TV_RULE_P02;
    entity.subject = other.subject = TV_SUBJECT_ENTITY;
    other.table = TV_LIT("Dep");
    for (int i = 0; i < 2; i++)
        tv_book_judge(&book, &(tv_findings){only_partition, 1, 1}, &params, start + i, on_open, NULL);
    tv_book_judge(&book, &(tv_findings){others, 1, 1}, &params, start + 2, on_open, NULL);
    CHECK_INT(tv_book_find(&book, partition.id)->state, TV_STATE_ACTIVE);
    tv_book_judge(&book, &(tv_findings){entities, 1, 1}, &params, start + 3, on_open, NULL);
    CHECK_INT(tv_book_find(&book, partition.id)->state, TV_STATE_RESOLVED);
    tv_book_done(&book);
}

TEST(ignored_findings_come_back_when_the_time_is_over)
{
    tv_slice id = TV_LIT("hot-partition@acct/Emp/1");
    tv_book book = {.count = 0};

    judge(&book, true, start);
    CHECK(!tv_book_ignore(&book, id, INT64_MAX)); /* nobody has seen it */
    judge(&book, true, start + 10 * second);
    CHECK(!tv_book_ignore(&book, TV_LIT("other"), INT64_MAX));
    CHECK(tv_book_ignore(&book, id, start + hour));
    CHECK(tv_book_is_ignored(book.entries[0], start + hour - 1));
    CHECK(!tv_book_is_ignored(book.entries[0], start + hour));
    judge(&book, true, start + hour);
    CHECK_INT(book.entries[0]->ignored_until, 0);
    CHECK(tv_book_ignore(&book, id, INT64_MAX));
    judge(&book, false, start + 30 * 24 * hour);
    CHECK_INT(book.count, 1); /* what is ignored is not forgotten */
    tv_book_done(&book);
}

TEST(a_full_book_drops_what_was_seen_longest_ago)
{
    tv_params params = tv_params_default(TV_EVIDENCE_LIVE);
    tv_book book = {.count = 0};

    for (int i = 0; i < TV_BOOK_MAX + 2; i++) {
        char id[20];
        tv_finding finding, *list[] = {&finding};

        snprintf(id, sizeof id, "%d", i);
        finding = finding_of(id);
        for (int k = 0; k < 2; k++)
            tv_book_judge(&book, &(tv_findings){list, 1, 1}, &params, start + 2 * i + k, NULL,
                          NULL);
        if (i == 0)
            CHECK(tv_book_ignore(&book, tv_slice_of(id), INT64_MAX));
    }
    CHECK_INT(book.count, TV_BOOK_MAX);
    CHECK(tv_book_find(&book, TV_LIT("0")));
    CHECK(!tv_book_find(&book, TV_LIT("1")));
    CHECK(!tv_book_find(&book, TV_LIT("2")));
    CHECK(tv_book_find(&book, TV_LIT("3")));
    tv_book_done(&book);
}

TEST(a_file_is_read_whole_or_not_at_all)
{
    tv_book book = {.count = 0}, copy = {.count = 0};
    tv_buf bytes = TV_BUF_EMPTY, again = TV_BUF_EMPTY;

    judge(&book, true, start);
    judge(&book, true, start + 10 * second);
    CHECK(tv_book_ignore(&book, TV_LIT("hot-partition@acct/Emp/1"), start + hour));
    tv_book_encode(&book, &bytes);
    /* Ids of keys are those of the secret that is used now, whatever they were. */
    CHECK(tv_book_decode(&book, tv_buf_slice(&bytes)));
    bytes.len = 0;
    tv_book_encode(&book, &bytes);
    CHECK(!tv_book_find(&book, TV_LIT("hot-partition@acct/Emp/1")));

    CHECK(tv_book_decode(&copy, tv_buf_slice(&bytes)));
    CHECK_INT(copy.count, 1);
    CHECK_INT(copy.entries[0]->ignored_until, start + hour);
    tv_book_encode(&copy, &again);
    CHECK_SLICE(tv_buf_slice(&again), tv_buf_slice(&bytes));
    for (size_t i = 0; i < bytes.len; i++) {
        CHECK(!tv_book_decode(&copy, tv_slice_take(tv_buf_slice(&bytes), i)));
        bytes.data[i] ^= 1;
        CHECK(!tv_book_decode(&copy, tv_buf_slice(&bytes)));
        bytes.data[i] ^= 1;
    }
    tv_book_done(&copy);
    tv_book_done(&book);
    tv_buf_done(&bytes);
    tv_buf_done(&again);
}

/* What 32 bits of FNV-1a make of a key: whoever tries all short keys finds it. */
static void check_not_guessed(tv_slice text, const char *key)
{
    char guess[9];

    snprintf(guess, sizeof guess, "%08x", (unsigned)(tv_fnv(tv_slice_of(key)) >> 32));
    CHECK(!memmem(text.data, text.len, guess, 8));
}

static const unsigned char one[TV_REDACT_SECRET_BYTES] = {1}, two[TV_REDACT_SECRET_BYTES] = {2};

TEST(guesses_at_redacted_keys_cannot_be_tested)
{
    const unsigned char *secrets[] = {one, two, one};
    tv_finding finding = finding_of("");
    tv_finding_status status = {"active", start, start, 0};
    tv_buf outs[3] = {TV_BUF_EMPTY, TV_BUF_EMPTY, TV_BUF_EMPTY}, id = TV_BUF_EMPTY;

    for (int i = 0; i < 3; i++) {
        tv_redact_use(secrets[i]);
        id.len = 0;
        tv_finding_add_key_id(&id, &finding);
        finding.id = tv_buf_slice(&id);
        tv_finding_write(&outs[i], &finding, &status, true);
        check_not_guessed(tv_buf_slice(&outs[i]), "secret");
        check_not_guessed(tv_buf_slice(&outs[i]), "secret-row");
    }
    CHECK_SLICE(tv_buf_slice(&outs[2]), tv_buf_slice(&outs[0]));
    CHECK(!tv_slice_eq(tv_buf_slice(&outs[1]), tv_buf_slice(&outs[0])));
    for (int i = 0; i < 3; i++)
        tv_buf_done(&outs[i]);
    tv_buf_done(&id);
}

/* An entity is not the partition of the same letters, and keys of other scripts have hashes, too.
 */
TEST(keys_that_differ_have_other_hashes)
{
    static const char *const keys[] = {"", "1", "2", "\xc3\xa9", "\xc3\xa8", "ab"};
    char hashes[6][TV_REDACT_CHARS + 1];

    for (int i = 0; i < 6; i++) {
        tv_redact_hash(tv_slice_of(keys[i]), hashes[i]);
        CHECK_INT(strlen(hashes[i]), TV_REDACT_CHARS);
        for (int k = 0; k < i; k++)
            CHECK(strcmp(hashes[i], hashes[k]) != 0);
    }
}

static void hash_a(char ret_hash[TV_REDACT_CHARS + 1])
{
    tv_redact_hash(TV_LIT("a"), ret_hash);
}

TEST(a_store_keeps_its_secret_and_does_without)
{
    static const char *const commands[] = {"rm", "truncate -s 31", "truncate -s 0",
                                           "ln -sf /etc/passwd"};
    char folder[] = "/tmp/tavola-redact-XXXXXX", command[200];
    char first[TV_REDACT_CHARS + 1], then[TV_REDACT_CHARS + 1];

    CHECK(mkdtemp(folder));
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        t_row = commands[i];
        CHECK(tv_redact_open(folder));
        hash_a(first);
        tv_redact_use(one);
        CHECK(tv_redact_open(folder));
        hash_a(then);
        CHECK_TEXT(tv_slice_of(then), first);

        snprintf(command, sizeof command, "%s %s/secret", commands[i], folder);
        CHECK_INT(system(command), 0);
        CHECK(tv_redact_open(folder));
        hash_a(then);
        CHECK(strcmp(first, then) != 0);
    }

    t_row = "a folder in its place, which stays";
    snprintf(command, sizeof command, "cd %s && rm secret && mkdir -p secret/x", folder);
    CHECK_INT(system(command), 0);
    CHECK(!tv_redact_open(folder));
    hash_a(then);
    t_row = "a pipe, which nobody writes to";
    snprintf(command, sizeof command, "cd %s && rm -r secret && mkfifo secret", folder);
    CHECK_INT(system(command), 0);
    CHECK(tv_redact_open(folder));
    t_row = "no folder";
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK_INT(system(command), 0);
    CHECK(!tv_redact_open(folder));
    hash_a(then);
}

TEST(redacted_findings_show_no_piece_of_a_key)
{
    tv_finding finding = finding_of("hot-partition@acct/Emp/1");
    tv_finding_status status = {"active", start, start, 0};
    tv_buf out = TV_BUF_EMPTY;

    tv_finding_write(&out, &finding, &status, false);
    CHECK(memmem(out.data, out.len, "\"title\":\"Partition secret is hot\"", 33));
    CHECK(memmem(out.data, out.len, "\"topRows\":[\"secret-row\"]", 24));
    CHECK(memmem(out.data, out.len, "\"share\":0.75,\"shareError\":0.5", 29));
    out.len = 0;
    tv_finding_write(&out, &finding, &status, true);
    CHECK(!memmem(out.data, out.len, "secret", 6));
    CHECK(memmem(out.data, out.len, "\"topRows\":[\"a-a#", 16));
    tv_buf_done(&out);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int64_t now;

/* A table with batches that failed: an error of W05, in the live window and in a run. */
static tv_evidence evidence_of(tv_evidence_mode mode)
{
    static tv_evidence_table table = {
        .account = TV_LIT("acct"), .name = TV_LIT("Emp"), .batches.across_partitions = 1};

    return (tv_evidence){.mode = mode,
                         .from_ticks = now - hour,
                         .to_ticks = now,
                         .tables = &table,
                         .table_count = 1};
}

static void judge_live(tv_advice *advice)
{
    tv_evidence evidence = evidence_of(TV_EVIDENCE_LIVE);
    tv_params params = tv_params_default(TV_EVIDENCE_LIVE);
    tv_findings found;
    tv_arena arena;

    tv_arena_init(&arena);
    found = tv_rules_judge(&arena, &evidence, &params);
    tv_advice_keep(advice, &evidence, &found);
    tv_arena_done(&arena);
}

static void count_line(void *ctx, uint64_t number, tv_log_level level, tv_slice line)
{
    (void)number;
    (void)level;
    (void)line;
    ++*(int *)ctx;
}

/* Lines of the log about findings that could not be kept or read. */
static int told(void)
{
    tv_log_query query = {
        .level = TV_LOG_WARN, .text = TV_LIT("event=advice problem="), .lines_max = 100};
    int count = 0;

    tv_log_read(&query, count_line, &count);
    return count;
}

static size_t findings_in(const tv_buf *out)
{
    size_t count = 0;

    for (const char *at = out->data; at; count++) {
        at = memmem(at, out->len - (size_t)(at - out->data), "{\"id\":", 6);
        if (at == NULL)
            break;
        at++;
    }
    return count;
}

static size_t count_of(tv_advice *advice, tv_advice_query query)
{
    tv_buf out = TV_BUF_EMPTY;
    size_t count;

    query.limit = SIZE_MAX;
    tv_advice_write(advice, &query, &out);
    count = findings_in(&out);
    tv_buf_done(&out);
    return count;
}

static size_t count_of_run(tv_advice *advice)
{
    tv_evidence evidence = evidence_of(TV_EVIDENCE_RUN);
    tv_params params = tv_params_default(TV_EVIDENCE_RUN);
    tv_buf out = TV_BUF_EMPTY;
    tv_findings found;
    tv_arena arena;
    size_t count;

    tv_arena_init(&arena);
    found = tv_rules_judge(&arena, &evidence, &params);
    tv_advice_write_run(advice, &(tv_advice_query){.limit = SIZE_MAX}, &arena, &evidence, &found,
                        &out);
    count = findings_in(&out);
    tv_arena_done(&arena);
    tv_buf_done(&out);
    return count;
}

TEST(advice_survives_a_restart)
{
    char folder[] = "/tmp/tavola-advice-XXXXXX", path[64];
    tv_advice *advice;
    FILE *file;

    CHECK(mkdtemp(folder));
    now = start;
    advice = tv_advice_new(folder);
    CHECK_INT(count_of(advice, (tv_advice_query){0}), 0);
    CHECK_INT(count_of_run(advice), 1);
    judge_live(advice);
    now += 10 * second;
    judge_live(advice);
    CHECK_INT(count_of(advice, (tv_advice_query){0}), 1);
    CHECK(tv_advice_ignore(advice, TV_LIT("batch-across-partitions@acct/Emp"), INT64_MAX));
    tv_advice_free(advice);

    advice = tv_advice_new(folder);
    CHECK_INT(count_of(advice, (tv_advice_query){.state = TV_LIT("ignored")}), 1);
    CHECK_INT(count_of(advice, (tv_advice_query){.state = TV_LIT("active")}), 0);
    CHECK_INT(count_of(advice, (tv_advice_query){.table = TV_LIT("emp")}), 1);
    CHECK_INT(count_of(advice, (tv_advice_query){.table = TV_LIT("other")}), 0);
    CHECK_INT(count_of(advice, (tv_advice_query){.account = TV_LIT("other")}), 0);
    CHECK_INT(count_of(advice, (tv_advice_query){.rule = TV_LIT("W")}), 1);
    CHECK_INT(count_of(advice, (tv_advice_query){.rule = TV_LIT("W05")}), 1);
    CHECK_INT(count_of(advice, (tv_advice_query){.rule = TV_LIT("batch-of-one")}), 0);
    tv_advice_free(advice);
    CHECK_INT(told(), 0);

    snprintf(path, sizeof path, "%s/watch/findings", folder);
    file = fopen(path, "w");
    CHECK(file && fputs("TVA1 and something else", file) >= 0 && fclose(file) == 0);
    advice = tv_advice_new(folder);
    CHECK_INT(told(), 1);
    CHECK_INT(count_of(advice, (tv_advice_query){0}), 0);
    tv_advice_free(advice);
    unlink(path);
    snprintf(path, sizeof path, "%s/watch/secret", folder);
    CHECK_INT(unlink(path), 0);
    snprintf(path, sizeof path, "%s/watch", folder);
    rmdir(path);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(findings_open_and_fade),
        cmocka_unit_test(a_stronger_finding_takes_the_place_of_a_weaker_one),
        cmocka_unit_test(ignored_findings_come_back_when_the_time_is_over),
        cmocka_unit_test(a_full_book_drops_what_was_seen_longest_ago),
        cmocka_unit_test(a_file_is_read_whole_or_not_at_all),
        cmocka_unit_test(guesses_at_redacted_keys_cannot_be_tested),
        cmocka_unit_test(keys_that_differ_have_other_hashes),
        cmocka_unit_test(a_store_keeps_its_secret_and_does_without),
        cmocka_unit_test(redacted_findings_show_no_piece_of_a_key),
        cmocka_unit_test(advice_survives_a_restart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
