/*
 * A server for tests of the network layer: a thread that answers requests with what a script
 * says, in the order in which they come.  It reads a whole request (head and the body that its
 * Content-Length tells) before it answers, unless the answer says otherwise.
 */
#ifndef TEST_SCRIPT_SERVER_H
#define TEST_SCRIPT_SERVER_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/slice.h"
#include "check.h"

typedef struct script_answer {
    const char *text; /* NULL: no answer */
    size_t len;       /* 0: all of the text */
    bool then_close;  /* the connection, in an orderly way */
    bool then_reset;  /* the connection */
    bool then_wait;   /* until the client closes, and read nothing more */
    bool then_ignore; /* the connection, whatever the client does to it */
    bool is_endless;  /* the text again and again */
    bool is_early;    /* sent when the head is there, without reading the body */
    bool is_amid;     /* the same, when more of the body waits to be read */
    bool is_held;     /* until the server is released */
    bool is_dribbled; /* byte by byte */
} script_answer;

enum { SCRIPT_ANSWERS_MAX = 16, SCRIPT_REQUEST_MAX = 1 << 16, SCRIPT_THREADS_MAX = 256 };

typedef struct script_server {
    int listener;
    int port;
    pthread_t thread;
    script_answer answers[SCRIPT_ANSWERS_MAX]; /* the last one is repeated for all that follow */
    int answer_count;
    atomic_int connections, requests;
    atomic_bool is_released, is_over;
    atomic_long body_bytes;           /* of all requests */
    char (*byte_at)(uint64_t offset); /* what long bodies are made of, or NULL */
    atomic_bool is_body_wrong;
    char last_request[SCRIPT_REQUEST_MAX]; /* head and body */
    pthread_t handlers[SCRIPT_THREADS_MAX];
    int sockets[SCRIPT_THREADS_MAX];
    int handler_count;
    pthread_mutex_t lock;
    /* What is done with a connection before HTTP begins: NULL, or TLS. */
    void *(*wrap)(struct script_server *server, int fd);
    ssize_t (*read)(void *wrapped, int fd, void *to, size_t size);
    ssize_t (*write)(void *wrapped, int fd, const void *from, size_t size);
    void (*unwrap)(void *wrapped);
    char server_name[64]; /* that the last client asked for by TLS */
    void *user;
} script_server;

typedef struct script_conn {
    script_server *server;
    int fd;
    void *wrapped;
} script_conn;

static inline ssize_t script_read(script_conn *conn, void *to, size_t size)
{
    return conn->server->read ? conn->server->read(conn->wrapped, conn->fd, to, size)
                              : recv(conn->fd, to, size, 0);
}

static inline bool script_write(script_conn *conn, const char *from, size_t len)
{
    while (len) {
        ssize_t sent = conn->server->write ? conn->server->write(conn->wrapped, conn->fd, from, len)
                                           : send(conn->fd, from, len, MSG_NOSIGNAL);

        if (sent <= 0)
            return false;
        from += sent;
        len -= (size_t)sent;
    }
    return true;
}

/* The rest of a body that goes beyond the buffer: checked by the server's rule, and dropped. */
static inline bool script_read_rest(script_conn *conn, uint64_t at, uint64_t len)
{
    char piece[32768];

    while (at < len) {
        uint64_t left = len - at;
        ssize_t got = script_read(conn, piece, left < sizeof piece ? (size_t)left : sizeof piece);

        if (got <= 0)
            return false;
        for (ssize_t i = 0; i < got; i++) {
            if (conn->server->byte_at && piece[i] != conn->server->byte_at(at + (uint64_t)i))
                conn->server->is_body_wrong = true;
        }
        at += (uint64_t)got;
    }
    return true;
}

/* Read a request; false when the peer has closed. */
static inline bool script_read_request(script_conn *conn, bool is_early)
{
    char text[SCRIPT_REQUEST_MAX];
    size_t len = 0;
    const char *end = NULL;

    while (end == NULL && len < sizeof text - 1) {
        ssize_t got = script_read(conn, text + len, sizeof text - 1 - len);

        if (got <= 0)
            return false;
        len += (size_t)got;
        text[len] = '\0';
        end = strstr(text, "\r\n\r\n");
    }
    tv_assert(end);

    const char *field = strcasestr(text, "\r\nContent-Length:");
    uint64_t body = field && field < end ? strtoull(field + 17, NULL, 10) : 0;
    size_t head = (size_t)(end + 4 - text);

    while (!is_early && len < head + body && len < sizeof text - 1) {
        ssize_t got = script_read(conn, text + len, sizeof text - 1 - len);

        if (got <= 0)
            return false;
        len += (size_t)got;
        text[len] = '\0';
    }
    pthread_mutex_lock(&conn->server->lock);
    memcpy(conn->server->last_request, text, len + 1);
    pthread_mutex_unlock(&conn->server->lock);
    if (!is_early && !script_read_rest(conn, len - head, body))
        return false;
    atomic_fetch_add(&conn->server->body_bytes, (long)body);
    return true;
}

enum { SCRIPT_WAIT_MS = 60 * 1000 };

