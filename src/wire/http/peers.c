/* A hash table of addresses. */
#include "wire/http/peers.h"

#include <netinet/in.h>

#include "base/assert.h"
#include "base/hash.h"

enum { SLOTS_MIN = 16, SLOTS_MAX = 64 * 1024, PREFIX_BYTES = 8 };

void tv_peers_init(tv_peers *peers, int count_max)
{
    peers->slot_count = SLOTS_MIN;
    while (peers->slot_count < SLOTS_MAX && peers->slot_count < (size_t)count_max)
        peers->slot_count *= 2;
    peers->slots = tv_calloc(peers->slot_count, sizeof *peers->slots);
}

void tv_peers_done(tv_peers *peers)
{
    free(peers->slots);
}

/* 16 bytes for either family: IPv4 as it is mapped into IPv6, of IPv6 the network's part. */
static void write_key(unsigned char key[static 16], const struct sockaddr_storage *address)
{
    const struct sockaddr_in *v4 = (const void *)address;
    const struct in6_addr *v6 = &((const struct sockaddr_in6 *)address)->sin6_addr;

    memset(key, 0, 16);
    if (address->ss_family == AF_INET) {
        key[10] = key[11] = 0xff;
        memcpy(key + 12, &v4->sin_addr, 4);
    } else if (address->ss_family == AF_INET6) {
        memcpy(key, v6, IN6_IS_ADDR_V4MAPPED(v6) ? 16 : PREFIX_BYTES);
    }
}

static tv_peer **slot_of(tv_peers *peers, const unsigned char key[static 16])
{
    uint64_t hash = tv_hash((tv_slice){(const char *)key, 16});

    return &peers->slots[hash & (peers->slot_count - 1)];
}

tv_peer *tv_peers_add(tv_peers *peers, const struct sockaddr_storage *address)
{
    unsigned char key[16];
    tv_peer **slot, *peer;

    write_key(key, address);
    slot = slot_of(peers, key);
    for (peer = *slot; peer && memcmp(peer->address, key, sizeof key) != 0; peer = peer->next)
        continue;
    if (peer == NULL) {
        peer = tv_calloc(1, sizeof *peer);
        memcpy(peer->address, key, sizeof key);
        peer->next = *slot;
        *slot = peer;
    }
    peer->connection_count++;
    return peer;
}

void tv_peers_remove(tv_peers *peers, tv_peer *peer)
{
    if (--peer->connection_count > 0)
        return;

    tv_peer **link = slot_of(peers, peer->address);

    while (*link != peer)
        link = &(*link)->next;
    *link = peer->next;
    free(peer);
}
