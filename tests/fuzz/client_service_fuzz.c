/*
 * Whole operations with a hostile service.  The first byte chooses one of all kinds that read an
 * answer; the rest is the answers, with a NUL after each: connection n gets the n-th and is closed,
 * those behind the last are closed at once.
 *
 * Sockets are pairs of this process: `socket` and `connect` below are what the library links with.
 */
#include "fuzz.h"

#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/slice.h"
#include "base/utf8.h"
#include "tavola.h"

enum { CONNECTIONS_MAX = 64, ANSWERS_MAX = 16, ANSWER_BYTES_MAX = 64 * 1024 };

/* ---- the service ---- */

static struct {
    pthread_mutex_t lock; /* pages are fetched ahead by the client's thread */
    tv_slice answers[ANSWERS_MAX];
    size_t answer_count;
    int peers[CONNECTIONS_MAX];
    size_t peer_count;
} service = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int connect_pair(int type)
{
    int pair[2];

    if (service.peer_count == CONNECTIONS_MAX ||
        socketpair(AF_UNIX, SOCK_STREAM | (type & (SOCK_NONBLOCK | SOCK_CLOEXEC)), 0, pair) != 0)
        return -1;
    if (service.peer_count < service.answer_count) {
        tv_slice answer = service.answers[service.peer_count];

        tv_assert(write(pair[1], answer.data, answer.len) == (ssize_t)answer.len);
    }
    shutdown(pair[1], SHUT_WR);
    service.peers[service.peer_count++] = pair[1]; /* which takes the request */
    return pair[0];
}

int socket(int domain, int type, int protocol)
{
    (void)domain, (void)protocol;
    pthread_mutex_lock(&service.lock);

    int fd = connect_pair(type);

    pthread_mutex_unlock(&service.lock);
    return fd;
}

int connect(int fd, const struct sockaddr *address, socklen_t len)
{
    (void)fd, (void)address, (void)len;
    return 0;
}

static void open_service(tv_slice text)
{
    service.answer_count = service.peer_count = 0;
    while (service.answer_count < ANSWERS_MAX &&
           tv_slice_next(&text, '\0', &service.answers[service.answer_count]))
        service.answer_count++;
}

static void close_service(void)
{
    for (size_t i = 0; i < service.peer_count; i++)
        close(service.peers[i]);
}

/* ---- operations ---- */

typedef struct user {
    tavola_client *client;
    tavola_table *table;
    tavola_queue *queue;
    tavola_container *container;
    tavola_call *call;
    tavola_entity *entity;
} user;

static void look_at(const char *text)
{
    tv_assert(text == NULL || tv_utf8_is_valid(tv_slice_of(text)));
}

static void look_at_entity(const tavola_entity *entity)
{
    char *json = tavola_entity_json(entity);

    look_at(json);
    look_at(tavola_entity_etag(entity));
    tavola_free(json);
}

static void look_at_names(const tavola_names *names)
{
    for (size_t i = 0; i < tavola_names_count(names); i++)
        look_at(tavola_names_at(names, i));
}

static tavola_err get(user *u)
{
    tavola_entity *got = NULL;
    tavola_err err = tavola_get(u->table, "p", "r", u->call, &got);

    tv_assert((err == TAVOLA_OK) == (got != NULL));
    if (got)
        look_at_entity(got);
    tavola_entity_free(got);
    return err;
}

static tavola_err insert(user *u)
{
    return tavola_insert(u->table, u->entity, u->call);
}

static tavola_err replace(user *u)
{
    return tavola_replace(u->table, u->entity, "W/\"1\"", u->call);
}

static tavola_err delete (user *u)
{
    return tavola_delete(u->table, "p", "r", TAVOLA_ANY, u->call);
}

static tavola_err run_batch(user *u)
{
    tavola_batch *batch = tavola_batch_new(u->table);
    tavola_entity *other = tavola_entity_new("p", "s");

    tavola_batch_add(batch, TAVOLA_INSERT, u->entity, NULL);
    tavola_batch_add(batch, TAVOLA_INSERT_OR_REPLACE, other, NULL);

    tavola_err err = tavola_batch_run(batch, u->call);

    for (size_t i = 0; i < 2; i++)
        look_at(tavola_batch_etag(batch, i));
    tavola_batch_free(batch);
    tavola_entity_free(other);
    return err;
}

