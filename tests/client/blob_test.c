/* Containers and blobs, against a running server. */
#include "service.h"

static tavola_container *new_container(tavola_client *client)
{
    char name[NAME_SIZE];
    tavola_container *container = NULL;

    make_name(name, "blobs");
    CHECK_ERR(tavola_container_open(client, name, &container), TAVOLA_OK);
    CHECK_ERR(tavola_container_create(container, NULL), TAVOLA_OK);
    return container;
}

static void drop_container(tavola_container *container)
{
    CHECK_ERR(tavola_container_delete(container, NULL), TAVOLA_OK);
    tavola_container_close(container);
}

static void check_content(tavola_container *container, const char *name, const void *wanted,
                          size_t wanted_size)
{
    void *data = NULL;
    size_t size = 0;

    CHECK_ERR(tavola_blob_get(container, name, wanted_size, NULL, &data, &size), TAVOLA_OK);
    if (size != wanted_size || memcmp(data, wanted, size) != 0)
        CHECK_FAIL("%s: %zu bytes, want %zu, or others", name, size, wanted_size);
    CHECK(((const char *)data)[size] == '\0');
    tavola_free(data);
}

/* Bytes that differ from piece to piece. */
static unsigned char *make_bytes(size_t size)
{
    unsigned char *bytes = malloc(size + 1);
    uint32_t state = 1;

    assert_non_null(bytes);
    for (size_t i = 0; i < size; i++) {
        state = state * 1664525 + 1013904223;
        bytes[i] = (unsigned char)(state >> 24);
    }
    return bytes;
}

TEST(a_container_is_made_once_and_deleted_once)
{
    tavola_client *client = open_client();
    tavola_container *container = NULL;
    tavola_call *call = tavola_call_new();
    tavola_names *names = NULL;
    char name[NAME_SIZE];
    bool exists = true;

    make_name(name, "life");
    CHECK_ERR(tavola_container_open(client, name, &container), TAVOLA_OK);
    CHECK_TEXT(tavola_container_name(container), name);
    CHECK_ERR(tavola_container_exists(container, call, &exists), TAVOLA_OK);
    CHECK(!exists);
    CHECK_ERR(tavola_container_delete(container, call), TAVOLA_ERR_NOT_FOUND);
    CHECK_TEXT(tavola_call_code(call), "ContainerNotFound");
    CHECK_ERR(tavola_container_delete_if_present(container, call), TAVOLA_OK);
    CHECK_ERR(tavola_container_create(container, call), TAVOLA_OK);
    CHECK_ERR(tavola_container_create(container, call), TAVOLA_ERR_EXISTS);
    CHECK_TEXT(tavola_call_code(call), "ContainerAlreadyExists");
    CHECK_ERR(tavola_container_create_if_absent(container, call), TAVOLA_OK);
    CHECK_ERR(tavola_container_exists(container, call, &exists), TAVOLA_OK);
    CHECK(exists);
    CHECK_ERR(tavola_container_list(client, name, call, &names), TAVOLA_OK);
    CHECK(tavola_names_count(names) == 1);
    CHECK_TEXT(tavola_names_at(names, 0), name);
    tavola_names_free(names);
    CHECK_ERR(tavola_container_delete(container, call), TAVOLA_OK);

    tavola_call_free(call);
    tavola_container_close(container);
    tavola_client_close(client);
}

