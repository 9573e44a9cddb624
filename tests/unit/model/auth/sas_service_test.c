/* Which SAS open queues and blobs, what they permit there, and who comes without anything. */
#include "base/base64.h"
#include "base/datetime.h"
#include "base/uri.h"
#include "check.h"
#include "model/auth/identity.h"
#include "model/auth/sas.h"
#include "parameters.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

#define KEY1 "c2VjcmV0IG9uZQ=="
#define NOW "2026-01-02T03:04:05Z"
#define SNAPSHOT "2026-01-01T00:00:00.1234567Z"
#define OTHER_SNAPSHOT "2026-01-01T00:00:00.1234568Z"

static tv_accounts accounts;
static tv_error_info info;
static tv_auth_policy policy = {.accounts = &accounts};
static tv_arena arena;
static int64_t now;

/* Every container has the policy "p"; "bare" has none. */
static tv_err find_policies(void *ctx, tv_slice account, tv_slice container, tv_arena *unused,
                            tv_access_policies *ret_policies)
{
    (void)ctx, (void)unused;
    CHECK_TEXT(account, "acct");
    if (tv_slice_eq(container, TV_LIT("bare")))
        return TV_ERR_NOT_FOUND;
    *ret_policies = (tv_access_policies){
        .list = {{.id = TV_LIT("p"),
                  .expiry = TV_LIT("2026-01-03T00:00:00.0000000Z"),
                  .permission = TV_LIT("rp")}},
        .count = 1,
    };
    return TV_OK;
}

static int set_up(__attribute__((unused)) void **state)
{
    char problem[200];

    tv_accounts_init(&accounts);
    tv_arena_init(&arena);
    policy.find_policies = find_policies;
    if (!tv_accounts_add_list(
            &accounts, TV_LIT("acct:" KEY1 ";" TV_DEVELOPMENT_ACCOUNT ":" TV_DEVELOPMENT_KEY),
            problem, sizeof problem))
        return -1;
    return tv_datetime_parse(TV_LIT(NOW), &now) ? 0 : -1;
}

static int tear_down(__attribute__((unused)) void **state)
{
    tv_accounts_done(&accounts);
    tv_arena_done(&arena);
    return 0;
}

/* The query with the signature that its own parameters ask for. */
static tv_slice signed_query(const char *query, tv_service_kind service, const char *container,
                             const char *blob)
{
    char secret[128], signature[44];
    unsigned char mac[TV_HMAC_BYTES];
    tv_buf encoded = TV_BUF_EMPTY;
    tv_hmac_key key;
    tv_slice text;
    tv_sas sas;
    bool is_sas;
    size_t len;

    tv_parameters parameters = query_of(&arena, tv_slice_of(query));

    CHECK_OK(tv_sas_parse(&arena, &parameters, &sas, &is_sas));
    if (tv_sas_is_account(&sas))
        text = tv_sas_account_text(&arena, &sas, TV_LIT("acct"));
    else if (service == TV_SERVICE_QUEUE)
        text = tv_sas_queue_text(&arena, &sas, TV_LIT("acct"), tv_slice_of(container));
    else
        text = tv_sas_blob_text(&arena, &sas, TV_LIT("acct"), tv_slice_of(container),
                                tv_slice_of(blob));
    CHECK(tv_base64_decode(secret, TV_LIT(KEY1), &len));
    tv_hmac_key_init(&key, (tv_slice){secret, len});
    tv_hmac_sign(&key, text, mac);
    tv_hmac_key_done(&key);
    tv_base64_encode(signature, (tv_slice){(const char *)mac, sizeof mac});
    tv_uri_add_key(&encoded, (tv_slice){signature, sizeof signature});
    text = tv_arena_printf(&arena, "%s&sig=%.*s", query, TV_FMT(tv_buf_slice(&encoded)));
    tv_buf_done(&encoded);
    return text;
}

static tv_credentials request(tv_service_kind service, const char *container, const char *blob,
                              tv_slice query)
{
    return (tv_credentials){
        .parts = {.service = service, .account = TV_LIT("acct"), .method = TV_LIT("GET")},
        .query = query_of(&arena, query),
        .container = tv_slice_of(container),
        .blob = tv_slice_of(blob),
        .host = TV_LIT("127.0.0.1:10000"),
        .peer = "127.0.0.1:4000",
        .is_peer_loopback = true,
    };
}

