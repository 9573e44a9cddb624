/*
 * Kill a client at every boundary between two requests.
 *
 * A kill_case names a pattern that is done once for each boundary, with data of its own (`run` is
 * the number of the run, for its keys), through proxies that let n requests reach the server and
 * cut all others; in every second run nobody hears the answer to the last of them.  For the server
 * that is a client that died there.  Then the pattern's recovery is made by clients of which
 * nothing is cut, and each run is checked: the promise holds, wherever the client died.
 *
 *     static const kill_case put = {.prepare = ..., .act = ..., .recover = ..., .check = ...};
 *     kill_everywhere(&put);
 */
#ifndef TAVOLA_TESTS_CLIENT_FAULTS_H
#define TAVOLA_TESTS_CLIENT_FAULTS_H

#include <arpa/inet.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "live.h"

enum { KILL_RUNS_MAX = 400 };

typedef struct kill_case {
    void (*prepare)(unsigned run); /* or NULL */
    tavola_err (*act)(tavola_client *client, unsigned run);
    void (*recover)(unsigned runs); /* of all runs; or NULL */
    void (*check)(unsigned run, tavola_err err);
} kill_case;

static struct {
    pid_t pid;
    int to_process; /* its stdin */
    FILE *control;
    char connection[2048];
} fault_proxies;

static inline void start_process(int to[2], int from[2])
{
    const char *program = getenv("TAVOLA_TEST_FAULT_PROXIES");

    if (program == NULL || pipe(to) != 0 || pipe(from) != 0) {
        fprintf(stderr, "TAVOLA_TEST_FAULT_PROXIES names no program; see tests/client/run.py\n");
        exit(2);
    }
    fault_proxies.pid = fork();
    if (fault_proxies.pid == 0) {
        dup2(to[0], 0);
        dup2(from[1], 1);
        close(to[1]);
        close(from[0]);
        unsetenv("LD_PRELOAD");
        execlp("python3", "python3", program, connection_string(), (char *)NULL);
        _exit(127);
    }
    close(to[0]);
    close(from[1]);
}

static inline FILE *connect_control(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    CHECK(fd >= 0);
    CHECK(connect(fd, (struct sockaddr *)&address, sizeof address) == 0);
    return fdopen(fd, "r+");
}

static inline int start_faults(void **state)
{
    int to[2], from[2], port = 0;

    (void)state;
    start_process(to, from);
    fault_proxies.to_process = to[1];

    FILE *out = fdopen(from[0], "r");

    CHECK(fscanf(out, "%d %2047s", &port, fault_proxies.connection) == 2);
    fclose(out);
    fault_proxies.control = connect_control(port);
    return 0;
}

static inline int stop_faults(void **state)
{
    (void)state;
    fclose(fault_proxies.control);
    close(fault_proxies.to_process);
    waitpid(fault_proxies.pid, NULL, 0);
    return 0;
}

enum { LINE_SIZE = 512 };

/* Send a command to the proxies; the last line before OK goes to ret_line (or NULL). */
static inline void command(const char *text, char ret_line[LINE_SIZE])
{
    char line[LINE_SIZE];

    fprintf(fault_proxies.control, "%s\n", text);
    fflush(fault_proxies.control);
    for (;;) {
        if (fgets(line, sizeof line, fault_proxies.control) == NULL)
            CHECK_FAIL("the fault proxies are gone");
        if (strncmp(line, "OK", 2) == 0)
            return;
        if (strncmp(line, "ERR", 3) == 0)
            CHECK_FAIL("%s: %s", text, line);
        if (ret_line)
            memcpy(ret_line, line, sizeof line);
    }
}

/* A client through the proxies that repeats without delay; attempt_timeout_ms 0: the default. */
static inline tavola_client *open_through(uint32_t attempt_timeout_ms)
{
    tavola_client_options options = {.struct_size = sizeof options,
                                     .retry_delay_ms = 1,
                                     .attempt_timeout_ms = attempt_timeout_ms,
                                     .proxy = ""};
    tavola_client *client = NULL;

    CHECK_OK(tavola_client_open(fault_proxies.connection, &options, &client));
    return client;
}

/* A client through the proxies that never tries anything twice. */
static inline tavola_client *open_mortal_client(void)
{
    tavola_client_options options = {
        .struct_size = sizeof options, .retry_max = UINT32_MAX, .proxy = ""};
    tavola_client *client = NULL;

    CHECK_OK(tavola_client_open(fault_proxies.connection, &options, &client));
    return client;
}

