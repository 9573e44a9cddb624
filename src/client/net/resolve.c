/* The resolver: addresses that are kept, and a thread that asks for them. */
#include "client/net/resolve.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "base/assert.h"
#include "base/clock.h"
#include "client/net/lock.h"

/* Owned by its endpoint and by the thread that asks, if there is one. */
struct tvc_resolver {
    atomic_int references;
    tvc_lock lock;
    char *host;
    uint16_t port;
    bool is_literal; /* an address: kept for good */
    bool is_asking;  /* a thread is */
    tvc_addresses addresses;
    int64_t kept_until_ns; /* 0: there are none */
    tvc_address preferred; /* length 0: none */
    tvc_resolve_waiter *first;
};

static void unref(tvc_resolver *resolver)
{
    if (atomic_fetch_sub(&resolver->references, 1) > 1)
        return;
    tvc_lock_done(&resolver->lock);
    tvc_release(resolver->host);
    tvc_release(resolver);
}

static bool parse_literal(const char *host, uint16_t port, tvc_address *ret_address)
{
    tvc_address address = {0};

    if (inet_pton(AF_INET, host, &address.as.v4.sin_addr) == 1) {
        address.as.v4.sin_family = AF_INET;
        address.as.v4.sin_port = htons(port);
        address.len = sizeof address.as.v4;
    } else if (inet_pton(AF_INET6, host, &address.as.v6.sin6_addr) == 1) {
        address.as.v6.sin6_family = AF_INET6;
        address.as.v6.sin6_port = htons(port);
        address.len = sizeof address.as.v6;
    } else {
        return false;
    }
    *ret_address = address;
    return true;
}

tvc_resolver *tvc_resolver_new(const char *host, uint16_t port)
{
    tvc_resolver *resolver = tvc_zalloc(sizeof *resolver);
    char *copy = tvc_dup_text(host);

    if (resolver == NULL || copy == NULL || !tvc_lock_init(&resolver->lock)) {
        tvc_release(resolver);
        tvc_release(copy);
        return NULL;
    }
    resolver->references = 1;
    resolver->host = copy;
    resolver->port = port;
    resolver->is_literal = parse_literal(host, port, &resolver->addresses.list[0]);
    resolver->addresses.count = resolver->is_literal;
    return resolver;
}

void tvc_resolver_free(tvc_resolver *resolver)
{
    if (resolver == NULL)
        return;
    tv_assert(resolver->first == NULL);
    unref(resolver);
}

/* ---- the thread ---- */

/* The first from here on of a family, or of the others; NULL when there is none. */
static const struct addrinfo *find_family(const struct addrinfo *from, int family, bool is_it)
{
    while (from && (from->ai_family == family) != is_it)
        from = from->ai_next;
    return from;
}

/* The system has sorted them; of that order each family keeps its own. */
static void copy_addresses(const struct addrinfo *found, tvc_addresses *ret_addresses)
{
    int family = found->ai_family;
    const struct addrinfo *next = found, *other = find_family(found, family, false);

    ret_addresses->count = 0;
    while (next && ret_addresses->count < TVC_ADDRESSES_MAX) {
        tvc_address address = {.len = next->ai_addrlen};

        if (next->ai_addrlen <= sizeof address.as) {
            memcpy(&address.as, next->ai_addr, next->ai_addrlen);
            ret_addresses->list[ret_addresses->count++] = address;
        }

        bool is_first_family = next->ai_family == family;
        const struct addrinfo *same = find_family(next->ai_next, family, is_first_family);

        next = other ? other : same;
        other = other ? same : NULL;
    }
}

static tavola_err err_of(int code, const char **ret_why)
{
    switch (code) {
    case EAI_NONAME:
#ifdef EAI_NODATA
    case EAI_NODATA:
#endif
        *ret_why = "there is no such host";
        return TAVOLA_ERR_INVALID;
    case EAI_MEMORY:
        *ret_why = "no memory to look up the host";
        return TAVOLA_ERR_NO_MEMORY;
    default:
        *ret_why = "the name of the host could not be looked up";
        return TAVOLA_ERR_NETWORK;
    }
}

static tavola_err look_up(const char *host, uint16_t port, tvc_addresses *ret_addresses,
                          const char **ret_why)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_protocol = IPPROTO_TCP};
    struct addrinfo *found = NULL;
    char service[8];

    snprintf(service, sizeof service, "%u", port);

    int code = getaddrinfo(host, service, &hints, &found);

    if (code == 0) {
        copy_addresses(found, ret_addresses);
        freeaddrinfo(found);
        if (ret_addresses->count == 0)
            code = EAI_NONAME;
    }
    return code ? err_of(code, ret_why) : TAVOLA_OK;
}

