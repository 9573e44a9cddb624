/* Which shared access signatures open the door, and what they permit behind it. */
#include "base/base64.h"
#include "base/clock.h"
#include "base/datetime.h"
#include "base/uri.h"
#include "check.h"
#include "model/auth/identity.h"
#include "model/auth/sas.h"
#include "parameters.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

#define KEY1 "c2VjcmV0IG9uZQ=="
#define KEY2 "c2VjcmV0IHR3bw=="
#define OTHER_KEY "YW5vdGhlcg=="
#define NOW "2026-01-02T03:04:05Z"

static tv_accounts accounts;
static tv_error_info info;
static tv_auth_policy policy = {.accounts = &accounts};
static tv_access_policies stored;
static tv_err stored_err;
static tv_arena arena;
static int64_t now;

static tv_err find_policies(void *ctx, tv_slice account, tv_slice table, tv_arena *unused,
                            tv_access_policies *ret_policies)
{
    (void)ctx;
    (void)unused;
    if (!tv_slice_eq(account, TV_LIT("acct")) || !tv_slice_eq_nocase(table, TV_LIT("people")))
        return TV_ERR_TABLE_NOT_FOUND;
    if (stored_err)
        return stored_err;
    *ret_policies = stored;
    return TV_OK;
}

static int set_up(__attribute__((unused)) void **state)
{
    char problem[200];

    tv_accounts_init(&accounts);
    tv_arena_init(&arena);
    policy.find_policies = find_policies;
    if (!tv_accounts_add_list(&accounts,
                              TV_LIT("acct:" KEY1 ":" KEY2 ";other:" OTHER_KEY
                                     ";" TV_DEVELOPMENT_ACCOUNT ":" TV_DEVELOPMENT_KEY),
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
static tv_slice signed_query(const char *query, const char *account, const char *key_base64)
{
    char secret[128], signature[44];
    unsigned char mac[TV_HMAC_BYTES];
    tv_hmac_key key;
    tv_slice text;
    tv_sas sas;
    bool is_sas;
    size_t len;
    tv_buf encoded = TV_BUF_EMPTY;

    tv_parameters parameters = query_of(&arena, tv_slice_of(query));

    CHECK_OK(tv_sas_parse(&arena, &parameters, &sas, &is_sas));
    text = tv_sas_is_account(&sas) ? tv_sas_account_text(&arena, &sas, tv_slice_of(account))
                                   : tv_sas_table_text(&arena, &sas, tv_slice_of(account));
    CHECK(tv_base64_decode(secret, tv_slice_of(key_base64), &len));
    tv_hmac_key_init(&key, (tv_slice){secret, len});
    tv_hmac_sign(&key, text, mac);
    tv_hmac_key_done(&key);
    tv_base64_encode(signature, (tv_slice){(const char *)mac, sizeof mac});
    tv_uri_add_key(&encoded, (tv_slice){signature, sizeof signature});
    text = tv_arena_printf(&arena, "%s&sig=%.*s", query, TV_FMT(tv_buf_slice(&encoded)));
    tv_buf_done(&encoded);
    return text;
}

static tv_credentials request(tv_slice query)
{
    return (tv_credentials){
        .parts = {.account = TV_LIT("acct"), .method = TV_LIT("GET"), .path = TV_LIT("/people")},
        .query = query_of(&arena, query),
        .host = TV_LIT("127.0.0.1:10002"),
        .peer = "127.0.0.1:4000",
        .is_peer_loopback = true,
    };
}

static tv_err ask(tv_slice query, const tv_identity **ret_identity)
{
    tv_credentials credentials = request(query);

    return tv_authenticate(&policy, &credentials, now, &arena, ret_identity, &info);
}

static const tv_identity *let_in(const char *query)
{
    const tv_identity *identity = NULL;

    CHECK_OK(ask(signed_query(query, "acct", KEY1), &identity));
    CHECK_TEXT(tv_identity_account(identity), "acct");
    return identity;
}

#define TABLE "sv=2019-02-02&tn=people&sp=r&se=2026-01-03"
#define ACCOUNT "sv=2019-02-02&ss=t&srt=o&sp=r&se=2026-01-03"

/* --- what must be there, and hold --- */

static const struct {
    const char *what, *query;
    tv_err err;
} tokens[] = {
    {"a table SAS", TABLE, TV_OK},
    {"an account SAS", ACCOUNT, TV_OK},
    {"the first version", "sv=2012-02-12&tn=people&sp=r&se=2026-01-03", TV_OK},
    {"a version before it", "sv=2011-08-18&tn=people&sp=r&se=2026-01-03",
     TV_ERR_AUTHENTICATION_FAILED},
    {"no version", "tn=people&sp=r&se=2026-01-03", TV_ERR_AUTHENTICATION_FAILED},
    {"a version that is not a date", "sv=9&tn=people&sp=r&se=2026-01-03",
     TV_ERR_AUTHENTICATION_FAILED},
    {"a version with a tail", "sv=2019-02-02x&tn=people&sp=r&se=2026-01-03",
     TV_ERR_AUTHENTICATION_FAILED},
    {"no table", "sv=2019-02-02&sp=r&se=2026-01-03", TV_ERR_AUTHENTICATION_FAILED},
    {"no permission", "sv=2019-02-02&tn=people&se=2026-01-03", TV_ERR_AUTHENTICATION_FAILED},
    {"no expiry", "sv=2019-02-02&tn=people&sp=r", TV_ERR_AUTHENTICATION_FAILED},
    {"an expiry that is not a time", "sv=2019-02-02&tn=people&sp=r&se=never",
     TV_ERR_AUTHENTICATION_FAILED},
    {"a start that is not a time", TABLE "&st=always", TV_ERR_AUTHENTICATION_FAILED},
    {"a start row without its partition", TABLE "&srk=a", TV_ERR_AUTHENTICATION_FAILED},
    {"an end row without its partition", TABLE "&erk=a", TV_ERR_AUTHENTICATION_FAILED},
    {"an end row with the other partition", TABLE "&spk=a&erk=a", TV_ERR_AUTHENTICATION_FAILED},
    {"an account SAS without services", "sv=2019-02-02&srt=o&sp=r&se=2026-01-03",
     TV_ERR_SERVICE_MISMATCH},
    {"an account SAS of other services", "sv=2019-02-02&ss=bqf&srt=o&sp=r&se=2026-01-03",
     TV_ERR_SERVICE_MISMATCH},
    {"an account SAS of all services", "sv=2019-02-02&ss=bqtf&srt=o&sp=r&se=2026-01-03", TV_OK},
    {"an account SAS without permission", "sv=2019-02-02&ss=t&srt=o&se=2026-01-03",
     TV_ERR_AUTHENTICATION_FAILED},
    {"an account SAS without expiry", "sv=2019-02-02&ss=t&srt=o&sp=r",
     TV_ERR_AUTHENTICATION_FAILED},
    /* The signed text does not tell an empty end from none, so the holder could drop it. */
    {"an empty end of partitions", TABLE "&epk=", TV_ERR_AUTHENTICATION_FAILED},
    {"an empty end of rows", TABLE "&epk=a&erk=", TV_ERR_AUTHENTICATION_FAILED},
    {"an empty start is no limit", TABLE "&spk=&srk=", TV_OK},
};

TEST(a_token_is_whole_and_in_form)
{
    for (size_t i = 0; i < COUNT(tokens); i++) {
        const tv_identity *identity = NULL;

        t_row = tokens[i].what;
        CHECK_ERR(ask(signed_query(tokens[i].query, "acct", KEY1), &identity), tokens[i].err);
        CHECK_INT(identity != NULL, tokens[i].err == TV_OK);
    }
}

TEST(only_a_key_of_the_account_signs)
{
    const tv_identity *identity = NULL;

    CHECK_OK(ask(signed_query(TABLE, "acct", KEY1), &identity));
    CHECK_OK(ask(signed_query(TABLE, "acct", KEY2), &identity));
    CHECK_OK(ask(signed_query(ACCOUNT, "acct", KEY2), &identity));
    CHECK_ERR(ask(signed_query(TABLE, "acct", OTHER_KEY), &identity), TV_ERR_AUTHENTICATION_FAILED);
    CHECK_ERR(ask(signed_query(ACCOUNT, "acct", OTHER_KEY), &identity),
              TV_ERR_AUTHENTICATION_FAILED);
    CHECK_ERR(ask(signed_query(TABLE, "other", OTHER_KEY), &identity),
              TV_ERR_AUTHENTICATION_FAILED);
    CHECK_ERR(ask(signed_query(TABLE, "other", KEY1), &identity), TV_ERR_AUTHENTICATION_FAILED);
}

TEST(no_part_of_a_signature_is_enough)
{
    const tv_identity *identity = NULL;
    tv_slice whole = signed_query(TABLE, "acct", KEY1);
    size_t start = whole.len;

    while (whole.data[start - 1] != '=')
        start--;
    for (size_t len = start; len < whole.len; len++)
        CHECK_ERR(ask(tv_slice_take(whole, len), &identity), TV_ERR_AUTHENTICATION_FAILED);
    CHECK_ERR(ask(tv_arena_printf(&arena, "%.*sA", TV_FMT(whole)), &identity),
              TV_ERR_AUTHENTICATION_FAILED);
    CHECK(identity == NULL);
}

/* Each parameter of the token, changed or added after signing. */
static const struct {
    const char *what, *before, *after;
} tampered[] = {
    {"another table", "tn=people", "tn=persons"},
    {"more permissions", "sp=r", "sp=raud"},
    {"a later expiry", "se=2026-01-03", "se=2027-01-03"},
    {"the same expiry, spelt otherwise", "se=2026-01-03", "se=2026-01-03T00:00:00Z"},
    {"an earlier start", "st=2026-01-01", "st=2025-01-01"},
    {"no start", "&st=2026-01-01", ""},
    {"another version", "sv=2019-02-02", "sv=2020-12-06"},
    {"an older layout", "sv=2019-02-02", "sv=2015-02-21"},
    {"a lower start", "spk=b", "spk=a"},
    {"no start of rows", "&srk=c", ""},
    {"a higher end", "epk=d", "epk=z"},
    {"no end of rows", "&erk=e", ""},
    {"rows moved into partitions", "spk=b&srk=c", "spk=b%0Ac"},
    {"no address", "&sip=127.0.0.1", ""},
    {"another address", "sip=127.0.0.1", "sip=127.0.0.0-127.0.0.9"},
    {"another protocol", "spr=https,http", "spr=http,https"},
    {"a policy", "spr=", "si=p&spr="},
    {"made an account's", "spr=", "ss=t&srt=sco&spr="},
};

TEST(what_was_signed_cannot_be_changed)
{
    static const char original[] =
        "sv=2019-02-02&tn=people&sp=r&st=2026-01-01&se=2026-01-03&spk=b&srk=c&epk=d&erk=e"
        "&sip=127.0.0.1&spr=https,http";
    const tv_identity *identity = NULL;
    tv_slice good = signed_query(original, "acct", KEY1);

    CHECK_OK(ask(good, &identity));
    for (size_t i = 0; i < COUNT(tampered); i++) {
        char text[600];
        char *at;

        t_row = tampered[i].what;
        snprintf(text, sizeof text, "%.*s", TV_FMT(good));
        at = strstr(text, tampered[i].before);
        CHECK(at != NULL);
        CHECK_ERR(ask(tv_arena_printf(&arena, "%.*s%s%s", (int)(at - text), text, tampered[i].after,
                                      at + strlen(tampered[i].before)),
                      &identity),
                  TV_ERR_AUTHENTICATION_FAILED);
    }
}

TEST(a_header_counts_more_than_a_sas)
{
    tv_credentials credentials = request(signed_query(TABLE, "acct", KEY1));
    const tv_identity *identity = NULL;

    credentials.authorization = TV_LIT("");
    CHECK_ERR(tv_authenticate(&policy, &credentials, now, &arena, &identity, &info),
              TV_ERR_AUTHENTICATION_INFO);
    credentials.authorization = TV_LIT("Bearer x");
    CHECK_ERR(tv_authenticate(&policy, &credentials, now, &arena, &identity, &info),
              TV_ERR_BEARER_REFUSED);
    CHECK(identity == NULL);
}

TEST(the_development_key_signs_for_this_machine_only)
{
    tv_credentials credentials =
        request(signed_query(ACCOUNT, TV_DEVELOPMENT_ACCOUNT, TV_DEVELOPMENT_KEY));
    const tv_identity *identity = NULL;

    credentials.parts.account = TV_LIT(TV_DEVELOPMENT_ACCOUNT);
    CHECK_OK(tv_authenticate(&policy, &credentials, now, &arena, &identity, &info));
    credentials.host = TV_LIT("evil.example");
    CHECK_ERR(tv_authenticate(&policy, &credentials, now, &arena, &identity, &info),
              TV_ERR_AUTHENTICATION_FAILED);
    credentials.host = TV_LIT("127.0.0.1");
    credentials.is_peer_loopback = false;
    CHECK_ERR(tv_authenticate(&policy, &credentials, now, &arena, &identity, &info),
              TV_ERR_AUTHENTICATION_FAILED);
}

/* --- circumstances --- */

static const struct {
    const char *what, *start, *expiry;
    int64_t ticks_later;
    tv_err err;
} moments[] = {
    {"just started", NOW, "2027-01-01", 0, TV_OK},
    {"a tick too early", NOW, "2027-01-01", -1, TV_ERR_AUTHENTICATION_FAILED},
    {"just not over", "", NOW, 0, TV_OK},
    {"a tick too late", "", NOW, 1, TV_ERR_AUTHENTICATION_FAILED},
    {"on the day before", "", "2026-01-02", 0, TV_ERR_AUTHENTICATION_FAILED},
    {"for one instant", NOW, NOW, 0, TV_OK},
    {"over before it starts", "2026-01-03", "2026-01-01", 0, TV_ERR_AUTHENTICATION_FAILED},
};

TEST(a_token_has_its_time)
{
    for (size_t i = 0; i < COUNT(moments); i++) {
        char query[200];
        const tv_identity *identity = NULL;

        t_row = moments[i].what;
        snprintf(query, sizeof query, "sv=2019-02-02&tn=people&sp=r&st=%s&se=%s", moments[i].start,
                 moments[i].expiry);

        tv_credentials credentials = request(signed_query(query, "acct", KEY1));

        CHECK_ERR(
            tv_authenticate(&policy, &credentials, now + moments[i].ticks_later, &arena, &identity, &info),
            moments[i].err);
    }
}

static const struct {
    const char *what, *query, *peer;
    bool is_tls;
    tv_err err;
} origins[] = {
    {"https over TLS", "&spr=https", "1.2.3.4:5", true, TV_OK},
    {"https in the clear", "&spr=https", "1.2.3.4:5", false, TV_ERR_PROTOCOL_MISMATCH},
    {"both over TLS", "&spr=https,http", "1.2.3.4:5", true, TV_OK},
    {"both in the clear", "&spr=https,http", "1.2.3.4:5", false, TV_OK},
    {"neither is said", "", "1.2.3.4:5", false, TV_OK},
    {"http alone cannot be asked for", "&spr=http", "1.2.3.4:5", false,
     TV_ERR_AUTHENTICATION_FAILED},
    {"nor anything else", "&spr=HTTPS", "1.2.3.4:5", true, TV_ERR_AUTHENTICATION_FAILED},
    {"the right address", "&sip=1.2.3.4", "1.2.3.4:5", false, TV_OK},
    {"the wrong address", "&sip=1.2.3.4", "1.2.3.5:5", false, TV_ERR_SOURCE_IP_MISMATCH},
    {"in the range", "&sip=1.2.3.0-1.2.3.9", "1.2.3.4:5", false, TV_OK},
    {"not in the range", "&sip=1.2.3.0-1.2.3.9", "1.2.4.4:5", false, TV_ERR_SOURCE_IP_MISMATCH},
    {"an invalid address", "&sip=home", "1.2.3.4:5", false, TV_ERR_SOURCE_IP_MISMATCH},
};

TEST(a_token_has_its_place)
{
    for (size_t i = 0; i < COUNT(origins); i++) {
        static const char *kinds[] = {TABLE, ACCOUNT};

        for (size_t kind = 0; kind < COUNT(kinds); kind++) {
            char query[200];
            const tv_identity *identity = NULL;

            t_row = origins[i].what;
            snprintf(query, sizeof query, "%s%s", kinds[kind], origins[i].query);

            tv_credentials credentials = request(signed_query(query, "acct", KEY1));

            credentials.peer = origins[i].peer;
            credentials.is_tls = origins[i].is_tls;
            CHECK_ERR(tv_authenticate(&policy, &credentials, now, &arena, &identity, &info),
                      origins[i].err);
        }
    }
}

/* --- stored policies: a field comes from the token or from the policy, never from both --- */

#define LEANING "sv=2019-02-02&tn=people&si=p"

/* A slice in an initializer of static data. */
#define TEXT(literal)                                                                              \
    {                                                                                              \
        literal, sizeof(literal) - 1                                                               \
    }

static const struct {
    const char *what, *query;
    tv_access_policy stored; /* id "p" unless it says otherwise */
    tv_err err;
    unsigned permissions;
} leanings[] = {
    {"all from the policy",
     LEANING,
     {.expiry = TEXT("2026-01-03T00:00:00.0000000Z"), .permission = TEXT("ra")},
     TV_OK,
     TV_MAY_READ | TV_MAY_ADD},
    {"all from the token", LEANING "&sp=r&se=2026-01-03", {.id = TEXT("p")}, TV_OK, TV_MAY_READ},
    {"permission from the policy",
     LEANING "&se=2026-01-03",
     {.permission = TEXT("d")},
     TV_OK,
     TV_MAY_DELETE},
    {"expiry from the policy",
     LEANING "&sp=u",
     {.expiry = TEXT("2026-01-03T00:00:00.0000000Z")},
     TV_OK,
     TV_MAY_UPDATE},
    {"permission from both",
     LEANING "&sp=r&se=2026-01-03",
     {.permission = TEXT("r")},
     TV_ERR_INVALID_QUERY_PARAMETER,
     0},
    {"expiry from both",
     LEANING "&sp=r&se=2026-01-03",
     {.expiry = TEXT("2026-01-03T00:00:00.0000000Z")},
     TV_ERR_INVALID_QUERY_PARAMETER,
     0},
    {"start from both",
     LEANING "&sp=r&se=2026-01-03&st=2026-01-01",
     {.start = TEXT("2026-01-01T00:00:00.0000000Z")},
     TV_ERR_INVALID_QUERY_PARAMETER,
     0},
    {"permission from neither",
     LEANING "&se=2026-01-03",
     {.id = TEXT("p")},
     TV_ERR_AUTHENTICATION_FAILED,
     0},
    {"expiry from neither", LEANING "&sp=r", {.id = TEXT("p")}, TV_ERR_AUTHENTICATION_FAILED, 0},
    {"a policy that is over",
     LEANING "&sp=r",
     {.expiry = TEXT("2026-01-01T00:00:00.0000000Z")},
     TV_ERR_AUTHENTICATION_FAILED,
     0},
    {"a policy that is to come",
     LEANING "&sp=r&se=2026-01-09",
     {.start = TEXT("2026-01-08T00:00:00.0000000Z")},
     TV_ERR_AUTHENTICATION_FAILED,
     0},
    {"a policy of another name",
     LEANING "&sp=r&se=2026-01-03",
     {.id = TEXT("q")},
     TV_ERR_AUTHENTICATION_FAILED,
     0},
    {"names are case-sensitive",
     LEANING "&sp=r&se=2026-01-03",
     {.id = TEXT("P")},
     TV_ERR_AUTHENTICATION_FAILED,
     0},
    {"no policy asked for",
     "sv=2019-02-02&tn=people&sp=r&se=2026-01-03",
     {.permission = TEXT("raud")},
     TV_OK,
     TV_MAY_READ},
    {"a table that is not there",
     "sv=2019-02-02&tn=persons&si=p&sp=r&se=2026-01-03",
     {.id = TEXT("p")},
     TV_ERR_AUTHENTICATION_FAILED,
     0},
};

static bool may(const tv_identity *identity, unsigned permissions)
{
    tv_need need = {.sas = TV_SAS_ACCOUNT | TV_SAS_CONTAINER,
                    .type = TV_TYPE_OBJECT,
                    .all_of = permissions,
                    .container = TV_LIT("people")};

    return tv_identity_allows(identity, &need) == TV_OK;
}

TEST(a_stored_policy_fills_what_the_token_leaves_open)
{
    for (size_t i = 0; i < COUNT(leanings); i++) {
        const tv_identity *identity = NULL;

        t_row = leanings[i].what;
        stored =
            (tv_access_policies){.list = {{.id = TV_LIT("z")}, leanings[i].stored}, .count = 2};
        if (stored.list[1].id.data == NULL)
            stored.list[1].id = TV_LIT("p");
        CHECK_ERR(ask(signed_query(leanings[i].query, "acct", KEY1), &identity), leanings[i].err);
        if (leanings[i].err)
            continue;
        for (unsigned bit = 1; bit <= TV_MAY_CREATE; bit *= 2)
            CHECK_INT(may(identity, bit), (leanings[i].permissions & bit) != 0);
    }
}

TEST(a_policy_that_cannot_be_read_opens_nothing)
{
    const tv_identity *identity = NULL;
    tv_slice query = signed_query(LEANING "&sp=r&se=2026-01-03", "acct", KEY1);

    stored = (tv_access_policies){.list = {{.id = TV_LIT("p")}}, .count = 1};
    CHECK_OK(ask(query, &identity));
    stored.count = 0;
    CHECK_ERR(ask(query, &identity), TV_ERR_AUTHENTICATION_FAILED);
    stored.count = 1;
    stored_err = TV_ERR_IO;
    CHECK(ask(query, &identity) != TV_OK);
    stored_err = TV_OK;
}

TEST(an_account_sas_has_no_policy)
{
    stored = (tv_access_policies){.list = {{.id = TV_LIT("p"), .permission = TV_LIT("raud")}},
                                  .count = 1};
    CHECK(!may(let_in(ACCOUNT "&si=p"), TV_MAY_ADD));
}

/* --- what they permit --- */

static const struct {
    char letter;
    tv_permission permission;
} letters[] = {
    {'r', TV_MAY_READ},  {'a', TV_MAY_ADD},  {'u', TV_MAY_UPDATE}, {'d', TV_MAY_DELETE},
    {'w', TV_MAY_WRITE}, {'l', TV_MAY_LIST}, {'c', TV_MAY_CREATE},
};

TEST(each_subset_of_permissions_allows_itself_and_no_more)
{
    static const char *kinds[] = {"tn=people", "ss=t&srt=o"};

    for (unsigned set = 1; set < 1u << COUNT(letters); set++) {
        for (size_t kind = 0; kind < COUNT(kinds); kind++) {
            char query[200], sp[16] = "";
            unsigned permissions = 0;
            size_t len = 0;

            for (size_t i = 0; i < COUNT(letters); i++) {
                if (set & 1u << i) {
                    sp[len++] = letters[i].letter;
                    permissions |= letters[i].permission;
                }
            }
            snprintf(query, sizeof query, "sv=2019-02-02&se=2026-01-03&%s&sp=px%s", kinds[kind],
                     sp);
            t_row = query;

            const tv_identity *identity = let_in(query);

            for (unsigned need = 1; need < 1u << COUNT(letters); need++)
                CHECK_INT(may(identity, need), (permissions & need) == need);
        }
    }
    t_row = "";
}

TEST(a_table_sas_is_for_its_table_alone)
{
    const tv_identity *identity = let_in("sv=2019-02-02&tn=PEOPLE&sp=raud&se=2026-01-03");
    tv_need need = {.sas = TV_SAS_ACCOUNT | TV_SAS_CONTAINER,
                    .type = TV_TYPE_OBJECT,
                    .all_of = TV_MAY_READ,
                    .container = TV_LIT("People")};

    CHECK_OK(tv_identity_allows(identity, &need));
    need.container = TV_LIT("Peoples");
    CHECK_ERR(tv_identity_allows(identity, &need), TV_ERR_AUTHORIZATION_FAILURE);
    need.container = TV_LIT("");
    CHECK_ERR(tv_identity_allows(identity, &need), TV_ERR_AUTHORIZATION_FAILURE);
    need.container = TV_LIT("people");
    need.sas = TV_SAS_ACCOUNT;
    CHECK_ERR(tv_identity_allows(identity, &need), TV_ERR_AUTHORIZATION_FAILURE);
    need.sas = 0;
    CHECK_ERR(tv_identity_allows(identity, &need), TV_ERR_AUTHORIZATION_FAILURE);
}

TEST(an_account_sas_is_for_its_resource_types)
{
    static const char types[] = "sco";

    for (unsigned set = 0; set < 8; set++) {
        char query[100], srt[4] = "";
        size_t len = 0;

        for (unsigned i = 0; i < 3; i++) {
            if (set & 1u << i)
                srt[len++] = types[i];
        }
        snprintf(query, sizeof query, "sv=2020-12-06&ss=t&sp=r&se=2026-01-03&srt=%s", srt);
        t_row = query;

        const tv_identity *identity = let_in(query);

        for (unsigned type = 1; type <= TV_TYPE_OBJECT; type *= 2) {
            tv_need need = {.sas = TV_SAS_ACCOUNT,
                            .type = (tv_resource_type)type,
                            .all_of = TV_MAY_READ,
                            .container = TV_LIT("people")};

            CHECK_ERR(tv_identity_allows(identity, &need),
                      set & type ? TV_OK : TV_ERR_RESOURCE_TYPE_MISMATCH);
            need.all_of = TV_MAY_ADD;
            CHECK_ERR(tv_identity_allows(identity, &need),
                      set & type ? TV_ERR_PERMISSION_MISMATCH : TV_ERR_RESOURCE_TYPE_MISMATCH);
        }
    }
    t_row = "";
}

TEST(any_one_of_several_permissions_can_be_enough)
{
    tv_need need = {
        .sas = TV_SAS_ACCOUNT, .type = TV_TYPE_OBJECT, .any_of = TV_MAY_CREATE | TV_MAY_WRITE};

    CHECK_OK(tv_identity_allows(let_in("sv=2019-02-02&ss=t&srt=o&sp=c&se=2026-01-03"), &need));
    CHECK_OK(tv_identity_allows(let_in("sv=2019-02-02&ss=t&srt=o&sp=w&se=2026-01-03"), &need));
    CHECK_ERR(tv_identity_allows(let_in("sv=2019-02-02&ss=t&srt=o&sp=raudl&se=2026-01-03"), &need),
              TV_ERR_PERMISSION_MISMATCH);
}

TEST(limits_on_keys_come_through_as_signed)
{
    const tv_key_limits *limits;

    CHECK(tv_identity_key_limits(let_in(TABLE)) == NULL);
    CHECK(tv_identity_key_limits(let_in(ACCOUNT "&spk=a&epk=b")) == NULL);
    limits = tv_identity_key_limits(let_in(TABLE "&spk=a&srk=b+c&epk=%C3%A9&erk=%27"));
    CHECK(limits != NULL);
    CHECK_TEXT(limits->start_partition, "a");
    CHECK_TEXT(limits->start_row, "b c");
    CHECK_TEXT(limits->end_partition, "\xC3\xA9");
    CHECK_TEXT(limits->end_row, "'");
    limits = tv_identity_key_limits(let_in(TABLE "&epk=z"));
    CHECK(limits != NULL && limits->start_partition.data == NULL && limits->end_row.data == NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_is_whole_and_in_form),
        cmocka_unit_test(only_a_key_of_the_account_signs),
        cmocka_unit_test(no_part_of_a_signature_is_enough),
        cmocka_unit_test(what_was_signed_cannot_be_changed),
        cmocka_unit_test(a_header_counts_more_than_a_sas),
        cmocka_unit_test(the_development_key_signs_for_this_machine_only),
        cmocka_unit_test(a_token_has_its_time),
        cmocka_unit_test(a_token_has_its_place),
        cmocka_unit_test(a_stored_policy_fills_what_the_token_leaves_open),
        cmocka_unit_test(a_policy_that_cannot_be_read_opens_nothing),
        cmocka_unit_test(an_account_sas_has_no_policy),
        cmocka_unit_test(each_subset_of_permissions_allows_itself_and_no_more),
        cmocka_unit_test(a_table_sas_is_for_its_table_alone),
        cmocka_unit_test(an_account_sas_is_for_its_resource_types),
        cmocka_unit_test(any_one_of_several_permissions_can_be_enough),
        cmocka_unit_test(limits_on_keys_come_through_as_signed),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
