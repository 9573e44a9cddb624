/* High volume delete pattern: a table for each day. */
#include "base/datetime.h"
#include "client/patterns/pattern.h"

enum { DAY_DIGITS = 8 };

void tavola_dated_name(const char *stem, tavola_ticks day, char *ret_name, size_t size)
{
    if (ret_name == NULL || size == 0)
        return;
    ret_name[0] = '\0';
    if (stem == NULL || day < 0 || strlen(stem) + DAY_DIGITS + 1 > size)
        return;

    tv_date date = tv_date_of(day);

    snprintf(ret_name, size, "%s%04d%02d%02d", stem, date.year, date.month, date.day);
}

/* Whether a name is the stem and the digits of a day before `before`. */
static bool is_before(const char *name, const char *stem, const char *before)
{
    size_t stem_len = strlen(stem);

    if (strlen(name) != stem_len + DAY_DIGITS ||
        !tv_slice_eq_nocase((tv_slice){name, stem_len}, (tv_slice){stem, stem_len}))
        return false;

    for (size_t i = 0; i < DAY_DIGITS; i++) {
        if (name[stem_len + i] < '0' || name[stem_len + i] > '9')
            return false;
    }
    return strcmp(name + stem_len, before) < 0;
}

static tavola_err drop(tavola_client *client, const char *name, tavola_call *call)
{
    tavola_table *table = NULL;
    tavola_err err = tavola_table_open(client, name, &table);

    if (err)
        return err;
    err = tavola_table_delete_if_present(table, call);
    if (err == TAVOLA_ERR_CONFLICT && strcmp(tavola_call_code(call), "TableBeingDeleted") == 0)
        err = TAVOLA_OK;
    tavola_table_close(table);
    return err;
}

static tavola_err drop_all(tavola_client *client, const char *stem, tavola_ticks day,
                           tavola_call *call, uint64_t *ret_count)
{
    char before[DAY_DIGITS + 1];
    tavola_names *names = NULL;
    tavola_err err = tavola_table_list(client, stem, call, &names);
    uint64_t count = 0;

    tavola_dated_name("", day, before, sizeof before);
    for (size_t i = 0; err == TAVOLA_OK && i < tavola_names_count(names); i++) {
        const char *name = tavola_names_at(names, i);

        if (is_before(name, stem, before)) {
            err = drop(client, name, call);
            count++;
        }
    }
    tavola_names_free(names);
    if (err == TAVOLA_OK && ret_count)
        *ret_count = count;
    return err;
}

/* Whether a table can have the stem and that day as its name. */
static bool is_stem(tavola_client *client, const char *stem, tavola_ticks day)
{
    enum { TABLE_NAME_MAX = 63 };
    char name[TABLE_NAME_MAX + 1];
    tavola_table *table = NULL;

    tavola_dated_name(stem, day, name, sizeof name);

    bool is_name = tavola_table_open(client, name, &table) != TAVOLA_ERR_INVALID;

    tavola_table_close(table);
    return is_name;
}

tavola_err tavola_drop_before(tavola_client *client, const char *stem, tavola_ticks day,
                              tavola_call *call, uint64_t *ret_count)
{
    if (client == NULL || !is_stem(client, stem, day))
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID,
                               "there is no client, or no table can have that stem and day");

    tavola_call own;
    tavola_err err = drop_all(client, stem, day, tvc_writing_call_of(call, &own), ret_count);

    tvc_writing_call_done(call, &own);
    return err;
}
