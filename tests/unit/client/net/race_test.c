/* Addresses that are raced: which are tried and when, which one wins, and what is left of the
 * others. */
#include "client/net/race.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>

#include "client/net/connect.h"
#include "client/net/drive.h"
#include "client/net/fake_hosts.h"

static const int64_t delay_ns = TVC_RACE_DELAY_MS * MS;

static tvc_endpoint *open_host(uint32_t connect_timeout_ms)
{
    tvc_net_options options = {
        .connect_timeout_ms = connect_timeout_ms, .connections_max = 2, .proxy = ""};
    tvc_endpoint *endpoint = NULL;

    CHECK_INT(tvc_endpoint_open("http://raced.test", &options, &endpoint, NULL), TAVOLA_OK);
    return endpoint;
}

/* Ask for the addresses again and again, as they come from another thread. */
static tvc_addresses ask_for_addresses(tvc_endpoint *endpoint)
{
    test_waker waker = {.waker.wake = test_wake};
    tvc_resolve_waiter waiter = {0};
    tvc_addresses addresses;

    sem_init(&waker.called, 0, 0);
    while (tvc_resolver_ask(endpoint->resolver, &waiter, &waker.waker, &addresses) != TVC_RESOLVED)
        sem_wait(&waker.called);
    sem_destroy(&waker.called);
    return addresses;
}

/* Step until it waits for a socket, and not for the name any more. */
static tvc_wait step_to_attempts(tvc_exchange *x, test_waker *waker, int64_t *ret_until_ns)
{
    tvc_wait wait;
    int fd;

    x->waker = &waker->waker;
    while ((wait = tvc_exchange_step(x, &fd, ret_until_ns)) == TVC_WAIT_WAKE)
        sem_wait(&waker->called);
    return wait;
}

/* The families take turns, and each keeps its order; also where one has more than are taken. */
TEST(families_take_turns)
{
    static const struct {
        const char *label;
        const char *found[12], *tried[TVC_ADDRESSES_MAX];
    } cases[] = {
        {"one of each", {"::1", "10.0.0.1"}, {"::1", "10.0.0.1"}},
        {"IPv6 first",
         {"::1", "::2", "10.0.0.1", "10.0.0.2"},
         {"::1", "10.0.0.1", "::2", "10.0.0.2"}},
        {"IPv4 first", {"10.0.0.1", "10.0.0.2", "::1"}, {"10.0.0.1", "::1", "10.0.0.2"}},
        {"mixed already", {"::1", "10.0.0.1", "::2"}, {"::1", "10.0.0.1", "::2"}},
        {"more of the other", {"::1", "10.0.0.1", "10.0.0.2"}, {"::1", "10.0.0.1", "10.0.0.2"}},
        {"one family", {"::1", "::2", "::3"}, {"::1", "::2", "::3"}},
        {"too many",
         {"::1", "::2", "::3", "::4", "::5", "::6", "::7", "::8", "::9", "10.0.0.1"},
         {"::1", "10.0.0.1", "::2", "::3", "::4", "::5", "::6", "::7"}},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t want = 0;

        t_row = cases[i].label;
        fake_hosts.count = 0;
        for (size_t k = 0; cases[i].found[k]; k++)
            fake_hosts_add(cases[i].found[k], 80);

        tvc_endpoint *endpoint = open_host(CONNECT_MS);
        tvc_addresses addresses = ask_for_addresses(endpoint);

        while (want < TVC_ADDRESSES_MAX && cases[i].tried[want])
            want++;
        CHECK_INT(addresses.count, want);
        for (size_t k = 0; k < want; k++) {
            tvc_address expected = address_of(cases[i].tried[k], 80);

            CHECK(memcmp(&addresses.list[k], &expected, sizeof expected) == 0);
        }
        tvc_endpoint_close(endpoint);
    }
}

