/*
 * A message that is kept hidden while somebody works on it: the client's own thread extends the
 * time again and again.  If the process dies, the message is seen again when the last extension is
 * over.
 */
#ifndef TVC_PATTERNS_KEEPER_H
#define TVC_PATTERNS_KEEPER_H

#include <stdatomic.h>

#include "client/patterns/pattern.h"
#include "client/queue/ask.h"

enum {
    TVC_NEVER_EXPIRES = -1,    /* a message that nobody has worked on must not be lost */
    TVC_HIDDEN_DEFAULT_S = 30, /* how long a message is hidden at a time */
};

typedef struct tvc_keeper {
    tavola_message *message; /* not ours, and nobody else's until the keeper is stopped */
    uint32_t hidden_s;
    tavola_op *op; /* the extension that is made again and again */
    tvc_message_update update;
    atomic_bool is_over; /* no more extensions */
    atomic_bool is_lost; /* the message is no longer ours */
} tvc_keeper;

/**
 * The message is hidden for hidden_s seconds from about now.  NO_MEMORY; CANCELLED when the client
 * is closed.  The keeper stays where it is.
 */
tavola_err tvc_keeper_start(tvc_keeper *keeper, tavola_queue *queue, tavola_message *message,
                            uint32_t hidden_s);

/** Whether it is known that the message is no longer ours. */
bool tvc_keeper_is_lost(const tvc_keeper *keeper);

/**
 * True when the message is still ours, as far as is known.  An extension that is under way is
 * waited for, but not for long.
 */
bool tvc_keeper_stop(tvc_keeper *keeper);

/**
 * How long after the last extension, which ended with `err`, the next one is made: twice more
 * before the time is over, so that one may fail.
 */
int64_t tvc_keeper_pause_ms(uint32_t hidden_s, tavola_err err);

/** For tests: pause so long between extensions, whatever hidden_s is.  Before the first keeper. */
void tvc_keeper_set_pause_ms(int64_t pause_ms);

/** The default for 0, and no more than the service allows. */
uint32_t tvc_hidden_seconds(uint32_t hidden_s);

#endif
