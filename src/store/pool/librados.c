/*
 * A pool over librados: the only file that knows it.  Built with -Drados=enabled.
 *
 * Operations are asynchronous; librados answers them on a thread of its own, the
 * finisher, which calls `done`.  It repeats what an OSD's death leaves unanswered, with
 * the same request id, so no operation has a timeout of librados' own.  Those that have a deadline
 * are cancelled by a thread of ours, which looks at them now and then; librados then
 * answers them as all others, and touches their buffers no more.
 *
 * Traps: cmpxattr compares the argument with what is stored (GT passes when the
 * argument is greater), omap_cmp the other way round; an absent attribute or
 * row is "".  A write operation makes the object if it is not there, unless it
 * asserts that it exists.
 */
#include <errno.h>
#include <pthread.h>
#include <rados/librados.h>
#include <stdatomic.h>
#include <sys/time.h>
#include <time.h>

#include "base/assert.h"
#include "base/background.h"
#include "base/clock.h"
#include "base/log.h"
#include "store/pool/pool.h"

enum {
    WATCH_SECONDS = 10, /* a node that is gone is not waited for any longer than this */
    NOTIFY_MS = 5000,   /* likewise */
    WATCH_RETRY_MS = 1000,
    DEADLINE_TICK_MS = 500,
    SHUT_OUT_SECONDS = 24 * 3600,
};

/* The one lock that is taken on an object, and the one that many share: their list. */
#define LOCK_NAME "tavola"
#define LIST_NAME "clients"

typedef struct watch {
    struct watch *next;
    struct librados_pool *pool;
    char object[TV_POOL_NAME_MAX + 1];
    void (*fn)(void *ctx);
    void *ctx;
    uint64_t cookie;
    bool is_broken; /* to be registered again; under the keeper's lock */
} watch;

/* An operation with a deadline. */
typedef struct timed {
    struct timed *next, *before;
    int64_t until_ns;
    rados_completion_t completion;
    bool is_late; /* it was cancelled */
} timed;

typedef struct librados_pool {
    tv_pool base;
    rados_t cluster;
    rados_ioctx_t io;
    char *address;
    char *name;
    void (*on_shut_out)(void *ctx);
    void *on_shut_out_ctx;
    atomic_uint lacks;    /* bits of caps: what was refused, and not done since */
    atomic_int notices;   /* under way */
    tv_background keeper; /* of the watches, whose list its lock guards */
    watch *watches;
    bool has_keeper;
    tv_background canceller;
    pthread_mutex_t timed_lock; /* guards what follows */
    pthread_cond_t let_go;      /* of `cancelled` */
    timed under_way;            /* a ring */
    timed *cancelled;           /* the one that the canceller holds at the moment */
} librados_pool;

static librados_pool *of(tv_pool *pool)
{
    return (librados_pool *)pool;
}

/* What an operation needs of the Ceph user. */
typedef enum cap { CAP_R, CAP_W, CAP_X, CAP_MON, CAP_BLOCKLIST, CAPS } cap;

static const struct {
    const char *name, *means;
    bool is_for_mon;
} caps[CAPS] = {
    {"osd r", "no row is read", false},
    {"osd w", "no row is written", false},
    {"osd x", "it cannot join the nodes of the pool", false},
    {"mon r", "how full the pool is cannot be seen", true},
    {"mon osd blocklist", "a dead node cannot be shut out", true},
};

static void describe_lack(librados_pool *pool, cap lack, char *ret_text, size_t size)
{
    char osd[200];

    snprintf(osd, sizeof osd, "osd 'allow rwx pool=%.100s'", pool->name);
    snprintf(ret_text, size, "the Ceph user lacks %s, so %s; it needs %s", caps[lack].name,
             caps[lack].means,
             caps[lack].is_for_mon ? "mon 'allow r, allow command \"osd blocklist\"'" : osd);
}

/* A line when it begins: it will be so until somebody changes it. */
static void note_lack(librados_pool *pool, cap lack)
{
    char text[400];

    if (atomic_fetch_or(&pool->lacks, 1u << lack) & 1u << lack)
        return;

    describe_lack(pool, lack, text, sizeof text);
    tv_log(TV_LOG_ERROR, "ceph_caps", "pool=%s problem=\"%s\"", pool->name, text);
}

static bool pool_lacks(tv_pool *base, char *ret_text, size_t size)
{
    librados_pool *pool = of(base);
    unsigned lacks = atomic_load(&pool->lacks);

    for (int i = 0; i < CAPS; i++) {
        if (lacks & 1u << i) {
            describe_lack(pool, (cap)i, ret_text, size);
            return true;
        }
    }
    return false;
}

