/*
 * How many connections each address has on one listener, so that one host
 * cannot take them all.  An IPv6 address counts with all others of its /64,
 * which are one customer's.  Private to http/, one thread.
 */
#ifndef TV_WIRE_HTTP_PEERS_H
#define TV_WIRE_HTTP_PEERS_H

#include <stddef.h>
#include <sys/socket.h>

/** An address that has connections. */
typedef struct tv_peer {
    struct tv_peer *next; /* in its slot */
    unsigned char address[16];
    int connection_count;
} tv_peer;

typedef struct tv_peers {
    tv_peer **slots;
    size_t slot_count; /* a power of two */
} tv_peers;

/** `count_max` is how many there will be at most, about. */
void tv_peers_init(tv_peers *peers, int count_max);

/** Without peers left. */
void tv_peers_done(tv_peers *peers);

/** Count one connection more.  The peer stays until its last one is taken away. */
tv_peer *tv_peers_add(tv_peers *peers, const struct sockaddr_storage *address);
void tv_peers_remove(tv_peers *peers, tv_peer *peer);

#endif
