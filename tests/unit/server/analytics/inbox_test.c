/* Records on their way to the thread of analytics. */
#include "server/analytics/inbox.h"

#include "check.h"

static tv_analytics_inbox inbox;
static int hurries;

static void count_hurry(void *ctx)
{
    (void)ctx;
    hurries++;
}

static void count_record(void *ctx, const tv_analytics_record *record)
{
    CHECK(record->bytes >= sizeof *record);
    (*(int *)ctx)++;
}

static int set_up(__attribute__((unused)) void **state)
{
    hurries = 0;
    tv_analytics_inbox_init(&inbox, count_hurry, NULL);
    return 0;
}

static int tear_down(__attribute__((unused)) void **state)
{
    int count = 0;

    tv_analytics_inbox_take(&inbox, count_record, &count);
    tv_analytics_inbox_done(&inbox);
    return 0;
}

static tv_analytics_record *record_of_account(const char *account, size_t bytes)
{
    tv_analytics_record *record = tv_calloc(1, bytes);

    record->bytes = bytes;
    record->account = tv_slice_of(account);
    return record;
}

static tv_analytics_record *record_of(size_t bytes)
{
    return record_of_account("one", bytes);
}

/* As many as find room. */
static int fill(const char *account, size_t bytes)
{
    int count = 0;

    while (tv_analytics_inbox_post(&inbox, record_of_account(account, bytes)))
        CHECK((size_t)++count * bytes <= TV_ANALYTICS_INBOX_BYTES_MAX);
    return count;
}

/* As if the owner were the fastest thread there is: it has the record as soon as it is posted. */
static void take_at_once(void *ctx)
{
    tv_analytics_inbox_take(&inbox, count_record, ctx);
}

TEST(a_record_is_the_owners_as_soon_as_it_is_posted)
{
    int count = 0;

    inbox.box.wake = take_at_once;
    inbox.box.ctx = &count;
    for (int i = 0; i < 3; i++)
        CHECK(tv_analytics_inbox_post(&inbox, record_of(sizeof(tv_analytics_record) + 100)));
    CHECK(tv_analytics_inbox_post(&inbox, record_of(TV_ANALYTICS_INBOX_BYTES_MAX / 2)));
    CHECK_INT(count, 4);
    CHECK_INT(hurries, 1);
    CHECK_INT(atomic_load(&inbox.waiting_bytes), 0);
}

TEST(what_finds_no_room_is_dropped_and_the_rest_is_taken_in_order)
{
    int count = fill("one", 1024 * 1024);

    CHECK(count > 0);
    CHECK_INT(hurries, 1);

    int taken = 0;

    tv_analytics_inbox_take(&inbox, count_record, &taken);
    CHECK_INT(taken, count);
    CHECK_INT(atomic_load(&inbox.waiting_bytes), 0);
    CHECK(tv_analytics_inbox_post(&inbox, record_of(1024 * 1024)));
}

/* Whoever floods it, in whatever order: the next one has room for a good second's lines. */
TEST(no_account_takes_the_room_of_another)
{
    static const char *const accounts[] = {"one", "two", "three", "four"};
    size_t before = 0;

    for (size_t i = 0; i < sizeof accounts / sizeof *accounts; i++) {
        fill(accounts[i], 64 * 1024);
        t_row = accounts[i];

        size_t taken = atomic_load(&inbox.waiting_bytes) - before;

        CHECK(taken >= 512 * 1024);
        before += taken;
    }
    CHECK(before < TV_ANALYTICS_INBOX_BYTES_MAX);
    for (int i = 0; i < 100; i++)
        CHECK(tv_analytics_inbox_post(&inbox, record_of_account("polite", 2048)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_record_is_the_owners_as_soon_as_it_is_posted, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(
            what_finds_no_room_is_dropped_and_the_rest_is_taken_in_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_account_takes_the_room_of_another, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
