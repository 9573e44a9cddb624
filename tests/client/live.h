/*
 * For programs that use the library as an application does, through tavola.h alone, with a server
 * that $TAVOLA_TEST_CONNECTION names.  Each test has a client and an empty table of its own:
 *
 *     TEST(an_insert_can_be_read) { CHECK_OK(tavola_insert(t.table, ...)); }
 *     ... LIVE_TEST(an_insert_can_be_read) ...
 */
#ifndef TAVOLA_TESTS_CLIENT_LIVE_H
#define TAVOLA_TESTS_CLIENT_LIVE_H

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "tavola.h"

static const char *t_row = ""; /* of a table of cases, for the failure's text */

static struct {
    tavola_client *client;
    tavola_table *table;
    tavola_call *call;
} t;

#define TEST(name) static void name(__attribute__((unused)) void **state)

#define CHECK_FAIL(...)                                                                            \
    do {                                                                                           \
        print_error("%s:%d: row \"%s\": ", __FILE__, __LINE__, t_row);                             \
        print_error(__VA_ARGS__);                                                                  \
        print_error("\n");                                                                         \
        fail();                                                                                    \
    } while (0)

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition))                                                                          \
            CHECK_FAIL("not true: %s", #condition);                                                \
    } while (0)

#define CHECK_INT(got, want)                                                                       \
    do {                                                                                           \
        long long got_ = (long long)(got), want_ = (long long)(want);                              \
        if (got_ != want_)                                                                         \
            CHECK_FAIL("%s: got %lld, want %lld", #got, got_, want_);                              \
    } while (0)

#define CHECK_TEXT(got, want)                                                                      \
    do {                                                                                           \
        const char *got_ = (got), *want_ = (want);                                                 \
        if (got_ == NULL || strcmp(got_, want_) != 0)                                              \
            CHECK_FAIL("%s: got \"%s\", want \"%s\"", #got, got_ ? got_ : "(NULL)", want_);        \
    } while (0)

/* What the test's own call says goes into the failure. */
#define CHECK_ERR(got, want)                                                                       \
    do {                                                                                           \
        tavola_err got_ = (got), want_ = (want);                                                   \
        if (got_ != want_)                                                                         \
            CHECK_FAIL("%s: got %s, want %s (%d %s %s)", #got, tavola_err_name(got_),              \
                       tavola_err_name(want_), tavola_call_status(t.call),                         \
                       tavola_call_code(t.call), tavola_call_message(t.call));                     \
    } while (0)

#define CHECK_OK(got) CHECK_ERR(got, TAVOLA_OK)

/* Refused before anything was sent, with one line that says why. */
#define CHECK_REFUSED(got, want)                                                                   \
    do {                                                                                           \
        CHECK_ERR(got, want);                                                                      \
        CHECK_INT(tavola_call_attempts(t.call), 0);                                                \
        CHECK(tavola_call_message(t.call)[0] != '\0');                                             \
        CHECK(strchr(tavola_call_message(t.call), '\n') == NULL);                                  \
    } while (0)

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

static inline const char *connection_string(void)
{
    const char *text = getenv("TAVOLA_TEST_CONNECTION");

    if (text == NULL) {
        fprintf(stderr, "TAVOLA_TEST_CONNECTION names no server; see tests/client/run.py\n");
        exit(2);
    }
    return text;
}

static inline bool is_azurite(void)
{
    const char *server = getenv("TAVOLA_TEST_SERVER");

    return server && strcmp(server, "azurite") == 0;
}

/* Where Azurite is known to differ from the service, a test says so and ends here. */
#define AZURITE_DIFFERS(why)                                                                       \
    do {                                                                                           \
        if (is_azurite()) {                                                                        \
            print_message("Azurite: %s\n", why);                                                   \
            skip();                                                                                \
        }                                                                                          \
    } while (0)

static inline tavola_client *open_client(void)
{
    tavola_client *client = NULL;

    CHECK_OK(tavola_client_open(connection_string(), NULL, &client));
    return client;
}

/* A name that no other test has. */
static inline void new_name(char *to, size_t size)
{
    static unsigned count;
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(to, size, "t%x%lx%lx%x", (unsigned)getpid(), (long)now.tv_sec, now.tv_nsec, count++);
}

static inline int open_live(void **state)
{
    char name[63];

    (void)state;
    t_row = "";
    t.call = tavola_call_new();
    t.client = open_client();
    new_name(name, sizeof name);
    CHECK_OK(tavola_table_open(t.client, name, &t.table));
    CHECK_OK(tavola_table_create(t.table, t.call));
    return 0;
}

static inline int close_live(void **state)
{
    (void)state;
    CHECK_OK(tavola_table_delete_if_present(t.table, t.call));
    tavola_table_close(t.table);
    tavola_client_close(t.client);
    tavola_call_free(t.call);
    memset(&t, 0, sizeof t);
    return 0;
}

#define LIVE_TEST(name) cmocka_unit_test_setup_teardown(name, open_live, close_live)

/* An entity with one property "N". */
static inline tavola_entity *new_entity(const char *partition_key, const char *row_key, int32_t n)
{
    tavola_entity *entity = tavola_entity_new(partition_key, row_key);

    tavola_entity_set_int32(entity, "N", n);
    return entity;
}

static inline void insert_new(const char *partition_key, const char *row_key, int32_t n)
{
    tavola_entity *entity = new_entity(partition_key, row_key, n);

    CHECK_OK(tavola_insert(t.table, entity, t.call));
    tavola_entity_free(entity);
}

/* The N of an entity that is there. */
static inline int32_t stored_n(const char *partition_key, const char *row_key)
{
    tavola_entity *entity = NULL;
    int32_t n = -1;

    CHECK_OK(tavola_get(t.table, partition_key, row_key, t.call, &entity));
    CHECK(tavola_entity_get_int32(entity, "N", &n));
    tavola_entity_free(entity);
    return n;
}

static inline bool is_stored(const char *partition_key, const char *row_key)
{
    tavola_entity *entity = NULL;
    tavola_err err = tavola_get(t.table, partition_key, row_key, t.call, &entity);

    if (err != TAVOLA_ERR_NOT_FOUND)
        CHECK_OK(err);
    tavola_entity_free(entity);
    return err == TAVOLA_OK;
}

static inline uint64_t count_all(void)
{
    uint64_t count = UINT64_MAX;

    CHECK_OK(tavola_count(t.table, NULL, t.call, &count));
    return count;
}

/* $TAVOLA_TEST names the one case to run; `./check client CASE` sets it. */
__attribute__((constructor)) static void choose_case(void)
{
    if (getenv("TAVOLA_TEST"))
        cmocka_set_test_filter(getenv("TAVOLA_TEST"));
}

/* A key of 32 bytes. */
static inline tavola_crypto *new_aes(const char *kid, const void *kek)
{
    tavola_crypto *crypto = NULL;

    CHECK_OK(tavola_crypto_new_aes(kid, kek, 32, &crypto));
    return crypto;
}

#endif
