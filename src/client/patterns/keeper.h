/*
 * A message that is kept hidden while somebody works on it: a thread of its own extends the time
 * again and again.  If the process dies, the message is seen again when the last extension is over.
 */
#ifndef TVC_PATTERNS_KEEPER_H
#define TVC_PATTERNS_KEEPER_H

#include <pthread.h>

#include "client/patterns/pattern.h"

enum {
    TVC_NEVER_EXPIRES = -1,    /* a message that nobody has worked on must not be lost */
    TVC_HIDDEN_DEFAULT_S = 30, /* how long a message is hidden at a time */
};

typedef struct tvc_keeper {
    tavola_queue *queue;     /* not ours */
    tavola_message *message; /* not ours, and nobody else's until the keeper is stopped */
    uint32_t hidden_s;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t ending;
    bool is_over; /* both under the lock */
    bool is_lost; /* the message is no longer ours */
} tvc_keeper;

/** The message is hidden for hidden_s seconds from about now.  NO_MEMORY: no thread. */
tavola_err tvc_keeper_start(tvc_keeper *keeper, tavola_queue *queue, tavola_message *message,
                            uint32_t hidden_s);

/** Whether it is known that the message is no longer ours. */
bool tvc_keeper_is_lost(tvc_keeper *keeper);

/** True when the message is still ours, as far as is known. */
bool tvc_keeper_stop(tvc_keeper *keeper);

/** For tests: pause so long between extensions, not half of hidden_s.  Before the first keeper. */
void tvc_keeper_set_pause_ms(int64_t pause_ms);

/** Whole seconds for milliseconds, rounded up; the default for 0. */
uint32_t tvc_hidden_seconds(uint32_t hidden_ms);

#endif
