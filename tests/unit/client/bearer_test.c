/*
 * Bearer tokens: when the application is asked for one, who gets it, and what is said when there is
 * none.  Servers speak TLS; time passes by the clock for tests.
 */
#include "base/clock.h"
#include "client/memory_faults.h"
#include "client/net/tls_server.h"
#include "client/op/service.h"
#include "wait.h"

#define TOKEN_REFUSED(headers)                                                                     \
    {                                                                                              \
        .text = "HTTP/1.1 401 X\r\nx-ms-error-code: InvalidAuthenticationInfo\r\n" headers         \
                "Content-Length: 0\r\n\r\n"                                                        \
    }
#define CHALLENGE                                                                                  \
    "WWW-Authenticate: Bearer authorization_uri=https://login.example/t/oauth2/authorize "         \
    "resource_id=https://other.example\r\n"

#define CHECK_STR(got, want) CHECK_TEXT(tv_slice_of(got), (want))

static const int64_t second_ns = 1000 * INT64_C(1000000);

/* An application that hands out token-1, token-2... */
typedef struct issuer {
    atomic_int calls, at_once; /* how many there were, how many are under way */
    atomic_bool was_at_once;   /* more than one */
    atomic_bool is_held;       /* until this is false */
    atomic_int life_s;         /* 0: an hour */
    atomic_int err;            /* of the callback */
    const char *why;
    char scope[100];
    pthread_t thread; /* of the last call */
} issuer;

static tavola_err issue(void *user, const char *scope, tavola_token *token)
{
    issuer *self = user;
    char text[40];
    int number = atomic_fetch_add(&self->calls, 1) + 1;
    int life_s = atomic_load(&self->life_s);

    if (atomic_fetch_add(&self->at_once, 1) > 0)
        atomic_store(&self->was_at_once, true);
    self->thread = pthread_self();
    snprintf(self->scope, sizeof self->scope, "%s", scope);
    while (atomic_load(&self->is_held))
        usleep(200);
    snprintf(text, sizeof text, "token-%d", number);
    if (atomic_load(&self->err))
        tavola_token_set_error(token, self->why);
    else
        tavola_token_set(token, text,
                         tavola_now() + (life_s ? life_s : 3600) * TAVOLA_TICKS_PER_SECOND);
    atomic_fetch_sub(&self->at_once, 1);
    return (tavola_err)atomic_load(&self->err);
}

/* ---- a server, and a client of it ---- */

static struct {
    authority authority;
    script_server server;
    issuer issuer;
    tavola_client *client;
    tavola_table *table;
    pthread_mutex_t lock;
    char log[16 * 1024];
} s;

static void keep_log(void *user, int level, const char *text)
{
    (void)user;
    (void)level;
    pthread_mutex_lock(&s.lock);

    size_t len = strlen(s.log);

    snprintf(s.log + len, sizeof s.log - len, "%s\n", text);
    pthread_mutex_unlock(&s.lock);
}

static tavola_client_options options_of_stand(void)
{
    return (tavola_client_options){
        .struct_size = sizeof(tavola_client_options),
        .retry_delay_ms = 1,
        .proxy = "",
        .ca_file = s.authority.path,
        .log = keep_log,
        .token = issue,
        .token_user = &s.issuer,
    };
}

static tavola_err open_with(const tavola_client_options *options)
{
    char text[200];

    snprintf(text, sizeof text, "TableEndpoint=https://127.0.0.1:%d/account", s.server.port);
    return tavola_client_open(text, options, &s.client);
}

static void start_stand(const script_answer *answers, int count)
{
    memset(&s, 0, sizeof s);
    pthread_mutex_init(&s.lock, NULL);
    s.authority = authority_new();
    s.server.answer_count = count;
    memcpy(s.server.answers, answers, (size_t)count * sizeof *answers);
    use_tls(&s.server, &s.authority, "IP:127.0.0.1", -3600, 3600);
    script_server_start(&s.server);
}

