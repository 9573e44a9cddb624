/*
 * What the log and the messages of calls never show: account keys, signatures, passwords of
 * proxies, keys and values of entities.
 */
#include <pthread.h>

#include "live.h"

#define PARTITION "partition-of-ada"
#define ROW "row-of-ada"
#define VALUE "the-value-of-ada"
#define PASSWORD "pass-word-of-the-proxy"

enum { LOG_BYTES = 1024 * 1024, TEXT_MAX = 2000 };

static struct {
    pthread_mutex_t lock;
    char text[LOG_BYTES];
    size_t len, lines;
    int levels; /* bits */
} seen = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void keep(const char *text)
{
    size_t len = strlen(text);

    pthread_mutex_lock(&seen.lock);
    if (len < sizeof seen.text - seen.len) {
        memcpy(seen.text + seen.len, text, len);
        seen.len += len;
        seen.text[seen.len] = '\0';
    }
    pthread_mutex_unlock(&seen.lock);
}

static void keep_line(void *user, int level, const char *text)
{
    (void)user;
    keep(text);
    keep("\n");
    seen.lines++;
    seen.levels |= 1 << level;
}

static void check_hidden(const char *secret)
{
    const char *at = strlen(secret) > 3 ? strstr(seen.text, secret) : "too short a secret";

    if (at)
        CHECK_FAIL("a secret is shown: %.80s", at);
}

/* The part of the connection string after `name`, up to the next ';'. */
static void copy_setting(const char *name, char ret_value[TEXT_MAX])
{
    const char *at = strstr(connection_string(), name);

    CHECK(at != NULL);
    at += strlen(name);
    snprintf(ret_value, TEXT_MAX, "%.*s", (int)strcspn(at, ";"), at);
}

static tavola_client *open_logged(const char *connection, const char *proxy)
{
    tavola_client_options options = {
        .struct_size = sizeof options, .retry_max = UINT32_MAX, .log = keep_line, .proxy = proxy};
    tavola_client *client = NULL;

    CHECK_OK(tavola_client_open(connection, &options, &client));
    return client;
}

static void note(tavola_err err)
{
    (void)err;
    keep(tavola_call_message(t.call));
    keep("\n");
}

/* Things that work, things that do not, and things that are refused before they are sent. */
static void use(tavola_client *client)
{
    tavola_table *table = NULL, *none = NULL;
    tavola_entity *entity = tavola_entity_new(PARTITION, ROW), *found = NULL;
    tavola_page *page = NULL;
    tavola_op *op = NULL;

    CHECK_OK(tavola_table_open(client, tavola_table_name(t.table), &table));
    CHECK_OK(tavola_table_open(client, "NoSuchTable", &none));
    tavola_entity_set_string(entity, "Name", VALUE);
    note(tavola_insert(table, entity, t.call));
    note(tavola_insert(table, entity, t.call));
    note(tavola_insert(none, entity, t.call));
    note(tavola_replace(table, entity, "W/\"datetime'2026-01-01'\"", t.call));
    note(tavola_get(table, PARTITION, ROW, t.call, &found));
    note(tavola_get(table, PARTITION "/", ROW, t.call, &found));

    tavola_query *query = tavola_query_new(TAVOLA_BIND("Name eq ?", tavola_string(VALUE)));

    note(tavola_query_page(table, query, NULL, t.call, &page));
    tavola_query_free(query);
    query = tavola_query_new(tavola_filter_raw("Name eq '" VALUE));
    note(tavola_query_page(table, query, NULL, t.call, &page));
    tavola_query_free(query);
    CHECK_OK(tavola_start_get(table, PARTITION, ROW, NULL, NULL, NULL, &op));
    (void)tavola_op_wait(op, 30 * 1000);
    tavola_op_free(op);
    note(tavola_delete(table, PARTITION, ROW, TAVOLA_ANY, t.call));
    tavola_page_free(page);
    tavola_entity_free(found);
    tavola_entity_free(entity);
    tavola_table_close(table);
    tavola_table_close(none);
    tavola_client_close(client);
}

static void check_no_entity_is_shown(void)
{
    check_hidden(VALUE);
    check_hidden(ROW);
    check_hidden(PARTITION);
}

static void forget(void)
{
    seen.len = seen.lines = 0;
    seen.levels = 0;
    seen.text[0] = '\0';
}

TEST(an_account_key_is_not_shown)
{
    char key[TEXT_MAX];

    copy_setting("AccountKey=", key);
    forget();
    use(open_logged(connection_string(), ""));
    CHECK(seen.lines >= 8);
    CHECK(seen.levels & 1 << TAVOLA_LOG_DEBUG);
    check_hidden(key);
    check_hidden("SharedKey");
    check_no_entity_is_shown();
}

TEST(a_signature_is_not_shown)
{
    tavola_sas_options options = {.struct_size = sizeof options,
                                  .permissions = "raud",
                                  .expiry = tavola_now() + INT64_C(36000000000)};
    char connection[TEXT_MAX], endpoint[TEXT_MAX];
    char *query = NULL;
    tavola_sas *sas = NULL;

    CHECK_OK(tavola_table_sas(t.table, &options, &query));
    CHECK_OK(tavola_sas_parse(query, &sas));
    copy_setting("TableEndpoint=", endpoint);
    snprintf(connection, sizeof connection, "TableEndpoint=%.900s;SharedAccessSignature=%.900s",
             endpoint, query);
    forget();
    use(open_logged(connection, ""));
    CHECK(seen.lines >= 8);
    check_hidden("sig=");
    check_hidden(tavola_sas_field(sas, "sig"));
    check_hidden(query);
    check_no_entity_is_shown();
    tavola_sas_free(sas);
    tavola_free(query);
}

TEST(a_wrong_key_is_not_shown)
{
    static const char wrong[] = "d3Jvbmcta2V5LXRoYXQtbm9ib2R5LW1heS1zZWU=";
    char connection[TEXT_MAX], endpoint[TEXT_MAX], account[TEXT_MAX];

    copy_setting("TableEndpoint=", endpoint);
    copy_setting("AccountName=", account);
    snprintf(connection, sizeof connection, "AccountName=%.100s;AccountKey=%s;TableEndpoint=%.900s",
             account, wrong, endpoint);
    forget();
    use(open_logged(connection, ""));
    CHECK(strstr(seen.text, "status 403") != NULL);
    check_hidden(wrong);
    check_no_entity_is_shown();
}

TEST(the_password_of_a_proxy_is_not_shown)
{
    forget();
    use(open_logged(connection_string(), "http://user:" PASSWORD "@127.0.0.1:1"));
    CHECK(seen.levels & 1 << TAVOLA_LOG_INFO);
    check_hidden(PASSWORD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LIVE_TEST(an_account_key_is_not_shown),
        LIVE_TEST(a_signature_is_not_shown),
        LIVE_TEST(a_wrong_key_is_not_shown),
        LIVE_TEST(the_password_of_a_proxy_is_not_shown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
