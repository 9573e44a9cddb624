/*
 * The flags of the command line.  A flag means the same wherever it is accepted; a verb names the
 * flags that it takes (tool_verb.flags), and every other one is refused before anything is sent.
 */
#ifndef TOOL_FLAGS_H
#define TOOL_FLAGS_H
#include <stdbool.h>
#include <stdint.h>

/* id, long name, letter or 0, what its value is (NULL: it has none), help */
#define TOOL_FLAG_LIST(X)                                                                          \
    X(CONNECTION, "connection", 'c', "NAME|STRING",                                                \
      "the account: a name in ~/.config/tavola/connections, or a string without key")              \
    X(OUTPUT, "output", 'o', "FORMAT", "table, json, ndjson, csv, typed-csv, tsv or value")        \
    X(TIMEOUT, "timeout", 0, "SECONDS", "give up an operation after this time, retries included")  \
    X(CA_FILE, "ca-file", 0, "FILE", "trust the certificates of this PEM file, and no others")     \
    X(VERBOSE, "verbose", 'v', NULL, "tell each request, its answer, plan and retries on stderr")  \
    X(HELP, "help", 'h', NULL, "what this command does and takes")                                 \
    X(VERSION, "version", 0, NULL, "the version of the tool and of its library")                   \
    X(SELECT, "select", 0, "NAMES", "only these properties, separated by commas")                  \
    X(LIMIT, "limit", 'n', "COUNT", "at most this many in all")                                    \
    X(PAGE_SIZE, "page-size", 0, "COUNT", "at most this many in one request, 1 to 1000")           \
    X(TOKEN, "token", 0, "TOKEN", "go on where an earlier command ended")                          \
    X(YES, "yes", 'y', NULL, "do not ask")                                                         \
    X(PLAN, "plan", 0, NULL, "tell on stderr how the service answered the query")                  \
    X(IF_MATCH, "if-match", 0, "ETAG", "only if it still has this ETag; '*': only if it exists")   \
    X(IF_ABSENT, "if-absent", 0, NULL, "only if there is none yet")                                \
    X(IF_EXISTS, "if-exists", 0, NULL, "it is no failure when there is none")                      \
    X(OR_INSERT, "or-insert", 0, NULL, "insert the entity if there is none to merge with")         \
    X(WHERE, "where", 0, "FILTER [VALUE]...",                                                      \
      "only entities that pass the filter, with a value for each ? in it")                         \
    X(FOLLOW, "follow", 'f', NULL, "go on with what is added, the newest last, until Ctrl-C")      \
    X(NUMBER, "number", 0, "COUNT", "how many")                                                    \
    X(PREFIX, "prefix", 0, "TEXT", "only names that begin with this")                              \
    X(DELIMITER, "delimiter", 0, "TEXT", "list what names have up to this only once")              \
    X(PARTITIONS, "partitions", 0, NULL, "each partition key once: one request for each")          \
    X(PROPERTIES, "properties", 0, NULL, "each property with its types, and how many have it")     \
    X(HIDDEN, "hidden", 0, "SECONDS", "hide the message from others for this time")                \
    X(TTL, "ttl", 0, "SECONDS", "the message is gone after this time; -1: never")                  \
    X(ENCODING, "encoding", 0, "text|base64",                                                      \
      "of messages: their text, or the base64 of it; $TAVOLA_MESSAGE_ENCODING, or text")           \
    X(CONTENT_TYPE, "content-type", 0, "TYPE", "of the blob")                                      \
    X(PERMISSIONS, "permissions", 0, "LETTERS", "what is allowed")                                 \
    X(START, "start", 0, "TIME", "valid from: 2026-01-02, 2026-01-02T03:04Z or +1h")               \
    X(EXPIRY, "expiry", 0, "TIME", "valid until, the same forms")                                  \
    X(POLICY, "policy", 0, "ID", "the stored policy that it names")                                \
    X(IP, "ip", 0, "RANGE", "addresses that may use it: 1.2.3.4 or 1.2.3.4-1.2.3.9")               \
    X(HTTPS_ONLY, "https-only", 0, NULL, "not over plain HTTP")                                    \
    X(START_PK, "start-pk", 0, "KEY", "the first partition key that it covers")                    \
    X(START_RK, "start-rk", 0, "KEY", "the first row key there")                                   \
    X(END_PK, "end-pk", 0, "KEY", "the last partition key that it covers")                         \
    X(END_RK, "end-rk", 0, "KEY", "the last row key there")                                        \
    X(SERVICES, "services", 0, "LETTERS", "of b (blob), q (queue), t (table), f (file)")           \
    X(TYPES, "types", 0, "LETTERS|LIST",                                                           \
      "of a signature: of s (service), c (container, table, queue), o (object); of columns of a "  \
      "plain CSV file: Age:int32,Due:datetime, the others are Strings")                            \
    X(FORMAT, "format", 0, "FORMAT", "of the file: ndjson, json, typed-csv or csv")                \
    X(SEPARATOR, "separator", 0, "CHARACTER", "between the cells of CSV: ';', tab; else a comma")  \
    X(FIRST_ROW_TYPES, "first-row-types", 0, NULL,                                                 \
      "typed CSV: a value without a type has that of the first row")                               \
    X(ON_CONFLICT, "on-conflict", 0, "fail|skip|merge|replace",                                    \
      "what to do with an entity that exists already; fail")                                       \
    X(PARALLEL, "parallel", 0, "COUNT", "batches on their way at the same time, 1 to 256; 8")      \
    X(CREATE, "create", 0, NULL, "make the table if it does not exist")                            \
    X(ERRORS, "errors", 0, "FILE", "keep bad lines there, with their numbers and what is wrong")   \
    X(SKIP_BAD, "skip-bad", 0, NULL, "go on behind a bad line instead of stopping at it")          \
    X(RESUME, "resume", 0, NULL, "go on where an interrupted run of the same has stopped")         \
    X(FROM_LINE, "from-line", 0, "NUMBER", "leave out what is before this line of the file")       \
    X(DRY_RUN, "dry-run", 0, NULL, "read and check the file, write nothing")                       \
    X(TIMESTAMPS, "timestamps", 0, NULL, "write the Timestamps of entities, too")                  \
    X(OVERWRITE, "overwrite", 0, NULL, "replace the file if it exists")                            \
    X(VERIFY, "verify", 0, NULL, "read the copy and compare count and checksum")                   \
    X(ADMIN, "admin", 0, "URL",                                                                    \
      "the admin port of a tavolad; $TAVOLA_ADMIN, or http://127.0.0.1:10003")                     \
    X(TOKEN_FILE, "token-file", 0, "FILE",                                                         \
      "where its token is; $TAVOLA_ADMIN_TOKEN_FILE, or where the server says")                    \
    X(DATA, "data", 0, "DIR",                                                                      \
      "the data folder of the server, for its token; else the server says it")                     \
    X(WAIT, "wait", 0, "SECONDS",                                                                  \
      "ask again for this time until it is well, as one that starts is")                           \
    X(SINCE, "since", 0, "MARK", "judge what came after this mark, in tests or a trial")           \
    X(CONFIG, "config", 0, "FILE", "what matters and what is allowed; ./tavola-lint.toml")         \
    X(TRACE, "trace", 0, "FILE", "judge what a server has written there with its flag --trace")    \
    X(UPDATE_BASELINE, "update-baseline", 0, NULL,                                                 \
      "keep what is found in tavola-lint.baseline.json, where it is silent from now on")           \
    X(CODE, "code", 0, NULL,                                                                       \
      "the cure as code, too, in the language of the SDK that sent the requests, or in C")         \
    X(COST, "cost", 0, NULL,                                                                       \
      "what requests of the last hour, or since a mark, and billed bytes amount to")               \
    X(BASE, "base", 0, "DIR",                                                                      \
      "an earlier backup, on the same disk as the new one, to share files with")                   \
    X(TABLE, "table", 0, "TABLE", "the table whose requests and entities are meant")               \
    X(KEY, "key", 0, "DESIGN", "other keys: PartitionKey=a_{Name};RowKey={RowKey}")                \
    X(COPY, "copy", 0, "DESIGN", "a second copy under such keys; more than one if wanted")         \
    X(PRICES, "prices", 0, "FILE", "what you pay: per_10000_transactions, per_gib_month")