/* Whether the client came to its end: no request was cut, and all answers were heard. */
static inline bool was_alive(unsigned stop_after, bool is_quiet)
{
    char line[LINE_SIZE] = "";
    unsigned requests = 0, forwarded = 0;

    command("STATS", line);
    CHECK(sscanf(line, "open=%*u total=%*u peak=%*u requests=%u forwarded=%u", &requests,
                 &forwarded) == 2);
    return requests == forwarded && (is_quiet ? forwarded < stop_after : forwarded <= stop_after);
}

/* One run; true when the client came to its end. */
static inline bool kill_once(const kill_case *one, unsigned run, unsigned stop_after, bool is_quiet,
                             tavola_err *ret_err)
{
    char text[64];

    if (one->prepare)
        one->prepare(run);
    snprintf(text, sizeof text, "STOP_AFTER %u%s", stop_after, is_quiet ? " quiet" : "");
    command("CLEAR", NULL);
    command(text, NULL);

    tavola_client *client = open_mortal_client();

    *ret_err = one->act(client, run);
    tavola_client_close(client);
    command("SETTLE", NULL);

    bool is_alive = was_alive(stop_after, is_quiet);

    if (is_alive && *ret_err != TAVOLA_OK)
        CHECK_FAIL("nothing was cut, and it failed: %s", tavola_err_name(*ret_err));
    return is_alive;
}

static inline void kill_everywhere(const kill_case *one)
{
    static char rows[KILL_RUNS_MAX][64];
    static tavola_err errs[KILL_RUNS_MAX];
    unsigned runs = 0;

    for (int is_quiet = 0; is_quiet < 2; is_quiet++) {
        bool is_alive = false;

        for (unsigned n = is_quiet ? 1 : 0; !is_alive; n++, runs++) {
            CHECK(runs < KILL_RUNS_MAX);
            snprintf(rows[runs], sizeof rows[runs], "killed after request %u%s", n,
                     is_quiet ? ", whose answer is lost" : "");
            t_row = rows[runs];
            is_alive = kill_once(one, runs, n, is_quiet != 0, &errs[runs]);
        }
    }
    command("CLEAR", NULL);
    t_row = "recovery";
    if (one->recover)
        one->recover(runs);
    for (unsigned run = 0; run < runs; run++) {
        t_row = rows[run];
        one->check(run, errs[run]);
    }
    /* A pattern of one request has three boundaries; no run at all would prove nothing. */
    CHECK(runs >= 3);
}

/* How many requests the proxies have seen since CLEAR. */
static inline unsigned count_requests(void)
{
    char line[LINE_SIZE] = "";
    unsigned requests = 0;

    command("STATS", line);
    CHECK(sscanf(line, "open=%*u total=%*u peak=%*u requests=%u", &requests) == 1);
    return requests;
}

/*
 * The same pattern with a client that lives and tries again, while the answer to one of its
 * requests, each in turn, is lost: it is done, or not known to be.
 */
static inline void lose_everywhere(const kill_case *one)
{
    static char rows[KILL_RUNS_MAX][64];
    static tavola_err errs[KILL_RUNS_MAX];
    unsigned runs = 0;
    bool was_hit = true;

    for (unsigned n = 1; was_hit; n++, runs++) {
        char text[64];

        CHECK(runs < KILL_RUNS_MAX);
        snprintf(rows[runs], sizeof rows[runs], "the answer to request %u is lost", n);
        t_row = rows[runs];
        if (one->prepare)
            one->prepare(runs);
        snprintf(text, sizeof text, "PLAN cut_answer 0 on %u", n);
        command("CLEAR", NULL);
        command(text, NULL);

        tavola_client *client = open_through(0);

        errs[runs] = one->act(client, runs);
        tavola_client_close(client);
        command("SETTLE", NULL);
        was_hit = count_requests() >= n;
        if (errs[runs] != TAVOLA_OK && (errs[runs] != TAVOLA_ERR_UNKNOWN_OUTCOME || !was_hit))
            CHECK_FAIL("it ends with %s", tavola_err_name(errs[runs]));
    }
    command("CLEAR", NULL);
    t_row = "recovery";
    if (one->recover)
        one->recover(runs);
    for (unsigned run = 0; run < runs; run++) {
        t_row = rows[run];
        one->check(run, errs[run]);
    }
    CHECK(runs >= 2);
}

#endif
