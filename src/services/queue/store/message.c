/*
 * Pop receipts: a version byte, the message's number in its queue and the secret,
 * eight bytes each, most significant first, in base 64.
 */
#include "services/queue/store/message.h"

#include "base/base64.h"
#include "services/queue/store/number.h"

enum { RECEIPT_VERSION = 1, RECEIPT_BYTES = 17 };

void tv_receipt_format(char to[TV_RECEIPT_TEXT_LEN], const tv_receipt *receipt)
{
    char bytes[RECEIPT_BYTES] = {RECEIPT_VERSION};

    tv_number_put(bytes + 1, receipt->sequence);
    tv_number_put(bytes + 9, (int64_t)receipt->secret);
    tv_base64_encode(to, (tv_slice){bytes, sizeof bytes});
}

bool tv_receipt_parse(tv_slice text, tv_receipt *ret_receipt)
{
    char bytes[TV_RECEIPT_TEXT_LEN]; /* more than tv_base64_decoded_max */
    size_t len;

    if (text.len != TV_RECEIPT_TEXT_LEN || !tv_base64_decode(bytes, text, &len))
        return false;
    if (len != RECEIPT_BYTES || bytes[0] != RECEIPT_VERSION)
        return false;

    *ret_receipt = (tv_receipt){tv_number_get(bytes + 1), (uint64_t)tv_number_get(bytes + 9)};
    return ret_receipt->sequence >= 0;
}