static void open_stand(const script_answer *answers, int count)
{
    tavola_client_options options;

    start_stand(answers, count);
    options = options_of_stand();
    CHECK_CODE(open_with(&options), TAVOLA_OK);
    CHECK_CODE(tavola_table_open(s.client, "People", &s.table), TAVOLA_OK);
}

static void stop_stand(void)
{
    script_server_stop(&s.server);
    SSL_CTX_free(s.server.user);
    authority_done(&s.authority);
    pthread_mutex_destroy(&s.lock);
}

static void close_stand(void)
{
    tavola_table_close(s.table);
    tavola_client_close(s.client);
    stop_stand();
}

static bool has_sent(const char *text)
{
    pthread_mutex_lock(&s.server.lock);
    bool has_sent = strstr(s.server.last_request, text) != NULL;
    pthread_mutex_unlock(&s.server.lock);
    return has_sent;
}

#define CHECK_SENT(token) assert_true(has_sent("\r\nAuthorization: Bearer " token "\r\n"))

static tavola_err delete_one(tavola_call *call)
{
    return tavola_delete(s.table, "p", "r", TAVOLA_ANY, call);
}

/* ---- when it is asked for ---- */

TEST(is_used_until_minutes_before_it_expires)
{
    open_stand((script_answer[]){NO_CONTENT}, 1);
    CHECK_CODE(delete_one(NULL), TAVOLA_OK);
    CHECK_SENT("token-1");
    CHECK_STR(s.issuer.scope, "https://storage.azure.com/.default");
    assert_false(pthread_equal(s.issuer.thread, pthread_self()));
    CHECK_CODE(delete_one(NULL), TAVOLA_OK);
    tv_clock_skip_ns(3290 * second_ns);
    CHECK_CODE(delete_one(NULL), TAVOLA_OK);
    CHECK_SENT("token-1");
    CHECK_INT(atomic_load(&s.issuer.calls), 1);
    close_stand();
}

TEST(is_renewed_minutes_before_it_expires_and_used_meanwhile)
{
    open_stand((script_answer[]){NO_CONTENT}, 1);
    CHECK_CODE(delete_one(NULL), TAVOLA_OK);
    atomic_store(&s.issuer.is_held, true);
    tv_clock_skip_ns(3301 * second_ns);
    CHECK_CODE(delete_one(NULL), TAVOLA_OK);
    CHECK_SENT("token-1");
    WAIT_UNTIL(atomic_load(&s.issuer.calls) == 2);
    CHECK_CODE(delete_one(NULL), TAVOLA_OK);
    CHECK_SENT("token-1");

    atomic_store(&s.issuer.is_held, false);
    WAIT_UNTIL(delete_one(NULL) == TAVOLA_OK && has_sent("Bearer token-2\r\n"));
    CHECK_INT(atomic_load(&s.issuer.calls), 2);
    close_stand();
}

TEST(is_renewed_at_half_of_a_short_life)
{
    open_stand((script_answer[]){NO_CONTENT}, 1);
    atomic_store(&s.issuer.life_s, 120);
    CHECK_CODE(delete_one(NULL), TAVOLA_OK);
    tv_clock_skip_ns(50 * second_ns);
    CHECK_CODE(delete_one(NULL), TAVOLA_OK);
    CHECK_INT(atomic_load(&s.issuer.calls), 1);
    tv_clock_skip_ns(15 * second_ns);
    WAIT_UNTIL(delete_one(NULL) == TAVOLA_OK && has_sent("Bearer token-2\r\n"));
    close_stand();
}

TEST(is_used_to_its_end_when_no_other_comes)
{
    tavola_call *call = tavola_call_new();

    open_stand((script_answer[]){NO_CONTENT}, 1);
    CHECK_CODE(delete_one(NULL), TAVOLA_OK);
    s.issuer.why = "the issuer is ill";
    atomic_store(&s.issuer.err, TAVOLA_ERR_DENIED);
    tv_clock_skip_ns(3301 * second_ns);
    CHECK_CODE(delete_one(NULL), TAVOLA_OK);
    WAIT_UNTIL(strstr(s.log, "no bearer token: the issuer is ill") != NULL);
    for (int i = 0; i < 5; i++) /* it is not asked for each request */
        CHECK_CODE(delete_one(NULL), TAVOLA_OK);
    CHECK_SENT("token-1");
    CHECK_INT(atomic_load(&s.issuer.calls), 2);

    tv_clock_skip_ns(300 * second_ns);
    CHECK_CODE(delete_one(call), TAVOLA_ERR_DENIED);
    CHECK_STR(tavola_call_message(call), "no bearer token: the issuer is ill");
    CHECK_INT(tavola_call_status(call), 0);
    tavola_call_free(call);
    close_stand();
}

