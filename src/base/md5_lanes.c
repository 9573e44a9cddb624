/*
 * MD5 (RFC 1321) of eight streams in the eight lanes of 256-bit registers.
 *
 * The steps are written down once, as a list, and made into a function for AVX2
 * and one for AVX-512, which rotates and mixes three words in one instruction
 * each.  A block of every stream is transposed so that one register holds the same
 * word of all of them, then all take the 64 steps together.  That takes a little
 * longer than OpenSSL takes for a block of one stream; so a stream that is alone
 * is left to OpenSSL, as is everything on other processors.
 */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "base/md5_lanes.h"

#include "base/assert.h"

#if defined(__x86_64__)
#include <immintrin.h>
#define HAS_LANES 1
#else
#define HAS_LANES 0
#endif

enum { BLOCK_BYTES = 64, WORDS = 16 };

#if HAS_LANES

/* Word i of the state of every stream. */
typedef uint32_t lane_states[4][TV_MD5_LANES];

/*
 * The 64 steps.  STEP(mix, a, b, c, d, word, turn, add) is
 * a = b + rotate_left(a + mix(b, c, d) + words[word] + add, turn).
 */
/* clang-format off */
#define STEPS(STEP, F, G, H, I)                                                    \
    STEP(F, a, b, c, d,  0,  7, 0xd76aa478) STEP(F, d, a, b, c,  1, 12, 0xe8c7b756) \
    STEP(F, c, d, a, b,  2, 17, 0x242070db) STEP(F, b, c, d, a,  3, 22, 0xc1bdceee) \
    STEP(F, a, b, c, d,  4,  7, 0xf57c0faf) STEP(F, d, a, b, c,  5, 12, 0x4787c62a) \
    STEP(F, c, d, a, b,  6, 17, 0xa8304613) STEP(F, b, c, d, a,  7, 22, 0xfd469501) \
    STEP(F, a, b, c, d,  8,  7, 0x698098d8) STEP(F, d, a, b, c,  9, 12, 0x8b44f7af) \
    STEP(F, c, d, a, b, 10, 17, 0xffff5bb1) STEP(F, b, c, d, a, 11, 22, 0x895cd7be) \
    STEP(F, a, b, c, d, 12,  7, 0x6b901122) STEP(F, d, a, b, c, 13, 12, 0xfd987193) \
    STEP(F, c, d, a, b, 14, 17, 0xa679438e) STEP(F, b, c, d, a, 15, 22, 0x49b40821) \
    STEP(G, a, b, c, d,  1,  5, 0xf61e2562) STEP(G, d, a, b, c,  6,  9, 0xc040b340) \
    STEP(G, c, d, a, b, 11, 14, 0x265e5a51) STEP(G, b, c, d, a,  0, 20, 0xe9b6c7aa) \
    STEP(G, a, b, c, d,  5,  5, 0xd62f105d) STEP(G, d, a, b, c, 10,  9, 0x02441453) \
    STEP(G, c, d, a, b, 15, 14, 0xd8a1e681) STEP(G, b, c, d, a,  4, 20, 0xe7d3fbc8) \
    STEP(G, a, b, c, d,  9,  5, 0x21e1cde6) STEP(G, d, a, b, c, 14,  9, 0xc33707d6) \
    STEP(G, c, d, a, b,  3, 14, 0xf4d50d87) STEP(G, b, c, d, a,  8, 20, 0x455a14ed) \
    STEP(G, a, b, c, d, 13,  5, 0xa9e3e905) STEP(G, d, a, b, c,  2,  9, 0xfcefa3f8) \
    STEP(G, c, d, a, b,  7, 14, 0x676f02d9) STEP(G, b, c, d, a, 12, 20, 0x8d2a4c8a) \
    STEP(H, a, b, c, d,  5,  4, 0xfffa3942) STEP(H, d, a, b, c,  8, 11, 0x8771f681) \
    STEP(H, c, d, a, b, 11, 16, 0x6d9d6122) STEP(H, b, c, d, a, 14, 23, 0xfde5380c) \
    STEP(H, a, b, c, d,  1,  4, 0xa4beea44) STEP(H, d, a, b, c,  4, 11, 0x4bdecfa9) \
    STEP(H, c, d, a, b,  7, 16, 0xf6bb4b60) STEP(H, b, c, d, a, 10, 23, 0xbebfbc70) \
    STEP(H, a, b, c, d, 13,  4, 0x289b7ec6) STEP(H, d, a, b, c,  0, 11, 0xeaa127fa) \
    STEP(H, c, d, a, b,  3, 16, 0xd4ef3085) STEP(H, b, c, d, a,  6, 23, 0x04881d05) \
    STEP(H, a, b, c, d,  9,  4, 0xd9d4d039) STEP(H, d, a, b, c, 12, 11, 0xe6db99e5) \
    STEP(H, c, d, a, b, 15, 16, 0x1fa27cf8) STEP(H, b, c, d, a,  2, 23, 0xc4ac5665) \
    STEP(I, a, b, c, d,  0,  6, 0xf4292244) STEP(I, d, a, b, c,  7, 10, 0x432aff97) \
    STEP(I, c, d, a, b, 14, 15, 0xab9423a7) STEP(I, b, c, d, a,  5, 21, 0xfc93a039) \
    STEP(I, a, b, c, d, 12,  6, 0x655b59c3) STEP(I, d, a, b, c,  3, 10, 0x8f0ccc92) \
    STEP(I, c, d, a, b, 10, 15, 0xffeff47d) STEP(I, b, c, d, a,  1, 21, 0x85845dd1) \
    STEP(I, a, b, c, d,  8,  6, 0x6fa87e4f) STEP(I, d, a, b, c, 15, 10, 0xfe2ce6e0) \
    STEP(I, c, d, a, b,  6, 15, 0xa3014314) STEP(I, b, c, d, a, 13, 21, 0x4e0811a1) \
    STEP(I, a, b, c, d,  4,  6, 0xf7537e82) STEP(I, d, a, b, c, 11, 10, 0xbd3af235) \
    STEP(I, c, d, a, b,  2, 15, 0x2ad7d2bb) STEP(I, b, c, d, a,  9, 21, 0xeb86d391)
