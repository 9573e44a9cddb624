/*
 * SO_REUSEPORT lets the kernel spread connections over one socket per loop, but
 * it also lets any other process of the same user join in and take a share of
 * the connections unnoticed.  So the first socket of an address is bound without
 * it, which fails when anyone else is bound there, and gets the option afterwards,
 * for our further sockets.  A list of the addresses this process holds tells
 * the first from the further ones.
 */
#include "wire/net/bind.h"

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "base/assert.h"

enum { BACKLOG = 1024 };

typedef struct held {
    struct held *next;
    struct sockaddr_storage address;
    int socket_count;
} held;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static held *all_held; /* under `lock` */

/* The place in the list where the address is, or the list's end. */
static held **find_held(const struct sockaddr_storage *address)
{
    held **place = &all_held;

    while (*place && memcmp(&(*place)->address, address, sizeof *address) != 0)
        place = &(*place)->next;
    return place;
}

static bool parse_address(const char *host, int port, struct sockaddr_storage *ret_address)
{
    *ret_address = (struct sockaddr_storage){0};
    return port >= 0 && port <= 65535 &&
           (uv_ip4_addr(host, port, (struct sockaddr_in *)ret_address) == 0 ||
            uv_ip6_addr(host, port, (struct sockaddr_in6 *)ret_address) == 0);
}

static struct sockaddr_storage address_of(int fd)
{
    struct sockaddr_storage address = {0};
    socklen_t len = sizeof address;

    tv_assert(getsockname(fd, (struct sockaddr *)&address, &len) == 0);
    return address;
}

static bool set_option(int fd, int option)
{
    int on = 1;

    return setsockopt(fd, SOL_SOCKET, option, &on, sizeof on) == 0;
}

static int bind_to(int fd, const struct sockaddr_storage *address)
{
    socklen_t len =
        address->ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);

    return bind(fd, (const struct sockaddr *)address, len);
}

/* Returns 0 or an errno. */
static int bind_and_listen(int fd, const struct sockaddr_storage *address, bool is_first)
{
    /* SO_REUSEADDR is for connections of an earlier run that linger in TIME_WAIT. */
    if (!set_option(fd, SO_REUSEADDR) || (!is_first && !set_option(fd, SO_REUSEPORT)))
        return errno;
    if (bind_to(fd, address) != 0)
        return errno;
    if (is_first && !set_option(fd, SO_REUSEPORT))
        return errno;
    return listen(fd, BACKLOG) == 0 ? 0 : errno;
}

int tv_bind(const char *host, int port, char *reterr_text, size_t reterr_size)
{
    struct sockaddr_storage address;

    if (!parse_address(host, port, &address)) {
        snprintf(reterr_text, reterr_size, "cannot listen on %s:%d: not an IP address and port",
                 host, port);
        return -1;
    }
    pthread_mutex_lock(&lock);
    int fd = socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int error = fd < 0 ? errno : bind_and_listen(fd, &address, *find_held(&address) == NULL);

    if (error) {
        snprintf(reterr_text, reterr_size, "cannot listen on %s:%d: %s", host, port,
                 uv_strerror(uv_translate_sys_error(error)));
        if (fd >= 0)
            close(fd);
        fd = -1;
    } else {
        address = address_of(fd);
        held **place = find_held(&address);

        if (*place == NULL) {
            *place = tv_calloc(1, sizeof **place);
            (*place)->address = address;
        }
        (*place)->socket_count++;
    }
    pthread_mutex_unlock(&lock);
    return fd;
}

bool tv_bind_is_taken(const char *host, int port)
{
    struct sockaddr_storage address;

    if (port == 0 || !parse_address(host, port, &address))
        return false;

    int fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int error = fd < 0 ? 0 : bind_and_listen(fd, &address, true);

    if (fd >= 0)
        close(fd);
    return error == EADDRINUSE;
}

bool tv_bind_has_address(const char *host)
{
    struct sockaddr_storage address;

    if (!parse_address(host, 0, &address))
        return false;

    int fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int error = fd < 0 || bind_to(fd, &address) != 0 ? errno : 0;

    if (fd >= 0)
        close(fd);
    return error != EAFNOSUPPORT && error != EADDRNOTAVAIL;
}

int tv_bind_port(int fd)
{
    struct sockaddr_storage address = address_of(fd);

    return ntohs(address.ss_family == AF_INET ? ((struct sockaddr_in *)&address)->sin_port
                                              : ((struct sockaddr_in6 *)&address)->sin6_port);
}

void tv_bind_release(int fd)
{
    struct sockaddr_storage address = address_of(fd);

    pthread_mutex_lock(&lock);
    held **place = find_held(&address);
    tv_assert(*place);
    if (--(*place)->socket_count == 0) {
        held *gone = *place;

        *place = gone->next;
        free(gone);
    }
    pthread_mutex_unlock(&lock);
}
