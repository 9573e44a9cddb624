/*
 * Names whose addresses a test decides: this getaddrinfo is found before that of the system.  Each
 * address has a port of its own, so that one machine stands for several.  And listeners that never
 * answer, as an address does that nobody can reach.
 */
#ifndef TEST_FAKE_HOSTS_H
#define TEST_FAKE_HOSTS_H

#include <arpa/inet.h>
#include <dirent.h>
#include <netdb.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "client/net/resolve.h"

enum { FAKE_HOSTS_MAX = 16 };

static struct {
    tvc_address addresses[FAKE_HOSTS_MAX];
    int count;
} fake_hosts;

static inline tvc_address address_of(const char *text, int port)
{
    tvc_address address = {0};

    if (strchr(text, ':')) {
        address.as.v6 =
            (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
        tv_assert(inet_pton(AF_INET6, text, &address.as.v6.sin6_addr) == 1);
        address.len = sizeof address.as.v6;
    } else {
        address.as.v4 =
            (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
        tv_assert(inet_pton(AF_INET, text, &address.as.v4.sin_addr) == 1);
        address.len = sizeof address.as.v4;
    }
    return address;
}

static inline void fake_hosts_add(const char *text, int port)
{
    tv_assert(fake_hosts.count < FAKE_HOSTS_MAX);
    fake_hosts.addresses[fake_hosts.count++] = address_of(text, port);
}

/* Every name has the addresses that the test has added, in their order. */
int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                struct addrinfo **ret_found)
{
    struct addrinfo *list = calloc(FAKE_HOSTS_MAX, sizeof *list);

    for (int i = 0; i < fake_hosts.count; i++) {
        tvc_address *address = &fake_hosts.addresses[i];

        list[i] = (struct addrinfo){.ai_family = address->as.any.sa_family,
                                    .ai_addr = &address->as.any,
                                    .ai_addrlen = address->len,
                                    .ai_next = i + 1 < fake_hosts.count ? &list[i + 1] : NULL};
    }
    *ret_found = list;
    return 0;
}

void freeaddrinfo(struct addrinfo *found)
{
    free(found);
}

/* A listener whose queue is full, so that it takes no notice of who else connects. */
typedef struct silent_host {
    int listener, filler, port;
} silent_host;

static inline silent_host silent_start(void)
{
    silent_host host = {.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0),
                        .filler = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    struct pollfd taken = {.fd = host.listener, .events = POLLIN};

    tv_assert(bind(host.listener, (struct sockaddr *)&address, sizeof address) == 0);
    tv_assert(listen(host.listener, 0) == 0);
    tv_assert(getsockname(host.listener, (struct sockaddr *)&address, &len) == 0);
    tv_assert(connect(host.filler, (struct sockaddr *)&address, sizeof address) == 0);
    tv_assert(poll(&taken, 1, 60 * 1000) == 1);
    host.port = ntohs(address.sin_port);
    return host;
}

/* Let it take who waits. */
static inline void silent_answer(const silent_host *host)
{
    int fd = accept(host->listener, NULL, NULL);

    tv_assert(fd >= 0);
    close(fd);
}

static inline void silent_stop(const silent_host *host)
{
    close(host->listener);
    close(host->filler);
}

/* A port of 127.0.0.1 that refuses, and is nobody else's until the test ends: it does not listen.
 */
static inline int refusing_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    tv_assert(bind(fd, (struct sockaddr *)&address, sizeof address) == 0);
    tv_assert(getsockname(fd, (struct sockaddr *)&address, &len) == 0);
    return ntohs(address.sin_port);
}

static inline int count_open_files(void)
{
    DIR *folder = opendir("/proc/self/fd");
    int count = 0;

    tv_assert(folder);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

#endif
