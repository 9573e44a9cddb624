/* Connections by address. */
#include "wire/http/peers.h"

#include <arpa/inet.h>

#include "check.h"

static struct sockaddr_storage address_of(const char *text)
{
    struct sockaddr_storage address = {0};
    struct sockaddr_in *v4 = (struct sockaddr_in *)&address;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&address;

    address.ss_family = strchr(text, ':') ? AF_INET6 : AF_INET;
    if (address.ss_family == AF_INET)
        CHECK_INT(inet_pton(AF_INET, text, &v4->sin_addr), 1);
    else
        CHECK_INT(inet_pton(AF_INET6, text, &v6->sin6_addr), 1);
    return address;
}

static const struct {
    const char *what, *first, *second;
    bool is_same;
} pairs[] = {
    {"an address", "10.0.0.1", "10.0.0.1", true},
    {"two addresses", "10.0.0.1", "10.0.0.2", false},
    {"IPv4 in IPv6", "10.0.0.1", "::ffff:10.0.0.1", true},
    {"two of those", "::ffff:10.0.0.1", "::ffff:10.0.0.2", false},
    {"a network of IPv6", "2001:db8:0:1::1", "2001:db8:0:1:ffff:2:3:4", true},
    {"two networks of IPv6", "2001:db8:0:1::1", "2001:db8:0:2::1", false},
    {"both loopbacks", "127.0.0.1", "::1", false},
};

TEST(connections_of_one_network_are_counted_together)
{
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct sockaddr_storage first = address_of(pairs[i].first);
        struct sockaddr_storage second = address_of(pairs[i].second);
        tv_peers peers;

        t_row = pairs[i].what;
        tv_peers_init(&peers, 1);
        tv_peer *one = tv_peers_add(&peers, &first), *two = tv_peers_add(&peers, &second);

        CHECK_INT(one == two, pairs[i].is_same);
        CHECK_INT(two->connection_count, pairs[i].is_same ? 2 : 1);
        tv_peers_remove(&peers, one);
        tv_peers_remove(&peers, two);
        tv_peers_done(&peers);
    }
}

/* More than there are slots, taken away in another order. */
TEST(many_addresses_are_told_apart)
{
    enum { COUNT = 1000 };
    tv_peer *entries[COUNT];
    tv_peers peers;

    tv_peers_init(&peers, 10);
    for (int round = 1; round <= 2; round++) {
        for (int i = 0; i < COUNT; i++) {
            char text[32];

            snprintf(text, sizeof text, "10.1.%d.%d", i / 256, i % 256);
            struct sockaddr_storage address = address_of(text);

            entries[i] = tv_peers_add(&peers, &address);
            CHECK_INT(entries[i]->connection_count, round);
        }
    }
    for (int i = 0; i < 2 * COUNT; i++)
        tv_peers_remove(&peers, entries[i * 7 % COUNT]);
    for (size_t i = 0; i < peers.slot_count; i++)
        CHECK(peers.slots[i] == NULL);
    tv_peers_done(&peers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(connections_of_one_network_are_counted_together),
        cmocka_unit_test(many_addresses_are_told_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
