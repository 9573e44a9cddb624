/* From names to addresses, without blocking. */
#include "client/net/resolve.h"

#include <arpa/inet.h>

#include "client/net/drive.h"

/*
 * A lookup that nobody waits for any more may be under way when the program ends: what the C
 * library holds for it then is no leak.  Read by the sanitizer.
 */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:res_context_send\n";
}

/* Ask until there is an answer; whether it had to wait. */
static tvc_resolve ask(tvc_resolver *resolver, tvc_addresses *ret_addresses, bool *ret_has_waited,
                       tvc_resolve_waiter *ret_waiter)
{
    test_waker waker = {.waker.wake = test_wake};
    tvc_resolve_waiter waiter = {0};
    tvc_resolve resolve;

    sem_init(&waker.called, 0, 0);
    *ret_has_waited = false;
    while ((resolve = tvc_resolver_ask(resolver, &waiter, &waker.waker, ret_addresses)) ==
           TVC_RESOLVE_WAIT) {
        *ret_has_waited = true;
        sem_wait(&waker.called);
    }
    sem_destroy(&waker.called);
    *ret_waiter = waiter;
    return resolve;
}

TEST(takes_addresses_as_they_are)
{
    static const struct {
        const char *host;
        int family;
    } cases[] = {{"127.0.0.1", AF_INET}, {"::1", AF_INET6}, {"2001:db8::1", AF_INET6}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tvc_resolver *resolver = tvc_resolver_new(cases[i].host, 10002);
        tvc_resolve_waiter waiter;
        tvc_addresses addresses;
        bool has_waited;
        char text[INET6_ADDRSTRLEN];

        t_row = cases[i].host;
        CHECK_INT(ask(resolver, &addresses, &has_waited, &waiter), TVC_RESOLVED);
        CHECK(!has_waited);
        CHECK_INT(addresses.count, 1);

        const tvc_address *address = &addresses.list[0];
        const void *bytes = cases[i].family == AF_INET ? (const void *)&address->as.v4.sin_addr
                                                       : (const void *)&address->as.v6.sin6_addr;

        CHECK_INT(address->as.any.sa_family, cases[i].family);
        CHECK_TEXT(tv_slice_of(inet_ntop(cases[i].family, bytes, text, sizeof text)),
                   cases[i].host);
        CHECK_INT(ntohs(address->as.v4.sin_port), 10002); /* at the same place in both */
        tvc_resolver_free(resolver);
    }
}

TEST(asks_once_in_a_while)
{
    tvc_resolver *resolver = tvc_resolver_new("localhost", 80);
    tvc_resolve_waiter waiter;
    tvc_addresses addresses;
    bool has_waited;

    CHECK_INT(ask(resolver, &addresses, &has_waited, &waiter), TVC_RESOLVED);
    CHECK(has_waited && addresses.count >= 1);
    CHECK_INT(ask(resolver, &addresses, &has_waited, &waiter), TVC_RESOLVED);
    CHECK(!has_waited && addresses.count >= 1);
    tvc_resolver_forget(resolver);
    CHECK_INT(ask(resolver, &addresses, &has_waited, &waiter), TVC_RESOLVED);
    CHECK(has_waited);
    tvc_resolver_free(resolver);
}

TEST(says_why_there_is_no_address)
{
    tvc_resolver *resolver = tvc_resolver_new("no-such-host.invalid", 80);
    tvc_resolve_waiter waiter;
    tvc_addresses addresses;
    bool has_waited;

    for (int i = 0; i < 2; i++) { /* a failure is not kept */
        CHECK_INT(ask(resolver, &addresses, &has_waited, &waiter), TVC_RESOLVE_FAILED);
        CHECK(has_waited && waiter.why);
        CHECK(waiter.err == TAVOLA_ERR_INVALID || waiter.err == TAVOLA_ERR_NETWORK);
    }
    tvc_resolver_free(resolver);
}

/* The thread may still ask when all have left and the resolver is gone. */
TEST(lets_go_of_those_who_leave)
{
    for (int i = 0; i < 50; i++) {
        tvc_resolver *resolver = tvc_resolver_new("localhost", 80);
        test_waker waker = {.waker.wake = test_wake};
        tvc_resolve_waiter waiters[3] = {0};
        tvc_addresses addresses;

        sem_init(&waker.called, 0, 0);
        for (int k = 0; k < 3; k++)
            (void)tvc_resolver_ask(resolver, &waiters[k], &waker.waker, &addresses);
        tvc_resolver_leave(resolver, &waiters[1]);
        tvc_resolver_leave(resolver, &waiters[0]);
        tvc_resolver_leave(resolver, &waiters[2]);
        tvc_resolver_leave(resolver, &waiters[2]);
        tvc_resolver_free(resolver);
        sem_destroy(&waker.called);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_addresses_as_they_are),
        cmocka_unit_test(asks_once_in_a_while),
        cmocka_unit_test(says_why_there_is_no_address),
        cmocka_unit_test(lets_go_of_those_who_leave),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