enum { MANY = 24 };

static void *delete_and_return(void *arg)
{
    *(tavola_err *)arg = delete_one(NULL);
    return NULL;
}

TEST(is_asked_for_once_when_many_need_it)
{
    pthread_t threads[MANY];
    tavola_err errs[MANY];
    tavola_op *ops[MANY];

    open_stand((script_answer[]){NO_CONTENT}, 1);
    atomic_store(&s.issuer.is_held, true);
    for (int i = 0; i < MANY; i++) {
        tavola_entity *entity = tavola_entity_new("p", "r");

        CHECK_CODE(tavola_start_write(s.table, TAVOLA_DELETE, entity, TAVOLA_ANY, NULL, NULL, NULL,
                                      &ops[i]),
                   TAVOLA_OK);
        tavola_entity_free(entity);
        assert_int_equal(pthread_create(&threads[i], NULL, delete_and_return, &errs[i]), 0);
    }
    WAIT_UNTIL(atomic_load(&s.issuer.calls) == 1);
    CHECK_INT(atomic_load(&s.server.requests), 0);
    atomic_store(&s.issuer.is_held, false);
    for (int i = 0; i < MANY; i++) {
        CHECK_CODE(tavola_op_wait(ops[i], 60000), TAVOLA_OK);
        tavola_op_free(ops[i]);
        pthread_join(threads[i], NULL);
        CHECK_CODE(errs[i], TAVOLA_OK);
    }
    CHECK_INT(atomic_load(&s.issuer.calls), 1);
    assert_false(atomic_load(&s.issuer.was_at_once));
    close_stand();
}

/* The client's thread drives the operations of another service meanwhile, and ends what is ended.
 */
TEST(asking_for_it_does_not_hold_up_others)
{
    tavola_entity *entity = tavola_entity_new("p", "r");
    tavola_call *call = tavola_call_new();
    tavola_op *waiting = NULL, *cancelled = NULL, *late = NULL;

    open_stand((script_answer[]){NO_CONTENT}, 1);
    CHECK_CODE(delete_one(NULL), TAVOLA_OK);
    atomic_store(&s.issuer.is_held, true);
    tv_clock_skip_ns(3601 * second_ns); /* it is over */
    CHECK_CODE(
        tavola_start_write(s.table, TAVOLA_DELETE, entity, TAVOLA_ANY, NULL, NULL, NULL, &waiting),
        TAVOLA_OK);
    CHECK_CODE(tavola_start_write(s.table, TAVOLA_DELETE, entity, TAVOLA_ANY, NULL, NULL, NULL,
                                  &cancelled),
               TAVOLA_OK);
    tavola_call_set_timeout_ms(call, 1);
    CHECK_CODE(
        tavola_start_write(s.table, TAVOLA_DELETE, entity, TAVOLA_ANY, NULL, NULL, call, &late),
        TAVOLA_OK);
    WAIT_UNTIL(atomic_load(&s.issuer.calls) == 2);

    tavola_op_cancel(cancelled);
    CHECK_CODE(tavola_op_wait(cancelled, 60000), TAVOLA_ERR_CANCELLED);
    CHECK_CODE(tavola_op_wait(late, 60000), TAVOLA_ERR_TIMEOUT);
    CHECK_STR(tavola_call_message(tavola_op_call(late)), "no bearer token: none came in time");
    CHECK_CODE(tavola_op_err(waiting), TAVOLA_ERR_TIMEOUT); /* not done yet */

    atomic_store(&s.issuer.is_held, false);
    CHECK_CODE(tavola_op_wait(waiting, 60000), TAVOLA_OK);
    CHECK_SENT("token-2");
    tavola_op_free(waiting);
    tavola_op_free(cancelled);
    tavola_op_free(late);
    tavola_call_free(call);
    tavola_entity_free(entity);
    close_stand();
}

