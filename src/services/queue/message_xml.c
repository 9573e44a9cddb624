/* Messages, from XML and to XML. */
#include "services/queue/message_xml.h"

#include "base/datetime.h"
#include "base/xml.h"

tv_err tv_message_parse(tv_arena *arena, tv_slice document, tv_slice *ret_text)
{
    const tv_xml_node *root;
    tv_err err = tv_xml_parse(arena, document, &root);

    if (err)
        return err;

    const tv_xml_node *text = tv_xml_child(root, TV_LIT("MessageText"));

    if (!tv_slice_eq(root->name, TV_LIT("QueueMessage")) || text == NULL || text->first_child)
        return TV_ERR_XML_DOCUMENT;

    *ret_text = text->text;
    return TV_OK;
}

static void add_date(tv_buf *buf, const char *name, int64_t ticks)
{
    char text[TV_DATETIME_TEXT_MAX];

    tv_xml_add_element(buf, name, (tv_slice){text, tv_http_date_format(text, ticks)});
}

static void add_message(tv_buf *buf, const tv_message *message, tv_message_view view)
{
    char id[TV_GUID_TEXT_LEN], receipt[TV_RECEIPT_TEXT_LEN];

    tv_guid_format(id, &message->id);
    tv_receipt_format(receipt, &message->receipt);
    tv_buf_add_lit(buf, "<QueueMessage>");
    tv_xml_add_element(buf, "MessageId", (tv_slice){id, sizeof id});
    add_date(buf, "InsertionTime", message->inserted);
    add_date(buf, "ExpirationTime", message->expires);
    if (view != TV_MESSAGE_SEEN) {
        tv_xml_add_element(buf, "PopReceipt", (tv_slice){receipt, sizeof receipt});
        add_date(buf, "TimeNextVisible", message->next_visible);
    }
    if (view != TV_MESSAGE_PUT) {
        tv_buf_printf(buf, "<DequeueCount>%u</DequeueCount>", (unsigned)message->dequeue_count);
        tv_xml_add_element(buf, "MessageText", message->text);
    }
    tv_buf_add_lit(buf, "</QueueMessage>");
}

size_t tv_messages_xml_max(const tv_message *messages, size_t count)
{
    enum { MESSAGE_BYTES = 1024 };
    size_t bytes = MESSAGE_BYTES;

    for (size_t i = 0; i < count; i++)
        bytes += MESSAGE_BYTES + tv_xml_text_len(messages[i].text);
    return bytes;
}

void tv_messages_add_xml(tv_buf *buf, const tv_message *messages, size_t count,
                         tv_message_view view)
{
    if (count == 0) {
        tv_buf_add_lit(buf, "<QueueMessagesList />");
        return;
    }
    tv_buf_add_lit(buf, "<QueueMessagesList>");
    for (size_t i = 0; i < count; i++)
        add_message(buf, &messages[i], view);
    tv_buf_add_lit(buf, "</QueueMessagesList>");
}