static tv_err ask(tv_service_kind service, const char *container, const char *blob, tv_slice query,
                  const tv_identity **ret_identity)
{
    tv_credentials credentials = request(service, container, blob, query);

    return tv_authenticate(&policy, &credentials, now, &arena, ret_identity, &info);
}

static const tv_identity *let_in(tv_service_kind service, const char *container, const char *blob,
                                 const char *query)
{
    const tv_identity *identity = NULL;

    CHECK_OK(
        ask(service, container, blob, signed_query(query, service, container, blob), &identity));
    CHECK_TEXT(tv_identity_account(identity), "acct");
    CHECK(!tv_identity_is_anonymous(identity));
    CHECK_TEXT(tv_identity_turns(identity), "acct");
    return identity;
}

/* --- what must be there --- */

#define GOOD "&sp=r&se=2026-01-03"
#define NEW "sv=2021-12-02" GOOD

static const struct {
    const char *what;
    tv_service_kind service;
    const char *container, *blob, *query;
    tv_err err;
} tokens[] = {
    {"a queue", TV_SERVICE_QUEUE, "jobs", "", NEW, TV_OK},
    {"the first version that says it is for a queue", TV_SERVICE_QUEUE, "jobs", "",
     "sv=2013-08-15" GOOD, TV_OK},
    {"one that may be for a container", TV_SERVICE_QUEUE, "jobs", "", "sv=2012-02-12" GOOD,
     TV_ERR_AUTHENTICATION_FAILED},
    {"one that may be for a queue", TV_SERVICE_BLOB, "films", "", "sv=2012-02-12" GOOD "&sr=c",
     TV_ERR_AUTHENTICATION_FAILED},
    {"the same, asked for a blob", TV_SERVICE_BLOB, "films", "a", "sv=2012-02-12" GOOD "&sr=c",
     TV_ERR_AUTHENTICATION_FAILED},
    {"one that can be for a blob only", TV_SERVICE_BLOB, "films", "a", "sv=2012-02-12" GOOD "&sr=b",
     TV_OK},
    {"before it", TV_SERVICE_QUEUE, "jobs", "", "sv=2011-08-18" GOOD, TV_ERR_AUTHENTICATION_FAILED},
    {"no queue", TV_SERVICE_QUEUE, "", "", NEW, TV_ERR_AUTHENTICATION_FAILED},
    {"a queue with a line in it", TV_SERVICE_QUEUE, "jo\nbs", "", NEW,
     TV_ERR_AUTHENTICATION_FAILED},
    {"a container", TV_SERVICE_BLOB, "films", "", NEW "&sr=c", TV_OK},
    {"a container, asked for a blob", TV_SERVICE_BLOB, "films", "a", NEW "&sr=c", TV_OK},
    {"the root", TV_SERVICE_BLOB, "$root", "a", NEW "&sr=b", TV_OK},
    {"a blob", TV_SERVICE_BLOB, "films", "a", NEW "&sr=b", TV_OK},
    {"a blob's snapshot", TV_SERVICE_BLOB, "films", "a", NEW "&sr=b&snapshot=" SNAPSHOT, TV_OK},
    {"a snapshot", TV_SERVICE_BLOB, "films", "a", NEW "&sr=bs&snapshot=" SNAPSHOT, TV_OK},
    {"the first version with snapshots", TV_SERVICE_BLOB, "films", "a",
     "sv=2018-11-09" GOOD "&sr=bs&snapshot=" SNAPSHOT, TV_OK},
    {"a version without", TV_SERVICE_BLOB, "films", "a",
     "sv=2018-03-28" GOOD "&sr=bs&snapshot=" SNAPSHOT, TV_ERR_AUTHENTICATION_FAILED},
    {"a snapshot of no time", TV_SERVICE_BLOB, "films", "a", NEW "&sr=bs",
     TV_ERR_AUTHENTICATION_FAILED},
    {"a snapshot of a container", TV_SERVICE_BLOB, "films", "", NEW "&sr=bs&snapshot=" SNAPSHOT,
     TV_ERR_AUTHENTICATION_FAILED},
    {"no resource", TV_SERVICE_BLOB, "films", "a", NEW, TV_ERR_AUTHENTICATION_FAILED},
    {"a version of a blob", TV_SERVICE_BLOB, "films", "a", NEW "&sr=bv",
     TV_ERR_AUTHENTICATION_FAILED},
    {"a directory", TV_SERVICE_BLOB, "films", "a", NEW "&sr=d&sdd=1", TV_ERR_AUTHENTICATION_FAILED},
    {"a file", TV_SERVICE_BLOB, "films", "a", NEW "&sr=f", TV_ERR_AUTHENTICATION_FAILED},
    {"a blob without a name", TV_SERVICE_BLOB, "films", "", NEW "&sr=b",
     TV_ERR_AUTHENTICATION_FAILED},
    {"a container without a name", TV_SERVICE_BLOB, "", "", NEW "&sr=c",
     TV_ERR_AUTHENTICATION_FAILED},
    {"a blob with a line in it", TV_SERVICE_BLOB, "films", "a\nb", NEW "&sr=b",
     TV_ERR_AUTHENTICATION_FAILED},
    {"a container that reads like a blob", TV_SERVICE_BLOB, "films/a", "", NEW "&sr=c",
     TV_ERR_AUTHENTICATION_FAILED},
    {"signed by a user's key", TV_SERVICE_BLOB, "films", "a", NEW "&sr=b&skoid=1",
     TV_ERR_AUTHENTICATION_FAILED},
    {"an encryption scope", TV_SERVICE_BLOB, "films", "a", NEW "&sr=b&ses=scope",
     TV_ERR_AUTHENTICATION_FAILED},
    {"an empty one is none", TV_SERVICE_BLOB, "films", "a", NEW "&sr=b&ses=", TV_OK},
    {"no permission", TV_SERVICE_BLOB, "films", "a", "sv=2021-12-02&se=2026-01-03&sr=b",
     TV_ERR_AUTHENTICATION_FAILED},
    {"over", TV_SERVICE_BLOB, "films", "a", "sv=2021-12-02&se=2026-01-01&sp=r&sr=b",
     TV_ERR_AUTHENTICATION_FAILED},
    {"TLS alone", TV_SERVICE_QUEUE, "jobs", "", NEW "&spr=https", TV_ERR_PROTOCOL_MISMATCH},
    {"another address", TV_SERVICE_QUEUE, "jobs", "", NEW "&sip=1.2.3.4",
     TV_ERR_SOURCE_IP_MISMATCH},
    {"a header with a control character", TV_SERVICE_BLOB, "films", "a", NEW "&sr=b&rsct=a%0Db",
     TV_ERR_AUTHENTICATION_FAILED},
    {"a header with a NUL", TV_SERVICE_BLOB, "films", "a", NEW "&sr=b&rscd=%00",
     TV_ERR_AUTHENTICATION_FAILED},
    {"from a policy", TV_SERVICE_BLOB, "films", "a", "sv=2021-12-02&sr=b&si=p", TV_OK},
    {"from a queue's policy", TV_SERVICE_QUEUE, "jobs", "", "sv=2021-12-02&si=p", TV_OK},
    {"from both", TV_SERVICE_QUEUE, "jobs", "", NEW "&si=p", TV_ERR_INVALID_QUERY_PARAMETER},
    {"a policy that is not there", TV_SERVICE_BLOB, "films", "", "sv=2021-12-02&sr=c&si=q",
     TV_ERR_AUTHENTICATION_FAILED},
    {"a container that is not there", TV_SERVICE_BLOB, "bare", "", "sv=2021-12-02&sr=c&si=p",
     TV_ERR_AUTHENTICATION_FAILED},
    {"an account SAS for blobs", TV_SERVICE_BLOB, "", "", NEW "&ss=b&srt=s", TV_OK},
    {"an account SAS does not sign names", TV_SERVICE_BLOB, "films", "a\nb", NEW "&ss=b&srt=o",
     TV_OK},
    {"an account SAS for other services", TV_SERVICE_BLOB, "", "", NEW "&ss=qtf&srt=s",
     TV_ERR_SERVICE_MISMATCH},
    {"an account SAS for queues", TV_SERVICE_QUEUE, "", "", NEW "&ss=q&srt=s", TV_OK},
    {"an account SAS not for queues", TV_SERVICE_QUEUE, "", "", NEW "&ss=btf&srt=s",
     TV_ERR_SERVICE_MISMATCH},
    {"an account SAS for all", TV_SERVICE_QUEUE, "", "", NEW "&ss=bqtf&srt=s", TV_OK},
};

