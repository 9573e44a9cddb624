/*
 * A load of queue or blob requests, from one thread that costs little, because it
 * shares the machine with the server it measures.  Requests are authorised by a
 * SAS in the query, so that nothing is signed here.
 *
 *   load [flags] KIND
 *
 * A refused request spoils the results, so it ends the run with exit code 1.
 * Requests under way when the time is over are waited for and counted.
 */
#include "reply.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { CONNECTIONS_MAX = 1024, READ_BYTES = 256 * 1024 };

typedef enum step { PUT, GET, DELETE, UPLOAD, DOWNLOAD, BLOCK } step;

/* What an operation of a kind is made of. */
static const struct kind {
    const char *name;
    const char *what;
    step first, last;
    bool may_be_empty; /* a get that finds nothing does not stop the run */
} KINDS[] = {
    {"put", "put messages", PUT, PUT, false},
    {"get", "get messages until there are none; --receipts keeps them", GET, GET, false},
    {"poll", "get messages where there may be none", GET, GET, true},
    {"delete", "delete the messages of --receipts", DELETE, DELETE, false},
    {"cycle", "put, get and delete as one operation", PUT, DELETE, true},
    {"upload", "put blobs PATH-0, PATH-1 and so on", UPLOAD, UPLOAD, false},
    {"download", "get blobs PATH-0, PATH-1 and so on; PATH itself with --names 0", DOWNLOAD,
     DOWNLOAD, false},
    {"block", "put blocks of the blob PATH", BLOCK, BLOCK, false},
};

/* A message that was got: what deletes it. */
typedef struct receipt {
    char id[64];
    char pop[256]; /* percent-encoded */
} receipt;

/* Times in microseconds, as many as there are. */
typedef struct samples {
    uint32_t *us;
    size_t count, room;
} samples;

typedef struct conn {
    int fd;
    step step;
    uint64_t began_ns, step_began_ns;
    receipt receipt;
    char head[4096];
    struct iovec out[2];
    bool waits_to_write;
    reply reply;
} conn;

static struct {
    const struct kind *kind;
    const char *path, *query, *receipts_path;
    int port, connections;
    double seconds;
    uint64_t count, names;
    char *body;
    size_t body_length;
} options = {.query = "", .connections = 16, .seconds = 1e9, .count = UINT64_MAX, .names = 1};

static int poller;
static uint64_t deadline_ns, started, finished, bytes;
static bool is_over;
static int busy_count;
static samples operations, gets;
static FILE *receipts;
static conn conns[CONNECTIONS_MAX];

static void fail(const char *what, const char *detail)
{
    fprintf(stderr, "load: %s: %s\n", what, detail);
    exit(1);
}

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void add_sample(samples *s, uint64_t ns)
{
    if (s->count == s->room) {
        s->room = s->room ? s->room * 2 : 4096;
        s->us = realloc(s->us, s->room * sizeof(*s->us));
        if (!s->us)
            fail("memory", "none left");
    }
    s->us[s->count++] = (uint32_t)(ns / 1000);
}

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

static double percentile_ms(samples *s, double share)
{
    if (s->count == 0)
        return 0;
    qsort(s->us, s->count, sizeof(*s->us), by_value);
    return s->us[(size_t)((double)(s->count - 1) * share)] / 1000.0;
}

/* Requests. */

/* Write the request of the connection's step. */
static void write_request(conn *c, uint64_t number)
{
    static const char *const methods[] = {"POST", "GET", "DELETE", "PUT", "GET", "PUT"};
    bool has_body = c->step == PUT || c->step == UPLOAD || c->step == BLOCK;
    char target[3072], id[16];
    int length;

    switch (c->step) {
    case PUT:
        length = snprintf(target, sizeof(target), "%s/messages?%s", options.path, options.query);
        break;
    case GET:
        length = snprintf(target, sizeof(target), "%s/messages?visibilitytimeout=600&%s",
                          options.path, options.query);
        break;
    case DELETE:
        length = snprintf(target, sizeof(target), "%s/messages/%s?popreceipt=%s&%s", options.path,
                          c->receipt.id, c->receipt.pop, options.query);
        break;
    case BLOCK:
        /* Eight digits are as good as any base64. */
        snprintf(id, sizeof(id), "%08u", (unsigned)(number % 100000000));
        length = snprintf(target, sizeof(target), "%s?comp=block&blockid=%s&%s", options.path, id,
                          options.query);
        break;
    default:
        if (options.names == 0)
            length = snprintf(target, sizeof(target), "%s?%s", options.path, options.query);
        else
            length = snprintf(target, sizeof(target), "%s-%llu?%s", options.path,
                              (unsigned long long)(number % options.names), options.query);
    }
    if (length >= (int)sizeof(target))
        fail("the path is too long", options.path);

    length = snprintf(c->head, sizeof(c->head),
                      "%s %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nx-ms-version: 2021-12-02\r\n"
                      "%s%s",
                      methods[c->step], target, options.port,
                      c->step == UPLOAD ? "x-ms-blob-type: BlockBlob\r\n" : "",
                      c->step == PUT ? "Content-Type: application/xml\r\n" : "");
    if (has_body)
        length += snprintf(c->head + length, sizeof(c->head) - (size_t)length,
                           "Content-Length: %zu\r\n", options.body_length);
    length += snprintf(c->head + length, sizeof(c->head) - (size_t)length, "\r\n");
    c->out[0] = (struct iovec){c->head, (size_t)length};
    c->out[1] = (struct iovec){options.body, has_body ? options.body_length : 0};
}

