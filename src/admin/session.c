/* Links, sessions and their file. */
#include "admin/session.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/crc64.h"
#include "base/log.h"
#include "base/random.h"

#define NEW_FILE TV_SESSIONS_FILE ".new"

/* The file: a heading, the words, and the CRC-64 of all before it. */
#define HEADING "TVS1"
enum {
    HEADING_BYTES = 4,
    WORD_BYTES = TV_SESSION_DIGEST_BYTES + 8,
    CRC_BYTES = 8,
    FILE_BYTES = HEADING_BYTES + TV_SESSIONS_MAX * WORD_BYTES + CRC_BYTES,
};

/* A session's life is prolonged at most this often, so that not every request writes the file. */
#define PROLONG_TICKS (3600 * TV_TICKS_PER_SECOND)

static void make_word(char ret_word[TV_SESSION_WORD_CHARS + 1])
{
    unsigned char bytes[TV_SESSION_WORD_CHARS / 2];

    tv_random_bytes(bytes, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(ret_word + 2 * i, 3, "%02x", bytes[i]);
    OPENSSL_cleanse(bytes, sizeof bytes);
}

/* --- the file --- */

static void put_u64(unsigned char *to, uint64_t number)
{
    for (int i = 0; i < 8; i++)
        to[i] = (unsigned char)(number >> 8 * i);
}

static uint64_t get_u64(const unsigned char *from)
{
    uint64_t number = 0;

    for (int i = 0; i < 8; i++)
        number |= (uint64_t)from[i] << 8 * i;
    return number;
}

static void encode(const tv_sessions *sessions, unsigned char ret_bytes[FILE_BYTES])
{
    unsigned char *at = ret_bytes + HEADING_BYTES;

    memcpy(ret_bytes, HEADING, HEADING_BYTES);
    for (int i = 0; i < TV_SESSIONS_MAX; i++, at += WORD_BYTES) {
        memcpy(at, sessions->sessions[i].digest, TV_SESSION_DIGEST_BYTES);
        put_u64(at + TV_SESSION_DIGEST_BYTES, (uint64_t)sessions->sessions[i].expiry);
    }
    put_u64(at, tv_crc64_of((tv_slice){(const char *)ret_bytes, FILE_BYTES - CRC_BYTES}));
}

static bool decode(tv_sessions *sessions, const unsigned char bytes[FILE_BYTES])
{
    const unsigned char *at = bytes + HEADING_BYTES;

    if (memcmp(bytes, HEADING, HEADING_BYTES) != 0 ||
        get_u64(bytes + FILE_BYTES - CRC_BYTES) !=
            tv_crc64_of((tv_slice){(const char *)bytes, FILE_BYTES - CRC_BYTES}))
        return false;
    for (int i = 0; i < TV_SESSIONS_MAX; i++, at += WORD_BYTES) {
        memcpy(sessions->sessions[i].digest, at, TV_SESSION_DIGEST_BYTES);
        sessions->sessions[i].expiry = (int64_t)get_u64(at + TV_SESSION_DIGEST_BYTES);
    }
    return true;
}

/* Not synced: what a loss of power takes is a login. */
static void save(const tv_sessions *sessions)
{
    unsigned char bytes[FILE_BYTES];

    if (sessions->dir_fd < 0)
        return;

    encode(sessions, bytes);
    unlinkat(sessions->dir_fd, NEW_FILE, 0);

    int fd = openat(sessions->dir_fd, NEW_FILE,
                    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool ok = fd >= 0 && write(fd, bytes, sizeof bytes) == (ssize_t)sizeof bytes &&
              renameat(sessions->dir_fd, NEW_FILE, sessions->dir_fd, TV_SESSIONS_FILE) == 0;

    if (!ok)
        tv_log(TV_LOG_WARN, "sessions", "problem=\"%s\" note=\"logins end with this server\"",
               strerror(errno));
    if (fd >= 0)
        close(fd);
}

static void load(tv_sessions *sessions)
{
    unsigned char bytes[FILE_BYTES + 1];
    int fd = openat(sessions->dir_fd, TV_SESSIONS_FILE, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return;
    if (read(fd, bytes, sizeof bytes) != FILE_BYTES || !decode(sessions, bytes))
        memset(sessions->sessions, 0, sizeof sessions->sessions);
    close(fd);
}

void tv_sessions_open(tv_sessions *sessions, const char *dir, int port, int64_t now)
{
    *sessions = (tv_sessions){.dir_fd = -1};
    snprintf(sessions->cookie, sizeof sessions->cookie, "tavola%d", port);
    if (dir)
        sessions->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (sessions->dir_fd >= 0)
        load(sessions);
    for (int i = 0; i < TV_SESSIONS_MAX; i++) {
        /* A clock that was set back must not make one last for ever. */
        if (sessions->sessions[i].expiry > now + TV_SESSION_TICKS)
            sessions->sessions[i].expiry = 0;
    }
}

void tv_sessions_close(tv_sessions *sessions)
{
    if (sessions->dir_fd >= 0)
        close(sessions->dir_fd);
    OPENSSL_cleanse(sessions, sizeof *sessions);
    sessions->dir_fd = -1;
}

/* --- words --- */

static bool is_word(tv_slice word)
{
    return word.len == TV_SESSION_WORD_CHARS;
}

/* Of a session it is the digest of both words, one after the other. */
static void digest_of(tv_slice first, tv_slice second,
                      unsigned char ret_digest[TV_SESSION_DIGEST_BYTES])
{
    unsigned char text[2 * TV_SESSION_WORD_CHARS];

    memcpy(text, first.data, first.len);
    if (second.len)
        memcpy(text + first.len, second.data, second.len);
    SHA256(text, first.len + second.len, ret_digest);
    OPENSSL_cleanse(text, sizeof text);
}

static void add(tv_session_entry *list, int count, tv_slice first, tv_slice second, int64_t expiry)
{
    tv_session_entry *to = &list[0];

    for (int i = 1; i < count; i++) {
        if (list[i].expiry < to->expiry)
            to = &list[i];
    }
    digest_of(first, second, to->digest);
    to->expiry = expiry;
}

/* All of them are compared, and digests: the time it takes tells nothing of a word. */
static tv_session_entry *find(tv_session_entry *list, int count, tv_slice first, tv_slice second,
                              int64_t now)
{
    unsigned char digest[TV_SESSION_DIGEST_BYTES];
    tv_session_entry *found = NULL;

    digest_of(first, second, digest);
    for (int i = 0; i < count; i++) {
        if (CRYPTO_memcmp(digest, list[i].digest, sizeof digest) == 0 && list[i].expiry > now)
            found = &list[i];
    }
    return found;
}

static tv_session_entry *find_session(tv_sessions *sessions, tv_session_words words, int64_t now)
{
    if (!is_word(words.cookie) || !is_word(words.page))
        return NULL;
    return find(sessions->sessions, TV_SESSIONS_MAX, words.cookie, words.page, now);
}

void tv_sessions_add_link(tv_sessions *sessions, int64_t now,
                          char ret_word[TV_SESSION_WORD_CHARS + 1])
{
    make_word(ret_word);
    add(sessions->links, TV_SESSION_LINKS_MAX, tv_slice_of(ret_word), TV_NONE,
        now + TV_SESSION_LINK_TICKS);
}

bool tv_sessions_login(tv_sessions *sessions, tv_slice link, int64_t now,
                       tv_session_texts *ret_texts)
{
    tv_session_entry *used =
        is_word(link) ? find(sessions->links, TV_SESSION_LINKS_MAX, link, TV_NONE, now) : NULL;

    if (used == NULL)
        return false;

    *used = (tv_session_entry){0};
    make_word(ret_texts->cookie);
    make_word(ret_texts->page);
    add(sessions->sessions, TV_SESSIONS_MAX, tv_slice_of(ret_texts->cookie),
        tv_slice_of(ret_texts->page), now + TV_SESSION_TICKS);
    save(sessions);
    return true;
}

bool tv_sessions_check(tv_sessions *sessions, tv_session_words words, int64_t now)
{
    tv_session_entry *session = find_session(sessions, words, now);

    if (session && session->expiry < now + TV_SESSION_TICKS - PROLONG_TICKS) {
        session->expiry = now + TV_SESSION_TICKS;
        save(sessions);
    }
    return session != NULL;
}

void tv_sessions_logout(tv_sessions *sessions, tv_session_words words)
{
    tv_session_entry *session = find_session(sessions, words, 0);

    if (session == NULL)
        return;

    *session = (tv_session_entry){0};
    save(sessions);
}
