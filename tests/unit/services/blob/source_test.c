/* Whether the source of a copy is on this server. */
#include "services/blob/ops/copy_source.h"

#include "check.h"

static const struct {
    const char *what, *host, *called;
    bool is_same;
} hosts[] = {
    {"the same name", "127.0.0.1:10000", "127.0.0.1:10000", true},
    {"in another case", "Store.Example:10000", "store.example:10000", true},
    {"another port", "127.0.0.1:10000", "127.0.0.1:10001", false},
    {"no port", "store.example", "store.example:10000", false},
    {"another name for this machine", "localhost:10000", "127.0.0.1:10000", true},
    {"and by IPv6", "[::1]:10000", "localhost:10000", true},
    {"but not another port", "localhost:10001", "127.0.0.1:10000", false},
    {"another machine", "10.0.0.5:10000", "127.0.0.1:10000", false},
    {"another account in the host's name", "a.blob.localhost:10000", "b.blob.localhost:10000",
     true},
    {"of this domain", "a.blob.store.example", "b.blob.store.example", true},
    {"of another domain", "a.blob.core.windows.net", "b.blob.store.example", false},
    {"of another service", "a.queue.store.example", "b.blob.store.example", false},
    {"this machine from a name", "127.0.0.1:10000", "store.example:10000", false},
    {"a name from this machine", "store.example:10000", "127.0.0.1:10000", false},
    {"somewhere else", "example.com", "store.example", false},
    {"the cloud's name for the account", "mine.blob.core.windows.net", "127.0.0.1:10000", true},
    {"in another case", "Mine.Blob.Core.Windows.Net", "store.example", true},
    {"for another account", "mine2.blob.core.windows.net", "127.0.0.1:10000", false},
    {"for none", ".blob.core.windows.net", "127.0.0.1:10000", false},
    {"with more behind it", "mine.blob.core.windows.net.evil.example", "127.0.0.1:10000", false},
    {"at another port", "mine.blob.core.windows.net:8443", "127.0.0.1:10000", false},
    {"of another service", "mine.file.core.windows.net", "127.0.0.1:10000", false},
};

TEST(sources_are_told_by_their_host)
{
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        t_row = hosts[i].what;
        CHECK_INT(tv_blob_is_same_server(tv_slice_of(hosts[i].host), tv_slice_of(hosts[i].called),
                                         TV_LIT("mine")),
                  hosts[i].is_same);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sources_are_told_by_their_host),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