static void watch(conn *c, bool for_writing)
{
    struct epoll_event event = {.events = EPOLLIN | (for_writing ? EPOLLOUT : 0), .data.ptr = c};

    if (epoll_ctl(poller, EPOLL_CTL_MOD, c->fd, &event) < 0)
        fail("epoll", strerror(errno));
    c->waits_to_write = for_writing;
}

static void send_rest(conn *c)
{
    while (c->out[0].iov_len + c->out[1].iov_len > 0) {
        ssize_t sent = writev(c->fd, c->out, 2);

        if (sent < 0 && errno == EAGAIN) {
            if (!c->waits_to_write)
                watch(c, true);
            return;
        }
        if (sent < 0)
            fail("write", strerror(errno));
        for (int i = 0; i < 2; i++) {
            size_t part = (size_t)sent < c->out[i].iov_len ? (size_t)sent : c->out[i].iov_len;
            c->out[i].iov_base = (char *)c->out[i].iov_base + part;
            c->out[i].iov_len -= part;
            sent -= (ssize_t)part;
        }
    }
    if (c->waits_to_write)
        watch(c, false);
}

static void begin_step(conn *c, step next, uint64_t number, uint64_t now)
{
    c->step = next;
    c->step_began_ns = now;
    reply_init(&c->reply);
    write_request(c, number);
    send_rest(c);
}

/* Begin the next operation on a connection, or leave it idle at the end. */
static void begin(conn *c, uint64_t now)
{
    if (is_over || started == options.count || now >= deadline_ns)
        return;
    if (options.kind->first == DELETE &&
        fscanf(receipts, "%63s %255s", c->receipt.id, c->receipt.pop) != 2) {
        is_over = true;
        return;
    }
    busy_count++;
    c->began_ns = now;
    begin_step(c, options.kind->first, started++, now);
}

/* Replies. */

/* Copy the text of an element, percent-encoded. */
static bool copy_element(const char *xml, const char *tag, char *ret_text, size_t room)
{
    const char *at = strstr(xml, tag);
    size_t used = 0;

    if (!at)
        return false;
    for (at += strlen(tag); *at != '<'; at++) {
        if (*at == '\0' || used + 4 > room)
            return false;
        if (strchr("+/=", *at))
            used += (size_t)snprintf(ret_text + used, 4, "%%%02X", (unsigned)*at);
        else
            ret_text[used++] = *at;
    }
    ret_text[used] = '\0';
    return true;
}

static void on_get(conn *c, bool *ret_empty)
{
    *ret_empty = !strstr(c->reply.text, "<MessageId>");
    if (*ret_empty)
        return;
    if (!copy_element(c->reply.text, "<MessageId>", c->receipt.id, sizeof(c->receipt.id)) ||
        !copy_element(c->reply.text, "<PopReceipt>", c->receipt.pop, sizeof(c->receipt.pop)))
        fail("a message without a receipt", c->reply.text);
    if (receipts)
        fprintf(receipts, "%s %s\n", c->receipt.id, c->receipt.pop);
}

static void on_reply(conn *c)
{
    static const int wanted[] = {201, 200, 204, 201, 200, 201};
    uint64_t now = now_ns();
    bool is_empty = false;

    if (c->reply.status != wanted[c->step]) {
        char what[64];
        snprintf(what, sizeof(what), "status %d", c->reply.status);
        fail(what, c->reply.text);
    }
    bytes += c->reply.body_bytes;
    if (c->step == PUT || c->step == UPLOAD || c->step == BLOCK)
        bytes += options.body_length;
    if (c->step == GET) {
        on_get(c, &is_empty);
        if (options.kind->last != GET)
            add_sample(&gets, now - c->step_began_ns);
    }

    if (c->step != options.kind->last) {
        /* In a cycle a message may be on its way still; then get again. */
        begin_step(c, is_empty ? GET : c->step + 1, 0, now);
        return;
    }
    busy_count--;
    if (is_empty && !options.kind->may_be_empty) {
        is_over = true;
        return;
    }
    finished++;
    add_sample(&operations, now - c->began_ns);
    begin(c, now);
}

static void on_readable(conn *c)
{
    static char buffer[READ_BYTES];
    ssize_t got = read(c->fd, buffer, sizeof(buffer));

    if (got < 0 && errno == EAGAIN)
        return;
    if (got <= 0)
        fail("read", got < 0 ? strerror(errno) : "the server closed the connection");
    reply_feed(&c->reply, buffer, (size_t)got);
    if (c->reply.state == REPLY_BROKEN)
        fail("not a reply that is understood", c->reply.line);
    if (c->reply.state == REPLY_DONE)
        on_reply(c);
}

