/* What the machine, or the part of it that we may use, has. */
#ifndef TV_BASE_MACHINE_H
#define TV_BASE_MACHINE_H

#include <stddef.h>
#include <stdint.h>

/**
 * Bytes of memory that this process may use: the least of what the machine, its
 * control group and RLIMIT_AS say.
 */
uint64_t tv_machine_memory(void);

/** The default of whatever takes memory as it is used: an eighth of it, from 64 MiB to 1 GiB. */
size_t tv_machine_memory_share(void);

#endif