static tv_err err_of(librados_pool *pool, cap needs, int rc)
{
    if (rc >= 0 && atomic_load(&pool->lacks) & 1u << needs)
        atomic_fetch_and(&pool->lacks, ~(1u << needs));
    switch (-rc) {
    case ENOENT:
        return TV_ERR_NOT_FOUND;
    case ECANCELED:
    case EEXIST:
        return TV_ERR_CONFLICT;
    case ENOSPC:
    case EDQUOT:
        return TV_ERR_DISK_FULL;
    case EBUSY:
        return TV_ERR_IN_USE;
    case ETIMEDOUT:
        return TV_ERR_TIMED_OUT;
    case EPERM:
    case EACCES:
        note_lack(pool, needs);
        return TV_ERR_IO;
    case ESHUTDOWN:
        if (pool->on_shut_out)
            pool->on_shut_out(pool->on_shut_out_ctx);
        return TV_ERR_STOPPED;
    default:
        return rc < 0 ? TV_ERR_IO : TV_OK;
    }
}

/* --- deadlines --- */

static void timed_begin(librados_pool *pool, timed *t, int64_t until_ns)
{
    int64_t own_ns = tv_clock_mono_ns() + tv_pool_patience_ms * INT64_C(1000000);

    t->until_ns = until_ns && until_ns < own_ns ? until_ns : own_ns;
    pthread_mutex_lock(&pool->timed_lock);
    t->next = &pool->under_way;
    t->before = pool->under_way.before;
    t->before->next = pool->under_way.before = t;
    pthread_mutex_unlock(&pool->timed_lock);
}

/* Before its completion is released: nobody cancels it any more. */
static void timed_end(librados_pool *pool, timed *t)
{
    if (t->next == NULL)
        return;

    pthread_mutex_lock(&pool->timed_lock);
    t->before->next = t->next;
    t->next->before = t->before;
    while (pool->cancelled == t)
        pthread_cond_wait(&pool->let_go, &pool->timed_lock);
    pthread_mutex_unlock(&pool->timed_lock);
}

static timed *find_late(librados_pool *pool)
{
    int64_t now_ns = tv_clock_mono_ns();

    for (timed *t = pool->under_way.next; t != &pool->under_way; t = t->next)
        if (!t->is_late && t->until_ns <= now_ns)
            return t;
    return NULL;
}

/* librados answers on another thread, which waits in timed_end until this one lets go. */
static void run_canceller(tv_background *background, void *ctx)
{
    librados_pool *pool = ctx;
    timed *t;

    while (tv_background_sleep(background, DEADLINE_TICK_MS)) {
        pthread_mutex_lock(&pool->timed_lock);
        while ((t = find_late(pool))) {
            t->is_late = true;
            pool->cancelled = t;
            pthread_mutex_unlock(&pool->timed_lock);

            int rc = rados_aio_cancel(pool->io, t->completion);

            pthread_mutex_lock(&pool->timed_lock);
            if (rc < 0) { /* not yet sent, or just answered */
                t->is_late = false;
                t->until_ns = tv_clock_mono_ns() + DEADLINE_TICK_MS * INT64_C(1000000);
            }
            pool->cancelled = NULL;
            pthread_cond_broadcast(&pool->let_go);
        }
        pthread_mutex_unlock(&pool->timed_lock);
    }
}

/* --- changes --- */

typedef struct change_op {
    timed deadline;
    librados_pool *pool;
    tv_pool_change *change;
    rados_write_op_t op;
    rados_completion_t completion;
    int *results; /* for each step; librados fills in those of row conditions */
} change_op;

static void change_done(rados_completion_t completion, void *arg)
{
    change_op *o = arg;
    tv_pool_change *change = o->change;
    int rc = completion ? rados_aio_get_return_value(completion) : -EIO;

    timed_end(o->pool, &o->deadline);
    if (rc == -ECANCELED && o->deadline.is_late)
        rc = -ETIMEDOUT;
    change->result = err_of(o->pool, CAP_W, rc);
    change->refused = TV_POOL_NO_STEP;
    if (rc == -ECANCELED) {
        for (size_t i = 0; i < change->step_count && change->refused == TV_POOL_NO_STEP; i++) {
            if (o->results[i] < 0)
                change->refused = i;
        }
    }
    rados_release_write_op(o->op);
    if (completion)
        rados_aio_release(completion);
    free(o->results);
    free(o);
    change->done(change);
}

/* A name as a C string; librados has copied it when the call returns. */
typedef struct text {
    char bytes[TV_POOL_NAME_MAX + 1];
} text;

static text text_of(tv_slice name)
{
    text t;

    tv_assert(name.len <= TV_POOL_NAME_MAX);
    *tv_slice_put(t.bytes, name) = '\0';
    return t;
}

