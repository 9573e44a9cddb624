/* The chunked decoder: the same result for every way to cut the input. */
#include "wire/http/chunked.h"

#include "base/buf.h"
#include "check.h"

/* Decode `input` in steps.  `ret_is_done` tells whether the body ended, `ret_used` where. */
static tv_err decode(tv_slice input, size_t step, tv_buf *body, size_t *ret_used, bool *ret_is_done)
{
    tv_chunked chunked = {0};

    *ret_used = 0;
    *ret_is_done = false;
    while (*ret_used < input.len && !*ret_is_done) {
        size_t left = input.len - *ret_used;
        tv_slice piece = tv_slice_take(tv_slice_skip(input, *ret_used), step < left ? step : left);
        tv_slice data;
        size_t len = piece.len;
        tv_err err = tv_chunked_decode(&chunked, &piece, &data, ret_is_done);
        if (err)
            return err;

        tv_buf_add(body, data);
        *ret_used += len - piece.len;
    }
    return TV_OK;
}

static const struct {
    const char *what, *input;
    tv_err err;
    const char *body, *rest; /* rest NULL: the body has not ended */
} cases[] = {
    {"one chunk", "5\r\nhello\r\n0\r\n\r\n", TV_OK, "hello", ""},
    {"two chunks", "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n", TV_OK, "hello world", ""},
    {"no chunk", "0\r\n\r\n", TV_OK, "", ""},
    {"many zeros", "000\r\n\r\n", TV_OK, "", ""},
    {"hexadecimal in both cases", "a\r\n0123456789\r\nB\r\n0123456789a\r\n0\r\n\r\n", TV_OK,
     "01234567890123456789a", ""},
    {"leading zeros", "0005\r\nhello\r\n0\r\n\r\n", TV_OK, "hello", ""},
    {"line ends inside data", "4\r\n\r\n\r\n\r\n0\r\n\r\n", TV_OK, "\r\n\r\n", ""},
    {"an extension", "5;a=b;c=\"d\"\r\nhello\r\n0;e\r\n\r\n", TV_OK, "hello", ""},
    {"a trailer", "1\r\nx\r\n0\r\nA: b\r\nC: d\r\n\r\n", TV_OK, "x", ""},
    {"what follows stays", "1\r\nx\r\n0\r\n\r\nGET /", TV_OK, "x", "GET /"},
    {"an unfinished chunk", "5\r\nhel", TV_OK, "hel", NULL},
    {"an unfinished end", "1\r\nx\r\n0\r\n", TV_OK, "x", NULL},

    {"no size", "\r\nx\r\n", TV_ERR_BAD_REQUEST, "", NULL},
    {"no digits before an extension", ";a\r\nx\r\n", TV_ERR_BAD_REQUEST, "", NULL},
    {"a size that is not a number", "x\r\n", TV_ERR_BAD_REQUEST, "", NULL},
    {"a size with a prefix", "0x5\r\nhello\r\n", TV_ERR_BAD_REQUEST, "", NULL},
    {"a signed size", "+5\r\nhello\r\n", TV_ERR_BAD_REQUEST, "", NULL},
    {"a negative size", "-5\r\nhello\r\n", TV_ERR_BAD_REQUEST, "", NULL},
    {"a blank before the size", " 5\r\nhello\r\n", TV_ERR_BAD_REQUEST, "", NULL},
    {"a blank after the size", "5 \r\nhello\r\n", TV_ERR_BAD_REQUEST, "", NULL},
    {"a size that overflows", "ffffffffffffffff\r\n", TV_ERR_BAD_REQUEST, "", NULL},
    {"a bare LF after the size", "5\nhello\r\n", TV_ERR_BAD_REQUEST, "", NULL},
    {"a bare CR after the size", "5\rhello\r\n", TV_ERR_BAD_REQUEST, "", NULL},
    {"a bare LF in an extension", "5;a\nhello\r\n", TV_ERR_BAD_REQUEST, "", NULL},
    {"more data than said", "2\r\nabc\r\n0\r\n\r\n", TV_ERR_BAD_REQUEST, "ab", NULL},
    {"a bare LF after data", "2\r\nab\n0\r\n\r\n", TV_ERR_BAD_REQUEST, "ab", NULL},
    {"nothing after data", "2\r\nab0\r\n\r\n", TV_ERR_BAD_REQUEST, "ab", NULL},
    {"a bare LF at the end", "0\r\n\n", TV_ERR_BAD_REQUEST, "", NULL},
    {"a bare LF in a trailer", "0\r\nA: b\n\r\n", TV_ERR_BAD_REQUEST, "", NULL},
    {"a bare CR in a trailer", "0\r\nA: b\rc\r\n\r\n", TV_ERR_BAD_REQUEST, "", NULL},
    {"a control character in a trailer", "0\r\nA: \x01\r\n\r\n", TV_ERR_BAD_REQUEST, "", NULL},
};

TEST(chunks_decode_alike_however_they_arrive)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tv_slice input = tv_slice_of(cases[i].input);

        t_row = cases[i].what;
        for (size_t step = 1; step <= input.len; step++) {
            tv_buf body = TV_BUF_EMPTY;
            size_t used;
            bool is_done;

            CHECK_ERR(decode(input, step, &body, &used, &is_done), cases[i].err);
            CHECK_TEXT(tv_buf_slice(&body), cases[i].body);
            CHECK_INT(is_done, cases[i].rest != NULL);
            if (is_done)
                CHECK_TEXT(tv_slice_skip(input, used), cases[i].rest);
            tv_buf_done(&body);
        }
    }
}

TEST(a_nul_is_refused_outside_data)
{
    static const char extension[] = "5;a\0b\r\n", trailer[] = "0\r\nA\0: b\r\n\r\n";
    tv_buf body = TV_BUF_EMPTY;
    size_t used;
    bool is_done;

    CHECK_ERR(decode(TV_LIT(extension), 100, &body, &used, &is_done), TV_ERR_BAD_REQUEST);
    CHECK_ERR(decode(TV_LIT(trailer), 100, &body, &used, &is_done), TV_ERR_BAD_REQUEST);
    tv_buf_done(&body);
}

TEST(extensions_and_trailers_share_a_bound)
{
    for (size_t extra = 0; extra < 2; extra++) {
        tv_buf input = TV_BUF_EMPTY, body = TV_BUF_EMPTY;
        size_t used;
        bool is_done;

        tv_buf_add_lit(&input, "1;");
        for (size_t i = 0; i < TV_CHUNKED_DISCARD_MAX / 2; i++)
            tv_buf_add_char(&input, 'e');
        tv_buf_add_lit(&input, "\r\nx\r\n0\r\n");
        for (size_t i = 0; i < TV_CHUNKED_DISCARD_MAX / 2 + extra; i++)
            tv_buf_add_char(&input, 't');
        tv_buf_add_lit(&input, "\r\n\r\n");
        CHECK_ERR(decode(tv_buf_slice(&input), input.len, &body, &used, &is_done),
                  extra ? TV_ERR_BAD_REQUEST : TV_OK);
        tv_buf_done(&input);
        tv_buf_done(&body);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_decode_alike_however_they_arrive),
        cmocka_unit_test(a_nul_is_refused_outside_data),
        cmocka_unit_test(extensions_and_trailers_share_a_bound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
