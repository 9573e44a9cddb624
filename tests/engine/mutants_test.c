/*
 * Do the tests of writes and of drops find mistakes?  Both programs are built into this one,
 * with mistakes that can be switched on (engine/mutants.h): with each of them
 * the test that is to find it must fail, and without one it must not.
 *
 * Every try is a process of its own, whose output nobody needs.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "store/engine/mutants.h"

/* The tests meet a mistake by chance, in most tries at once. */
enum { TRIES = 100 };

int blob_nodes_main(void);  /* blob_nodes_test.c */
int drops_main(void);       /* drops_test.c */
int queue_nodes_main(void); /* queue_nodes_test.c */
int rados_sim_main(void);   /* rados_sim_test.c */

static const struct {
    const char *what;
    int mutant;
    int (*run)(void);
    const char *test; /* the one that is to find it */
} mutants[] = {
    {"a write of any instant is taken, on clocks that differ", TV_MUTANT_NO_CLOCK_COMPARE,
     rados_sim_main, "nothing_is_lost_or_torn_whatever_the_order"},
    {"a delete does not note what instant its row had", TV_MUTANT_NO_GONE, rados_sim_main,
     "nothing_is_lost_or_torn_whatever_the_order"},
    {"a row is put where there was a later one", TV_MUTANT_NO_GONE_COMPARE, rados_sim_main,
     "nothing_is_lost_or_torn_whatever_the_order"},
    {"a write is compared only with the clock that its own node sets", TV_MUTANT_OWN_SLOT,
     rados_sim_main, "nothing_is_lost_or_torn_whatever_the_order"},
    {"a write is acknowledged whatever comes of it", TV_MUTANT_EARLY_ANSWER, rados_sim_main,
     "nothing_is_lost_or_torn_whatever_the_order"},
    {"a message is put at the instant of its node, whatever came before", TV_MUTANT_NO_QUEUE_NOW,
     queue_nodes_main, "a_queue_keeps_its_order_on_nodes_that_overtake_each_other"},
    {"a put does not say when it was", TV_MUTANT_NO_LATEST, queue_nodes_main,
     "a_queue_keeps_its_order_on_nodes_that_overtake_each_other"},
    {"the rows that guard others are not compared", TV_MUTANT_NO_GUARD, queue_nodes_main,
     "a_queue_keeps_its_order_on_nodes_that_overtake_each_other"},
    {"the rows that guard a blob are not compared", TV_MUTANT_NO_GUARD, blob_nodes_main,
     "blobs_and_containers_keep_their_order_on_nodes_that_overtake_each_other"},
    {"a blob is deleted and nothing says what its latest stamp was", TV_MUTANT_NO_BLOB_GONE,
     blob_nodes_main, "blobs_and_containers_keep_their_order_on_nodes_that_overtake_each_other"},
    {"a change of a blob does not look at when its last snapshot was", TV_MUTANT_NO_SNAPSHOT_LAST,
     blob_nodes_main, "blobs_and_containers_keep_their_order_on_nodes_that_overtake_each_other"},
    {"a container is deleted and nothing says what its latest ETag was",
     TV_MUTANT_NO_CONTAINER_GONE, blob_nodes_main,
     "blobs_and_containers_keep_their_order_on_nodes_that_overtake_each_other"},
    {"a drop is answered without a fence", TV_MUTANT_UNFENCED_DROP, drops_main,
     "tables_come_and_go_on_three_nodes_as_if_there_were_one"},
    {"a map is used before the catalogues were read for it", TV_MUTANT_EARLY_MAP, drops_main,
     "tables_come_and_go_on_three_nodes_as_if_there_were_one"},
    {"a name is given anew before its last table is fenced", TV_MUTANT_BLIND_CREATE, drops_main,
     "a_create_ends_the_drop_of_the_table_that_had_its_name"},
    {"a table is called absent before it is fenced", TV_MUTANT_BLIND_LOOK, drops_main,
     "whoever_hears_that_a_table_is_gone_can_rely_on_it"},
};

/* Whether a test of a program, or all of them (NULL), passes with this mistake. */
static bool passes(int (*run)(void), const char *test, int mutant)
{
    int status;
    pid_t child;

    fflush(stdout);
    child = fork();
    if (child == 0) {
        int nowhere = open("/dev/null", O_WRONLY);

        dup2(nowhere, STDOUT_FILENO);
        dup2(nowhere, STDERR_FILENO);
        unsetenv("TAVOLA_SEED"); /* each try has others */
        tv_mutant = mutant;
        cmocka_set_test_filter(test);
        _exit(run() == 0 ? 0 : 1);
    }
    CHECK(waitpid(child, &status, 0) == child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(every_mistake_is_found)
{
    for (size_t i = 0; i < sizeof mutants / sizeof *mutants; i++) {
        int tries = 1;

        t_row = mutants[i].what;
        while (tries < TRIES && passes(mutants[i].run, mutants[i].test, mutants[i].mutant))
            tries++;
        printf("# %s: found in try %d\n", t_row, tries);
        CHECK(tries < TRIES);
    }
}

TEST(without_a_mistake_none_is_found)
{
    CHECK(passes(rados_sim_main, NULL, TV_MUTANT_NONE));
    CHECK(passes(queue_nodes_main, NULL, TV_MUTANT_NONE));
    CHECK(passes(blob_nodes_main, NULL, TV_MUTANT_NONE));
    CHECK(passes(drops_main, NULL, TV_MUTANT_NONE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_mistake_is_found),
        cmocka_unit_test(without_a_mistake_none_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
