/* MD5. */
#include "base/md5.h"

#include "check.h"
#include "random.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* RFC 1321, appendix A.5. */
static const struct {
    const char *bytes, *hex;
} vectors[] = {
    {"", "d41d8cd98f00b204e9800998ecf8427e"},
    {"a", "0cc175b9c0f1b6a831c399e269772661"},
    {"abc", "900150983cd24fb0d6963f7d28e17f72"},
    {"message digest", "f96b697d7cb7938d525a2f31aaf161d0"},
    {"abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b"},
    {"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
     "d174ab98d277d9f5a5611c2c9f419d9f"},
    {"12345678901234567890123456789012345678901234567890123456789012345678901234567890",
     "57edf4a22be3c955ac49da2e2107b67a"},
};

TEST(the_vectors_of_the_rfc_hold)
{
    for (size_t i = 0; i < COUNT(vectors); i++) {
        unsigned char md5[TV_MD5_BYTES];
        char hex[2 * TV_MD5_BYTES + 1];

        t_row = vectors[i].bytes;
        tv_md5_of(tv_slice_of(vectors[i].bytes), md5);
        for (int b = 0; b < TV_MD5_BYTES; b++)
            snprintf(hex + 2 * b, 3, "%02x", md5[b]);
        CHECK_TEXT(tv_slice_of(hex), vectors[i].hex);
    }
}

TEST(pieces_of_any_size_give_the_value_of_the_whole)
{
    static char bytes[1 << 14];
    tv_md5 pieces;

    t_random_seed(5);
    for (int round = 0; round < 50; round++) {
        tv_slice rest = {bytes, t_random() % sizeof bytes};
        unsigned char got[TV_MD5_BYTES], want[TV_MD5_BYTES];

        for (size_t i = 0; i < rest.len; i++)
            bytes[i] = (char)t_random();
        tv_md5_of(rest, want);
        tv_md5_init(&pieces);
        while (rest.len) {
            size_t len = t_random() % 1000;

            len = len < rest.len ? len : rest.len;
            tv_md5_update(&pieces, tv_slice_take(rest, len));
            rest = tv_slice_skip(rest, len);
        }
        tv_md5_final(&pieces, got);
        CHECK(memcmp(got, want, sizeof want) == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_vectors_of_the_rfc_hold),
        cmocka_unit_test(pieces_of_any_size_give_the_value_of_the_whole),
    };

    return cmocka_run_group_tests_name("base/md5", tests, NULL, NULL);
}
