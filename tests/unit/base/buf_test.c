/* Growable buffers. */
#include "base/buf.h"

#include "check.h"

TEST(an_empty_buffer_is_an_empty_slice)
{
    tv_buf buf = TV_BUF_EMPTY;

    CHECK_INT(tv_buf_slice(&buf).len, 0);
    tv_buf_add(&buf, TV_NONE);
    tv_buf_add_lit(&buf, "");
    CHECK(buf.data == NULL);
    tv_buf_done(&buf);
}

TEST(pieces_are_appended_in_order)
{
    tv_buf buf = TV_BUF_EMPTY;

    tv_buf_add_lit(&buf, "a\0b");
    tv_buf_add_char(&buf, 'c');
    tv_buf_printf(&buf, "%03d", 7);
    tv_buf_printf(&buf, "%s", "");
    tv_buf_add(&buf, TV_LIT("!"));
    CHECK_SLICE(tv_buf_slice(&buf), TV_LIT("a\0bc007!"));
    tv_buf_done(&buf);
    CHECK(buf.data == NULL && buf.len == 0 && buf.size == 0);
}

TEST(growth_keeps_what_was_written)
{
    tv_buf buf = TV_BUF_EMPTY;

    for (int i = 0; i < 100000; i++)
        tv_buf_add_char(&buf, (char)(i % 251));
    CHECK_INT(buf.len, 100000);
    for (int i = 0; i < 100000; i++)
        CHECK_INT((unsigned char)buf.data[i], i % 251);
    tv_buf_done(&buf);
}

TEST(reserved_room_counts_when_it_is_taken)
{
    tv_buf buf = TV_BUF_EMPTY;

    tv_buf_add_lit(&buf, "ab");
    char *room = tv_buf_reserve(&buf, 5000);
    memset(room, 'x', 5000);
    CHECK_INT(buf.len, 2);
    buf.len += 3;
    CHECK_TEXT(tv_buf_slice(&buf), "abxxx");
    CHECK(tv_buf_reserve(&buf, 4997) == buf.data + 5);
    tv_buf_done(&buf);
}

TEST(formatted_text_longer_than_the_buffer_fits)
{
    tv_buf buf = TV_BUF_EMPTY;

    tv_buf_printf(&buf, "%10000d", 1);
    CHECK_INT(buf.len, 10000);
    CHECK_INT(buf.data[9999], '1');
    tv_buf_done(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_buffer_is_an_empty_slice),
        cmocka_unit_test(pieces_are_appended_in_order),
        cmocka_unit_test(growth_keeps_what_was_written),
        cmocka_unit_test(reserved_room_counts_when_it_is_taken),
        cmocka_unit_test(formatted_text_longer_than_the_buffer_fits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
