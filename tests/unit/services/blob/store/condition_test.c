/* ETags as text, and conditional headers. */
#include "services/blob/store/condition.h"

#include "base/clock.h"
#include "check.h"
#include "services/blob/store/blob.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define ETAG INT64_C(0x8D6D4168CB24240)

TEST(etags_are_fifteen_digits)
{
    static const struct {
        const char *text;
        bool is_etag;
    } rows[] = {
        {"0x8D6D4168CB24240", true},
        {"\"0x8D6D4168CB24240\"", true},
        {"\"0x8d6d4168cb24240\"", true},
        {"W/\"0x8D6D4168CB24240\"", false},
        {"0x8D6D4168CB2424", false},
        {"0x8D6D4168CB242400", false},
        {"0x8D6D4168CB2424G", false},
        {"\"0x8D6D4168CB24240", false},
        {"", false},
        {"\"", false},
        {"*", false},
    };
    char text[TV_BLOB_ETAG_LEN];

    tv_blob_etag_format(text, ETAG);
    CHECK_SLICE(((tv_slice){text, sizeof text}), TV_LIT("0x8D6D4168CB24240"));
    tv_blob_etag_format(text, 1);
    CHECK_SLICE(((tv_slice){text, sizeof text}), TV_LIT("0x000000000000001"));

    for (size_t i = 0; i < COUNT(rows); i++) {
        int64_t ticks = 0;

        t_row = rows[i].text;
        CHECK_INT(tv_blob_etag_parse(tv_slice_of(rows[i].text), &ticks), rows[i].is_etag);
        if (rows[i].is_etag)
            CHECK_INT(ticks, ETAG);
    }
}

/* Headers as they are sent; dates in seconds from the last change. */
typedef struct condition_row {
    const char *match, *none_match;
    int modified_since, unmodified_since; /* NO for none */
    tv_err read, write, put, put_absent;
} condition_row;

enum { NO = 1000 };
#define SAME "\"0x8D6D4168CB24240\""
#define OTHER "\"0x8D6D4168CB24241\""
#define NOT_MET TV_ERR_CONDITION_NOT_MET
#define OLD TV_ERR_NOT_MODIFIED
#define EXISTS TV_ERR_BLOB_EXISTS