/* clang-format on */

#define ADD(x, y) _mm256_add_epi32(x, y)
#define XOR(x, y) _mm256_xor_si256(x, y)

/*
 * Only `b` comes from the step before.  The barrier keeps the compiler from
 * adding the rest in an order that makes it wait for more than the mix.
 */
#define STEP_WITH(MIXED, ROTATE, a, b, word, turn, add)                                            \
    do {                                                                                           \
        __m256i sum = ADD(ADD(a, _mm256_set1_epi32((int)(add))), words[word]);                     \
        __asm__("" : "+x"(sum));                                                                   \
        sum = ADD(sum, MIXED);                                                                     \
        a = ADD(ROTATE(sum, turn), b);                                                             \
    } while (0);

#define AVX2_F(b, c, d) XOR(_mm256_and_si256(XOR(c, d), b), d)
#define AVX2_G(b, c, d) XOR(_mm256_and_si256(XOR(b, c), d), c)
#define AVX2_H(b, c, d) XOR(XOR(c, d), b)
#define AVX2_I(b, c, d) XOR(_mm256_or_si256(XOR(d, _mm256_set1_epi32(-1)), b), c)
#define AVX2_ROTATE(x, turn)                                                                       \
    _mm256_or_si256(_mm256_slli_epi32(x, turn), _mm256_srli_epi32(x, 32 - (turn)))
#define AVX2_STEP(mix, a, b, c, d, word, turn, add)                                                \
    STEP_WITH(mix(b, c, d), AVX2_ROTATE, a, b, word, turn, add)

/* A mix of three words is a truth table of eight bits. */
enum { AVX512_F = 0xCA, AVX512_G = 0xE4, AVX512_H = 0x96, AVX512_I = 0x39 };

#define AVX512_STEP(mix, a, b, c, d, word, turn, add)                                              \
    STEP_WITH(_mm256_ternarylogic_epi32(b, c, d, mix), _mm256_rol_epi32, a, b, word, turn, add)

/* Eight words of a block of every stream, transposed: words[i] has word i of all. */
__attribute__((target("avx2"), always_inline)) static inline void
load_words(__m256i words[8], const char *const from[TV_MD5_LANES], size_t offset)
{
    __m256i rows[8], pairs[8], fours[8];

    for (int i = 0; i < 8; i++)
        rows[i] = _mm256_loadu_si256((const __m256i *)(from[i] + offset));
    for (int i = 0; i < 8; i += 2) {
        pairs[i] = _mm256_unpacklo_epi32(rows[i], rows[i + 1]);
        pairs[i + 1] = _mm256_unpackhi_epi32(rows[i], rows[i + 1]);
    }
    for (int i = 0; i < 8; i += 4) {
        fours[i] = _mm256_unpacklo_epi64(pairs[i], pairs[i + 2]);
        fours[i + 1] = _mm256_unpackhi_epi64(pairs[i], pairs[i + 2]);
        fours[i + 2] = _mm256_unpacklo_epi64(pairs[i + 1], pairs[i + 3]);
        fours[i + 3] = _mm256_unpackhi_epi64(pairs[i + 1], pairs[i + 3]);
    }
    for (int i = 0; i < 4; i++) {
        words[i] = _mm256_permute2x128_si256(fours[i], fours[i + 4], 0x20);
        words[i + 4] = _mm256_permute2x128_si256(fours[i], fours[i + 4], 0x31);
    }
}

