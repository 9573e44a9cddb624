/*
 * Messages as clients send them.  What is accepted is written as an answer has
 * it, taken out of that again, and must be the same text; receipts likewise.
 */
#include "fuzz.h"

#include "base/xml.h"
#include "services/queue/message_xml.h"

/* The text of the one message in a list. */
static tv_slice text_of(tv_arena *arena, tv_slice list)
{
    const tv_xml_node *root, *message, *text;

    tv_assert(tv_xml_parse(arena, list, &root) == TV_OK && root->child_count == 1);
    message = tv_xml_child(root, TV_LIT("QueueMessage"));
    tv_assert(message != NULL);
    text = tv_xml_child(message, TV_LIT("MessageText"));
    tv_assert(text != NULL);
    return text->text;
}

static void try_message(tv_arena *arena, tv_slice document)
{
    tv_message message = {.expires = TV_MESSAGE_NEVER};
    tv_buf written = TV_BUF_EMPTY;
    tv_slice again;

    if (tv_message_parse(arena, document, &message.text))
        return;

    tv_assert(message.text.len <= document.len);
    tv_messages_add_xml(&written, &message, 1, TV_MESSAGE_GOT);
    if (written.len <= TV_XML_BYTES_MAX)
        tv_assert(tv_slice_eq(text_of(arena, tv_buf_slice(&written)), message.text));

    written.len = 0;
    tv_buf_add_lit(&written, "<QueueMessage>");
    tv_xml_add_element(&written, "MessageText", message.text);
    tv_buf_add_lit(&written, "</QueueMessage>");
    if (written.len <= TV_XML_BYTES_MAX) {
        tv_assert(tv_message_parse(arena, tv_buf_slice(&written), &again) == TV_OK);
        tv_assert(tv_slice_eq(again, message.text));
    }
    tv_buf_done(&written);
}

static void try_receipt(tv_slice text)
{
    char again[TV_RECEIPT_TEXT_LEN];
    tv_receipt receipt;

    if (!tv_receipt_parse(text, &receipt))
        return;

    tv_assert(receipt.sequence >= 0);
    tv_receipt_format(again, &receipt);
    tv_assert(tv_slice_eq(text, (tv_slice){again, sizeof again}));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tv_slice input = {(const char *)data, size};
    tv_arena arena;

    tv_arena_init(&arena);
    try_message(&arena, input);
    tv_arena_done(&arena);
    try_receipt(input);
    return 0;
}
