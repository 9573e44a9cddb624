/* The committer's queue.  Numbers are those of the invariants in src/store/commit/README.md. */
#include "store/commit/queue.h"

#include "check.h"
#include "random.h"

enum { WRITES = 3000, MB = 1024 * 1024 };

static tv_write writes[WRITES];
static char keys[WRITES][32];
static tv_write *taken[WRITES];
static int partitions[WRITES], numbers[WRITES]; /* of a write, and its number there */

static void add(tv_write_queue *queue, int i, const char *account, int partition, size_t bytes)
{
    int len = snprintf(keys[i], sizeof keys[i], "r%s\x01%08d", account, partition);

    writes[i] = (tv_write){.partition = {keys[i], (size_t)len}, .bytes = bytes};
    tv_write_queue_place(&writes[i]);
    /* Each process has a hash of its own, by which any two may share a place once in a while. */
    writes[i].share = (uint16_t)(account[0] % 32);
    writes[i].place = (uint16_t)partition;
    tv_write_queue_add(queue, &writes[i]);
}

static size_t bytes_of(size_t count)
{
    size_t bytes = 0;

    for (size_t i = 0; i < count; i++)
        bytes += taken[i]->bytes;
    return bytes;
}

TEST(invariant_3_the_writes_to_a_partition_keep_their_order)
{
    enum { PARTITIONS = 20 };
    static const char *const accounts[] = {"ada", "bob", "eve"};
    tv_write_queue *queue = tv_write_queue_new(TV_WRITE_PLACES_MAX);
    int next[PARTITIONS] = {0}, seen[PARTITIONS] = {0};
    size_t left = 0;

    t_random_seed(0x0dde5);
    for (int i = 0; i < WRITES || left;) {
        for (size_t n = t_random() % 40; n > 0 && i < WRITES; n--, i++, left++) {
            int partition = (int)(t_random() % PARTITIONS);

            partitions[i] = partition;
            numbers[i] = next[partition]++;
            add(queue, i, accounts[partition % 3], partition,
                t_random() % 4 ? t_random() % 1000 : t_random() % (2 * MB));
        }
        size_t count = tv_write_queue_take(queue, 1 + t_random() % 50, taken);

        for (size_t j = 0; j < count; j++) {
            size_t i_taken = (size_t)(taken[j] - writes);

            CHECK_INT(numbers[i_taken], seen[partitions[i_taken]]);
            seen[partitions[i_taken]]++;
        }
        left -= count;
    }
    CHECK_INT(tv_write_queue_count(queue), 0);
    tv_write_queue_free(queue);
}

TEST(invariant_13_a_small_write_does_not_wait_for_large_ones)
{
    tv_write_queue *queue = tv_write_queue_new(TV_WRITE_PLACES_MAX);

    for (int i = 0; i < 100; i++)
        add(queue, i, "ada", i, 3 * MB);
    add(queue, 100, "ada", 1000, 500);
    add(queue, 101, "bob", 2000, 500);

    size_t count = tv_write_queue_take(queue, 1024, taken);

    CHECK_INT(count, 2);
    CHECK((taken[0] == &writes[100] && taken[1] == &writes[101]) ||
          (taken[0] == &writes[101] && taken[1] == &writes[100]));

    /* Then one of those, whatever else has come, and then small ones again. */
    add(queue, 102, "bob", 2000, 500);
    CHECK_INT(tv_write_queue_take(queue, 1024, taken), 1);
    CHECK_INT(taken[0]->bytes, 3 * MB);
    CHECK_INT(tv_write_queue_take(queue, 1024, taken), 1);
    CHECK(taken[0] == &writes[102]);
    while (tv_write_queue_take(queue, 1024, taken))
        ;
    tv_write_queue_free(queue);
}

/* A partition that has a small write waiting takes its large ones in the same order, but not all at
 * once. */
TEST(invariant_13_large_writes_after_a_small_one_are_taken_up_to_a_sum)
{
    tv_write_queue *queue = tv_write_queue_new(TV_WRITE_PLACES_MAX);
    int next = 0;

    for (int i = 0; i < 50; i++)
        add(queue, i, "ada", 7, i == 0 ? 100 : 3 * MB);
    add(queue, 50, "bob", 8, 500);

    CHECK_INT(tv_write_queue_take(queue, 1024, taken), 2);
    CHECK_INT(bytes_of(2), 100 + 500);
    for (size_t count = 2; count; count = tv_write_queue_take(queue, 1024, taken)) {
        for (size_t i = 0; i < count; i++) {
            if (taken[i] != &writes[50])
                CHECK(taken[i] == &writes[next++]);
        }
        CHECK(bytes_of(count) <= TV_GROUP_LARGE_BYTES_MAX);
    }
    CHECK_INT(next, 50);
    tv_write_queue_free(queue);
}