/* Add rows to put or to delete that follow each other, as one.  Returns the step behind them. */
static size_t add_rows(rados_write_op_t op, const tv_pool_change *change, size_t first)
{
    tv_pool_kind kind = change->steps[first].kind;
    size_t end = first, count;

    while (end < change->step_count && change->steps[end].kind == kind)
        end++;
    count = end - first;

    const char **keys = tv_calloc(count * 2, sizeof *keys), **values = keys + count;
    size_t *key_sizes = tv_calloc(count * 2, sizeof *key_sizes), *value_sizes = key_sizes + count;

    for (size_t i = 0; i < count; i++) {
        keys[i] = change->steps[first + i].key.data;
        key_sizes[i] = change->steps[first + i].key.len;
        values[i] = change->steps[first + i].value.data;
        value_sizes[i] = change->steps[first + i].value.len;
    }
    if (kind == TV_POOL_PUT_ROW)
        rados_write_op_omap_set2(op, keys, values, key_sizes, value_sizes, count);
    else
        rados_write_op_omap_rm_keys2(op, keys, key_sizes, count);
    free(keys);
    free(key_sizes);
    return end;
}

static void add_step(rados_write_op_t op, const tv_pool_step *step, int *result)
{
    switch (step->kind) {
    case TV_POOL_CREATE:
        rados_write_op_create(op, LIBRADOS_CREATE_EXCLUSIVE, NULL);
        break;
    case TV_POOL_ATTR_IS:
        rados_write_op_cmpxattr(op, text_of(step->key).bytes, LIBRADOS_CMPXATTR_OP_EQ,
                                step->value.data, step->value.len);
        break;
    case TV_POOL_ATTR_BELOW:
        rados_write_op_cmpxattr(op, text_of(step->key).bytes, LIBRADOS_CMPXATTR_OP_GT,
                                step->value.data, step->value.len);
        break;
    case TV_POOL_ROW_IS:
        rados_write_op_omap_cmp2(op, step->key.data, LIBRADOS_CMPXATTR_OP_EQ, step->value.data,
                                 step->key.len, step->value.len, result);
        break;
    case TV_POOL_ROW_ABSENT:
        rados_write_op_omap_cmp2(op, step->key.data, LIBRADOS_CMPXATTR_OP_EQ, "", step->key.len, 0,
                                 result);
        break;
    case TV_POOL_DELETE_ROWS:
        rados_write_op_omap_rm_range2(op, step->key.data, step->key.len, step->value.data,
                                      step->value.len);
        break;
    case TV_POOL_SET_ATTR:
        rados_write_op_setxattr(op, text_of(step->key).bytes, step->value.data, step->value.len);
        break;
    case TV_POOL_SET_DATA:
        rados_write_op_write_full(op, step->value.data, step->value.len);
        break;
    case TV_POOL_REMOVE:
        rados_write_op_remove(op);
        break;
    case TV_POOL_PUT_ROW:
    case TV_POOL_DELETE_ROW:
        break; /* add_rows */
    }
}

static void pool_change(tv_pool *base, tv_pool_change *change)
{
    librados_pool *pool = of(base);
    change_op *o = tv_calloc(1, sizeof *o);

    o->pool = pool;
    o->change = change;
    o->op = rados_create_write_op();
    o->results = tv_calloc(change->step_count + 1, sizeof *o->results);
    if (change->step_count == 0 || change->steps[0].kind != TV_POOL_CREATE)
        rados_write_op_assert_exists(o->op);
    for (size_t i = 0; i < change->step_count;) {
        if (change->steps[i].kind == TV_POOL_PUT_ROW || change->steps[i].kind == TV_POOL_DELETE_ROW)
            i = add_rows(o->op, change, i);
        else
            add_step(o->op, &change->steps[i], &o->results[i]), i++;
    }
    tv_assert(rados_aio_create_completion2(o, change_done, &o->completion) == 0);
    o->deadline.completion = o->completion;
    if (change->until_ns)
        timed_begin(pool, &o->deadline, change->until_ns);
    if (rados_aio_write_op_operate(o->op, pool->io, o->completion, change->object, NULL, 0) < 0) {
        rados_aio_release(o->completion);
        change_done(NULL, o);
    }
}

/* --- reads --- */

typedef struct read_op {
    timed deadline;
    librados_pool *pool;
    tv_pool_read *read;
    rados_read_op_t op;
    rados_completion_t completion;
    rados_omap_iter_t rows;
    rados_xattrs_iter_t attrs;
    unsigned char has_more;
    char *buffer;
    size_t bytes_read;
    int result; /* of the part of the operation that reads */
} read_op;

