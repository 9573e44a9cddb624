/*
 * CRC-64, in two ways that give the same result.
 *
 * A CRC is the remainder of the message, read as a polynomial over GF(2), after
 * division by the CRC's own polynomial P.  Bits are reflected: bit 0 of a word
 * is its highest power, and the first byte of a message holds its highest ones.
 *
 * The portable way takes sixteen bytes at a time out of sixteen tables.  The
 * fast way keeps four sums of 128 bits that together are congruent to what has
 * been read so far, and for each further 64 bytes multiplies them by x^512 mod P
 * ("folding").  It never divides: the last sum is sixteen bytes with the same
 * remainder as the whole message, and the portable way takes it from there.
 */
#include "base/crc64.h"

#include <endian.h>
#include <pthread.h>

#if defined(__x86_64__)
#include <emmintrin.h>
#include <wmmintrin.h>
#define HAS_FOLDING 1
#else
#define HAS_FOLDING 0
#endif

/* P without its x^64, reflected. */
#define POLYNOMIAL UINT64_C(0x9A6C9329AC4BC9B5)

enum {
    SLICES = 16,
    SUM_BYTES = 16,
    FOLD_BYTES = 4 * SUM_BYTES,
};

/* tables[n][b]: what the byte b leaves when n more bytes follow it. */
static uint64_t tables[SLICES][256];
static bool can_fold;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* v * x mod P. */
static uint64_t times_x(uint64_t v)
{
    return v >> 1 ^ (v & 1 ? POLYNOMIAL : 0);
}

static void make_tables(void)
{
    for (unsigned b = 0; b < 256; b++) {
        uint64_t v = b;

        for (int bit = 0; bit < 8; bit++)
            v = times_x(v);
        tables[0][b] = v;
    }
    for (int n = 1; n < SLICES; n++) {
        for (unsigned b = 0; b < 256; b++) {
            uint64_t v = tables[n - 1][b];

            tables[n][b] = v >> 8 ^ tables[0][v & 0xff];
        }
    }
}

static uint64_t load(const char *from)
{
    uint64_t v;

    memcpy(&v, from, sizeof v);
    return le64toh(v);
}

/* What the eight bytes of `v` leave when `after` more bytes follow them. */
static uint64_t look_up(uint64_t v, int after)
{
    const uint64_t(*t)[256] = (const uint64_t(*)[256])tables + after;

    return t[7][v & 0xff] ^ t[6][v >> 8 & 0xff] ^ t[5][v >> 16 & 0xff] ^ t[4][v >> 24 & 0xff] ^
           t[3][v >> 32 & 0xff] ^ t[2][v >> 40 & 0xff] ^ t[1][v >> 48 & 0xff] ^ t[0][v >> 56];
}

static uint64_t update_by_table(uint64_t state, tv_slice bytes)
{
    for (; bytes.len >= SLICES; bytes = tv_slice_skip(bytes, SLICES))
        state = look_up(state ^ load(bytes.data), 8) ^ look_up(load(bytes.data + 8), 0);
    for (size_t i = 0; i < bytes.len; i++)
        state = state >> 8 ^ tables[0][(state ^ (unsigned char)bytes.data[i]) & 0xff];
    return state;
}

#if HAS_FOLDING

/* Multiply a sum by a power of x: the factors for its lower and for its upper half. */
static struct {
    uint64_t lower, upper;
} by_512, by_128;

/* x^n mod P. */
static uint64_t power_of_x(int n)
{
    uint64_t v = UINT64_C(1) << 63;

    while (n-- > 0)
        v = times_x(v);
    return v;
}

static void make_factors(void)
{
    /* The lower half of a reflected sum is 64 powers higher.  The product of two reflected
     * words comes out multiplied by x once, hence one power less. */
    by_512.lower = power_of_x(512 + 64 - 1);
    by_512.upper = power_of_x(512 - 1);
    by_128.lower = power_of_x(128 + 64 - 1);
    by_128.upper = power_of_x(128 - 1);
    can_fold = __builtin_cpu_supports("pclmul");
}

#define TARGET __attribute__((target("pclmul")))

/* sum * x^n + next, where `factors` stand for x^n. */
TARGET static inline __m128i fold(__m128i sum, __m128i factors, __m128i next)
{
    __m128i lower = _mm_clmulepi64_si128(sum, factors, 0x00);
    __m128i upper = _mm_clmulepi64_si128(sum, factors, 0x11);

    return _mm_xor_si128(_mm_xor_si128(lower, upper), next);
}

TARGET static inline __m128i load_sum(const char *from)
{
    return _mm_loadu_si128((const __m128i *)(const void *)from);
}

/* For at least FOLD_BYTES. */
TARGET static uint64_t update_by_folding(uint64_t state, tv_slice bytes)
{
    __m128i far = _mm_set_epi64x((long long)by_512.upper, (long long)by_512.lower);
    __m128i near = _mm_set_epi64x((long long)by_128.upper, (long long)by_128.lower);
    const char *at = bytes.data, *end = at + bytes.len;
    __m128i a = _mm_xor_si128(load_sum(at), _mm_set_epi64x(0, (long long)state));
    __m128i b = load_sum(at + 16), c = load_sum(at + 32), d = load_sum(at + 48);
    char rest[SUM_BYTES];

    for (at += FOLD_BYTES; end - at >= FOLD_BYTES; at += FOLD_BYTES) {
        a = fold(a, far, load_sum(at));
        b = fold(b, far, load_sum(at + 16));
        c = fold(c, far, load_sum(at + 32));
        d = fold(d, far, load_sum(at + 48));
    }
    a = fold(fold(fold(a, near, b), near, c), near, d);
    for (; end - at >= SUM_BYTES; at += SUM_BYTES)
        a = fold(a, near, load_sum(at));
    _mm_storeu_si128((__m128i *)(void *)rest, a);
    state = update_by_table(0, (tv_slice){rest, sizeof rest});
    return update_by_table(state, (tv_slice){at, (size_t)(end - at)});
}

#else

static void make_factors(void)
{
}

static uint64_t update_by_folding(uint64_t state, tv_slice bytes)
{
    return update_by_table(state, bytes);
}

#endif

static void prepare(void)
{
    make_tables();
    make_factors();
}

void tv_crc64_init(tv_crc64 *crc)
{
    pthread_once(&once, prepare);
    crc->state = UINT64_MAX;
}

void tv_crc64_update(tv_crc64 *crc, tv_slice bytes)
{
    crc->state = can_fold && bytes.len >= FOLD_BYTES ? update_by_folding(crc->state, bytes)
                                                     : update_by_table(crc->state, bytes);
}

void tv_crc64_update_portable(tv_crc64 *crc, tv_slice bytes)
{
    crc->state = update_by_table(crc->state, bytes);
}

uint64_t tv_crc64_final(const tv_crc64 *crc)
{
    return ~crc->state;
}

uint64_t tv_crc64_of(tv_slice bytes)
{
    tv_crc64 crc;

    tv_crc64_init(&crc);
    tv_crc64_update(&crc, bytes);
    return tv_crc64_final(&crc);
}

void tv_crc64_encode(uint64_t value, unsigned char ret_bytes[TV_CRC64_BYTES])
{
    value = htole64(value);
    memcpy(ret_bytes, &value, sizeof value);
}