TEST(a_blob_comes_back_as_it_was_put)
{
    static const struct {
        const char *label;
        size_t size;
    } cases[] = {
        {"nothing", 0},
        {"one byte", 1},
        {"a few KiB", 5000},
        {"one piece", 4 << 20},
        {"one byte more than a piece", (4 << 20) + 1},
        {"many pieces, one request", 13 << 20},
        {"the most of one request", 16 << 20},
        {"blocks", (16 << 20) + 1},
    };
    tavola_client *client = open_client();
    tavola_container *container = new_container(client);
    unsigned char *bytes = make_bytes((16 << 20) + 1);

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tavola_call *call = tavola_call_new();
        tavola_blob_info *info = NULL;

        t_row = cases[i].label;
        CHECK_ERR(tavola_blob_put(container, "blob", bytes, cases[i].size, NULL, call), TAVOLA_OK);
        CHECK(tavola_call_etag(call) != NULL);
        CHECK_ERR(tavola_blob_stat(container, "blob", NULL, &info), TAVOLA_OK);
        CHECK(info->size == cases[i].size && !info->is_append && !info->is_prefix);
        CHECK_TEXT(info->etag, tavola_call_etag(call));
        CHECK_TEXT(info->name, "blob");
        CHECK_TEXT(info->content_type, "application/octet-stream");
        CHECK(info->last_modified > 0);
        check_content(container, "blob", bytes, cases[i].size);
        tavola_blob_info_free(info);
        tavola_call_free(call);
    }
    free(bytes);
    drop_container(container);
    tavola_client_close(client);
}

/* A source that gives what it has in pieces of odd sizes, and a sink that checks them. */
typedef struct stream {
    const unsigned char *bytes;
    size_t size, at, calls, calls_max;
} stream;

static bool give(void *user, void *to, size_t size, size_t *ret_len)
{
    stream *of = user;
    size_t left = of->size - of->at, len = left < 1000003 ? left : 1000003;

    if (of->calls++ == of->calls_max)
        return false;
    if (len > size)
        len = size;
    memcpy(to, of->bytes + of->at, len);
    of->at += len;
    *ret_len = len;
    return true;
}

static bool take(void *user, const void *bytes, size_t len)
{
    stream *of = user;

    if (of->calls++ == of->calls_max || len > of->size - of->at)
        return false;
    if (memcmp(of->bytes + of->at, bytes, len) != 0)
        return false;
    of->at += len;
    return true;
}

TEST(blobs_stream_both_ways)
{
    static const struct {
        const char *label;
        size_t size;
    } cases[] = {
        {"nothing", 0},
        {"less than a block", 100},
        {"one block", 4 << 20},
        {"three blocks and a bit", (12 << 20) + 17},
    };
    tavola_client *client = open_client();
    tavola_container *container = new_container(client);
    unsigned char *bytes = make_bytes((12 << 20) + 17);

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        stream from = {bytes, cases[i].size, 0, 0, SIZE_MAX}, to = from;
        tavola_blob_options options = {.struct_size = sizeof options, .content_type = "a/b"};
        tavola_blob_info *info = NULL;

        t_row = cases[i].label;
        CHECK_ERR(tavola_blob_write(container, "dir/s p?c\xc3\xb6", give, &from, &options, NULL),
                  TAVOLA_OK);
        CHECK_ERR(tavola_blob_read(container, "dir/s p?c\xc3\xb6", take, &to, NULL), TAVOLA_OK);
        CHECK(to.at == cases[i].size);
        CHECK_ERR(tavola_blob_stat(container, "dir/s p?c\xc3\xb6", NULL, &info), TAVOLA_OK);
        CHECK_TEXT(info->content_type, "a/b");
        CHECK_TEXT(info->name, "dir/s p?c\xc3\xb6");
        tavola_blob_info_free(info);
    }
    free(bytes);
    drop_container(container);
    tavola_client_close(client);
}

TEST(source_and_sink_can_give_up)
{
    tavola_client *client = open_client();
    tavola_container *container = new_container(client);
    unsigned char *bytes = make_bytes(10 << 20);
    stream from = {bytes, 10 << 20, 0, 0, 8}, to = {bytes, 10 << 20, 0, 0, 1};
    bool exists = true;

    CHECK_ERR(tavola_blob_write(container, "b", give, &from, NULL, NULL), TAVOLA_ERR_CANCELLED);
    CHECK_ERR(tavola_blob_exists(container, "b", NULL, &exists), TAVOLA_OK);
    CHECK(!exists);
    CHECK_ERR(tavola_blob_put(container, "b", bytes, 10 << 20, NULL, NULL), TAVOLA_OK);
    CHECK_ERR(tavola_blob_read(container, "b", take, &to, NULL), TAVOLA_ERR_CANCELLED);
    CHECK(to.at == 4 << 20);
    free(bytes);
    drop_container(container);
    tavola_client_close(client);
}

