/* Queues and their messages. */
#include "../output/output.h"
#include "../text.h"
#include "../verbs.h"
#include "resource.h"

#include <errno.h>
#include <string.h>

#define SECONDS_MAX (7 * 86400)
#define ENCODING "TAVOLA_MESSAGE_ENCODING"

/* How messages are written. */
static tool_exit encoding_of(const tool_run *run, bool *ret_is_base64)
{
    const char *name = tool_value_or_environment(run, TOOL_FLAG_ENCODING, ENCODING);

    *ret_is_base64 = name && strcmp(name, "base64") == 0;
    if (!name || *ret_is_base64 || strcmp(name, "text") == 0)
        return TOOL_OK;
    return tool_refuse("%s is text or base64",
                       tool_has(run, TOOL_FLAG_ENCODING) ? "--encoding" : "$" ENCODING);
}

static tool_exit count(tool_run *run)
{
    tavola_queue *queue = NULL;
    uint64_t number = 0;
    tool_exit exit = tool_queue(run, &queue);
    tavola_err err;

    if (exit)
        return exit;
    err = tavola_queue_count(queue, run->call, &number);
    tavola_queue_close(queue);
    return err ? tool_fail(run, err, NULL)
               : tool_output_one(run, &(tool_field){"Count", tavola_int64((int64_t)number)}, 1);
}

static tool_exit clear(tool_run *run)
{
    tavola_queue *queue = NULL;
    tool_exit exit = tool_queue(run, &queue);
    tavola_err err;

    if (!exit)
        exit = tool_confirm(run, "Delete all messages of queue %s?", run->args[0]);
    if (!exit) {
        err = tavola_queue_clear(queue, run->call);
        exit = err ? tool_fail(run, err, NULL) : TOOL_OK;
    }
    tavola_queue_close(queue);
    return exit;
}

/* What base64 stands for: text where it is that, else bytes. */
static tavola_value decoded(tool_text *bytes)
{
    bool is_text = memchr(bytes->at, 0, bytes->size) == NULL;

    for (size_t at = 0, count; is_text && at < bytes->size; at += count)
        is_text = tool_utf8_next(bytes->at + at, bytes->size - at, &count) != 0xfffd || count == 3;
    return is_text ? tavola_string(bytes->at) : tavola_binary(bytes->at, bytes->size);
}

static tool_exit print_message(tool_output *output, bool is_base64, const tavola_message *message)
{
    const char *stored = tavola_message_text(message);
    tavola_value text = tool_text_value(stored);
    tool_text bytes = {0};

    if (is_base64) {
        if (!stored || !tool_text_unbase64(&bytes, stored, strlen(stored))) {
            tool_text_done(&bytes);
            return tool_trouble("message %s is not base64: read it with --encoding text",
                                tavola_message_id(message));
        }
        text = decoded(&bytes);
    }
    tool_field fields[] = {
        {"MessageId", tool_text_value(tavola_message_id(message))},
        {"Text", text},
        {"DequeueCount", tavola_int64(tavola_message_dequeue_count(message))},
        {"Inserted", tool_time_value(tavola_message_inserted(message))},
        {"Expires", tool_time_value(tavola_message_expires(message))},
        {"NextVisible", tool_time_value(tavola_message_next_visible(message))},
        {"PopReceipt", tool_text_value(tavola_message_pop_receipt(message))},
    };
    tool_output_record(output, fields, sizeof fields / sizeof fields[0]);
    tool_text_done(&bytes);
    return TOOL_OK;
}

/* get and peek: up to -n messages, 1 without it. */
static tool_exit read_messages(tool_run *run, bool is_peek)
{
    int64_t number = 1, hidden = 0;
    tavola_queue *queue = NULL;
    tavola_messages *messages = NULL;
    tool_output *output = NULL;
    bool is_base64 = false;
    tool_exit exit = tool_number_of(run, TOOL_FLAG_LIMIT, 1, 32, &number);
    tavola_err err;

    if (!exit)
        exit = encoding_of(run, &is_base64);
    if (!exit)
        exit = tool_number_of(run, TOOL_FLAG_HIDDEN, 1, SECONDS_MAX, &hidden);
    if (!exit)
        exit = tool_queue(run, &queue);
    if (!exit)
        exit = tool_output_open(run, true, &output);
    if (exit)
        goto out;
    if (number == 1)
        tool_output_is_one(output); /* to delete it, its id and receipt are needed as a whole */
    err = is_peek ? tavola_messages_peek(queue, (uint32_t)number, run->call, &messages)
                  : tavola_messages_get(queue, (uint32_t)number, (uint32_t)hidden, run->call,
                                        &messages);
    if (err)
        exit = tool_fail(run, err, NULL);
    for (size_t i = 0; !exit && i < tavola_messages_count(messages); i++)
        exit = print_message(output, is_base64, tavola_messages_at(messages, i));

out:
    tool_output_close(output);
    tavola_messages_free(messages);
    tavola_queue_close(queue);
    return exit;
}

static tool_exit get(tool_run *run)
{
    return read_messages(run, false);
}

static tool_exit peek(tool_run *run)
{
    return read_messages(run, true);
}

/* The text of a message, written as messages are: as it stands, "@file" or "-"; "@@x" is "@x". */
static tool_exit read_text(const tool_run *run, const char *from, tool_text *ret_text)
{
    bool is_base64 = false;
    bool is_file = strcmp(from, "-") == 0 || (from[0] == '@' && from[1] != '@');

    tool_text base64 = {0};
    tool_exit exit = encoding_of(run, &is_base64);

    if (exit)
        return exit;
    if (!is_file)
        tool_text_puts(ret_text, from + (from[0] == '@'));
    else if (!tool_text_read_file(ret_text, from + (from[0] == '@')))
        return tool_refuse("cannot read %s: %s", from, strerror(errno));
    if (is_base64) {
        tool_text_puts(&base64, "");
        tool_text_base64(&base64, ret_text->at, ret_text->size);
        tool_text_done(ret_text);
        *ret_text = base64;
    }
    if (strlen(ret_text->at) != ret_text->size)
        return tool_refuse("the text of a message cannot have a NUL byte: give --encoding base64");
    return TOOL_OK;
}

