/* Base 64. */
#include "base/base64.h"

#include "check.h"
#include "random.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* RFC 4648, section 10. */
static const struct {
    const char *bytes, *text;
} vectors[] = {
    {"", ""},
    {"f", "Zg=="},
    {"fo", "Zm8="},
    {"foo", "Zm9v"},
    {"foob", "Zm9vYg=="},
    {"fooba", "Zm9vYmE="},
    {"foobar", "Zm9vYmFy"},
    {"\xFB\xFF\xBF", "+/+/"},
};

TEST(the_vectors_of_the_rfc_hold_both_ways)
{
    char to[16];
    size_t len;

    for (size_t i = 0; i < COUNT(vectors); i++) {
        tv_slice bytes = tv_slice_of(vectors[i].bytes), text = tv_slice_of(vectors[i].text);

        t_row = vectors[i].text;
        CHECK_INT(tv_base64_encoded_len(bytes.len), text.len);
        tv_base64_encode(to, bytes);
        CHECK_SLICE(((tv_slice){to, text.len}), text);
        CHECK(tv_base64_decode(to, text, &len));
        CHECK(len <= tv_base64_decoded_max(text.len));
        CHECK_SLICE(((tv_slice){to, len}), bytes);
    }
}

static const struct {
    const char *what, *text;
} refused[] = {
    {"no padding", "Zg"},
    {"half of the padding", "Zg="},
    {"one character", "Z"},
    {"five characters", "Zm9vY"},
    {"nothing but padding", "===="},
    {"three of padding", "Z==="},
    {"padding inside", "Zg==Zm9v"},
    {"a character after the padding", "Zg=v"},
    {"unused bits after one byte", "Zh=="},
    {"unused bits after two bytes", "Zm9="},
    {"the alphabet of URLs", "-_-_"},
    {"a blank", "Zm 9"},
    {"a line end", "Zm9v\n"},
    {"a byte above 0x7F", "Zm9\xC3"},
};

TEST(everything_else_is_refused)
{
    char to[16];
    size_t len = 77;

    for (size_t i = 0; i < COUNT(refused); i++) {
        t_row = refused[i].what;
        CHECK(!tv_base64_decode(to, tv_slice_of(refused[i].text), &len));
        CHECK_INT(len, 77);
    }
}

TEST(random_bytes_survive_encode_and_decode)
{
    char bytes[100], text[136], again[102];
    size_t len;

    t_random_seed(0xb64);
    for (int i = 0; i < 20000; i++) {
        size_t count = t_random() % (sizeof bytes + 1);

        for (size_t j = 0; j < count; j++)
            bytes[j] = (char)t_random();
        tv_base64_encode(text, (tv_slice){bytes, count});
        CHECK(tv_base64_decode(again, (tv_slice){text, tv_base64_encoded_len(count)}, &len));
        CHECK_SLICE(((tv_slice){again, len}), ((tv_slice){bytes, count}));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_vectors_of_the_rfc_hold_both_ways),
        cmocka_unit_test(everything_else_is_refused),
        cmocka_unit_test(random_bytes_survive_encode_and_decode),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