static tavola_err scan(user *u)
{
    tavola_scan *cursor = NULL;
    const tavola_entity *entity = NULL;
    tavola_err err = tavola_scan_open(u->table, NULL, u->call, &cursor);

    while (err == TAVOLA_OK && (err = tavola_scan_next(cursor, &entity)) == TAVOLA_OK)
        look_at_entity(entity);
    tavola_scan_close(cursor);
    return err;
}

static tavola_err query(user *u)
{
    tavola_page *page = NULL;
    tavola_err err = tavola_query_page(u->table, NULL, NULL, u->call, &page);

    for (const char *at = page ? tavola_page_token(page) : NULL; at && *at; at++)
        tv_assert(*at > ' ' && *at < 0x7F);
    for (size_t i = 0; i < tavola_page_count(page); i++)
        look_at_entity(tavola_page_at(page, i));
    tavola_page_free(page);
    return err;
}

static tavola_err list(user *u, tavola_err (*of)(tavola_client *, const char *, tavola_call *,
                                                 tavola_names **))
{
    tavola_names *names = NULL;
    tavola_err err = of(u->client, NULL, u->call, &names);

    tv_assert((err == TAVOLA_OK) == (names != NULL));
    look_at_names(names);
    tavola_names_free(names);
    return err;
}

static tavola_err list_tables(user *u)
{
    return list(u, tavola_table_list);
}

static tavola_err list_queues(user *u)
{
    return list(u, tavola_queue_list);
}

static tavola_err list_containers(user *u)
{
    return list(u, tavola_container_list);
}

static tavola_err table_exists(user *u)
{
    bool exists;

    return tavola_table_exists(u->table, u->call, &exists);
}

static tavola_err get_policies(user *u)
{
    tavola_policies *policies = NULL;
    tavola_err err = tavola_container_get_policies(u->container, u->call, &policies);

    tavola_policies_free(policies);
    return err;
}

static tavola_err count_messages(user *u)
{
    uint64_t count;

    return tavola_queue_count(u->queue, u->call, &count);
}

static tavola_err put_message(user *u)
{
    tavola_message *message = NULL;
    tavola_err err = tavola_message_put_later(u->queue, "a", 0, 0, u->call, &message);

    tv_assert((err == TAVOLA_OK) == (message != NULL));
    if (message) {
        look_at(tavola_message_id(message));
        err = tavola_message_update(u->queue, message, "b", 1, u->call);
        look_at(tavola_message_pop_receipt(message));
    }
    tavola_message_free(message);
    return err;
}

static tavola_err get_message(user *u)
{
    tavola_message *message = NULL;
    tavola_err err = tavola_message_get(u->queue, 1, u->call, &message);

    if (message) {
        void *data = NULL;
        size_t size = 0;

        look_at(tavola_message_text(message));
        if (tavola_message_bytes(message, &data, &size) == TAVOLA_OK)
            tavola_free(data);
        err = tavola_message_delete(u->queue, message, u->call);
    }
    tavola_message_free(message);
    return err;
}

static tavola_err put_blob(user *u)
{
    return tavola_blob_put(u->container, "b", "abc", 3, NULL, u->call);
}

static tavola_err get_blob(user *u)
{
    void *data = NULL;
    size_t size = 0;
    tavola_err err = tavola_blob_get(u->container, "b", 1000, u->call, &data, &size);

    if (err == TAVOLA_OK)
        tv_assert(size <= 1000 && ((char *)data)[size] == '\0');
    tavola_free(data);
    return err;
}

static tavola_err get_range(user *u)
{
    void *data = NULL;
    size_t size = 0;
    tavola_err err = tavola_blob_get_range(u->container, "b", 3, 4, u->call, &data, &size);

    tv_assert(err || size <= 4);
    tavola_free(data);
    return err;
}

static bool take(void *total, const void *bytes, size_t len)
{
    (void)bytes;
    *(size_t *)total += len;
    return true;
}

static tavola_err read_blob(user *u)
{
    size_t total = 0;

    return tavola_blob_read(u->container, "b", take, &total, u->call);
}