/* What a text that is refused before it is sent may be. */
#define TEXT_RULE                                                                                  \
    "a message is UTF-8 without control characters, at most 64 KiB; "                              \
    "--encoding base64 takes any bytes, at most 48 KiB"

static tool_exit send(tool_run *run, tavola_queue *queue, const char *text, uint32_t hidden,
                      int32_t ttl)
{
    bool is_later = tool_has(run, TOOL_FLAG_HIDDEN) || tool_has(run, TOOL_FLAG_TTL);
    tavola_err err = is_later ? tavola_message_put_later(queue, text, hidden, ttl, run->call, NULL)
                              : tavola_message_put(queue, text, run->call);

    return err ? tool_fail(run, err, TEXT_RULE) : TOOL_OK;
}

static tool_exit put(tool_run *run)
{
    int64_t hidden = 0, ttl = 0;
    tool_text text = {0};
    tavola_queue *queue = NULL;
    tool_exit exit = tool_number_of(run, TOOL_FLAG_HIDDEN, 0, SECONDS_MAX, &hidden);

    if (!exit)
        exit = tool_number_of(run, TOOL_FLAG_TTL, -1, INT32_MAX, &ttl);
    if (!exit)
        exit = tool_queue(run, &queue);
    if (!exit)
        exit = read_text(run, run->args[1], &text);
    if (!exit)
        exit = send(run, queue, text.at, (uint32_t)hidden, (int32_t)ttl);
    tool_text_done(&text);
    tavola_queue_close(queue);
    return exit;
}

static tool_exit update(tool_run *run)
{
    int64_t hidden = 0;
    tool_text text = {0};
    tavola_queue *queue = NULL;
    tavola_message *message = NULL;
    tool_exit exit = tool_number_of(run, TOOL_FLAG_HIDDEN, 0, SECONDS_MAX, &hidden);
    tavola_err err;

    if (!exit)
        exit = tool_queue(run, &queue);
    if (!exit && run->arg_count > 3)
        exit = read_text(run, run->args[3], &text);
    if (!exit) {
        message = tavola_message_new(run->args[1], run->args[2]);
        err = tavola_message_update(queue, message, text.at,
                                    hidden ? (uint32_t)hidden : TAVOLA_AT_ONCE, run->call);
        exit = err ? tool_fail(run, err, TEXT_RULE)
                   : tool_output_one(
                         run,
                         &(tool_field){"PopReceipt",
                                       tool_text_value(tavola_message_pop_receipt(message))},
                         1);
    }
    tavola_message_free(message);
    tool_text_done(&text);
    tavola_queue_close(queue);
    return exit;
}

static tool_exit delete (tool_run *run)
{
    tavola_queue *queue = NULL;
    tavola_message *message;
    tool_exit exit = tool_queue(run, &queue);
    tavola_err err;

    if (exit)
        return exit;
    message = tavola_message_new(run->args[1], run->args[2]);
    err = tavola_message_delete(queue, message, run->call);
    tavola_message_free(message);
    tavola_queue_close(queue);
    return err ? tool_fail(run, err, NULL) : TOOL_OK;
}

const tool_verb tool_queue_verbs[] = {
    TOOL_RESOURCE_ROWS("queue", "QUEUE", "work", 0),
    {"queue count", "QUEUE", "About how many messages there are, hidden ones included", 1, 1, 0,
     .run = count, .is_plain = true, .examples = "  tavola queue count work\n"},
    {"queue clear", "QUEUE", "Delete all messages", 1, 1, TOOL_BIT(YES), .run = clear,
     .examples = "  tavola queue clear work --yes\n"},
    {"message put", "QUEUE TEXT|@FILE|-", "Put a message", 2, 2,
     TOOL_BIT(HIDDEN) | TOOL_BIT(TTL) | TOOL_BIT(ENCODING), .run = put,
     .examples = "  tavola message put work \"resize ada.jpg\"\n"
                 "  tavola message put work @order.json --hidden 60 --ttl 3600\n"},
    {"message get", "QUEUE", "Take messages and hide them from others, for 30 s unless --hidden", 1,
     1, TOOL_BIT(LIMIT) | TOOL_BIT(HIDDEN) | TOOL_BIT(ENCODING) | TOOL_BIT(SELECT), .run = get,
     .examples = "  tavola message get work -n 5 --hidden 120 -o json\n"},
    {"message peek", "QUEUE", "Look at messages without taking them", 1, 1,
     TOOL_BIT(LIMIT) | TOOL_BIT(ENCODING) | TOOL_BIT(SELECT), .run = peek,
     .examples = "  tavola message peek work\n"
                 "  tavola message peek work -n 32 --encoding base64\n"},
    {"message update", "QUEUE ID RECEIPT [TEXT|@FILE|-]",
     "Hide it longer, or change its text; prints its new receipt", 3, 4,
     TOOL_BIT(HIDDEN) | TOOL_BIT(ENCODING), .run = update, .is_plain = true,
     .examples = "  tavola message update work \"$ID\" \"$RECEIPT\" --hidden 60\n"},
    {"message delete", "QUEUE ID RECEIPT", "Delete a message that was taken", 3, 3, 0,
     .run = delete, .examples = "  tavola message delete work \"$ID\" \"$RECEIPT\"\n"},
    {0},
};
