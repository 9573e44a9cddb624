/* Accounts out of texts, lists and files. */
#include "model/auth/account.h"

#include <unistd.h>

#include "check.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* Base 64 that must never be seen in an error. */
#define KEY1 "c2VjcmV0IG9uZQ=="
#define KEY2 "c2VjcmV0IHR3bw=="

static tv_accounts accounts;
static char problem[256];
static char path[] = "/tmp/tavola_accounts_XXXXXX";

static int set_up(__attribute__((unused)) void **state)
{
    tv_accounts_init(&accounts);
    problem[0] = '\0';
    return 0;
}

static int tear_down(__attribute__((unused)) void **state)
{
    tv_accounts_done(&accounts);
    return 0;
}

static bool add(const char *text)
{
    return tv_accounts_add(&accounts, tv_slice_of(text), problem, sizeof problem);
}

static void check_keeps_secrets(void)
{
    CHECK(strstr(problem, "c2VjcmV0") == NULL);
    CHECK(strchr(problem, '\n') == NULL);
}

static const struct {
    const char *what, *text, *problem; /* NULL when it is an account */
} forms[] = {
    {"one key", "acct:" KEY1, NULL},
    {"two keys", "acct:" KEY1 ":" KEY2, NULL},
    {"the same key twice", "acct:" KEY1 ":" KEY1, NULL},
    {"the shortest name", "abc:" KEY1, NULL},
    {"the longest name", "abcdefghijklmnopqrstuvwx:" KEY1, NULL},
    {"digits", "123:" KEY1, NULL},
    {"nothing", "", "3 to 24"},
    {"a name of two", "ab:" KEY1, "3 to 24"},
    {"a name of 25", "abcdefghijklmnopqrstuvwxy:" KEY1, "3 to 24"},
    {"upper case", "Acct:" KEY1, "3 to 24"},
    {"a dash", "ac-ct:" KEY1, "3 to 24"},
    {"a blank", "ac ct:" KEY1, "3 to 24"},
    {"no name", ":" KEY1, "3 to 24"},
    {"only a key", KEY1, "3 to 24"},
    {"only a name", "acct", "'acct' has no key"},
    {"an empty key", "acct:", "'acct' needs one or two keys"},
    {"an empty second key", "acct:" KEY1 ":", "'acct' needs one or two keys"},
    {"three keys", "acct:" KEY1 ":" KEY2 ":" KEY1, "'acct' needs one or two keys"},
    {"a key without padding", "acct:c2VjcmV0IG9uZQ", "'acct' needs one or two keys"},
    {"a key in the alphabet of URLs", "acct:c2VjcmV0-_==", "'acct' needs one or two keys"},
    {"a blank after the key", "acct:" KEY1 " ", "'acct' needs one or two keys"},
    {"targets", "acct:" KEY1 " targets=on", NULL},
    {"targets behind two keys", "acct:" KEY1 ":" KEY2 "   targets=off", NULL},
    {"targets of its own", "acct:" KEY1 " targets=partition:500,account:5000", NULL},
    {"all targets of its own", "acct:" KEY1 " targets=blob:1,queue:2,account:3,partition:4", NULL},
    {"a target of its own", "acct:" KEY1 " targets=account:1", NULL},
    {"no target", "acct:" KEY1 " targets=", "targets=partition:N,account:N"},
    {"targets that are neither", "acct:" KEY1 " targets=yes", "targets=on, targets=off"},
    {"targets twice", "acct:" KEY1 " targets=on targets=on", "targets=on, targets=off"},
    {"one target twice", "acct:" KEY1 " targets=account:1,account:2", "targets=on"},
    {"a target of 0", "acct:" KEY1 " targets=partition:0", "targets=on"},
    {"a target that is no number", "acct:" KEY1 " targets=partition:1x", "targets=on"},
    {"a target without a number", "acct:" KEY1 " targets=partition", "targets=on"},
    {"an unknown target", "acct:" KEY1 " targets=table:5", "targets=on"},
    {"an unknown option", "acct:" KEY1 " region=north", "targets=on"},
    {"options without a key", "acct targets=on", "'acct' has no key"},
    {"a bad second key", "acct:" KEY1 ":c2VjcmV0!", "'acct' needs one or two keys"},
};

