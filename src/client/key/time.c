/* Times and guids as values and as text. */
#include "base/assert.h"
#include "base/clock.h"
#include "base/datetime.h"
#include "base/guid.h"
#include "client/memory.h"

enum { TICKS_PER_US = 10, TIME_TEXT_LEN = 28 };

tavola_ticks tavola_now(void)
{
    return tv_clock_ticks();
}

tavola_ticks tavola_ticks_from_unix_us(int64_t microseconds)
{
    int64_t ticks;

    if (__builtin_mul_overflow(microseconds, TICKS_PER_US, &ticks) ||
        __builtin_add_overflow(ticks, TV_TICKS_UNIX_EPOCH, &ticks))
        return microseconds < 0 ? 0 : TV_TICKS_MAX;
    if (ticks < 0)
        return 0;
    return ticks < TV_TICKS_MAX ? ticks : TV_TICKS_MAX;
}

int64_t tavola_ticks_to_unix_us(tavola_ticks ticks)
{
    int64_t since =
        ticks < INT64_MIN + TV_TICKS_UNIX_EPOCH ? INT64_MIN : ticks - TV_TICKS_UNIX_EPOCH;

    /* Division cuts towards zero; a microsecond before 1970 has begun at its lower end, too. */
    return since / TICKS_PER_US - (since % TICKS_PER_US < 0);
}

void tavola_ticks_format(tavola_ticks ticks, char ret_text[29])
{
    char text[TV_DATETIME_TEXT_MAX];
    size_t len = 0;

    if (ret_text == NULL)
        return;
    if (ticks >= 0 && ticks <= TV_TICKS_MAX)
        len = tv_datetime_format7(text, ticks);
    tv_assert(len <= TIME_TEXT_LEN);
    *tv_slice_put(ret_text, (tv_slice){text, len}) = '\0';
}

bool tavola_ticks_parse(const char *text, tavola_ticks *ret_ticks)
{
    int64_t ticks;

    if (text == NULL || ret_ticks == NULL || !tv_datetime_parse(tv_slice_of(text), &ticks))
        return false;
    *ret_ticks = ticks;
    return true;
}

bool tavola_guid_parse(const char *text, tavola_guid *ret_guid)
{
    tv_guid guid;

    if (text == NULL || ret_guid == NULL || !tv_guid_parse(tv_slice_of(text), &guid))
        return false;
    memcpy(ret_guid->bytes, guid.bytes, sizeof guid.bytes);
    return true;
}

void tavola_guid_format(tavola_guid guid, char ret_text[37])
{
    tv_guid copy;

    if (ret_text == NULL)
        return;
    memcpy(copy.bytes, guid.bytes, sizeof copy.bytes);
    tv_guid_format(ret_text, &copy);
    ret_text[TV_GUID_TEXT_LEN] = '\0';
}

/* One that nobody can guess: who knows what it will be used for. */
tavola_guid tavola_guid_random(void)
{
    tv_guid guid = tv_guid_new_secret();
    tavola_guid result;

    memcpy(result.bytes, guid.bytes, sizeof result.bytes);
    return result;
}