/* A function that advances all streams by `len` bytes, whole blocks. */
#define DEFINE_HASH(NAME, TARGET, STEP, F, G, H, I)                                                \
    __attribute__((target(TARGET))) static void NAME(                                              \
        lane_states states, const char *const from[TV_MD5_LANES], size_t len)                      \
    {                                                                                              \
        __m256i a = _mm256_loadu_si256((const __m256i *)states[0]);                                \
        __m256i b = _mm256_loadu_si256((const __m256i *)states[1]);                                \
        __m256i c = _mm256_loadu_si256((const __m256i *)states[2]);                                \
        __m256i d = _mm256_loadu_si256((const __m256i *)states[3]);                                \
                                                                                                   \
        for (size_t offset = 0; offset < len; offset += BLOCK_BYTES) {                             \
            __m256i words[WORDS], a_before = a, b_before = b, c_before = c, d_before = d;          \
                                                                                                   \
            load_words(words, from, offset);                                                       \
            load_words(words + 8, from, offset + 32);                                              \
            STEPS(STEP, F, G, H, I)                                                                \
            a = ADD(a, a_before);                                                                  \
            b = ADD(b, b_before);                                                                  \
            c = ADD(c, c_before);                                                                  \
            d = ADD(d, d_before);                                                                  \
        }                                                                                          \
        _mm256_storeu_si256((__m256i *)states[0], a);                                              \
        _mm256_storeu_si256((__m256i *)states[1], b);                                              \
        _mm256_storeu_si256((__m256i *)states[2], c);                                              \
        _mm256_storeu_si256((__m256i *)states[3], d);                                              \
    }

DEFINE_HASH(hash_avx2, "avx2", AVX2_STEP, AVX2_F, AVX2_G, AVX2_H, AVX2_I)
DEFINE_HASH(hash_avx512, "avx2,avx512f,avx512vl", AVX512_STEP, AVX512_F, AVX512_G, AVX512_H,
            AVX512_I)

/* Advance every stream by `len` bytes, whole blocks; each is at the beginning of one. */
static void hash_blocks(tv_md5_lane *lanes, size_t count, size_t len, tv_md5_way way)
{
    const char *from[TV_MD5_LANES];
    lane_states states;

    /* Lanes that are not used do what the first does. */
    for (size_t i = 0; i < TV_MD5_LANES; i++) {
        const tv_md5_lane *lane = &lanes[i < count ? i : 0];

        from[i] = lane->bytes.data;
        states[0][i] = lane->md5->ctx.A;
        states[1][i] = lane->md5->ctx.B;
        states[2][i] = lane->md5->ctx.C;
        states[3][i] = lane->md5->ctx.D;
    }
    if (way == TV_MD5_AVX512)
        hash_avx512(states, from, len);
    else
        hash_avx2(states, from, len);

    for (size_t i = 0; i < count; i++) {
        MD5_CTX *ctx = &lanes[i].md5->ctx;
        uint64_t bits = ((uint64_t)ctx->Nh << 32 | ctx->Nl) + (uint64_t)len * 8;

        ctx->A = states[0][i];
        ctx->B = states[1][i];
        ctx->C = states[2][i];
        ctx->D = states[3][i];
        ctx->Nl = (MD5_LONG)bits;
        ctx->Nh = (MD5_LONG)(bits >> 32);
        lanes[i].bytes = tv_slice_skip(lanes[i].bytes, len);
    }
}

#endif

tv_md5_way tv_md5_best_way(void)
{
#if HAS_LANES
    if (!__builtin_cpu_supports("avx2"))
        return TV_MD5_ALONE;
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") ? TV_MD5_AVX512
                                                                                   : TV_MD5_AVX2;
#else
    return TV_MD5_ALONE;
#endif
}

/* Let OpenSSL take `len` bytes of a stream. */
static void hash_alone(tv_md5_lane *lane, size_t len)
{
    tv_md5_update(lane->md5, tv_slice_take(lane->bytes, len));
    lane->bytes = tv_slice_skip(lane->bytes, len);
}

#if HAS_LANES
/* Take each stream to the beginning of a block, and keep those that have whole ones left. */
static size_t keep_long(tv_md5_lane *lanes, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        size_t begun = lanes[i].md5->ctx.num, len = lanes[i].bytes.len;

        if (begun && begun + len >= BLOCK_BYTES) {
            hash_alone(&lanes[i], BLOCK_BYTES - begun);
            len = lanes[i].bytes.len;
        }
        if (len < BLOCK_BYTES)
            hash_alone(&lanes[i], len);
        else
            lanes[kept++] = lanes[i];
    }
    return kept;
}
#endif

void tv_md5_update_lanes_by(tv_md5_way way, tv_md5_lane *lanes, size_t count)
{
    tv_assert(count <= TV_MD5_LANES && way <= tv_md5_best_way());
#if HAS_LANES
    /* As long as the shortest lasts, then on without it. */
    while (way != TV_MD5_ALONE && (count = keep_long(lanes, count)) > 1) {
        size_t common = lanes[0].bytes.len;

        for (size_t i = 1; i < count; i++)
            common = lanes[i].bytes.len < common ? lanes[i].bytes.len : common;
        hash_blocks(lanes, count, common - common % BLOCK_BYTES, way);
    }
#endif
    for (size_t i = 0; i < count; i++)
        hash_alone(&lanes[i], lanes[i].bytes.len);
}

void tv_md5_update_lanes(tv_md5_lane *lanes, size_t count)
{
    tv_md5_update_lanes_by(tv_md5_best_way(), lanes, count);
}
