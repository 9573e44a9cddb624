/* Clients and tables: opening, closing, counting references. */
#include "client/client.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/assert.h"
#include "client/account/bearer.h"
#include "client/account/connection.h"
#include "client/op/loop.h"
#include "client/text.h"
#include "client/why.h"

enum {
    CONNECT_TIMEOUT_MS = 10 * 1000,
    ATTEMPT_TIMEOUT_MS = 35 * 1000, /* the service gives up at 30 s */
    TOTAL_TIMEOUT_MS = 120 * 1000,
    RETRY_MAX = 3,
    RETRY_DELAY_MS = 800,
    RETRY_DELAY_MAX_MS = 60 * 1000,
    CONNECTIONS_MAX = 32,
    LOG_LINE_MAX = 512,
    TABLE_NAME_MIN = 3,
    TABLE_NAME_MAX = 63,
};

/* ---- opening -------------------------------------------------------------------------------- */

static void set_default(uint32_t *option, uint32_t value)
{
    if (*option == 0)
        *option = value;
}

static bool dup_option(const char **option)
{
    if (*option == NULL)
        return true;
    *option = tvc_dup_text(*option);
    return *option != NULL;
}

static tavola_err take_options(tavola_client *client, const tavola_client_options *given)
{
    tavola_client_options *options = &client->options;

    if (given) {
        if (given->struct_size < sizeof given->struct_size)
            return tvc_refuse(TAVOLA_ERR_INVALID, "struct_size of the options is not set");
        memcpy(options, given,
               given->struct_size < sizeof *options ? given->struct_size : sizeof *options);
    }
    options->struct_size = sizeof *options;
    set_default(&options->connect_timeout_ms, CONNECT_TIMEOUT_MS);
    set_default(&options->attempt_timeout_ms, ATTEMPT_TIMEOUT_MS);
    set_default(&options->total_timeout_ms, TOTAL_TIMEOUT_MS);
    set_default(&options->retry_max, RETRY_MAX);
    if (options->retry_max == UINT32_MAX)
        options->retry_max = 0;
    set_default(&options->retry_delay_ms, RETRY_DELAY_MS);
    set_default(&options->retry_delay_max_ms, RETRY_DELAY_MAX_MS);
    set_default(&options->connections_max, CONNECTIONS_MAX);

    /* From here on the texts are ours, each of them or NULL. */
    bool has_memory = dup_option(&options->application);

    has_memory &= dup_option(&options->ca_file);
    has_memory &= dup_option(&options->proxy);
    if (options->token_scope == NULL)
        options->token_scope = "https://storage.azure.com/.default";
    has_memory &= dup_option(&options->token_scope);
    if (!has_memory)
        return TAVOLA_ERR_NO_MEMORY;

    if (options->application && !tv_slice_is_printable(tv_slice_of(options->application)))
        return tvc_refuse(TAVOLA_ERR_INVALID,
                          "the name of the application has characters other than printable ASCII");
    if (options->token == NULL)
        return TAVOLA_OK;

    if (options->secondary_reads)
        return tvc_refuse(
            TAVOLA_ERR_INVALID,
            "bearer tokens are not sent to secondaries: secondary_reads excludes them");
    client->bearers = tvc_bearers_new(client);
    return client->bearers ? TAVOLA_OK : TAVOLA_ERR_NO_MEMORY;
}

static tavola_err make_user_agent(tavola_client *client)
{
    tvc_text text = {0};

    if (client->options.application && client->options.application[0]) {
        tvc_text_add(&text, tv_slice_of(client->options.application));
        tvc_text_add_char(&text, ' ');
    }
    tvc_text_add_lit(&text, "tavola/");
    tvc_text_add(&text, tv_slice_of(tavola_version()));
    client->user_agent = tvc_text_take(&text);
    return client->user_agent ? TAVOLA_OK : TAVOLA_ERR_NO_MEMORY;
}

