/* Attempts to connect, side by side. */
#include "client/net/race.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

void tvc_race_init(tvc_race *race)
{
    *race = (tvc_race){.all_fd = -1};
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void tvc_race_end(tvc_race *race)
{
    for (size_t i = 0; i < race->next; i++)
        close_fd(&race->fds[i]);
    close_fd(&race->all_fd);
    race->next = race->running = 0;
}

/* A socket on its way to an address; -1 with errno. */
static int begin_connect(const tvc_address *address)
{
    int fd = socket(address->as.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return -1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    /* An interrupted connect goes on by itself, like any that was begun. */
    if (connect(fd, &address->as.any, address->len) != 0 && errno != EINPROGRESS &&
        errno != EINTR) {
        int error = errno;

        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

static bool watch(const tvc_race *race, int fd)
{
    struct epoll_event event = {.events = EPOLLOUT};

    return epoll_ctl(race->all_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

/* One descriptor that tells of all sockets; false with errno. */
static bool watch_all(tvc_race *race, int fd)
{
    if (race->all_fd >= 0)
        return watch(race, fd);

    race->all_fd = epoll_create1(EPOLL_CLOEXEC);
    if (race->all_fd < 0)
        return false;
    for (size_t i = 0; i < race->next; i++) {
        if (race->fds[i] >= 0 && !watch(race, race->fds[i])) {
            close_fd(&race->all_fd);
            return false;
        }
    }
    return watch(race, fd);
}

static void begin_attempt(tvc_race *race, int64_t now_ns, int64_t deadline_ns)
{
    int64_t delay_ns = TVC_RACE_DELAY_MS * INT64_C(1000000);
    int64_t share_ns = (deadline_ns - now_ns) / (int64_t)(race->addresses.count - race->next);
    int fd = begin_connect(&race->addresses.list[race->next]);

    if (fd >= 0 && race->running > 0 && !watch_all(race, fd)) {
        race->error = errno;
        close_fd(&fd);
    } else if (fd < 0) {
        race->error = errno;
    }
    race->fds[race->next++] = fd;
    race->running += fd >= 0;
    if (fd >= 0)
        race->next_ns = now_ns + (share_ns < delay_ns ? share_ns : delay_ns);
}

/* Whether an attempt has succeeded.  One that has failed is ended, and the next need not wait. */
static bool look_at(tvc_race *race, int *fd)
{
    struct sockaddr_storage peer;
    socklen_t peer_len = sizeof peer;
    int error = 0;
    socklen_t error_len = sizeof error;

    if (getsockopt(*fd, SOL_SOCKET, SO_ERROR, &error, &error_len) == 0 && error == 0)
        return getpeername(*fd, (struct sockaddr *)&peer, &peer_len) == 0;
    race->error = error ? error : errno;
    close_fd(fd);
    race->running--;
    race->next_ns = 0;
    return false;
}

/* The attempt that has succeeded, the earliest if there are more; race->next when none has. */
static size_t find_winner(tvc_race *race)
{
    size_t i = 0;

    while (i < race->next && (race->fds[i] < 0 || !look_at(race, &race->fds[i])))
        i++;
    return i;
}

static tvc_pending wait_for_all(const tvc_race *race)
{
    int64_t until_ns = race->next < race->addresses.count ? race->next_ns : INT64_MAX;
    size_t i = 0;

    if (race->all_fd >= 0)
        return (tvc_pending){TVC_WAIT_READ, race->all_fd, until_ns};
    while (race->fds[i] < 0)
        i++;
    return (tvc_pending){TVC_WAIT_WRITE, race->fds[i], until_ns};
}

tvc_race_state tvc_race_step(tvc_race *race, int64_t deadline_ns, tvc_pending *ret_pending,
                             int *ret_fd, tvc_address *ret_winner)
{
    for (;;) {
        int64_t now_ns = tv_clock_mono_ns();
        size_t winner = find_winner(race);

        if (winner < race->next) {
            *ret_fd = race->fds[winner];
            *ret_winner = race->addresses.list[winner];
            race->fds[winner] = -1;
            tvc_race_end(race);
            return TVC_RACE_WON;
        }
        if (race->next == race->addresses.count && race->running == 0)
            return TVC_RACE_LOST;
        if (race->next == race->addresses.count || (race->running > 0 && now_ns < race->next_ns)) {
            *ret_pending = wait_for_all(race);
            return TVC_RACE_GOES_ON;
        }
        begin_attempt(race, now_ns, deadline_ns);
    }
}
