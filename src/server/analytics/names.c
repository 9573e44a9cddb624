/* Names made and read. */
#include "server/analytics/names.h"

#include <stdio.h>

#include "base/assert.h"
#include "base/datetime.h"

tv_slice tv_analytics_folder(char to[TV_ANALYTICS_NAME_SIZE], tv_service_kind service, int64_t hour)
{
    tv_date date = tv_date_of(hour);
    int len =
        snprintf(to, TV_ANALYTICS_NAME_SIZE, "%.*s/%04d/%02d/%02d/%02d00/",
                 TV_FMT(tv_service_kind_name(service)), date.year, date.month, date.day, date.hour);

    tv_assert(len > 0 && len < TV_ANALYTICS_NAME_SIZE);
    return (tv_slice){to, (size_t)len};
}

tv_slice tv_analytics_blob_name(char to[TV_ANALYTICS_NAME_SIZE], tv_service_kind service,
                                int64_t hour, int number)
{
    tv_slice folder = tv_analytics_folder(to, service, hour);
    int len = snprintf(to + folder.len, TV_ANALYTICS_NAME_SIZE - folder.len, "%06d.log", number);

    tv_assert(len > 0 && folder.len + (size_t)len < TV_ANALYTICS_NAME_SIZE);
    return (tv_slice){to, folder.len + (size_t)len};
}

/* The date is read by the form that all dates have. */
bool tv_analytics_blob_hour(tv_slice name, tv_service_kind service, int64_t *ret_hour)
{
    enum { DATE_LEN = sizeof "2026/01/02/0300/" - 1 };
    tv_slice kind = tv_service_kind_name(service);
    tv_slice rest = tv_slice_starts_with(name, kind) ? tv_slice_skip(name, kind.len) : TV_NONE;
    char text[32];
    int64_t ticks;

    if (rest.len < 1 + DATE_LEN || rest.data[0] != '/')
        return false;

    const char *date = rest.data + 1;

    if (date[4] != '/' || date[7] != '/' || date[10] != '/' || date[13] != '0' || date[14] != '0' ||
        date[15] != '/')
        return false;
    snprintf(text, sizeof text, "%.4s-%.2s-%.2sT%.2s:00:00Z", date, date + 5, date + 8, date + 11);
    if (!tv_datetime_parse(tv_slice_of(text), &ticks))
        return false;

    *ret_hour = ticks;
    return true;
}

tv_slice tv_analytics_partition(char to[TV_ANALYTICS_NAME_SIZE], int64_t ticks)
{
    tv_date date = tv_date_of(ticks);
    int len = snprintf(to, TV_ANALYTICS_NAME_SIZE, "%04d%02d%02dT%02d%02d", date.year, date.month,
                       date.day, date.hour, date.minute);

    tv_assert(len > 0 && len < TV_ANALYTICS_NAME_SIZE);
    return (tv_slice){to, (size_t)len};
}
