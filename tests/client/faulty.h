/*
 * A faulty network between a program and its server: a process of tests/lib/fault_proxy.py, which
 * $TAVOLA_TEST_FAULT_PROXY names.
 *
 *     fault_proxy proxy = start_proxy("QueueEndpoint=");
 *     tavola_client *client = open_through(&proxy, 0);
 *     plan(&proxy, "PLAN cut_answer 0");      tests/lib/fault_plan.py has the list
 *     ...
 *     stop_proxy(&proxy);
 */
#ifndef TAVOLA_TESTS_CLIENT_FAULTY_H
#define TAVOLA_TESTS_CLIENT_FAULTY_H

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "live.h"

typedef struct fault_proxy {
    const char *field; /* "QueueEndpoint=": which service is behind it */
    pid_t pid;
    int keep_alive;  /* closed: the proxy ends */
    FILE *to, *from; /* its control port */
    int port;
} fault_proxy;

/* The URL of a service in $TAVOLA_TEST_CONNECTION; how long it is. */
static inline const char *find_endpoint(const char *field, int *ret_len)
{
    const char *at = strstr(connection_string(), field);

    assert_non_null(at);
    at += strlen(field);
    *ret_len = (int)strcspn(at, ";");
    return at;
}

static inline void exec_proxy(const char *field, int in, int out)
{
    const char *script = getenv("TAVOLA_TEST_FAULT_PROXY");
    char upstream[200];
    int len;
    const char *url = find_endpoint(field, &len) + strlen("http://");

    snprintf(upstream, sizeof upstream, "%.*s", (int)strcspn(url, "/"), url);
    dup2(in, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    unsetenv("LD_PRELOAD");
    if (script)
        execlp("python3", "python3", script, "--upstream", upstream, (char *)NULL);
    _exit(127);
}

static inline void connect_control(fault_proxy *proxy, int port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    int control = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(connect(control, (struct sockaddr *)&address, sizeof address), 0);
    proxy->to = fdopen(control, "w");
    proxy->from = fdopen(dup(control), "r");
}

static inline fault_proxy start_proxy(const char *field)
{
    fault_proxy proxy = {.field = field};
    int in[2], out[2], control;
    char line[200] = "";

    if (getenv("TAVOLA_TEST_FAULT_PROXY") == NULL)
        fail_msg("TAVOLA_TEST_FAULT_PROXY names no proxy; see tests/client/run.py");
    assert_int_equal(pipe2(in, O_CLOEXEC) | pipe2(out, O_CLOEXEC), 0);
    proxy.pid = fork();
    if (proxy.pid == 0)
        exec_proxy(field, in[0], out[1]);
    close(in[0]);
    close(out[1]);
    proxy.keep_alive = in[1];

    FILE *ports = fdopen(out[0], "r");

    assert_non_null(fgets(line, sizeof line, ports));
    fclose(ports);
    assert_int_equal(sscanf(line, "{\"port\": %d, \"control\": %d}", &proxy.port, &control), 2);
    connect_control(&proxy, control);
    return proxy;
}

static inline void stop_proxy(fault_proxy *proxy)
{
    fclose(proxy->to);
    fclose(proxy->from);
    close(proxy->keep_alive);
    waitpid(proxy->pid, NULL, 0);
}

/* Send a line to the control port; it must be understood. */
static inline void plan(fault_proxy *proxy, const char *line)
{
    char answer[1000] = "";

    fprintf(proxy->to, "%s\n", line);
    fflush(proxy->to);
    while (fgets(answer, sizeof answer, proxy->from) && strncmp(answer, "OK", 2) != 0) {
        if (strncmp(answer, "ERR", 3) == 0)
            fail_msg("%s: %s", line, answer);
    }
}

/* A client whose requests to that service go through the proxy; it repeats without delay. */
static inline tavola_client *open_through(const fault_proxy *proxy, uint32_t attempt_timeout_ms)
{
    tavola_client_options options = {
        .struct_size = sizeof options,
        .retry_delay_ms = 1,
        .attempt_timeout_ms = attempt_timeout_ms,
    };
    const char *all = connection_string();
    char connection[2000];
    int len;
    const char *url = find_endpoint(proxy->field, &len);
    const char *path = strchr(url + strlen("http://"), '/');
    tavola_client *client = NULL;

    snprintf(connection, sizeof connection, "%.*shttp://127.0.0.1:%d%s", (int)(url - all), all,
             proxy->port, path);
    CHECK_OK(tavola_client_open(connection, &options, &client, NULL));
    return client;
}

#endif
