/* Guids: 16 bytes in the order of their text, 8-4-4-4-12 in lower case. */
#ifndef TV_BASE_GUID_H
#define TV_BASE_GUID_H

#include <stdint.h>

#include "base/slice.h"

enum { TV_GUID_TEXT_LEN = 36 };

typedef struct tv_guid {
    uint8_t bytes[16];
} tv_guid;

/** The plain 36-character form in any case. */
bool tv_guid_parse(tv_slice text, tv_guid *ret_guid);

/**
 * Every form that .NET's Guid takes, which is how the service reads some of its
 * headers: 32 digits, the plain form, that in braces or parentheses, and numbers,
 * "{0x6f9619ff,0x8b86,0xd011,{0xb4,0x2d,0x00,0xc0,0x4f,0xc9,0x64,0xff}}".
 */
bool tv_guid_parse_any(tv_slice text, tv_guid *ret_guid);

void tv_guid_format(char to[TV_GUID_TEXT_LEN], const tv_guid *guid);

/**
 * A new random (version 4) guid: cheap, unique, not a secret, since seeing
 * some is enough to predict the next.  Names requests.  Any thread.
 */
tv_guid tv_guid_new(void);

/**
 * The same with 122 bits that nobody can guess; it costs some ten times as much.
 * For ids that grant a right to anybody who knows them: of leases, of messages.
 * Any thread.
 */
tv_guid tv_guid_new_secret(void);

#endif
