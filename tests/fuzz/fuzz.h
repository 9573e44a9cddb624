/* The one function of a fuzz target, declared for C's -Wmissing-prototypes. */
#ifndef TV_TESTS_FUZZ_FUZZ_H
#define TV_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