/* A wait of the caller's thread ends by its timeout and when it is cancelled. */
TEST(a_wait_for_it_can_be_ended)
{
    tavola_call *call = tavola_call_new();
    tavola_err err;
    pthread_t thread;

    open_stand((script_answer[]){NO_CONTENT}, 1);
    atomic_store(&s.issuer.is_held, true);
    tavola_call_set_timeout_ms(call, 1);
    CHECK_CODE(delete_one(call), TAVOLA_ERR_TIMEOUT);
    CHECK_STR(tavola_call_message(call), "no bearer token: none came in time");
    tavola_call_cancel(call);
    CHECK_CODE(delete_one(call), TAVOLA_ERR_CANCELLED);

    assert_int_equal(pthread_create(&thread, NULL, delete_and_return, &err), 0);
    atomic_store(&s.issuer.is_held, false);
    pthread_join(thread, NULL);
    CHECK_CODE(err, TAVOLA_OK);
    tavola_call_free(call);
    close_stand();
}

/* ---- when there is none ---- */

static tavola_err set_badly(void *user, const char *scope, tavola_token *token)
{
    static char long_text[16386];

    (void)scope;
    memset(long_text, 'x', sizeof long_text - 1);
    switch (*(int *)user) {
    case 0:
        return TAVOLA_OK;
    case 1:
        tavola_token_set(token, "", 0);
        return TAVOLA_OK;
    case 2:
        tavola_token_set(token, "a\r\nX-Other: b", 0);
        return TAVOLA_OK;
    case 3:
        tavola_token_set(token, long_text, 0);
        return TAVOLA_OK;
    case 4:
        tavola_token_set(token, "secret", tavola_now() - 1);
        return TAVOLA_OK;
    case 5:
        tavola_token_set(token, "secret", 0);
        return TAVOLA_ERR_NOT_FOUND;
    case 6:
        tavola_token_set_error(token, "no session\nsecond line");
        return TAVOLA_END;
    case 7:
        tavola_token_set(token, NULL, INT64_MIN);
        return TAVOLA_OK;
    default:
        tavola_token_set(token, "secret", INT64_MIN);
        return TAVOLA_OK;
    }
}

TEST(says_why_there_is_none)
{
    static const char *const texts[] = {
        "the callback has set none",
        "the token is not 1 to 16,384 characters of visible ASCII",
        "the token is not 1 to 16,384 characters of visible ASCII",
        "the token is not 1 to 16,384 characters of visible ASCII",
        "the token has expired already",
        "the callback returned NOT_FOUND",
        "no session",
        "the token is not 1 to 16,384 characters of visible ASCII",
        "the token has expired already",
    };

    for (int i = 0; i < (int)(sizeof texts / sizeof *texts); i++) {
        char want[200];

        t_row = texts[i];
        start_stand((script_answer[]){NO_CONTENT}, 1);

        tavola_client_options options = options_of_stand();

        options.token = set_badly;
        options.token_user = &i;
        CHECK_CODE(open_with(&options), TAVOLA_OK);
        CHECK_CODE(tavola_table_open(s.client, "People", &s.table), TAVOLA_OK);

        /* As an error of its own, where NOT_FOUND would be none. */
        CHECK_CODE(tavola_delete_if_present(s.table, "p", "r", NULL), TAVOLA_ERR_DENIED);
        snprintf(want, sizeof want, "no bearer token: %s", texts[i]);
        CHECK_STR(tavola_error_text(TAVOLA_ERR_DENIED), want);
        CHECK_INT(atomic_load(&s.server.connections), 0);
        close_stand();
    }
}

