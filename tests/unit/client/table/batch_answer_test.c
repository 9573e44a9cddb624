/* Answers to batches: read as every service writes them, and never believed too early. */
#include "client/table/batch.h"

#include "check.h"

#define TYPE "multipart/mixed; boundary=batchresponse_1"

#define OUTER                                                                                      \
    "--batchresponse_1\r\nContent-Type: multipart/mixed; boundary=changesetresponse_2\r\n\r\n"
#define PART                                                                                       \
    "--changesetresponse_2\r\nContent-Type: application/http\r\n"                                  \
    "Content-Transfer-Encoding: binary\r\n\r\n"
#define END "--changesetresponse_2--\r\n--batchresponse_1--\r\n"
#define MADE(etag)                                                                                 \
    "HTTP/1.1 204 No Content\r\nX-Content-Type-Options: nosniff\r\nETag: " etag "\r\n\r\n\r\n"

static const struct {
    const char *what, *type, *body;
    bool is_read;
    const char *text; /* "status etag body;" of each part */
} answers[] = {
    {"the service's own bytes", TYPE, OUTER PART MADE("W/\"1\"") PART MADE("W/\"2\"") END, true,
     "204 W/\"1\" ;204 W/\"2\" ;"},
    {"a delete has no etag", TYPE, OUTER PART "HTTP/1.1 204 No Content\r\n\r\n\r\n" END, true,
     "204 - ;"},
    {"one part for the write that failed", TYPE,
     OUTER PART "HTTP/1.1 409 Conflict\r\nContent-Type: application/json\r\n\r\n{\"x\":1}\r\n" END,
     true, "409 - {\"x\":1};"},
    {"lines without CR", "multipart/mixed; boundary=b",
     "--b\nContent-Type: multipart/mixed; boundary=c\n\n--c\nContent-Type: application/http\n\n"
     "HTTP/1.1 204 No Content\netag: W/\"1\"\n\n\n--c--\n--b--",
     true, "204 W/\"1\" ;"},
    {"names in any case, a boundary in quotes", "Multipart/Mixed; Charset=x; Boundary=\"b\"",
     "--b\r\ncontent-TYPE:MULTIPART/mixed;BOUNDARY=\"c\"\r\n\r\n--c\r\n\r\n"
     "HTTP/1.1 204 No Content\r\nEtAg:W/\"1\"\r\n\r\n--c--\r\n--b--\r\n",
     true, "204 W/\"1\" ;"},
    {"a part without a changeset", "multipart/mixed; boundary=b",
     "--b\r\nContent-Type: application/http\r\n\r\nHTTP/1.1 404 Not Found\r\n\r\n{}\r\n--b--\r\n",
     true, "404 - {};"},
    {"a Content-Type that names no boundary", "multipart/mixed",
     "--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c\r\n\r\nHTTP/1.1 204 "
     "x\r\n\r\n--c--\r\n--b--\r\n",
     true, "204 - ;"},
    {"no Content-Type at all", "",
     "\r\n--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c\r\n\r\nHTTP/1.1 204 "
     "x\r\n\r\n--c--\r\n--b--\r\n",
     true, "204 - ;"},
    {"a boundary inside of a line is text", "multipart/mixed; boundary=b",
     "--b\r\nContent-Type: application/http\r\n\r\nHTTP/1.1 400 x\r\n\r\n{\"--b\":1}\r\n--b--",
     true, "400 - {\"--b\":1};"},
    {"a status without a reason", TYPE, OUTER PART "HTTP/1.1 204\r\n\r\n" END, true, "204 - ;"},

    {"nothing", TYPE, "", false, ""},
    {"not a multipart body", "application/json", "{\"odata.error\":{}}", false, ""},
    {"cut off within the first part", TYPE, OUTER PART "HTTP/1.1 204 No", false, ""},
    {"cut off before the end of the changeset", TYPE, OUTER PART MADE("W/\"1\""), false, ""},
    {"cut off before the end of the batch", TYPE,
     OUTER PART MADE("W/\"1\"") "--changesetresponse_2--\r\n", false, ""},
    {"no parts", TYPE, OUTER END, false, ""},
    {"a part without a response", TYPE, OUTER PART "\r\n" END, false, ""},
    {"a status that is not a number", TYPE, OUTER PART "HTTP/1.1 2x4 x\r\n\r\n" END, false, ""},
    {"a status that is too long", TYPE, OUTER PART "HTTP/1.1 2040 x\r\n\r\n" END, false, ""},
    {"a status that is too small", TYPE, OUTER PART "HTTP/1.1 099 x\r\n\r\n" END, false, ""},
};