/* But not one by one: a partition that is never idle must not need a sync for each. */
TEST(large_writes_after_a_small_one_share_a_group)
{
    tv_write_queue *queue = tv_write_queue_new(TV_WRITE_PLACES_MAX);

    for (int i = 0; i < 50; i++)
        add(queue, i, "ada", 7, i == 0 ? 100 : 100 * 1024);
    CHECK_INT(tv_write_queue_take(queue, 1024, taken), 1 + TV_GROUP_MIXED_BYTES_MAX / (100 * 1024));
    CHECK_INT(tv_write_queue_take(queue, 1024, taken), TV_GROUP_LARGE_BYTES_MAX / (100 * 1024));
    while (tv_write_queue_take(queue, 1024, taken))
        ;
    tv_write_queue_free(queue);
}

TEST(invariant_13_large_writes_go_on_beside_small_ones_without_end)
{
    tv_write_queue *queue = tv_write_queue_new(TV_WRITE_PLACES_MAX);

    for (int i = 0; i < 1000; i++)
        add(queue, i, "ada", i, 100);
    add(queue, 1000, "bob", 1000, 30 * MB);

    CHECK_INT(tv_write_queue_take(queue, 10, taken), 10);
    CHECK_INT(bytes_of(10), 10 * 100);
    CHECK_INT(tv_write_queue_take(queue, 10, taken), 1);
    CHECK(taken[0] == &writes[1000]);
    while (tv_write_queue_take(queue, 1024, taken))
        ;
    tv_write_queue_free(queue);
}

/* A sync costs as much as they do. */
TEST(large_writes_that_are_not_much_go_beside_small_ones)
{
    tv_write_queue *queue = tv_write_queue_new(TV_WRITE_PLACES_MAX);

    for (int i = 0; i < 4; i++)
        add(queue, i, "ada", i, i % 2 ? 100 : 100 * 1024);
    CHECK_INT(tv_write_queue_take(queue, 1024, taken), 4);
    tv_write_queue_free(queue);
}

/* One partition is never idle and began with a small write, others have only large ones. */
TEST(both_chains_of_an_account_have_their_turns)
{
    tv_write_queue *queue = tv_write_queue_new(TV_WRITE_PLACES_MAX);
    int of_first = 0;

    add(queue, 0, "ada", 7, 100);
    for (int i = 1; i < 100; i++)
        add(queue, i, "ada", i % 2 ? 7 : i, 3 * MB);
    CHECK_INT(tv_write_queue_take(queue, 1024, taken), 1);
    for (int i = 0; i < 10; i++) {
        CHECK_INT(tv_write_queue_take(queue, 1024, taken), 1);
        of_first += (taken[0] - writes) % 2;
    }
    CHECK_INT(of_first, 5);
    while (tv_write_queue_take(queue, 1024, taken))
        ;
    tv_write_queue_free(queue);
}

TEST(large_writes_are_taken_up_to_a_sum_and_in_turns)
{
    tv_write_queue *queue = tv_write_queue_new(TV_WRITE_PLACES_MAX);
    bool has_ada = false, has_bob = false;

    for (int i = 0; i < 50; i++)
        add(queue, i, "ada", i, MB);
    for (int i = 50; i < 100; i++)
        add(queue, i, "bob", i, MB);

    size_t count = tv_write_queue_take(queue, 1024, taken);

    CHECK_INT(bytes_of(count), TV_GROUP_LARGE_BYTES_MAX);
    for (size_t i = 0; i < count; i++) {
        has_ada = has_ada || taken[i]->partition.data[1] == 'a';
        has_bob = has_bob || taken[i]->partition.data[1] == 'b';
    }
    CHECK(has_ada && has_bob);
    while (tv_write_queue_take(queue, 1024, taken))
        ;
    tv_write_queue_free(queue);
}

TEST(an_account_does_not_wait_for_all_the_writes_of_another)
{
    tv_write_queue *queue = tv_write_queue_new(TV_WRITE_PLACES_MAX);
    size_t at = 0;

    for (int i = 0; i < 2000; i++)
        add(queue, i, "ada", i, 100);
    add(queue, 2000, "bob", 1, 100);

    size_t count = tv_write_queue_take(queue, 1024, taken);

    CHECK_INT(count, 1024);
    while (at < count && taken[at] != &writes[2000])
        at++;
    CHECK(at <= 16);
    while (tv_write_queue_take(queue, 1024, taken))
        ;
    tv_write_queue_free(queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invariant_3_the_writes_to_a_partition_keep_their_order),
        cmocka_unit_test(invariant_13_a_small_write_does_not_wait_for_large_ones),
        cmocka_unit_test(invariant_13_large_writes_after_a_small_one_are_taken_up_to_a_sum),
        cmocka_unit_test(large_writes_after_a_small_one_share_a_group),
        cmocka_unit_test(invariant_13_large_writes_go_on_beside_small_ones_without_end),
        cmocka_unit_test(large_writes_that_are_not_much_go_beside_small_ones),
        cmocka_unit_test(both_chains_of_an_account_have_their_turns),
        cmocka_unit_test(large_writes_are_taken_up_to_a_sum_and_in_turns),
        cmocka_unit_test(an_account_does_not_wait_for_all_the_writes_of_another),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
