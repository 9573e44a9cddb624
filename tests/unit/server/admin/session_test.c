/* Who has a session, and until when. */
#include "server/admin/session.h"

#include "check.h"

#define HOUR (3600 * TV_TICKS_PER_SECOND)
#define BEGIN (TV_TICKS_UNIX_EPOCH + 500000 * HOUR)

static tv_session_texts texts;

static tv_session_words words(void)
{
    return (tv_session_words){tv_slice_of(texts.cookie), tv_slice_of(texts.page)};
}

static bool enter(tv_sessions *sessions, int64_t made, int64_t used)
{
    char link[TV_SESSION_WORD_CHARS + 1];

    tv_sessions_open(sessions, 1);
    tv_sessions_add_link(sessions, made, link);
    return tv_sessions_login(sessions, tv_slice_of(link), used, &texts);
}

TEST(a_session_ends_a_day_after_its_last_use)
{
    tv_sessions sessions;

    CHECK(enter(&sessions, BEGIN, BEGIN));
    CHECK(tv_sessions_check(&sessions, words(), BEGIN + 23 * HOUR));
    CHECK(tv_sessions_check(&sessions, words(), BEGIN + 46 * HOUR));
    CHECK(!tv_sessions_check(&sessions, words(), BEGIN + 71 * HOUR));
    tv_sessions_close(&sessions);
}

TEST(a_link_is_good_for_a_quarter_of_an_hour)
{
    tv_sessions sessions;

    CHECK(enter(&sessions, BEGIN, BEGIN + 14 * HOUR / 60));
    tv_sessions_close(&sessions);
    CHECK(!enter(&sessions, BEGIN, BEGIN + 16 * HOUR / 60));
    tv_sessions_close(&sessions);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_ends_a_day_after_its_last_use),
        cmocka_unit_test(a_link_is_good_for_a_quarter_of_an_hour),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
