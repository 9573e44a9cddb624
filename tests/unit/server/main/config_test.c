/* Flags, environment variables, and the one line when they are wrong. */
#include "server/main/config.h"

#include <stdlib.h>

#include "check.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

enum { ARGS_MAX = 8 };

static char problem[256];

/* Every variable that a test may have set. */
static const char *const variables[] = {
    "TAVOLA_DATA",       "TAVOLA_HOST",       "TAVOLA_TABLE_PORT",        "TAVOLA_THREADS",
    "TAVOLA_ENGINE",     "TAVOLA_ACCESS_LOG", "TAVOLA_ALLOW_DEV_ACCOUNT", "TAVOLA_CERT",
    "TAVOLA_KEY",        "TAVOLA_HELP",       "TAVOLA_VERSION",           "TAVOLA_MAX_CONNECTIONS",
    "TAVOLA_ACCOUNTS",   "TAVOLA_LOG_LEVEL",  "TAVOLA_ADMIN_HOST",        "TAVOLA_DISK_RESERVE_MB",
    "TAVOLA_OPERATIONS",
};

static int set_up(__attribute__((unused)) void **state)
{
    for (size_t i = 0; i < COUNT(variables); i++)
        unsetenv(variables[i]);
    problem[0] = '\0';
    return 0;
}

static bool parse(tv_config *config, const char *const *args)
{
    char *argv[ARGS_MAX + 2] = {(char *)(uintptr_t) "tavolad"};
    int argc = 1;

    while (args[argc - 1]) {
        argv[argc] = (char *)(uintptr_t)args[argc - 1];
        argc++;
    }
    return tv_config_parse(config, argc, argv, problem, sizeof problem);
}

#define PARSE(config, ...) parse((config), (const char *const[]){__VA_ARGS__, NULL})

TEST(without_flags_there_are_defaults)
{
    tv_config config;

    CHECK(PARSE(&config, NULL));
    CHECK_TEXT(tv_slice_of(config.data), "./data");
    CHECK_TEXT(tv_slice_of(config.host), "127.0.0.1");
    CHECK_TEXT(tv_slice_of(config.admin_host), "127.0.0.1");
    CHECK_INT(config.table_port, 10002);
    CHECK_INT(config.queue_port, 10001);
    CHECK_INT(config.blob_port, 10000);
    CHECK_INT(config.admin_port, 10003);
    CHECK_INT(config.threads, 0);
    CHECK_INT(config.max_connections, 0); /* by the limit of open files */
    CHECK_INT(config.max_per_address, 0);
    CHECK_INT(config.memory_mb, 0); /* by the machine's memory */
    CHECK(config.accounts == NULL && config.cert == NULL && config.key == NULL);
    CHECK_TEXT(tv_slice_of(config.engine), "rocksdb");
    CHECK_TEXT(tv_slice_of(config.log_level), "info");
    CHECK_INT(config.cache_mb, 0);
    CHECK_INT(config.disk_reserve_mb, 512);
    CHECK(!config.access_log && !config.allow_dev_account && !config.help && !config.version);
}

TEST(flags_are_written_with_a_blank_or_an_equals_sign)
{
    tv_config config;

    CHECK(
        PARSE(&config, "--data", "/srv/x", "--table-port=0", "--host", "::1", "--threads", "256"));
    CHECK_TEXT(tv_slice_of(config.data), "/srv/x");
    CHECK_INT(config.table_port, 0);
    CHECK_TEXT(tv_slice_of(config.host), "::1");
    CHECK_INT(config.threads, 256);

    CHECK(PARSE(&config, "--data=a=b", "--engine=memory", "--accounts", "--odd-name"));
    CHECK_TEXT(tv_slice_of(config.data), "a=b");
    CHECK_TEXT(tv_slice_of(config.engine), "memory");
    CHECK_TEXT(tv_slice_of(config.accounts), "--odd-name");

    CHECK(PARSE(&config, "--cert", "c.pem", "--key=k.pem"));
    CHECK_TEXT(tv_slice_of(config.cert), "c.pem");
    CHECK_TEXT(tv_slice_of(config.key), "k.pem");
}

