/* SipHash (Aumasson and Bernstein, 2012), as its paper describes it; FNV-1a. */
#include "base/hash.h"

#include <sys/random.h>

#include "base/assert.h"

typedef struct sip_state {
    uint64_t v0, v1, v2, v3;
} sip_state;

static tv_hash_key process_key;

/* Before main, and so before any table and any thread. */
__attribute__((constructor)) static void draw_key(void)
{
    tv_assert(getrandom(&process_key, sizeof process_key, 0) == (ssize_t)sizeof process_key);
}

static inline uint64_t rotate(uint64_t word, int bits)
{
    return word << bits | word >> (64 - bits);
}

static inline void mix(sip_state *s, int rounds)
{
    for (int i = 0; i < rounds; i++) {
        s->v0 += s->v1;
        s->v2 += s->v3;
        s->v1 = rotate(s->v1, 13) ^ s->v0;
        s->v3 = rotate(s->v3, 16) ^ s->v2;
        s->v0 = rotate(s->v0, 32);
        s->v2 += s->v1;
        s->v0 += s->v3;
        s->v1 = rotate(s->v1, 17) ^ s->v2;
        s->v3 = rotate(s->v3, 21) ^ s->v0;
        s->v2 = rotate(s->v2, 32);
    }
}

static inline void absorb(sip_state *s, int rounds, uint64_t word)
{
    s->v3 ^= word;
    mix(s, rounds);
    s->v0 ^= word;
}

/* Up to eight bytes, the first one lowest. */
static inline uint64_t load(const char *bytes, size_t count)
{
    uint64_t word = 0;

    if (count)
        memcpy(&word, bytes, count);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

/* Eight characters at once: 0x20 is added to the bytes from 'A' to 'Z'. */
static inline uint64_t lower(uint64_t word)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t low = word & 0x7F * ones; /* without the top bits, so that no sum leaves its byte */
    uint64_t from_a = low + (0x80 - 'A') * ones, past_z = low + (0x80 - 'Z' - 1) * ones;

    return word + ((from_a & ~past_z & ~word & 0x80 * ones) >> 2);
}

static inline uint64_t hash(int rounds, int rounds_at_end, tv_hash_key key, tv_slice bytes,
                            bool is_nocase)
{
    sip_state s = {
        key.k0 ^ UINT64_C(0x736f6d6570736575),
        key.k1 ^ UINT64_C(0x646f72616e646f6d),
        key.k0 ^ UINT64_C(0x6c7967656e657261),
        key.k1 ^ UINT64_C(0x7465646279746573),
    };
    size_t at = 0;
    uint64_t word;

    for (; at + 8 <= bytes.len; at += 8) {
        word = load(bytes.data + at, 8);
        absorb(&s, rounds, is_nocase ? lower(word) : word);
    }
    word = load(tv_slice_skip(bytes, at).data, bytes.len - at);
    absorb(&s, rounds, (is_nocase ? lower(word) : word) | (uint64_t)bytes.len << 56);
    s.v2 ^= 0xff;
    mix(&s, rounds_at_end);
    return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

uint64_t tv_hash(tv_slice bytes)
{
    return hash(1, 3, process_key, bytes, false);
}

uint64_t tv_hash_nocase(tv_slice text)
{
    return hash(1, 3, process_key, text, true);
}

uint64_t tv_siphash(int rounds, int rounds_at_end, tv_hash_key key, tv_slice bytes)
{
    return hash(rounds, rounds_at_end, key, bytes, false);
}

uint64_t tv_fnv_more(uint64_t before, tv_slice bytes)
{
    for (size_t i = 0; i < bytes.len; i++)
        before = (before ^ (unsigned char)bytes.data[i]) * UINT64_C(0x100000001b3);
    return before;
}
