/* Reading accounts. */
#include "model/auth/account.h"

#include <errno.h>
#include <openssl/crypto.h>

#include "base/assert.h"
#include "base/base64.h"
#include "base/number.h"

enum { KEY_TEXT_MAX = 1024, LINE_MAX_BYTES = 4096 };

void tv_accounts_init(tv_accounts *accounts)
{
    *accounts = (tv_accounts){NULL, 0};
}

void tv_accounts_done(tv_accounts *accounts)
{
    for (size_t i = 0; i < accounts->count; i++) {
        for (int k = 0; k < accounts->list[i].key_count; k++)
            tv_hmac_key_done(&accounts->list[i].keys[k]);
    }
    free(accounts->list);
    tv_accounts_init(accounts);
}

static bool is_account_name(tv_slice name)
{
    if (name.len < 3 || name.len > TV_ACCOUNT_NAME_MAX)
        return false;

    for (size_t i = 0; i < name.len; i++) {
        char c = name.data[i];

        if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9'))
            return false;
    }
    return true;
}

static bool add_key(tv_account *account, tv_slice text)
{
    char secret[KEY_TEXT_MAX];
    size_t len;

    if (text.len == 0 || text.len > KEY_TEXT_MAX || !tv_base64_decode(secret, text, &len))
        return false;

    tv_hmac_key_init(&account->keys[account->key_count++], (tv_slice){secret, len});
    OPENSSL_cleanse(secret, sizeof secret);
    if (tv_slice_eq(text, TV_LIT(TV_DEVELOPMENT_KEY)))
        account->is_development = true;
    return true;
}

static uint32_t *find_rate(tv_slice name, tv_account *account)
{
    if (tv_slice_eq(name, TV_LIT("partition")))
        return &account->partition_rate;
    if (tv_slice_eq(name, TV_LIT("account")))
        return &account->account_rate;
    if (tv_slice_eq(name, TV_LIT("queue")))
        return &account->queue_rate;
    return tv_slice_eq(name, TV_LIT("blob")) ? &account->blob_rate : NULL;
}

/* "partition:500,account:5000": at least one, each once, in any order. */
static bool parse_rates(tv_slice text, tv_account *account)
{
    tv_slice item;

    while (tv_slice_next(&text, ',', &item)) {
        tv_slice name = tv_slice_take(item, tv_slice_find(item, ':'));
        uint32_t *rate = find_rate(name, account);
        int32_t number;

        if (rate == NULL || *rate || name.len == item.len ||
            !tv_parse_int32(tv_slice_skip(item, name.len + 1), &number) || number < 1)
            return false;
        *rate = (uint32_t)number;
    }
    return true;
}

/* "targets=on", and what else may stand behind the keys. */
static bool parse_option(tv_slice text, tv_account *account)
{
    static const tv_slice targets = {"targets=", 8};
    tv_slice value = tv_slice_skip(text, targets.len < text.len ? targets.len : text.len);

    if (!tv_slice_starts_with(text, targets) || account->targets_mode != TV_TARGETS_AS_SERVER)
        return false;
    account->targets_mode = tv_slice_eq(value, TV_LIT("off")) ? TV_TARGETS_OFF : TV_TARGETS_ON;
    return tv_slice_eq(value, TV_LIT("off")) || tv_slice_eq(value, TV_LIT("on")) ||
           parse_rates(value, account);
}

/* Words after the keys; `text` keeps what is before them. */
static bool take_options(tv_slice *text, tv_account *account)
{
    size_t blank = tv_slice_find(*text, ' ');
    tv_slice rest = tv_slice_skip(*text, blank), word;

    if (tv_slice_trim(rest).len == 0)
        return true;
    *text = tv_slice_take(*text, blank);
    while (tv_slice_next(&rest, ' ', &word)) {
        if (word.len && !parse_option(word, account))
            return false;
    }
    return true;
}

