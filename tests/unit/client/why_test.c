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
    return tavola_client_open("AccountName=x;AccountKey=not base64", NULL, &client);
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
    assert_int_equal(tavola_client_open("UseDevelopmentStorage=true", NULL, &client), 0);
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

/* ---- what returns NULL or -1 ---- */

static bool no_wrap_ops(void)
{
    tavola_crypto *crypto = NULL;
    const tavola_key_ops ops = {.struct_size = sizeof ops};

    return tavola_crypto_new(&ops, NULL, &crypto) == TAVOLA_OK;
}

static bool aes_of_31(void)
{
    tavola_crypto *crypto = NULL;

    return tavola_crypto_new_aes("key", "0123456789012345678901234567890", 31, &crypto) ==
           TAVOLA_OK;
}

static bool aes_without_kid(void)
{
    tavola_crypto *crypto = NULL;

    return tavola_crypto_new_aes("", "01234567890123456789012345678901", 32, &crypto) == TAVOLA_OK;
}

static bool rsa_without_key(void)
{
    tavola_crypto *crypto = NULL;

    return tavola_crypto_new_rsa("key", "text", 4, &crypto) == TAVOLA_OK;
}

static bool join_with_separator(void)
{
    return tavola_key_join('_', (const char *const[]){"a", "b_c", NULL}) != NULL;
}

static bool join_by_half_a_letter(void)
{
    return tavola_key_join('\xc3', (const char *const[]){"a", NULL}) != NULL;
}

static bool part_behind_the_last(void)
{
    return tavola_key_part('_', "a_b", 2) != NULL;
}

static bool part_of_nothing(void)
{
    return tavola_key_part('_', NULL, 0) != NULL;
}

static bool after_the_last(void)
{
    return tavola_key_after("\xef\xbf\xbf") != NULL;
}

static bool after_no_text(void)
{
    return tavola_key_after("\xff") != NULL;
}

static bool plan_of_no_filter(void)
{
    tavola_filter *raw = tavola_filter_raw("Age gt");
    bool has_plan = tavola_filter_plan(raw) != NULL;

    tavola_filter_free(raw);
    return has_plan;
}

static bool text_of_bad_filter(void)
{
    tavola_filter *bad = tavola_where("no name", TAVOLA_EQ, tavola_int32(1));
    bool has_text = tavola_filter_text(bad) != NULL || tavola_filter_plan(bad) != NULL;

    tavola_filter_free(bad);
    return has_text;
}

static bool json_of_bad_entity(void)
{
    tavola_entity *bad = tavola_entity_new("p", "r");

    tavola_entity_set_int32(bad, "no name", 1);

    bool has_json = tavola_entity_json(bad) != NULL;

    tavola_entity_free(bad);
    return has_json;
}

static bool json_of_nothing(void)
{
    return tavola_entity_json(NULL) != NULL;
}

static bool copy_of_nothing(void)
{
    return tavola_entity_copy(NULL) != NULL;
}

static bool message_without_id(void)
{
    return tavola_message_new(NULL, "receipt") != NULL;
}

static bool poll_nothing(void)
{
    return tavola_poll(NULL, 0) >= 0;
}

static bool fd_of_nothing(void)
{
    return tavola_client_fd(NULL) >= 0;
}

static bool poll_closed(void)
{
    tavola_client *closed = NULL;
    tavola_table *of_it = NULL;

    assert_int_equal(tavola_client_open("UseDevelopmentStorage=true", NULL, &closed), 0);
    assert_int_equal(tavola_table_open(closed, "People", &of_it), 0);
    tavola_client_close(closed); /* the table keeps it alive */

    bool is_polled = tavola_poll(closed, 0) >= 0;

    tavola_table_close(of_it);
    return is_polled;
}

