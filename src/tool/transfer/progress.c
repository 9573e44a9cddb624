/* Progress and Ctrl-C. */
#include "progress.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

double xfer_now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

void xfer_progress_begin(xfer_progress *progress, uint64_t bytes_done)
{
    *progress = (xfer_progress){
        .is_shown = isatty(STDERR_FILENO), .began_s = xfer_now_s(), .begun_with = bytes_done};
    progress->drawn_s = progress->began_s;
}

/* 1234567 as "1,234,567" */
static void group_digits(uint64_t number, char ret_text[32])
{
    char digits[24];
    int size = snprintf(digits, sizeof digits, "%llu", (unsigned long long)number);
    char *to = ret_text;

    for (int i = 0; i < size; i++) {
        if (i && (size - i) % 3 == 0)
            *to++ = ',';
        *to++ = digits[i];
    }
    *to = '\0';
}

static unsigned columns(void)
{
    struct winsize size;

    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 80;
}

static void put_time_left(char *to, size_t size, double left_s)
{
    unsigned long left = left_s < 1e7 ? (unsigned long)(left_s + 0.5) : 9999999;

    if (left < 100)
        snprintf(to, size, "%lu s left", left);
    else if (left < 6000)
        snprintf(to, size, "%lu:%02lu min left", left / 60, left % 60);
    else
        snprintf(to, size, "%lu:%02lu h left", left / 3600, left / 60 % 60);
}

/* "[#####.....]  41 %  98,123 entities  12,345/s  12 s left", cut to the width. */
void xfer_progress_show(xfer_progress *progress, uint64_t entities, uint64_t bytes_done,
                        uint64_t bytes_all)
{
    enum { BAR = 20 };
    double now = xfer_now_s(), spent = now - progress->began_s;
    char line[200], bar[BAR + 1] = "", count[32], rate[32], left[32] = "";

    if (!progress->is_shown || now - progress->drawn_s < 0.1)
        return;
    progress->drawn_s = now;
    group_digits(entities, count);
    group_digits(spent > 0 ? (uint64_t)((double)entities / spent) : 0, rate);
    if (bytes_all) {
        double part = bytes_done < bytes_all ? (double)bytes_done / (double)bytes_all : 1;
        double done = (double)(bytes_done - progress->begun_with);
        double todo = bytes_done < bytes_all ? (double)(bytes_all - bytes_done) : 0;

        for (int i = 0; i < BAR; i++)
            bar[i] = i < (int)(part * BAR) ? '#' : '.';
        if (done > 0)
            put_time_left(left, sizeof left, spent * todo / done);
        snprintf(line, sizeof line, "[%s] %3d %%  %s entities  %s/s  %s", bar, (int)(part * 100),
                 count, rate, left);
    } else {
        snprintf(line, sizeof line, "%s entities  %s/s", count, rate);
    }
    fprintf(stderr, "\r\033[K%.*s", (int)columns() - 1, line);
    fflush(stderr);
    progress->is_drawn = true;
}

void xfer_progress_clear(xfer_progress *progress)
{
    if (progress->is_drawn)
        fputs("\r\033[K", stderr);
    progress->is_drawn = false;
}

void xfer_progress_sum(const xfer_progress *progress, uint64_t entities, char ret_text[100])
{
    double spent = xfer_now_s() - progress->began_s;
    char count[32], rate[32];

    group_digits(entities, count);
    group_digits(spent > 0 ? (uint64_t)((double)entities / spent) : 0, rate);
    snprintf(ret_text, 100, "%s %s in %.1f s (%s/s)", count, entities == 1 ? "entity" : "entities",
             spent, rate);
}

static volatile sig_atomic_t came;
static int pipe_ends[2] = {-1, -1};
static struct sigaction before[2];
static unsigned depth; /* a command of the shell is within the shell's own catch */

static void note(int signal_number)
{
    int error = errno;

    came = signal_number;
    if (write(pipe_ends[1], "", 1) <= 0)
        came = signal_number; /* there is nothing else to do about it */
    errno = error;
}

void xfer_stop_catch(void)
{
    struct sigaction action = {.sa_handler = note, .sa_flags = (int)SA_RESETHAND};

    if (depth++)
        return;
    if (pipe2(pipe_ends, O_CLOEXEC | O_NONBLOCK) != 0)
        pipe_ends[0] = pipe_ends[1] = -1;
    sigaction(SIGINT, &action, &before[0]);
    sigaction(SIGTERM, &action, &before[1]);
}

void xfer_stop_release(void)
{
    if (--depth)
        return;
    sigaction(SIGINT, &before[0], NULL);
    sigaction(SIGTERM, &before[1], NULL);
    for (int i = 0; i < 2; i++) {
        if (pipe_ends[i] >= 0)
            close(pipe_ends[i]);
        pipe_ends[i] = -1;
    }
    came = 0;
}

int xfer_stop_signal(void)
{
    return came;
}

int xfer_stop_fd(void)
{
    return pipe_ends[0];
}