TEST(the_next_attempt_begins_after_a_quarter_of_a_second)
{
    script_server server = {.answers = {{.text = HELLO}}, .answer_count = 1};
    silent_host silent = silent_start();
    test_waker waker = {.waker.wake = test_wake};
    int64_t until_ns = 0;

    script_server_start(&server);
    sem_init(&waker.called, 0, 0);
    fake_hosts.count = 0;
    fake_hosts_add("127.0.0.1", silent.port);
    fake_hosts_add("127.0.0.1", server.port);

    tvc_endpoint *endpoint = open_host(CONNECT_MS);
    (void)ask_for_addresses(endpoint);
    int files = count_open_files();
    tvc_exchange x = make_get(endpoint);
    int64_t before_ns = tv_clock_mono_ns();

    CHECK(step_to_attempts(&x, &waker, &until_ns) != TVC_WAIT_NOTHING);
    if (tv_clock_mono_ns() - before_ns < delay_ns) {
        CHECK_INT(x.state.conn->opening->race.next, 1);
        CHECK(until_ns >= before_ns + delay_ns && until_ns <= tv_clock_mono_ns() + delay_ns);
    }
    tv_clock_skip_ns(delay_ns);
    drive(&x);
    CHECK_END(x, TAVOLA_OK, TVC_ANSWERED);
    CHECK_INT(server.connections, 1);
    CHECK_INT(count_open_files(), files + 2); /* both ends of the one that won */
    tvc_exchange_done(&x);
    tvc_endpoint_close(endpoint);
    sem_destroy(&waker.called);
    silent_stop(&silent);
    script_server_stop(&server);
}

TEST(the_next_attempt_begins_at_once_when_one_fails)
{
    script_server server = {.answers = {{.text = HELLO}}, .answer_count = 1};
    silent_host silent = silent_start();
    tvc_race race;
    tvc_race_state at;
    tvc_pending pending;
    tvc_address winner;
    int fd = -1;

    script_server_start(&server);
    tvc_race_init(&race);
    race.addresses = (tvc_addresses){
        4,
        {address_of("127.0.0.1", silent.port), address_of("127.0.0.1", refusing_port()),
         address_of("127.0.0.1", refusing_port()), address_of("127.0.0.1", server.port)}};

    CHECK_INT(tvc_race_step(&race, INT64_MAX, &pending, &fd, &winner), TVC_RACE_GOES_ON);
    race.next_ns = 0; /* the second; the third and fourth follow by what happens to them */
    while ((at = tvc_race_step(&race, INT64_MAX, &pending, &fd, &winner)) == TVC_RACE_GOES_ON) {
        CHECK(race.next > 1);
        if (race.next_ns)
            race.next_ns = INT64_MAX;
        wait_as_asked(pending.wait, pending.fd, tv_clock_mono_ns() + CONNECT_MS * MS, NULL);
    }
    CHECK_INT(at, TVC_RACE_WON);
    CHECK(memcmp(&winner, &race.addresses.list[3], sizeof winner) == 0);
    close(fd);
    silent_stop(&silent);
    script_server_stop(&server);
}

/* Attempts go on beside the later ones: the first answers here after all, at its next packet. */
TEST(an_earlier_attempt_can_still_win)
{
    silent_host first = silent_start(), second = silent_start();
    tvc_race race;
    tvc_race_state at;
    tvc_pending pending;
    tvc_address winner;
    int files = count_open_files(), fd = -1;

    tvc_race_init(&race);
    race.addresses = (tvc_addresses){
        2, {address_of("127.0.0.1", first.port), address_of("127.0.0.1", second.port)}};
    CHECK_INT(tvc_race_step(&race, INT64_MAX, &pending, &fd, &winner), TVC_RACE_GOES_ON);
    tv_clock_skip_ns(delay_ns);
    CHECK_INT(tvc_race_step(&race, INT64_MAX, &pending, &fd, &winner), TVC_RACE_GOES_ON);
    CHECK_INT(race.running, 2);
    CHECK_INT(pending.wait, TVC_WAIT_READ);
    CHECK(pending.until_ns == INT64_MAX);

    silent_answer(&first);
    while ((at = tvc_race_step(&race, INT64_MAX, &pending, &fd, &winner)) == TVC_RACE_GOES_ON)
        wait_as_asked(pending.wait, pending.fd, tv_clock_mono_ns() + CONNECT_MS * MS, NULL);
    CHECK_INT(at, TVC_RACE_WON);
    CHECK(memcmp(&winner, &race.addresses.list[0], sizeof winner) == 0);
    CHECK_INT(count_open_files(), files + 1);
    close(fd);
    silent_stop(&first);
    silent_stop(&second);
}