TEST(a_token_is_whole_and_in_form)
{
    for (size_t i = 0; i < COUNT(tokens); i++) {
        const tv_identity *identity = NULL;
        tv_slice query =
            signed_query(tokens[i].query, tokens[i].service, tokens[i].container, tokens[i].blob);

        t_row = tokens[i].what;
        CHECK_ERR(ask(tokens[i].service, tokens[i].container, tokens[i].blob, query, &identity),
                  tokens[i].err);
        CHECK_INT(identity != NULL, tokens[i].err == TV_OK);
    }
    t_row = "";
}

/* A token made for one place, used at another. */
static const struct {
    const char *what;
    tv_service_kind service;
    const char *container, *blob, *query;
    tv_service_kind other_service;
    const char *other_container, *other_blob;
    const char *after; /* added to the query */
} elsewhere[] = {
    {"another queue", TV_SERVICE_QUEUE, "jobs", "", NEW, TV_SERVICE_QUEUE, "job", "", ""},
    {"names are case-sensitive", TV_SERVICE_QUEUE, "jobs", "", NEW, TV_SERVICE_QUEUE, "Jobs", "",
     ""},
    {"the container of that name", TV_SERVICE_QUEUE, "jobs", "", NEW, TV_SERVICE_BLOB, "jobs", "",
     "&sr=c"},
    {"the queue of that name", TV_SERVICE_BLOB, "films", "", NEW "&sr=c", TV_SERVICE_QUEUE, "films",
     "", ""},
    {"the table of that name", TV_SERVICE_QUEUE, "jobs", "", NEW, TV_SERVICE_TABLE, "jobs", "",
     "&tn=jobs"},
    {"another container", TV_SERVICE_BLOB, "films", "", NEW "&sr=c", TV_SERVICE_BLOB, "film", "s",
     ""},
    {"another blob", TV_SERVICE_BLOB, "films", "a", NEW "&sr=b", TV_SERVICE_BLOB, "films", "b", ""},
    {"a blob further down", TV_SERVICE_BLOB, "films", "a", NEW "&sr=b", TV_SERVICE_BLOB, "films",
     "a/b", ""},
    {"the container of a blob", TV_SERVICE_BLOB, "films", "a", NEW "&sr=b", TV_SERVICE_BLOB,
     "films", "", ""},
    {"a blob of the same path", TV_SERVICE_BLOB, "films", "a/b", "sv=2015-04-05" GOOD "&sr=b",
     TV_SERVICE_BLOB, "films/a", "b", ""},
    {"the snapshot of a snapshot's blob", TV_SERVICE_BLOB, "films", "a",
     NEW "&sr=bs&snapshot=" SNAPSHOT, TV_SERVICE_BLOB, "films", "b", ""},
};