TEST(conditions_hold_or_fail_as_the_service_says)
{
    /* clang-format off */
    static const condition_row rows[] = {
        {NULL, NULL, NO, NO, TV_OK, TV_OK, TV_OK, TV_OK},
        {SAME, NULL, NO, NO, TV_OK, TV_OK, TV_OK, NOT_MET},
        {"*", NULL, NO, NO, TV_OK, TV_OK, TV_OK, NOT_MET},
        {OTHER, NULL, NO, NO, NOT_MET, NOT_MET, NOT_MET, NOT_MET},
        {"junk", NULL, NO, NO, NOT_MET, NOT_MET, NOT_MET, NOT_MET},
        {NULL, SAME, NO, NO, OLD, NOT_MET, NOT_MET, TV_OK},
        {NULL, "*", NO, NO, OLD, NOT_MET, EXISTS, TV_OK},
        {NULL, OTHER, NO, NO, TV_OK, TV_OK, TV_OK, TV_OK},
        {NULL, "junk", NO, NO, TV_OK, TV_OK, TV_OK, TV_OK},
        {NULL, NULL, -1, NO, TV_OK, TV_OK, TV_OK, TV_OK},
        {NULL, NULL, 0, NO, OLD, NOT_MET, NOT_MET, TV_OK},
        {NULL, NULL, 1, NO, OLD, NOT_MET, NOT_MET, TV_OK},
        {NULL, NULL, NO, -1, NOT_MET, NOT_MET, NOT_MET, TV_OK},
        {NULL, NULL, NO, 0, TV_OK, TV_OK, TV_OK, TV_OK},
        {NULL, NULL, NO, 1, TV_OK, TV_OK, TV_OK, TV_OK},
        /* For changes an ETag wins over the date that belongs to it; for reads both count. */
        {SAME, NULL, NO, -1, NOT_MET, TV_OK, TV_OK, NOT_MET},
        {OTHER, NULL, NO, 1, NOT_MET, NOT_MET, NOT_MET, NOT_MET},
        {NULL, OTHER, 1, NO, TV_OK, TV_OK, TV_OK, TV_OK},
        {NULL, SAME, -1, NO, TV_OK, NOT_MET, NOT_MET, TV_OK},
        {NULL, SAME, 1, NO, OLD, NOT_MET, NOT_MET, TV_OK},
        {OTHER, SAME, NO, NO, NOT_MET, NOT_MET, NOT_MET, NOT_MET},
        {SAME, NULL, 1, NO, OLD, NOT_MET, NOT_MET, NOT_MET},
        {SAME, NULL, 1, -1, NOT_MET, NOT_MET, NOT_MET, NOT_MET},
        {SAME, OTHER, 1, 1, TV_OK, TV_OK, TV_OK, NOT_MET},
        /* Several ETags: one that matches is enough. */
        {OTHER "," SAME, NULL, NO, NO, TV_OK, TV_OK, TV_OK, NOT_MET},
        {OTHER ", junk", NULL, NO, NO, NOT_MET, NOT_MET, NOT_MET, NOT_MET},
        {NULL, OTHER ", " SAME, NO, NO, OLD, NOT_MET, NOT_MET, TV_OK},
        {NULL, OTHER ", junk", NO, NO, TV_OK, TV_OK, TV_OK, TV_OK},
    };
    /* clang-format on */

    for (size_t i = 0; i < COUNT(rows); i++) {
        const condition_row *row = &rows[i];
        /* HTTP dates are whole seconds. */
        int64_t second = ETAG / TV_TICKS_PER_SECOND * TV_TICKS_PER_SECOND;
        tv_blob_conditions conditions = {0};
        char name[32];

        snprintf(name, sizeof name, "number %zu", i);
        t_row = name;
        if (row->match)
            conditions.if_match = tv_etag_condition_parse(tv_slice_of(row->match));
        if (row->none_match)
            conditions.if_none_match = tv_etag_condition_parse(tv_slice_of(row->none_match));
        if (row->modified_since != NO)
            conditions.modified_since = second + row->modified_since * TV_TICKS_PER_SECOND;
        if (row->unmodified_since != NO)
            conditions.unmodified_since = second + row->unmodified_since * TV_TICKS_PER_SECOND;

        CHECK_ERR(tv_conditions_check_read(&conditions, ETAG), row->read);
        CHECK_ERR(tv_conditions_check_write(&conditions, ETAG), row->write);
        CHECK_ERR(tv_conditions_check_put(&conditions, ETAG), row->put);
        CHECK_ERR(tv_conditions_check_put(&conditions, 0), row->put_absent);
        CHECK_ERR(tv_conditions_check_source(&conditions, ETAG),
                  row->write ? TV_ERR_SOURCE_CONDITION : TV_OK);
    }
}

TEST(who_holds_the_lease_knows_that_the_blob_exists)
{
    tv_blob_conditions conditions = {.if_none_match = tv_etag_condition_parse(TV_LIT("*")),
                                     .has_lease_id = true};

    CHECK_OK(tv_conditions_check_put(&conditions, ETAG));
    CHECK_OK(tv_conditions_check_put(&conditions, 0));
    CHECK_ERR(tv_conditions_check_write(&conditions, ETAG), NOT_MET);
    conditions.if_match = tv_etag_condition_parse(TV_LIT(OTHER));
    CHECK_ERR(tv_conditions_check_put(&conditions, ETAG), NOT_MET);
    conditions.if_match = tv_etag_condition_parse(TV_LIT(SAME));
    CHECK_OK(tv_conditions_check_put(&conditions, ETAG));
    conditions.if_none_match = tv_etag_condition_parse(TV_LIT(SAME));
    CHECK_ERR(tv_conditions_check_put(&conditions, ETAG), NOT_MET);
}

TEST(blocks_without_a_blob_have_a_date_and_no_etag)
{
    tv_blob_conditions conditions = {.modified_since = ETAG};

    CHECK_ERR(tv_conditions_check_commit(&conditions, ETAG), NOT_MET);
    CHECK_OK(tv_conditions_check_commit(&conditions, ETAG + TV_TICKS_PER_SECOND));
    conditions.if_none_match = tv_etag_condition_parse(TV_LIT("*"));
    CHECK_OK(tv_conditions_check_commit(&conditions, ETAG));
    conditions = (tv_blob_conditions){.unmodified_since = ETAG - TV_TICKS_PER_SECOND};
    CHECK_OK(tv_conditions_check_commit(&conditions, ETAG));
    conditions.if_match = tv_etag_condition_parse(TV_LIT("*"));
    CHECK_ERR(tv_conditions_check_commit(&conditions, ETAG), NOT_MET);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(etags_are_fifteen_digits),
        cmocka_unit_test(conditions_hold_or_fail_as_the_service_says),
        cmocka_unit_test(who_holds_the_lease_knows_that_the_blob_exists),
        cmocka_unit_test(blocks_without_a_blob_have_a_date_and_no_etag),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
