/*
 * Entities out of JSON.
 *
 * NDJSON has one in each line, so what is wrong with one line does not touch the next.  Other files
 * are searched for objects: in an array, in the array "value" of an object, or one after the other.
 */
#include <string.h>

#include "reader.h"

/* ---- objects ---- */

/* Where one is in a text of JSON: how deep, and whether within a string. */
typedef struct json_scan {
    size_t at; /* bytes from the beginning of the input that were looked at */
    unsigned depth;
    bool is_string, is_escaped;
} json_scan;

/* Go on by one byte. */
static void step(json_scan *scan, char c)
{
    scan->at++;
    if (scan->is_string) {
        if (scan->is_escaped)
            scan->is_escaped = false;
        else if (c == '\\')
            scan->is_escaped = true;
        else if (c == '"')
            scan->is_string = false;
        return;
    }
    if (c == '"')
        scan->is_string = true;
    else if (c == '{' || c == '[')
        scan->depth++;
    else if ((c == '}' || c == ']') && scan->depth)
        scan->depth--;
}

/* The byte at the scan, or -1 at the end of the file. */
static int byte_at(xfer_input *input, const json_scan *scan)
{
    while (input->begin + scan->at >= input->end)
        if (!xfer_input_more(input))
            return -1;
    return (unsigned char)input->data[input->begin + scan->at];
}

static bool is_blank(int c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Consume blanks, and commas between the objects of an array; the byte behind them or -1. */
static int skip_blanks(xfer_reader *reader, bool with_commas)
{
    json_scan scan = {0};
    int c;

    while (is_blank(c = byte_at(&reader->input, &scan)) || (with_commas && c == ','))
        scan.at++;
    xfer_input_consume(&reader->input, scan.at);
    return c;
}

/* Go to the end of the object at the scan; false when the file ends before it. */
static bool scan_object(xfer_input *input, json_scan *scan)
{
    do {
        int c = byte_at(input, scan);

        if (c < 0)
            return false;
        step(scan, (char)c);
    } while (scan->depth);
    return true;
}

/* Go to the array "value" of the object at the beginning; false when there is none in it. */
static bool find_value_array(xfer_input *input, json_scan *scan)
{
    static const char name[] = "\"value\"";
    size_t matched = 0; /* characters of the name, then the colon */
    int c;

    do {
        if ((c = byte_at(input, scan)) < 0)
            return false;
        if (matched == sizeof name && c == '[')
            return true;

        bool was_outside = !scan->is_string;

        step(scan, (char)c);
        if (scan->depth != 1)
            matched = 0;
        else if (matched == sizeof name - 1 && c == ':')
            matched++;
        else if (matched >= sizeof name - 1 && is_blank(c))
            continue;
        else if (matched < sizeof name - 1 && c == name[matched] && (matched || was_outside))
            matched++;
        else
            matched = 0;
    } while (scan->depth);
    return false;
}

/* Whether the first line is an object of its own. */
static bool is_lines(xfer_input *input)
{
    json_scan scan = {0};
    int c;

    if (!scan_object(input, &scan))
        return true; /* cut off: its line is refused, and the error names it */
    while (is_blank(c = byte_at(input, &scan)) && c != '\n')
        scan.at++;
    if ((c >= 0 && c != '\n') || memchr(input->data + input->begin, '\n', scan.at))
        return false;

    /* And so is the second: objects that are laid out over lines may begin with a short one. */
    while (is_blank(c = byte_at(input, &scan)))
        scan.at++;
    if (c < 0)
        return true;

    size_t begin = scan.at;

    return !scan_object(input, &scan) ||
           memchr(input->data + input->begin + begin, '\n', scan.at - begin) == NULL;
}

const char *xfer_json_open(xfer_reader *reader)
{
    xfer_input *input = &reader->input;
    json_scan scan = {0};
    int c = skip_blanks(reader, false);

    if (c == '[') {
        xfer_input_consume(input, 1);
        reader->is_array = true;
    } else if (c == '{') {
        if (find_value_array(input, &scan)) {
            xfer_input_consume(input, scan.at + 1);
            reader->is_array = true;
        } else if (is_lines(input)) {
            reader->format = XFER_FORMAT_NDJSON;
        }
    } else if (c >= 0) {
        return "it is not JSON: it begins with neither [ nor {";
    }
    return NULL;
}

/* ---- entities ---- */

static xfer_read read_entity(xfer_reader *reader, tavola_entity **ret_entity)
{
    if (ret_entity == NULL)
        return XFER_READ_SKIPPED;

    switch (tavola_entity_from_json(reader->record, reader->record_size, ret_entity)) {
    case TAVOLA_OK:
        return XFER_READ_ENTITY;
    case TAVOLA_ERR_TOO_LARGE:
        return xfer_reader_refuse(reader, "is too large for an entity");
    case TAVOLA_ERR_NO_MEMORY:
        return xfer_reader_refuse(reader, "there is not enough memory for it");
    default:
        return xfer_reader_refuse(reader, "is not an entity in JSON: an object with PartitionKey, "
                                          "RowKey and valid properties");
    }
}

xfer_read xfer_json_next(xfer_reader *reader, tavola_entity **ret_entity)
{
    xfer_input *input = &reader->input;
    json_scan scan = {0};
    int c = skip_blanks(reader, reader->is_array);

    if (c == ']' && reader->is_array) {
        reader->is_over = true; /* what follows in an object around it is no entity */
        return XFER_READ_END;
    }
    if (c < 0) {
        reader->is_over = true;
        if (!reader->is_array)
            return XFER_READ_END;
        xfer_reader_take(reader, 0);
        return xfer_reader_refuse(reader, "the file ends within the array");
    }
    if (c != '{')
        return xfer_reader_take_rest_of_line(reader, "there is no object here");
    if (!scan_object(input, &scan)) {
        bool is_long = !input->is_end;
        xfer_read read = xfer_reader_take_rest_of_line(
            reader, is_long ? "is too long for an entity" : "the file ends within this object");

        if (!is_long)
            reader->is_over = true;
        return read;
    }
    xfer_reader_take(reader, scan.at);
    return read_entity(reader, ret_entity);
}

xfer_read xfer_ndjson_next(xfer_reader *reader, tavola_entity **ret_entity)
{
    xfer_input *input = &reader->input;

    for (;;) {
        size_t seen = 0, size;
        const char *end;

        while ((end = memchr(input->data + input->begin + seen, '\n',
                             input->end - input->begin - seen)) == NULL) {
            seen = input->end - input->begin;
            if (!xfer_input_more(input))
                break;
        }
        if (end == NULL && seen == 0) {
            reader->is_over = true;
            return XFER_READ_END;
        }
        if (end == NULL && !input->is_end)
            return xfer_reader_take_rest_of_line(reader, "is too long for an entity");

        const char *begin = input->data + input->begin;

        size = end ? (size_t)(end - begin) : seen;
        xfer_reader_take(reader, end ? size + 1 : size);
        while (size && is_blank((unsigned char)begin[size - 1]))
            size--;
        reader->record_size = size;
        if (size)
            break;
        xfer_reader_end(reader); /* an empty line */
    }

    xfer_read read = read_entity(reader, ret_entity);

    if (read == XFER_READ_BAD && input->is_end && input->begin + reader->held == input->end &&
        reader->record_size == reader->held)
        return xfer_reader_refuse(reader, "the file ends within this line");
    return read;
}