static void unlink_waiter(tvc_resolver *resolver, tvc_resolve_waiter *waiter)
{
    if (waiter->previous)
        waiter->previous->next = waiter->next;
    else
        resolver->first = waiter->next;
    if (waiter->next)
        waiter->next->previous = waiter->previous;
    waiter->previous = waiter->next = NULL;
    waiter->is_waiting = false;
}

static void *ask_system(void *arg)
{
    tvc_resolver *resolver = arg;
    tvc_addresses addresses;
    const char *why = NULL;
    tavola_err err = look_up(resolver->host, resolver->port, &addresses, &why);

    tvc_lock_take(&resolver->lock);
    if (err == TAVOLA_OK) {
        resolver->addresses = addresses;
        resolver->kept_until_ns = tv_clock_mono_ns() + TVC_ADDRESSES_KEPT_MS * INT64_C(1000000);
    }
    resolver->is_asking = false;
    while (resolver->first) {
        tvc_resolve_waiter *waiter = resolver->first;

        unlink_waiter(resolver, waiter);
        waiter->was_called = true;
        waiter->err = err;
        waiter->why = why;
        if (waiter->waker) /* with the lock held: the waiter cannot go away */
            waiter->waker->wake(waiter->waker);
    }
    tvc_lock_give(&resolver->lock);
    unref(resolver);
    return NULL;
}

/* A thread of its own that gets none of the application's signals. */
static bool start_asking(tvc_resolver *resolver)
{
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, before;

    if (pthread_attr_init(&attributes) != 0)
        return false;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    atomic_fetch_add(&resolver->references, 1);

    bool is_started = pthread_create(&thread, &attributes, ask_system, resolver) == 0;

    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (!is_started)
        atomic_fetch_sub(&resolver->references, 1);
    return is_started;
}

/* ---- asking ---- */

static bool is_same(const tvc_address *a, const tvc_address *b)
{
    return a->len == b->len && memcmp(&a->as, &b->as, a->len) == 0;
}

/* What is kept, with the preferred address before the others. */
static void give_addresses(const tvc_resolver *resolver, tvc_addresses *ret_addresses)
{
    tvc_address *list = ret_addresses->list;
    size_t i = 0;

    *ret_addresses = resolver->addresses;
    while (i < ret_addresses->count && !is_same(&list[i], &resolver->preferred))
        i++;
    if (i < ret_addresses->count) {
        memmove(list + 1, list, i * sizeof *list);
        list[0] = resolver->preferred;
    }
}

static tvc_resolve ask_locked(tvc_resolver *resolver, tvc_resolve_waiter *waiter,
                              tvc_addresses *ret_addresses)
{
    bool was_called = waiter->was_called;

    waiter->was_called = false;
    if (was_called && waiter->err)
        return TVC_RESOLVE_FAILED;
    if (was_called || resolver->kept_until_ns > tv_clock_mono_ns()) {
        give_addresses(resolver, ret_addresses);
        return TVC_RESOLVED;
    }
    if (!resolver->is_asking && !start_asking(resolver)) {
        waiter->err = TAVOLA_ERR_NO_MEMORY;
        waiter->why = "no thread to look up the host";
        return TVC_RESOLVE_FAILED;
    }
    resolver->is_asking = true;
    if (!waiter->is_waiting) {
        waiter->is_waiting = true;
        waiter->next = resolver->first;
        if (resolver->first)
            resolver->first->previous = waiter;
        resolver->first = waiter;
    }
    return TVC_RESOLVE_WAIT;
}

tvc_resolve tvc_resolver_ask(tvc_resolver *resolver, tvc_resolve_waiter *waiter, tvc_waker *waker,
                             tvc_addresses *ret_addresses)
{
    if (resolver->is_literal) {
        *ret_addresses = resolver->addresses;
        return TVC_RESOLVED;
    }

    tvc_lock_take(&resolver->lock);
    waiter->waker = waker;
    tvc_resolve resolve = ask_locked(resolver, waiter, ret_addresses);
    tvc_lock_give(&resolver->lock);
    return resolve;
}

void tvc_resolver_leave(tvc_resolver *resolver, tvc_resolve_waiter *waiter)
{
    if (resolver->is_literal)
        return;

    bool is_taken = tvc_lock_take_unless_child(&resolver->lock);

    if (waiter->is_waiting)
        unlink_waiter(resolver, waiter);
    if (is_taken)
        tvc_lock_give(&resolver->lock);
}

void tvc_resolver_prefer(tvc_resolver *resolver, const tvc_address *address)
{
    if (resolver->is_literal)
        return;
    tvc_lock_take(&resolver->lock);
    resolver->preferred = *address;
    tvc_lock_give(&resolver->lock);
}

void tvc_resolver_forget(tvc_resolver *resolver)
{
    if (resolver->is_literal)
        return;
    tvc_lock_take(&resolver->lock);
    resolver->kept_until_ns = 0;
    resolver->preferred = (tvc_address){0};
    tvc_lock_give(&resolver->lock);
}
