/* Which language a client is written in, by what it says of itself. */
#include "../../check.h"

#include "insight/advice/language.h"

static const struct {
    const char *what, *agent;
    int language; /* -1: not known */
} rows[] = {
    {"Python", "azsdk-python-data-tables/12.4.2 Python/3.11.2 (Linux-6.1-x86_64)",
     TV_LANGUAGE_PYTHON},
    {"JavaScript", "azsdk-js-data-tables/13.3.0 core-rest-pipeline/1.19.1 Node/20.20.2",
     TV_LANGUAGE_JAVASCRIPT},
    {".NET", "azsdk-net-Data.Tables/12.8.3 (.NET 6.0.36; Debian GNU/Linux 12)", TV_LANGUAGE_CSHARP},
    {"C", "tavola/1.0.0", TV_LANGUAGE_C},
    {"with the name of an application", "payroll/2 tavola/1.0.0", TV_LANGUAGE_C},
    {"the same in Python", "payroll azsdk-python-data-tables/12.4.2 Python/3.11.2",
     TV_LANGUAGE_PYTHON},
    {"a language without code here", "azsdk-go-aztables/v1.3.0 (go1.23; linux)", -1},
    {"a word that only looks like one", "my-azsdk-python-tool/1", -1},
    {"curl", "curl/7.88.1", -1},
    {"nothing", "", -1},
};

TEST(agents_tell_their_language)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        t_row = rows[i].what;
        CHECK_INT(tv_language_number(tv_slice_of(rows[i].agent)), rows[i].language + 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agents_tell_their_language),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
