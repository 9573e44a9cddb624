/* See redact.h. */
#include "insight/advice/redact.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/random.h"
#include "model/auth/hmac.h"
#include "store/engine/key.h"

#define SECRET_FILE "secret"
#define NEW_FILE SECRET_FILE ".new"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* over both */
static tv_hmac_key hash_key;
static bool has_key;

/* Locked. */
static void use(const unsigned char secret[TV_REDACT_SECRET_BYTES])
{
    tv_hmac_key_init(&hash_key, (tv_slice){(const char *)secret, TV_REDACT_SECRET_BYTES});
    has_key = true;
}

void tv_redact_use(const unsigned char secret[TV_REDACT_SECRET_BYTES])
{
    pthread_mutex_lock(&lock);
    use(secret);
    pthread_mutex_unlock(&lock);
}

/* Whatever lies there, it is neither followed nor waited for. */
static bool read_secret(int dir_fd, unsigned char ret_secret[TV_REDACT_SECRET_BYTES])
{
    int fd = openat(dir_fd, SECRET_FILE, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat stat;
    bool is_whole;

    if (fd < 0)
        return false;
    is_whole = fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode) &&
               stat.st_size == TV_REDACT_SECRET_BYTES &&
               read(fd, ret_secret, TV_REDACT_SECRET_BYTES) == TV_REDACT_SECRET_BYTES;
    close(fd);
    return is_whole;
}

static bool write_secret(int dir_fd, const unsigned char secret[TV_REDACT_SECRET_BYTES])
{
    bool is_kept;

    unlinkat(dir_fd, NEW_FILE, 0);

    int fd = openat(dir_fd, NEW_FILE, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

    if (fd < 0)
        return false;
    is_kept = write(fd, secret, TV_REDACT_SECRET_BYTES) == TV_REDACT_SECRET_BYTES &&
              fsync(fd) == 0 && renameat(dir_fd, NEW_FILE, dir_fd, SECRET_FILE) == 0 &&
              fsync(dir_fd) == 0;
    close(fd);
    return is_kept;
}

bool tv_redact_open(const char *folder)
{
    int dir_fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    unsigned char secret[TV_REDACT_SECRET_BYTES];
    bool is_kept = dir_fd >= 0 && read_secret(dir_fd, secret);

    if (!is_kept) {
        tv_random_bytes(secret, sizeof secret);
        is_kept = dir_fd >= 0 && write_secret(dir_fd, secret);
    }
    if (dir_fd >= 0)
        close(dir_fd);
    tv_redact_use(secret);
    OPENSSL_cleanse(secret, sizeof secret);
    return is_kept;
}

void tv_redact_hash(tv_slice key, char ret_hex[TV_REDACT_CHARS + 1])
{
    unsigned char mac[TV_HMAC_BYTES], secret[TV_REDACT_SECRET_BYTES];
    tv_hmac_key used;

    pthread_mutex_lock(&lock);
    if (!has_key) {
        tv_random_bytes(secret, sizeof secret);
        use(secret);
        OPENSSL_cleanse(secret, sizeof secret);
    }
    used = hash_key;
    pthread_mutex_unlock(&lock);
    tv_hmac_sign(&used, key, mac);
    tv_hmac_key_done(&used);
    for (int i = 0; i < TV_REDACT_CHARS / 2; i++)
        snprintf(ret_hex + 2 * i, 3, "%02x", mac[i]);
}

void tv_finding_add_key_id(tv_buf *out, const tv_finding *finding)
{
    char hash[TV_REDACT_CHARS + 1];
    tv_buf keys = TV_BUF_EMPTY;

    tv_buf_add(&keys, finding->partition_key);
    if (finding->subject == TV_SUBJECT_ENTITY) {
        tv_buf_add_char(&keys, TV_KEY_MARK); /* no key holds it */
        tv_buf_add(&keys, finding->row_key);
    }
    tv_redact_hash(tv_buf_slice(&keys), hash);
    tv_buf_done(&keys);
    tv_buf_printf(out, "%s@%.*s/%.*s/%s", tv_rule_info_of(finding->rule)->name,
                  TV_FMT(finding->account), TV_FMT(finding->table), hash);
}