/* Changes the blob when it has had the first piece. */
typedef struct meddler {
    tavola_container *container;
    int calls;
} meddler;

static bool meddle(void *user, const void *bytes, size_t len)
{
    meddler *of = user;

    (void)bytes, (void)len;
    if (of->calls++ == 0)
        CHECK_ERR(tavola_blob_put(of->container, "b", "new", 3, NULL, NULL), TAVOLA_OK);
    return true;
}

TEST(a_blob_that_changes_while_it_is_read_is_told)
{
    tavola_client *client = open_client();
    tavola_container *container = new_container(client);
    unsigned char *bytes = make_bytes(5 << 20);
    meddler of = {container, 0};

    CHECK_ERR(tavola_blob_put(container, "b", bytes, 5 << 20, NULL, NULL), TAVOLA_OK);
    CHECK_ERR(tavola_blob_read(container, "b", meddle, &of, NULL), TAVOLA_ERR_ETAG);
    CHECK(of.calls == 1);
    free(bytes);
    drop_container(container);
    tavola_client_close(client);
}

TEST(ranges_end_where_the_blob_ends)
{
    static const struct {
        const char *label;
        uint64_t offset;
        size_t size;
        const char *wanted;
    } cases[] = {
        {"all", 0, 10, "0123456789"},  {"the first", 0, 1, "0"},
        {"the last", 9, 1, "9"},       {"beyond the end", 8, 100, "89"},
        {"behind the end", 10, 1, ""}, {"far behind", UINT64_C(1) << 40, 9, ""},
        {"the middle", 3, 4, "3456"},
    };
    tavola_client *client = open_client();
    tavola_container *container = new_container(client);

    CHECK_ERR(tavola_blob_put(container, "b", "0123456789", 10, NULL, NULL), TAVOLA_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        void *data = NULL;
        size_t size = 99;

        t_row = cases[i].label;
        CHECK_ERR(tavola_blob_get_range(container, "b", cases[i].offset, cases[i].size, NULL, &data,
                                        &size),
                  TAVOLA_OK);
        CHECK(size == strlen(cases[i].wanted) && memcmp(data, cases[i].wanted, size) == 0);
        tavola_free(data);
    }
    drop_container(container);
    tavola_client_close(client);
}

TEST(what_is_larger_than_wanted_is_not_fetched)
{
    tavola_client *client = open_client();
    tavola_container *container = new_container(client);
    void *data = NULL;
    size_t size = 0;

    CHECK_ERR(tavola_blob_put(container, "b", "0123456789", 10, NULL, NULL), TAVOLA_OK);
    CHECK_ERR(tavola_blob_get(container, "b", 9, NULL, &data, &size), TAVOLA_ERR_TOO_LARGE);
    CHECK_ERR(tavola_blob_get(container, "b", 1, NULL, &data, &size), TAVOLA_ERR_TOO_LARGE);
    CHECK(data == NULL);
    for (int i = 0; i < 2; i++) { /* 0: no limit, too */
        CHECK_ERR(tavola_blob_get(container, "b", i ? 0 : SIZE_MAX, NULL, &data, &size), TAVOLA_OK);
        CHECK(size == 10);
        tavola_free(data);
    }
    drop_container(container);
    tavola_client_close(client);
}