static tavola_err open_endpoint(const tavola_client *client, const char *url,
                                tvc_endpoint **ret_endpoint)
{
    tvc_net_options options = {
        .connect_timeout_ms = client->options.connect_timeout_ms,
        .connections_max = client->options.connections_max,
        .ca_file = client->options.ca_file,
        .proxy = client->options.proxy,
    };
    const char *why = NULL;

    if (url == NULL)
        return TAVOLA_OK;

    tavola_err err = tvc_endpoint_open(url, &options, ret_endpoint, &why);

    return err && why ? tvc_refuse(err, "%s", why) : err;
}

static tavola_err open_endpoints(tavola_client *client, const tvc_connection *connection)
{
    for (int i = 0; i < TVC_SERVICES; i++) {
        tavola_err err = open_endpoint(client, connection->primary[i], &client->primary[i]);

        if (err == TAVOLA_OK && client->options.secondary_reads)
            err = open_endpoint(client, connection->secondary[i], &client->secondary[i]);
        if (err)
            return err;
        if (client->bearers && client->primary[i] && !tvc_endpoint_is_https(client->primary[i]))
            return tvc_refuse(TAVOLA_ERR_INVALID,
                              "bearer tokens are sent over https alone, and an endpoint is http");
    }
    return TAVOLA_OK;
}

static tavola_err open_client(tavola_client *client, const char *connection_string,
                              const tavola_client_options *options)
{
    tvc_connection connection = {0};
    tavola_err err;

    err = take_options(client, options);
    if (err)
        return err;

    err = make_user_agent(client);
    if (err)
        return err;

    err = tvc_connection_parse(connection_string, client->bearers != NULL, &connection);
    if (err)
        return err;

    client->credentials = connection.credentials;
    connection.credentials = (tvc_credentials){0};
    err = open_endpoints(client, &connection);
    for (int i = 0; i < TVC_SERVICES; i++) {
        client->urls[i] = connection.primary[i];
        client->secondary_urls[i] = connection.secondary[i];
        connection.primary[i] = connection.secondary[i] = NULL;
    }
    tvc_connection_done(&connection);
    return err;
}

tavola_err tavola_client_open(const char *connection_string, const tavola_client_options *options,
                              tavola_client **ret_client)
{
    if (ret_client == NULL)
        return tvc_refuse(TAVOLA_ERR_INVALID, "there is no place for the client");
    if (connection_string == NULL)
        return tvc_refuse(TAVOLA_ERR_INVALID, "there is no connection string");

    tavola_client *client = tvc_zalloc(sizeof *client);

    if (client == NULL)
        return TAVOLA_ERR_NO_MEMORY;

    pthread_mutex_init(&client->lock, NULL);
    atomic_store(&client->references, 1);

    tavola_err err = open_client(client, connection_string, options);

    if (err) {
        tvc_client_unref(client);
        return err;
    }
    *ret_client = client;
    return TAVOLA_OK;
}

tavola_err tvc_client_open_secondary(tavola_client *client, tv_service_kind service,
                                     tavola_call *call, tvc_endpoint **ret_endpoint)
{
    if (client->secondary_urls[service] == NULL)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID,
                               "the secondary endpoint of this service is not known");
    if (client->bearers)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID,
                               "bearer tokens are not sent to secondaries");

    tavola_err err = open_endpoint(client, client->secondary_urls[service], ret_endpoint);

    return err ? tvc_call_refuse(call, err, "%s", tavola_error_text(err)) : TAVOLA_OK;
}

/* ---- closing -------------------------------------------------------------------------------- */

static void free_credentials(tvc_credentials *credentials)
{
    tvc_release(credentials->account);
    if (credentials->has_key)
        tv_hmac_key_done(&credentials->key);
    tvc_release_secret(credentials->sas);
}

