/* The tables of operations as a text. */
#include "services/service/op_list.h"

#include "check.h"

static const char *const paths[] = {"/", "/queue"};

static const tv_op ops[] = {
    {.name = "Unknown", .where = TV_OP_NOWHERE},
    {.name = "Preflight", .where = TV_OP_NOWHERE},
    {.name = "ForKeys",
     TV_OP_ASKED_BY(0, GET, "acl"),
     .flags = TV_OP_READS | TV_OP_HEAD | TV_OP_PUBLIC_LISTING},
    {.name = "ForAll",
     TV_OP_ASKED_BY(1, PUT, ""),
     TV_OP_BY_SAS(TV_SAS_ACCOUNT | TV_SAS_CONTAINER | TV_SAS_BLOB, OBJECT,
                  TV_MAY_READ | TV_MAY_KEEP, TV_MAY_ADD | TV_MAY_WRITE),
     .body_bytes_max = UINT64_C(5000000000)},
    {.name = "TurnedTo",
     .where = TV_OP_NOWHERE,
     TV_OP_BY_SAS(TV_SAS_ACCOUNT, SERVICE, 0, 0),
     .flags = TV_OP_HEAD | TV_OP_SECONDARY_ONLY},
};

static const tv_service_spec spec = {
    .kind = TV_SERVICE_QUEUE,
    .ops = ops,
    .op_count = sizeof ops / sizeof *ops,
    .paths = paths,
};

TEST(a_row_is_a_line_and_what_no_client_asks_for_is_left_out)
{
    tv_buf out = TV_BUF_EMPTY;

    tv_op_list_add(&out, &spec);
    CHECK_TEXT(tv_buf_slice(&out),
               "queue\tForKeys\t/\tGET,HEAD\tacl\t-\t-\t-\t-\treads,public-listing\t131072\n"
               "queue\tForAll\t/queue\tPUT\t-\taccount,container,blob\to\tri\taw\t-\t5000000000\n"
               "queue\tTurnedTo\t-\t-\t-\taccount\ts\t-\t-\tsecondary-only\t131072\n");
    tv_buf_done(&out);
}

TEST(the_heading_has_as_many_columns_as_a_row)
{
    tv_buf heading = TV_BUF_EMPTY, row = TV_BUF_EMPTY;
    size_t columns[2] = {0, 0};

    tv_op_list_add_heading(&heading);
    tv_op_list_add(&row, &(tv_service_spec){.ops = ops, .op_count = 3, .paths = paths});
    for (size_t i = 0; i < heading.len; i++)
        columns[0] += heading.data[i] == '\t';
    for (size_t i = 0; i < row.len; i++)
        columns[1] += row.data[i] == '\t';
    CHECK_INT(columns[0], columns[1]);
    tv_buf_done(&heading);
    tv_buf_done(&row);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_is_a_line_and_what_no_client_asks_for_is_left_out),
        cmocka_unit_test(the_heading_has_as_many_columns_as_a_row),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
