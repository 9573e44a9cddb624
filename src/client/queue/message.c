/* Messages as objects, and lists of them. */
#include "base/base64.h"
#include "client/queue/queue.h"
#include "client/why.h"

tavola_message *tavola_message_new(const char *id, const char *pop_receipt)
{
    if (id == NULL || pop_receipt == NULL) {
        (void)tvc_refuse(TAVOLA_ERR_INVALID, "the id or the pop receipt is NULL");
        return NULL;
    }

    size_t id_size = strlen(id) + 1, receipt_size = strlen(pop_receipt) + 1;
    tavola_message *message = tvc_zalloc(sizeof *message);
    char *texts = tvc_alloc(id_size + receipt_size);

    if (message == NULL || texts == NULL) {
        tvc_release(message);
        tvc_release(texts);
        return NULL;
    }
    memcpy(texts, id, id_size);
    memcpy(texts + id_size, pop_receipt, receipt_size);
    *message = (tavola_message){.id = texts, .pop_receipt = texts + id_size, .document = texts};
    return message;
}

const char *tavola_message_id(const tavola_message *message)
{
    return message ? message->id : NULL;
}

const char *tavola_message_pop_receipt(const tavola_message *message)
{
    return message ? message->pop_receipt : NULL;
}

const char *tavola_message_text(const tavola_message *message)
{
    return message ? message->text : NULL;
}

tavola_err tavola_message_bytes(const tavola_message *message, void **ret_data, size_t *ret_size)
{
    if (message == NULL || message->text == NULL || ret_data == NULL || ret_size == NULL)
        return tvc_refuse(TAVOLA_ERR_INVALID,
                          "there is no message with a text, or no place for its bytes");

    tv_slice text = tv_slice_of(message->text);
    char *bytes = tvc_alloc(tv_base64_decoded_max(text.len) + 1);
    size_t len;

    if (bytes == NULL)
        return TAVOLA_ERR_NO_MEMORY;
    if (!tv_base64_decode(bytes, text, &len)) {
        tvc_release(bytes);
        return tvc_refuse(TAVOLA_ERR_INVALID, "the text of the message is not base64");
    }
    bytes[len] = '\0';
    *ret_data = bytes;
    *ret_size = len;
    return TAVOLA_OK;
}

uint32_t tavola_message_dequeue_count(const tavola_message *message)
{
    return message ? message->dequeue_count : 0;
}

tavola_ticks tavola_message_inserted(const tavola_message *message)
{
    return message ? message->inserted : 0;
}

tavola_ticks tavola_message_expires(const tavola_message *message)
{
    return message ? message->expires : 0;
}

tavola_ticks tavola_message_next_visible(const tavola_message *message)
{
    return message ? message->next_visible : 0;
}

void tavola_message_free(tavola_message *message)
{
    if (message == NULL)
        return;

    tvc_release(message->new_receipt);
    tvc_release(message->document);
    tvc_release(message);
}

size_t tavola_messages_count(const tavola_messages *messages)
{
    return messages ? messages->count : 0;
}

tavola_message *tavola_messages_at(tavola_messages *messages, size_t i)
{
    return messages && i < messages->count ? &messages->list[i] : NULL;
}

void tavola_messages_free(tavola_messages *messages)
{
    if (messages == NULL)
        return;

    for (size_t i = 0; i < messages->count; i++)
        tvc_release(messages->list[i].new_receipt);
    tvc_release(messages->list);
    tvc_release(messages->document);
    tvc_release(messages);
}

tavola_message *tvc_messages_take_first(tavola_messages *messages)
{
    tavola_message *message = tvc_alloc(sizeof *message);

    if (message) {
        *message = messages->list[0];
        message->document = messages->document;
        messages->list[0].new_receipt = NULL;
        messages->document = NULL;
    }
    tavola_messages_free(messages);
    return message;
}
