/* See progress.h. */
#include "progress.h"
#include "../text.h"
#include "../tool.h"

#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

double xfer_now_s(void)
{
    return tool_now_ms() / 1e3;
}

void xfer_progress_begin(xfer_progress *progress, uint64_t bytes_done)
{
    *progress = (xfer_progress){
        .is_shown = isatty(STDERR_FILENO), .began_s = xfer_now_s(), .begun_with = bytes_done};
    progress->drawn_s = progress->began_s;
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
    char line[200], bar[BAR + 1] = "", count[TOOL_GROUPED], rate[TOOL_GROUPED], left[32] = "";

    if (!progress->is_shown || now - progress->drawn_s < 0.1)
        return;
    progress->drawn_s = now;
    tool_grouped(count, (double)entities);
    tool_grouped(rate, spent > 0 ? (double)(uint64_t)((double)entities / spent) : 0);
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
    char count[TOOL_GROUPED], rate[TOOL_GROUPED];

    tool_grouped(count, (double)entities);
    tool_grouped(rate, spent > 0 ? (double)(uint64_t)((double)entities / spent) : 0);
    snprintf(ret_text, 100, "%s %s in %.1f s (%s/s)", count, entities == 1 ? "entity" : "entities",
             spent, rate);
}
