/* The rows of all tables of operations: what holds for each of them, and among them. */
#include "services/blob/service.h"
#include "services/queue/service.h"
#include "services/table/service.h"

#include "check.h"

static const tv_service_spec *const specs[] = {&tv_table_spec, &tv_queue_spec, &tv_blob_spec};

/* Calls `check` for every row, with its place in the table; those that no client requests, too. */
static void each_row(void (*check)(const tv_service_spec *spec, int i))
{
    for (size_t s = 0; s < sizeof specs / sizeof *specs; s++) {
        for (int i = 0; i < specs[s]->op_count; i++) {
            t_row = specs[s]->ops[i].name;
            check(specs[s], i);
        }
    }
}

static void check_unique(const tv_service_spec *spec, int i)
{
    const tv_op *op = &spec->ops[i];

    for (int j = 0; j < i; j++) {
        const tv_op *other = &spec->ops[j];

        CHECK(strcmp(op->name, other->name) != 0);
        if (op->where == TV_OP_NOWHERE || op->where != other->where ||
            strcmp(op->comp, other->comp) != 0)
            continue;
        CHECK(op->method != other->method);
        CHECK(!(op->flags & TV_OP_HEAD) || other->method != TV_METHOD_HEAD);
        CHECK(!(other->flags & TV_OP_HEAD) || op->method != TV_METHOD_HEAD);
    }
}

TEST(a_request_is_asked_for_by_one_row)
{
    each_row(check_unique);
}

static void check_complete(const tv_service_spec *spec, int i)
{
    const tv_op *op = &spec->ops[i];

    if (i <= TV_OP_PREFLIGHT) {
        CHECK(op->where == TV_OP_NOWHERE && op->run == NULL && op->sas == 0);
        return;
    }
    CHECK(op->run);
    CHECK(op->where == TV_OP_NOWHERE ? op->comp == NULL : spec->paths[op->where][0] == '/');
    CHECK((op->flags & TV_OP_HEAD) == 0 || op->method == TV_METHOD_GET);
}

TEST(every_row_but_the_first_two_can_be_run)
{
    each_row(check_complete);
}

static void check_needs(const tv_service_spec *spec, int i)
{
    const unsigned public = TV_OP_PUBLIC_OBJECT | TV_OP_PUBLIC_LISTING;
    const tv_op *op = &spec->ops[i];

    CHECK((op->sas == 0) == (op->type == 0));
    CHECK(op->sas || (op->all_of == 0 && op->any_of == 0));
    CHECK(op->sas == 0 || (op->sas & TV_SAS_ACCOUNT));
    CHECK((op->all_of & op->any_of) == 0);
    CHECK(!(op->flags & TV_OP_BY_PARTS) || op->sas == 0);
    CHECK(!(op->flags & public) || ((op->flags & TV_OP_READS) && spec->is_public));
}

TEST(what_a_row_needs_of_a_sas_fits_together)
{
    each_row(check_needs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_is_asked_for_by_one_row),
        cmocka_unit_test(every_row_but_the_first_two_can_be_run),
        cmocka_unit_test(what_a_row_needs_of_a_sas_fits_together),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
