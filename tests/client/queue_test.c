/* Queues and messages, against a running server. */
#include "service.h"

static tavola_queue *new_queue(tavola_client *client)
{
    char name[NAME_SIZE];
    tavola_queue *queue = NULL;

    make_name(name, "queue");
    CHECK_ERR(tavola_queue_open(client, name, &queue), TAVOLA_OK);
    CHECK_ERR(tavola_queue_create(queue, NULL), TAVOLA_OK);
    return queue;
}

static void drop_queue(tavola_queue *queue)
{
    CHECK_ERR(tavola_queue_delete(queue, NULL), TAVOLA_OK);
    tavola_queue_close(queue);
}

TEST(a_queue_is_made_once_and_deleted_once)
{
    tavola_client *client = open_client();
    tavola_queue *queue = NULL;
    tavola_call *call = tavola_call_new();
    char name[NAME_SIZE];
    bool exists = true;

    make_name(name, "life");
    CHECK_ERR(tavola_queue_open(client, name, &queue), TAVOLA_OK);
    CHECK_TEXT(tavola_queue_name(queue), name);
    CHECK_ERR(tavola_queue_exists(queue, call, &exists), TAVOLA_OK);
    CHECK(!exists);
    CHECK_ERR(tavola_queue_delete(queue, call), TAVOLA_ERR_NOT_FOUND);
    CHECK_TEXT(tavola_call_code(call), "QueueNotFound");
    CHECK_ERR(tavola_queue_delete_if_present(queue, call), TAVOLA_OK);
    CHECK_ERR(tavola_queue_create(queue, call), TAVOLA_OK);
    CHECK_ERR(tavola_queue_create(queue, call), TAVOLA_ERR_EXISTS);
    CHECK_TEXT(tavola_call_code(call), "QueueAlreadyExists");
    CHECK_ERR(tavola_queue_create_if_absent(queue, call), TAVOLA_OK);
    CHECK_ERR(tavola_queue_exists(queue, call, &exists), TAVOLA_OK);
    CHECK(exists);
    CHECK_ERR(tavola_queue_delete(queue, call), TAVOLA_OK);
    CHECK_ERR(tavola_queue_exists(queue, NULL, &exists), TAVOLA_OK);
    CHECK(!exists);

    tavola_call_free(call);
    tavola_queue_close(queue);
    tavola_client_close(client);
}

TEST(queues_are_listed_by_prefix)
{
    tavola_client *client = open_client();
    tavola_queue *queues[3] = {NULL};
    tavola_names *names = NULL;
    char stem[NAME_SIZE];

    make_name(stem, "list");
    for (int i = 0; i < 3; i++) {
        char name[NAME_SIZE + 12];

        snprintf(name, sizeof name, "%s-%d", stem, i);
        CHECK_ERR(tavola_queue_open(client, name, &queues[i]), TAVOLA_OK);
        CHECK_ERR(tavola_queue_create(queues[i], NULL), TAVOLA_OK);
    }
    CHECK_ERR(tavola_queue_list(client, stem, NULL, &names), TAVOLA_OK);
    CHECK(tavola_names_count(names) == 3);
    for (size_t i = 0; i < 3; i++)
        CHECK_TEXT(tavola_names_at(names, i), tavola_queue_name(queues[i]));
    tavola_names_free(names);
    names = NULL;
    CHECK_ERR(tavola_queue_list(client, NULL, NULL, &names), TAVOLA_OK);
    CHECK(tavola_names_count(names) >= 3);
    tavola_names_free(names);
    for (int i = 0; i < 3; i++)
        drop_queue(queues[i]);
    tavola_client_close(client);
}

TEST(a_message_comes_back_as_it_was_put)
{
    static const struct {
        const char *label, *text;
    } cases[] = {
        {"plain", "hello"},
        {"empty", ""},
        {"markup", "<a href=\"x\">&amp;</a> ]]>"},
        {"line ends", "a\r\nb\nc\rd\te"},
        {"blanks", "  a  "},
        {"beyond ASCII", "\xc3\xb6\xe2\x82\xac\xf0\x9f\x98\x80"},
    };
    tavola_client *client = open_client();
    tavola_queue *queue = new_queue(client);

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tavola_message *message = NULL;

        t_row = cases[i].label;
        CHECK_ERR(tavola_message_put(queue, cases[i].text, NULL), TAVOLA_OK);
        CHECK_ERR(tavola_message_get(queue, 0, NULL, &message), TAVOLA_OK);
        CHECK_TEXT(tavola_message_text(message), cases[i].text);
        CHECK(tavola_message_dequeue_count(message) == 1);
        CHECK(tavola_message_inserted(message) > 0);
        CHECK(tavola_message_expires(message) > tavola_message_inserted(message));
        CHECK(tavola_message_next_visible(message) > tavola_message_inserted(message));
        CHECK_ERR(tavola_message_delete(queue, message, NULL), TAVOLA_OK);
        CHECK_ERR(tavola_message_delete(queue, message, NULL), TAVOLA_ERR_NOT_FOUND);
        tavola_message_free(message);
    }
    drop_queue(queue);
    tavola_client_close(client);
}

