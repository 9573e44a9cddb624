/*
 * The server's time, for programs that would have to wait for it.  A message that is hidden for
 * hidden_s() stays hidden, however slow the machine is, until pass_hidden().
 *
 * A program that includes this has a server of its own (run.py): what the others have hidden must
 * not come back.  With a server whose time cannot be moved the spans are short, and waited for.
 */
#ifndef TAVOLA_TESTS_CLIENT_CLOCK_H
#define TAVOLA_TESTS_CLIENT_CLOCK_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "live.h"

static inline const char *admin_port(void)
{
    return getenv("TAVOLA_TEST_ADMIN_PORT");
}

static inline bool has_clock(void)
{
    return admin_port() != NULL;
}

static inline int connect_admin(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)strtoul(admin_port(), NULL, 10)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    CHECK(fd >= 0);
    CHECK(connect(fd, (struct sockaddr *)&address, sizeof address) == 0);
    return fd;
}

/* Let so much time pass for all that is stored: POST /clock of the admin port. */
static inline void pass_time(uint32_t seconds)
{
    char request[512], body[64], answer[64] = "";

    if (!has_clock()) {
        sleep(seconds);
        return;
    }
    snprintf(body, sizeof body, "{\"ms\": %u}", seconds * 1000);

    int len = snprintf(request, sizeof request,
                       "POST /clock HTTP/1.1\r\nHost: 127.0.0.1:%s\r\nAuthorization: Bearer %s\r\n"
                       "Content-Length: %zu\r\nConnection: close\r\n\r\n%s",
                       admin_port(), getenv("TAVOLA_TEST_ADMIN_TOKEN"), strlen(body), body);
    int fd = connect_admin();

    CHECK(len < (int)sizeof request);
    CHECK_INT(send(fd, request, (size_t)len, MSG_NOSIGNAL), len);
    CHECK(recv(fd, answer, sizeof answer - 1, MSG_WAITALL) > 0);
    if (strncmp(answer, "HTTP/1.1 200 ", 13) != 0)
        CHECK_FAIL("the server's clock does not move: %s", answer);
    close(fd);
}

/* How long messages are hidden in a test. */
static inline uint32_t hidden_s(void)
{
    return has_clock() ? 600 : 1;
}

/* What is hidden for hidden_s() is to be seen after this. */
static inline void pass_hidden(void)
{
    pass_time(hidden_s() + 1);
}

#endif
