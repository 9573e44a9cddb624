/* What is waited for: lists, locks, the list of clients that OSDs keep, space, the mon's answers.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#include "base/assert.h"
#include "store/pool/internal.h"

enum { SHUT_OUT_SECONDS = 24 * 3600 };

/* The one lock that is taken on an object, and the one that many share: their list. */
#define LOCK_NAME "tavola"
#define LIST_NAME "clients"

tv_err tv_librados_list(tv_pool *base, const char *prefix,
                        bool (*fn)(void *ctx, const char *object), void *ctx)
{
    tv_librados_pool *pool = tv_librados_of(base);
    rados_list_ctx_t list;
    const char *name;
    int rc = rados_nobjects_list_open(pool->io, &list);

    if (rc < 0)
        return tv_librados_err(pool, TV_CAP_R, rc);

    while ((rc = rados_nobjects_list_next(list, &name, NULL, NULL)) == 0) {
        if (strncmp(name, prefix, strlen(prefix)) == 0 && !fn(ctx, name))
            break;
    }
    rados_nobjects_list_close(list);
    return rc == -ENOENT ? TV_OK : tv_librados_err(pool, TV_CAP_R, rc);
}

tv_err tv_librados_lock(tv_pool *base, const char *object, const char *holder, int seconds)
{
    tv_librados_pool *pool = tv_librados_of(base);
    struct timeval span = {.tv_sec = seconds};
    int rc = rados_lock_exclusive(pool->io, object, LOCK_NAME, holder, "", &span,
                                  LIBRADOS_LOCK_FLAG_MAY_RENEW);

    return rc == -EEXIST ? TV_ERR_IN_USE : tv_librados_err(pool, TV_CAP_X, rc);
}

tv_err tv_librados_unlock(tv_pool *base, const char *object, const char *holder)
{
    tv_librados_pool *pool = tv_librados_of(base);

    return tv_librados_err(pool, TV_CAP_X, rados_unlock(pool->io, object, LOCK_NAME, holder));
}

/* A lock that never ends is a list of clients that OSDs keep, with addresses from their sockets. */
tv_err tv_librados_enlist(tv_pool *base, const char *object)
{
    tv_librados_pool *pool = tv_librados_of(base);
    int rc = rados_lock_shared(pool->io, object, LIST_NAME, "", "", "", NULL,
                               LIBRADOS_LOCK_FLAG_MAY_RENEW);

    return tv_librados_err(pool, TV_CAP_X, rc);
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

static tv_err read_list(tv_librados_pool *pool, const char *object, listed *ret_found)
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
    return tv_librados_err(pool, TV_CAP_X, (int)rc);
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

tv_err tv_librados_is_listed(tv_pool *base, const char *object, const char *address, bool *ret_is)
{
    listed found;
    tv_err err = read_list(tv_librados_of(base), object, &found);

    if (err)
        return err;

    *ret_is = client_of(&found, address) != NULL;
    listed_done(&found);
    return TV_OK;
}

tv_err tv_librados_delist(tv_pool *base, const char *object, const char *address)
{
    tv_librados_pool *pool = tv_librados_of(base);
    listed found;
    tv_err err = read_list(pool, object, &found);

    if (err)
        return err;

    const char *client = client_of(&found, address);
    int rc = client ? rados_break_lock(pool->io, object, LIST_NAME, client, "") : 0;

    listed_done(&found);
    return rc == -ENOENT ? TV_OK
                         : tv_librados_err(pool, TV_CAP_X, rc); /* somebody else has done so */
}

const char *tv_librados_address(tv_pool *base)
{
    return tv_librados_of(base)->address;
}

/*
 * The OSDs learn of it with the next map of the cluster, at the latest from the first
 * operation that this client sends them, which names that map.
 */
tv_err tv_librados_shut_out(tv_pool *base, const char *address)
{
    tv_librados_pool *pool = tv_librados_of(base);
    char *copy = strdup(address);
    int rc;

    tv_assert(copy);
    rc = rados_blocklist_add(pool->cluster, copy, SHUT_OUT_SECONDS);
    free(copy);
    if (rc == 0)
        rc = rados_wait_for_latest_osdmap(pool->cluster);
    return tv_librados_err(pool, TV_CAP_BLOCKLIST, rc);
}

/* Ask the mon, and find a number in its answer; 0 when there is none.  `field`: "\"name\":". */
static int ask_number(tv_librados_pool *pool, const char *command, const char *field,
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
static uint64_t quota_of(tv_librados_pool *pool)
{
    char command[300];
    uint64_t quota;

    snprintf(command, sizeof command,
             "{\"prefix\":\"osd pool get-quota\",\"pool\":\"%.100s\",\"format\":\"json\"}",
             pool->name);
    return ask_number(pool, command, "\"quota_max_bytes\":", &quota) == 0 ? quota : 0;
}

tv_err tv_librados_osd_count(tv_pool *base, size_t *ret_count, size_t *ret_up)
{
    static const char command[] = "{\"prefix\":\"osd stat\",\"format\":\"json\"}";
    tv_librados_pool *pool = tv_librados_of(base);
    uint64_t count, up;
    int rc = ask_number(pool, command, "\"num_in_osds\":", &count);

    if (rc == 0)
        rc = ask_number(pool, command, "\"num_up_osds\":", &up);
    if (rc < 0)
        return tv_librados_err(pool, TV_CAP_MON, rc);
    if (count == 0)
        return TV_ERR_IO;

    *ret_count = (size_t)count;
    *ret_up = (size_t)up;
    return TV_OK;
}

tv_err tv_librados_space(tv_pool *base, tv_pool_space *ret_space)
{
    tv_librados_pool *pool = tv_librados_of(base);
    struct rados_cluster_stat_t cluster;
    struct rados_pool_stat_t own;
    tv_pool_space space;
    uint64_t quota;
    int rc = rados_cluster_stat(pool->cluster, &cluster);

    if (rc < 0)
        return tv_librados_err(pool, TV_CAP_MON, rc);

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

void tv_librados_pause(tv_pool *base, int ms)
{
    struct timespec span = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};

    (void)base;
    nanosleep(&span, NULL);
}