static const struct {
    const char *text;
    tv_account_targets mode;
    uint32_t partition, account;
} targets[] = {
    {"acct:" KEY1, TV_TARGETS_AS_SERVER, 0, 0},
    {"acct:" KEY1 " targets=on", TV_TARGETS_ON, 0, 0},
    {"acct:" KEY1 " targets=off", TV_TARGETS_OFF, 0, 0},
    {"acct:" KEY1 " targets=partition:500", TV_TARGETS_ON, 500, 0},
    {"acct:" KEY1 " targets=account:7,partition:2147483647", TV_TARGETS_ON, 2147483647, 7},
};

TEST(an_account_may_have_targets_of_its_own)
{
    for (size_t i = 0; i < COUNT(targets); i++) {
        t_row = targets[i].text;
        tv_accounts_done(&accounts);
        CHECK(add(targets[i].text));
        CHECK_INT(accounts.list[0].targets_mode, targets[i].mode);
        CHECK_INT(accounts.list[0].partition_rate, targets[i].partition);
        CHECK_INT(accounts.list[0].account_rate, targets[i].account);
    }
}

TEST(an_account_is_a_name_and_one_or_two_keys)
{
    for (size_t i = 0; i < COUNT(forms); i++) {
        t_row = forms[i].what;
        tv_accounts_done(&accounts);
        CHECK_INT(add(forms[i].text), forms[i].problem == NULL);
        CHECK_INT(accounts.count, forms[i].problem == NULL);
        if (forms[i].problem)
            CHECK(strstr(problem, forms[i].problem) != NULL);
        check_keeps_secrets();
    }
}

TEST(a_key_has_a_largest_length)
{
    char text[1100] = "acct:";

    memset(text + 5, 'A', 1028);
    CHECK(!add(text));
    text[5 + 1024] = '\0';
    CHECK(add(text));
}

TEST(a_name_is_given_once)
{
    CHECK(add("acct:" KEY1));
    CHECK(add("other:" KEY1));
    CHECK(!add("acct:" KEY2));
    CHECK_TEXT(tv_slice_of(problem), "account 'acct' is given twice");
    CHECK_INT(accounts.count, 2);
}

TEST(accounts_are_found_by_their_exact_name)
{
    CHECK(add("acct:" KEY1 ":" KEY2));
    CHECK(add("account:" KEY1));

    const tv_account *found = tv_accounts_find(&accounts, TV_LIT("acct"));

    CHECK(found != NULL);
    CHECK_TEXT(tv_slice_of(found->name), "acct");
    CHECK_INT(found->key_count, 2);
    CHECK(!found->is_development);
    CHECK(tv_accounts_find(&accounts, TV_LIT("acc")) == NULL);
    CHECK(tv_accounts_find(&accounts, TV_LIT("Acct")) == NULL);
    CHECK(tv_accounts_find(&accounts, TV_LIT("")) == NULL);
    CHECK(tv_accounts_find(&accounts, TV_NONE) == NULL);
}

TEST(the_well_known_key_marks_an_account_of_any_name)
{
    CHECK(add(TV_DEVELOPMENT_ACCOUNT ":" TV_DEVELOPMENT_KEY));
    CHECK(add("second:" KEY1 ":" TV_DEVELOPMENT_KEY));
    CHECK(add("plain:" KEY1));
    CHECK(tv_accounts_find(&accounts, TV_LIT("devstoreaccount1"))->is_development);
    CHECK(tv_accounts_find(&accounts, TV_LIT("second"))->is_development);
    CHECK(!tv_accounts_find(&accounts, TV_LIT("plain"))->is_development);
}

static const struct {
    const char *what, *text;
    bool ok;
    int count; /* of accounts afterwards */
} lists[] = {
    {"nothing", "", true, 0},
    {"one", "one:" KEY1, true, 1},
    {"two", "one:" KEY1 ";two:" KEY1 ":" KEY2, true, 2},
    {"a semicolon at the end", "one:" KEY1 ";", true, 1},
    {"empty parts and blanks", " ; one:" KEY1 " ;; two:" KEY2 " ", true, 2},
    {"the second is wrong", "one:" KEY1 ";two", false, 1},
    {"the same twice", "one:" KEY1 ";one:" KEY1, false, 1},
    {"commas do not separate", "one:" KEY1 ",two:" KEY1, false, 0},
};

