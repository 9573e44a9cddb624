/*
 * What simdjson says about a text, for the fuzz target that compares our reader
 * with it.  simdjson is C++; this is the C face of json_oracle.cpp, and stands
 * alone because our own headers are C.
 *
 * simdjson refuses numbers that are well formed but fit neither 64 bits nor a
 * finite double.  The service's reader keeps them as text, so the oracle looks
 * at such a document a second time with those numbers replaced by 0 and says
 * `numbers_replaced`.
 */
#ifndef TV_TESTS_FUZZ_JSON_ORACLE_H
#define TV_TESTS_FUZZ_JSON_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct oracle_text {
    const char *data;
    size_t len;
} oracle_text;

typedef enum oracle_kind {
    ORACLE_NULL,
    ORACLE_TRUE,
    ORACLE_FALSE,
    ORACLE_INT64,
    ORACLE_UINT64,
    ORACLE_DOUBLE,
    ORACLE_STRING,
    ORACLE_NESTED,
} oracle_kind;

typedef struct oracle_member {
    oracle_text name;
    oracle_kind kind;
    oracle_text text; /* of a string; of an object or array, its minified form */
    int64_t int64_value;
    uint64_t uint64_value;
    double double_value;
} oracle_member;

typedef struct oracle_result {
    bool accepted; /* strict JSON whose outermost value is an object */
    bool numbers_replaced;
    int depth; /* 1 for an object without nested values */
    const oracle_member *members;
    size_t member_count;
} oracle_result;

/** The result and all it points to live until the next call. */
oracle_result oracle_read(const char *text, size_t len);

/** The minified form of any JSON text, NULL when it is refused; lives until the next call. */
oracle_text oracle_minify(const char *text, size_t len);

#ifdef __cplusplus
}
#endif

#endif
