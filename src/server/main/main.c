/* tavolad: read the flags, start, wait for a signal, stop. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/heap.h"
#include "base/log.h"
#include "server/main/server.h"
#include "server/verify/verify.h"

enum { EXIT_USAGE = 2 };

/* As many connections as the system allows. */
static void raise_file_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* A SIGHUP asks for a reload, so one that comes too early waits; it is the first thing of all. */
static void change_hangup(int how)
{
    sigset_t hangup;

    sigemptyset(&hangup);
    sigaddset(&hangup, SIGHUP);
    pthread_sigmask(how, &hangup, NULL);
}

/* Signals come to sigwait below and to no other thread. */
static sigset_t block_signals(void)
{
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    signal(SIGPIPE, SIG_IGN);
    return signals;
}

int main(int argc, char **argv)
{
    char problem[1200];
    tv_config config;
    tv_log_level level;

    change_hangup(SIG_BLOCK);
    umask(077); /* what is stored is for the owner alone */
    if (!tv_config_parse(&config, argc, argv, problem, sizeof problem)) {
        fprintf(stderr, "tavolad: %s\n", problem);
        return EXIT_USAGE;
    }
    if (config.help) {
        tv_config_print_help();
        return 0;
    }
    if (config.version) {
        printf("tavolad %s\n", TV_VERSION);
        return 0;
    }
    if (config.operations) {
        tv_server_print_operations();
        return 0;
    }
    if (!tv_log_level_parse(tv_slice_of(config.log_level), &level)) {
        fprintf(stderr, "tavolad: --log-level is debug, info, warn, error or off, not '%.40s'\n",
                config.log_level);
        return EXIT_USAGE;
    }
    tv_log_set_level(level);
    raise_file_limit();
    if (config.verify && strcmp(config.engine, "rocksdb") != 0) {
        fprintf(stderr, "tavolad: --verify has nothing to look at with --engine %s\n",
                config.engine);
        return EXIT_USAGE;
    }
    if (config.verify) {
        change_hangup(SIG_UNBLOCK); /* it ends with its terminal */
        return tv_verify(config.data, stdout, stderr);
    }

    sigset_t signals = block_signals();
    tv_server *server = tv_server_open(&config, problem, sizeof problem);

    if (server == NULL) {
        fprintf(stderr, "tavolad: %s\n", problem);
        return EXIT_USAGE;
    }
    tv_background heap_keeper;
    int signal_number;

    tv_heap_keeper_start(&heap_keeper);
    tv_server_print_ready(server);
    tv_server_run(server);
    while (sigwait(&signals, &signal_number) == 0 && signal_number == SIGHUP)
        tv_server_reload(server);
    tv_background_done(&heap_keeper);
    tv_server_stop(server);
    return 0;
}
