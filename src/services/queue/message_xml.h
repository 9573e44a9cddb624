/*
 * Messages as XML: what clients send, and lists of what they get.
 */
#ifndef TV_SERVICES_QUEUE_MESSAGE_XML_H
#define TV_SERVICES_QUEUE_MESSAGE_XML_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "services/queue/store/message.h"

/**
 * The text of <QueueMessage><MessageText>…; white space is part of it.
 * TV_ERR_XML_DOCUMENT for anything else.
 */
tv_err tv_message_parse(tv_arena *arena, tv_slice document, tv_slice *ret_text) TV_WARN_UNUSED;

/** Which parts of a message an answer has. */
typedef enum tv_message_view {
    TV_MESSAGE_PUT,  /* receipt, no text and no count */
    TV_MESSAGE_GOT,  /* everything */
    TV_MESSAGE_SEEN, /* no receipt and no time of being visible */
} tv_message_view;

/** The most that a list of messages takes, with the head of the document. */
size_t tv_messages_xml_max(const tv_message *messages, size_t count);

/** Append <QueueMessagesList>. */
void tv_messages_add_xml(tv_buf *buf, const tv_message *messages, size_t count,
                         tv_message_view view);

#endif