TEST(bytes_go_as_base64)
{
    static const unsigned char bytes[] = {0, 1, 2, 0xff, 0, '<'};
    tavola_client *client = open_client();
    tavola_queue *queue = new_queue(client);
    tavola_message *message = NULL;
    void *data = NULL;
    size_t size = 0;

    CHECK_ERR(tavola_message_put_bytes(queue, bytes, sizeof bytes, NULL), TAVOLA_OK);
    CHECK_ERR(tavola_message_get(queue, 0, NULL, &message), TAVOLA_OK);
    CHECK_TEXT(tavola_message_text(message), "AAEC/wA8");
    CHECK_ERR(tavola_message_bytes(message, &data, &size), TAVOLA_OK);
    CHECK(size == sizeof bytes && memcmp(data, bytes, size) == 0);
    tavola_free(data);
    CHECK_ERR(tavola_message_delete(queue, message, NULL), TAVOLA_OK);
    tavola_message_free(message);

    CHECK_ERR(tavola_message_put(queue, "not base64", NULL), TAVOLA_OK);
    CHECK_ERR(tavola_message_get(queue, 0, NULL, &message), TAVOLA_OK);
    CHECK_ERR(tavola_message_bytes(message, &data, &size), TAVOLA_ERR_INVALID);
    tavola_message_free(message);
    drop_queue(queue);
    tavola_client_close(client);
}

TEST(lists_take_peek_count_and_clear)
{
    tavola_client *client = open_client();
    tavola_queue *queue = new_queue(client);
    tavola_messages *messages = NULL;
    uint64_t count = 0;

    CHECK_ERR(tavola_messages_get(queue, 0, 0, NULL, &messages), TAVOLA_OK);
    CHECK(tavola_messages_count(messages) == 0 && tavola_messages_at(messages, 0) == NULL);
    tavola_messages_free(messages);

    for (int i = 0; i < 5; i++) {
        char text[2] = {(char)('a' + i), '\0'};

        CHECK_ERR(tavola_message_put(queue, text, NULL), TAVOLA_OK);
    }
    CHECK_ERR(tavola_queue_count(queue, NULL, &count), TAVOLA_OK);
    CHECK(count == 5);

    CHECK_ERR(tavola_messages_peek(queue, 3, NULL, &messages), TAVOLA_OK);
    CHECK(tavola_messages_count(messages) == 3);
    CHECK_TEXT(tavola_message_text(tavola_messages_at(messages, 0)), "a");
    CHECK(tavola_message_dequeue_count(tavola_messages_at(messages, 0)) == 0);
    CHECK(tavola_message_pop_receipt(tavola_messages_at(messages, 0)) == NULL);
    CHECK_ERR(tavola_message_delete(queue, tavola_messages_at(messages, 0), NULL),
              TAVOLA_ERR_INVALID);
    tavola_messages_free(messages);

    CHECK_ERR(tavola_messages_get(queue, 32, 60, NULL, &messages), TAVOLA_OK);
    CHECK(tavola_messages_count(messages) == 5);
    CHECK_TEXT(tavola_message_text(tavola_messages_at(messages, 4)), "e");
    CHECK_ERR(tavola_message_update(queue, tavola_messages_at(messages, 4), NULL, 90, NULL),
              TAVOLA_OK);
    CHECK_ERR(tavola_message_delete(queue, tavola_messages_at(messages, 4), NULL), TAVOLA_OK);
    tavola_messages_free(messages);

    CHECK_ERR(tavola_queue_clear(queue, NULL), TAVOLA_OK);
    CHECK_ERR(tavola_queue_count(queue, NULL, &count), TAVOLA_OK);
    CHECK(count == 0);
    drop_queue(queue);
    tavola_client_close(client);
}

