/* What a read keeps of its table until the answer comes. */
#include "base/url.h"
#include "client/table/table.h"

static void release_reading(tavola_op *op)
{
    tvc_release(op->user_data);
}

tavola_err tvc_reading_hang(tavola_op *op, const tavola_table *table, tavola_crypto *crypto,
                            const char *partition_key, const char *row_key)
{
    const char *texts[] = {table->name, partition_key, row_key};
    enum { TEXTS = sizeof texts / sizeof *texts };
    size_t sizes[TEXTS], size = sizeof(tvc_reading);

    for (int i = 0; i < TEXTS; i++)
        size += sizes[i] = strlen(texts[i]) + 1;

    tvc_reading *reading = tvc_alloc(size);

    if (reading == NULL)
        return TAVOLA_ERR_NO_MEMORY;

    char *to = (char *)(reading + 1);

    for (int i = 0; i < TEXTS; to += sizes[i++])
        texts[i] = memcpy(to, texts[i], sizes[i]);
    *reading = (tvc_reading){
        .crypto = crypto, .table = texts[0], .partition_key = texts[1], .row_key = texts[2]};
    op->user_data = reading;
    op->release = release_reading;
    return TAVOLA_OK;
}

/*
 * A client that knows a signature and endpoints alone tells the account as the service does: by
 * the path of an emulator's endpoint, else by the first label of its host.
 */
static tv_slice account_of(const tavola_client *client)
{
    tv_slice account = tv_slice_of(client->credentials.account);
    const char *text = client->urls[TV_SERVICE_TABLE], *why;
    tv_url url;

    if (account.len || text == NULL || !tv_url_parse(tv_slice_of(text), &url, &why))
        return account;
    account = tv_url_base_path(&url);
    if (account.len == 0)
        return tv_slice_take(url.host, tv_slice_find(url.host, '.'));
    while (tv_slice_find(account, '/') < account.len)
        account = tv_slice_skip(account, tv_slice_find(account, '/') + 1);
    return account;
}

tvc_place tvc_place_of(const tavola_client *client, const char *table)
{
    return (tvc_place){account_of(client), tv_slice_of(table)};
}
