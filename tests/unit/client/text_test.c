/* Text that remembers when memory was short. */
#include "client/text.h"

#include "check.h"
#include "client/memory.h"
#include "client/memory_faults.h"

TEST(encodes)
{
    static const struct {
        const char *label, *in, *encoded, *key, *json;
    } cases[] = {
        {"plain", "abc-._~", "abc-._~", "abc-._~", "\"abc-._~\""},
        {"blank", "a b", "a%20b", "a%20b", "\"a b\""},
        {"quote", "O'Hara", "O%27Hara", "O''Hara", "\"O'Hara\""},
        {"slash", "a/b?#%", "a%2Fb%3F%23%25", "a%2Fb%3F%23%25", "\"a/b?#%\""},
        {"empty", "", "", "", "\"\""},
        {"beyond ASCII", "\xc3\xb6", "%C3%B6", "%C3%B6", "\"\\u00f6\""},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tvc_text text = {0};
        tv_slice in = tv_slice_of(cases[i].in);

        t_row = cases[i].label;
        tvc_text_add_encoded(&text, in);
        tvc_text_add_char(&text, ' ');
        tvc_text_add_key(&text, in);
        tvc_text_add_char(&text, ' ');
        tvc_text_add_json(&text, in);

        char *taken = tvc_text_take(&text);
        char wanted[200];

        snprintf(wanted, sizeof wanted, "%s %s %s", cases[i].encoded, cases[i].key, cases[i].json);
        assert_string_equal(taken, wanted);
        tvc_release(taken);
    }
}

TEST(survives_a_lack_of_memory)
{
    MEMORY_FAULTS(fault)
    {
        tvc_text text = {0};

        for (int i = 0; i < 100; i++)
            tvc_text_add_int64(&text, 1000000 + i);

        char *taken = tvc_text_take(&text);

        /* One refusal can be survived: it asks for less then. */
        if (taken)
            assert_int_equal(strlen(taken), 700);
        else
            assert_true(memory_fault_was_hit());
        tvc_release(taken);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(encodes),
        cmocka_unit_test(survives_a_lack_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