static void take_rows(read_op *o)
{
    tv_pool_read *read = o->read;
    unsigned count = rados_omap_iter_size(o->rows);
    tv_slice key, value;
    char *k, *v;

    read->rows = tv_arena_alloc(read->arena, (count + 1) * sizeof *read->rows);
    while (rados_omap_get_next2(o->rows, &k, &v, &key.len, &value.len) == 0 && k) {
        key.data = k;
        value.data = v;
        read->rows[read->row_count++] = (tv_pool_row){
            .key = tv_arena_dup(read->arena, key),
            .value = tv_arena_dup(read->arena, value),
        };
    }
    read->has_more = o->has_more;
}

static void take_attrs(read_op *o)
{
    enum { ATTRS_MAX = 32 };
    tv_pool_read *read = o->read;
    const char *name, *value;
    size_t len;

    read->rows = tv_arena_alloc(read->arena, ATTRS_MAX * sizeof *read->rows);
    while (read->row_count < ATTRS_MAX &&
           rados_getxattrs_next(o->attrs, &name, &value, &len) == 0 && name)
        read->rows[read->row_count++] = (tv_pool_row){
            .key = tv_arena_dup(read->arena, tv_slice_of(name)),
            .value = tv_arena_dup(read->arena, (tv_slice){value, len}),
        };
}

static void read_done(rados_completion_t completion, void *arg)
{
    read_op *o = arg;
    tv_pool_read *read = o->read;
    int rc = completion ? rados_aio_get_return_value(completion) : -EIO;

    timed_end(o->pool, &o->deadline);
    if (rc == -ECANCELED && o->deadline.is_late)
        rc = -ETIMEDOUT;
    if (rc >= 0 && o->result < 0)
        rc = o->result;
    read->result = err_of(o->pool, CAP_R, rc);
    if (rc >= 0 && o->rows)
        take_rows(o);
    if (rc >= 0 && o->attrs)
        take_attrs(o);
    if (rc >= 0 && o->buffer)
        read->data = (tv_slice){o->buffer, o->bytes_read};
    if (completion && o->rows)
        rados_omap_get_end(o->rows);
    if (completion && o->attrs)
        rados_getxattrs_end(o->attrs);
    rados_release_read_op(o->op);
    if (completion)
        rados_aio_release(completion);
    free(o);
    read->done(read);
}

static void add_keys(read_op *o, const tv_pool_read *read)
{
    const char **keys = tv_calloc(read->key_count + 1, sizeof *keys);
    size_t *sizes = tv_calloc(read->key_count + 1, sizeof *sizes);

    for (size_t i = 0; i < read->key_count; i++) {
        keys[i] = read->keys[i].data;
        sizes[i] = read->keys[i].len;
    }
    rados_read_op_omap_get_vals_by_keys2(o->op, keys, read->key_count, sizes, &o->rows, &o->result);
    free(keys);
    free(sizes);
}

static void pool_read(tv_pool *base, tv_pool_read *read)
{
    librados_pool *pool = of(base);
    read_op *o = tv_calloc(1, sizeof *o);
    char *after, *prefix;

    o->pool = pool;
    o->read = read;
    o->op = rados_create_read_op();
    read->rows = NULL;
    read->row_count = 0;
    read->has_more = false;
    read->data = TV_NONE;
    if (read->attr.len)
        rados_read_op_cmpxattr(o->op, text_of(read->attr).bytes, LIBRADOS_CMPXATTR_OP_EQ,
                               read->attr_value.data, read->attr_value.len);
    switch (read->kind) {
    case TV_POOL_READ_KEYS:
        add_keys(o, read);
        break;
    case TV_POOL_READ_PAGE:
        after = tv_malloc(read->after.len + read->prefix.len + 2);
        prefix = tv_slice_put(after, read->after) + 1;
        prefix[-1] = '\0';
        *tv_slice_put(prefix, read->prefix) = '\0';
        rados_read_op_omap_get_vals2(o->op, after, prefix, read->rows_max, &o->rows, &o->has_more,
                                     &o->result);
        free(after);
        break;
    case TV_POOL_READ_ATTRS:
        rados_read_op_getxattrs(o->op, &o->attrs, &o->result);
        break;
    case TV_POOL_READ_DATA:
        o->buffer = tv_arena_bytes(read->arena, read->size);
        rados_read_op_read(o->op, read->offset, read->size, o->buffer, &o->bytes_read, &o->result);
        break;
    }
    tv_assert(rados_aio_create_completion2(o, read_done, &o->completion) == 0);
    o->deadline.completion = o->completion;
    timed_begin(pool, &o->deadline, read->until_ns);
    if (rados_aio_read_op_operate(o->op, pool->io, o->completion, read->object, 0) < 0) {
        rados_aio_release(o->completion);
        read_done(NULL, o);
    }
}

