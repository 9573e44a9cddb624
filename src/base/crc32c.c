/*
 * CRC-32C, in two ways that give the same result.
 *
 * The portable way takes eight bytes at a time out of eight tables.  The fast way
 * is the processor's instruction, which takes eight bytes too, and can begin one in
 * every cycle but gives its result after three.  So three neighbouring lanes are
 * taken at once, and put together: the CRC of A followed by B is that of A with as
 * many zeros as B has bytes after it, xor that of B.  Appending zeros is
 * linear, so four tables do it, a byte of the CRC each.
 */
#include "base/crc32c.h"

#include <endian.h>
#include <pthread.h>

#if defined(__x86_64__)
#include <nmmintrin.h>
#define HAS_INSTRUCTION 1
#else
#define HAS_INSTRUCTION 0
#endif

/* The polynomial without its x^32, reflected. */
#define POLYNOMIAL UINT32_C(0x82F63B78)

enum {
    SLICES = 8,
    LANES = 3,
    LANE_BYTES = 1024,
};

/* tables[n][b]: what the byte b leaves when n more bytes follow it. */
static uint32_t tables[SLICES][256];

/* shifted[n][b]: what b leaves as byte n of a CRC when LANE_BYTES zeros follow. */
static uint32_t shifted[4][256];

static bool has_instruction;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_tables(void)
{
    for (unsigned b = 0; b < 256; b++) {
        uint32_t v = b;

        for (int bit = 0; bit < 8; bit++)
            v = v >> 1 ^ (v & 1 ? POLYNOMIAL : 0);
        tables[0][b] = v;
    }
    for (int n = 1; n < SLICES; n++) {
        for (unsigned b = 0; b < 256; b++) {
            uint32_t v = tables[n - 1][b];

            tables[n][b] = v >> 8 ^ tables[0][v & 0xff];
        }
    }
}

static uint64_t load(const char *from)
{
    uint64_t v;

    memcpy(&v, from, sizeof v);
    return v;
}

/* `state` is the CRC without its last inversion. */
static uint32_t update_by_table(uint32_t state, tv_slice bytes)
{
    for (; bytes.len >= SLICES; bytes = tv_slice_skip(bytes, SLICES)) {
        uint64_t v = le64toh(load(bytes.data)) ^ state;

        state = tables[7][v & 0xff] ^ tables[6][v >> 8 & 0xff] ^ tables[5][v >> 16 & 0xff] ^
                tables[4][v >> 24 & 0xff] ^ tables[3][v >> 32 & 0xff] ^ tables[2][v >> 40 & 0xff] ^
                tables[1][v >> 48 & 0xff] ^ tables[0][v >> 56];
    }
    for (size_t i = 0; i < bytes.len; i++)
        state = state >> 8 ^ tables[0][(state ^ (unsigned char)bytes.data[i]) & 0xff];
    return state;
}

#if HAS_INSTRUCTION

static void make_lanes(void)
{
    static const char zeros[LANE_BYTES];

    for (int n = 0; n < 4; n++) {
        for (unsigned b = 0; b < 256; b++)
            shifted[n][b] = update_by_table(b << 8 * n, (tv_slice){zeros, sizeof zeros});
    }
    has_instruction = __builtin_cpu_supports("sse4.2");
}

static uint32_t append_zeros(uint32_t state)
{
    return shifted[0][state & 0xff] ^ shifted[1][state >> 8 & 0xff] ^
           shifted[2][state >> 16 & 0xff] ^ shifted[3][state >> 24];
}

#define TARGET __attribute__((target("sse4.2")))

TARGET static uint32_t update_by_instruction(uint32_t state, tv_slice bytes)
{
    uint64_t a = state;
    const char *at = bytes.data, *end = at + bytes.len;

    for (; end - at >= LANES * LANE_BYTES; at += LANES * LANE_BYTES) {
        uint64_t b = 0, c = 0;

        for (size_t i = 0; i < LANE_BYTES; i += 8) {
            a = _mm_crc32_u64(a, load(at + i));
            b = _mm_crc32_u64(b, load(at + LANE_BYTES + i));
            c = _mm_crc32_u64(c, load(at + 2 * LANE_BYTES + i));
        }
        a = append_zeros((uint32_t)a) ^ b;
        a = append_zeros((uint32_t)a) ^ c;
    }
    for (; end - at >= 8; at += 8)
        a = _mm_crc32_u64(a, load(at));
    for (; at < end; at++)
        a = _mm_crc32_u8((uint32_t)a, (unsigned char)*at);
    return (uint32_t)a;
}

#else

static void make_lanes(void)
{
}

static uint32_t update_by_instruction(uint32_t state, tv_slice bytes)
{
    return update_by_table(state, bytes);
}

#endif

static void prepare(void)
{
    make_tables();
    make_lanes();
}

uint32_t tv_crc32c(uint32_t before, tv_slice bytes)
{
    pthread_once(&once, prepare);
    return ~(has_instruction ? update_by_instruction(~before, bytes)
                             : update_by_table(~before, bytes));
}

uint32_t tv_crc32c_portable(uint32_t before, tv_slice bytes)
{
    pthread_once(&once, prepare);
    return ~update_by_table(~before, bytes);
}