TEST(conditions_hold)
{
    tavola_client *client = open_client();
    tavola_container *container = new_container(client);
    tavola_call *call = tavola_call_new();
    tavola_blob_options absent = {.struct_size = sizeof absent, .if_absent = true};
    tavola_blob_options match = {.struct_size = sizeof match};
    char etag[100];

    match.if_match = TAVOLA_ANY;
    if (!is_azurite()) /* it puts the blob all the same */
        CHECK_ERR(tavola_blob_put(container, "b", "1", 1, &match, call), TAVOLA_ERR_ETAG);
    CHECK_ERR(tavola_blob_put(container, "b", "1", 1, &absent, call), TAVOLA_OK);
    snprintf(etag, sizeof etag, "%s", tavola_call_etag(call));
    CHECK_ERR(tavola_blob_put(container, "b", "2", 1, &absent, call), TAVOLA_ERR_EXISTS);
    match.if_match = etag;
    CHECK_ERR(tavola_blob_put(container, "b", "3", 1, &match, call), TAVOLA_OK);
    CHECK(strcmp(tavola_call_etag(call), etag) != 0);
    CHECK_ERR(tavola_blob_put(container, "b", "4", 1, &match, call), TAVOLA_ERR_ETAG);
    check_content(container, "b", "3", 1);
    CHECK_ERR(tavola_blob_delete(container, "b", etag, call), TAVOLA_ERR_ETAG);
    CHECK_ERR(tavola_blob_delete(container, "b", TAVOLA_ANY, call), TAVOLA_OK);
    CHECK_ERR(tavola_blob_delete(container, "b", NULL, call), TAVOLA_ERR_NOT_FOUND);
    CHECK_ERR(tavola_blob_delete_if_present(container, "b", call), TAVOLA_OK);
    tavola_call_free(call);
    drop_container(container);
    tavola_client_close(client);
}

TEST(conditions_hold_for_blocks)
{
    tavola_client *client = open_client();
    tavola_container *container = new_container(client);
    tavola_call *call = tavola_call_new();
    tavola_blob_options absent = {.struct_size = sizeof absent, .if_absent = true};
    tavola_blob_options match = {.struct_size = sizeof match, .if_match = "\"0x123\""};
    unsigned char *bytes = make_bytes(5 << 20);
    stream from = {bytes, 5 << 20, 0, 0, SIZE_MAX};

    CHECK_ERR(tavola_blob_write(container, "b", give, &from, &absent, call), TAVOLA_OK);
    CHECK(tavola_call_etag(call) != NULL);
    from.at = 0;
    CHECK_ERR(tavola_blob_write(container, "b", give, &from, &absent, call), TAVOLA_ERR_EXISTS);
    from.at = 0;
    CHECK_ERR(tavola_blob_write(container, "b", give, &from, &match, call), TAVOLA_ERR_ETAG);
    check_content(container, "b", bytes, 5 << 20);
    free(bytes);
    tavola_call_free(call);
    drop_container(container);
    tavola_client_close(client);
}

TEST(appends_add_up)
{
    tavola_client *client = open_client();
    tavola_container *container = new_container(client);
    tavola_blob_options absent = {.struct_size = sizeof absent, .if_absent = true};
    tavola_blob_info *info = NULL;
    uint64_t offset = 99;

    CHECK_ERR(tavola_blob_append(container, "log", "a", 1, NULL, &offset), TAVOLA_ERR_NOT_FOUND);
    CHECK_ERR(tavola_blob_create_append(container, "log", &absent, NULL), TAVOLA_OK);
    CHECK_ERR(tavola_blob_create_append(container, "log", &absent, NULL), TAVOLA_ERR_EXISTS);
    CHECK_ERR(tavola_blob_append(container, "log", "one ", 4, NULL, &offset), TAVOLA_OK);
    CHECK(offset == 0);
    CHECK_ERR(tavola_blob_append(container, "log", "two ", 4, NULL, &offset), TAVOLA_OK);
    CHECK(offset == 4);
    CHECK_ERR(tavola_blob_append_at(container, "log", 8, "three", 5, NULL), TAVOLA_OK);
    CHECK_ERR(tavola_blob_append_at(container, "log", 8, "four", 4, NULL), TAVOLA_ERR_ETAG);
    CHECK_ERR(tavola_blob_append_at(container, "log", 14, "four", 4, NULL), TAVOLA_ERR_ETAG);
    CHECK_ERR(tavola_blob_append(container, "log", "!", 1, NULL, NULL), TAVOLA_OK);
    check_content(container, "log", "one two three!", 14);
    CHECK_ERR(tavola_blob_stat(container, "log", NULL, &info), TAVOLA_OK);
    CHECK(info->is_append && info->size == 14);
    tavola_blob_info_free(info);

    CHECK_ERR(tavola_blob_put(container, "block", "a", 1, NULL, NULL), TAVOLA_OK);
    CHECK_ERR(tavola_blob_append(container, "block", "a", 1, NULL, NULL), TAVOLA_ERR_CONFLICT);
    drop_container(container);
    tavola_client_close(client);
}