TEST(a_token_is_good_where_it_was_made_for)
{
    for (size_t i = 0; i < COUNT(elsewhere); i++) {
        const tv_identity *identity = NULL;
        tv_slice query = signed_query(elsewhere[i].query, elsewhere[i].service,
                                      elsewhere[i].container, elsewhere[i].blob);

        t_row = elsewhere[i].what;
        CHECK_OK(
            ask(elsewhere[i].service, elsewhere[i].container, elsewhere[i].blob, query, &identity));
        query = tv_arena_printf(&arena, "%.*s%s", TV_FMT(query), elsewhere[i].after);
        CHECK_ERR(ask(elsewhere[i].other_service, elsewhere[i].other_container,
                      elsewhere[i].other_blob, query, &identity),
                  TV_ERR_AUTHENTICATION_FAILED);
    }
    t_row = "";
}

TEST(a_snapshot_is_signed_only_for_snapshots)
{
    const tv_identity *identity = NULL;
    tv_slice blob = signed_query(NEW "&sr=b", TV_SERVICE_BLOB, "films", "a");
    tv_slice snapshot =
        signed_query(NEW "&sr=bs&snapshot=" SNAPSHOT, TV_SERVICE_BLOB, "films", "a");
    char *changed = (char *)tv_arena_dup(&arena, snapshot).data;

    CHECK_OK(ask(TV_SERVICE_BLOB, "films", "a",
                 tv_arena_printf(&arena, "%.*s&snapshot=%s", TV_FMT(blob), SNAPSHOT), &identity));
    *(strstr(changed, "4567Z")) = '5';
    CHECK_ERR(ask(TV_SERVICE_BLOB, "films", "a", (tv_slice){changed, snapshot.len}, &identity),
              TV_ERR_AUTHENTICATION_FAILED);
}

