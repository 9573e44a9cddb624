/*
 * Who may use Explorer: whoever opened it by a link of this server.
 *
 * A link carries a word that works once and for a quarter of an hour.  It is exchanged for a
 * session, which has two words.  One lies in a cookie that no script can read and that no
 * other site's page causes to be sent (HttpOnly, SameSite=Strict).  But browsers send a
 * cookie to every port of a host, so other servers on this machine may see it: the page
 * itself keeps the second word, where browsers tell ports apart, and sends it in a header.
 * Both are needed.
 *
 * The server keeps digests only, in memory, so that both end with the process.  While it is
 * down any user of the machine can listen on its port, and an open page sends him its words:
 * they are worth nothing to the server that starts then.
 *
 * Loop thread of the admin port only.
 */
#ifndef TV_SERVER_ADMIN_SESSION_H
#define TV_SERVER_ADMIN_SESSION_H

#include <stdint.h>

#include "base/clock.h"
#include "base/slice.h"

enum {
    TV_SESSION_WORD_CHARS = 64, /* 256 random bits in hexadecimal */
    TV_SESSIONS_MAX = 16,       /* the one that was used longest ago makes room */
    TV_SESSION_LINKS_MAX = 8,   /* likewise, the oldest */
    TV_SESSION_DIGEST_BYTES = 32,
};

#define TV_SESSION_LINK_TICKS (15 * 60 * TV_TICKS_PER_SECOND)
#define TV_SESSION_TICKS (24 * 3600 * TV_TICKS_PER_SECOND) /* after its last use */

typedef struct tv_session_entry {
    unsigned char digest[TV_SESSION_DIGEST_BYTES];
    int64_t expiry; /* ticks of the wall clock; 0: none */
} tv_session_entry;

typedef struct tv_sessions {
    char cookie[24]; /* its name: browsers keep those of all ports of a host together */
    tv_session_entry links[TV_SESSION_LINKS_MAX];
    tv_session_entry sessions[TV_SESSIONS_MAX];
} tv_sessions;

/** For the page on `port`, without any yet. */
void tv_sessions_open(tv_sessions *sessions, int port);

/** All of them end. */
void tv_sessions_close(tv_sessions *sessions);

/** Make the secret of a link. */
void tv_sessions_add_link(tv_sessions *sessions, int64_t now,
                          char ret_word[TV_SESSION_WORD_CHARS + 1]);

/** The two words of a session, as slices and as they are made. */
typedef struct tv_session_words {
    tv_slice cookie, page;
} tv_session_words;

typedef struct tv_session_texts {
    char cookie[TV_SESSION_WORD_CHARS + 1], page[TV_SESSION_WORD_CHARS + 1];
} tv_session_texts;

/** Use up the secret of a link for a session, whose secrets are made.  False when there is no such
 * link. */
bool tv_sessions_login(tv_sessions *sessions, tv_slice link, int64_t now,
                       tv_session_texts *ret_texts);

/** Whether the words are those of a session; that lasts longer then. */
bool tv_sessions_check(tv_sessions *sessions, tv_session_words words, int64_t now);

/** End a session, if the words are one's. */
void tv_sessions_logout(tv_sessions *sessions, tv_session_words words);

#endif