TEST(is_asked_for_again_when_that_may_help)
{
    static const struct {
        tavola_err of_callback, of_call;
        int calls;
    } cases[] = {
        {TAVOLA_ERR_NETWORK, TAVOLA_ERR_NETWORK, 4},
        {TAVOLA_ERR_TIMEOUT, TAVOLA_ERR_TIMEOUT, 4},
        {TAVOLA_ERR_BUSY, TAVOLA_ERR_BUSY, 4},
        {TAVOLA_ERR_DENIED, TAVOLA_ERR_DENIED, 1},
        {TAVOLA_ERR_NO_MEMORY, TAVOLA_ERR_NO_MEMORY, 1},
        {TAVOLA_ERR_INVALID, TAVOLA_ERR_DENIED, 1},
        {TAVOLA_ERR_EXISTS, TAVOLA_ERR_DENIED, 1},
        {TAVOLA_ERR_UNKNOWN_OUTCOME, TAVOLA_ERR_DENIED, 1},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        t_row = tavola_err_name(cases[i].of_callback);
        open_stand((script_answer[]){NO_CONTENT}, 1);
        s.issuer.why = "the reason";
        atomic_store(&s.issuer.err, cases[i].of_callback);
        CHECK_CODE(delete_one(NULL), cases[i].of_call);
        CHECK_STR(tavola_error_text(cases[i].of_call), "no bearer token: the reason");
        CHECK_INT(atomic_load(&s.issuer.calls), cases[i].calls);

        atomic_store(&s.issuer.err, TAVOLA_OK);
        CHECK_CODE(delete_one(NULL), TAVOLA_OK);
        close_stand();
    }
}

/* A write that may have been made stays so when the next attempt has no token. */
TEST(a_write_that_was_sent_is_not_denied_for_want_of_it)
{
    open_stand((script_answer[]){CUT}, 1);
    CHECK_CODE(delete_one(NULL), TAVOLA_ERR_UNKNOWN_OUTCOME);
    close_stand();

    open_stand((script_answer[]){{.is_held = true, .then_close = true}}, 1);

    tavola_entity *entity = tavola_entity_new("p", "r");
    tavola_op *op = NULL;

    atomic_store(&s.issuer.life_s, 1);
    CHECK_CODE(tavola_start_write(s.table, TAVOLA_INSERT, entity, NULL, NULL, NULL, NULL, &op),
               TAVOLA_OK);
    assert_true(script_server_has_read(&s.server, 1));
    s.issuer.why = "not any more";
    atomic_store(&s.issuer.err, TAVOLA_ERR_DENIED);
    tv_clock_skip_ns(2 * second_ns);
    script_server_release(&s.server);
    CHECK_CODE(tavola_op_wait(op, 60000), TAVOLA_ERR_UNKNOWN_OUTCOME);
    tavola_op_free(op);
    tavola_entity_free(entity);
    close_stand();
}

/* ---- when it is refused ---- */

TEST(a_refused_one_is_renewed_once)
{
    static const struct {
        const char *what;
        script_answer answers[3];
        tavola_err err;
        int requests, calls;
    } cases[] = {
        {"with a challenge", {TOKEN_REFUSED(CHALLENGE), NO_CONTENT}, TAVOLA_OK, 2, 2},
        {"without", {TOKEN_REFUSED(""), NO_CONTENT}, TAVOLA_OK, 2, 2},
        {"twice",
         {TOKEN_REFUSED(CHALLENGE), TOKEN_REFUSED(CHALLENGE), NO_CONTENT},
         TAVOLA_ERR_DENIED,
         2,
         2},
        {"of somebody without the right",
         {REFUSED(403, "AuthorizationPermissionMismatch"), NO_CONTENT},
         TAVOLA_ERR_DENIED,
         1,
         1},
    };
    tavola_call *call = tavola_call_new();

    tavola_call_set_retries(call, UINT32_MAX); /* it is not a retry */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        t_row = cases[i].what;
        open_stand(cases[i].answers, 3);
        CHECK_CODE(delete_one(call), cases[i].err);
        CHECK_INT(atomic_load(&s.server.requests), cases[i].requests);
        CHECK_INT(atomic_load(&s.issuer.calls), cases[i].calls);
        CHECK_INT(tavola_call_attempts(call), cases[i].requests);
        CHECK_STR(s.issuer.scope, "https://storage.azure.com/.default"); /* not that of a server */
        if (cases[i].calls == 2)
            CHECK_SENT("token-2");
        close_stand();
    }
    tavola_call_free(call);
}