/* --- what they permit --- */

#define CONTAINER NEW "&sr=c"
#define BLOB NEW "&sr=b"
#define BLOB_SNAPSHOT NEW "&sr=bs&snapshot=" SNAPSHOT
#define ACCOUNT NEW "&ss=bq&srt=o"

enum { ALL_SAS = TV_SAS_ACCOUNT | TV_SAS_CONTAINER | TV_SAS_BLOB };

/* Every token is of films/a, and may read. */
static const struct {
    const char *what, *query;
    unsigned sas;
    const char *container, *blob, *snapshot;
    tv_err err;
} needs[] = {
    {"a container SAS reads a blob", CONTAINER, ALL_SAS, "films", "b", "", TV_OK},
    {"and its snapshots", CONTAINER, ALL_SAS, "films", "b", SNAPSHOT, TV_OK},
    {"and the container", CONTAINER, TV_SAS_CONTAINER, "films", "", "", TV_OK},
    {"but no other", CONTAINER, ALL_SAS, "film", "a", "", TV_ERR_AUTHORIZATION_FAILURE},
    {"by its exact name", CONTAINER, ALL_SAS, "Films", "a", "", TV_ERR_AUTHORIZATION_FAILURE},
    {"nor the account", CONTAINER, TV_SAS_ACCOUNT, "", "", "", TV_ERR_AUTHORIZATION_FAILURE},
    {"nor what is for blobs alone", CONTAINER, TV_SAS_BLOB, "films", "a", "",
     TV_ERR_AUTHORIZATION_FAILURE},
    {"a blob SAS reads its blob", BLOB, ALL_SAS, "films", "a", "", TV_OK},
    {"and the blob's snapshots", BLOB, ALL_SAS, "films", "a", SNAPSHOT, TV_OK},
    {"but no other blob", BLOB, ALL_SAS, "films", "A", "", TV_ERR_AUTHORIZATION_FAILURE},
    {"in no other container", BLOB, ALL_SAS, "film", "a", "", TV_ERR_AUTHORIZATION_FAILURE},
    {"nor the container", BLOB, TV_SAS_ACCOUNT | TV_SAS_CONTAINER, "films", "", "",
     TV_ERR_AUTHORIZATION_FAILURE},
    {"a snapshot SAS reads its snapshot", BLOB_SNAPSHOT, ALL_SAS, "films", "a", SNAPSHOT, TV_OK},
    {"but no other snapshot", BLOB_SNAPSHOT, ALL_SAS, "films", "a", OTHER_SNAPSHOT,
     TV_ERR_AUTHORIZATION_FAILURE},
    {"nor the blob", BLOB_SNAPSHOT, ALL_SAS, "films", "a", "", TV_ERR_AUTHORIZATION_FAILURE},
    {"nor one of another blob", BLOB_SNAPSHOT, ALL_SAS, "films", "b", SNAPSHOT,
     TV_ERR_AUTHORIZATION_FAILURE},
    {"an account SAS reads everything", ACCOUNT, ALL_SAS, "any", "x", SNAPSHOT, TV_OK},
    {"but not what is for others", ACCOUNT, TV_SAS_CONTAINER | TV_SAS_BLOB, "films", "a", "",
     TV_ERR_AUTHORIZATION_FAILURE},
    {"nothing is for no SAS", ACCOUNT, 0, "films", "a", "", TV_ERR_AUTHORIZATION_FAILURE},
    {"of no kind", CONTAINER, 0, "films", "a", "", TV_ERR_AUTHORIZATION_FAILURE},
};

