/* What a service keeps with its containers: attributes, changed on the committer; lists; drops. */
#include "model/catalog/catalog.h"

#include "store.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* --- a service whose drops can be watched --- */

static atomic_int looks, releases;
static atomic_bool look_fails, look_lasts;

static tv_slice rows_of(tv_arena *to, tv_slice account, int64_t id)
{
    return tv_key_queue(to, account, id);
}

static tv_err look(void *ctx, tv_slice rows, const tv_background *thread)
{
    (void)ctx;
    CHECK(rows.len > 0);
    looks++;
    while (look_lasts) {
        if (tv_background_is_stopping(thread))
            return TV_ERR_STOPPED;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return look_fails ? TV_ERR_IO : TV_OK;
}

static void release(void *ctx)
{
    (void)ctx;
    releases++;
}

static const tv_catalog_kind kind = {
    .service = TV_SERVICE_QUEUE,
    .space = TV_SPACE_QUEUES,
    .exists = TV_ERR_CONFLICT,
    .not_found = TV_ERR_NOT_FOUND,
    .rows = rows_of,
    .service_bytes = 16,
    .before_drop = look,
    .after_drop = release,
};

static tv_catalog *catalog;

static int set_up(__attribute__((unused)) void **state)
{
    store_start();
    looks = releases = 0;
    look_fails = look_lasts = false;
    return open_catalog(&kind, &catalog) == TV_OK ? 0 : -1;
}

static int tear_down(__attribute__((unused)) void **state)
{
    tv_catalog_close(catalog);
    store_stop();
    return 0;
}

static void restart(void)
{
    tv_catalog_close(catalog);
    stop_pipeline();
    start_pipeline();
    CHECK_OK(open_catalog(&kind, &catalog));
}

static tv_err create(const char *name, tv_slice attributes)
{
    tv_catalog_create op = {.catalog = catalog,
                            .account = ACCOUNT,
                            .name = tv_slice_of(name),
                            .attributes = attributes,
                            .arena = &arena};

    return create_container(&op);
}

static tv_container *find(const char *name)
{
    return tv_catalog_find(catalog, ACCOUNT, tv_slice_of(name));
}

static tv_slice attributes_of(const char *name)
{
    tv_container *container = find(name);

    CHECK(container != NULL);
    tv_slice attributes = tv_catalog_attributes(catalog, container, &arena);
    tv_container_unref(container);
    return attributes;
}

/* --- attributes --- */

/* Append what ctx says, or refuse when the attributes are ctx's already. */
static tv_err append_once(tv_catalog_change *change, int64_t now)
{
    const char *text = change->ctx;

    CHECK(now > 0);
    if (tv_slice_eq(change->attributes, tv_slice_of(text)))
        return TV_ERR_CONFLICT;

    change->attributes = tv_arena_printf(change->arena, "%.*s%s", TV_FMT(change->attributes), text);
    return TV_OK;
}

static tv_err change_attributes(tv_container *container, const char *text)
{
    tv_catalog_change change = {.catalog = catalog,
                                .container = container,
                                .arena = &arena,
                                .decide = append_once,
                                .ctx = (void *)(uintptr_t)text};
    tv_write write = {0};

    tv_catalog_prepare_change(&change, &write);
    return commit(&write);
}

TEST(attributes_are_given_changed_and_kept)
{
    static const char odd[] = "bytes\0with\nany thing";
    tv_container *container;

    CHECK_OK(create("plain", TV_NONE));
    CHECK_OK(create("odd", TV_LIT(odd)));
    CHECK_INT(attributes_of("plain").len, 0);
    CHECK(tv_slice_eq(attributes_of("odd"), TV_LIT(odd)));

    container = find("plain");
    CHECK_OK(change_attributes(container, "a"));
    CHECK_TEXT(attributes_of("plain"), "a");
    CHECK_ERR(change_attributes(container, "a"), TV_ERR_CONFLICT);
    CHECK_TEXT(attributes_of("plain"), "a");
    CHECK_OK(change_attributes(container, "b"));
    tv_container_unref(container);

    restart();
    CHECK_TEXT(attributes_of("plain"), "ab");
    CHECK(tv_slice_eq(attributes_of("odd"), TV_LIT(odd)));
}

TEST(a_container_that_is_gone_has_no_attributes_to_change)
{
    tv_container *container;
    tv_catalog_delete delete_op = {.catalog = catalog, .arena = &arena};
    tv_write write = {0};

    CHECK_OK(create("one", TV_LIT("attributes")));
    container = delete_op.container = find("one");
    tv_catalog_prepare_delete(&delete_op, &write);
    CHECK_OK(commit(&write));
    CHECK_ERR(change_attributes(container, "x"), TV_ERR_NOT_FOUND);
    CHECK_OK(create("one", TV_NONE));
    CHECK_ERR(change_attributes(container, "x"), TV_ERR_NOT_FOUND); /* it is another one now */
    CHECK_INT(attributes_of("one").len, 0);
    tv_container_unref(container);
}

TEST(what_is_the_services_own_starts_as_zeros)
{
    static const char zeros[16];
    tv_container *container;

    CHECK_OK(create("one", TV_NONE));
    container = find("one");
    CHECK(memcmp(container->service_data, zeros, sizeof zeros) == 0);
    tv_container_unref(container);
}

/* --- deletions --- */

static tv_err refuse_locked(tv_catalog_delete *delete_op, tv_slice attributes, int64_t now)
{
    CHECK(delete_op->ctx == &arena && now > 0);
    return tv_slice_eq(attributes, TV_LIT("locked")) ? TV_ERR_CONFLICT : TV_OK;
}

static tv_err delete_unlocked(const char *name)
{
    tv_catalog_delete delete_op = {.catalog = catalog,
                                   .container = find(name),
                                   .arena = &arena,
                                   .decide = refuse_locked,
                                   .ctx = &arena};
    tv_write write = {0};
    tv_err err;

    tv_catalog_prepare_delete(&delete_op, &write);
    err = commit(&write);
    tv_container_unref(delete_op.container);
    return err;
}

static void wait_for_drops(void)
{
    wait_until_empty(tv_key_catalog_dropped(&arena, TV_SPACE_QUEUES, ACCOUNT));
}

TEST(a_deletion_can_be_refused_for_the_attributes)
{
    tv_container *container;

    CHECK_OK(create("one", TV_LIT("locked")));
    CHECK_OK(create("two", TV_LIT("free")));
    CHECK_ERR(delete_unlocked("one"), TV_ERR_CONFLICT);
    CHECK_OK(delete_unlocked("two"));
    container = find("one");
    CHECK(container != NULL);
    tv_container_unref(container);
    CHECK(find("two") == NULL);
    wait_for_drops();
    CHECK_INT(looks, 1);
    CHECK_INT(releases, 1);
}

TEST(rows_stay_when_the_service_could_not_look_at_them)
{
    CHECK_OK(create("one", TV_NONE));
    look_fails = true;
    CHECK_OK(delete_unlocked("one"));
    WAIT_UNTIL(looks > 0);
    CHECK_INT(releases, 0);
    CHECK_INT(count_rows(tv_key_catalog_dropped(&arena, TV_SPACE_QUEUES, ACCOUNT)), 1);
    look_fails = false;
    restart();
    wait_for_drops();
    CHECK_INT(releases, 1);
}

TEST(a_stop_does_not_wait_for_a_look)
{
    CHECK_OK(create("one", TV_NONE));
    look_lasts = true;
    CHECK_OK(delete_unlocked("one"));
    WAIT_UNTIL(looks > 0);
    restart();
    CHECK_INT(releases, 0);
    CHECK_INT(count_rows(tv_key_catalog_dropped(&arena, TV_SPACE_QUEUES, ACCOUNT)), 1);
    look_lasts = false;
    wait_for_drops();
    CHECK_INT(releases, 1);
}

/* --- lists --- */

typedef struct listing {
    char names[200];
    int left;
} listing;

static bool add_name(void *ctx, tv_slice name, tv_slice attributes)
{
    listing *list = ctx;
    size_t len = strlen(list->names);

    CHECK_TEXT(attributes, "f");
    snprintf(list->names + len, sizeof list->names - len, "%.*s ", TV_FMT(name));
    return --list->left > 0;
}

TEST(lists_go_by_name_prefix_and_start)
{
    static const char *const names[] = {"b-two", "a", "b-one", "c", "b"};
    static const struct {
        const char *prefix, *from, *want;
        int max;
    } rows[] = {
        {"", "", "a b b-one b-two c ", 9},
        {"b", "", "b b-one b-two ", 9},
        {"b-", "", "b-one b-two ", 9},
        {"", "b-one", "b-one b-two c ", 9},
        {"b", "a", "b b-one b-two ", 9},
        {"b", "b-p", "b-two ", 9},
        {"", "", "a b ", 2},
        {"b", "c", "", 9},
        {"x", "", "", 9},
    };

    for (size_t i = 0; i < COUNT(names); i++)
        CHECK_OK(create(names[i], TV_LIT("f")));
    for (size_t i = 0; i < COUNT(rows); i++) {
        listing list = {.left = rows[i].max};

        t_row = rows[i].want;
        CHECK_OK(tv_catalog_list(catalog, ACCOUNT, tv_slice_of(rows[i].prefix),
                                 tv_slice_of(rows[i].from), add_name, &list));
        CHECK_TEXT(tv_slice_of(list.names), rows[i].want);
        CHECK_OK(tv_catalog_list(catalog, TV_LIT("other"), TV_LIT(""), TV_LIT(""), add_name, NULL));
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(attributes_are_given_changed_and_kept),
        CASE(a_container_that_is_gone_has_no_attributes_to_change),
        CASE(what_is_the_services_own_starts_as_zeros),
        CASE(a_deletion_can_be_refused_for_the_attributes),
        CASE(rows_stay_when_the_service_could_not_look_at_them),
        CASE(a_stop_does_not_wait_for_a_look),
        CASE(lists_go_by_name_prefix_and_start),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