/* --- what is waited for --- */

static tv_err pool_list(tv_pool *base, const char *prefix,
                        bool (*fn)(void *ctx, const char *object), void *ctx)
{
    librados_pool *pool = of(base);
    rados_list_ctx_t list;
    const char *name;
    int rc = rados_nobjects_list_open(pool->io, &list);

    if (rc < 0)
        return err_of(pool, CAP_R, rc);

    while ((rc = rados_nobjects_list_next(list, &name, NULL, NULL)) == 0) {
        if (strncmp(name, prefix, strlen(prefix)) == 0 && !fn(ctx, name))
            break;
    }
    rados_nobjects_list_close(list);
    return rc == -ENOENT ? TV_OK : err_of(pool, CAP_R, rc);
}

static tv_err pool_lock(tv_pool *base, const char *object, const char *holder, int seconds)
{
    librados_pool *pool = of(base);
    struct timeval span = {.tv_sec = seconds};
    int rc = rados_lock_exclusive(pool->io, object, LOCK_NAME, holder, "", &span,
                                  LIBRADOS_LOCK_FLAG_MAY_RENEW);

    return rc == -EEXIST ? TV_ERR_IN_USE : err_of(pool, CAP_X, rc);
}

static tv_err pool_unlock(tv_pool *base, const char *object, const char *holder)
{
    librados_pool *pool = of(base);

    return err_of(pool, CAP_X, rados_unlock(pool->io, object, LOCK_NAME, holder));
}

/* A lock that never ends is a list of clients that OSDs keep, with addresses from their sockets. */
static tv_err pool_enlist(tv_pool *base, const char *object)
{
    librados_pool *pool = of(base);
    int rc = rados_lock_shared(pool->io, object, LIST_NAME, "", "", "", NULL,
                               LIBRADOS_LOCK_FLAG_MAY_RENEW);

    return err_of(pool, CAP_X, rc);
}

/* Those on a list: texts that end with NUL, one after the other, and an empty one. */
typedef struct listed {
    char *clients, *cookies, *addresses;
} listed;

static void listed_done(listed *found)
{
    free(found->clients);
    free(found->cookies);
    free(found->addresses);
}

static tv_err read_list(librados_pool *pool, const char *object, listed *ret_found)
{
    size_t clients = 1024, cookies = 1024, addresses = 1024;
    ssize_t rc;

    for (;;) {
        char tag[16];
        size_t tag_len = sizeof tag;
        int is_exclusive;

        *ret_found = (listed){tv_calloc(1, clients + 1), tv_calloc(1, cookies + 1),
                              tv_calloc(1, addresses + 1)};
        rc = rados_list_lockers(pool->io, object, LIST_NAME, &is_exclusive, tag, &tag_len,
                                ret_found->clients, &clients, ret_found->cookies, &cookies,
                                ret_found->addresses, &addresses);
        if (rc != -ERANGE)
            break;
        listed_done(ret_found); /* the sizes are those that it takes */
    }
    if (rc >= 0)
        return TV_OK; /* and how many there are is told in some versions only */
    listed_done(ret_found);
    return err_of(pool, CAP_X, (int)rc);
}

/* Without the version of the protocol, which some calls tell ("v1:") and others do not. */
static const char *bare(const char *address)
{
    static const char *const versions[] = {"v1:", "v2:", "any:"};

    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
        if (strncmp(address, versions[i], strlen(versions[i])) == 0)
            return address + strlen(versions[i]);
    return address;
}

/* The client of an address, in what was found; NULL when there is none. */
static const char *client_of(const listed *found, const char *address)
{
    const char *client = found->clients;

    for (const char *at = found->addresses; *at; at += strlen(at) + 1) {
        if (strcmp(bare(at), bare(address)) == 0)
            return client;
        client += strlen(client) + 1;
    }
    return NULL;
}

static tv_err pool_is_listed(tv_pool *base, const char *object, const char *address, bool *ret_is)
{
    listed found;
    tv_err err = read_list(of(base), object, &found);

    if (err)
        return err;

    *ret_is = client_of(&found, address) != NULL;
    listed_done(&found);
    return TV_OK;
}

static tv_err pool_delist(tv_pool *base, const char *object, const char *address)
{
    librados_pool *pool = of(base);
    listed found;
    tv_err err = read_list(pool, object, &found);

    if (err)
        return err;

    const char *client = client_of(&found, address);
    int rc = client ? rados_break_lock(pool->io, object, LIST_NAME, client, "") : 0;

    listed_done(&found);
    return rc == -ENOENT ? TV_OK : err_of(pool, CAP_X, rc); /* somebody else has done so */
}