TEST(localhost_is_both_loopback_addresses)
{
    tv_config config;

    CHECK(PARSE(&config, "--host=localhost", "--admin-host", "::1"));
    CHECK_TEXT(tv_slice_of(config.host), "127.0.0.1");
    CHECK_TEXT(tv_slice_of(config.host_too), "::1");
    CHECK_TEXT(tv_slice_of(config.admin_host), "::1");
    CHECK(config.admin_host_too == NULL);
}

TEST(a_service_may_have_an_address_of_its_own)
{
    tv_config config;

    CHECK(PARSE(&config, "--blob-host=localhost", "--host", "::1", "--queue-host", "10.0.0.1"));
    CHECK_TEXT(tv_slice_of(config.table_host), "::1");
    CHECK(config.table_host_too == NULL);
    CHECK_TEXT(tv_slice_of(config.queue_host), "10.0.0.1");
    CHECK_TEXT(tv_slice_of(config.blob_host), "127.0.0.1");
    CHECK_TEXT(tv_slice_of(config.blob_host_too), "::1");

    CHECK(PARSE(&config, "--host=localhost"));
    CHECK_TEXT(tv_slice_of(config.table_host), "127.0.0.1");
    CHECK_TEXT(tv_slice_of(config.table_host_too), "::1");
}

TEST(the_password_of_a_certificate_is_no_flag)
{
    tv_config config;
    tv_buf text = TV_BUF_EMPTY;

    setenv("TAVOLA_CERT_PASSWORD", "sesame", 1);
    CHECK(PARSE(&config, "--cert", "a.pfx"));
    CHECK_TEXT(tv_slice_of(config.cert_password), "sesame");
    tv_config_write(&config, &text);
    tv_buf_add_char(&text, '\0');
    CHECK(strstr(text.data, "cert=a.pfx") && !strstr(text.data, "sesame"));
    tv_buf_done(&text);
    unsetenv("TAVOLA_CERT_PASSWORD");
}

TEST(the_last_of_two_flags_wins)
{
    tv_config config;

    CHECK(PARSE(&config, "--table-port", "1", "--table-port", "2"));
    CHECK_INT(config.table_port, 2);
}

static const struct {
    const char *flag;
    bool on;
} switches[] = {
    {"--access-log", true},        {"--access-log=1", true},  {"--access-log=true", true},
    {"--access-log=false", false}, {"--access-log=0", false},
};

TEST(a_switch_needs_no_value)
{
    for (size_t i = 0; i < COUNT(switches); i++) {
        tv_config config;

        t_row = switches[i].flag;
        CHECK(PARSE(&config, switches[i].flag, "--threads=1"));
        CHECK_INT(config.access_log, switches[i].on);
        CHECK_INT(config.threads, 1);
    }
}

TEST(questions_are_flags_only)
{
    tv_config config;

    setenv("TAVOLA_HELP", "1", 1);
    setenv("TAVOLA_VERSION", "1", 1);
    setenv("TAVOLA_OPERATIONS", "1", 1);
    CHECK(PARSE(&config, NULL));
    CHECK(!config.help && !config.version && !config.operations);
    CHECK(PARSE(&config, "--help", "--version", "--operations"));
    CHECK(config.help && config.version && config.operations);
}

TEST(flags_win_over_the_environment_and_that_over_defaults)
{
    tv_config config;

    setenv("TAVOLA_TABLE_PORT", "20002", 1);
    setenv("TAVOLA_DATA", "/srv/env", 1);
    setenv("TAVOLA_HOST", "0.0.0.0", 1);
    setenv("TAVOLA_ACCESS_LOG", "true", 1);
    setenv("TAVOLA_ALLOW_DEV_ACCOUNT", "1", 1);
    setenv("TAVOLA_MAX_CONNECTIONS", "5", 1);
    CHECK(PARSE(&config, "--data", "/srv/flag", "--access-log=false"));
    CHECK_INT(config.table_port, 20002);
    CHECK_TEXT(tv_slice_of(config.data), "/srv/flag");
    CHECK_TEXT(tv_slice_of(config.host), "0.0.0.0");
    CHECK(!config.access_log);
    CHECK(config.allow_dev_account);
    CHECK_INT(config.max_connections, 5);
    CHECK_INT(config.admin_port, 10003);
}

