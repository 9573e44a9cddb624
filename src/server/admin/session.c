/* Links and sessions. */
#include "server/admin/session.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <stdio.h>

#include "base/random.h"

static void make_word(char ret_word[TV_SESSION_WORD_CHARS + 1])
{
    unsigned char bytes[TV_SESSION_WORD_CHARS / 2];

    tv_random_bytes(bytes, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(ret_word + 2 * i, 3, "%02x", bytes[i]);
    OPENSSL_cleanse(bytes, sizeof bytes);
}

void tv_sessions_open(tv_sessions *sessions, int port)
{
    *sessions = (tv_sessions){0};
    snprintf(sessions->cookie, sizeof sessions->cookie, "tavola%d", port);
}

void tv_sessions_close(tv_sessions *sessions)
{
    OPENSSL_cleanse(sessions, sizeof *sessions);
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
    return true;
}

bool tv_sessions_check(tv_sessions *sessions, tv_session_words words, int64_t now)
{
    tv_session_entry *session = find_session(sessions, words, now);

    if (session)
        session->expiry = now + TV_SESSION_TICKS;
    return session != NULL;
}

void tv_sessions_logout(tv_sessions *sessions, tv_session_words words)
{
    tv_session_entry *session = find_session(sessions, words, 0);

    if (session)
        *session = (tv_session_entry){0};
}
