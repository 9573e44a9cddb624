/* tavolad: read the flags, start, wait for a signal, stop. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/heap.h"
#include "base/log.h"
#include "server/main/ask.h"
#include "server/main/server.h"
#include "server/verify/verify.h"
#include "services/service/endpoint.h"

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
    if (!tv_config_parse(&config, argc, argv, problem, sizeof problem))
        return tv_server_print_failure(&config, problem);

    if (config.help) {
        tv_config_print_help();
        return 0;
    }
    if (config.version) {
        printf("tavolad %s\n", TV_VERSION);
        return 0;
    }
    if (config.health)
        return tv_ask_health(config.admin_host, config.admin_port);
    if (config.operations) {
        tv_server_print_operations();
        return 0;
    }
    if (!tv_log_level_parse(tv_slice_of(config.log_level), &level)) {
        fprintf(stderr, "tavolad: --log-level is debug, info, warn, error or off, not '%.40s'\n",
                config.log_level);
        return TV_EXIT_USAGE;
    }
    tv_log_set_level(level);
    if (config.log_file && !tv_log_open(config.log_file)) {
        snprintf(problem, sizeof problem, "cannot write --log-file %s: %s", config.log_file,
                 strerror(errno));
        return tv_server_print_failure(&config, problem);
    }
    if (config.path_style)
        tv_endpoint_ignore_hosts();
    raise_file_limit();
    if (config.verify && strcmp(config.engine, "rocksdb") != 0) {
        fprintf(stderr, "tavolad: --verify has nothing to look at with --engine %s\n",
                config.engine);
        return TV_EXIT_USAGE;
    }
    if (config.verify) {
        change_hangup(SIG_UNBLOCK); /* it ends with its terminal */
        return tv_verify(config.data, stdout, stderr);
    }

    sigset_t signals = block_signals();
    tv_server *server = tv_server_open(&config, problem, sizeof problem);

    if (server == NULL)
        return tv_server_print_failure(&config, problem);

    tv_background heap_keeper;
    int signal_number;

    tv_heap_keeper_start(&heap_keeper);
    tv_server_print_ready(server);
    tv_server_run(server);
    while (sigwait(&signals, &signal_number) == 0 && signal_number == SIGHUP)
        tv_server_reload(server);
    tv_background_done(&heap_keeper);
    tv_server_print_stopping(&config);
    tv_server_stop(server);
    tv_server_print_stopped(&config);
    return 0;
}