/* Until more has come than was read; false when it does not come. */
static inline bool script_wait_for_more(script_conn *conn)
{
    struct pollfd more = {.fd = conn->fd, .events = POLLIN};

    return poll(&more, 1, SCRIPT_WAIT_MS) == 1;
}

static inline void script_wait_until(const atomic_bool *is_so, const script_server *server)
{
    while (!atomic_load(is_so) && !atomic_load(&server->is_over))
        usleep(200);
}

static inline bool script_send_answer(script_conn *conn, const script_answer *answer)
{
    size_t len = answer->text == NULL ? 0 : answer->len ? answer->len : strlen(answer->text);

    if (answer->is_held)
        script_wait_until(&conn->server->is_released, conn->server);
    if (answer->is_amid && !script_wait_for_more(conn))
        return false;
    while (answer->is_endless) {
        if (!script_write(conn, answer->text, len))
            return false;
    }
    if (!answer->is_dribbled)
        return script_write(conn, answer->text, len);
    for (size_t i = 0; i < len; i++) {
        if (!script_write(conn, answer->text + i, 1))
            return false;
        usleep(200);
    }
    return true;
}

static inline void *script_handle(void *arg)
{
    script_conn *conn = arg;
    script_server *server = conn->server;

    if (server->wrap)
        conn->wrapped = server->wrap(server, conn->fd);
    while (server->wrap == NULL || conn->wrapped) {
        int next = atomic_load(&server->requests);
        const script_answer *answer =
            &server->answers[next < server->answer_count ? next : server->answer_count - 1];

        if (!script_read_request(conn, answer->is_early || answer->is_amid))
            break;
        next = atomic_fetch_add(&server->requests, 1);
        answer = &server->answers[next < server->answer_count ? next : server->answer_count - 1];
        if (!script_send_answer(conn, answer) || answer->then_close)
            break;
        if (answer->then_ignore)
            script_wait_until(&server->is_over, server);
        if (answer->then_wait) {
            struct pollfd end = {.fd = conn->fd, .events = POLLRDHUP};

            poll(&end, 1, SCRIPT_WAIT_MS);
            break;
        }
        if (answer->then_reset) {
            setsockopt(conn->fd, SOL_SOCKET, SO_LINGER, &(struct linger){1, 0},
                       sizeof(struct linger));
            break;
        }
    }
    if (conn->wrapped)
        server->unwrap(conn->wrapped);
    pthread_mutex_lock(&server->lock);
    for (int i = 0; i < server->handler_count; i++) {
        if (server->sockets[i] == conn->fd)
            server->sockets[i] = -1;
    }
    close(conn->fd);
    pthread_mutex_unlock(&server->lock);
    free(conn);
    return NULL;
}

static inline void *script_accept(void *arg)
{
    script_server *server = arg;

    for (;;) {
        int fd = accept(server->listener, NULL, NULL);

        if (fd < 0)
            return NULL;
        atomic_fetch_add(&server->connections, 1);

        script_conn *conn = calloc(1, sizeof *conn);

        tv_assert(conn && server->handler_count < SCRIPT_THREADS_MAX);
        conn->server = server;
        conn->fd = fd;
        pthread_mutex_lock(&server->lock);
        server->sockets[server->handler_count] = fd;
        tv_assert(pthread_create(&server->handlers[server->handler_count], NULL, script_handle,
                                 conn) == 0);
        server->handler_count++;
        pthread_mutex_unlock(&server->lock);
    }
}

/* Start with the answers already set. */
static inline void script_server_start(script_server *server)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;

    pthread_mutex_init(&server->lock, NULL);
    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    tv_assert(bind(server->listener, (struct sockaddr *)&address, sizeof address) == 0);
    tv_assert(listen(server->listener, 64) == 0);
    tv_assert(getsockname(server->listener, (struct sockaddr *)&address, &len) == 0);
    server->port = ntohs(address.sin_port);
    tv_assert(pthread_create(&server->thread, NULL, script_accept, server) == 0);
}

/* Let the answers go that are held. */
static inline void script_server_release(script_server *server)
{
    atomic_store(&server->is_released, true);
}

/* Until so many requests were read; false when they do not come. */
static inline bool script_server_has_read(const script_server *server, int requests)
{
    for (int i = 0; atomic_load(&server->requests) < requests; i++) {
        if (i == SCRIPT_WAIT_MS)
            return false;
        usleep(1000);
    }
    return true;
}

/* End all connections, but not the server. */
static inline void script_server_cut(script_server *server)
{
    pthread_mutex_lock(&server->lock);
    for (int i = 0; i < server->handler_count; i++) {
        if (server->sockets[i] >= 0)
            shutdown(server->sockets[i], SHUT_RDWR);
    }
    pthread_mutex_unlock(&server->lock);
}

static inline void script_server_stop(script_server *server)
{
    atomic_store(&server->is_over, true);
    shutdown(server->listener, SHUT_RDWR);
    pthread_join(server->thread, NULL);
    close(server->listener);
    script_server_cut(server);
    for (int i = 0; i < server->handler_count; i++)
        pthread_join(server->handlers[i], NULL);
    pthread_mutex_destroy(&server->lock);
}

#endif