/* An answer that was lost, then a token that is refused: what is there is asked with another. */
TEST(a_write_is_settled_with_a_new_one)
{
    tavola_call *call = tavola_call_new();

    open_stand((script_answer[]){CUT,
                                 {.text = "HTTP/1.1 404 X\r\nx-ms-error-code: "
                                          "ResourceNotFound\r\nContent-Length: 0\r\n\r\n"}},
               2);
    CHECK_CODE(delete_one(call), TAVOLA_OK);
    assert_true(tavola_call_was_confirmed(call));
    close_stand();

    open_stand((script_answer[]){CUT,
                                 TOKEN_REFUSED(CHALLENGE),
                                 {.text = "HTTP/1.1 404 X\r\nx-ms-error-code: "
                                          "ResourceNotFound\r\nContent-Length: 0\r\n\r\n"}},
               3);
    CHECK_CODE(delete_one(call), TAVOLA_OK);
    assert_true(tavola_call_was_confirmed(call));
    CHECK_INT(atomic_load(&s.issuer.calls), 2);
    tavola_call_free(call);
    close_stand();
}

/* ---- who gets it ---- */

static const struct {
    const char *what, *text, *why;
    bool secondary_reads;
} refused[] = {
    {"plain http", "AccountName=a;TableEndpoint=http://127.0.0.1:1/a",
     "bearer tokens are sent over https alone, and an endpoint is http", false},
    {"one of three", "AccountName=a;TableEndpoint=https://a.example;BlobEndpoint=http://a.example",
     "bearer tokens are sent over https alone, and an endpoint is http", false},
    {"the protocol", "AccountName=a;DefaultEndpointsProtocol=http",
     "bearer tokens are sent over https alone, and an endpoint is http", false},
    {"a key", "AccountName=a;AccountKey=" KEY,
     "an account key and bearer tokens exclude each other", false},
    {"development storage", "UseDevelopmentStorage=true",
     "an account key and bearer tokens exclude each other", false},
    {"a signature", "AccountName=a;SharedAccessSignature=sv=1&sig=a",
     "a shared access signature and bearer tokens exclude each other", false},
    {"a signature of an endpoint", "TableEndpoint=https://a.example?sv=1&sig=a",
     "a shared access signature and bearer tokens exclude each other", false},
    {"the secondary", "AccountName=a",
     "bearer tokens are not sent to secondaries: secondary_reads excludes them", true},
};

TEST(no_client_would_give_it_to_others)
{
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        issuer unasked = {0};
        tavola_client_options options = {.struct_size = sizeof options,
                                         .secondary_reads = refused[i].secondary_reads,
                                         .token = issue,
                                         .token_user = &unasked};
        tavola_client *client = NULL;

        t_row = refused[i].what;
        CHECK_CODE(tavola_client_open(refused[i].text, &options, &client), TAVOLA_ERR_INVALID);
        assert_null(client);
        CHECK_STR(tavola_error_text(TAVOLA_ERR_INVALID), refused[i].why);
        CHECK_INT(atomic_load(&unasked.calls), 0);
    }
}

TEST(the_scope_is_the_applications)
{
    start_stand((script_answer[]){NO_CONTENT}, 1);

    tavola_client_options options = options_of_stand();

    options.token_scope = "api://tavola/.default";
    CHECK_CODE(open_with(&options), TAVOLA_OK);
    CHECK_CODE(tavola_table_open(s.client, "People", &s.table), TAVOLA_OK);
    CHECK_CODE(delete_one(NULL), TAVOLA_OK);
    CHECK_STR(s.issuer.scope, "api://tavola/.default");
    close_stand();
}