TEST(an_update_changes_text_and_receipt)
{
    tavola_client *client = open_client();
    tavola_queue *queue = new_queue(client);
    tavola_message *message = NULL, *old = NULL, *again = NULL;

    CHECK_ERR(tavola_message_put(queue, "one", NULL), TAVOLA_OK);
    CHECK_ERR(tavola_message_get(queue, 60, NULL, &message), TAVOLA_OK);
    CHECK_ERR(tavola_message_get(queue, 60, NULL, &again), TAVOLA_END);
    old = tavola_message_new(tavola_message_id(message), tavola_message_pop_receipt(message));
    CHECK_ERR(tavola_message_update(queue, message, "two & <three>", 60, NULL), TAVOLA_OK);
    CHECK(strcmp(tavola_message_pop_receipt(message), tavola_message_pop_receipt(old)) != 0);
    CHECK_ERR(tavola_message_delete(queue, old, NULL), TAVOLA_ERR_NOT_FOUND);
    CHECK_ERR(tavola_message_update(queue, old, NULL, 1, NULL), TAVOLA_ERR_NOT_FOUND);

    /* Twice by one object, and shown at once. */
    CHECK_ERR(tavola_message_update(queue, message, NULL, 30, NULL), TAVOLA_OK);
    CHECK_ERR(tavola_message_update(queue, message, NULL, TAVOLA_AT_ONCE, NULL), TAVOLA_OK);
    CHECK_ERR(tavola_message_get(queue, 60, NULL, &again), TAVOLA_OK);
    CHECK_TEXT(tavola_message_text(again), "two & <three>");
    CHECK_TEXT(tavola_message_id(again), tavola_message_id(message));
    CHECK(tavola_message_dequeue_count(again) == 2);
    CHECK_ERR(tavola_message_delete(queue, message, NULL), TAVOLA_ERR_NOT_FOUND);
    tavola_message_free(old);
    tavola_message_free(message);
    tavola_message_free(again);
    drop_queue(queue);
    tavola_client_close(client);
}

TEST(a_message_put_for_later_is_hidden)
{
    tavola_client *client = open_client();
    tavola_queue *queue = new_queue(client);
    tavola_message *put = NULL, *got = NULL;

    CHECK_ERR(tavola_message_put_later(queue, "later", 60, 600, NULL, &put), TAVOLA_OK);
    CHECK(tavola_message_text(put) == NULL && tavola_message_pop_receipt(put) != NULL);
    CHECK(tavola_message_expires(put) - tavola_message_inserted(put) == 600 * INT64_C(10000000));
    CHECK_ERR(tavola_message_get(queue, 60, NULL, &got), TAVOLA_END);
    CHECK_ERR(tavola_message_update(queue, put, NULL, TAVOLA_AT_ONCE, NULL), TAVOLA_OK);
    CHECK_ERR(tavola_message_get(queue, 60, NULL, &got), TAVOLA_OK);
    CHECK_TEXT(tavola_message_text(got), "later");
    CHECK_ERR(tavola_message_delete(queue, got, NULL), TAVOLA_OK);
    tavola_message_free(put);
    tavola_message_free(got);

    put = NULL;
    CHECK_ERR(tavola_message_put_later(queue, "for ever", 60, -1, NULL, &put), TAVOLA_OK);
    CHECK_ERR(tavola_message_delete(queue, put, NULL), TAVOLA_OK);
    tavola_message_free(put);
    CHECK_ERR(tavola_message_put_later(queue, "no object", 60, 0, NULL, NULL), TAVOLA_OK);
    drop_queue(queue);
    tavola_client_close(client);
}

TEST(sizes_are_bounded)
{
    enum { TEXT_MAX = 64 * 1024, BYTES_MAX = 48 * 1024 };
    tavola_client *client = open_client();
    tavola_queue *queue = new_queue(client);
    char *text = malloc(TEXT_MAX + 2);
    tavola_message *message = NULL;
    void *data = NULL;
    size_t size;

    memset(text, 'x', TEXT_MAX + 1);
    text[TEXT_MAX + 1] = '\0';
    CHECK_ERR(tavola_message_put(queue, text, NULL), TAVOLA_ERR_TOO_LARGE);
    CHECK_ERR(tavola_message_put_bytes(queue, text, BYTES_MAX + 1, NULL), TAVOLA_ERR_TOO_LARGE);
    CHECK_ERR(tavola_message_put_bytes(queue, text, BYTES_MAX, NULL), TAVOLA_OK);
    CHECK_ERR(tavola_message_get(queue, 60, NULL, &message), TAVOLA_OK);
    CHECK_ERR(tavola_message_bytes(message, &data, &size), TAVOLA_OK);
    CHECK(size == BYTES_MAX);
    tavola_free(data);
    tavola_message_free(message);
    text[TEXT_MAX] = '\0';
    CHECK_ERR(tavola_message_put(queue, text, NULL), TAVOLA_OK);
    free(text);
    drop_queue(queue);
    tavola_client_close(client);
}