static const char *pool_address(tv_pool *base)
{
    return of(base)->address;
}

/*
 * The OSDs learn of it with the next map of the cluster, at the latest from the first
 * operation that this client sends them, which names that map.
 */
static tv_err pool_shut_out(tv_pool *base, const char *address)
{
    librados_pool *pool = of(base);
    char *copy = strdup(address);
    int rc;

    tv_assert(copy);
    rc = rados_blocklist_add(pool->cluster, copy, SHUT_OUT_SECONDS);
    free(copy);
    if (rc == 0)
        rc = rados_wait_for_latest_osdmap(pool->cluster);
    return err_of(pool, CAP_BLOCKLIST, rc);
}

/* Ask the mon, and find a number in its answer; 0 when there is none.  `field`: "\"name\":". */
static int ask_number(librados_pool *pool, const char *command, const char *field,
                      uint64_t *ret_number)
{
    char *out = NULL, *status = NULL;
    size_t out_len = 0, status_len = 0;
    uint64_t number = 0;
    int rc =
        rados_mon_command(pool->cluster, &command, 1, "", 0, &out, &out_len, &status, &status_len);
    const char *at = rc == 0 && out_len ? memmem(out, out_len, field, strlen(field)) : NULL;

    for (at = at ? at + strlen(field) : NULL; at && at < out + out_len; at++) {
        if (*at >= '0' && *at <= '9')
            number = number * 10 + (uint64_t)(*at - '0');
        else if (*at != ' ')
            break;
    }
    rados_buffer_free(out);
    rados_buffer_free(status);
    *ret_number = number;
    return rc;
}

/* The pool's quota in bytes, 0 when it has none. */
static uint64_t quota_of(librados_pool *pool)
{
    char command[300];
    uint64_t quota;

    snprintf(command, sizeof command,
             "{\"prefix\":\"osd pool get-quota\",\"pool\":\"%.100s\",\"format\":\"json\"}",
             pool->name);
    return ask_number(pool, command, "\"quota_max_bytes\":", &quota) == 0 ? quota : 0;
}

static tv_err pool_osd_count(tv_pool *base, size_t *ret_count, size_t *ret_up)
{
    static const char command[] = "{\"prefix\":\"osd stat\",\"format\":\"json\"}";
    librados_pool *pool = of(base);
    uint64_t count, up;
    int rc = ask_number(pool, command, "\"num_in_osds\":", &count);

    if (rc == 0)
        rc = ask_number(pool, command, "\"num_up_osds\":", &up);
    if (rc < 0)
        return err_of(pool, CAP_MON, rc);
    if (count == 0)
        return TV_ERR_IO;

    *ret_count = (size_t)count;
    *ret_up = (size_t)up;
    return TV_OK;
}

static tv_err pool_space(tv_pool *base, tv_pool_space *ret_space)
{
    librados_pool *pool = of(base);
    struct rados_cluster_stat_t cluster;
    struct rados_pool_stat_t own;
    tv_pool_space space;
    uint64_t quota;
    int rc = rados_cluster_stat(pool->cluster, &cluster);

    if (rc < 0)
        return err_of(pool, CAP_MON, rc);

    space = (tv_pool_space){cluster.kb * 1024, cluster.kb_avail * 1024};
    quota = quota_of(pool);
    if (quota && rados_ioctx_pool_stat(pool->io, &own) == 0) {
        uint64_t left = own.num_bytes < quota ? quota - own.num_bytes : 0;

        if ((double)left / (double)quota < (double)space.free_bytes / (double)(space.bytes + 1))
            space = (tv_pool_space){quota, left};
    }
    *ret_space = space;
    return TV_OK;
}

static void pool_pause(tv_pool *base, int ms)
{
    struct timespec span = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};

    (void)base;
    nanosleep(&span, NULL);
}

/* --- watches --- */

static void watch_told(void *arg, uint64_t notify_id, uint64_t cookie, uint64_t notifier_id,
                       void *data, size_t data_len)
{
    watch *w = arg;

    (void)notifier_id, (void)data, (void)data_len;
    rados_notify_ack(w->pool->io, w->object, notify_id, cookie, NULL, 0);
    w->fn(w->ctx);
}

/* The connection was lost, and notices may have been: the keeper makes a new one. */
static void watch_lost(void *arg, uint64_t cookie, int err)
{
    watch *w = arg;

    (void)cookie, (void)err;
    tv_background_lock(&w->pool->keeper);
    w->is_broken = true;
    tv_background_wake(&w->pool->keeper);
    tv_background_unlock(&w->pool->keeper);
}

