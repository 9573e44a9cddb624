/* Keyed hashes. */
#include "base/hash.h"

#include "check.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* The bytes 0, 1, 2 and so on. */
static tv_slice counting(size_t len)
{
    static char bytes[64];

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)i;
    return (tv_slice){bytes, len};
}

/* SipHash-1-3 under the key zero is what CPython 3.11 hashes bytes with when PYTHONHASHSEED=0. */
static const struct {
    const char *what;
    int rounds, rounds_at_end;
    tv_hash_key key;
    size_t len;
    uint64_t value;
} vectors[] = {
    {"the vector of the paper",
     2,
     4,
     {UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)},
     15,
     UINT64_C(0xa129ca6149be45e5)},
    {"1-3, one byte", 1, 3, {0, 0}, 1, UINT64_C(0x68a914128e01e473)},
    {"1-3, seven bytes", 1, 3, {0, 0}, 7, UINT64_C(0x2f098ab0c751325a)},
    {"1-3, a word", 1, 3, {0, 0}, 8, UINT64_C(0xead411e67ebe2eea)},
    {"1-3, a word and a byte", 1, 3, {0, 0}, 9, UINT64_C(0x75927f9d95124362)},
    {"1-3, two words", 1, 3, {0, 0}, 16, UINT64_C(0x8972188433a5c5b7)},
    {"1-3, 63 bytes", 1, 3, {0, 0}, 63, UINT64_C(0x385d3e39e5f37359)},
};

TEST(known_values)
{
    for (size_t i = 0; i < COUNT(vectors); i++) {
        uint64_t value = tv_siphash(vectors[i].rounds, vectors[i].rounds_at_end, vectors[i].key,
                                    counting(vectors[i].len));

        t_row = vectors[i].what;
        if (value != vectors[i].value)
            CHECK_FAIL("got 0x%llx", (unsigned long long)value);
    }
}

TEST(the_key_of_a_process_is_not_a_known_one)
{
    tv_slice bytes = counting(16);

    CHECK(tv_hash(bytes) == tv_hash(bytes));
    CHECK(tv_hash(bytes) != tv_siphash(1, 3, (tv_hash_key){0, 0}, bytes));
}

TEST(without_case_only_ascii_letters_lose_theirs)
{
    char upper[256], lower[256];

    for (int i = 0; i < 256; i++) {
        upper[i] = (char)i;
        lower[i] = tv_ascii_lower((char)i);
    }
    for (size_t from = 0; from < 256; from++) {
        for (size_t len = 0; len <= 256 - from && len <= 17; len++) {
            tv_slice plain = {lower + from, len};

            CHECK(tv_hash_nocase((tv_slice){upper + from, len}) == tv_hash_nocase(plain));
            CHECK(tv_hash_nocase(plain) == tv_hash(plain));
        }
    }
}

/* From the draft of Fowler, Noll, Vo and Eastlake. */
TEST(fnv_has_its_known_values)
{
    CHECK(tv_fnv(TV_LIT("")) == UINT64_C(0xcbf29ce484222325));
    CHECK(tv_fnv(TV_LIT("a")) == UINT64_C(0xaf63dc4c8601ec8c));
    CHECK(tv_fnv(TV_LIT("foobar")) == UINT64_C(0x85944171f73967e8));
    CHECK(tv_fnv_more(tv_fnv(TV_LIT("foo")), TV_LIT("bar")) == tv_fnv(TV_LIT("foobar")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_values),
        cmocka_unit_test(the_key_of_a_process_is_not_a_known_one),
        cmocka_unit_test(without_case_only_ascii_letters_lose_theirs),
        cmocka_unit_test(fnv_has_its_known_values),
    };

    return cmocka_run_group_tests_name("base/hash", tests, NULL, NULL);
}
