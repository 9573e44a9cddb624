/* See stop.h. */
#include "stop.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

enum { GRACE_S = 1 };

static const int signals[] = {SIGINT, SIGTERM, SIGALRM};
enum { SIGNALS = sizeof signals / sizeof signals[0] };

static bool is_begun;
static volatile sig_atomic_t came, is_gentle;
static tavola_call *volatile cancelled; /* by the signal; cancelling is an atomic store */
static int pipe_ends[2] = {-1, -1};     /* readable from the signal on */
static struct sigaction before[SIGNALS];

static void note(int signal_number)
{
    int error = errno;

    if (signal_number != SIGALRM)
        came = signal_number;
    if (signal_number != SIGALRM && is_gentle)
        alarm(GRACE_S);
    else
        tavola_call_cancel(cancelled);
    (void)!write(pipe_ends[1], "", 1); /* it has room for one */
    errno = error;
}

void tool_stop_begin(tavola_call *call)
{
    struct sigaction action = {.sa_handler = note, .sa_flags = (int)SA_RESETHAND};

    is_begun = true;
    came = is_gentle = 0;
    cancelled = call;
    if (pipe2(pipe_ends, O_CLOEXEC | O_NONBLOCK) != 0)
        pipe_ends[0] = pipe_ends[1] = -1;
    for (int i = 0; i < SIGNALS; i++) {
        sigaction(signals[i], NULL, &before[i]);
        if (before[i].sa_handler != SIG_IGN)
            sigaction(signals[i], &action, NULL);
    }
}

void tool_stop_end(void)
{
    if (!is_begun)
        return;
    alarm(0);
    for (int i = 0; i < SIGNALS; i++)
        sigaction(signals[i], &before[i], NULL);
    for (int i = 0; i < 2; i++) {
        if (pipe_ends[i] >= 0)
            close(pipe_ends[i]);
        pipe_ends[i] = -1;
    }
    cancelled = NULL;
    is_begun = false;
    came = 0;
}

void tool_stop_gently(tavola_call *call)
{
    cancelled = call;
    is_gentle = 1;
}

int tool_stop_signal(void)
{
    return came;
}

bool tool_stop_wait(int fd, short events, int ms)
{
    struct pollfd fds[] = {{.fd = fd, .events = events}, {.fd = pipe_ends[0], .events = POLLIN}};

    while (!came) {
        int count = poll(fds, 2, ms);

        if (count == 0)
            return false;
        if (count > 0 && fds[0].revents)
            return !came;
        if (count < 0 && errno != EINTR)
            return false;
    }
    return false;
}
