/*
 * Against the log data anti-pattern: lines go to the append blob of their hour.  An append is made
 * at one position or not at all (tavola_blob_append), so a repeated one is never there twice.
 */
#include "base/datetime.h"
#include "client/patterns/pattern.h"

enum { NAME_SIZE = 1100, PARTS_MAX = 10000 };

/* "stem/2026/01/02/03.log", and when that is full "stem/2026/01/02/03_1.log"... */
static bool make_name(const char *stem, tavola_ticks when, unsigned part, char ret_name[NAME_SIZE])
{
    tv_date at = tv_date_of(when);
    char number[16] = "";

    if (part > 0)
        snprintf(number, sizeof number, "_%u", part);

    int len = snprintf(ret_name, NAME_SIZE, "%s/%04d/%02d/%02d/%02d%s.log", stem, at.year, at.month,
                       at.day, at.hour, number);

    return len > 0 && len < NAME_SIZE;
}

static tavola_err append(tavola_container *container, const char *name, const void *data,
                         size_t size, tavola_call *call)
{
    tavola_err err = tavola_blob_append(container, name, data, size, call, NULL);

    if (!tvc_is_absent(err, call))
        return err;

    /* The first of its hour; another program may be faster. */
    tavola_blob_options options = {
        .struct_size = sizeof options, .content_type = "text/plain", .if_absent = true};

    err = tavola_blob_create_append(container, name, &options, call);
    if (err == TAVOLA_OK || err == TAVOLA_ERR_EXISTS)
        err = tavola_blob_append(container, name, data, size, call, NULL);
    return err;
}

static bool is_full(tavola_err err, const tavola_call *call)
{
    return err != TAVOLA_OK && strcmp(tavola_call_code(call), "BlockCountExceedsLimit") == 0;
}

static tavola_err append_to_hour(tavola_container *container, const char *stem, tavola_ticks when,
                                 const void *data, size_t size, tavola_call *call)
{
    tavola_err err = TAVOLA_OK;

    for (unsigned part = 0; part < PARTS_MAX; part++) {
        char name[NAME_SIZE];

        if (!make_name(stem, when, part, name))
            return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "the stem is too long");
        err = append(container, name, data, size, call);
        if (!is_full(err, call))
            break;
    }
    return err;
}

tavola_err tavola_log_blob_append(tavola_container *container, const char *stem, tavola_ticks when,
                                  const void *data, size_t size, tavola_call *call)
{
    if (container == NULL || stem == NULL || when < 0 || (data == NULL && size > 0))
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID,
                               "the container, stem, time or data is missing");
    if (size == 0)
        return TAVOLA_OK;

    tavola_call own;
    tavola_call *used = tvc_writing_call_of(call, &own);
    tavola_err err = append_to_hour(container, stem, when, data, size, used);

    tvc_writing_call_done(call, &own);
    return err;
}