enum tool_flag_id {
#define X(id, name, letter, value, help) TOOL_FLAG_##id,
    TOOL_FLAG_LIST(X)
#undef X
        TOOL_FLAGS_END
};
typedef enum tool_flag_id tool_flag_id;

/* A set of flags, for tool_verb.flags: TOOL_BIT(LIMIT) | TOOL_BIT(SELECT) */
typedef unsigned __int128 tool_flag_set;
#define TOOL_BIT_OF(flag_id) ((tool_flag_set)1 << (flag_id))
#define TOOL_BIT(id) TOOL_BIT_OF(TOOL_FLAG_##id)
#define TOOL_COMMON_FLAGS                                                                          \
    (TOOL_BIT(CONNECTION) | TOOL_BIT(OUTPUT) | TOOL_BIT(TIMEOUT) | TOOL_BIT(CA_FILE) |             \
     TOOL_BIT(VERBOSE) | TOOL_BIT(HELP))
_Static_assert(TOOL_FLAGS_END <= 128, "a set has a bit for each flag");

typedef struct tool_flag {
    const char *name;
    char letter;       /* 0: it has only its name */
    const char *value; /* NULL: it has none */
    const char *help;
} tool_flag;
extern const tool_flag tool_flags[TOOL_FLAGS_END];

#endif
