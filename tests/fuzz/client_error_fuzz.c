/*
 * Error answers, as the client reads them for people: whatever comes, there is an error, and code
 * and message are one line of text each.  The first byte chooses the status.
 */
#include "fuzz.h"

#include "base/utf8.h"
#include "client/op/call.h"

static void check_line(const char *text, size_t size)
{
    tv_slice line = {text, strnlen(text, size)};

    tv_assert(line.len < size);
    tv_assert(tv_utf8_is_valid(line));
    for (size_t i = 0; i < line.len; i++)
        tv_assert((unsigned char)line.data[i] >= 0x20 && line.data[i] != 0x7f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;

    /* The body of an answer has a NUL after it; the header, one more line, has none. */
    tv_slice body = {(const char *)data + 1, size - 1};
    tv_header header = {TV_LIT("x-ms-error-code"), tv_slice_take(body, tv_slice_find(body, '\n'))};
    tvc_response response = {
        .status = 300 + data[0],
        .headers = &header,
        .header_count = 1,
        .body = tvc_dup(body),
        .body_len = body.len,
    };
    tavola_call call;

    tv_assert(response.body);
    tvc_call_init(&call);
    tv_assert(tvc_call_read_error(&call, &response) != TAVOLA_OK);
    check_line(call.code, sizeof call.code);
    check_line(call.message, sizeof call.message);
    tv_assert(call.message[0]);
    tvc_call_done(&call);
    tvc_release(response.body);
    return 0;
}
