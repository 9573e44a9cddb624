/* CRC-32C by the processor's own instruction where there is one, else by a table. */
#include "base/crc32c.h"

#include <pthread.h>

/* Reflected. */
#define POLYNOMIAL UINT32_C(0x82F63B78)

static uint32_t table[256];
static bool has_instruction;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void prepare(void)
{
    for (uint32_t b = 0; b < 256; b++) {
        uint32_t v = b;

        for (int bit = 0; bit < 8; bit++)
            v = v >> 1 ^ (v & 1 ? POLYNOMIAL : 0);
        table[b] = v;
    }
#if defined(__x86_64__)
    has_instruction = __builtin_cpu_supports("sse4.2");
#endif
}

static uint32_t update_by_table(uint32_t state, tv_slice bytes)
{
    for (size_t i = 0; i < bytes.len; i++)
        state = state >> 8 ^ table[(state ^ (unsigned char)bytes.data[i]) & 0xff];
    return state;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t update(uint32_t state, tv_slice bytes)
{
    uint64_t wide = state;

    for (; bytes.len >= sizeof wide; bytes = tv_slice_skip(bytes, sizeof wide)) {
        uint64_t word;

        memcpy(&word, bytes.data, sizeof word);
        wide = __builtin_ia32_crc32di(wide, word);
    }
    return update_by_table((uint32_t)wide, bytes);
}
#else
static uint32_t update(uint32_t state, tv_slice bytes)
{
    return update_by_table(state, bytes);
}
#endif

uint32_t tv_crc32c(uint32_t before, tv_slice bytes)
{
    pthread_once(&once, prepare);
    return ~(has_instruction ? update(~before, bytes) : update_by_table(~before, bytes));
}

uint32_t tv_crc32c_portable(uint32_t before, tv_slice bytes)
{
    pthread_once(&once, prepare);
    return ~update_by_table(~before, bytes);
}