TEST(an_empty_variable_is_none)
{
    tv_config config;

    setenv("TAVOLA_TABLE_PORT", "", 1);
    setenv("TAVOLA_DATA", "", 1);
    CHECK(PARSE(&config, NULL));
    CHECK_INT(config.table_port, 10002);
    CHECK_TEXT(tv_slice_of(config.data), "./data");
}

static const struct {
    const char *args[5];
    const char *variable, *value; /* NULL: none */
    const char *problem;
} mistakes[] = {
    {{"--ports", "1"}, NULL, NULL, "unknown flag '--ports'; --help lists them"},
    {{"--table"}, NULL, NULL, "unknown flag '--table'; --help lists them"},
    {{"-h"}, NULL, NULL, "unknown flag '-h'; --help lists them"},
    {{"--"}, NULL, NULL, "unknown flag '--'; --help lists them"},
    {{"data"}, NULL, NULL, "unknown flag 'data'; --help lists them"},
    {{""}, NULL, NULL, "unknown flag ''; --help lists them"},
    {{"--=x"}, NULL, NULL, "unknown flag '--=x'; --help lists them"},
    {{"--Data", "x"}, NULL, NULL, "unknown flag '--Data'; --help lists them"},
    {{"--data"}, NULL, NULL, "--data needs a value"},
    {{"--data="}, NULL, NULL, "--data needs a value"},
    {{"--data", ""}, NULL, NULL, "--data needs a value"},
    {{"--table-port"}, NULL, NULL, "--table-port needs a value"},
    {{"--table-port", "65536"},
     NULL,
     NULL,
     "--table-port takes a number from 0 to 65535, not '65536'"},
    {{"--table-port", "-1"}, NULL, NULL, "--table-port takes a number from 0 to 65535, not '-1'"},
    {{"--table-port=http"}, NULL, NULL, "--table-port takes a number from 0 to 65535, not 'http'"},
    {{"--table-port="}, NULL, NULL, "--table-port takes a number from 0 to 65535, not ''"},
    {{"--table-port=1 "}, NULL, NULL, "--table-port takes a number from 0 to 65535, not '1 '"},
    {{"--threads", "257"}, NULL, NULL, "--threads takes a number from 0 to 256, not '257'"},
    {{"--max-connections=0"},
     NULL,
     NULL,
     "--max-connections takes a number from 1 to 1000000, not '0'"},
    {{"--cache-mb=99999999999"},
     NULL,
     NULL,
     "--cache-mb takes a number from 1 to 1048576, not '99999999999'"},
    {{"--engine", "sqlite"}, NULL, NULL, "--engine is rocksdb, rados or memory, not 'sqlite'"},
    {{"--access-log=no"}, NULL, NULL, "--access-log takes 1, true, 0 or false, not 'no'"},
    {{"--access-log="}, NULL, NULL, "--access-log takes 1, true, 0 or false, not ''"},
    {{"--host", "example.org"}, NULL, NULL, "--host takes an IP address, not 'example.org'"},
    {{"--host=127.0.0.1:80"}, NULL, NULL, "--host takes an IP address, not '127.0.0.1:80'"},
    {{"--admin-host=[::1]"}, NULL, NULL, "--admin-host takes an IP address, not '[::1]'"},
    {{"--key", "x"}, NULL, NULL, "--key needs --cert"},
    {{"--banner", "nginx"}, NULL, NULL, "--banner does not know 'nginx'; --help lists what it knows"},
    {{"--blob-host", "storage"}, NULL, NULL, "--blob-host takes an IP address, not 'storage'"},
    {{NULL}, "TAVOLA_TABLE_PORT", "x", "TAVOLA_TABLE_PORT takes a number from 0 to 65535, not 'x'"},
    {{"--engine=rados", "--pool=p"}, NULL, NULL, "--engine rados needs --ceph-conf and --pool"},
    {{"--engine=rados", "--ceph-conf=c"},
     NULL,
     NULL,
     "--engine rados needs --ceph-conf and --pool"},
    {{"--pool-reserve-percent", "91"},
     NULL,
     NULL,
     "--pool-reserve-percent takes a number from 0 to 90, not '91'"},
    {{NULL}, "TAVOLA_ENGINE", "x", "--engine is rocksdb, rados or memory, not 'x'"},
    {{NULL}, "TAVOLA_KEY", "x", "--key needs --cert"},
    {{NULL}, "TAVOLA_ACCESS_LOG", "off", "TAVOLA_ACCESS_LOG takes 1, true, 0 or false, not 'off'"},
};