static void open_conn(conn *c)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)options.port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
    int one = 1;

    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        fail("connect", strerror(errno));
    if (fcntl(c->fd, F_SETFL, O_NONBLOCK) < 0 ||
        setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) < 0)
        fail("socket", strerror(errno));
    if (epoll_ctl(poller, EPOLL_CTL_ADD, c->fd, &event) < 0)
        fail("epoll", strerror(errno));
}

static double run(void)
{
    struct epoll_event events[64];
    uint64_t began = now_ns();

    deadline_ns = began + (uint64_t)(options.seconds * 1e9);
    for (int i = 0; i < options.connections; i++)
        begin(&conns[i], began);
    while (busy_count > 0) {
        int count = epoll_wait(poller, events, 64, 60000);

        if (count == 0)
            fail("no reply", "for a minute");
        for (int i = 0; i < count; i++) {
            conn *c = events[i].data.ptr;
            if (events[i].events & EPOLLOUT)
                send_rest(c);
            if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))
                on_readable(c);
        }
    }
    return (double)(now_ns() - began) / 1e9;
}

/* The command line. */

static void read_body(const char *path)
{
    FILE *file = fopen(path, "rb");
    struct stat attributes;

    if (!file || fstat(fileno(file), &attributes) < 0)
        fail(path, strerror(errno));
    options.body_length = (size_t)attributes.st_size;
    options.body = malloc(options.body_length + 1);
    if (!options.body || fread(options.body, 1, options.body_length, file) != options.body_length)
        fail(path, "cannot be read");
    fclose(file);
}

static void usage(void)
{
    fputs("usage: load [flags] KIND\n\n"
          "  --port N           of the server on 127.0.0.1\n"
          "  --path PATH        /account/queue, or the beginning of /account/container/blob\n"
          "  --query TEXT       a SAS\n"
          "  --body FILE        what is put or uploaded\n"
          "  --receipts FILE    written by get, read by delete\n"
          "  --connections N    (16)\n"
          "  --seconds N        until no more operations are begun\n"
          "  --count N          of operations, at most\n"
          "  --names N          of different blobs (1)\n\n",
          stderr);
    for (size_t i = 0; i < sizeof(KINDS) / sizeof(KINDS[0]); i++)
        fprintf(stderr, "  %-10s %s\n", KINDS[i].name, KINDS[i].what);
    exit(2);
}

static void read_options(int argc, char **argv)
{
    static const struct option flags[] = {
        {"port", required_argument, NULL, 'p'},     {"path", required_argument, NULL, 'u'},
        {"query", required_argument, NULL, 'q'},    {"body", required_argument, NULL, 'b'},
        {"receipts", required_argument, NULL, 'r'}, {"connections", required_argument, NULL, 'c'},
        {"seconds", required_argument, NULL, 's'},  {"count", required_argument, NULL, 'n'},
        {"names", required_argument, NULL, 'm'},    {NULL, 0, NULL, 0}};
    int flag;

    while ((flag = getopt_long(argc, argv, "", flags, NULL)) != -1) {
        switch (flag) {
        case 'p':
            options.port = atoi(optarg);
            break;
        case 'u':
            options.path = optarg;
            break;
        case 'q':
            options.query = optarg;
            break;
        case 'b':
            read_body(optarg);
            break;
        case 'r':
            options.receipts_path = optarg;
            break;
        case 'c':
            options.connections = atoi(optarg);
            break;
        case 's':
            options.seconds = atof(optarg);
            break;
        case 'n':
            options.count = strtoull(optarg, NULL, 10);
            break;
        case 'm':
            options.names = strtoull(optarg, NULL, 10);
            break;
        default:
            usage();
        }
    }
    for (size_t i = 0; optind == argc - 1 && i < sizeof(KINDS) / sizeof(KINDS[0]); i++) {
        if (strcmp(argv[optind], KINDS[i].name) == 0)
            options.kind = &KINDS[i];
    }
    if (!options.kind || !options.path || options.connections < 1 ||
        options.connections > CONNECTIONS_MAX)
        usage();
}

int main(int argc, char **argv)
{
    read_options(argc, argv);
    if (options.receipts_path) {
        receipts = fopen(options.receipts_path, options.kind->first == DELETE ? "r" : "w");
        if (!receipts)
            fail(options.receipts_path, strerror(errno));
    }
    poller = epoll_create1(EPOLL_CLOEXEC);
    for (int i = 0; i < options.connections; i++)
        open_conn(&conns[i]);

    double seconds = run();
    if (receipts && fclose(receipts) != 0)
        fail(options.receipts_path, strerror(errno));
    printf("{\"operations\": %llu, \"bytes\": %llu, \"seconds\": %.6f, \"p50_ms\": %.3f, "
           "\"p99_ms\": %.3f, \"get_p50_ms\": %.3f}\n",
           (unsigned long long)finished, (unsigned long long)bytes, seconds,
           percentile_ms(&operations, 0.5), percentile_ms(&operations, 0.99),
           percentile_ms(&gets, 0.5));
    return 0;
}
