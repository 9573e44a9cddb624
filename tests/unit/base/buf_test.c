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

TEST(a_text_that_may_be_lost_is_lost_when_there_is_no_memory)
{
    enum { LINES = 100000 };
    static const char line[] = "a line of forty characters, or thereabouts";
    tv_budget *budget = tv_budget_new(64 << 20);
    tv_charge charge;

    tv_charge_init(&charge, tv_budget_strangers(budget));

    tv_buf buf = {.charge = &charge, .may_be_lost = true};

    for (int i = 0; i < LINES / 2; i++)
        tv_buf_add_lit(&buf, line);
    CHECK(!buf.is_lost);
    CHECK_INT(buf.len, LINES / 2 * (sizeof line - 1));
    for (int i = 0; i < LINES; i++) {
        tv_buf_add_lit(&buf, line);
        tv_buf_printf(&buf, "%d", i);
    }
    CHECK(buf.is_lost);
    CHECK(buf.size <= 4 << 20); /* a sixteenth */

    tv_buf_reset(&buf);
    CHECK(!buf.may_be_lost && !buf.is_lost);
    tv_buf_done(&buf);
    tv_charge_done(&charge);
    tv_budget_free(budget);
}

TEST(a_short_text_is_never_lost)
{
    tv_budget *budget = tv_budget_new(64 << 20);
    tv_charge charge, other;

    tv_charge_init(&other, tv_budget_strangers(budget));
    CHECK_OK(tv_charge_reserve(&other, 4 << 20));
    tv_charge_init(&charge, tv_budget_strangers(budget));

    tv_buf buf = {.charge = &charge, .may_be_lost = true};

    for (int i = 0; i < 16 * 1024; i++)
        tv_buf_add_char(&buf, 'x');
    CHECK(!buf.is_lost);
    tv_buf_add_char(&buf, 'x');
    CHECK(buf.is_lost);

    tv_buf_done(&buf);
    tv_charge_done(&charge);
    tv_charge_done(&other);
    tv_budget_free(budget);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_buffer_is_an_empty_slice),
        cmocka_unit_test(pieces_are_appended_in_order),
        cmocka_unit_test(growth_keeps_what_was_written),
        cmocka_unit_test(reserved_room_counts_when_it_is_taken),
        cmocka_unit_test(formatted_text_longer_than_the_buffer_fits),
        cmocka_unit_test(a_text_that_may_be_lost_is_lost_when_there_is_no_memory),
        cmocka_unit_test(a_short_text_is_never_lost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