TEST(lists_come_in_pages)
{
    static const char *const names[] = {"a", "b/1", "b/2", "c & <d>", "e"};
    tavola_client *client = open_client();
    tavola_container *container = new_container(client);
    tavola_blobs *blobs = NULL;
    char token[200] = "";
    size_t seen = 0;

    CHECK_ERR(tavola_blob_list(container, NULL, NULL, 0, NULL, NULL, &blobs), TAVOLA_OK);
    CHECK(tavola_blobs_count(blobs) == 0 && tavola_blobs_token(blobs) == NULL);
    tavola_blobs_free(blobs);

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        CHECK_ERR(tavola_blob_put(container, names[i], "12345", i, NULL, NULL), TAVOLA_OK);
    do {
        CHECK_ERR(tavola_blob_list(container, NULL, NULL, 2, *token ? token : NULL, NULL, &blobs),
                  TAVOLA_OK);
        for (size_t i = 0; i < tavola_blobs_count(blobs); i++, seen++) {
            const tavola_blob_info *info = tavola_blobs_at(blobs, i);
            tavola_blob_info *stat = NULL;

            CHECK_TEXT(info->name, names[seen]);
            CHECK(info->size == seen && info->last_modified > 0 && !info->is_prefix);
            CHECK_ERR(tavola_blob_stat(container, info->name, NULL, &stat), TAVOLA_OK);
            CHECK_TEXT(info->etag, stat->etag);
            CHECK_TEXT(info->content_type, stat->content_type);
            tavola_blob_info_free(stat);
        }
        snprintf(token, sizeof token, "%s",
                 tavola_blobs_token(blobs) ? tavola_blobs_token(blobs) : "");
        tavola_blobs_free(blobs);
    } while (*token);
    CHECK(seen == sizeof names / sizeof *names);

    CHECK_ERR(tavola_blob_list(container, NULL, "/", 0, NULL, NULL, &blobs), TAVOLA_OK);
    CHECK(tavola_blobs_count(blobs) == 4);

    size_t at = is_azurite() ? 0 : 1; /* it puts prefixes first */

    CHECK_TEXT(tavola_blobs_at(blobs, at)->name, "b/");
    CHECK(tavola_blobs_at(blobs, at)->is_prefix && tavola_blobs_at(blobs, at)->etag == NULL);
    CHECK(tavola_blobs_at(blobs, 4) == NULL);
    tavola_blobs_free(blobs);

    CHECK_ERR(tavola_blob_list(container, "b/", "/", 0, NULL, NULL, &blobs), TAVOLA_OK);
    CHECK(tavola_blobs_count(blobs) == 2);
    tavola_blobs_free(blobs);
    drop_container(container);
    tavola_client_close(client);
}