TEST(a_token_reaches_what_it_is_for)
{
    for (size_t i = 0; i < COUNT(needs); i++) {
        const tv_identity *identity = let_in(TV_SERVICE_BLOB, "films", "a", needs[i].query);
        tv_need need = {.sas = needs[i].sas,
                        .type = TV_TYPE_OBJECT,
                        .all_of = TV_MAY_READ,
                        .container = tv_slice_of(needs[i].container),
                        .blob = tv_slice_of(needs[i].blob),
                        .snapshot = tv_slice_of(needs[i].snapshot)};

        t_row = needs[i].what;
        CHECK_ERR(tv_identity_allows(identity, &need), needs[i].err);

        /* What is open to everyone does not make a token better than it is. */
        need.is_public = true;
        CHECK_ERR(tv_identity_allows(identity, &need), needs[i].err);
    }
    t_row = "";
}

static const struct {
    char letter;
    tv_permission permission;
} letters[] = {
    {'r', TV_MAY_READ},
    {'a', TV_MAY_ADD},
    {'u', TV_MAY_UPDATE},
    {'d', TV_MAY_DELETE},
    {'w', TV_MAY_WRITE},
    {'l', TV_MAY_LIST},
    {'c', TV_MAY_CREATE},
    {'p', TV_MAY_PROCESS},
    {'x', TV_MAY_DELETE_VERSION},
    {'y', TV_MAY_DELETE_FOR_GOOD},
    {'t', TV_MAY_TAG},
    {'f', TV_MAY_FIND},
    {'m', TV_MAY_MOVE},
    {'e', TV_MAY_EXECUTE},
    {'i', TV_MAY_KEEP},
};

TEST(each_letter_is_one_permission)
{
    static const char *const kinds[] = {"", "&ss=q&srt=o"};

    for (size_t kind = 0; kind < COUNT(kinds); kind++) {
        for (size_t i = 0; i < COUNT(letters); i++) {
            tv_slice query = tv_arena_printf(&arena, "sv=2021-12-02&se=2026-01-03&sp=%coX%s%c",
                                             letters[i].letter, kinds[kind], 0);
            const tv_identity *identity = let_in(TV_SERVICE_QUEUE, "jobs", "", query.data);

            t_row = query.data;
            for (size_t j = 0; j < COUNT(letters); j++) {
                tv_need need = {.sas = ALL_SAS,
                                .type = TV_TYPE_OBJECT,
                                .all_of = letters[j].permission,
                                .container = TV_LIT("jobs")};

                CHECK_ERR(tv_identity_allows(identity, &need),
                          i == j ? TV_OK : TV_ERR_PERMISSION_MISMATCH);
            }
        }
    }
    t_row = "";
}

/* --- headers of the answer --- */

#define ANSWER "&rscc=no-cache&rscd=inline%3B+filename%3Dx&rsce=gzip&rscl=de&rsct=text%2Fhtml"

TEST(the_headers_of_the_answer_come_through)
{
    const tv_header_overrides *given = tv_identity_overrides(
        let_in(TV_SERVICE_BLOB, "films", "a", "sv=2013-08-15" GOOD "&sr=b" ANSWER));

    CHECK(given != NULL);
    CHECK_TEXT(given->cache_control, "no-cache");
    CHECK_TEXT(given->content_disposition, "inline; filename=x");
    CHECK_TEXT(given->content_encoding, "gzip");
    CHECK_TEXT(given->content_language, "de");
    CHECK_TEXT(given->content_type, "text/html");

    given = tv_identity_overrides(
        let_in(TV_SERVICE_BLOB, "films", "a", NEW "&sr=c&rscc=&rsct=text%2Fplain"));
    CHECK(given != NULL && given->cache_control.data == NULL);
    CHECK_TEXT(given->content_type, "text/plain");
}

static const struct {
    const char *what, *query;
} without_answer[] = {
    {"none", NEW "&sr=b"},
    {"empty ones", NEW "&sr=b&rscc=&rsct="},
    {"a version that does not sign them", "sv=2012-02-12" GOOD "&sr=b" ANSWER},
    {"an account SAS does not sign them", NEW "&ss=b&srt=o" ANSWER},
};

