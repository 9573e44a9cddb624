/* The error table. */
#include "base/err.h"

#include "check.h"

TEST(success_is_200)
{
    CHECK_INT(tv_err_status(TV_OK), 200);
    CHECK_TEXT(tv_slice_of(tv_err_name(TV_OK)), "OK");
}

TEST(every_error_can_be_answered)
{
    for (tv_err err = TV_OK + 1; err < TV_ERR_COUNT; err++) {
        tv_slice code = tv_err_code(err), text = tv_err_text(err);

        t_row = tv_err_name(err);
        CHECK(t_row != NULL && t_row[0] != '\0');
        CHECK((tv_err_status(err) >= 400 && tv_err_status(err) <= 599) ||
              err == TV_ERR_NOT_MODIFIED);
        CHECK(code.len > 0);
        CHECK(text.len > 0);
        /* Codes go into a header and a JSON string as they are: letters, and the digits of MD5 and CRC64. */
        for (size_t i = 0; i < code.len; i++)
            CHECK((tv_ascii_lower(code.data[i]) >= 'a' && tv_ascii_lower(code.data[i]) <= 'z') ||
                  (i > 0 && code.data[i] >= '0' && code.data[i] <= '9'));
        for (size_t i = 0; i < text.len; i++)
            CHECK(text.data[i] >= ' ' && text.data[i] < 0x7F);
    }
}

TEST(names_are_unique)
{
    for (tv_err a = TV_OK; a < TV_ERR_COUNT; a++) {
        for (tv_err b = TV_OK; b < a; b++) {
            t_row = tv_err_name(a);
            CHECK(strcmp(tv_err_name(a), tv_err_name(b)) != 0);
        }
    }
}

/* One answer to one mistake: errors with the same code and text have the same status. */
TEST(the_same_answer_has_the_same_status)
{
    for (tv_err a = TV_OK + 1; a < TV_ERR_COUNT; a++) {
        for (tv_err b = TV_OK + 1; b < a; b++) {
            t_row = tv_err_name(a);
            /* But a condition that fails is 304 for a read and 412 for a write. */
            if (b != TV_ERR_NOT_MODIFIED && tv_slice_eq(tv_err_code(a), tv_err_code(b)) &&
                tv_slice_eq(tv_err_text(a), tv_err_text(b)))
                CHECK_INT(tv_err_status(a), tv_err_status(b));
        }
    }
}

/* Clients match on these. */
TEST(well_known_errors_look_as_clients_expect)
{
    CHECK_INT(tv_err_status(TV_ERR_TABLE_NOT_FOUND), 404);
    CHECK_TEXT(tv_err_code(TV_ERR_TABLE_NOT_FOUND), "TableNotFound");
    CHECK_INT(tv_err_status(TV_ERR_TABLE_EXISTS), 409);
    CHECK_TEXT(tv_err_code(TV_ERR_TABLE_EXISTS), "TableAlreadyExists");
    CHECK_INT(tv_err_status(TV_ERR_ENTITY_EXISTS), 409);
    CHECK_TEXT(tv_err_code(TV_ERR_ENTITY_EXISTS), "EntityAlreadyExists");
    CHECK_INT(tv_err_status(TV_ERR_ETAG_MISMATCH), 412);
    CHECK_TEXT(tv_err_code(TV_ERR_ETAG_MISMATCH), "UpdateConditionNotSatisfied");
    CHECK_INT(tv_err_status(TV_ERR_AUTHENTICATION_FAILED), 403);
    CHECK_INT(tv_err_status(TV_ERR_POP_RECEIPT_MISMATCH), 400);
    CHECK_TEXT(tv_err_code(TV_ERR_POP_RECEIPT_MISMATCH), "PopReceiptMismatch");
    CHECK_INT(tv_err_status(TV_ERR_MESSAGE_NOT_FOUND), 404);
    CHECK_TEXT(tv_err_code(TV_ERR_MESSAGE_NOT_FOUND), "MessageNotFound");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(success_is_200),
        cmocka_unit_test(every_error_can_be_answered),
        cmocka_unit_test(names_are_unique),
        cmocka_unit_test(the_same_answer_has_the_same_status),
        cmocka_unit_test(well_known_errors_look_as_clients_expect),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