static const struct {
    const char *what;
    bool (*gives)(void);
    tavola_err err;
    const char *says;
} empty_cases[] = {
    {"a key without functions", no_wrap_ops, TAVOLA_ERR_INVALID, "function kid"},
    {"a key of 31 bytes", aes_of_31, TAVOLA_ERR_INVALID, "16, 24 or 32 bytes"},
    {"a key without id", aes_without_kid, TAVOLA_ERR_INVALID, "key id"},
    {"a PEM that is none", rsa_without_key, TAVOLA_ERR_INVALID, "PEM"},
    {"a part with the separator", join_with_separator, TAVOLA_ERR_INVALID, "part 2"},
    {"a separator that is half a letter", join_by_half_a_letter, TAVOLA_ERR_INVALID, "ASCII"},
    {"a part behind the last", part_behind_the_last, TAVOLA_END, "no such part"},
    {"a part of no key", part_of_nothing, TAVOLA_ERR_INVALID, "no key"},
    {"after the last key", after_the_last, TAVOLA_END, "no key comes after"},
    {"after what is not text", after_no_text, TAVOLA_ERR_INVALID, "UTF-8"},
    {"the plan of half a filter", plan_of_no_filter, TAVOLA_ERR_INVALID, "would refuse"},
    {"the text of a filter with an error", text_of_bad_filter, TAVOLA_ERR_INVALID, "\"no name\""},
    {"JSON of an entity with an error", json_of_bad_entity, TAVOLA_ERR_INVALID, "'no name'"},
    {"JSON of nothing", json_of_nothing, TAVOLA_ERR_INVALID, "no entity"},
    {"a copy of nothing", copy_of_nothing, TAVOLA_ERR_INVALID, "no entity"},
    {"a message without id", message_without_id, TAVOLA_ERR_INVALID, "the id"},
    {"polling nothing", poll_nothing, TAVOLA_ERR_INVALID, "no client"},
    {"the descriptor of nothing", fd_of_nothing, TAVOLA_ERR_INVALID, "no client"},
    {"polling a client that is closed", poll_closed, TAVOLA_ERR_CANCELLED, "closed"},
};

TEST(what_returns_nothing_says_why)
{
    for (size_t i = 0; i < sizeof empty_cases / sizeof *empty_cases; i++) {
        t_row = empty_cases[i].what;
        (void)tvc_refuse(TAVOLA_ERR_EXISTS, "the case before");
        CHECK(!empty_cases[i].gives());
        CHECK_INT(tavola_last_error(), empty_cases[i].err);
        if (strstr(tavola_error_text(tavola_last_error()), empty_cases[i].says) == NULL)
            CHECK_FAIL("it says \"%s\"", tavola_error_text(tavola_last_error()));
    }
    t_row = "";
}

/* Each of these has NO_MEMORY as the only reason. */
TEST(what_has_no_memory_says_so)
{
    static const char *const parts[] = {"a", "b", NULL};

    MEMORY_FAULTS(fault)
    {
        (void)tvc_refuse(TAVOLA_ERR_EXISTS, "the case before");

        tavola_call *call = tavola_call_new();
        tavola_entity *made = call ? tavola_entity_new("p", "r") : NULL;
        tavola_entity *copy = made ? tavola_entity_copy(made) : NULL;
        char *json = copy ? tavola_entity_json(copy) : NULL;
        char *key = json ? tavola_key_join('_', parts) : NULL;
        char *after = key ? tavola_key_after(key) : NULL;
        char *part = after ? tavola_key_part('_', key, 1) : NULL;
        tavola_message *message = part ? tavola_message_new("id", "receipt") : NULL;

        if (message == NULL)
            CHECK_INT(tavola_last_error(), TAVOLA_ERR_NO_MEMORY);
        tavola_message_free(message);
        tavola_free(part);
        tavola_free(after);
        tavola_free(key);
        tavola_free(json);
        tavola_entity_free(copy);
        tavola_entity_free(made);
        tavola_call_free(call);
    }
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
        cmocka_unit_test(what_returns_nothing_says_why),
        cmocka_unit_test(what_has_no_memory_says_so),
        cmocka_unit_test(an_error_that_said_nothing_has_a_general_text),
        cmocka_unit_test(a_reason_runs_out_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