static int watch_begin(watch *w)
{
    return rados_watch3(w->pool->io, w->object, &w->cookie, watch_told, watch_lost, WATCH_SECONDS,
                        w);
}

static watch *broken_watch(librados_pool *pool)
{
    watch *w = pool->watches;

    while (w && !w->is_broken)
        w = w->next;
    return w;
}

static void keep_watches(tv_background *background, void *ctx)
{
    librados_pool *pool = ctx;

    tv_background_lock(background);
    while (!tv_background_is_stopping(background)) {
        watch *w = broken_watch(pool);

        if (w == NULL) {
            tv_background_wait(background, TV_BACKGROUND_NEVER);
            continue;
        }
        w->is_broken = false;
        tv_background_unlock(background);
        rados_unwatch2(pool->io, w->cookie);

        int rc = watch_begin(w);

        if (rc == 0)
            w->fn(w->ctx);
        else
            tv_background_sleep(background, WATCH_RETRY_MS);
        tv_background_lock(background);
        w->is_broken |= rc != 0;
    }
    tv_background_unlock(background);
}

static tv_err pool_watch(tv_pool *base, const char *object, void (*fn)(void *ctx), void *ctx)
{
    librados_pool *pool = of(base);
    rados_write_op_t make = rados_create_write_op();
    watch *w = tv_calloc(1, sizeof *w);
    int rc;

    *w = (watch){.pool = pool, .fn = fn, .ctx = ctx};
    snprintf(w->object, sizeof w->object, "%s", object);
    rados_write_op_create(make, LIBRADOS_CREATE_IDEMPOTENT, NULL);
    rc = rados_write_op_operate2(make, pool->io, object, NULL, 0);
    rados_release_write_op(make);
    if (rc == 0)
        rc = watch_begin(w);
    if (rc < 0) {
        free(w);
        return err_of(pool, CAP_W, rc);
    }

    tv_background_lock(&pool->keeper);
    w->next = pool->watches;
    pool->watches = w;
    tv_background_unlock(&pool->keeper);
    return TV_OK;
}

static void notify_done(rados_completion_t completion, void *arg)
{
    librados_pool *pool = arg;

    rados_aio_release(completion);
    atomic_fetch_sub(&pool->notices, 1);
}

static void pool_notify(tv_pool *base, const char *object)
{
    librados_pool *pool = of(base);
    rados_completion_t completion;

    tv_assert(rados_aio_create_completion2(pool, notify_done, &completion) == 0);
    atomic_fetch_add(&pool->notices, 1);
    if (rados_aio_notify(pool->io, object, completion, "", 0, NOTIFY_MS, NULL, NULL) < 0)
        notify_done(completion, pool);
}

/* --- open and close --- */

static void pool_close(tv_pool *base)
{
    librados_pool *pool = of(base);

    if (pool->has_keeper)
        tv_background_done(&pool->keeper);
    while (pool->watches) {
        watch *w = pool->watches;

        pool->watches = w->next;
        rados_unwatch2(pool->io, w->cookie);
        rados_watch_flush(pool->cluster);
        free(w);
    }
    while (atomic_load(&pool->notices))
        pool_pause(base, 10);
    if (pool->io) {
        rados_aio_flush(pool->io);
    }
    if (pool->has_keeper)
        tv_background_done(&pool->canceller);
    if (pool->io) {
        rados_ioctx_destroy(pool->io);
    }
    rados_shutdown(pool->cluster);
    pthread_cond_destroy(&pool->let_go);
    pthread_mutex_destroy(&pool->timed_lock);
    free(pool->address);
    free(pool->name);
    free(pool);
}

static const tv_pool_ops ops = {
    .change = pool_change,
    .read = pool_read,
    .list = pool_list,
    .lock = pool_lock,
    .unlock = pool_unlock,
    .watch = pool_watch,
    .notify = pool_notify,
    .enlist = pool_enlist,
    .is_listed = pool_is_listed,
    .delist = pool_delist,
    .address = pool_address,
    .shut_out = pool_shut_out,
    .space = pool_space,
    .osd_count = pool_osd_count,
    .lacks = pool_lacks,
    .pause = pool_pause,
    .close = pool_close,
};

/*
 * What we need of librados, whatever the ceph.conf says.  An OSD that does not answer is waited
 * for; a mon is not.  The objecter looks for operations that got lost more often than it does
 * by itself: each 0.5 s for those older than 1 s, instead of 5 and 10.  A connection that was lost
 * is tried again each second at least, instead of each 15, so that service resumes with the
 * network.
 */
static const char *const settings[][2] = {
    {"client_mount_timeout", "10"}, {"rados_mon_op_timeout", "10"},
    {"rados_osd_op_timeout", "0"},  {"objecter_tick_interval", "0.5"},
    {"objecter_timeout", "1"},      {"ms_max_backoff", "1"},
};

