/* What the machine has, or the part of it that we may use. */
#ifndef TV_BASE_MACHINE_H
#define TV_BASE_MACHINE_H

#include <stddef.h>
#include <stdint.h>

/**
 * Bytes of memory that this process may use: the lowest limit of the machine,
 * its control group and RLIMIT_AS.
 */
uint64_t tv_machine_memory(void);

/** The default for what takes memory as it is used (caches): an eighth of it, 64 MiB to 1 GiB. */
size_t tv_machine_memory_share(void);

#endif
