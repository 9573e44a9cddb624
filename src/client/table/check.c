/* The checks that all operations on tables begin with. */
#include "client/table/table.h"

#include "client/entity/rules.h"

tavola_table *tvc_table_copy(const tavola_table *table)
{
    tavola_table *copy = NULL;

    if (tavola_table_open(table->client, table->name, &copy) != TAVOLA_OK)
        return NULL;
    copy->crypto = table->crypto;
    return copy;
}

tavola_crypto *tvc_table_crypto(const tavola_table *table, const tavola_call *call)
{
    return call && call->crypto ? call->crypto : table ? table->crypto : NULL;
}

tavola_err tvc_table_check(const tavola_table *table, tavola_call *call)
{
    if (table == NULL)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "there is no table: it is NULL");
    return TAVOLA_OK;
}

static tavola_err check_key(const char *which, const char *key, tavola_call *call)
{
    if (key == NULL)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "%s is NULL", which);

    tvc_refusal refusal = tvc_check_key(tv_slice_of(key));

    if (refusal.err)
        return tvc_call_refuse(call, refusal.err, "%s %s", which, refusal.why);
    return TAVOLA_OK;
}

tavola_err tvc_table_check_keys(const tavola_table *table, const char *partition_key,
                                const char *row_key, tavola_call *call)
{
    tavola_err err = tvc_table_check(table, call);

    if (err == TAVOLA_OK)
        err = check_key("PartitionKey", partition_key, call);
    return err ? err : check_key("RowKey", row_key, call);
}

tavola_err tvc_table_check_query(const tavola_query *query, tavola_call *call)
{
    tavola_err err = query ? tvc_query_error(query) : TAVOLA_OK;

    return err ? tvc_call_refuse(call, err, "%s", tvc_query_why(query)) : TAVOLA_OK;
}