static void free_client(tavola_client *client)
{
    tvc_loop_free(client->loop);
    tvc_bearers_free(client->bearers);
    for (int i = 0; i < TVC_SERVICES; i++) {
        if (client->primary[i])
            tvc_endpoint_close(client->primary[i]);
        if (client->secondary[i])
            tvc_endpoint_close(client->secondary[i]);
        tvc_release(client->urls[i]);
        tvc_release(client->secondary_urls[i]);
    }
    free_credentials(&client->credentials);
    tvc_release((char *)client->options.application);
    tvc_release((char *)client->options.ca_file);
    tvc_release((char *)client->options.proxy);
    tvc_release((char *)client->options.token_scope);
    tvc_release(client->user_agent);
    pthread_mutex_destroy(&client->lock);
    tvc_release(client);
}

tavola_client *tvc_client_ref(tavola_client *client)
{
    atomic_fetch_add_explicit(&client->references, 1, memory_order_relaxed);
    return client;
}

void tvc_client_unref(tavola_client *client)
{
    if (client == NULL)
        return;

    int before = atomic_fetch_sub_explicit(&client->references, 1, memory_order_acq_rel);

    tv_assert(before > 0);
    if (before == 1)
        free_client(client);
}

void tavola_client_close(tavola_client *client)
{
    if (client == NULL)
        return;

    tvc_loop_close(client);
    tvc_client_unref(client);
}

const char *tavola_client_endpoint(const tavola_client *client, tavola_service service)
{
    bool is_service = (unsigned)service < TVC_SERVICES;

    return client && is_service ? client->urls[service] : NULL;
}

const char *tavola_client_account(const tavola_client *client)
{
    return client ? client->credentials.account : "";
}

void tvc_client_log(const tavola_client *client, int level, const char *format, ...)
{
    char line[LOG_LINE_MAX];
    va_list args;

    if (client->options.log == NULL)
        return;

    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    client->options.log(client->options.log_user, level, line);
}

/* ---- tables --------------------------------------------------------------------------------- */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/*
 * 3 to 63 letters and digits after a letter; or one of the tables of metrics, which are read.  What
 * is sent to "Tables" would mean the list of tables.
 */
static bool is_table_name(tv_slice name)
{
    if (name.len < TABLE_NAME_MIN || name.len > TABLE_NAME_MAX ||
        tv_slice_eq_nocase(name, TV_LIT("tables")))
        return false;
    if (tv_slice_starts_with(name, TV_LIT("$Metrics")))
        name = tv_slice_skip(name, 1);
    if (!is_letter(name.data[0]))
        return false;
    for (size_t i = 0; i < name.len; i++) {
        if (!is_letter(name.data[i]) && !(name.data[i] >= '0' && name.data[i] <= '9'))
            return false;
    }
    return true;
}

tavola_err tavola_table_open(tavola_client *client, const char *name, tavola_table **ret_table)
{
    if (client == NULL || ret_table == NULL || name == NULL)
        return tvc_refuse(TAVOLA_ERR_INVALID,
                          "the client, the name of the table, or the place for it is NULL");
    if (!is_table_name(tv_slice_of(name)))
        return tvc_refuse(TAVOLA_ERR_INVALID,
                          "\"%.64s\" is no name of a table: 3 to 63 letters and digits, a letter "
                          "first",
                          name);

    tavola_table *table = tvc_zalloc(sizeof *table);

    if (table == NULL)
        return TAVOLA_ERR_NO_MEMORY;

    table->name = tvc_dup_text(name);
    if (table->name == NULL) {
        tvc_release(table);
        return TAVOLA_ERR_NO_MEMORY;
    }
    table->client = tvc_client_ref(client);
    *ret_table = table;
    return TAVOLA_OK;
}

void tavola_table_close(tavola_table *table)
{
    if (table == NULL)
        return;

    tvc_client_unref(table->client);
    tvc_release(table->name);
    tvc_release(table);
}

const char *tavola_table_name(const tavola_table *table)
{
    return table ? table->name : NULL;
}

void tavola_table_set_crypto(tavola_table *table, tavola_crypto *crypto)
{
    if (table)
        table->crypto = crypto;
}
