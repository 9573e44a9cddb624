/* Downloads from services that do not answer what was asked. */
#include "client/op/service.h"

#define PIECE(range, etag, body)                                                                   \
    {                                                                                              \
        .text = "HTTP/1.1 206 X\r\nContent-Range: bytes " range "\r\nETag: \"" etag                \
                "\"\r\nConnection: close\r\n\r\n" body,                                            \
        .then_close = true                                                                         \
    }

static const struct {
    const char *what;
    script_answer answers[3];
    int count;
    tavola_err err;
    const char *text;
} rows[] = {
    {"one piece", {PIECE("0-4/5", "a", "hello")}, 1, TAVOLA_OK, "hello"},
    {"two pieces", {PIECE("0-1/5", "a", "he"), PIECE("2-4/5", "a", "llo")}, 2, TAVOLA_OK, "hello"},
    {"the second piece is of another blob",
     {PIECE("0-1/5", "a", "he"), PIECE("2-4/5", "b", "LLO")},
     2,
     TAVOLA_ERR_ETAG,
     ""},
    {"the second piece is another",
     {PIECE("0-1/5", "a", "he"), PIECE("3-4/5", "a", "lo")},
     2,
     TAVOLA_ERR_PROTOCOL,
     ""},
    {"less than the range says", {PIECE("0-4/5", "a", "hell")}, 1, TAVOLA_ERR_PROTOCOL, ""},
    {"more than there is", {PIECE("0-4/4", "a", "hello")}, 1, TAVOLA_ERR_PROTOCOL, ""},
    {"more than was wanted", {PIECE("0-10/11", "a", "hello world")}, 1, TAVOLA_ERR_TOO_LARGE, ""},
};

TEST(pieces_are_of_one_blob)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        script_server server = {.answer_count = rows[i].count};
        tavola_client_options options = {.struct_size = sizeof options, .proxy = ""};
        tavola_client *client = NULL;
        tavola_container *container = NULL;
        char connection[300];
        void *data = NULL;
        size_t size = 0;

        t_row = rows[i].what;
        memcpy(server.answers, rows[i].answers, sizeof rows[i].answers);
        script_server_start(&server);
        snprintf(connection, sizeof connection,
                 "AccountName=account;AccountKey=" KEY ";BlobEndpoint=http://127.0.0.1:%d/account",
                 server.port);
        CHECK_CODE(tavola_client_open(connection, &options, &client), TAVOLA_OK);
        CHECK_CODE(tavola_container_open(client, "files", &container), TAVOLA_OK);
        CHECK_CODE(tavola_blob_get(container, "b", 10, NULL, &data, &size), rows[i].err);
        CHECK_TEXT(((tv_slice){data ? data : "", size}), rows[i].text);
        CHECK_INT(atomic_load(&server.requests), rows[i].count);
        tavola_free(data);
        tavola_container_close(container);
        tavola_client_close(client);
        script_server_stop(&server);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_of_one_blob),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
