/*
 * What cmocka lacks for tables of cases: the name of the row in the failure,
 * and got and want as text.  A test sets `t_row` before it checks a row.
 */
#ifndef TV_TESTS_UNIT_CHECK_H
#define TV_TESTS_UNIT_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/assert.h"
#include "base/err.h"
#include "base/slice.h"

static const char *t_row = "";

/* $TAVOLA_TEST names the one case to run; `./check unit CASE` sets it. */
__attribute__((constructor)) static void choose_case(void)
{
    if (getenv("TAVOLA_TEST"))
        cmocka_set_test_filter(getenv("TAVOLA_TEST"));
}

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

#define CHECK_ERR(got, want)                                                                       \
    do {                                                                                           \
        tv_err got_ = (got), want_ = (want);                                                       \
        if (got_ != want_)                                                                         \
            CHECK_FAIL("%s: got %s, want %s", #got, tv_err_name(got_), tv_err_name(want_));        \
    } while (0)

#define CHECK_OK(got) CHECK_ERR(got, TV_OK)

#define CHECK_SLICE(got, want)                                                                     \
    do {                                                                                           \
        tv_slice got_ = (got), want_ = (want);                                                     \
        if (!tv_slice_eq(got_, want_))                                                             \
            CHECK_FAIL("%s: got \"%.*s\" (%zu bytes), want \"%.*s\" (%zu bytes)", #got,            \
                       TV_FMT(got_), got_.len, TV_FMT(want_), want_.len);                          \
    } while (0)

#define CHECK_TEXT(got, want) CHECK_SLICE(got, tv_slice_of(want))

#define CHECK_INT(got, want)                                                                       \
    do {                                                                                           \
        long long got_ = (long long)(got), want_ = (long long)(want);                              \
        if (got_ != want_)                                                                         \
            CHECK_FAIL("%s: got %lld, want %lld", #got, got_, want_);                              \
    } while (0)

#endif