TEST(a_redirect_is_not_followed_with_it)
{
    script_server other = {.answers = {NO_CONTENT}, .answer_count = 1};
    char answer[200];

    script_server_start(&other);
    snprintf(answer, sizeof answer,
             "HTTP/1.1 307 X\r\nLocation: http://127.0.0.1:%d/account/People\r\n"
             "Content-Length: 0\r\n\r\n",
             other.port);
    open_stand((script_answer[]){{.text = answer}}, 1);
    assert_int_not_equal(delete_one(NULL), TAVOLA_OK);
    CHECK_INT(atomic_load(&other.connections), 0);
    close_stand();
    script_server_stop(&other);
}

TEST(the_secondary_is_not_asked_how_far_it_is)
{
    tavola_ticks when;
    char status[TAVOLA_GEO_STATUS_SIZE];

    open_stand((script_answer[]){NO_CONTENT}, 1);
    CHECK_CODE(tavola_service_stats(s.client, TAVOLA_SERVICE_TABLE, NULL, status, &when),
               TAVOLA_ERR_INVALID);
    CHECK_STR(tavola_error_text(TAVOLA_ERR_INVALID), "bearer tokens are not sent to secondaries");
    CHECK_INT(atomic_load(&s.issuer.calls), 0);
    CHECK_INT(atomic_load(&s.server.connections), 0);
    close_stand();
}

/* What is moved to another account is written with that account's key. */
TEST(another_account_gets_none)
{
    script_server other = {.answers = {NO_CONTENT}, .answer_count = 1};
    tavola_table *to = NULL;

    script_server_start(&other);
    open_stand((script_answer[]){{.text = "HTTP/1.1 200 OK\r\nContent-Length: "
                                          "56\r\nETag: W/\"1\"\r\n\r\n"
                                          "{\"odata.etag\":\"1\",\"PartitionKey\":\"p\",\"RowKey\":"
                                          "\"r\",\"N\":1}"},
                                 NO_CONTENT},
               2);

    tavola_client *client = open_client(&other, NULL, NULL);

    CHECK_CODE(tavola_table_open(client, "People", &to), TAVOLA_OK);
    CHECK_CODE(tavola_move(s.table, to, "p", "r", NULL), TAVOLA_OK);
    CHECK_INT(atomic_load(&other.requests), 1);
    assert_null(strstr(other.last_request, "Bearer"));
    assert_null(strstr(other.last_request, "token-"));
    tavola_table_close(to);
    tavola_client_close(client);
    close_stand();
    script_server_stop(&other);
}

TEST(a_certificate_that_is_not_trusted_gets_none)
{
    start_stand((script_answer[]){NO_CONTENT}, 1);

    tavola_client_options options = options_of_stand();

    options.ca_file = NULL;
    CHECK_CODE(open_with(&options), TAVOLA_OK);
    CHECK_CODE(tavola_table_open(s.client, "People", &s.table), TAVOLA_OK);
    CHECK_CODE(delete_one(NULL), TAVOLA_ERR_NETWORK);
    CHECK_INT(atomic_load(&s.server.requests), 0);
    close_stand();
}

/* ---- what is said of it ---- */

TEST(is_in_no_text)
{
    static const script_answer answers[] = {TOKEN_REFUSED(CHALLENGE),
                                            {.then_close = true},
                                            REFUSED(503, "ServerBusy"),
                                            REFUSED(403, "AuthorizationFailure")};
    tavola_call *call = tavola_call_new();

    open_stand(answers, 4);
    assert_int_not_equal(delete_one(call), TAVOLA_OK);
    CHECK_INT(atomic_load(&s.server.requests), 4);
    CHECK_SENT("token-2");
    assert_non_null(strstr(s.log, "attempt 1: status 401"));
    assert_null(strstr(s.log, "token-"));
    assert_null(strstr(tavola_call_message(call), "token-"));
    assert_null(strstr(tavola_error_text(TAVOLA_ERR_DENIED), "token-"));
    assert_null(strstr(tavola_error_text(TAVOLA_ERR_UNKNOWN_OUTCOME), "token-"));
    tavola_call_free(call);
    close_stand();
}