static tavola_err append(user *u)
{
    uint64_t offset = 0;

    return tavola_blob_append(u->container, "b", "abc", 3, u->call, &offset);
}

static tavola_err stat_blob(user *u)
{
    tavola_blob_info *info = NULL;
    tavola_err err = tavola_blob_stat(u->container, "b", u->call, &info);

    tv_assert((err == TAVOLA_OK) == (info != NULL));
    if (info) {
        look_at(info->etag);
        look_at(info->content_type);
    }
    tavola_blob_info_free(info);
    return err;
}

static tavola_err list_blobs(user *u)
{
    tavola_blobs *blobs = NULL;
    tavola_err err = tavola_blob_list(u->container, NULL, "/", 0, NULL, u->call, &blobs);

    look_at(blobs ? tavola_blobs_token(blobs) : NULL);
    tavola_blobs_free(blobs);
    return err;
}

static tavola_err get_large(user *u)
{
    void *data = NULL;
    size_t size = 0;
    tavola_entity *entity = NULL;
    tavola_err err = tavola_get(u->table, "p", "r", u->call, &entity);

    if (err == TAVOLA_OK)
        err = tavola_large_get(u->table, entity, "V", u->call, &data, &size);
    tavola_entity_free(entity);
    tavola_free(data);
    return err;
}

static tavola_err get_wide(user *u)
{
    tavola_entity *entity = NULL;
    tavola_err err = tavola_wide_get(u->table, "p", "r", u->call, &entity);

    if (entity)
        look_at(tavola_entity_row_key(entity));
    tavola_entity_free(entity);
    return err;
}

static tavola_err get_list(user *u)
{
    tavola_names *items = NULL;
    tavola_err err = tavola_list_get(u->table, "p", "r", "V", u->call, &items);

    look_at_names(items);
    tavola_names_free(items);
    return err;
}

static tavola_err (*const operations[])(user *) = {
    get,          insert,       replace,     delete,      run_batch,
    scan,         query,        list_tables, list_queues, list_containers,
    table_exists, get_policies, put_message, get_message, count_messages,
    put_blob,     get_blob,     get_range,   read_blob,   append,
    stat_blob,    list_blobs,   get_large,   get_wide,    get_list,
};

/* ---- one input ---- */

static void open_user(user *u)
{
    static const char connection[] =
        "AccountName=a;AccountKey=a2V5;TableEndpoint=http://127.0.0.1:1/a;"
        "QueueEndpoint=http://127.0.0.1:2/a;BlobEndpoint=http://127.0.0.1:3/a";
    tavola_client_options options = {.struct_size = sizeof options,
                                     .retry_max = 1,
                                     .retry_delay_ms = 1,
                                     .retry_delay_max_ms = 1,
                                     .proxy = ""};

    tv_assert(tavola_client_open(connection, &options, &u->client) == TAVOLA_OK);
    tv_assert(tavola_table_open(u->client, "people", &u->table) == TAVOLA_OK);
    tv_assert(tavola_queue_open(u->client, "jobs", &u->queue) == TAVOLA_OK);
    tv_assert(tavola_container_open(u->client, "photos", &u->container) == TAVOLA_OK);
    u->call = tavola_call_new();
    u->entity = tavola_entity_new("p", "r");
    tavola_entity_set_int32(u->entity, "N", 1);
}

static void close_user(user *u)
{
    tavola_entity_free(u->entity);
    tavola_call_free(u->call);
    tavola_container_close(u->container);
    tavola_queue_close(u->queue);
    tavola_table_close(u->table);
    tavola_client_close(u->client);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    user u = {0};

    if (size == 0 || size > ANSWER_BYTES_MAX)
        return 0;

    open_service((tv_slice){(const char *)data + 1, size - 1});
    open_user(&u);

    size_t chosen = (uint8_t)(data[0] - 'A') % (sizeof operations / sizeof *operations);
    tavola_err err = operations[chosen](&u);

    /* A service can do much, but not make the caller's arguments wrong or memory short. */
    tv_assert(err != TAVOLA_ERR_NO_MEMORY);
    look_at(tavola_call_code(u.call));
    look_at(tavola_call_message(u.call));
    look_at(tavola_call_etag(u.call));
    look_at(tavola_call_service_request_id(u.call));
    close_user(&u);
    close_service();
    return 0;
}
