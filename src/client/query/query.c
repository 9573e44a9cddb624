/* Queries: what is asked for, and how it is written into a URL. */
#include "client/query/query.h"

#include <stdio.h>

#include "client/query/filter.h"

enum { PAGE_MAX = 1000, NAMES_MAX = 252 };

struct tavola_query {
    tavola_err error; /* the first, of which `why` says more */
    char why[160];
    tavola_filter *filter; /* or NULL */
    char *select;          /* names of the application with commas between them; NULL: all */
    bool is_keys_only;
    uint32_t page_size; /* 0: the service's */
    uint64_t limit;     /* UINT64_MAX: none */
};

/*
 * What tavola_query_new returns when there is no memory.  NULL would be a query for everything.
 * Nothing changes it, so all threads may share it.
 */
static tavola_query no_memory_query = {.error = TAVOLA_ERR_NO_MEMORY, .limit = UINT64_MAX};

static void fail(tavola_query *query, tavola_err err, const char *why)
{
    if (query->error)
        return;
    query->error = err;
    snprintf(query->why, sizeof query->why, "%s", why);
}

tavola_query *tavola_query_new(tavola_filter *filter)
{
    tavola_query *query = tvc_zalloc(sizeof *query);

    if (query == NULL) {
        tavola_filter_free(filter);
        return &no_memory_query;
    }
    query->filter = filter;
    if (filter && filter->error)
        fail(query, filter->error, tavola_filter_error_text(filter));
    query->limit = UINT64_MAX;
    return query;
}

void tavola_query_free(tavola_query *query)
{
    if (query == NULL || query == &no_memory_query)
        return;

    tavola_filter_free(query->filter);
    tvc_release(query->select);
    tvc_release(query);
}

/* Whether a name is in a list with commas. */
static bool is_listed(tv_slice list, tv_slice name)
{
    tv_slice part;

    while (tv_slice_next(&list, ',', &part)) {
        if (tv_slice_eq(part, name))
            return true;
    }
    return false;
}

#define SYSTEM_NAMES "PartitionKey,RowKey,Timestamp"

/* Names once each, without those that every $select has. */
static tavola_err join_names(const char *const *names, char **ret_joined, char why[160])
{
    tvc_text text = {0};
    size_t count = 0;

    for (; *names; names++) {
        tv_slice name = tv_slice_of(*names);

        if (!tvc_filter_name_is_valid(name)) {
            tvc_text_done(&text);
            snprintf(why, 160, "\"%.64s\" cannot be selected: it is no name of a property", *names);
            return TAVOLA_ERR_INVALID;
        }
        if (is_listed(TV_LIT(SYSTEM_NAMES), name) || is_listed(tvc_text_slice(&text), name))
            continue;
        if (++count > NAMES_MAX) {
            tvc_text_done(&text);
            snprintf(why, 160, "an entity has at most %d properties to select", NAMES_MAX);
            return TAVOLA_ERR_INVALID;
        }
        if (text.buf.len)
            tvc_text_add_char(&text, ',');
        tvc_text_add(&text, name);
    }
    *ret_joined = tvc_text_take(&text);
    return *ret_joined ? TAVOLA_OK : TAVOLA_ERR_NO_MEMORY;
}

void tavola_query_select(tavola_query *query, const char *const *names)
{
    char *joined = NULL, why[sizeof query->why] = "there is no memory";

    if (query == NULL || query->error)
        return;
    if (names) {
        tavola_err err = join_names(names, &joined, why);

        if (err) {
            fail(query, err, why);
            return;
        }
    }
    tvc_release(query->select);
    query->select = joined;
}

void tavola_query_set_page_size(tavola_query *query, uint32_t entities_max)
{
    if (query == NULL || query->error)
        return;
    if (entities_max > PAGE_MAX)
        fail(query, TAVOLA_ERR_INVALID, "a page has at most 1,000 entities");
    else
        query->page_size = entities_max;
}

void tavola_query_set_limit(tavola_query *query, uint64_t entities_max)
{
    if (query == NULL || query->error)
        return;
    query->limit = entities_max ? entities_max : UINT64_MAX;
}

/* --- for those who send it --- */

tavola_err tvc_query_error(const tavola_query *query)
{
    return query ? query->error : TAVOLA_OK;
}

const char *tvc_query_why(const tavola_query *query)
{
    return query->why[0] ? query->why : "there was no memory for the query";
}

