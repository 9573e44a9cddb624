/*
 * The kernel is asked for some hundred bytes at a time, because a call costs more
 * than the bytes.  Each thread has a stock of its own, and what was handed out is
 * wiped from it.
 */
#include "base/random.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "base/assert.h"

/* The kernel gives this many in one piece, whatever signals arrive. */
enum { STOCK_BYTES = 256 };

static _Thread_local struct {
    unsigned char bytes[STOCK_BYTES];
    size_t left; /* the last of them */
} stock;

static void fill_stock(void)
{
    ssize_t count;

    do {
        count = getrandom(stock.bytes, sizeof stock.bytes, 0);
    } while (count < 0 && errno == EINTR);
    tv_assert(count == sizeof stock.bytes);
    stock.left = sizeof stock.bytes;
}

void tv_random_bytes(void *to, size_t len)
{
    unsigned char *out = to;

    while (len) {
        if (stock.left == 0)
            fill_stock();

        size_t count = len < stock.left ? len : stock.left;
        unsigned char *from = stock.bytes + sizeof stock.bytes - stock.left;

        memcpy(out, from, count);
        memset(from, 0, count);
        stock.left -= count;
        out += count;
        len -= count;
    }
}
