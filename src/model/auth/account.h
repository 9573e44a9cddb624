/*
 * Storage accounts: a name and up to two keys, either of which signs.  Read at
 * start-up and only read from then on, by any thread.
 */
#ifndef TV_MODEL_AUTH_ACCOUNT_H
#define TV_MODEL_AUTH_ACCOUNT_H

#include "base/budget.h"
#include "base/err.h"
#include "base/slice.h"
#include "model/auth/hmac.h"

/** The identity that every Azure emulator shares; its key is public knowledge. */
#define TV_DEVELOPMENT_ACCOUNT "devstoreaccount1"
#define TV_DEVELOPMENT_KEY                                                                         \
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="

enum { TV_ACCOUNT_NAME_MAX = 24, TV_ACCOUNT_KEYS_MAX = 2 };

/** What the line of an account says about scalability targets (targets/targets.h). */
typedef enum tv_account_targets {
    TV_TARGETS_AS_SERVER, /* nothing: as --emulate-targets says */
    TV_TARGETS_ON,
    TV_TARGETS_OFF,
} tv_account_targets;

typedef struct tv_account {
    char name[TV_ACCOUNT_NAME_MAX + 1];
    tv_hmac_key keys[TV_ACCOUNT_KEYS_MAX];
    int key_count;
    bool is_development; /* one of its keys is the well-known one */
    /* Of the memory for requests: of those that were signed, and of those that anybody may make,
     * for all accounts together.  NULL when nothing is counted. */
    tv_share *share, *public_share;
    tv_account_targets targets_mode;
    /* Of its own targets, a second; 0: Azure's. */
    uint32_t partition_rate, account_rate, queue_rate, blob_rate;
    struct tv_target_account *targets;     /* NULL when there are none to keep */
} tv_account;

typedef struct tv_accounts {
    tv_account *list;
    size_t count;
} tv_accounts;

void tv_accounts_init(tv_accounts *accounts);
void tv_accounts_done(tv_accounts *accounts);

/**
 * Add one account written as "name:key1" or "name:key1:key2", keys in base 64, and after
 * a blank, if it has scalability targets of its own, "targets=on", "targets=off" or
 * "targets=partition:N,account:N,queue:N,blob:N" with those that it gives.
 * The name is 3 to 24 lower-case letters and digits.  False, with one line that
 * says what is wrong (and never a key), when it is not of that form or the name
 * is there already.
 */
bool tv_accounts_add(tv_accounts *accounts, tv_slice text, char *reterr_text, size_t reterr_size);

/** AZURITE_ACCOUNTS: accounts separated by ';'. */
bool tv_accounts_add_list(tv_accounts *accounts, tv_slice list, char *reterr_text,
                          size_t reterr_size);

/** An accounts file: one account per line; blank lines and lines that begin with '#' are skipped.
 */
bool tv_accounts_add_file(tv_accounts *accounts, const char *path, char *reterr_text,
                          size_t reterr_size);

/** Give each account its share of the budget; an account that was known before has its old one. */
void tv_accounts_set_shares(tv_accounts *accounts, tv_budget *budget);

/** NULL when there is none of that name. */
const tv_account *tv_accounts_find(const tv_accounts *accounts, tv_slice name);

#endif
