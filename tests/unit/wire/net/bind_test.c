/* Ports: shared by the loops of this process, refused when anyone else has them. */
#include "wire/net/bind.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"

static void release(int fd)
{
    tv_bind_release(fd);
    close(fd);
}

TEST(several_sockets_of_this_process_share_a_port)
{
    char error[256] = "";
    int first = tv_bind("127.0.0.1", 0, error, sizeof error);
    int port = tv_bind_port(first);
    int second = tv_bind("127.0.0.1", port, error, sizeof error);

    CHECK(first >= 0 && second >= 0);
    CHECK_INT(tv_bind_port(second), port);
    release(first);
    int third = tv_bind("127.0.0.1", port, error, sizeof error);

    CHECK(third >= 0);
    release(second);
    release(third);
}

/* A socket as another program would open it. */
static int foreign_socket(int port, bool shares)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (shares)
        setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
    tv_assert(bind(fd, (struct sockaddr *)&address, sizeof address) == 0);
    tv_assert(listen(fd, 1) == 0);
    return fd;
}

TEST(a_port_that_somebody_else_has_is_refused_even_if_they_would_share_it)
{
    for (int shares = 0; shares < 2; shares++) {
        int foreign = foreign_socket(0, shares), port = tv_bind_port(foreign);
        char error[256] = "", want[256];

        snprintf(want, sizeof want, "cannot listen on 127.0.0.1:%d: address already in use", port);
        CHECK_INT(tv_bind("127.0.0.1", port, error, sizeof error), -1);
        CHECK_TEXT(tv_slice_of(error), want);

        close(foreign);
        int fd = tv_bind("127.0.0.1", port, error, sizeof error);

        CHECK(fd >= 0);
        release(fd);
    }
}

TEST(what_is_no_address_is_refused)
{
    char error[256] = "";

    CHECK_INT(tv_bind("localhost", 1, error, sizeof error), -1);
    CHECK_TEXT(tv_slice_of(error), "cannot listen on localhost:1: not an IP address and port");
    CHECK_INT(tv_bind("127.0.0.1", 65536, error, sizeof error), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(several_sockets_of_this_process_share_a_port),
        cmocka_unit_test(a_port_that_somebody_else_has_is_refused_even_if_they_would_share_it),
        cmocka_unit_test(what_is_no_address_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
