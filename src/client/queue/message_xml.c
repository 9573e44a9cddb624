/* Answers with messages. */
#include "base/datetime.h"
#include "client/queue/queue.h"
#include "client/xml/xml.h"

static tavola_ticks read_date(tvc_xml *xml)
{
    int64_t ticks = 0;

    if (!tv_http_date_parse(tvc_xml_text(xml), &ticks))
        tvc_xml_fail(xml);
    return ticks;
}

static uint32_t read_count(tvc_xml *xml)
{
    uint64_t count = tvc_xml_number(xml);

    return count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
}

static void read_message(tvc_xml *xml, tavola_message *message)
{
    tv_slice field;

    while (tvc_xml_child(xml, &field)) {
        if (tv_slice_eq(field, TV_LIT("MessageId")))
            message->id = tvc_xml_text(xml).data;
        else if (tv_slice_eq(field, TV_LIT("PopReceipt")))
            message->pop_receipt = tvc_xml_text(xml).data;
        else if (tv_slice_eq(field, TV_LIT("MessageText")))
            message->text = tvc_xml_text(xml).data;
        else if (tv_slice_eq(field, TV_LIT("InsertionTime")))
            message->inserted = read_date(xml);
        else if (tv_slice_eq(field, TV_LIT("ExpirationTime")))
            message->expires = read_date(xml);
        else if (tv_slice_eq(field, TV_LIT("TimeNextVisible")))
            message->next_visible = read_date(xml);
        else if (tv_slice_eq(field, TV_LIT("DequeueCount")))
            message->dequeue_count = read_count(xml);
        else
            tvc_xml_skip(xml);
    }
    if (message->id == NULL || *message->id == '\0')
        tvc_xml_fail(xml);
}

tavola_err tvc_messages_read(char *document, size_t len, size_t count_max,
                             tavola_messages **ret_messages)
{
    tavola_messages *messages = tvc_zalloc(sizeof *messages);
    tavola_message *list = tvc_calloc(count_max, sizeof *list);
    tvc_xml xml;
    tv_slice name;

    if (messages == NULL || list == NULL) {
        tvc_release(messages);
        tvc_release(list);
        tvc_release(document);
        return TAVOLA_ERR_NO_MEMORY;
    }
    *messages = (tavola_messages){.document = document, .list = list};
    tvc_xml_open(&xml, document, len, TV_LIT("QueueMessagesList"));
    while (tvc_xml_child(&xml, &name)) {
        if (!tv_slice_eq(name, TV_LIT("QueueMessage")))
            tvc_xml_skip(&xml);
        else if (messages->count == count_max)
            tvc_xml_fail(&xml);
        else
            read_message(&xml, &list[messages->count++]);
    }
    if (!tvc_xml_close(&xml)) {
        tavola_messages_free(messages);
        return TAVOLA_ERR_PROTOCOL;
    }
    *ret_messages = messages;
    return TAVOLA_OK;
}
