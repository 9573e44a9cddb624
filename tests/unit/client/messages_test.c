/* Answers with messages, as a service sends them and as it should not. */
#include "check.h"
#include "client/memory_faults.h"
#include "client/queue/queue.h"

static tavola_err read_document(const char *document, size_t count_max, tavola_messages **ret)
{
    char *copy = tvc_alloc(strlen(document) + 1);

    if (copy == NULL)
        return TAVOLA_ERR_NO_MEMORY;
    memcpy(copy, document, strlen(document) + 1);
    return tvc_messages_read(copy, strlen(document), count_max, ret);
}

#define MESSAGE(text)                                                                              \
    "<QueueMessage><MessageId>id</MessageId>"                                                      \
    "<InsertionTime>Fri, 02 Jan 2026 03:04:05 GMT</InsertionTime>"                                 \
    "<ExpirationTime>Fri, 31 Dec 9999 23:59:59 GMT</ExpirationTime>"                               \
    "<PopReceipt>a+b=</PopReceipt>"                                                                \
    "<TimeNextVisible>Fri, 02 Jan 2026 03:04:35 GMT</TimeNextVisible>"                             \
    "<DequeueCount>3</DequeueCount><New>x</New>"                                                   \
    "<MessageText>" text "</MessageText></QueueMessage>"

TEST(reads_every_field)
{
    MEMORY_FAULTS(fault)
    {
        tavola_messages *messages = NULL;
        tavola_err err = read_document(
            "\xef\xbb\xbf<?xml version=\"1.0\"?><QueueMessagesList>" MESSAGE("1 &lt; 2")
                MESSAGE("") "</QueueMessagesList>",
            2, &messages);

        CHECK(err == TAVOLA_OK || (err == TAVOLA_ERR_NO_MEMORY && memory_fault_was_hit()));
        if (err)
            continue;
        CHECK(tavola_messages_count(messages) == 2);

        const tavola_message *first = tavola_messages_at(messages, 0);

        assert_string_equal(tavola_message_id(first), "id");
        assert_string_equal(tavola_message_pop_receipt(first), "a+b=");
        assert_string_equal(tavola_message_text(first), "1 < 2");
        CHECK(tavola_message_dequeue_count(first) == 3);
        CHECK(tavola_message_next_visible(first) - tavola_message_inserted(first) == 300000000);
        CHECK(tavola_message_expires(first) == INT64_C(3155378975990000000));
        assert_string_equal(tavola_message_text(tavola_messages_at(messages, 1)), "");

        tavola_message *alone = tvc_messages_take_first(messages);

        CHECK(alone || memory_fault_was_hit());
        if (alone)
            assert_string_equal(tavola_message_text(alone), "1 < 2");
        tavola_message_free(alone);
    }
}

TEST(refuses_what_is_not_a_list_of_messages)
{
    static const struct {
        const char *label, *document;
        tavola_err err;
    } cases[] = {
        {"empty", "<QueueMessagesList />", TAVOLA_OK},
        {"empty, in two tags", "<QueueMessagesList></QueueMessagesList>", TAVOLA_OK},
        {"only an id",
         "<QueueMessagesList><QueueMessage><MessageId>a</MessageId></QueueMessage>"
         "</QueueMessagesList>",
         TAVOLA_OK},
        {"nothing", "", TAVOLA_ERR_PROTOCOL},
        {"another document", "<Error><Code>a</Code></Error>", TAVOLA_ERR_PROTOCOL},
        {"no id", "<QueueMessagesList><QueueMessage></QueueMessage></QueueMessagesList>",
         TAVOLA_ERR_PROTOCOL},
        {"an empty id",
         "<QueueMessagesList><QueueMessage><MessageId/></QueueMessage></QueueMessagesList>",
         TAVOLA_ERR_PROTOCOL},
        {"more than were asked for",
         "<QueueMessagesList>" MESSAGE("a") MESSAGE("b") MESSAGE("c") "</QueueMessagesList>",
         TAVOLA_ERR_PROTOCOL},
        {"a date that is none",
         "<QueueMessagesList><QueueMessage><MessageId>a</MessageId>"
         "<InsertionTime>2026-01-02</InsertionTime></QueueMessage></QueueMessagesList>",
         TAVOLA_ERR_PROTOCOL},
        {"a count that is none",
         "<QueueMessagesList><QueueMessage><MessageId>a</MessageId>"
         "<DequeueCount>many</DequeueCount></QueueMessage></QueueMessagesList>",
         TAVOLA_ERR_PROTOCOL},
        {"cut off", "<QueueMessagesList>" MESSAGE("a"), TAVOLA_ERR_PROTOCOL},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tavola_messages *messages = NULL;

        t_row = cases[i].label;
        CHECK(read_document(cases[i].document, 2, &messages) == cases[i].err);
        CHECK((messages == NULL) == (cases[i].err != TAVOLA_OK));
        tavola_messages_free(messages);
    }
}

TEST(messages_are_made_of_what_was_kept)
{
    MEMORY_FAULTS(fault)
    {
        tavola_message *message = tavola_message_new("id", "receipt");
        void *data = NULL;
        size_t size;

        CHECK(message || memory_fault_was_hit());
        if (message) {
            assert_string_equal(tavola_message_id(message), "id");
            assert_string_equal(tavola_message_pop_receipt(message), "receipt");
            CHECK(tavola_message_text(message) == NULL);
            CHECK(tavola_message_bytes(message, &data, &size) == TAVOLA_ERR_INVALID);
        }
        tavola_message_free(message);
    }
}

TEST(bytes_are_read_from_base64)
{
    static const struct {
        const char *label, *text, *bytes;
        size_t size;
    } cases[] = {
        {"empty", "", "", 0},
        {"text", "aGk=", "hi", 2},
        {"any byte", "AP8=", "\0\xff", 2},
        {"no padding", "aGk", NULL, 0},
        {"text that is none", "hello!!!", NULL, 0},
        {"a line end", "aGk=\n", NULL, 0},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        t_row = cases[i].label;
        MEMORY_FAULTS(fault)
        {
            tavola_message message = {.id = "a", .text = cases[i].text};
            void *data = NULL;
            size_t size = 0;
            tavola_err err = tavola_message_bytes(&message, &data, &size);

            if (err != TAVOLA_ERR_NO_MEMORY || !memory_fault_was_hit())
                CHECK(err == (cases[i].bytes ? TAVOLA_OK : TAVOLA_ERR_INVALID));
            if (!err)
                CHECK(size == cases[i].size && memcmp(data, cases[i].bytes, size) == 0);
            tavola_free(data);
        }
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_every_field),
        cmocka_unit_test(refuses_what_is_not_a_list_of_messages),
        cmocka_unit_test(messages_are_made_of_what_was_kept),
        cmocka_unit_test(bytes_are_read_from_base64),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