TEST(short_timeouts_leave_time_for_all)
{
    enum { COUNT = 4 };
    silent_host silent = silent_start();
    int64_t deadline_ns = tv_clock_mono_ns() + CONNECT_MS * MS;
    tvc_race race;
    tvc_pending pending;
    tvc_address winner;
    int fd = -1;

    tvc_race_init(&race);
    for (int i = 0; i < COUNT; i++)
        race.addresses.list[race.addresses.count++] = address_of("127.0.0.1", silent.port);
    CHECK_INT(tvc_race_step(&race, deadline_ns, &pending, &fd, &winner), TVC_RACE_GOES_ON);
    /* As if nearly all of the time had passed: what is left is shared. */
    race.next_ns = 0;
    tv_clock_skip_ns(CONNECT_MS * MS - 3 * delay_ns / 2);
    int64_t share_ns = (deadline_ns - tv_clock_mono_ns()) / (COUNT - 1);

    CHECK_INT(tvc_race_step(&race, deadline_ns, &pending, &fd, &winner), TVC_RACE_GOES_ON);
    CHECK(share_ns < delay_ns && race.next_ns <= tv_clock_mono_ns() + share_ns);
    tvc_race_end(&race);
    silent_stop(&silent);
}

/* Where no more files can be opened, the attempts that are there go on. */
TEST(a_lack_of_files_ends_no_attempt)
{
    silent_host silent = silent_start();
    struct rlimit before, none;
    tvc_race race;
    tvc_race_state at;
    tvc_pending pending;
    tvc_address winner;
    int fd = -1;

    for (int spare = 0; spare < 3; spare++) {
        CHECK_INT(getrlimit(RLIMIT_NOFILE, &before), 0);
        tvc_race_init(&race);
        race.addresses = (tvc_addresses){3,
                                         {address_of("127.0.0.1", silent.port),
                                          address_of("127.0.0.1", silent.port),
                                          address_of("127.0.0.1", silent.port)}};
        none = before;
        none.rlim_cur = (rlim_t)fcntl(0, F_DUPFD, 0);
        close((int)none.rlim_cur);
        none.rlim_cur += (rlim_t)spare;
        CHECK_INT(setrlimit(RLIMIT_NOFILE, &none), 0);
        at = tvc_race_step(&race, INT64_MAX, &pending, &fd, &winner);
        CHECK_INT(at, spare ? TVC_RACE_GOES_ON : TVC_RACE_LOST);
        tv_clock_skip_ns(delay_ns);
        if (spare)
            CHECK_INT(tvc_race_step(&race, INT64_MAX, &pending, &fd, &winner), TVC_RACE_GOES_ON);
        CHECK_INT(race.next, 3);
        CHECK_INT(race.running, spare > 0);
        CHECK_INT(race.error, EMFILE);
        CHECK_INT(setrlimit(RLIMIT_NOFILE, &before), 0);
        tvc_race_end(&race);
    }
    silent_stop(&silent);
}

static void check_first(tvc_endpoint *endpoint, const tvc_address *want)
{
    tvc_addresses addresses = ask_for_addresses(endpoint);

    CHECK(memcmp(&addresses.list[0], want, sizeof *want) == 0);
}

