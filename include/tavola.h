/*
 * libtavola: a client of the Azure Table service, and of as much of queues and blobs as the
 * patterns of the Table Design Guide need.  Works with tavolad, Azurite and Azure.
 *
 *     tavola_client *client = NULL;
 *     tavola_table *people = NULL;
 *     tavola_entity *ada = NULL;
 *
 *     if (tavola_client_open("UseDevelopmentStorage=true", NULL, &client) == TAVOLA_OK &&
 *         tavola_table_open(client, "People", &people) == TAVOLA_OK &&
 *         tavola_get(people, "Sales", "000223", NULL, &ada) == TAVOLA_OK)
 *         printf("%s\n", tavola_entity_etag(ada));
 *     tavola_entity_free(ada);
 *     tavola_table_close(people);
 *     tavola_client_close(client);
 *
 * Who owns what.  What a `_new` or `_open` function returns, or a `ret_` parameter receives, is
 * yours: free or close it with the function of its type, in any order (a table keeps its client
 * alive).  Setters copy.  tavola_and, tavola_or, tavola_not and tavola_query_new take over their
 * filters.  What a scan or page hands out belongs to it.  Strings of an entity, page, call or
 * operation live as long as that does, or until it is changed.
 *
 * Errors.  A function that can fail returns a tavola_err, which tells what the caller can do next.
 * tavola_error_text says why; the service's own code is in the tavola_call.  `ret_` outputs are
 * untouched on failure: set them to NULL first and free them whatever happens, as every `_free` and
 * `_close` accepts NULL.  Builders (entities, filters, queries, batches) remember their first
 * error, and the operation that uses them returns it: building needs no checks.  An entity or batch
 * that is NULL is one for which there was no memory, so what gets it returns NO_MEMORY.  Any other
 * pointer that is NULL without being allowed to is INVALID.
 *
 * An error of a single write or a batch means that it was not made.  When that is not certain, not
 * even after reading back, the error is UNKNOWN_OUTCOME.  What takes several requests says for
 * itself what it leaves.
 *
 * tavola_call is the one optional parameter: options in, outcome out.  NULL is always allowed.
 *
 * Threads.  Client, table, indexes, crypto and a query that is built: any thread.  All else: one
 * thread at a time.  After fork() the child may only free and close what it inherited, or exec.
 * The library sets no signal handler, prints nothing, never exits, does not depend on the locale
 * and needs no initialisation.
 *
 * Text is UTF-8.  Keys and names end with NUL (the service forbids U+0000 in them); values carry
 * their size.  What is not valid UTF-8 is refused before anything is sent.
 */