TEST(what_cannot_be_is_refused_before_it_is_sent)
{
    tavola_client *client = open_client();
    tavola_container *container = new_container(client), *none = NULL;
    tavola_call *call = tavola_call_new();
    tavola_blob_options both = {.struct_size = sizeof both, .if_match = "*", .if_absent = true};
    tavola_blob_options no_size = {.if_absent = true};
    tavola_blob_options bad_type = {.struct_size = sizeof bad_type, .content_type = "a\r\nb: c"};
    tavola_blob_options bad_etag = {.struct_size = sizeof bad_etag, .if_match = "a\nb"};
    tavola_blobs *blobs = NULL;
    tavola_blob_info *info = NULL;
    void *data = NULL;
    size_t size;
    bool exists;
    static char long_name[1030];

    memset(long_name, 'x', 1025);
    CHECK_ERR(tavola_container_open(client, "No", &none), TAVOLA_ERR_INVALID);
    CHECK_ERR(tavola_container_open(NULL, "name", &none), TAVOLA_ERR_INVALID);
    CHECK_ERR(tavola_container_open(client, "$web", &none), TAVOLA_OK);
    tavola_container_close(none);

    const tavola_err results[] = {
        tavola_container_create(NULL, call),
        tavola_container_delete(NULL, call),
        tavola_container_exists(NULL, call, &exists),
        tavola_container_exists(container, call, NULL),
        tavola_container_list(NULL, NULL, call, NULL),
        tavola_blob_put(NULL, "b", "a", 1, NULL, call),
        tavola_blob_put(container, NULL, "a", 1, NULL, call),
        tavola_blob_put(container, "", "a", 1, NULL, call),
        tavola_blob_put(container, long_name, "a", 1, NULL, call),
        tavola_blob_put(container, "a\nb", "a", 1, NULL, call),
        tavola_blob_put(container, "\xff", "a", 1, NULL, call),
        tavola_blob_put(container, "b", NULL, 1, NULL, call),
        tavola_blob_put(container, "b", "a", 1, &both, call),
        tavola_blob_put(container, "b", "a", 1, &no_size, call),
        tavola_blob_put(container, "b", "a", 1, &bad_type, call),
        tavola_blob_put(container, "b", "a", 1, &bad_etag, call),
        tavola_blob_write(container, "b", NULL, NULL, NULL, call),
        tavola_blob_get(container, "b", 1, call, NULL, &size),
        tavola_blob_get(container, "b", 1, call, &data, NULL),
        tavola_blob_get_range(container, "b", 0, 0, call, &data, &size),
        tavola_blob_get_range(container, "b", UINT64_MAX, 1, call, &data, &size),
        tavola_blob_get_range(container, "b", 1, SIZE_MAX, call, &data, &size),
        tavola_blob_read(container, "b", NULL, NULL, call),
        tavola_blob_delete(container, "b", "a\r\n", call),
        tavola_blob_delete(NULL, "b", NULL, call),
        tavola_blob_exists(container, "b", call, NULL),
        tavola_blob_stat(container, "b", call, NULL),
        tavola_blob_stat(NULL, "b", call, &info),
        tavola_blob_create_append(container, "b", &both, call),
        tavola_blob_append(container, "b", "", 0, call, NULL),
        tavola_blob_append(container, "b", NULL, 1, call, NULL),
        tavola_blob_append_at(container, "b", UINT64_MAX, "a", 1, call),
        tavola_blob_list(NULL, NULL, NULL, 0, NULL, call, &blobs),
        tavola_blob_list(container, "\xff", NULL, 0, NULL, call, &blobs),
        tavola_blob_list(container, NULL, "\x01", 0, NULL, call, &blobs),
        tavola_blob_list(container, NULL, NULL, 0, "token", call, &blobs),
        tavola_blob_list(container, NULL, NULL, 0, "p;", call, &blobs),
        tavola_blob_list(container, NULL, NULL, 0, "p;a&b", call, &blobs),
        tavola_blob_list(container, NULL, NULL, 0, NULL, call, NULL),
    };
    for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
        if (results[i] != TAVOLA_ERR_INVALID)
            fail_msg("case %zu: %s", i, tavola_err_name(results[i]));
    }
    CHECK_ERR(tavola_blob_append(container, "b", "a", (4 << 20) + 1, call, NULL),
              TAVOLA_ERR_TOO_LARGE);
    CHECK(tavola_call_attempts(call) == 0 && tavola_call_status(call) == 0);
    tavola_container_close(NULL);
    tavola_blob_info_free(NULL);
    tavola_blobs_free(NULL);

    tavola_call_free(call);
    drop_container(container);
    tavola_client_close(client);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_container_is_made_once_and_deleted_once),
        cmocka_unit_test(a_blob_comes_back_as_it_was_put),
        cmocka_unit_test(blobs_stream_both_ways),
        cmocka_unit_test(source_and_sink_can_give_up),
        cmocka_unit_test(a_blob_that_changes_while_it_is_read_is_told),
        cmocka_unit_test(ranges_end_where_the_blob_ends),
        cmocka_unit_test(what_is_larger_than_wanted_is_not_fetched),
        cmocka_unit_test(conditions_hold),
        cmocka_unit_test(conditions_hold_for_blocks),
        cmocka_unit_test(appends_add_up),
        cmocka_unit_test(lists_come_in_pages),
        cmocka_unit_test(what_cannot_be_is_refused_before_it_is_sent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