TEST(a_mistake_is_named_in_one_line)
{
    for (size_t i = 0; i < COUNT(mistakes); i++) {
        tv_config config;

        set_up(NULL);
        t_row = mistakes[i].problem;
        if (mistakes[i].variable)
            setenv(mistakes[i].variable, mistakes[i].value, 1);
        CHECK(!parse(&config, mistakes[i].args));
        CHECK_TEXT(tv_slice_of(problem), mistakes[i].problem);
    }
}

TEST(a_long_mistake_is_cut)
{
    char flag[300] = "--";
    tv_config config;

    memset(flag + 2, 'x', sizeof flag - 3);
    CHECK(!PARSE(&config, flag));
    CHECK_INT(strlen(problem), strlen("unknown flag ''; --help lists them") + 60);
}

TEST(values_for_tests_need_points_for_tests)
{
    tv_config config;

    CHECK(PARSE(&config, "--test-points", "--test-values", "clock-ms=-6000,level=2"));
    CHECK_INT(config.test.clock_ms, -6000);
    CHECK_INT(config.test.level, 2);
    CHECK_INT(config.test.dead_ms, 0);
    CHECK(PARSE(&config, "--test-points", "--test-values", "grace-ms=1,queue-gc-ms=2,buffer-kb=3"));
    CHECK_INT(config.test.grace_ms, 1);
    CHECK_INT(config.test.queue_gc_ms, 2);
    CHECK_INT(config.test.buffer_kb, 3);
    CHECK(!PARSE(&config, "--test-values", "level=2"));
    CHECK_TEXT(tv_slice_of(problem), "--test-values needs --test-points");
    CHECK(!PARSE(&config, "--test-points", "--test-values", "level=2,speed=3"));
    CHECK_TEXT(tv_slice_of(problem), "--test-values does not know 'speed=3'");
    CHECK(PARSE(&config, "--test-points", "--test-values", "pace=5,stop-pool-ms=2000"));
    CHECK_INT(config.test.pace, 5);
    CHECK_INT(config.test.stop_pool_ms, 2000);
    CHECK(!PARSE(&config, "--test-points", "--test-values", "level"));
    CHECK(!PARSE(&config, "--test-points", "--test-values", "level=x"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(without_flags_there_are_defaults, set_up),
        cmocka_unit_test_setup(flags_are_written_with_a_blank_or_an_equals_sign, set_up),
        cmocka_unit_test_setup(localhost_is_both_loopback_addresses, set_up),
        cmocka_unit_test_setup(a_service_may_have_an_address_of_its_own, set_up),
        cmocka_unit_test_setup(the_password_of_a_certificate_is_no_flag, set_up),
        cmocka_unit_test_setup(the_last_of_two_flags_wins, set_up),
        cmocka_unit_test_setup(a_switch_needs_no_value, set_up),
        cmocka_unit_test_setup(questions_are_flags_only, set_up),
        cmocka_unit_test_setup(flags_win_over_the_environment_and_that_over_defaults, set_up),
        cmocka_unit_test_setup(an_empty_variable_is_none, set_up),
        cmocka_unit_test_setup(a_mistake_is_named_in_one_line, set_up),
        cmocka_unit_test_setup(a_long_mistake_is_cut, set_up),
        cmocka_unit_test_setup(values_for_tests_need_points_for_tests, set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