/* ---- 0. basics ----------------------------------------------------------------------------- */
#ifndef TAVOLA_H
#define TAVOLA_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define TAVOLA_API __attribute__((visibility("default")))
#define TAVOLA_USE __attribute__((visibility("default"), warn_unused_result))
#else
#define TAVOLA_API
#define TAVOLA_USE
#endif
#ifdef __cplusplus
extern "C" {
#endif

#define TAVOLA_VERSION_NUM 0x000100 /* of this header; compare it with tavola_version_num() */
TAVOLA_API uint32_t tavola_version_num(void);
TAVOLA_API const char *tavola_version(void); /* "0.1.0" */

typedef struct tavola_client tavola_client; /* account, credentials, connections; any thread */
typedef struct tavola_table tavola_table;   /* a name on a client; any thread */
typedef struct tavola_entity tavola_entity; /* a property bag; one thread at a time */
typedef struct tavola_filter tavola_filter;
typedef struct tavola_query tavola_query;
typedef struct tavola_scan tavola_scan;     /* a cursor over all pages of a query */
typedef struct tavola_page tavola_page;     /* one segment of a query's result */
typedef struct tavola_batch tavola_batch;   /* one entity group transaction */
typedef struct tavola_bulk tavola_bulk;     /* any number of writes to any partitions */
typedef struct tavola_call tavola_call;     /* options in, outcome out; one thread at a time */
typedef struct tavola_op tavola_op;         /* one started (asynchronous) operation */
typedef struct tavola_crypto tavola_crypto; /* client-side encryption: keys and what is encrypted */
typedef struct tavola_names tavola_names;   /* a list of names: of tables, queues, containers */
typedef struct tavola_queue tavola_queue;   /* a name on a client; any thread */
typedef struct tavola_message tavola_message;     /* of a queue; one thread at a time */
typedef struct tavola_messages tavola_messages;   /* a list of messages */
typedef struct tavola_container tavola_container; /* of blobs: a name on a client; any thread */
typedef struct tavola_blobs tavola_blobs;         /* one page of a list of blobs */
typedef int64_t tavola_ticks;                     /* 100 ns since 0001-01-01T00:00:00Z */

/* By what the caller can do next.  Values never change their meaning; new ones may be added. */
typedef enum tavola_err {
    TAVOLA_OK = 0,
    TAVOLA_END = 1,             /* a scan is finished; not a failure */
    TAVOLA_ERR_NOT_FOUND = 100, /* entity, table, queue, blob: tavola_call_code() tells which */
    TAVOLA_ERR_EXISTS,          /* 409: there is one of that key or name */
    TAVOLA_ERR_CONFLICT,        /* another 409, for example TableBeingDeleted */
    TAVOLA_ERR_ETAG,            /* 412: it was changed since it was read */
    TAVOLA_ERR_DENIED,          /* 401, 403 */
    TAVOLA_ERR_INVALID,         /* refused by the service, or by us before sending */
    TAVOLA_ERR_TOO_LARGE,       /* entity, property, batch, body */
    TAVOLA_ERR_UNSUPPORTED,     /* 501, 505, 415, or a merge of an encrypted entity */
    TAVOLA_ERR_BUSY,            /* 429, 503 after all retries */
    TAVOLA_ERR_SERVER,          /* another 5xx after all retries */
    TAVOLA_ERR_TIMEOUT,         /* the deadline of the call */
    TAVOLA_ERR_NETWORK,         /* no connection, TLS, reset */
    TAVOLA_ERR_UNKNOWN_OUTCOME, /* a write was sent, no answer came, and asking did not settle it */
    TAVOLA_ERR_CRYPTO,          /* key missing or data unusable; never says which byte */
    TAVOLA_ERR_PROTOCOL,        /* an answer we cannot read */
    TAVOLA_ERR_CANCELLED,       /* by you, before a write was sent */
    TAVOLA_ERR_NO_MEMORY
} tavola_err;
TAVOLA_API const char *tavola_err_name(tavola_err err); /* "NOT_FOUND" */
/*
 * One line for people: why the last function that returned `err` in this thread did so, or what
 * `err` means when nothing more is known.  It lives until another function of the library fails in
 * this thread; no call is needed for it.
 */
TAVOLA_API const char *tavola_error_text(tavola_err err);
/* For functions that return NULL or -1: the error of what has failed last in this thread. */
TAVOLA_API tavola_err tavola_last_error(void);

/*
 * Where the library takes its memory.  Before anything else, once, with no other thread in the
 * library; NULL functions mean the C library's.  OpenSSL and getaddrinfo keep their own.
 */
TAVOLA_API void tavola_set_allocator(void *(*alloc)(size_t), void *(*resize)(void *, size_t),
                                     void (*release)(void *));
TAVOLA_API void tavola_free(void *memory); /* for char * and byte buffers that we returned */

/* ---- 1. client, table, call ---------------------------------------------------------------- */
/*
 * Bearer tokens, of Entra ID or any other issuer, in place of a key or signature.  A token is asked
 * for when one is needed, and the next 5 minutes before it expires, or at half of a shorter life.
 * A request that is answered with 401 is made again once, with a new token.  Tokens are sent over
 * https alone, to the endpoints of the connection string: not to secondaries or after a redirect.
 *
 * The function is called on a thread of its own, one call at a time.  It may wait; only what needs
 * a token waits for it, as long as its timeout says.  It must not use the client, and closing the
 * last handle of the client waits for it.  It sets the token and returns OK, or returns an error.
 * NETWORK, TIMEOUT and BUSY are tried again like a request that could not be sent; any other error
 * but NO_MEMORY is DENIED.
 */
typedef struct tavola_token tavola_token;
typedef tavola_err (*tavola_token_fn)(void *user, const char *scope, tavola_token *token);
/* Up to 16,384 visible characters, copied.  Expiry 0: not known, 10 minutes from now. */
TAVOLA_API void tavola_token_set(tavola_token *token, const char *text, tavola_ticks expiry);
/* One line for people, which becomes part of the error's text. */
TAVOLA_API void tavola_token_set_error(tavola_token *token, const char *text);

typedef struct tavola_client_options {
    size_t struct_size;          /* sizeof(tavola_client_options): how we grow without breaking */
    uint32_t connect_timeout_ms; /* 0: 10 000 */
    uint32_t attempt_timeout_ms; /* 0: 35 000 (the service gives up at 30 s) */
    uint32_t total_timeout_ms;   /* 0: 120 000, all attempts together */
    uint32_t retry_max;          /* 0: 3;  UINT32_MAX: none */
    uint32_t retry_delay_ms;     /* 0: 800, doubled each time, give or take a fifth */
    uint32_t retry_delay_max_ms; /* 0: 60 000; also the most of a Retry-After that we wait */
    uint32_t connections_max;    /* 0: 32, to each service */
    bool secondary_reads;        /* false: reads that fail are not repeated at the secondary, which
                                    may be minutes behind; patterns that write do not ask it */
    const char *application;     /* goes first in User-Agent: printable ASCII; NULL: nothing */
    /* Secrets already removed; from any thread, several at once; it must not use the client. */
    void (*log)(void *user, int level, const char *text);
    void *log_user;
    const char *ca_file;  /* PEM file of the roots to trust for HTTPS; NULL: those of the system */
    const char *proxy;    /* "http://host:port", "socks5://..."; NULL: by https_proxy, http_proxy,
                             all_proxy and no_proxy of the environment, unless the service is on
                             this machine; "": none */
    bool absent_is_final; /* true: who refuses to connect and has never answered is not asked again,
                             for programs with somebody who waits; false: he may be starting */
    tavola_token_fn token; /* NULL: the connection string has a key or a signature */
    void *token_user;
    const char *token_scope; /* NULL: "https://storage.azure.com/.default" */
} tavola_client_options;

enum { TAVOLA_LOG_WARN = 1, TAVOLA_LOG_INFO = 2, TAVOLA_LOG_DEBUG = 3 }; /* levels of log() */

/*
 * Nothing is sent yet.  The connection string is Azure's: UseDevelopmentStorage, AccountName,
 * AccountKey, SharedAccessSignature, DefaultEndpointsProtocol, EndpointSuffix, TableEndpoint,
 * QueueEndpoint, BlobEndpoint and their Secondary twins, DevelopmentStorageProxyUri.
 */
TAVOLA_USE tavola_err tavola_client_open(const char *connection_string,
                                         const tavola_client_options *options,
                                         tavola_client **ret_client);
/*
 * Started operations that are not done are cancelled.  `done` is called, here, for all that were
 * not polled.  Nothing can be started any more, not through its tables either.
 */
TAVOLA_API void tavola_client_close(tavola_client *client);
TAVOLA_USE tavola_err tavola_table_open(tavola_client *client, const char *name,
                                        tavola_table **ret_table);
TAVOLA_API void tavola_table_close(tavola_table *table);
TAVOLA_USE tavola_err tavola_table_create(tavola_table *table, tavola_call *call);
TAVOLA_USE tavola_err tavola_table_create_if_absent(tavola_table *table, tavola_call *call);
TAVOLA_USE tavola_err tavola_table_delete(tavola_table *table, tavola_call *call);
TAVOLA_USE tavola_err tavola_table_delete_if_present(tavola_table *table, tavola_call *call);
TAVOLA_USE tavola_err tavola_table_exists(tavola_table *table, tavola_call *call, bool *ret_exists);
/* The names of all tables that begin with `prefix`, in order; NULL: all tables. */
TAVOLA_USE tavola_err tavola_table_list(tavola_client *client, const char *prefix,
                                        tavola_call *call, tavola_names **ret_names);
TAVOLA_API const char *tavola_table_name(const tavola_table *table);
typedef enum tavola_service {
    TAVOLA_SERVICE_TABLE,
    TAVOLA_SERVICE_QUEUE,
    TAVOLA_SERVICE_BLOB
} tavola_service;
/* The URL of a service, "http://127.0.0.1:10002/devstoreaccount1"; NULL when it has none. */
TAVOLA_API const char *tavola_client_endpoint(const tavola_client *client, tavola_service service);
TAVOLA_API const char *tavola_client_account(const tavola_client *client); /* "": not known */
/*
 * How far the copy of a service's data in a second region is ("live", "bootstrap", "unavailable"),
 * and up to when all writes are in it; 0: not known.  Asks the secondary.  INVALID when its
 * endpoint is not known, NETWORK when there is no such host: the account has no second region.
 */
enum { TAVOLA_GEO_STATUS_SIZE = 32 };
TAVOLA_USE tavola_err tavola_service_stats(tavola_client *client, tavola_service service,
                                           tavola_call *call,
                                           char ret_status[TAVOLA_GEO_STATUS_SIZE],
                                           tavola_ticks *ret_last_sync);
/*
 * Encrypt what is written through this table and decrypt what is read, where the call has no crypto
 * of its own (section 11).  Before other threads use the table, which the crypto must outlive.
 */
TAVOLA_API void tavola_table_set_crypto(tavola_table *table, tavola_crypto *crypto);

TAVOLA_API size_t tavola_names_count(const tavola_names *names);
TAVOLA_API const char *tavola_names_at(const tavola_names *names, size_t i); /* NULL: no such */
TAVOLA_API void tavola_names_free(tavola_names *names);

TAVOLA_API tavola_call *tavola_call_new(void);
TAVOLA_API void tavola_call_free(tavola_call *call);
/* Options stay for all operations that use the call.  Timeout 0: the client's. */
TAVOLA_API void tavola_call_set_timeout_ms(tavola_call *call, uint32_t total_timeout_ms);
/* 0: the client's;  UINT32_MAX: none. */
TAVOLA_API void tavola_call_set_retries(tavola_call *call, uint32_t retry_max);
/* 1 to 1,024 characters of printable ASCII, else operations are INVALID; NULL: a new GUID each. */
TAVOLA_API void tavola_call_set_request_id(tavola_call *call, const char *client_request_id);
/* Where in the program it is, "file:line", for advice of a Tavola server (x-tavola-source): at most
 * 128 characters of printable ASCII.  Anything else, and NULL, takes it away. */
TAVOLA_API void tavola_call_set_source(tavola_call *call, const char *file_and_line);
/* In place of the table's; it must outlive the operations.  NULL: the table's. */
TAVOLA_API void tavola_call_set_crypto(tavola_call *call, tavola_crypto *crypto);
/*
 * From any thread: what uses the call ends within a tenth of a second, and what will use it ends at
 * once, with CANCELLED; a write that was sent and not yet answered with UNKNOWN_OUTCOME.  A call
 * that was cancelled stays so: make another.
 */
TAVOLA_API void tavola_call_cancel(tavola_call *call);
/* The outcome of the last operation that used this call; strings live until the next one. */
TAVOLA_API int tavola_call_status(const tavola_call *call);       /* HTTP, 0 if none */
TAVOLA_API const char *tavola_call_code(const tavola_call *call); /* "EntityAlreadyExists", or "" */
TAVOLA_API const char *
tavola_call_message(const tavola_call *call);                     /* one line for people, or "" */
TAVOLA_API const char *tavola_call_etag(const tavola_call *call); /* or NULL */
TAVOLA_API const char *tavola_call_service_request_id(const tavola_call *call); /* or NULL */
TAVOLA_API const char *tavola_call_client_request_id(const tavola_call *call);  /* or NULL */
TAVOLA_API uint32_t tavola_call_attempts(const tavola_call *call);  /* requests sent, or tried */
TAVOLA_API bool tavola_call_was_confirmed(const tavola_call *call); /* settled by reading back */
TAVOLA_API int tavola_call_failed_index(const tavola_call *call);   /* in a batch, -1 if none */
TAVOLA_API const char *tavola_call_plan(const tavola_call *call);   /* tavolad only, else NULL */

/* ---- 2. entities --------------------------------------------------------------------------- */
typedef enum tavola_type {
    TAVOLA_NONE,
    TAVOLA_STRING,
    TAVOLA_BINARY,
    TAVOLA_BOOLEAN,
    TAVOLA_INT32,
    TAVOLA_INT64,
    TAVOLA_DOUBLE,
    TAVOLA_DATETIME,
    TAVOLA_GUID
} tavola_type;
typedef struct tavola_guid {
    uint8_t bytes[16];
} tavola_guid; /* in the order of its text, not .NET's */

typedef struct tavola_value { /* frozen: 32 bytes on 64-bit, never grows */
    tavola_type type;
    size_t size; /* STRING and BINARY: bytes at ptr */
    union {
        const void *ptr;
        bool boolean;
        int32_t int32;
        int64_t int64;
        double real;
        tavola_ticks ticks;
        tavola_guid guid;
    } as;
} tavola_value;
TAVOLA_API tavola_value tavola_string(const char *text);
TAVOLA_API tavola_value tavola_int32(int32_t value);
TAVOLA_API tavola_value tavola_int64(int64_t value);
TAVOLA_API tavola_value tavola_double(double value);
TAVOLA_API tavola_value tavola_boolean(bool value);
TAVOLA_API tavola_value tavola_datetime(tavola_ticks value);
TAVOLA_API tavola_value tavola_guid_value(tavola_guid value);
TAVOLA_API tavola_value tavola_binary(const void *data, size_t size);

TAVOLA_API tavola_entity *tavola_entity_new(const char *partition_key, const char *row_key);
TAVOLA_API tavola_entity *tavola_entity_copy(const tavola_entity *entity);
TAVOLA_API void tavola_entity_free(tavola_entity *entity);
/*
 * Setters copy and never fail loudly: the first error sticks and the operation returns it.  There
 * is no null: tavola_entity_unset and a replace remove a property, a merge cannot.
 */
TAVOLA_API void tavola_entity_set(tavola_entity *entity, const char *name, tavola_value value);
TAVOLA_API void tavola_entity_set_string(tavola_entity *entity, const char *name, const char *text);
TAVOLA_API void tavola_entity_set_int32(tavola_entity *entity, const char *name, int32_t value);
TAVOLA_API void tavola_entity_set_int64(tavola_entity *entity, const char *name, int64_t value);
TAVOLA_API void tavola_entity_set_double(tavola_entity *entity, const char *name, double value);
TAVOLA_API void tavola_entity_set_boolean(tavola_entity *entity, const char *name, bool value);
TAVOLA_API void tavola_entity_set_datetime(tavola_entity *entity, const char *name,
                                           tavola_ticks value);
TAVOLA_API void tavola_entity_set_guid(tavola_entity *entity, const char *name, tavola_guid value);
TAVOLA_API void tavola_entity_set_binary(tavola_entity *entity, const char *name, const void *data,
                                         size_t size);
TAVOLA_API void tavola_entity_unset(tavola_entity *entity, const char *name);
TAVOLA_API tavola_err tavola_entity_error(const tavola_entity *entity);
/* One line that says which property was refused and why; "" when there is no error. */
TAVOLA_API const char *tavola_entity_error_text(const tavola_entity *entity);
/*
 * Getters: false when absent or of a type that would lose something.  Int32 widens to Int64 and
 * Double; a string with U+0000 inside is only had by tavola_entity_get.
 */
TAVOLA_API const char *tavola_entity_partition_key(const tavola_entity *entity);
TAVOLA_API const char *tavola_entity_row_key(const tavola_entity *entity);
TAVOLA_API const char *tavola_entity_etag(const tavola_entity *entity); /* or NULL */
TAVOLA_API void tavola_entity_set_etag(tavola_entity *entity, const char *etag);
TAVOLA_API tavola_ticks tavola_entity_timestamp(const tavola_entity *entity); /* 0: not known */
TAVOLA_API bool tavola_entity_get(const tavola_entity *entity, const char *name,
                                  tavola_value *ret_value);
TAVOLA_API bool tavola_entity_get_string(const tavola_entity *entity, const char *name,
                                         const char **ret_text);
TAVOLA_API bool tavola_entity_get_int32(const tavola_entity *entity, const char *name,
                                        int32_t *ret_value);
TAVOLA_API bool tavola_entity_get_int64(const tavola_entity *entity, const char *name,
                                        int64_t *ret_value);
TAVOLA_API bool tavola_entity_get_double(const tavola_entity *entity, const char *name,
                                         double *ret_value);
TAVOLA_API bool tavola_entity_get_boolean(const tavola_entity *entity, const char *name,
                                          bool *ret_value);
TAVOLA_API bool tavola_entity_get_datetime(const tavola_entity *entity, const char *name,
                                           tavola_ticks *ret_value);
TAVOLA_API bool tavola_entity_get_guid(const tavola_entity *entity, const char *name,
                                       tavola_guid *ret_value);
TAVOLA_API bool tavola_entity_get_binary(const tavola_entity *entity, const char *name,
                                         const void **ret_data, size_t *ret_size);
TAVOLA_API size_t tavola_entity_count(const tavola_entity *entity); /* of properties, keys apart */
TAVOLA_API const char *tavola_entity_name_at(const tavola_entity *entity, size_t i,
                                             tavola_value *ret_value); /* NULL: no such */
TAVOLA_API size_t tavola_entity_bytes(const tavola_entity *entity); /* by the service's formula */
/*
 * The entity as one line of JSON, as the service writes it with minimal metadata: etag and
 * Timestamp if they are known, keys, properties.  Free it.  NULL for an entity with an error, and
 * when memory is short.
 */
TAVOLA_API char *tavola_entity_json(const tavola_entity *entity);
/* An entity from such a line.  INVALID when it is not one, or could not be built with setters. */
TAVOLA_USE tavola_err tavola_entity_from_json(const char *json, size_t size,
                                              tavola_entity **ret_entity);

/*
 * Structs of the application (the guide's POCO classes).  The member of a STRING is a const char *,
 * of a BINARY a tavola_bytes, of the others bool, int32_t, int64_t, double, tavola_ticks and
 * tavola_guid.  Fields named PartitionKey and RowKey are the keys, Timestamp is only read.
 */
typedef struct tavola_bytes {
    const void *data;
    size_t size;
} tavola_bytes;
typedef enum tavola_field_flags {
    TAVOLA_FIELD_ENCRYPT = 1, /* with a crypto: this property is encrypted */
    TAVOLA_FIELD_OPTIONAL = 2 /* reading: absent leaves zero; writing: a NULL pointer is left out */
} tavola_field_flags;
typedef struct tavola_field {
    const char *name;
    tavola_type type;
    size_t offset;
    uint32_t flags;
} tavola_field;
/* clang-format off */
#define TAVOLA_FIELD(struct_type, member, edm)                                                     \
    {#member, TAVOLA_##edm, offsetof(struct_type, member), 0}
#define TAVOLA_FIELD_AS(struct_type, member, edm, name, flags)                                     \
    {name, TAVOLA_##edm, offsetof(struct_type, member), flags}
/* A member of a struct inside: TAVOLA_FIELD_IN(person, Address, City, STRING) is "Address_City". */
#define TAVOLA_FIELD_IN(struct_type, outer, member, edm)                                           \
    {#outer "_" #member, TAVOLA_##edm, offsetof(struct_type, outer.member), 0}
#define TAVOLA_FIELD_END {NULL, TAVOLA_NONE, 0, 0}
/* clang-format on */
/* `fields` ends with TAVOLA_FIELD_END.  INVALID and TOO_LARGE as tavola_entity_error has them. */
TAVOLA_USE tavola_err tavola_entity_from(const tavola_field *fields, const void *object,
                                         tavola_entity **ret_entity);
/*
 * Strings of *ret_object point into the entity: keep it while you use them.  INVALID when a
 * property is absent or does not fit its field, and then *ret_object is as it was.
 */
TAVOLA_USE tavola_err tavola_entity_read(const tavola_entity *entity, const tavola_field *fields,
                                         void *ret_object);

/* ---- 3. single operations ------------------------------------------------------------------ */
#define TAVOLA_ANY "*" /* if_match: whatever its etag, but the entity must exist */
/*
 * Writes are repeated when the network or the service fails.  When it is not known whether a
 * repeated write had worked before, the library reads back (tavola_call_was_confirmed); what that
 * does not tell is UNKNOWN_OUTCOME.  Two clients that insert the same content under one key cannot
 * be told apart: whoever builds a lock puts an id of its owner into the entity.
 */
TAVOLA_USE tavola_err tavola_get(tavola_table *table, const char *partition_key,
                                 const char *row_key, tavola_call *call,
                                 tavola_entity **ret_entity);
/* The same with some of the properties alone; `names` ends with NULL. */
TAVOLA_USE tavola_err tavola_get_select(tavola_table *table, const char *partition_key,
                                        const char *row_key, const char *const *names,
                                        tavola_call *call, tavola_entity **ret_entity);
/*
 * What is written leaves its new etag in the entity, so that it can be changed and written again:
 * nobody else's change in between is lost.  After an error the entity has the etag it had.
 */
TAVOLA_USE tavola_err tavola_insert(tavola_table *table, tavola_entity *entity, tavola_call *call);
TAVOLA_USE tavola_err tavola_insert_or_replace(tavola_table *table, tavola_entity *entity,
                                               tavola_call *call);
TAVOLA_USE tavola_err tavola_insert_or_merge(tavola_table *table, tavola_entity *entity,
                                             tavola_call *call);
/*
 * if_match is the etag that the stored entity must have, or TAVOLA_ANY.  NULL is the entity's own,
 * in every kind of write; INVALID if it has none, as nobody knows then what would be written over.
 * tavola_delete gets keys, not an entity, so it needs one or the other.
 */
TAVOLA_USE tavola_err tavola_replace(tavola_table *table, tavola_entity *entity,
                                     const char *if_match, tavola_call *call);
TAVOLA_USE tavola_err tavola_merge(tavola_table *table, tavola_entity *entity, const char *if_match,
                                   tavola_call *call);
TAVOLA_USE tavola_err tavola_delete(tavola_table *table, const char *partition_key,
                                    const char *row_key, const char *if_match, tavola_call *call);
/* OK when there is no such entity; NOT_FOUND when there is no such table. */
TAVOLA_USE tavola_err tavola_delete_if_present(tavola_table *table, const char *partition_key,
                                               const char *row_key, tavola_call *call);
/*
 * Read, change, write with the etag, again on 412: up to 10 rounds, then ETAG.  change() returns
 * OK, or an error to stop.  Writes a merge of what was set, or a replace if something was unset.
 */
typedef tavola_err (*tavola_change_fn)(void *user, tavola_entity *entity);
TAVOLA_USE tavola_err tavola_update(tavola_table *table, const char *partition_key,
                                    const char *row_key, tavola_change_fn change, void *user,
                                    tavola_call *call);

/* ---- 4. filters and queries ---------------------------------------------------------------- */
typedef enum tavola_cmp {
    TAVOLA_EQ,
    TAVOLA_NE,
    TAVOLA_GT,
    TAVOLA_GE,
    TAVOLA_LT,
    TAVOLA_LE
} tavola_cmp;
/*
 * Filters never are NULL: one that cannot be made, be it for a lack of memory, remembers why.
 * (NULL is allowed where it stands for "everything".)  Combinators take over their arguments.
 */
TAVOLA_API tavola_filter *tavola_where(const char *name, tavola_cmp cmp, tavola_value value);
/* Strings that begin with `prefix`, as a range in the order of the service. */
TAVOLA_API tavola_filter *tavola_where_prefix(const char *name, const char *prefix);
TAVOLA_API tavola_filter *tavola_and(tavola_filter *a, tavola_filter *b);
TAVOLA_API tavola_filter *tavola_or(tavola_filter *a, tavola_filter *b);
TAVOLA_API tavola_filter *tavola_not(tavola_filter *a);
/* "PartitionKey eq ? and Age gt ?": each ? becomes a literal of its value, quoted and escaped. */
TAVOLA_API tavola_filter *tavola_filter_bind(const char *text, const tavola_value *values,
                                             size_t count);
#ifdef __cplusplus
} /* extern "C": a template cannot be in it */
template <typename... Values>
inline tavola_filter *tavola_filter_bind_values(const char *text, Values... values)
{
    const tavola_value list[] = {values...};
    return tavola_filter_bind(text, list, sizeof...(values));
}
#define TAVOLA_BIND(text, ...) tavola_filter_bind_values((text), __VA_ARGS__)
extern "C" {
#else
#define TAVOLA_BIND(text, ...)                                                                     \
    tavola_filter_bind((text), (const tavola_value[]){__VA_ARGS__},                                \
                       sizeof((const tavola_value[]){__VA_ARGS__}) / sizeof(tavola_value))
#endif
/* Trusted text only: what it says is sent as it is. */
TAVOLA_API tavola_filter *tavola_filter_raw(const char *odata);
TAVOLA_API char *tavola_filter_text(const tavola_filter *filter); /* NULL if it has an error */
TAVOLA_API tavola_err tavola_filter_error(const tavola_filter *filter); /* NULL: NO_MEMORY */
/* One line that says what was refused and why, "value 2 is a String that is NULL"; "" without. */
TAVOLA_API const char *tavola_filter_error_text(const tavola_filter *filter);
TAVOLA_API void tavola_filter_free(tavola_filter *filter);
/* The guide's word for the filter: "point", "range", "partition scan", "table scan".  NULL when the
 * service would refuse the filter, or the filter has an error. */
TAVOLA_API const char *tavola_filter_plan(const tavola_filter *filter);

/* Takes the filter over; NULL: all.  Never NULL itself, for the same reason as filters. */
TAVOLA_API tavola_query *tavola_query_new(tavola_filter *filter);
/* `names` ends with NULL; NULL: all.  PartitionKey, RowKey and Timestamp are always read, too. */
TAVOLA_API void tavola_query_select(tavola_query *query, const char *const *names);
TAVOLA_API void tavola_query_set_page_size(tavola_query *query,
                                           uint32_t entities_max); /* 1..1000; 0: 1000 */
/* How many in all pages together; 0: all. */
TAVOLA_API void tavola_query_set_limit(tavola_query *query, uint64_t entities_max);
TAVOLA_API void tavola_query_free(tavola_query *query);

/*
 * Cursor: pages are fetched as needed, the first by the first tavola_scan_next, the next one while
 * you read this one.  An entity lives until the next tavola_scan_next; tavola_entity_copy keeps it.
 * The call, if any, is used until the scan is closed.  A query that is NULL reads all.
 */
TAVOLA_USE tavola_err tavola_scan_open(tavola_table *table, const tavola_query *query,
                                       tavola_call *call, tavola_scan **ret_scan);
TAVOLA_USE tavola_err tavola_scan_next(tavola_scan *scan, const tavola_entity **ret_entity);
TAVOLA_API void tavola_scan_close(tavola_scan *scan);
/* Segments.  `token` is NULL for the first, then that of the page before.  The limit of the query
 * is one of each page here. */
TAVOLA_USE tavola_err tavola_query_page(tavola_table *table, const tavola_query *query,
                                        const char *token, tavola_call *call,
                                        tavola_page **ret_page);
TAVOLA_API size_t tavola_page_count(const tavola_page *page);
TAVOLA_API const tavola_entity *tavola_page_at(const tavola_page *page, size_t i);
TAVOLA_API const char *
tavola_page_token(const tavola_page *page); /* NULL: no more; plain ASCII, may be stored */
TAVOLA_API void tavola_page_free(tavola_page *page);
/* Counts by reading all keys: one request for each 1,000 entities.  Azure has nothing better. */
TAVOLA_USE tavola_err tavola_count(tavola_table *table, const tavola_query *query,
                                   tavola_call *call, uint64_t *ret_count);
/*
 * What a Tavola server would do for the query, which is not run: plan, estimate and warnings, as
 * JSON (docs/statistics.md); free it.  Any other service reads a page in vain: UNSUPPORTED.
 */
TAVOLA_USE tavola_err tavola_explain(tavola_table *table, const tavola_query *query,
                                     tavola_call *call, char **ret_json);

/* ---- 5. batches ---------------------------------------------------------------------------- */
typedef enum tavola_write {
    TAVOLA_INSERT,
    TAVOLA_INSERT_OR_REPLACE,
    TAVOLA_INSERT_OR_MERGE,
    TAVOLA_REPLACE,
    TAVOLA_MERGE,
    TAVOLA_DELETE
} tavola_write;
/*
 * One entity group transaction: 1 to 100 writes to one partition, each entity once, 4 MiB: all of
 * them or none.  What breaks a rule is refused before it is sent, by tavola_batch_run, and
 * tavola_call_failed_index says which: TOO_LARGE for too many writes or bytes, else INVALID.
 * if_match is for REPLACE, MERGE and DELETE, as in section 3.  A batch is run once.  It has copies
 * of the entities: to write one again, give it tavola_batch_etag by tavola_entity_set_etag.
 */
TAVOLA_API tavola_batch *tavola_batch_new(tavola_table *table);
TAVOLA_API void tavola_batch_add(tavola_batch *batch, tavola_write write,
                                 const tavola_entity *entity, const char *if_match);
TAVOLA_API size_t tavola_batch_count(const tavola_batch *batch);
TAVOLA_USE tavola_err tavola_batch_run(tavola_batch *batch, tavola_call *call);
/* The new etag of a write that was made; NULL of a delete, and of a batch that was only confirmed
 * by reading back. */
TAVOLA_API const char *tavola_batch_etag(const tavola_batch *batch, size_t i);
TAVOLA_API void tavola_batch_free(tavola_batch *batch);

/*
 * Any number of writes to any partitions: grouped by partition, cut by number and bytes, up to
 * in_flight_max batches at once (0: 8).  Not atomic as a whole.  Writes to one entity are made in
 * the order in which they were added.  if_match is for REPLACE, MERGE and DELETE, as in section 3.
 *
 * tavola_bulk_add may wait.  What it returns an error for was not taken.  Of a write that failed
 * later failed() is told, by any of these functions.  tavola_bulk_close waits for the rest, and
 * returns OK when every write has an outcome, whatever it is.  failed() must not use the bulk; it
 * and the counts may be NULL.  The call is used until the bulk is closed; its outcome is that of
 * the last batch that failed.
 *
 * At most 10,000 writes or 16 MiB of them wait to be sent, which takes up to 24 MiB; a batch on its
 * way takes up to 16 MiB (100 writes of 1 KiB: half a MiB) beside its answer.
 */
typedef void (*tavola_bulk_fn)(void *user, const tavola_entity *entity, tavola_err err,
                               const char *code);
TAVOLA_USE tavola_err tavola_bulk_open(tavola_table *table, uint32_t in_flight_max,
                                       tavola_bulk_fn failed, void *user, tavola_call *call,
                                       tavola_bulk **ret_bulk);
TAVOLA_USE tavola_err tavola_bulk_add(tavola_bulk *bulk, tavola_write write,
                                      const tavola_entity *entity, const char *if_match);
TAVOLA_USE tavola_err tavola_bulk_close(tavola_bulk *bulk, uint64_t *ret_written,
                                        uint64_t *ret_failed);
/*
 * Deletes what passes the filter in batches, whatever its etag by then.  Takes the filter over; one
 * that is NULL deletes nothing: NO_MEMORY.  ret_count, of what was there, may be NULL.
 */
TAVOLA_USE tavola_err tavola_delete_where(tavola_table *table, tavola_filter *filter,
                                          tavola_call *call, uint64_t *ret_count);

/* ---- 6. asynchronous ----------------------------------------------------------------------- */
/*
 * A started operation runs on the client's own thread.  When it is done it waits in a queue;
 * tavola_poll takes it from there and calls `done`, on the thread that polls.  tavola_client_fd is
 * readable while there is something to poll: one line for poll(2), epoll, libuv or GLib.  With a
 * NULL `done` it is not queued: use tavola_op_wait.
 *
 * All that is needed is copied at the start, the options of the call too; the outcome, and the new
 * etag of a write, are in tavola_op_call.  An operation is yours from its start.  Free it in `done`
 * or later; before, only after tavola_op_cancel, and then `done` is not called.
 */
typedef void (*tavola_done_fn)(void *user, tavola_op *op);
TAVOLA_USE tavola_err tavola_start_get(tavola_table *table, const char *partition_key,
                                       const char *row_key, tavola_done_fn done, void *user,
                                       tavola_call *call, tavola_op **ret_op);
TAVOLA_USE tavola_err tavola_start_write(tavola_table *table, tavola_write write,
                                         const tavola_entity *entity, const char *if_match,
                                         tavola_done_fn done, void *user, tavola_call *call,
                                         tavola_op **ret_op);
/* The batch must outlive it. */
TAVOLA_USE tavola_err tavola_start_batch(tavola_batch *batch, tavola_done_fn done, void *user,
                                         tavola_call *call, tavola_op **ret_op);
TAVOLA_USE tavola_err tavola_start_page(tavola_table *table, const tavola_query *query,
                                        const char *token, tavola_done_fn done, void *user,
                                        tavola_call *call, tavola_op **ret_op);
/* TIMEOUT when it is not done by then, else its own result. */
TAVOLA_API tavola_err tavola_op_wait(tavola_op *op, uint32_t timeout_ms);
TAVOLA_API tavola_err tavola_op_err(const tavola_op *op); /* TIMEOUT: not done yet */
TAVOLA_API tavola_call *tavola_op_call(tavola_op *op);    /* status, etag...; NULL until done */
TAVOLA_API tavola_entity *tavola_op_take_entity(tavola_op *op); /* NULL if there is none */
TAVOLA_API tavola_page *tavola_op_take_page(tavola_op *op);     /* NULL if there is none */
/* Ends it soon unless it is done already, as tavola_call_cancel does; `done` is called as ever. */
TAVOLA_API void tavola_op_cancel(tavola_op *op);
TAVOLA_API void tavola_op_free(tavola_op *op);
/*
 * Wait until something is done, at most timeout_ms (-1: for ever), and call back; how many.  -1
 * when there is no memory or thread.
 */
TAVOLA_API int tavola_poll(tavola_client *client, int timeout_ms);
TAVOLA_API int tavola_client_fd(tavola_client *client); /* -1 when there is no memory or thread */

/* ---- 7. keys ------------------------------------------------------------------------------- */
#define TAVOLA_TICKS_PER_SECOND ((tavola_ticks)10000000)
enum { /* of what these functions write, with the NUL */
       TAVOLA_TIME_SIZE = 29,
       TAVOLA_GUID_SIZE = 37,
       TAVOLA_INVERTED_SIZE = 20
};
TAVOLA_API tavola_ticks tavola_now(void);
/* What lies outside the years 1 to 9999 becomes their first or last tick. */
TAVOLA_API tavola_ticks tavola_ticks_from_unix_us(int64_t microseconds);
TAVOLA_API int64_t tavola_ticks_to_unix_us(tavola_ticks ticks);
/* "2026-01-02T03:04:05.1234567Z" ("" outside those years) and back; the fraction and the seconds
 * may be missing, and an offset ("+01:00") may take the place of the Z.  Digits beyond 100 ns are
 * cut off, as the service does.  False when it is not such a text. */
TAVOLA_API void tavola_ticks_format(tavola_ticks ticks, char ret_text[TAVOLA_TIME_SIZE]);
TAVOLA_API bool tavola_ticks_parse(const char *text, tavola_ticks *ret_ticks);
TAVOLA_API bool tavola_guid_parse(const char *text, tavola_guid *ret_guid);
TAVOLA_API void tavola_guid_format(tavola_guid guid, char ret_text[TAVOLA_GUID_SIZE]);
TAVOLA_API tavola_guid tavola_guid_random(void);
TAVOLA_API void tavola_key_inverted(tavola_ticks when,
                                    char ret_key[TAVOLA_INVERTED_SIZE]); /* 19 digits */
/* Back again; what follows the 19 digits, to tell ties apart, is not looked at. */
TAVOLA_API bool tavola_key_from_inverted(const char *key, tavola_ticks *ret_when);
/* At least `width` digits; "" when `size`, with the NUL, is too small. */
TAVOLA_API void tavola_key_padded(uint64_t number, unsigned width, char *ret_key, size_t size);
/* `parts` ends with NULL.  NULL when the separator occurs in one of them or is not ASCII. */
TAVOLA_API char *tavola_key_join(char separator, const char *const *parts);
/* The smallest key after all that begin with the prefix, by UTF-16 units as the service orders
 * keys; NULL when there is none, and when memory is short. */
TAVOLA_API char *tavola_key_after(const char *prefix);
/* Valid UTF-8 of at most 1 KiB as UTF-16, without control characters and / \ # ?; "" is valid. */
TAVOLA_API bool tavola_key_is_valid(const char *key);

/* ---- 8. queues ------------------------------------------------------------------------------- */
TAVOLA_USE tavola_err tavola_queue_open(tavola_client *client, const char *name,
                                        tavola_queue **ret_queue);
TAVOLA_API void tavola_queue_close(tavola_queue *queue);
TAVOLA_API const char *tavola_queue_name(const tavola_queue *queue);
/* CONFLICT for about 30 seconds after a queue of that name was deleted. */
TAVOLA_USE tavola_err tavola_queue_create(tavola_queue *queue, tavola_call *call);
TAVOLA_USE tavola_err tavola_queue_create_if_absent(tavola_queue *queue, tavola_call *call);
TAVOLA_USE tavola_err tavola_queue_delete(tavola_queue *queue, tavola_call *call);
TAVOLA_USE tavola_err tavola_queue_delete_if_present(tavola_queue *queue, tavola_call *call);
TAVOLA_USE tavola_err tavola_queue_exists(tavola_queue *queue, tavola_call *call, bool *ret_exists);
/* The names of all queues that begin with `prefix`, in order; NULL: all queues. */
TAVOLA_USE tavola_err tavola_queue_list(tavola_client *client, const char *prefix,
                                        tavola_call *call, tavola_names **ret_names);
/* About how many messages there are, hidden ones included. */
TAVOLA_USE tavola_err tavola_queue_count(tavola_queue *queue, tavola_call *call,
                                         uint64_t *ret_count);
TAVOLA_USE tavola_err tavola_queue_clear(tavola_queue *queue, tavola_call *call);

/*
 * Text goes as it is, up to 64 KiB; characters that XML cannot hold (most below U+0020, U+FFFE,
 * U+FFFF) are INVALID.  Bytes go as base64, which is what older SDKs make of every message: up to
 * 48 KiB.  Receivers must know which; tavola_message_bytes reads the second.
 *
 * A message cannot be found again: when no answer came to a put, it is UNKNOWN_OUTCOME and not
 * repeated.  Put it again if twice does no harm.
 */
TAVOLA_USE tavola_err tavola_message_put(tavola_queue *queue, const char *text, tavola_call *call);
TAVOLA_USE tavola_err tavola_message_put_bytes(tavola_queue *queue, const void *data, size_t size,
                                               tavola_call *call);
/*
 * Hidden for the first hidden_s seconds (up to 7 days); gone after ttl_s seconds (0: 7 days; -1:
 * never).  *ret_message (may be NULL) has the id and pop receipt to update or delete it, and no
 * text.
 */
TAVOLA_USE tavola_err tavola_message_put_later(tavola_queue *queue, const char *text,
                                               uint32_t hidden_s, int32_t ttl_s, tavola_call *call,
                                               tavola_message **ret_message);
/*
 * Take the next message and hide it from others for hidden_s seconds (0: 30; up to 7 days), in
 * which it is to be deleted or updated.  END when there is none to be seen.  An answer that is lost
 * hides its message for that long, too.
 */
TAVOLA_USE tavola_err tavola_message_get(tavola_queue *queue, uint32_t hidden_s, tavola_call *call,
                                         tavola_message **ret_message);
/* The same for up to `count` messages (1..32; 0: 32); an empty list when there are none. */
TAVOLA_USE tavola_err tavola_messages_get(tavola_queue *queue, uint32_t count, uint32_t hidden_s,
                                          tavola_call *call, tavola_messages **ret_messages);
/* Look at messages without taking them: they have no pop receipt. */
TAVOLA_USE tavola_err tavola_messages_peek(tavola_queue *queue, uint32_t count, tavola_call *call,
                                           tavola_messages **ret_messages);
#define TAVOLA_AT_ONCE UINT32_MAX /* hidden_s of an update: it is shown now */
/*
 * Hide it for hidden_s seconds from now (0: 30) and change its text, unless that is NULL.  Its pop
 * receipt is a new one then.  NOT_FOUND when it is deleted, or somebody else has taken it since.
 * UNKNOWN_OUTCOME when the new receipt may be lost: the message comes back when its time is over.
 */
TAVOLA_USE tavola_err tavola_message_update(tavola_queue *queue, tavola_message *message,
                                            const char *text, uint32_t hidden_s, tavola_call *call);
/* NOT_FOUND when it is deleted already, or somebody else has taken it since. */
TAVOLA_USE tavola_err tavola_message_delete(tavola_queue *queue, const tavola_message *message,
                                            tavola_call *call);
/* A message by an id and pop receipt that were kept, for update and delete; NULL: no memory. */
TAVOLA_API tavola_message *tavola_message_new(const char *id, const char *pop_receipt);
TAVOLA_API const char *tavola_message_id(const tavola_message *message);
TAVOLA_API const char *tavola_message_pop_receipt(const tavola_message *message); /* or NULL */
TAVOLA_API const char *tavola_message_text(const tavola_message *message);        /* or NULL */
/* What the base64 of the text stands for: free it.  INVALID when it is not base64. */
TAVOLA_USE tavola_err tavola_message_bytes(const tavola_message *message, void **ret_data,
                                           size_t *ret_size);
TAVOLA_API uint32_t tavola_message_dequeue_count(const tavola_message *message);
TAVOLA_API tavola_ticks tavola_message_inserted(const tavola_message *message);     /* 0: unknown */
TAVOLA_API tavola_ticks tavola_message_expires(const tavola_message *message);      /* 0: unknown */
TAVOLA_API tavola_ticks tavola_message_next_visible(const tavola_message *message); /* 0: unknown */
/* Not those of a list. */
TAVOLA_API void tavola_message_free(tavola_message *message);
TAVOLA_API size_t tavola_messages_count(const tavola_messages *messages);
/* Belongs to the list; NULL: no such. */
TAVOLA_API tavola_message *tavola_messages_at(tavola_messages *messages, size_t i);
TAVOLA_API void tavola_messages_free(tavola_messages *messages);

/* ---- 9. blobs -------------------------------------------------------------------------------- */
TAVOLA_USE tavola_err tavola_container_open(tavola_client *client, const char *name,
                                            tavola_container **ret_container);
TAVOLA_API void tavola_container_close(tavola_container *container);
TAVOLA_API const char *tavola_container_name(const tavola_container *container);
TAVOLA_USE tavola_err tavola_container_create(tavola_container *container, tavola_call *call);
TAVOLA_USE tavola_err tavola_container_create_if_absent(tavola_container *container,
                                                        tavola_call *call);
TAVOLA_USE tavola_err tavola_container_delete(tavola_container *container, tavola_call *call);
TAVOLA_USE tavola_err tavola_container_delete_if_present(tavola_container *container,
                                                         tavola_call *call);
TAVOLA_USE tavola_err tavola_container_exists(tavola_container *container, tavola_call *call,
                                              bool *ret_exists);
/* The names of all containers that begin with `prefix`, in order; NULL: all containers. */
TAVOLA_USE tavola_err tavola_container_list(tavola_client *client, const char *prefix,
                                            tavola_call *call, tavola_names **ret_names);

typedef struct tavola_blob_options {
    size_t struct_size;
    const char *content_type; /* NULL: application/octet-stream */
    const char *if_match;     /* NULL: whatever there is; TAVOLA_ANY: it must exist */
    bool if_absent;           /* only if there is none: EXISTS */
} tavola_blob_options;
/*
 * Put a whole block blob in place of what there is, at once and atomically; options may be NULL.
 * tavola_call_etag is its etag then.  A put whose answer was lost is settled by the blob's size and
 * MD5 (tavola_call_was_confirmed); UNKNOWN_OUTCOME when another write may have come over ours.
 * Up to 16 MiB in one request; more goes in blocks, and the call's timeout is for each of those
 * requests.  CONFLICT when another write of the blob has swept our blocks away.
 */
TAVOLA_USE tavola_err tavola_blob_put(tavola_container *container, const char *name,
                                      const void *data, size_t size,
                                      const tavola_blob_options *options, tavola_call *call);
/*
 * Fills up to `size` bytes; *ret_len 0 is the end.  Each byte is asked for once and in order.
 * False gives up: CANCELLED, and the blob is what it was.
 */
typedef bool (*tavola_source_fn)(void *user, void *to, size_t size, size_t *ret_len);
/* The same from a callback: any length, in memory of one block (4 MiB up to 98 GiB, then 64). */
TAVOLA_USE tavola_err tavola_blob_write(tavola_container *container, const char *name,
                                        tavola_source_fn source, void *user,
                                        const tavola_blob_options *options, tavola_call *call);
/* The whole blob into memory: free it.  TOO_LARGE when it has more than size_max bytes (0: any
 * size).  There is a NUL after the last byte. */
TAVOLA_USE tavola_err tavola_blob_get(tavola_container *container, const char *name,
                                      size_t size_max, tavola_call *call, void **ret_data,
                                      size_t *ret_size);
/* `size` bytes (1 at least) from `offset`, or those that there are: none is OK and *ret_size 0. */
TAVOLA_USE tavola_err tavola_blob_get_range(tavola_container *container, const char *name,
                                            uint64_t offset, size_t size, tavola_call *call,
                                            void **ret_data, size_t *ret_size);
/* Takes the next bytes; false gives up: CANCELLED. */
typedef bool (*tavola_sink_fn)(void *user, const void *bytes, size_t len);
/*
 * The whole blob to a callback, in memory of 4 MiB: each byte once and in order, whatever breaks on
 * the way.  ETAG when the blob is changed while it is read; what came before is of the old one.
 */
TAVOLA_USE tavola_err tavola_blob_read(tavola_container *container, const char *name,
                                       tavola_sink_fn sink, void *user, tavola_call *call);
/* if_match NULL: whatever its etag.  Snapshots go with it. */
TAVOLA_USE tavola_err tavola_blob_delete(tavola_container *container, const char *name,
                                         const char *if_match, tavola_call *call);
/* OK when there is no such blob; NOT_FOUND when there is no such container. */
TAVOLA_USE tavola_err tavola_blob_delete_if_present(tavola_container *container, const char *name,
                                                    tavola_call *call);
TAVOLA_USE tavola_err tavola_blob_exists(tavola_container *container, const char *name,
                                         tavola_call *call, bool *ret_exists);

/*
 * Append blobs: made empty, then extended by up to 4 MiB at a time, at most 50,000 times.  An
 * append whose answer was lost is settled by reading its position: only two clients that append the
 * same bytes at the same time cannot be told apart.
 */
TAVOLA_USE tavola_err tavola_blob_create_append(tavola_container *container, const char *name,
                                                const tavola_blob_options *options,
                                                tavola_call *call);
/* At the end, wherever that is: one request to find it, one to append, more while others append,
 * too.  *ret_offset (may be NULL) is where the bytes are now. */
TAVOLA_USE tavola_err tavola_blob_append(tavola_container *container, const char *name,
                                         const void *data, size_t size, tavola_call *call,
                                         uint64_t *ret_offset);
/* One request, for whoever knows the end: ETAG when the blob is not `offset` bytes long. */
TAVOLA_USE tavola_err tavola_blob_append_at(tavola_container *container, const char *name,
                                            uint64_t offset, const void *data, size_t size,
                                            tavola_call *call);

typedef struct tavola_blob_info { /* made by the library alone: new members come at its end */
    const char *name;
    uint64_t size;
    const char *etag;         /* NULL: of a prefix */
    const char *content_type; /* or NULL */
    tavola_ticks last_modified;
    bool is_append;
    bool is_prefix; /* stands for all blobs whose names begin with `name` */
} tavola_blob_info;
TAVOLA_USE tavola_err tavola_blob_stat(tavola_container *container, const char *name,
                                       tavola_call *call, tavola_blob_info **ret_info);
TAVOLA_API void tavola_blob_info_free(tavola_blob_info *info); /* not those of a list */
/*
 * One page of blobs in order of their names.  `prefix` NULL: all; `delimiter` NULL: none, "/":
 * names are cut after the first '/' behind the prefix and each such prefix is listed once.
 * page_size 0: 5,000.  `token` is NULL for the first page, then that of the page before.
 */
TAVOLA_USE tavola_err tavola_blob_list(tavola_container *container, const char *prefix,
                                       const char *delimiter, uint32_t page_size, const char *token,
                                       tavola_call *call, tavola_blobs **ret_blobs);
TAVOLA_API size_t tavola_blobs_count(const tavola_blobs *blobs);
TAVOLA_API const tavola_blob_info *tavola_blobs_at(const tavola_blobs *blobs, size_t i);
TAVOLA_API const char *tavola_blobs_token(const tavola_blobs *blobs); /* NULL: no more */
TAVOLA_API void tavola_blobs_free(tavola_blobs *blobs);

/* ---- 10. shared access signatures and stored policies ---------------------------------------- */
/*
 * A signature lets whoever has it do the given things until it expires, without a key.  Making one
 * sends nothing.  INVALID when the client has no key, and for what the service would refuse.
 * Permissions are letters, put in order for you: r, a, u, d for a table; r, a, u, p for a queue;
 * r, a, c, w, d, l and more for a container, the same without l for a blob; r, w, d, l, a, c, u, p
 * for an account.  *ret_query is "sv=...&sig=..."; free it.
 */
typedef struct tavola_sas_options {
    size_t struct_size;         /* sizeof(tavola_sas_options) */
    const char *permissions;    /* NULL: those of the policy */
    tavola_ticks start, expiry; /* whole seconds; 0: left out; a policy may give them */
    const char *policy_id;      /* NULL: none; not for an account */
    const char *ip_range;       /* "1.2.3.4" or "1.2.3.4-1.2.3.9"; NULL: any address */
    bool https_only;            /* false: spr left out, both protocols */
    /* Keys from .. to, both included, for a table; a row key needs its partition key.  NULL: no
     * bound.  An end of "" is INVALID: the service signs it like none, so anybody could drop it. */
    const char *start_pk, *start_rk, *end_pk, *end_rk;
    const char *version; /* NULL: "2019-02-02" */
} tavola_sas_options;
TAVOLA_USE tavola_err tavola_table_sas(tavola_table *table, const tavola_sas_options *options,
                                       char **ret_query);
/* `services` of "bqtf" (blob, queue, table, file), `resource_types` of "sco" (service, container or
 * table or queue, object). */
TAVOLA_USE tavola_err tavola_account_sas(tavola_client *client, const char *services,
                                         const char *resource_types,
                                         const tavola_sas_options *options, char **ret_query);
TAVOLA_USE tavola_err tavola_queue_sas(tavola_queue *queue, const tavola_sas_options *options,
                                       char **ret_query);
TAVOLA_USE tavola_err tavola_container_sas(tavola_container *container,
                                           const tavola_sas_options *options, char **ret_query);
TAVOLA_USE tavola_err tavola_blob_sas(tavola_container *container, const char *name,
                                      const tavola_sas_options *options, char **ret_query);
/* A signature taken apart: of a query ("sv=...&sig=...", with or without '?') or a whole URL. */
typedef struct tavola_sas tavola_sas;
TAVOLA_USE tavola_err tavola_sas_parse(const char *query_or_url, tavola_sas **ret_sas);
TAVOLA_API const char *tavola_sas_kind(const tavola_sas *sas); /* "table", "account", "queue",
                                                                  "container", "blob" */
/* The decoded value of a parameter ("sp", "se", "tn"...), NULL when it has none. */
TAVOLA_API const char *tavola_sas_field(const tavola_sas *sas, const char *parameter);
TAVOLA_API void tavola_sas_free(tavola_sas *sas);

typedef struct tavola_policy { /* a stored access policy, at most five of one resource */
    size_t struct_size;
    const char *id;             /* 1 to 64 characters */
    const char *permissions;    /* NULL: left to the signature */
    tavola_ticks start, expiry; /* 0: left to the signature */
} tavola_policy;
typedef struct tavola_policies tavola_policies;
/*
 * Setting replaces all policies; `count` 0 removes them, and with them every signature that names
 * one.  Azure may take 30 seconds to notice.
 */
TAVOLA_USE tavola_err tavola_table_set_policies(tavola_table *table, const tavola_policy *policies,
                                                size_t count, tavola_call *call);
TAVOLA_USE tavola_err tavola_table_get_policies(tavola_table *table, tavola_call *call,
                                                tavola_policies **ret_policies);
TAVOLA_USE tavola_err tavola_queue_set_policies(tavola_queue *queue, const tavola_policy *policies,
                                                size_t count, tavola_call *call);
TAVOLA_USE tavola_err tavola_queue_get_policies(tavola_queue *queue, tavola_call *call,
                                                tavola_policies **ret_policies);
/* Also ends public access to the container, if it had any. */
TAVOLA_USE tavola_err tavola_container_set_policies(tavola_container *container,
                                                    const tavola_policy *policies, size_t count,
                                                    tavola_call *call);
TAVOLA_USE tavola_err tavola_container_get_policies(tavola_container *container, tavola_call *call,
                                                    tavola_policies **ret_policies);
TAVOLA_API size_t tavola_policies_count(const tavola_policies *policies);
TAVOLA_API const tavola_policy *tavola_policies_at(const tavola_policies *policies, size_t i);
TAVOLA_API void tavola_policies_free(tavola_policies *policies);

/* ---- 11. client-side encryption -------------------------------------------------------------- */
/*
 * Chosen properties are encrypted before an entity leaves this process and decrypted after it was
 * read: nobody who can read the table sees them.  docs/encryption.md has the formats, and what they
 * promise and do not.
 *
 * Each write has a content key of its own, which is stored with the entity, wrapped by the crypto's
 * key (the key-encryption key).  Encrypted are the properties that tavola_crypto_set_properties
 * chooses, those of fields with TAVOLA_FIELD_ENCRYPT, and those that were encrypted when the entity
 * was read: up to 250, never the keys and Timestamp.  A filter cannot see into them.  A merge and
 * an insert-or-merge are UNSUPPORTED.  What cannot be decrypted is CRYPTO, for whatever reason.
 *
 * A crypto is made by one thread.  When it is complete any thread may use it, several at once, and
 * its callbacks are called by any.
 */

/*
 * A key that lives elsewhere, for example in an HSM.  wrap() and unwrap() return 0 when they have
 * worked.  *ret_out_size is the room at ret_out when they are called, at least 1,024 bytes, and
 * the bytes written when they return.  What is wrapped has 32 or 40 bytes.  Texts live until the
 * next call with the same key or longer.  Without `wrap` one can only read, without `unwrap` only
 * write.
 */
typedef struct tavola_key_ops {
    size_t struct_size; /* sizeof(tavola_key_ops) */
    const char *(*kid)(void *key);
    const char *(*algorithm)(void *key); /* of wrap: "A256KW", "RSA-OAEP" */
    int (*wrap)(void *key, const uint8_t *in, size_t in_size, uint8_t *ret_out,
                size_t *ret_out_size);
    /* `algorithm` is what the entity says: refuse what you do not know. */
    int (*unwrap)(void *key, const char *algorithm, const uint8_t *in, size_t in_size,
                  uint8_t *ret_out, size_t *ret_out_size);
} tavola_key_ops;
/* Whether a property of this name is encrypted. */
typedef bool (*tavola_encrypt_fn)(void *user, const char *partition_key, const char *row_key,
                                  const char *name);
/* The crypto whose own key unwraps what names this key id; NULL: unknown.  It stays yours. */
typedef tavola_crypto *(*tavola_resolve_fn)(void *user, const char *kid);

/* The key must outlive the crypto. */
TAVOLA_USE tavola_err tavola_crypto_new(const tavola_key_ops *ops, void *key,
                                        tavola_crypto **ret_crypto);
/*
 * A key of 16, 24 or 32 bytes: A128KW, A192KW, A256KW.  It is copied, and wiped when the crypto is
 * freed.
 */
TAVOLA_USE tavola_err tavola_crypto_new_aes(const char *kid, const void *kek, size_t size,
                                            tavola_crypto **ret_crypto);
/*
 * RSA-OAEP (SHA-1) with a key in PEM, not protected by a password, of at most 8,192 bits.  A public
 * key can only write.  Note that whoever has the public key can make entities that decrypt well.
 */
TAVOLA_USE tavola_err tavola_crypto_new_rsa(const char *kid, const char *pem, size_t size,
                                            tavola_crypto **ret_crypto);
/* Asked for the key ids that are not that of the crypto's own key.  Reading and rewrapping. */
TAVOLA_API void tavola_crypto_set_resolver(tavola_crypto *crypto, tavola_resolve_fn resolve,
                                           void *user);
TAVOLA_API void tavola_crypto_set_properties(tavola_crypto *crypto, tavola_encrypt_fn encrypt,
                                             void *user);
/* Reading an entity that is not encrypted is CRYPTO then; otherwise it is read as it is. */
TAVOLA_API void tavola_crypto_set_required(tavola_crypto *crypto, bool required);
/*
 * How to write; all are read always.  2, the default, is libtavola's: authenticated, all types, and
 * bound to the account and the table (2.1).  20 is 2.0, which was not: for programs that know no
 * other, and entities that are copied as they are.  1 is that of Azure's old libraries for .NET,
 * Java and Python: only Strings, and not protected against someone who can write to the table.
 * Others: every write is INVALID.
 */
TAVOLA_API void tavola_crypto_set_protocol(tavola_crypto *crypto, int version);
/*
 * What entities of version 2.1 are bound to in place of the account and table of the operation, in
 * reading and writing: of a table that was copied or renamed as it is, where it was written.  NULL:
 * those of the operation.  NO_MEMORY.
 */
TAVOLA_USE tavola_err tavola_crypto_set_place(tavola_crypto *crypto, const char *account,
                                              const char *table);
TAVOLA_API void tavola_crypto_free(tavola_crypto *crypto);
/*
 * Key rotation: wrap the content keys of all encrypted entities that pass the filter (NULL: all;
 * taken over) by the crypto's own key.  Its resolver finds the old keys.  The data stay as they
 * are.  Entities that have the new key are left alone: a rotation that was interrupted is started
 * again.  One whose key cannot be unwrapped is passed over: CRYPTO at the end.  *ret_count, which
 * may be NULL, is how many were rewrapped, also with an error.
 */
TAVOLA_USE tavola_err tavola_crypto_rewrap(tavola_table *table, tavola_crypto *crypto,
                                           tavola_filter *filter, tavola_call *call,
                                           uint64_t *ret_count);

/* ---- 12. the guide's patterns -------------------------------------------------------------- */
/*
 * Each function names the pattern of the Table Design Guide that it implements, what it promises,
 * what it costs, and what holds if the program dies in the middle.  "1 EGT" is one entity group
 * transaction: one request, all or nothing.
 *
 * The options of a call are for each request; its outcome is that of the request that decided.
 * Where others changed something between a read and a write, the pattern reads again, up to 10
 * times, then ETAG.  An etag of an entity that is put is a condition: ETAG when it was changed
 * since it was read, NOT_FOUND when it is gone.  Properties whose names begin with "Tavola" are the
 * patterns' own.
 */

/*
 * Intra-partition and inter-partition secondary index patterns: copies of an entity under other
 * keys, so that one is found by the value of a property in a point query, and all of a range of
 * values, in order, in a range query.  A tavola_indexed is a table with its indexes.  What goes in
 * and comes out is the application's entity with its own keys and properties, whichever way it was
 * found.  It is stored as:
 *
 *                          PartitionKey             RowKey
 *     the entity           PartitionKey             RowKey, behind the prefix of "RowKey"
 *     intra-partition copy PartitionKey             prefix + value
 *     inter-partition copy prefix + PartitionKey    value, and the entity with its prefix there
 *
 * An index is unique: two entities of a partition cannot have one value.  An entity that lacks the
 * property has no copy there.  A value is a part of a key and so readable: do not index what is to
 * be encrypted.  All programs give the same indexes; after one was added tavola_indexed_repair
 * makes its copies.  An entity has room for 249 properties beside those of its copies (251 if they
 * are in its partition).
 *
 * Whoever writes to these rows by other functions changes the entity or a copy alone: lookups by
 * its copies then say what was before, a lookup by a new value finds nothing, and two entities may
 * have one value.  Nothing of that is lost: a put by what was read before is refused with ETAG,
 * whichever way it was read, and tavola_indexed_check finds it.  The entity is right, always:
 * tavola_indexed_repair makes its copies what it says, and a change of a copy alone is undone.
 */
typedef struct tavola_index {
    const char *prefix;   /* "email_"; of all of them none begins with another */
    const char *property; /* "Email", a String, at most one index each; "RowKey": the entity's own
                             key, which needs no index, but may get a prefix here */
    const char *const
        *columns; /* NULL: a full copy; else only these properties, ending with NULL */
} tavola_index;

/*
 * Intra-partition: one EGT changes the entity and its copies.  A reader never sees a stale copy,
 * and there is nothing to recover.  A put, update or delete costs 1 read + 1 EGT; a put by an etag
 * that was read by a copy, a read more for each index and one of the entity.  TOO_LARGE when the
 * entity, its copies and its stale copies are more than 100 or 4 MiB: up to 49 indexes always fit.
 *
 * Inter-partition: eventually consistent.  A message in a queue, hidden while this program lives,
 * says what is going on.  Then the entity is written, then new copies, then stale copies are
 * deleted, then the message.  Costs 1 read and 1 write of the entity, 2 queue requests, a read and
 * a write for each copy, and 1 read more when a copy is new.  If the program dies, or an error
 * comes back, a worker whose job is tavola_indexed_job makes the copies equal to the entity.  Until
 * then a copy may be missing or old; an older writer never overwrites the copy of a newer one.
 * (Only a program that is halted for longer than
 * hidden_s before it writes the entity, and dies right after, can leave copies that the next put,
 * or a repair, must fix.)
 */
typedef struct tavola_inter_partition {
    size_t struct_size;
    tavola_queue *queue;  /* exists, and has no other messages */
    tavola_table *copies; /* NULL: the table of the entities */
    uint32_t hidden_s;    /* 0: 30; how long after a death a worker sees the message */
} tavola_inter_partition;

typedef struct tavola_indexed tavola_indexed; /* a table with its indexes; any thread */
/*
 * Nothing is sent.  All is copied; the crypto is that which the table has now.  `inter` NULL:
 * intra-partition.  INVALID for indexes that cannot work.  Scans may outlive it.
 */
TAVOLA_USE tavola_err tavola_indexed_open(tavola_table *table, const tavola_index *indexes,
                                          size_t count, const tavola_inter_partition *inter,
                                          tavola_call *call, tavola_indexed **ret_indexed);
TAVOLA_API void tavola_indexed_close(tavola_indexed *indexed);
/*
 * By the entity's etag, if it has one; else insert or replace.  The new etag is left in the entity.
 * EXISTS when another entity has a value of an index: nothing was written then, unless both were
 * put at the same time and inter-partition; there the entity was, and the copy is the other's.
 */
TAVOLA_USE tavola_err tavola_indexed_put(tavola_indexed *indexed, tavola_entity *entity,
                                         tavola_call *call);
/* tavola_update for an entity and its copies: up to 10 rounds, each like a put. */
TAVOLA_USE tavola_err tavola_indexed_update(tavola_indexed *indexed, const char *partition_key,
                                            const char *row_key, tavola_change_fn change,
                                            void *user, tavola_call *call);
/* if_match as for tavola_delete.  NOT_FOUND when there is no such entity. */
TAVOLA_USE tavola_err tavola_indexed_delete(tavola_indexed *indexed, const char *partition_key,
                                            const char *row_key, const char *if_match,
                                            tavola_call *call);
/*
 * By the value of `property`, or by "RowKey": 1 point read.  Its etag is the condition of a put; a
 * copy in another partition may be old, and so is its etag then.  What was read by an index with
 * columns, or with a selection, cannot be put: INVALID.
 */
TAVOLA_USE tavola_err tavola_indexed_get(tavola_indexed *indexed, const char *property,
                                         const char *partition_key, const char *value,
                                         tavola_call *call, tavola_entity **ret_entity);
/*
 * In the order of an index, from the value `from` on and below `to`: "a" to "b" is all that begins
 * with an a; NULL: no bound.  The query, which may be NULL, is for the entities' properties, not
 * their keys.  1 request for each 1,000.  By "RowKey" without a prefix all rows of the partition
 * are read, and copies passed over.
 */
TAVOLA_USE tavola_err tavola_indexed_scan(tavola_indexed *indexed, const char *property,
                                          const char *partition_key, const char *from,
                                          const char *to, const tavola_query *query,
                                          tavola_call *call, tavola_scan **ret_scan);

/*
 * Every copy of a partition (NULL: of the table) compared with its entity: a scan, and a read for
 * each entity and each of its copies.  A fault is told to found(), if there is one; *ret_count,
 * which may be NULL, is how many there are.  Others may write at the same time; what their work in
 * other partitions has not reached yet is a fault, too.
 */
typedef enum tavola_index_fault_kind {
    TAVOLA_INDEX_MISSING = 1, /* the entity has the value and no copy */
    TAVOLA_INDEX_DIFFERS,     /* the copy says something else than the entity */
    TAVOLA_INDEX_STALE,       /* the copy of an entity that is gone, or has another value */
    TAVOLA_INDEX_TAKEN        /* another entity has the copy: both have one value */
} tavola_index_fault_kind;
typedef struct tavola_index_fault { /* made by the library alone: new members come at its end */
    tavola_index_fault_kind kind;
    const char *property;                        /* of the index */
    const char *partition_key, *row_key, *value; /* of the entity */
    bool is_repaired;
} tavola_index_fault;
typedef void (*tavola_index_fault_fn)(void *user, const tavola_index_fault *fault);
TAVOLA_USE tavola_err tavola_indexed_check(tavola_indexed *indexed, const char *partition_key,
                                           tavola_index_fault_fn found, void *user,
                                           tavola_call *call, uint64_t *ret_count);
/*
 * The same, and what is found is made right, by what the entity says: copies are made, replaced or
 * deleted.  *ret_count is how many are left: TAVOLA_INDEX_TAKEN, as nobody else can say which of
 * two entities is to have the value, and intra-partition all faults of such an entity.  Another
 * scan and 1 read + 1 EGT, or the reads and writes of a put, for each entity with a fault.  If the
 * program dies, the same call again goes on.
 */
TAVOLA_USE tavola_err tavola_indexed_repair(tavola_indexed *indexed, const char *partition_key,
                                            tavola_index_fault_fn found, void *user,
                                            tavola_call *call, uint64_t *ret_count);

/*
 * Eventually consistent transactions pattern.
 *
 * A job is a list of steps that may be done again from the start: insert-or-replace,
 * delete-if-present.  It gets the text of a message, which names what is to be done, and how often
 * it was read, 0 for the first time in the program that asked for it.  Messages never expire.
 */
typedef tavola_err (*tavola_job_fn)(void *user, const char *message, uint32_t dequeue_count);
/*
 * The job of a worker on the queue of inter-partition indexes: `user` is the tavola_indexed.  May
 * be done again, and by several at once.
 */
TAVOLA_USE tavola_err tavola_indexed_job(void *user, const char *message, uint32_t dequeue_count);
/* Leave it to a worker: 1 queue request.  UNKNOWN_OUTCOME: the message may be there. */
TAVOLA_USE tavola_err tavola_enqueue(tavola_queue *queue, const char *message, tavola_call *call);
/*
 * Do it now, and leave it to a worker if this program dies: puts the message, hidden for `hidden_s`
 * (0: 30) and as long as the job runs, runs the job, deletes the message if that returned OK.  Any
 * other result is returned and the message stays.  2 queue requests, one more for each third of
 * hidden_s.
 */
TAVOLA_USE tavola_err tavola_eventually(tavola_queue *queue, const char *message, uint32_t hidden_s,
                                        tavola_job_fn job, void *user, tavola_call *call);
/*
 * A worker takes messages one by one, runs the job and deletes the message last: every message is
 * worked on at least once.  It is kept hidden while its job runs, however long that takes; a job
 * that returns an error leaves it to be seen again.  What was read dequeue_max times (0: 5) without
 * success goes to the poison queue (put there first, then deleted here); NULL: it stays for ever.
 * Opening sends nothing and copies the handles and the options; running makes missing queues.
 */
typedef struct tavola_worker tavola_worker;
TAVOLA_USE tavola_err tavola_worker_open(tavola_queue *queue, tavola_queue *poison_queue,
                                         uint32_t dequeue_max, tavola_job_fn job, void *user,
                                         tavola_call *call, tavola_worker **ret_worker);
/* How many seconds a message is hidden at a time (0: 30); extended at a third of it. */
TAVOLA_API void tavola_worker_set_hidden_s(tavola_worker *worker, uint32_t hidden_s);
/*
 * Work for a time, also through times in which the service cannot be reached; 0: until no message
 * is to be seen; UINT32_MAX: until it is stopped.  From one thread; several workers are several.
 * Messages that jobs leave, or that go to the poison queue, are told to the client's log.
 */
TAVOLA_USE tavola_err tavola_worker_run(tavola_worker *worker, uint32_t for_ms);
/* From any thread: it ends after this message, and does not wait longer than 2 s for a service. */
TAVOLA_API void tavola_worker_stop(tavola_worker *worker);
TAVOLA_API uint64_t tavola_worker_done(const tavola_worker *worker);     /* jobs that returned OK */
TAVOLA_API uint64_t tavola_worker_failed(const tavola_worker *worker);   /* those that did not */
TAVOLA_API uint64_t tavola_worker_poisoned(const tavola_worker *worker); /* sent to that queue */
TAVOLA_API void tavola_worker_close(tavola_worker *worker);
/*
 * The guide's archive step: copy to the other table in place of what is there, then delete here.  3
 * requests.  If the program dies, the entity is in one or in both tables; the same call again
 * finishes, and is OK when it was moved before.  NOT_FOUND when it is in neither.
 */
TAVOLA_USE tavola_err tavola_move(tavola_table *from, tavola_table *to, const char *partition_key,
                                  const char *row_key, tavola_call *call);

/*
 * Index entities pattern: lists of keys.  A list is a JSON array of strings in a property, going on
 * in Property_1, Property_2... where one is full; an item is in it once.  Over 1 MiB: TOO_LARGE,
 * use a blob.  Other properties of the entity stay.  An empty list stays, too.
 *
 * Option 2, in the same partition: the list changes in one EGT with the writes in `with` (NULL:
 * none).  1 read + 1 EGT.  `with` itself is not run: free it.  An error of one of its writes is
 * returned, and tavola_call_failed_index is its index there.  tavola_list_move takes the item out
 * of one list and puts it into another in the same EGT (2 reads): a last name changes.
 * Option 3, in another partition or table: the same functions with `with` NULL inside a job of
 * tavola_eventually.
 */
TAVOLA_USE tavola_err tavola_list_add(tavola_table *table, const char *partition_key,
                                      const char *row_key, const char *property, const char *item,
                                      tavola_batch *with, tavola_call *call);
TAVOLA_USE tavola_err tavola_list_remove(tavola_table *table, const char *partition_key,
                                         const char *row_key, const char *property,
                                         const char *item, tavola_batch *with, tavola_call *call);
TAVOLA_USE tavola_err tavola_list_move(tavola_table *table, const char *partition_key,
                                       const char *from_row_key, const char *to_row_key,
                                       const char *property, const char *item, tavola_batch *with,
                                       tavola_call *call);
/* The items; an entity that does not exist has none.  1 point read. */
TAVOLA_USE tavola_err tavola_list_get(tavola_table *table, const char *partition_key,
                                      const char *row_key, const char *property, tavola_call *call,
                                      tavola_names **ret_items);
/* Option 1, in a blob, up to 256 MiB: 1 read + 1 conditional write; retried like the others. */
TAVOLA_USE tavola_err tavola_list_blob_add(tavola_container *container, const char *blob,
                                           const char *item, tavola_call *call);
TAVOLA_USE tavola_err tavola_list_blob_remove(tavola_container *container, const char *blob,
                                              const char *item, tavola_call *call);
TAVOLA_USE tavola_err tavola_list_blob_get(tavola_container *container, const char *blob,
                                           tavola_call *call, tavola_names **ret_items);

/*
 * Join in the client: many point reads at once, `in_flight_max` of them (0: 16).  ret_entities[i]
 * is NULL where there is no such entity.  Only when all others succeeded: else nothing is returned.
 */
TAVOLA_USE tavola_err tavola_get_many(tavola_table *table, const char *const *partition_keys,
                                      const char *const *row_keys, size_t count,
                                      uint32_t in_flight_max, tavola_call *call,
                                      tavola_entity **ret_entities);

/*
 * Denormalization pattern: copy properties of `from` into `to` under prefix + name, so that one
 * point query brings both; NULL names: all; NULL prefix: none.  Write both in one batch when they
 * share a partition.
 */
TAVOLA_API void tavola_entity_embed(tavola_entity *to, const char *prefix,
                                    const tavola_entity *from, const char *const *names);

/* Compound key pattern: tavola_key_join makes such a key; this cuts it: part i, NULL: no such. */
TAVOLA_API char *tavola_key_part(char separator, const char *key, size_t i);

/*
 * Log tail pattern: keys that sort from the newest to the oldest.  tavola_log_add inserts the
 * entity under its PartitionKey with the RowKey inverted ticks + "_" + 8 digits, a hash of what it
 * says (its own RowKey is ignored); 1 request.  The same at the same `when` is added once, however
 * often it is tried.  tavola_tail gives the newest (0: 1,000); 1 request for each 1,000.
 */
TAVOLA_USE tavola_err tavola_log_add(tavola_table *table, const tavola_entity *entity,
                                     tavola_ticks when, tavola_call *call);
TAVOLA_USE tavola_err tavola_tail(tavola_table *table, const char *partition_key,
                                  uint32_t newest_max, tavola_call *call, tavola_page **ret_page);

/*
 * High volume delete pattern: a table for each day ("Logins20260102"), dropped whole.  1 request
 * for each table, and those to list them; tables that are being deleted already count as dropped.
 * If the program dies some days are left: the same call again drops them.  ret_count may be NULL.
 */
TAVOLA_API void tavola_dated_name(const char *stem, tavola_ticks day, char *ret_name, size_t size);
TAVOLA_USE tavola_err tavola_drop_before(tavola_client *client, const char *stem, tavola_ticks day,
                                         tavola_call *call, uint64_t *ret_count);

/*
 * Data series pattern: the values of a series in one entity, as properties stem + index with three
 * digits (up to 999).  1 merge; no read, so no other slot is lost, whoever writes it at the same
 * time.
 */
TAVOLA_USE tavola_err tavola_series_set(tavola_table *table, const char *partition_key,
                                        const char *row_key, const char *stem, uint32_t index,
                                        tavola_value value, tavola_call *call);
TAVOLA_API bool tavola_series_get(const tavola_entity *entity, const char *stem, uint32_t index,
                                  tavola_value *ret_value);

/*
 * Wide entities pattern: more than 252 properties, or more than 1 MiB, over entities with the
 * RowKeys key~0, key~1... (a '~' in the key is doubled there), at most 100 and 4 MiB.  put: 1 read
 * + 1 EGT, which takes away surplus parts; there is nothing to recover.  get: 1 range query, of one
 * state: parts of different puts are never mixed.  The etag is that of the first part.
 * tavola_entity_new_wide makes an entity that takes any number of properties.
 */
TAVOLA_API tavola_entity *tavola_entity_new_wide(const char *partition_key, const char *row_key);
TAVOLA_USE tavola_err tavola_wide_put(tavola_table *table, tavola_entity *wide, tavola_call *call);
TAVOLA_USE tavola_err tavola_wide_get(tavola_table *table, const char *partition_key,
                                      const char *row_key, tavola_call *call,
                                      tavola_entity **ret_wide);
TAVOLA_USE tavola_err tavola_wide_delete(tavola_table *table, const char *partition_key,
                                         const char *row_key, tavola_call *call);

/*
 * Large entities pattern: a value that is too large for a property is a blob, and the property
 * holds "container/name".  The container is of the table's account.  put: a blob under a new name,
 * then the entity (in place of what is there, also of its other properties), then the old blob is
 * deleted: 1 read + 3 requests.  delete: the entity, then its blob.  An entity never names a blob
 * that is not there: who comes too late for one reads the entity again.  A put that fails leaves
 * the caller's entity as it was.  If it fails, or the program dies, blobs may be left that no
 * entity names: tavola_large_sweep reads the table and removes those that were put before
 * `older_than`, which must be longer ago than a put can take; ret_count may be NULL.
 */
TAVOLA_USE tavola_err tavola_large_put(tavola_table *table, tavola_entity *entity,
                                       const char *property, tavola_container *container,
                                       const void *data, size_t size, tavola_call *call);
TAVOLA_USE tavola_err tavola_large_get(tavola_table *table, const tavola_entity *entity,
                                       const char *property, tavola_call *call, void **ret_data,
                                       size_t *ret_size);
TAVOLA_USE tavola_err tavola_large_delete(tavola_table *table, const char *partition_key,
                                          const char *row_key, const char *property,
                                          tavola_call *call);
TAVOLA_USE tavola_err tavola_large_sweep(tavola_table *table, const char *property,
                                         tavola_container *container, tavola_ticks older_than,
                                         tavola_call *call, uint64_t *ret_count);

/*
 * Against the prepend/append anti-pattern: rows that come in the order of time go to `buckets`
 * partitions.  tavola_key_spread gives the bucket of a key, digits of fixed width to put before the
 * PartitionKey.  The scan reads all buckets at once and merges them by RowKey, at the cost of a
 * scan for each.  `partition_key` follows the bucket (NULL: nothing); the filter is for the rest.
 */
TAVOLA_API void tavola_key_spread(const char *key, uint32_t buckets, char *ret_prefix, size_t size);
TAVOLA_USE tavola_err tavola_scan_open_spread(tavola_table *table, const tavola_query *query,
                                              uint32_t buckets, const char *partition_key,
                                              tavola_call *call, tavola_scan **ret_scan);

/*
 * Against the log data anti-pattern: what is only downloaded belongs into blobs.  Appends lines (or
 * any bytes, up to 4 MiB) to stem/yyyy/MM/dd/HH.log, and when that has its 50,000 blocks to
 * HH_1.log...; 2 requests, 2 more for the first of an hour.  An append is made once or not at all.
 */
TAVOLA_USE tavola_err tavola_log_blob_append(tavola_container *container, const char *stem,
                                             tavola_ticks when, const void *data, size_t size,
                                             tavola_call *call);

#ifdef __cplusplus
}
#endif
#endif