TEST(what_cannot_be_is_refused_before_it_is_sent)
{
    tavola_client *client = open_client();
    tavola_queue *queue = new_queue(client), *none = NULL;
    tavola_call *call = tavola_call_new();
    tavola_message *message = tavola_message_new("id", "receipt"), *got = NULL;
    tavola_messages *messages = NULL;
    tavola_names *names = NULL;
    uint64_t count;
    bool exists;
    static const char *const bad_names[] = {
        "",
        "ab",
        "Upper",
        "-dash",
        "dash-",
        "two--dashes",
        "under_score",
        "a/b",
        "$root",
        "0123456789012345678901234567890123456789012345678901234567890123",
    };

    for (size_t i = 0; i < sizeof bad_names / sizeof *bad_names; i++) {
        t_row = bad_names[i];
        CHECK_ERR(tavola_queue_open(client, bad_names[i], &none), TAVOLA_ERR_INVALID);
    }
    CHECK_ERR(tavola_queue_open(NULL, "name", &none), TAVOLA_ERR_INVALID);
    CHECK_ERR(tavola_queue_open(client, NULL, &none), TAVOLA_ERR_INVALID);
    CHECK_ERR(tavola_queue_open(client, "name", NULL), TAVOLA_ERR_INVALID);
    CHECK(none == NULL);

    const tavola_err results[] = {
        tavola_queue_create(NULL, call),
        tavola_queue_create_if_absent(NULL, call),
        tavola_queue_delete(NULL, call),
        tavola_queue_delete_if_present(NULL, call),
        tavola_queue_exists(NULL, call, &exists),
        tavola_queue_exists(queue, call, NULL),
        tavola_queue_list(NULL, NULL, call, &names),
        tavola_queue_list(client, "\xff", call, &names),
        tavola_queue_list(client, NULL, call, NULL),
        tavola_queue_count(NULL, call, &count),
        tavola_queue_count(queue, call, NULL),
        tavola_queue_clear(NULL, call),
        tavola_message_put(NULL, "a", call),
        tavola_message_put(queue, NULL, call),
        tavola_message_put(queue, "\x01", call),
        tavola_message_put(queue, "\xff", call),
        tavola_message_put(queue, "\xef\xbf\xbe", call),
        tavola_message_put_bytes(NULL, "a", 1, call),
        tavola_message_put_bytes(queue, NULL, 1, call),
        tavola_message_put_later(queue, "a", 7 * 24 * 60 * 60 + 1, 0, call, NULL),
        tavola_message_put_later(queue, "a", 10, 10, call, NULL),
        tavola_message_put_later(queue, "a", 0, -2, call, NULL),
        tavola_message_get(NULL, 0, call, &got),
        tavola_message_get(queue, 0, call, NULL),
        tavola_message_get(queue, UINT32_MAX, call, &got),
        tavola_messages_get(queue, 33, 0, call, &messages),
        tavola_messages_get(queue, 1, 0, call, NULL),
        tavola_messages_peek(queue, 33, call, &messages),
        tavola_messages_peek(NULL, 1, call, &messages),
        tavola_messages_peek(queue, 1, call, NULL),
        tavola_message_update(NULL, message, "a", 0, call),
        tavola_message_update(queue, NULL, "a", 0, call),
        tavola_message_update(queue, message, "\x02", 0, call),
        tavola_message_update(queue, message, "a", UINT32_MAX - 1, call),
        tavola_message_delete(NULL, message, call),
        tavola_message_delete(queue, NULL, call),
    };
    for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
        if (results[i] != TAVOLA_ERR_INVALID)
            fail_msg("case %zu: %s", i, tavola_err_name(results[i]));
    }
    CHECK(tavola_call_attempts(call) == 0 && tavola_call_status(call) == 0);
    CHECK(tavola_message_new(NULL, "a") == NULL && tavola_message_new("a", NULL) == NULL);
    CHECK(tavola_message_text(NULL) == NULL && tavola_message_id(NULL) == NULL);
    CHECK(tavola_messages_count(NULL) == 0 && tavola_messages_at(NULL, 0) == NULL);
    tavola_message_free(NULL);
    tavola_messages_free(NULL);
    tavola_queue_close(NULL);

    tavola_message_free(message);
    tavola_call_free(call);
    drop_queue(queue);
    tavola_client_close(client);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_queue_is_made_once_and_deleted_once),
        cmocka_unit_test(queues_are_listed_by_prefix),
        cmocka_unit_test(a_message_comes_back_as_it_was_put),
        cmocka_unit_test(bytes_go_as_base64),
        cmocka_unit_test(lists_take_peek_count_and_clear),
        cmocka_unit_test(an_update_changes_text_and_receipt),
        cmocka_unit_test(a_message_put_for_later_is_hidden),
        cmocka_unit_test(sizes_are_bounded),
        cmocka_unit_test(what_cannot_be_is_refused_before_it_is_sent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