uint64_t tvc_query_limit(const tavola_query *query)
{
    return query ? query->limit : UINT64_MAX;
}

bool tvc_query_is_selection(const tavola_query *query)
{
    return query && (query->select || query->is_keys_only);
}

void tvc_query_select_also(tavola_query *query, const char *const *names)
{
    tvc_text text = {0};

    if (query->error || query->select == NULL)
        return;
    tvc_text_add(&text, tv_slice_of(query->select));
    for (; *names; names++) {
        tvc_text_add_char(&text, ',');
        tvc_text_add(&text, tv_slice_of(*names));
    }

    char *joined = tvc_text_take(&text);

    if (joined == NULL) {
        fail(query, TAVOLA_ERR_NO_MEMORY, "there is no memory");
        return;
    }
    tvc_release(query->select);
    query->select = joined;
}

/* "name=" after what is there already. */
static void begin_parameter(tvc_text *text, size_t start, tv_slice name)
{
    if (text->buf.len > start)
        tvc_text_add_char(text, '&');
    tvc_text_add(text, name);
}

/* Commas stay as they are. */
static void write_names(tvc_text *text, tv_slice list)
{
    tv_slice name;

    while (tv_slice_next(&list, ',', &name)) {
        if (name.len == 0)
            continue;
        tvc_text_add_char(text, ',');
        tvc_text_add_encoded(text, name);
    }
}

static void write_select(tvc_text *text, const tavola_query *query, const char *const *extra)
{
    tv_slice chosen = query->select ? tv_slice_of(query->select) : TV_NONE;

    if (query->is_keys_only) {
        tvc_text_add_lit(text, "PartitionKey,RowKey");
        chosen = TV_NONE;
    } else {
        tvc_text_add_lit(text, SYSTEM_NAMES);
    }
    write_names(text, chosen);
    for (; extra && *extra; extra++) {
        if (!is_listed(chosen, tv_slice_of(*extra)))
            write_names(text, tv_slice_of(*extra));
    }
}

void tvc_query_write(tvc_text *text, const tavola_query *query, uint64_t limit_left,
                     const char *const *extra)
{
    size_t start = text->buf.len;
    uint64_t top;

    if (query == NULL)
        return;

    if (query->filter) {
        begin_parameter(text, start, TV_LIT("$filter="));
        tvc_text_add_encoded(text, tvc_filter_slice(query->filter));
    }
    if (query->select || query->is_keys_only) {
        begin_parameter(text, start, TV_LIT("$select="));
        write_select(text, query, extra);
    }
    top = query->page_size ? query->page_size : PAGE_MAX;
    top = limit_left < top ? limit_left : top;
    if (query->page_size || top < PAGE_MAX) {
        begin_parameter(text, start, TV_LIT("$top="));
        tvc_text_add_int64(text, top ? (int64_t)top : 1);
    }
}

static tavola_query *copy_of(const tavola_query *query, bool is_keys_only)
{
    tavola_query *copy = tvc_zalloc(sizeof *copy);

    if (copy == NULL)
        return NULL;
    copy->limit = UINT64_MAX;
    copy->is_keys_only = is_keys_only;
    if (query == NULL)
        return copy;

    copy->error = query->error;
    memcpy(copy->why, query->why, sizeof copy->why);
    copy->page_size = query->page_size;
    copy->limit = query->limit;
    copy->is_keys_only |= query->is_keys_only;
    if (query->filter)
        copy->filter = tvc_filter_copy(query->filter);
    if (!is_keys_only)
        copy->select = tvc_dup_text(query->select);
    if ((query->filter && copy->filter->error != query->filter->error) ||
        (!is_keys_only && query->select && copy->select == NULL)) {
        tavola_query_free(copy);
        return NULL;
    }
    return copy;
}

tavola_query *tvc_query_copy(const tavola_query *query)
{
    return copy_of(query, false);
}

tavola_query *tvc_query_keys_only(const tavola_query *query)
{
    return copy_of(query, true);
}

tavola_query *tvc_query_narrow(const tavola_query *query, tavola_filter *filter)
{
    tavola_query *copy = copy_of(query, false);

    if (copy == NULL) {
        tavola_filter_free(filter);
        return NULL;
    }
    copy->filter = copy->filter ? tavola_and(filter, copy->filter) : filter;
    if (copy->filter->error)
        fail(copy, copy->filter->error, tavola_filter_error_text(copy->filter));
    return copy;
}
