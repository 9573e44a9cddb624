/* The decoder of chunked bodies: a state machine over single bytes, data excepted. */
#include "wire/http/chunked.h"

#include "base/assert.h"

enum { SIZE_DIGITS_MAX = 15 }; /* more cannot be meant, and 15 cannot overflow */

enum state {
    SIZE,       /* hexadecimal digits */
    EXTENSION,  /* after ';', up to CR */
    SIZE_LF,    /* LF of the size line */
    DATA,       /* `left` bytes */
    DATA_CR,    /* CR after them */
    DATA_LF,    /* and LF */
    TRAILER,    /* a line of the trailer section, up to CR */
    TRAILER_LF, /* its LF; an empty line is the end */
    DONE,
};

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = tv_ascii_lower(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool is_text(char c)
{
    return ((unsigned char)c >= 0x20 && c != 0x7f) || c == '\t';
}

/* Skip a byte that is of no use, unless there were too many of them. */
static bool discard(tv_chunked *chunked, char c)
{
    return is_text(c) && ++chunked->discard_bytes <= TV_CHUNKED_DISCARD_MAX;
}

static tv_err step_size(tv_chunked *chunked, char c)
{
    int value = hex_value(c);

    if (value >= 0) {
        chunked->left = chunked->left * 16 + (uint64_t)value;
        return ++chunked->digit_count <= SIZE_DIGITS_MAX ? TV_OK : TV_ERR_BAD_REQUEST;
    }
    if (chunked->digit_count == 0 || (c != '\r' && c != ';'))
        return TV_ERR_BAD_REQUEST;

    chunked->digit_count = 0;
    chunked->state = c == ';' ? EXTENSION : SIZE_LF;
    return TV_OK;
}

/* One byte of framing. */
static tv_err step(tv_chunked *chunked, char c)
{
    switch ((enum state)chunked->state) {
    case SIZE:
        return step_size(chunked, c);
    case EXTENSION:
        if (c == '\r')
            chunked->state = SIZE_LF;
        else if (!discard(chunked, c))
            return TV_ERR_BAD_REQUEST;
        return TV_OK;
    case SIZE_LF:
        chunked->state = chunked->left ? DATA : TRAILER;
        return c == '\n' ? TV_OK : TV_ERR_BAD_REQUEST;
    case DATA_CR:
        chunked->state = DATA_LF;
        return c == '\r' ? TV_OK : TV_ERR_BAD_REQUEST;
    case DATA_LF:
        chunked->state = SIZE;
        return c == '\n' ? TV_OK : TV_ERR_BAD_REQUEST;
    case TRAILER:
        if (c == '\r') {
            chunked->state = TRAILER_LF;
            return TV_OK;
        }
        chunked->trailing++;
        return discard(chunked, c) ? TV_OK : TV_ERR_BAD_REQUEST;
    case TRAILER_LF:
        chunked->state = chunked->trailing ? TRAILER : DONE;
        chunked->trailing = 0;
        return c == '\n' ? TV_OK : TV_ERR_BAD_REQUEST;
    case DATA:
    case DONE:
        break;
    }
    tv_assert(!"a byte of framing in a state that has none");
    return TV_ERR_BAD_REQUEST;
}

tv_err tv_chunked_decode(tv_chunked *chunked, tv_slice *input, tv_slice *ret_data,
                         bool *ret_is_done)
{
    *ret_data = TV_NONE;
    while (input->len && chunked->state != DONE) {
        if (chunked->state == DATA) {
            size_t count = input->len < chunked->left ? input->len : (size_t)chunked->left;

            *ret_data = tv_slice_take(*input, count);
            *input = tv_slice_skip(*input, count);
            chunked->left -= count;
            if (chunked->left == 0)
                chunked->state = DATA_CR;
            break;
        }
        tv_err err = step(chunked, input->data[0]);
        if (err)
            return err;

        *input = tv_slice_skip(*input, 1);
    }
    *ret_is_done = chunked->state == DONE;
    return TV_OK;
}