bool tv_accounts_add(tv_accounts *accounts, tv_slice text, char *reterr_text, size_t reterr_size)
{
    tv_account account = {0};
    tv_slice name, key;
    bool has_options = take_options(&text, &account);

    tv_slice_next(&text, ':', &name);
    if (!is_account_name(name)) {
        snprintf(
            reterr_text, reterr_size,
            "an account name is 3 to 24 lower-case letters and digits; write name:key1[:key2]");
        return false;
    }
    if (tv_accounts_find(accounts, name)) {
        snprintf(reterr_text, reterr_size, "account '%.*s' is given twice", TV_FMT(name));
        return false;
    }

    if (!has_options) {
        snprintf(reterr_text, reterr_size,
                 "account '%.*s': behind the keys there can be targets=on, targets=off or "
                 "targets=partition:N,account:N,queue:N,blob:N",
                 TV_FMT(name));
        return false;
    }

    memcpy(account.name, name.data, name.len);
    while (tv_slice_next(&text, ':', &key)) {
        if (account.key_count == TV_ACCOUNT_KEYS_MAX || !add_key(&account, key)) {
            snprintf(reterr_text, reterr_size,
                     "account '%.*s' needs one or two keys in base 64: name:key1[:key2]",
                     TV_FMT(name));
            return false;
        }
    }
    if (account.key_count == 0) {
        snprintf(reterr_text, reterr_size, "account '%.*s' has no key: name:key1[:key2]",
                 TV_FMT(name));
        return false;
    }

    accounts->list = tv_realloc(accounts->list, (accounts->count + 1) * sizeof *accounts->list);
    accounts->list[accounts->count++] = account;
    return true;
}

bool tv_accounts_add_list(tv_accounts *accounts, tv_slice list, char *reterr_text,
                          size_t reterr_size)
{
    tv_slice text;

    while (tv_slice_next(&list, ';', &text)) {
        text = tv_slice_trim(text);
        if (text.len && !tv_accounts_add(accounts, text, reterr_text, reterr_size))
            return false;
    }
    return true;
}

bool tv_accounts_add_file(tv_accounts *accounts, const char *path, char *reterr_text,
                          size_t reterr_size)
{
    char line[LINE_MAX_BYTES];
    char problem[256];
    int number = 0;
    bool ok = true;
    FILE *file = fopen(path, "r");

    if (file == NULL) {
        snprintf(reterr_text, reterr_size, "cannot read the accounts file %s: %s", path,
                 strerror(errno));
        return false;
    }
    while (ok && fgets(line, sizeof line, file)) {
        tv_slice text = tv_slice_of(line);

        number++;
        /* The rest would pass for a line of its own, even after the mark of a comment. */
        if (text.len == sizeof line - 1 && line[text.len - 1] != '\n') {
            snprintf(reterr_text, reterr_size, "%s line %d is too long", path, number);
            ok = false;
            break;
        }
        while (text.len && (text.data[text.len - 1] == '\n' || text.data[text.len - 1] == '\r'))
            text.len--;
        text = tv_slice_trim(text);
        if (text.len == 0 || text.data[0] == '#')
            continue;
        ok = tv_accounts_add(accounts, text, problem, sizeof problem);
        if (!ok)
            snprintf(reterr_text, reterr_size, "%s line %d: %s", path, number, problem);
    }
    /* A folder opens like a file and fails here; half a list of accounts is no list. */
    if (ok && ferror(file)) {
        snprintf(reterr_text, reterr_size, "cannot read the accounts file %s: %s", path,
                 strerror(errno));
        ok = false;
    }
    OPENSSL_cleanse(line, sizeof line);
    fclose(file);
    return ok;
}

void tv_accounts_set_shares(tv_accounts *accounts, tv_budget *budget)
{
    for (size_t i = 0; i < accounts->count; i++) {
        tv_account *account = &accounts->list[i];

        account->share = tv_budget_share(budget, tv_slice_of(account->name));
        account->public_share = tv_budget_share(budget, TV_LIT("")); /* no account's name */
    }
}

const tv_account *tv_accounts_find(const tv_accounts *accounts, tv_slice name)
{
    for (size_t i = 0; i < accounts->count; i++) {
        if (tv_slice_eq(name, tv_slice_of(accounts->list[i].name)))
            return &accounts->list[i];
    }
    return NULL;
}