TEST(a_list_is_separated_by_semicolons)
{
    for (size_t i = 0; i < COUNT(lists); i++) {
        t_row = lists[i].what;
        tv_accounts_done(&accounts);
        CHECK_INT(
            tv_accounts_add_list(&accounts, tv_slice_of(lists[i].text), problem, sizeof problem),
            lists[i].ok);
        CHECK_INT(accounts.count, lists[i].count);
        check_keeps_secrets();
    }
}

static const struct {
    const char *what, *text;
    const char *problem; /* after the path; NULL when all is well */
    int count;
} files[] = {
    {"empty", "", NULL, 0},
    {"one", "one:" KEY1 "\n", NULL, 1},
    {"no line end at the end", "one:" KEY1, NULL, 1},
    {"comments, empty lines, blanks and CR LF",
     "# accounts\n\n  one:" KEY1 "  \r\n\t\n # two\ntwo:" KEY2 "\r\n", NULL, 2},
    {"a bad line", "one:" KEY1 "\n\n#\ntwo:" KEY2 "!\n",
     " line 4: account 'two' needs one or two keys in base 64: name:key1[:key2]", 1},
    {"a name twice", "one:" KEY1 "\none:" KEY2 "\n", " line 2: account 'one' is given twice", 1},
    {"a key alone", KEY1 "\n",
     " line 1: an account name is 3 to 24 lower-case letters and digits; write name:key1[:key2]",
     0},
};

TEST(a_file_has_one_account_per_line)
{
    for (size_t i = 0; i < COUNT(files); i++) {
        FILE *file = fopen(path, "w");
        char want[400];

        t_row = files[i].what;
        CHECK(file != NULL);
        fputs(files[i].text, file);
        fclose(file);
        tv_accounts_done(&accounts);
        CHECK_INT(tv_accounts_add_file(&accounts, path, problem, sizeof problem),
                  files[i].problem == NULL);
        CHECK_INT(accounts.count, files[i].count);
        if (files[i].problem) {
            snprintf(want, sizeof want, "%s%s", path, files[i].problem);
            CHECK_TEXT(tv_slice_of(problem), want);
        }
        check_keeps_secrets();
    }
}

TEST(the_end_of_a_long_comment_is_no_account)
{
    enum { LINE_BYTES = 4095 };
    char want[400];
    FILE *file = fopen(path, "w");

    CHECK(file != NULL);
    fprintf(file,
            "one:" KEY1 "\n#%*s"
            "two:" KEY2 "\n",
            LINE_BYTES - 1, "");
    fclose(file);
    tv_accounts_done(&accounts);
    CHECK(!tv_accounts_add_file(&accounts, path, problem, sizeof problem));
    CHECK(tv_accounts_find(&accounts, TV_LIT("two")) == NULL);
    snprintf(want, sizeof want, "%s line 2 is too long", path);
    CHECK_TEXT(tv_slice_of(problem), want);

    file = fopen(path, "w");
    fprintf(file, "#%*s\none:" KEY1 "\n", LINE_BYTES - 2, "");
    fclose(file);
    tv_accounts_done(&accounts);
    CHECK(tv_accounts_add_file(&accounts, path, problem, sizeof problem));
    CHECK_INT(accounts.count, 1);
}

TEST(a_file_that_cannot_be_read_is_an_error)
{
    CHECK(!tv_accounts_add_file(&accounts, "/nowhere/accounts", problem, sizeof problem));
    CHECK_TEXT(tv_slice_of(problem),
               "cannot read the accounts file /nowhere/accounts: No such file or directory");
    /* A folder can be opened but not read: not an empty list of accounts. */
    CHECK(!tv_accounts_add_file(&accounts, "/tmp", problem, sizeof problem));
    CHECK_TEXT(tv_slice_of(problem), "cannot read the accounts file /tmp: Is a directory");
}

static int make_path(__attribute__((unused)) void **state)
{
    int fd = mkstemp(path);

    return fd < 0 ? -1 : close(fd);
}

static int remove_path(__attribute__((unused)) void **state)
{
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_account_is_a_name_and_one_or_two_keys, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_account_may_have_targets_of_its_own, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_key_has_a_largest_length, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_name_is_given_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(accounts_are_found_by_their_exact_name, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_well_known_key_marks_an_account_of_any_name, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_list_is_separated_by_semicolons, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_file_has_one_account_per_line, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_end_of_a_long_comment_is_no_account, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_file_that_cannot_be_read_is_an_error, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, make_path, remove_path);
}
