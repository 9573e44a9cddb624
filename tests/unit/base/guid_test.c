/* Guids. */
#include "base/guid.h"

#include <pthread.h>

#include "check.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const char example[] = "6f9619ff-8b86-d011-b42d-00c04fc964ff";

TEST(bytes_are_in_the_order_of_the_text)
{
    static const uint8_t want[16] = {0x6f, 0x96, 0x19, 0xff, 0x8b, 0x86, 0xd0, 0x11,
                                     0xb4, 0x2d, 0x00, 0xc0, 0x4f, 0xc9, 0x64, 0xff};
    char text[TV_GUID_TEXT_LEN];
    tv_guid guid;

    CHECK(tv_guid_parse(tv_slice_of(example), &guid));
    assert_memory_equal(guid.bytes, want, sizeof want);
    tv_guid_format(text, &guid);
    CHECK_TEXT(((tv_slice){text, sizeof text}), example);
}

TEST(any_case_is_read_and_lower_case_is_written)
{
    char text[TV_GUID_TEXT_LEN];
    tv_guid guid;

    CHECK(tv_guid_parse(TV_LIT("6F9619FF-8B86-d011-B42D-00C04fc964FF"), &guid));
    tv_guid_format(text, &guid);
    CHECK_TEXT(((tv_slice){text, sizeof text}), example);
}

static const struct {
    const char *what, *text;
} refused[] = {
    {"nothing", ""},
    {"no dashes", "6f9619ff8b86d011b42d00c04fc964ff"},
    {"braces", "{6f9619ff-8b86-d011-b42d-00c04fc964ff}"},
    {"too short", "6f9619ff-8b86-d011-b42d-00c04fc964f"},
    {"too long", "6f9619ff-8b86-d011-b42d-00c04fc964ff0"},
    {"a letter beyond f", "6f9619fg-8b86-d011-b42d-00c04fc964ff"},
    {"a dash in the wrong place", "6f9619f-f8b86-d011-b42d-00c04fc964ff"},
    {"a blank for a dash", "6f9619ff 8b86-d011-b42d-00c04fc964ff"},
};

TEST(every_form_of_a_guid_is_read_where_they_are_asked_for)
{
    static const char *const forms[] = {
        example,
        "6F9619FF8B86D011B42D00C04FC964FF",
        "{6f9619ff-8b86-d011-b42d-00c04fc964ff}",
        "(6f9619ff-8b86-d011-b42d-00c04fc964ff)",
        " 6f9619ff-8b86-d011-b42d-00c04fc964ff ",
        "{0x6f9619ff,0x8b86,0xd011,{0xb4,0x2d,0x00,0xc0,0x4f,0xc9,0x64,0xff}}",
        "{ 0X6F9619FF , 0x8B86 , 0xD011 , { 0xB4,0x2D,0x0,0xC0,0x4F,0xC9,0x64,0xFF } }",
    };
    static const char *const none[] = {
        "",
        "{}",
        "{",
        "6f9619ff8b86d011b42d00c04fc964f",
        "6f9619ff8b86d011b42d00c04fc964ffe",
        "6f9619ff8b86d011b42d00c04fc964fg",
        "{6f9619ff-8b86-d011-b42d-00c04fc964ff)",
        "(6f9619ff-8b86-d011-b42d-00c04fc964ff}",
        "{6f9619ff8b86d011b42d00c04fc964ff}",
        "{{6f9619ff-8b86-d011-b42d-00c04fc964ff}}",
        "{0x16f9619ff,0x8b86,0xd011,{0xb4,0x2d,0x00,0xc0,0x4f,0xc9,0x64,0xff}}",
        "{0x,0x8b86,0xd011,{0xb4,0x2d,0x00,0xc0,0x4f,0xc9,0x64,0xff}}",
        "{0x6f9619ff,0x8b86,0xd011,{0xb4,0x2d,0x00,0xc0,0x4f,0xc9,0x64,0xff}} 1",
        "{0x6f9619ff,0x8b86,0xd011,{0xb4,0x2d,0x00,0xc0,0x4f,0xc9,0x64,0xff}",
        "{0x6f9619ff,0x8b86,0xd011,{0xb4,0x2d,0x00,0xc0,0x4f,0xc9,0x64}}",
        "{0x6f9619ff,0x8b86,0xd011,0xb4,0x2d,0x00,0xc0,0x4f,0xc9,0x64,0xff}",
    };
    char text[TV_GUID_TEXT_LEN];
    tv_guid guid;

    for (size_t i = 0; i < COUNT(forms); i++) {
        t_row = forms[i];
        CHECK(tv_guid_parse_any(tv_slice_of(forms[i]), &guid));
        tv_guid_format(text, &guid);
        CHECK_TEXT(((tv_slice){text, sizeof text}), example);
    }
    for (size_t i = 0; i < COUNT(none); i++) {
        t_row = none[i];
        CHECK(!tv_guid_parse_any(tv_slice_of(none[i]), &guid));
    }
}

TEST(only_the_plain_form_is_read)
{
    tv_guid guid;

    for (size_t i = 0; i < COUNT(refused); i++) {
        t_row = refused[i].what;
        CHECK(!tv_guid_parse(tv_slice_of(refused[i].text), &guid));
    }
}

enum { THREADS = 4, GUIDS_PER_THREAD = 20000 };

static tv_guid guids[THREADS * GUIDS_PER_THREAD];

static void *make_guids(void *arg)
{
    tv_guid *mine = arg;

    for (int i = 0; i < GUIDS_PER_THREAD; i++)
        mine[i] = i % 2 ? tv_guid_new() : tv_guid_new_secret();
    return NULL;
}

static int compare_guids(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(tv_guid));
}

TEST(new_guids_of_several_threads_are_version_4_and_all_different)
{
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, make_guids, guids + i * GUIDS_PER_THREAD), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);

    qsort(guids, COUNT(guids), sizeof guids[0], compare_guids);
    for (size_t i = 0; i < COUNT(guids); i++) {
        CHECK_INT(guids[i].bytes[6] >> 4, 4);
        CHECK_INT(guids[i].bytes[8] >> 6, 2);
        CHECK(i == 0 || compare_guids(&guids[i - 1], &guids[i]) != 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_in_the_order_of_the_text),
        cmocka_unit_test(any_case_is_read_and_lower_case_is_written),
        cmocka_unit_test(every_form_of_a_guid_is_read_where_they_are_asked_for),
        cmocka_unit_test(only_the_plain_form_is_read),
        cmocka_unit_test(new_guids_of_several_threads_are_version_4_and_all_different),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
