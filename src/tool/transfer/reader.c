/* Entities out of a file: what all formats share. */
#include "reader.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const struct {
    const char *name, *ending;
    xfer_format format;
} formats[] = {
    /* The longer ending first. */
    {"typed-csv", ".typed.csv", XFER_FORMAT_TYPED_CSV},
    {"csv", ".csv", XFER_FORMAT_CSV},
    {"ndjson", ".ndjson", XFER_FORMAT_NDJSON},
    {"jsonl", ".jsonl", XFER_FORMAT_NDJSON},
    {"json", ".json", XFER_FORMAT_JSON},
};
enum { FORMAT_COUNT = sizeof formats / sizeof *formats };

xfer_format xfer_format_of_name(const char *name)
{
    for (size_t i = 0; i < FORMAT_COUNT; i++)
        if (strcasecmp(name, formats[i].name) == 0)
            return formats[i].format;
    return XFER_FORMAT_NONE;
}

xfer_format xfer_format_of_path(const char *path)
{
    size_t size = strlen(path);

    for (size_t i = 0; i < FORMAT_COUNT; i++) {
        size_t ending = strlen(formats[i].ending);

        if (size > ending && strcasecmp(path + size - ending, formats[i].ending) == 0)
            return formats[i].format;
    }
    return XFER_FORMAT_NONE;
}

xfer_read xfer_reader_refuse(xfer_reader *reader, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    vsnprintf(reader->why, sizeof reader->why, format, list);
    va_end(list);
    return XFER_READ_BAD;
}

void xfer_reader_take(xfer_reader *reader, size_t size)
{
    reader->place = reader->input.place;
    reader->record = reader->input.data + reader->input.begin;
    reader->record_size = size;
    reader->held = size;
}

xfer_read xfer_reader_take_rest_of_line(xfer_reader *reader, const char *why)
{
    xfer_input *input = &reader->input;
    const char *begin, *end;

    do {
        begin = input->data + input->begin;
        end = memchr(begin, '\n', input->end - input->begin);
    } while (end == NULL && xfer_input_more(input));

    begin = input->data + input->begin;
    xfer_reader_take(reader, end ? (size_t)(end - begin) + 1 : input->end - input->begin);
    return xfer_reader_refuse(reader, "%s", why);
}

static void consume_held(xfer_reader *reader)
{
    xfer_input_consume(&reader->input, reader->held);
    reader->held = 0;
}

const xfer_place *xfer_reader_end(xfer_reader *reader)
{
    consume_held(reader);
    return &reader->input.place;
}

/* What a file looks like whose name does not say it. */
static xfer_format guess(xfer_reader *reader)
{
    xfer_input *input = &reader->input;
    size_t at = 0;

    for (;; at++) {
        if (input->begin + at == input->end && !xfer_input_more(input))
            return XFER_FORMAT_NDJSON; /* nothing but blanks */
        if (memchr(" \t\r\n", input->data[input->begin + at], 4) == NULL)
            break;
    }
    return memchr("[{", input->data[input->begin + at], 2) ? XFER_FORMAT_JSON
                                                           : XFER_FORMAT_TYPED_CSV;
}

const char *xfer_reader_open(xfer_reader *reader, int fd, const xfer_reader_options *options)
{
    *reader = (xfer_reader){.format = options->format};

    const char *why = xfer_input_open(&reader->input, fd);

    if (why)
        return why;
    if (reader->format == XFER_FORMAT_NONE)
        reader->format = guess(reader);
    switch (reader->format) {
    case XFER_FORMAT_TYPED_CSV:
    case XFER_FORMAT_CSV:
        return xfer_csv_open(reader, options);
    case XFER_FORMAT_JSON:
        return xfer_json_open(reader);
    case XFER_FORMAT_NDJSON:
    case XFER_FORMAT_NONE:
        break;
    }
    return NULL;
}

void xfer_reader_close(xfer_reader *reader)
{
    xfer_csv_close(reader->csv);
    reader->csv = NULL;
    xfer_input_close(&reader->input);
}

xfer_read xfer_reader_next(xfer_reader *reader, tavola_entity **ret_entity)
{
    consume_held(reader);
    if (reader->input.error)
        return XFER_READ_FAILED;
    if (reader->is_over)
        return XFER_READ_END;

    xfer_read read = reader->csv                            ? xfer_csv_next(reader, ret_entity)
                     : reader->format == XFER_FORMAT_NDJSON ? xfer_ndjson_next(reader, ret_entity)
                                                            : xfer_json_next(reader, ret_entity);

    /* A record that was cut off by a failed read is not the file's fault. */
    if (reader->input.error) {
        tavola_entity *entity = read == XFER_READ_ENTITY ? *ret_entity : NULL;

        tavola_entity_free(entity);
        reader->held = 0;
        return XFER_READ_FAILED;
    }
    return read;
}
