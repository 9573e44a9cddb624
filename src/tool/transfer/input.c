/* Bytes of a file, as UTF-8. */
#include "input.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"

#include "../text.h"
#include "../tool.h"

enum { READ_BYTES = 1 << 18 };

static unsigned unit_at(const xfer_input *input, size_t at)
{
    const unsigned char *raw = (const unsigned char *)input->raw + at;

    return input->encoding == XFER_UTF16LE ? raw[0] | (unsigned)raw[1] << 8
                                           : raw[1] | (unsigned)raw[0] << 8;
}

static bool is_high(unsigned unit)
{
    return (unit & 0xfc00) == 0xd800;
}

static bool is_low(unsigned unit)
{
    return (unit & 0xfc00) == 0xdc00;
}

/* Convert what came; half a character waits for the rest of it, unless the file ends here. */
static void convert(xfer_input *input)
{
    char *to = input->data + input->end;
    size_t at = 0;

    while (input->raw_len - at >= 2) {
        unsigned unit = unit_at(input, at);

        if (is_high(unit)) {
            if (input->raw_len - at < 4 && !input->is_end)
                break;
            if (input->raw_len - at >= 4 && is_low(unit_at(input, at + 2))) {
                unsigned low = unit_at(input, at + 2);

                to += tv_utf8_put(to, 0x10000 + ((unit & 0x3ff) << 10 | (low & 0x3ff)));
                at += 4;
                continue;
            }
        }
        if (is_high(unit) || is_low(unit))
            *to++ = (char)0xff;
        else
            to += tv_utf8_put(to, unit);
        at += 2;
    }
    if (input->is_end && at < input->raw_len) {
        *to++ = (char)0xff; /* an odd byte at the end */
        at = input->raw_len;
    }
    memmove(input->raw, input->raw + at, input->raw_len - at);
    input->raw_len -= at;
    input->end = (size_t)(to - input->data);
}

static void make_room(xfer_input *input, size_t bytes)
{
    if (input->begin) {
        memmove(input->data, input->data + input->begin, input->end - input->begin);
        input->end -= input->begin;
        input->begin = 0;
    }
    while (input->size - input->end < bytes) {
        input->size = input->size ? input->size * 2 : bytes;
        input->data = tool_resize(input->data, input->size);
    }
}

static size_t read_some(xfer_input *input, char *to, size_t size)
{
    ssize_t got = -1;

    errno = EINTR;
    while (errno == EINTR && got < 0 && tool_stop_wait(input->fd, POLLIN, -1))
        got = read(input->fd, to, size);

    if (got < 0)
        input->error = errno;
    else if (got == 0 && tool_stop_signal())
        input->error = EINTR; /* what writes to us has been ended, too: that is not its end */
    else if (got == 0)
        input->is_end = true;
    else
        input->raw_bytes += (uint64_t)got;
    return got > 0 ? (size_t)got : 0;
}

bool xfer_input_more(xfer_input *input)
{
    size_t before = input->end - input->begin;

    if (input->is_end || input->error || before > XFER_RECORD_BYTES_MAX)
        return false;

    make_room(input, READ_BYTES);
    if (input->encoding == XFER_UTF8) {
        input->end += read_some(input, input->data + input->end, READ_BYTES);
        return input->end > before;
    }
    do {
        input->raw_len +=
            read_some(input, input->raw + input->raw_len, sizeof input->raw - input->raw_len);
        convert(input); /* two bytes become three at most, and READ_BYTES has room for them */
    } while (input->end == before && !input->is_end && !input->error);
    return input->end > before;
}

void xfer_input_consume(xfer_input *input, size_t len)
{
    const char *at = input->data + input->begin, *end = at + len;

    xfer_digest_add(&input->digest, at, len);
    while ((at = memchr(at, '\n', (size_t)(end - at))) != NULL) {
        input->place.line++;
        at++;
    }
    input->begin += len;
    input->place.offset += len;
}

bool xfer_input_skip_to(xfer_input *input, uint64_t offset)
{
    while (input->place.offset < offset) {
        uint64_t left = offset - input->place.offset;
        size_t there = input->end - input->begin;

        if (there == 0 && !xfer_input_more(input))
            return false;
        there = input->end - input->begin;
        xfer_input_consume(input, there < left ? there : (size_t)left);
    }
    return input->place.offset == offset;
}

static bool begins_with(const xfer_input *input, const char *bytes, size_t len)
{
    return input->end >= len && memcmp(input->data, bytes, len) == 0;
}

/* What is in input->data is UTF-16 after all: hand it to the conversion. */
static void turn_to_utf16(xfer_input *input, xfer_encoding encoding, size_t mark_len)
{
    size_t len = input->end - mark_len;

    memcpy(input->raw, input->data + mark_len, len);
    input->raw_len = len;
    input->end = 0;
    input->encoding = encoding;
    convert(input);
}

static const char *detect(xfer_input *input)
{
    if (begins_with(input, "\x1f\x8b", 2))
        return "it is compressed; gunzip -c FILE | tavola import TABLE -";
    if (begins_with(input, "PK\x03\x04", 4))
        return "it is a ZIP archive or a spreadsheet, not text";
    if (begins_with(input, "\xff\xfe\0\0", 4) || begins_with(input, "\0\0\xfe\xff", 4))
        return "it is UTF-32; UTF-8 and UTF-16 can be read";
    if (begins_with(input, "\xef\xbb\xbf", 3))
        input->begin = 3;
    else if (begins_with(input, "\xff\xfe", 2))
        turn_to_utf16(input, XFER_UTF16LE, 2);
    else if (begins_with(input, "\xfe\xff", 2))
        turn_to_utf16(input, XFER_UTF16BE, 2);
    else if (input->end >= 2 && input->data[0] && input->data[1] == '\0')
        turn_to_utf16(input, XFER_UTF16LE, 0);
    else if (input->end >= 2 && input->data[0] == '\0' && input->data[1])
        turn_to_utf16(input, XFER_UTF16BE, 0);
    return NULL;
}

const char *xfer_input_open(xfer_input *input, int fd)
{
    enum { SNIFF_BYTES = 4 };

    *input = (xfer_input){.fd = fd, .place = {.line = 1}};
    make_room(input, READ_BYTES);
    while (input->end < SNIFF_BYTES && !input->is_end && !input->error)
        input->end += read_some(input, input->data + input->end, sizeof input->raw - input->end);
    if (input->error)
        return strerror(input->error);
    return detect(input);
}

void xfer_input_close(xfer_input *input)
{
    if (input->fd > STDERR_FILENO)
        close(input->fd);
    free(input->data);
    input->data = NULL;
    input->fd = -1;
}
