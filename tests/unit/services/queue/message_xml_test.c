/* Messages from XML and to XML. */
#include "services/queue/message_xml.h"

#include "base/datetime.h"
#include "check.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define MESSAGE(text) "<QueueMessage><MessageText>" text "</MessageText></QueueMessage>"

TEST(the_text_is_taken_as_it_is)
{
    static const struct {
        const char *document, *text;
    } rows[] = {
        {MESSAGE("aGk="), "aGk="},
        {MESSAGE(""), ""},
        {"<QueueMessage><MessageText/></QueueMessage>", ""},
        {MESSAGE("  a\tb \n"), "  a\tb \n"},
        {MESSAGE("a\r\nb\rc"), "a\nb\nc"}, /* XML has one line end */
        {MESSAGE("a&#13;&#10;b"), "a\r\nb"},
        {MESSAGE("&lt;&amp;&gt;&quot;&apos;&#65;&#x1F98A;"), "<&>\"'A\xF0\x9F\xA6\x8A"},
        {MESSAGE("<![CDATA[<&]]>]"), "<&]"},
        {MESSAGE("a<!-- b -->c<?d e?>"), "ac"},
        {"\xEF\xBB\xBF<?xml version=\"1.0\" encoding=\"utf-8\"?>\r\n" MESSAGE("x"), "x"},
        {" <QueueMessage>\n <MessageText>x</MessageText>\n</QueueMessage>\n", "x"},
        {"<QueueMessage><Other>y</Other><MessageText>x</MessageText></QueueMessage>", "x"},
        {"<QueueMessage a=\"b\"><MessageText xml:space='preserve'> </MessageText></QueueMessage>",
         " "},
    };

    for (size_t i = 0; i < COUNT(rows); i++) {
        tv_arena arena;
        tv_slice text;

        t_row = rows[i].document;
        tv_arena_init(&arena);
        CHECK_OK(tv_message_parse(&arena, tv_slice_of(rows[i].document), &text));
        CHECK_TEXT(text, rows[i].text);
        tv_arena_done(&arena);
    }
}

TEST(other_documents_are_refused)
{
    static const char *const documents[] = {
        "",
        "hello",
        "<QueueMessage/>",
        "<QueueMessage></QueueMessage>",
        "<QueueMessage>text</QueueMessage>",
        "<QueueMessage><messagetext>x</messagetext></QueueMessage>",
        "<Message><MessageText>x</MessageText></Message>",
        "<QueueMessage><Inner><MessageText>x</MessageText></Inner></QueueMessage>",
        "<QueueMessage><MessageText><b>x</b></MessageText></QueueMessage>",
        "<QueueMessage><MessageText>x</MessageText>",
        MESSAGE("x") MESSAGE("y"),
        MESSAGE("&nbsp;"),
        MESSAGE("&#0;"),
        MESSAGE("a\x01"),
        MESSAGE("\xFF"),
        MESSAGE("\xED\xA0\x80"), /* half of a pair */
        MESSAGE("a & b"),
        "<!DOCTYPE a><QueueMessage><MessageText>x</MessageText></QueueMessage>",
    };

    for (size_t i = 0; i < COUNT(documents); i++) {
        tv_arena arena;
        tv_slice text;

        t_row = documents[i];
        tv_arena_init(&arena);
        CHECK_ERR(tv_message_parse(&arena, tv_slice_of(documents[i]), &text), TV_ERR_XML_DOCUMENT);
        tv_arena_done(&arena);
    }
}

/* --- lists --- */

static int64_t ticks_of(const char *text)
{
    int64_t ticks;

    CHECK(tv_http_date_parse(tv_slice_of(text), &ticks));
    return ticks;
}

#define INSERTED "Fri, 02 Jan 2026 03:04:05 GMT"
#define EXPIRES "Fri, 09 Jan 2026 03:04:05 GMT"
#define VISIBLE "Fri, 02 Jan 2026 03:04:35 GMT"
#define ID "01020304-0506-0708-090a-0b0c0d0e0f10"

TEST(a_view_shows_its_parts_in_their_order)
{
    static const struct {
        const char *what;
        tv_message_view view;
        bool has_receipt;
        const char *rest;
    } rows[] = {
        {"put", TV_MESSAGE_PUT, true, ""},
        {"got", TV_MESSAGE_GOT, true,
         "<DequeueCount>3</DequeueCount><MessageText>a &lt; b &amp; \"c\"</MessageText>"},
        {"seen", TV_MESSAGE_SEEN, false,
         "<DequeueCount>3</DequeueCount><MessageText>a &lt; b &amp; \"c\"</MessageText>"},
    };
    tv_message message = {.inserted = ticks_of(INSERTED),
                          .expires = ticks_of(EXPIRES),
                          .next_visible = ticks_of(VISIBLE),
                          .receipt = {5, 6},
                          .dequeue_count = 3,
                          .text = TV_LIT("a < b & \"c\"")};
    char receipt[TV_RECEIPT_TEXT_LEN];

    CHECK(tv_guid_parse(TV_LIT(ID), &message.id));
    tv_receipt_format(receipt, &message.receipt);
    for (size_t i = 0; i < COUNT(rows); i++) {
        tv_buf got = TV_BUF_EMPTY, want = TV_BUF_EMPTY;

        t_row = rows[i].what;
        tv_buf_add_lit(&want, "<QueueMessagesList><QueueMessage><MessageId>" ID
                              "</MessageId><InsertionTime>" INSERTED
                              "</InsertionTime><ExpirationTime>" EXPIRES "</ExpirationTime>");
        if (rows[i].has_receipt)
            tv_buf_printf(&want,
                          "<PopReceipt>%.*s</PopReceipt><TimeNextVisible>" VISIBLE
                          "</TimeNextVisible>",
                          TV_RECEIPT_TEXT_LEN, receipt);
        tv_buf_add(&want, tv_slice_of(rows[i].rest));
        tv_buf_add_lit(&want, "</QueueMessage></QueueMessagesList>");

        tv_messages_add_xml(&got, &message, 1, rows[i].view);
        CHECK_SLICE(tv_buf_slice(&got), tv_buf_slice(&want));
        tv_buf_done(&got);
        tv_buf_done(&want);
    }
}

TEST(no_message_is_an_empty_element)
{
    tv_buf got = TV_BUF_EMPTY;

    tv_messages_add_xml(&got, NULL, 0, TV_MESSAGE_GOT);
    CHECK_TEXT(tv_buf_slice(&got), "<QueueMessagesList />");
    tv_buf_done(&got);
}

TEST(what_never_expires_does_so_in_the_last_year)
{
    tv_message message = {.expires = TV_MESSAGE_NEVER, .text = TV_LIT("")};
    tv_buf got = TV_BUF_EMPTY;

    tv_messages_add_xml(&got, &message, 1, TV_MESSAGE_SEEN);
    tv_buf_add_char(&got, '\0');
    CHECK(strstr(got.data, "<ExpirationTime>Fri, 31 Dec 9999 23:59:59 GMT</ExpirationTime>"));
    CHECK(strstr(got.data, "<MessageText />"));
    tv_buf_done(&got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_text_is_taken_as_it_is),
        cmocka_unit_test(other_documents_are_refused),
        cmocka_unit_test(a_view_shows_its_parts_in_their_order),
        cmocka_unit_test(no_message_is_an_empty_element),
        cmocka_unit_test(what_never_expires_does_so_in_the_last_year),
    };

    return cmocka_run_group_tests_name("queue/message_xml", tests, NULL, NULL);
}