static void write_parts(const tvc_batch_answer *answer, char *to, size_t size)
{
    size_t len = 0;

    to[0] = '\0';
    for (size_t i = 0; i < answer->count; i++) {
        const tvc_batch_part *part = &answer->parts[i];

        len += (size_t)snprintf(to + len, size - len, "%d %.*s %.*s;", part->status,
                                TV_FMT(part->etag.data ? part->etag : TV_LIT("-")),
                                TV_FMT(part->body));
    }
}

TEST(answers_are_taken_apart)
{
    static tvc_batch_answer answer;
    char text[256];

    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        t_row = answers[i].what;
        CHECK_INT(tvc_batch_answer_read(tv_slice_of(answers[i].type), tv_slice_of(answers[i].body),
                                        &answer),
                  answers[i].is_read);
        if (!answers[i].is_read)
            continue;
        write_parts(&answer, text, sizeof text);
        CHECK_TEXT(tv_slice_of(text), answers[i].text);
    }
}

/* No beginning of an answer is taken for the whole. */
TEST(every_cut_is_noticed)
{
    static const char whole[] = OUTER PART MADE("W/\"1\"") PART MADE("W/\"2\"") END;
    static tvc_batch_answer answer;
    size_t needed = strlen(whole) - strlen("\r\n");

    for (size_t len = 0; len < needed; len++)
        CHECK(!tvc_batch_answer_read(TV_LIT(TYPE), (tv_slice){whole, len}, &answer));
    CHECK(tvc_batch_answer_read(TV_LIT(TYPE), (tv_slice){whole, needed}, &answer));
}

TEST(more_parts_than_a_batch_has_are_refused)
{
    static char body[64 * 1024];
    static tvc_batch_answer answer;

    for (int count = 99; count <= 101; count++) {
        size_t len = (size_t)snprintf(body, sizeof body, "%s", OUTER);

        for (int i = 0; i < count; i++)
            len += (size_t)snprintf(body + len, sizeof body - len, "%s", PART MADE("W/\"1\""));
        snprintf(body + len, sizeof body - len, "%s", END);
        CHECK_INT(tvc_batch_answer_read(TV_LIT(TYPE), tv_slice_of(body), &answer), count <= 100);
    }
}

static const struct {
    const char *what, *message;
    int index;
    const char *rest;
} indexes[] = {
    {"of the first", "0:The entity exists.", 0, "The entity exists."},
    {"of two digits", "99:Too many.", 99, "Too many."},
    {"none", "The entity exists.", -1, "The entity exists."},
    {"a colon alone", ":x", -1, ":x"},
    {"a number without a colon", "12", -1, "12"},
    {"a number that is no index", "12345:x", -1, "12345:x"},
    {"a time is not one", "x 12:30", -1, "x 12:30"},
    {"nothing after it", "7:", 7, ""},
    {"nothing", "", -1, ""},
};

TEST(the_index_is_taken_off_the_message)
{
    char message[64];

    for (size_t i = 0; i < sizeof indexes / sizeof *indexes; i++) {
        t_row = indexes[i].what;
        snprintf(message, sizeof message, "%s", indexes[i].message);
        CHECK_INT(tvc_batch_take_index(message), indexes[i].index);
        CHECK_TEXT(tv_slice_of(message), indexes[i].rest);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_taken_apart),
        cmocka_unit_test(every_cut_is_noticed),
        cmocka_unit_test(more_parts_than_a_batch_has_are_refused),
        cmocka_unit_test(the_index_is_taken_off_the_message),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
