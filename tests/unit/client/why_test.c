/* What is wrong is said without a tavola_call: each of these names the thing. */
#include "client/why.h"

#include "check.h"
#include "client/memory_faults.h"

typedef struct person {
    const char *name;
    int32_t age;
} person;

static tavola_filter *filter;
static tavola_entity *entity;
static tavola_client *client;
static tavola_table *table;
static char *text;

static tavola_err bind(const char *odata, const tavola_value *values, size_t count)
{
    tavola_filter_free(filter);
    filter = tavola_filter_bind(odata, values, count);
    return tavola_filter_error(filter);
}

static tavola_err bind_too_few(void)
{
    return bind("A eq ? and B eq ?", (tavola_value[]){tavola_int32(1)}, 1);
}

static tavola_err bind_null(void)
{
    return bind("A eq ? and B eq ?", (tavola_value[]){tavola_int32(1), tavola_string(NULL)}, 2);
}

static tavola_err bind_in_word(void)
{
    return bind("A eq x?", (tavola_value[]){tavola_int32(1)}, 1);
}

static tavola_err bind_open_quote(void)
{
    return bind("A eq 'x", NULL, 0);
}

static tavola_err join_failed(void)
{
    tavola_filter_free(filter);
    filter = tavola_and(tavola_where("A", TAVOLA_EQ, tavola_int32(1)),
                        tavola_where("no name", TAVOLA_EQ, tavola_int32(1)));
    return tavola_filter_error(filter);
}

static tavola_err field_without_type(void)
{
    static const tavola_field fields[] = {{"Name", TAVOLA_STRING, offsetof(person, name), 0},
                                          {"Age", TAVOLA_NONE, offsetof(person, age), 0},
                                          TAVOLA_FIELD_END};
    const person jon = {"Jon", 36};

    return tavola_entity_from(fields, &jon, &entity);
}

static tavola_err field_without_value(void)
{
    static const tavola_field fields[] = {TAVOLA_FIELD_AS(person, name, STRING, "PartitionKey", 0),
                                          TAVOLA_FIELD_AS(person, name, STRING, "RowKey", 0),
                                          TAVOLA_FIELD_AS(person, name, STRING, "bad name", 0),
                                          TAVOLA_FIELD_END};
    const person jon = {"Jon", 36};

    return tavola_entity_from(fields, &jon, &entity);
}

static tavola_err read_absent(void)
{
    static const tavola_field fields[] = {{"Age", TAVOLA_INT32, offsetof(person, age), 0},
                                          TAVOLA_FIELD_END};
    tavola_entity *empty = tavola_entity_new("p", "r");
    person jon;
    tavola_err err = tavola_entity_read(empty, fields, &jon);

    tavola_entity_free(empty);
    return err;
}

static tavola_err open_table(void)
{
    return tavola_table_open(client, "no table", &table);
}

static tavola_err open_queue(void)
{
    tavola_queue *queue = NULL;

    return tavola_queue_open(client, "Upper", &queue);
}

static tavola_err open_client(void)
{
    return tavola_client_open("AccountName=x;AccountKey=not base64", NULL, &client, NULL);
}

static tavola_err start_with_bad_key(void)
{
    tavola_op *op = NULL;

    return tavola_start_get(table, "a/b", "r", NULL, NULL, NULL, &op);
}

static tavola_err sign_without_expiry(void)
{
    tavola_sas_options options = {.struct_size = sizeof options, .permissions = "r"};

    return tavola_table_sas(table, &options, &text);
}

static tavola_err read_no_json(void)
{
    return tavola_entity_from_json("[1]", 3, &entity);
}

static const struct {
    const char *what;
    tavola_err (*run)(void);
    const char *says;
} cases[] = {
    {"a value is missing", bind_too_few, "2 question marks, and there are 1 values"},
    {"a value is NULL", bind_null, "value 2 is a String that is NULL"},
    {"a mark in a word", bind_in_word, "question mark 1"},
    {"a quote without an end", bind_open_quote, "quote"},
    {"a part of a filter", join_failed, "\"no name\""},
    {"a field without a type", field_without_type, "the field Age"},
    {"a field with a bad name", field_without_value, "bad name"},
    {"a property that is absent", read_absent, "the property Age"},
    {"a table's name", open_table, "\"no table\" is no name of a table"},
    {"a queue's name", open_queue, "\"Upper\" is no name of a queue"},
    {"a connection string", open_client, "AccountKey"},
    {"a key", start_with_bad_key, "PartitionKey"},
    {"a signature for ever", sign_without_expiry, "expiry"},
    {"a list in place of an entity", read_no_json, "JSON"},
};

TEST(what_is_wrong_is_named)
{
    assert_int_equal(tavola_client_open("UseDevelopmentStorage=true", NULL, &client, NULL), 0);
    assert_int_equal(tavola_table_open(client, "People", &table), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        t_row = cases[i].what;
        (void)tvc_refuse(TAVOLA_ERR_INVALID, "the case before");
        CHECK_INT(cases[i].run(), TAVOLA_ERR_INVALID);
        if (strstr(tavola_error_text(TAVOLA_ERR_INVALID), cases[i].says) == NULL)
            CHECK_FAIL("it says \"%s\"", tavola_error_text(TAVOLA_ERR_INVALID));
    }
    t_row = "";
    tavola_filter_free(filter);
    tavola_table_close(table);
    tavola_client_close(client);
}

/* A text belongs to its error: it is not told of another. */
TEST(an_error_that_said_nothing_has_a_general_text)
{
    (void)tvc_refuse(TAVOLA_ERR_INVALID, "this one");
    CHECK_TEXT(tv_slice_of(tavola_error_text(TAVOLA_ERR_INVALID)), "this one");
    CHECK_TEXT(tv_slice_of(tavola_error_text(TAVOLA_ERR_NO_MEMORY)), "there is no memory");
    CHECK_TEXT(tv_slice_of(tavola_error_text(TAVOLA_OK)), "");
    for (int err = TAVOLA_ERR_NOT_FOUND; err <= TAVOLA_ERR_NO_MEMORY; err++)
        CHECK(tavola_error_text((tavola_err)err)[0] != '\0');
}

/* A filter that has no memory for its reason keeps its error. */
TEST(a_reason_runs_out_of_memory)
{
    MEMORY_FAULTS(fault)
    {
        tavola_filter *refused = tavola_not(
            tavola_and(tavola_filter_bind("A eq ?", NULL, 0), tavola_filter_raw("A eq 1")));

        CHECK(tavola_filter_error(refused) != TAVOLA_OK);
        CHECK(tavola_filter_error_text(refused)[0] != '\0');
        tavola_filter_free(refused);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_wrong_is_named),
        cmocka_unit_test(an_error_that_said_nothing_has_a_general_text),
        cmocka_unit_test(a_reason_runs_out_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
