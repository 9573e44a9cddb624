/* The token and its file. */
#include "model/auth/admin_token.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/random.h"
#include "model/auth/hmac.h"

#define NEW_FILE TV_ADMIN_TOKEN_FILE ".new"

/* With a NUL. */
static void put_hex(char *to, const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        snprintf(to + 2 * i, 3, "%02x", bytes[i]);
}

static void make_text(char ret_text[TV_ADMIN_TOKEN_CHARS + 1])
{
    unsigned char bytes[TV_ADMIN_TOKEN_CHARS / 2];

    tv_random_bytes(bytes, sizeof bytes);
    put_hex(ret_text, bytes, sizeof bytes);
    OPENSSL_cleanse(bytes, sizeof bytes);
}

/*
 * False with errno.  Not synced: after a loss of power no server is there that
 * would accept it.  The mode is set again because a default ACL of the folder may
 * have widened it.
 */
static bool write_file(int dir_fd, const char *text)
{
    char line[TV_ADMIN_TOKEN_CHARS + 2];
    int len = snprintf(line, sizeof line, "%s\n", text);

    if (unlinkat(dir_fd, NEW_FILE, 0) != 0 && errno != ENOENT)
        return false;

    int fd = openat(dir_fd, NEW_FILE, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

    if (fd < 0)
        return false;

    errno = ENOSPC; /* of a short write, which sets none */

    bool ok = fchmod(fd, 0600) == 0 && write(fd, line, (size_t)len) == len &&
              renameat(dir_fd, NEW_FILE, dir_fd, TV_ADMIN_TOKEN_FILE) == 0;
    int error = errno;

    close(fd);
    OPENSSL_cleanse(line, sizeof line);
    if (!ok)
        unlinkat(dir_fd, NEW_FILE, 0);
    errno = error;
    return ok;
}

bool tv_admin_token_open(tv_admin_token *token, const char *dir, char *reterr_text,
                         size_t reterr_size)
{
    tv_admin_token made = {.dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};

    make_text(made.text);
    if (made.dir_fd < 0 || !write_file(made.dir_fd, made.text)) {
        snprintf(reterr_text, reterr_size, "cannot write %s/" TV_ADMIN_TOKEN_FILE ": %s", dir,
                 strerror(errno));
        if (made.dir_fd >= 0)
            close(made.dir_fd);
        return false;
    }
    made.is_set = true;
    *token = made;
    return true;
}

void tv_admin_token_close(tv_admin_token *token)
{
    if (!token->is_set)
        return;

    unlinkat(token->dir_fd, TV_ADMIN_TOKEN_FILE, 0);
    close(token->dir_fd);
    OPENSSL_cleanse(token->text, sizeof token->text);
    *token = (tv_admin_token){0};
}

bool tv_admin_token_matches(const tv_admin_token *token, tv_slice text)
{
    return token->is_set && text.len == TV_ADMIN_TOKEN_CHARS &&
           CRYPTO_memcmp(text.data, token->text, TV_ADMIN_TOKEN_CHARS) == 0;
}

void tv_admin_token_prove(tv_slice token, tv_slice nonce, tv_slice address,
                          char ret_proof[TV_ADMIN_PROOF_CHARS + 1])
{
    unsigned char mac[TV_HMAC_BYTES];
    tv_buf text = TV_BUF_EMPTY;
    tv_hmac_key key;

    tv_buf_printf(&text, "tavola-admin-proof\n%.*s\n%.*s", TV_FMT(nonce), TV_FMT(address));
    tv_hmac_key_init(&key, token);
    tv_hmac_sign(&key, tv_buf_slice(&text), mac);
    tv_hmac_key_done(&key);
    tv_buf_done(&text);
    put_hex(ret_proof, mac, sizeof mac);
}
