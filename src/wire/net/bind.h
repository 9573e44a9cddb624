/*
 * Listening sockets that several loops of this process share and no other
 * process does.
 */
#ifndef TV_WIRE_NET_BIND_H
#define TV_WIRE_NET_BIND_H

#include <stdbool.h>
#include <stddef.h>

/**
 * A listening TCP socket on an IP address and a port (0 for any free one).  The
 * same address may be bound again for each further loop.  On failure returns
 * -1 and writes one line that says why to `reterr_text`.  Any thread.
 */
int tv_bind(const char *host, int port, char *reterr_text, size_t reterr_size);

/** Whether tv_bind fails there because somebody else listens, for who wants to say more.  Any
 * thread. */
bool tv_bind_is_taken(const char *host, int port);

/** Whether this machine has the IP address: one without IPv6 has no ::1.  Any thread. */
bool tv_bind_has_address(const char *host);

/** The port of a socket. */
int tv_bind_port(int fd);

/** To be called before a socket of tv_bind is closed. */
void tv_bind_release(int fd);

#endif