TEST(the_winner_is_tried_first_until_it_fails)
{
    script_server server = {
        .answers = {{.text = "HTTP/1.1 204 X\r\nConnection: close\r\n\r\n", .then_close = true}},
        .answer_count = 1};

    script_server_start(&server);
    fake_hosts.count = 0;
    for (int i = 0; i < 3; i++)
        fake_hosts_add("127.0.0.1", refusing_port());
    fake_hosts_add("127.0.0.1", server.port);

    tvc_endpoint *endpoint = open_host(CONNECT_MS);

    check_first(endpoint, &fake_hosts.addresses[0]);
    for (int i = 0; i < 2; i++) {
        tvc_exchange x = make_get(endpoint);

        drive(&x);
        CHECK_END(x, TAVOLA_OK, TVC_ANSWERED);
        tvc_exchange_done(&x);
        check_first(endpoint, &fake_hosts.addresses[3]);
    }
    /* Also when the system is asked again, but not when it does not know that address any more. */
    tv_clock_skip_ns(TVC_ADDRESSES_KEPT_MS * MS);
    check_first(endpoint, &fake_hosts.addresses[3]);
    fake_hosts.count = 3;
    tv_clock_skip_ns(TVC_ADDRESSES_KEPT_MS * MS);
    check_first(endpoint, &fake_hosts.addresses[0]);
    fake_hosts.count = 4;
    tv_clock_skip_ns(TVC_ADDRESSES_KEPT_MS * MS);
    check_first(endpoint, &fake_hosts.addresses[3]);

    script_server_stop(&server);
    tvc_exchange x = make_get(endpoint);

    drive(&x);
    CHECK_END(x, TAVOLA_ERR_NETWORK, TVC_NOT_SENT);
    CHECK_TEXT(tv_slice_of(x.why), "the connection was refused");
    tvc_exchange_done(&x);
    check_first(endpoint, &fake_hosts.addresses[0]);
    tvc_endpoint_close(endpoint);
}

/* However it ends in the middle: nothing was sent, and nothing stays open. */
TEST(deadlines_hold_and_nothing_was_sent)
{
    enum { BY_CONNECT, BY_EXCHANGE, BY_LETTING_GO, WAYS };
    silent_host silent = silent_start();

    fake_hosts.count = 0;
    for (int i = 0; i < 3; i++)
        fake_hosts_add("127.0.0.1", silent.port);
    for (int way = 0; way < WAYS; way++) {
        tvc_endpoint *endpoint = open_host(CONNECT_MS);
        (void)ask_for_addresses(endpoint);
        tvc_exchange x = make_get(endpoint);
        test_waker waker = {.waker.wake = test_wake};
        int64_t until_ns = 0;
        int files = count_open_files(), fd;

        sem_init(&waker.called, 0, 0);
        if (way == BY_EXCHANGE)
            x.deadline_ns = tv_clock_mono_ns() + CONNECT_MS * MS / 2;
        for (int i = 0; i < 3; i++) {
            CHECK(step_to_attempts(&x, &waker, &until_ns) != TVC_WAIT_NOTHING);
            CHECK(until_ns <= x.deadline_ns);
            tv_clock_skip_ns(delay_ns);
        }
        CHECK_INT(x.state.conn->opening->race.running, 3);
        CHECK_INT(count_open_files(), files + 4);
        CHECK(!tvc_exchange_was_sent(&x));
        if (way != BY_LETTING_GO) {
            CHECK(step_to_attempts(&x, &waker, &until_ns) != TVC_WAIT_NOTHING);
            tv_clock_skip_ns(until_ns - tv_clock_mono_ns());
            CHECK_INT(tvc_exchange_step(&x, &fd, &until_ns), TVC_WAIT_NOTHING);
            CHECK_END(x, way == BY_CONNECT ? TAVOLA_ERR_NETWORK : TAVOLA_ERR_TIMEOUT, TVC_NOT_SENT);
        }
        tvc_exchange_done(&x);
        CHECK_INT(count_open_files(), files);
        tvc_endpoint_close(endpoint);
        sem_destroy(&waker.called);
    }
    silent_stop(&silent);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(families_take_turns),
        cmocka_unit_test(the_next_attempt_begins_after_a_quarter_of_a_second),
        cmocka_unit_test(the_next_attempt_begins_at_once_when_one_fails),
        cmocka_unit_test(an_earlier_attempt_can_still_win),
        cmocka_unit_test(short_timeouts_leave_time_for_all),
        cmocka_unit_test(a_lack_of_files_ends_no_attempt),
        cmocka_unit_test(the_winner_is_tried_first_until_it_fails),
        cmocka_unit_test(deadlines_hold_and_nothing_was_sent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