static bool connect_failed(int rc, const tv_librados_options *options, const char *user,
                           char *reterr_text, size_t reterr_size)
{
    switch (-rc) {
    case ETIMEDOUT:
        snprintf(reterr_text, reterr_size,
                 "no monitor of the Ceph cluster of %.300s answers within 10 seconds",
                 options->conf);
        break;
    case EACCES:
    case EPERM:
        snprintf(reterr_text, reterr_size,
                 "the Ceph cluster of %.300s refuses the key of client.%.60s", options->conf, user);
        break;
    case ENOENT:
        snprintf(reterr_text, reterr_size,
                 "there is no key for client.%.60s in the keyring that %.300s names", user,
                 options->conf);
        break;
    default:
        snprintf(reterr_text, reterr_size, "cannot connect to the Ceph cluster of %.300s: %s",
                 options->conf, strerror(-rc));
    }
    return false;
}

static bool open_io(librados_pool *pool, char *reterr_text, size_t reterr_size)
{
    int rc = rados_ioctx_create(pool->cluster, pool->name, &pool->io), is_erasure_coded = 0;

    if (rc == -ENOENT)
        snprintf(reterr_text, reterr_size, "the Ceph cluster has no pool '%.100s'", pool->name);
    else if (rc < 0)
        snprintf(reterr_text, reterr_size, "cannot use the pool '%.100s': %s", pool->name,
                 strerror(-rc));
    if (rc < 0) {
        pool->io = NULL;
        return false;
    }
    if (rados_ioctx_pool_requires_alignment2(pool->io, &is_erasure_coded) == 0 &&
        is_erasure_coded) {
        snprintf(reterr_text, reterr_size,
                 "the pool '%.100s' is erasure-coded and cannot hold rows; use a replicated one",
                 pool->name);
        return false;
    }
    /* A full pool refuses what needs room, instead of waiting for it, and lets deletes through. */
    rados_set_pool_full_try(pool->io);
    return true;
}

static bool join_cluster(librados_pool *pool, const tv_librados_options *options, const char *user,
                         char *reterr_text, size_t reterr_size)
{
    char *address;
    int rc = rados_conf_read_file(pool->cluster, options->conf);

    if (rc < 0) {
        snprintf(reterr_text, reterr_size, "cannot read --ceph-conf %.300s: %s", options->conf,
                 strerror(-rc));
        return false;
    }
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        rc = rados_conf_set(pool->cluster, settings[i][0], settings[i][1]);
        if (rc < 0)
            tv_log(TV_LOG_WARN, "librados", "setting=%s problem=\"%s\"", settings[i][0],
                   strerror(-rc));
    }
    rc = rados_connect(pool->cluster);
    if (rc < 0)
        return connect_failed(rc, options, user, reterr_text, reterr_size);
    if (!open_io(pool, reterr_text, reterr_size))
        return false;

    rc = rados_getaddrs(pool->cluster, &address);
    if (rc < 0) {
        snprintf(reterr_text, reterr_size, "cannot tell this client's address: %s", strerror(-rc));
        return false;
    }
    pool->address = strdup(address);
    rados_buffer_free(address);
    return true;
}

bool tv_librados_open(const tv_librados_options *options, tv_pool **ret_pool, char *reterr_text,
                      size_t reterr_size)
{
    librados_pool *pool = tv_calloc(1, sizeof *pool);
    const char *user = options->user ? options->user : "admin";
    int rc = rados_create(&pool->cluster, user);

    if (rc < 0) {
        snprintf(reterr_text, reterr_size, "cannot use librados: %s", strerror(-rc));
        free(pool);
        return false;
    }
    pool->base.ops = &ops;
    pool->under_way.next = pool->under_way.before = &pool->under_way;
    tv_assert(pthread_mutex_init(&pool->timed_lock, NULL) == 0);
    tv_assert(pthread_cond_init(&pool->let_go, NULL) == 0);
    pool->name = strdup(options->pool_name);
    pool->on_shut_out = options->on_shut_out;
    pool->on_shut_out_ctx = options->ctx;
    if (!join_cluster(pool, options, user, reterr_text, reterr_size)) {
        pool_close(&pool->base);
        return false;
    }

    tv_background_start(&pool->keeper, &(tv_background_options){
                                           .name = "watches", .run = keep_watches, .ctx = pool});
    tv_background_start(
        &pool->canceller,
        &(tv_background_options){.name = "deadlines", .run = run_canceller, .ctx = pool});
    pool->has_keeper = true;
    *ret_pool = &pool->base;
    return true;
}
