/*
 * The addresses of a host raced for a connection, as RFC 8305 has it: an attempt begins when the
 * one before has failed or has not succeeded for a while, and the first that succeeds ends the
 * others.  So an address that does not answer costs a quarter of a second, not a share of the
 * timeout.  It takes no memory.
 */
#ifndef TVC_NET_RACE_H
#define TVC_NET_RACE_H

#include "client/net/conn.h"
#include "client/net/resolve.h"

enum { TVC_RACE_DELAY_MS = 250 }; /* between two attempts: RFC 8305, section 8 */

typedef struct tvc_race {
    tvc_addresses addresses;    /* in the order in which they are tried */
    size_t next;                /* address to try; attempts at those before it have begun */
    int64_t next_ns;            /* when to try it, if no attempt has ended till then */
    int fds[TVC_ADDRESSES_MAX]; /* of the attempts; -1: it has failed */
    size_t running;             /* attempts that have not failed */
    int all_fd; /* an epoll set of all sockets, made for the second attempt; else -1 */
    int error;  /* errno of the attempt that failed last */
} tvc_race;

typedef enum tvc_race_state {
    TVC_RACE_WON,
    TVC_RACE_GOES_ON, /* wait for what *ret_pending says */
    TVC_RACE_LOST,    /* all attempts have failed, the last with race->error */
} tvc_race_state;

/** No attempt has begun, and there are no addresses yet: they are put into race->addresses. */
void tvc_race_init(tvc_race *race);

/**
 * Go as far as possible without waiting.  The winner's socket is the caller's, who remembers the
 * address for the next time; *ret_pending may name another descriptor than the step before, and has
 * no deadline of its own.  Attempts are so close to each other that each can begin before
 * `deadline_ns`.
 */
tvc_race_state tvc_race_step(tvc_race *race, int64_t deadline_ns, tvc_pending *ret_pending,
                             int *ret_fd, tvc_address *ret_winner);

/** End all attempts, if there are any. */
void tvc_race_end(tvc_race *race);

#endif
