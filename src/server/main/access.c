/*
 * Accounts and the certificate, at the start and when they are read again.
 *
 * Accounts that were replaced stay until the end: a request under way may look at them, and a
 * new set comes only when an operator asks for it.
 */
#include "base/log.h"
#include "server/main/parts.h"

/* A set of accounts that was replaced; requests under way may still look at it. */
typedef struct tv_old_accounts {
    struct tv_old_accounts *next;
    tv_accounts *accounts;
} tv_old_accounts;

static void accounts_free(tv_accounts *accounts)
{
    if (accounts == NULL)
        return;

    tv_accounts_done(accounts);
    free(accounts);
}

static bool fill_accounts(const tv_config *config, tv_accounts *accounts, char *reterr_text,
                          size_t reterr_size)
{
    const char *azurite = getenv("AZURITE_ACCOUNTS");

    if (config->accounts) {
        if (!tv_accounts_add_file(accounts, config->accounts, reterr_text, reterr_size))
            return false;
    } else if (azurite && azurite[0]) {
        char problem[256];

        if (!tv_accounts_add_list(accounts, tv_slice_of(azurite), problem, sizeof problem)) {
            snprintf(reterr_text, reterr_size, "AZURITE_ACCOUNTS: %s", problem);
            return false;
        }
    } else {
        return tv_accounts_add(accounts, TV_LIT(TV_DEVELOPMENT_ACCOUNT ":" TV_DEVELOPMENT_KEY),
                               reterr_text, reterr_size);
    }
    if (accounts->count == 0) {
        snprintf(reterr_text, reterr_size, "there is no account; write name:key1[:key2]");
        return false;
    }
    return true;
}

/* Which accounts have scalability targets to keep. */
static void set_targets(tv_server *server, tv_accounts *accounts)
{
    for (size_t i = 0; i < accounts->count; i++) {
        tv_account *account = &accounts->list[i];
        bool is_on = account->targets_mode == TV_TARGETS_AS_SERVER
                         ? server->config.emulate_targets
                         : account->targets_mode == TV_TARGETS_ON;

        if (is_on)
            account->targets =
                tv_targets_account(server->targets, tv_slice_of(account->name),
                                   (tv_target_rates){.partition = account->partition_rate,
                                                     .account = account->account_rate,
                                                     .queue = account->queue_rate,
                                                     .blob = account->blob_rate});
    }
}

bool tv_server_open_accounts(tv_server *server, char *reterr_text, size_t reterr_size)
{
    tv_accounts *accounts = tv_malloc(sizeof *accounts);

    tv_accounts_init(accounts);
    if (!fill_accounts(&server->config, accounts, reterr_text, reterr_size)) {
        accounts_free(accounts);
        return false;
    }
    tv_accounts_set_shares(accounts, server->budget);
    set_targets(server, accounts);
    if (server->accounts) {
        tv_old_accounts *old = tv_malloc(sizeof *old);

        *old = (tv_old_accounts){server->old_accounts, server->accounts};
        server->old_accounts = old;
    }
    server->accounts = accounts;
    atomic_store(&server->table.base.auth.accounts, accounts);
    atomic_store(&server->queue.auth.accounts, accounts);
    atomic_store(&server->blob.base.auth.accounts, accounts);
    return true;
}

void tv_server_free_accounts(tv_server *server)
{
    accounts_free(server->accounts);
    while (server->old_accounts) {
        tv_old_accounts *next = server->old_accounts->next;

        accounts_free(server->old_accounts->accounts);
        free(server->old_accounts);
        server->old_accounts = next;
    }
}

static tv_tls_files files_of(const tv_config *config)
{
    return (tv_tls_files){config->cert, config->key, config->cert_password};
}

bool tv_server_open_tls(tv_server *server, char *reterr_text, size_t reterr_size)
{
    const tv_config *config = &server->config;

    if (config->cert == NULL)
        return true;

    server->tls = tv_tls_new(files_of(config), reterr_text, reterr_size);
    return server->tls != NULL;
}

void tv_server_reload(tv_server *server)
{
    const tv_config *config = &server->config;
    char problem[1200];

    if (tv_server_open_accounts(server, problem, sizeof problem))
        tv_log(TV_LOG_INFO, "reload", "accounts=%zu", server->accounts->count);
    else
        tv_log(TV_LOG_ERROR, "reload", "what=accounts problem=\"%s\" note=\"the old ones stay\"",
               problem);
    if (config->log_file && !tv_log_open(config->log_file))
        tv_log(TV_LOG_ERROR, "reload", "what=log-file path=\"%s\" note=\"the old one stays\"",
               config->log_file);
    if (server->tls &&
        tv_tls_reload(server->tls, files_of(config), problem, sizeof problem))
        tv_log(TV_LOG_INFO, "reload", "certificate=\"%s\"", config->cert);
    else if (server->tls)
        tv_log(TV_LOG_ERROR, "reload", "what=certificate problem=\"%s\" note=\"the old one stays\"",
               problem);
}