TEST(headers_that_nobody_signed_do_not)
{
    for (size_t i = 0; i < COUNT(without_answer); i++) {
        t_row = without_answer[i].what;
        CHECK(tv_identity_overrides(
                  let_in(TV_SERVICE_BLOB, "films", "a", without_answer[i].query)) == NULL);
    }
    t_row = "";
}

/* --- anonymous requests --- */

TEST(who_is_anonymous_may_do_what_is_public)
{
    tv_credentials credentials = request(TV_SERVICE_BLOB, "films", "a", TV_LIT("comp=list"));
    const tv_identity *identity = NULL;
    tv_need need = {.sas = ALL_SAS, .type = TV_TYPE_OBJECT, .container = TV_LIT("films")};

    CHECK_ERR(tv_authenticate(&policy, &credentials, now, &arena, &identity, &info),
              TV_ERR_NO_AUTHENTICATION);
    CHECK(identity == NULL);
    CHECK_OK(tv_authenticate_anonymous(&policy, &credentials, &arena, &identity, &info));
    CHECK(tv_identity_is_anonymous(identity));
    CHECK_TEXT(tv_identity_account(identity), "acct");
    CHECK_TEXT(tv_identity_turns(identity), ""); /* not those of the owner */
    CHECK(tv_identity_overrides(identity) == NULL && tv_identity_key_limits(identity) == NULL);
    CHECK_ERR(tv_identity_allows(identity, &need), TV_ERR_NO_AUTHENTICATION);
    need.is_public = true;
    CHECK_OK(tv_identity_allows(identity, &need));
    need.all_of = TV_MAY_READ; /* what a SAS would need does not matter */
    CHECK_OK(tv_identity_allows(identity, &need));
}

static const struct {
    const char *what, *account, *host;
    bool is_peer_loopback, allow_dev_anywhere;
    tv_err err;
} visitors[] = {
    {"from here", "acct", "127.0.0.1", true, false, TV_OK},
    {"from elsewhere", "acct", "films.example", false, false, TV_OK},
    {"an account that is not there", "nobody", "127.0.0.1", true, false, TV_ERR_NO_AUTHENTICATION},
    {"no account", "", "127.0.0.1", true, false, TV_ERR_NO_AUTHENTICATION},
    {"the development account", TV_DEVELOPMENT_ACCOUNT, "127.0.0.1", true, false, TV_OK},
    {"from elsewhere", TV_DEVELOPMENT_ACCOUNT, "127.0.0.1", false, false,
     TV_ERR_AUTHENTICATION_FAILED},
    {"by a foreign name", TV_DEVELOPMENT_ACCOUNT, "evil.example", true, false,
     TV_ERR_AUTHENTICATION_FAILED},
    {"unless the operator says so", TV_DEVELOPMENT_ACCOUNT, "evil.example", false, true, TV_OK},
};

TEST(an_anonymous_visitor_needs_an_account_that_is_open_to_it)
{
    for (size_t i = 0; i < COUNT(visitors); i++) {
        tv_credentials credentials = request(TV_SERVICE_BLOB, "films", "a", TV_NONE);
        const tv_identity *identity = NULL;

        t_row = visitors[i].what;
        credentials.parts.account = tv_slice_of(visitors[i].account);
        credentials.host = tv_slice_of(visitors[i].host);
        credentials.is_peer_loopback = visitors[i].is_peer_loopback;
        policy.allow_dev_anywhere = visitors[i].allow_dev_anywhere;
        CHECK_ERR(tv_authenticate_anonymous(&policy, &credentials, &arena, &identity, &info),
                  visitors[i].err);
        CHECK_INT(identity != NULL, visitors[i].err == TV_OK);
    }
    policy.allow_dev_anywhere = false;
    t_row = "";
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_is_whole_and_in_form),
        cmocka_unit_test(a_token_is_good_where_it_was_made_for),
        cmocka_unit_test(a_snapshot_is_signed_only_for_snapshots),
        cmocka_unit_test(a_token_reaches_what_it_is_for),
        cmocka_unit_test(each_letter_is_one_permission),
        cmocka_unit_test(the_headers_of_the_answer_come_through),
        cmocka_unit_test(headers_that_nobody_signed_do_not),
        cmocka_unit_test(who_is_anonymous_may_do_what_is_public),
        cmocka_unit_test(an_anonymous_visitor_needs_an_account_that_is_open_to_it),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