TEST(there_is_nothing_to_sign_with)
{
    tavola_sas_options options = {.struct_size = sizeof options, .permissions = "r"};
    char *query = NULL;

    open_stand((script_answer[]){NO_CONTENT}, 1);
    CHECK_CODE(tavola_table_sas(s.table, &options, &query), TAVOLA_ERR_INVALID);
    CHECK_STR(tavola_error_text(TAVOLA_ERR_INVALID), "the client has no key to sign with");
    CHECK_INT(atomic_load(&s.issuer.calls), 0);
    close_stand();
}

/* ---- the end ---- */

/* Its user is not used any more when the client is closed. */
TEST(closing_waits_for_a_question)
{
    tavola_entity *entity = tavola_entity_new("p", "r");
    tavola_op *op = NULL;

    open_stand((script_answer[]){NO_CONTENT}, 1);
    atomic_store(&s.issuer.life_s, 120);
    CHECK_CODE(delete_one(NULL), TAVOLA_OK);
    tv_clock_skip_ns(60 * second_ns);
    CHECK_CODE(
        tavola_start_write(s.table, TAVOLA_DELETE, entity, TAVOLA_ANY, NULL, NULL, NULL, &op),
        TAVOLA_OK);
    CHECK_CODE(tavola_op_wait(op, 60000), TAVOLA_OK);
    tavola_op_free(op);
    tavola_entity_free(entity);
    tavola_table_close(s.table);
    tavola_client_close(s.client);
    CHECK_INT(atomic_load(&s.issuer.at_once), 0);
    stop_stand();
}

TEST(memory_can_run_out_everywhere)
{
    start_stand((script_answer[]){NO_CONTENT}, 1);

    tavola_client_options options = options_of_stand();

    options.log = NULL;
    options.retry_max = UINT32_MAX;
    MEMORY_FAULTS(fault)
    {
        s.client = NULL;
        s.table = NULL;

        tavola_err err = open_with(&options);

        if (err == TAVOLA_OK)
            err = tavola_table_open(s.client, "People", &s.table);
        if (err == TAVOLA_OK)
            err = delete_one(NULL);
        if (err && !(memory_fault_was_hit() &&
                     (err == TAVOLA_ERR_NO_MEMORY || err == TAVOLA_ERR_UNKNOWN_OUTCOME)))
            CHECK_FAIL("%s", tavola_err_name(err));
        tavola_table_close(s.table);
        tavola_client_close(s.client);
    }
    stop_stand();
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_used_until_minutes_before_it_expires),
        cmocka_unit_test(is_renewed_minutes_before_it_expires_and_used_meanwhile),
        cmocka_unit_test(is_renewed_at_half_of_a_short_life),
        cmocka_unit_test(is_used_to_its_end_when_no_other_comes),
        cmocka_unit_test(is_asked_for_once_when_many_need_it),
        cmocka_unit_test(asking_for_it_does_not_hold_up_others),
        cmocka_unit_test(a_wait_for_it_can_be_ended),
        cmocka_unit_test(says_why_there_is_none),
        cmocka_unit_test(is_asked_for_again_when_that_may_help),
        cmocka_unit_test(a_write_that_was_sent_is_not_denied_for_want_of_it),
        cmocka_unit_test(a_refused_one_is_renewed_once),
        cmocka_unit_test(a_write_is_settled_with_a_new_one),
        cmocka_unit_test(no_client_would_give_it_to_others),
        cmocka_unit_test(the_scope_is_the_applications),
        cmocka_unit_test(a_redirect_is_not_followed_with_it),
        cmocka_unit_test(the_secondary_is_not_asked_how_far_it_is),
        cmocka_unit_test(another_account_gets_none),
        cmocka_unit_test(a_certificate_that_is_not_trusted_gets_none),
        cmocka_unit_test(is_in_no_text),
        cmocka_unit_test(there_is_nothing_to_sign_with),
        cmocka_unit_test(closing_waits_for_a_question),
        cmocka_unit_test(memory_can_run_out_everywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
