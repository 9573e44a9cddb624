/* The rows of tv.route, and the map that is made of them. */
#include "check.h"
#include "fake_pool.h"
#include "seed.h"
#include "store/engine/key.h"
#include "store/engine/rados/map.h"

static fake_cluster *cluster;
static tv_pool *pool, *other;
static tv_arena arena;

static int set_up(void **state)
{
    (void)state;
    tv_arena_init(&arena);
    cluster = fake_cluster_new(&(fake_options){.has_short_pages = true});
    pool = fake_client_new(cluster);
    other = fake_client_new(cluster);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    pool->ops->close(pool);
    other->ops->close(other);
    fake_cluster_free(cluster);
    tv_arena_done(&arena);
    return 0;
}

static const tv_slice cuts[] = {{"b", 1}, {"d x", 3}, {"m\x01", 2}};
enum { CUTS = sizeof cuts / sizeof *cuts };

TEST(words_hold_any_byte)
{
    tv_slice words[] = {TV_LIT(""),      TV_LIT("-"),          TV_LIT("--"),
                        TV_LIT("a b%c"), TV_LIT("\x01\xFF~ "), TV_LIT("plain")};
    tv_buf out = TV_BUF_EMPTY;
    tv_slice rest, word;
    int64_t number;

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        tv_words_add(&out, words[i]);
    tv_words_add_number(&out, INT64_MAX);
    CHECK_TEXT(tv_buf_slice(&out), "- %2D -- a%20b%25c %01%FF~%20 plain 9223372036854775807");
    rest = tv_buf_slice(&out);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        CHECK_OK(tv_words_next(&rest, &arena, &word));
        CHECK_SLICE(word, words[i]);
    }
    CHECK_OK(tv_words_next_number(&rest, &number));
    CHECK(number == INT64_MAX && rest.data == NULL);
    CHECK_ERR(tv_words_next(&rest, &arena, &word), TV_ERR_CORRUPT);
    tv_buf_done(&out);
}

static const tv_route a_route = {
    .start = {"s", 1},
    .object = {"tv.R.1", 6},
    .epoch = {"e1", 2},
    .flags = {"d", 1},
    .dirty_from = {"k 1", 3},
    .dirty_to = {"k\x01z", 3},
};
static const tv_intent an_intent = {
    .start = {"s", 1},
    .kind = TV_INTENT_SPLIT,
    .stage = TV_INTENT_BEGUN,
    .id = {"7.a", 3},
    .by = {"node", 4},
    .object = {"tv.R.1", 6},
    .epoch = {"e1", 2},
    .cut = {"m \x01", 3},
    .other = {"tv.R.7.a", 8},
    .new_epoch = {"e7", 2},
    .began_ms = 1234567890123,
};
static const tv_route_event an_event = {
    .version = 77,
    .at_ms = 5,
    .op = {"split", 5},
    .range = {"tv.R.1", 6},
    .key = {"a b", 3},
    .outcome = {"done", 4},
    .rows = 10,
    .total_ms = 20,
    .paused_ms = 3,
};

TEST(rows_come_back_as_they_were_written)
{
    tv_route_event event;
    tv_intent intent;
    tv_route route;
    char name[13];

    CHECK_OK(tv_route_decode(&arena, a_route.start, tv_route_encode(&arena, &a_route), &route));
    CHECK_TEXT(route.start, "s");
    CHECK_TEXT(route.object, "tv.R.1");
    CHECK_TEXT(route.epoch, "e1");
    CHECK_TEXT(route.flags, "d");
    CHECK_TEXT(route.hint, "");
    CHECK_SLICE(route.dirty_from, a_route.dirty_from);
    CHECK_SLICE(route.dirty_to, a_route.dirty_to);

    CHECK_OK(tv_intent_decode(&arena, TV_LIT("s"), tv_intent_encode(&arena, &an_intent), &intent));
    CHECK(intent.kind == TV_INTENT_SPLIT && intent.stage == TV_INTENT_BEGUN &&
          intent.began_ms == 1234567890123);
    CHECK_SLICE(intent.cut, an_intent.cut);
    CHECK_SLICE(intent.other, an_intent.other);
    CHECK_TEXT(intent.end, "");

    tv_key_put_number(name, 77, sizeof name);
    CHECK_OK(tv_route_event_decode(&arena, (tv_slice){name, sizeof name},
                                   tv_route_event_encode(&arena, &an_event), &event));
    CHECK(event.version == 77 && event.rows == 10 && event.paused_ms == 3);
    CHECK_TEXT(event.key, "a b");
}

/* Whatever is in a row, it is read or refused. */
TEST(damaged_rows_are_refused)
{
    tv_slice values[] = {tv_route_encode(&arena, &a_route), tv_intent_encode(&arena, &an_intent),
                         tv_route_event_encode(&arena, &an_event)};
    tv_arena scratch;

    tv_arena_init(&scratch);
    seed_start();
    for (int i = 0; i < 30000; i++) {
        tv_slice from = values[seed_below(3)];
        char damaged[200];
        size_t len = seed_below(2) ? from.len : seed_below(from.len + 1);
        tv_route_event event;
        tv_route_lock lock;
        tv_route_made made;
        tv_intent intent;
        tv_route route;

        memcpy(damaged, from.data, len);
        for (size_t n = seed_below(4); n && len; n--)
            damaged[seed_below(len)] = (char)(seed_below(2) ? ' ' : seed_below(256));

        tv_slice value = {damaged, len};
        tv_err errs[] = {
            tv_route_decode(&scratch, TV_LIT("s"), value, &route),
            tv_intent_decode(&scratch, TV_LIT("s"), value, &intent),
            tv_route_event_decode(&scratch, TV_LIT("000000000000a"), value, &event),
            tv_route_lock_decode(&scratch, TV_LIT("s"), value, &lock),
            tv_route_made_decode(&scratch, TV_LIT("s"), value, &made),
        };

        for (size_t n = 0; n < sizeof errs / sizeof *errs; n++)
            CHECK(errs[n] == TV_OK || errs[n] == TV_ERR_CORRUPT);
        tv_arena_reset(&scratch);
    }
    tv_arena_done(&scratch);
}

TEST(the_first_start_makes_one_range_for_everything)
{
    tv_routes routes;
    tv_maps *maps;

    CHECK_ERR(tv_maps_open(pool, &maps), TV_ERR_NOT_FOUND);
    CHECK_OK(tv_routes_create(pool, NULL, 0));
    CHECK_OK(tv_routes_create(other, cuts, CUTS));
    CHECK_OK(tv_routes_load_all(pool, &arena, &routes));
    CHECK_INT(routes.range_count, 1);
    CHECK_INT(routes.version, 1);
    CHECK_INT(routes.format, TV_ROUTE_FORMAT);
    CHECK_TEXT(routes.ranges[0].object, "tv.R.1");
    CHECK_TEXT(fake_rows_text(cluster, "tv.R.1", &arena), "!=! ");
}

static void start_node(void *ctx)
{
    CHECK_OK(tv_routes_create(ctx, cuts, CUTS));
}

/* However their steps mix, and whoever dies at whichever of them. */
TEST(nodes_that_start_together_make_one_store)
{
    for (uint64_t seed = 0; seed < 300; seed++) {
        fake_cluster *made = fake_cluster_new(&(fake_options){.seed = seed});
        tv_pool *nodes[] = {fake_client_new(made), fake_client_new(made), fake_client_new(made)};
        fake_actor actors[] = {
            {start_node, nodes[0]}, {start_node, nodes[1]}, {start_node, nodes[2]}};
        tv_routes routes;

        fake_run(made, actors, 3);
        CHECK_OK(tv_routes_load(nodes[0], &arena, &routes));
        CHECK_INT(routes.range_count, CUTS + 1);
        for (int i = 0; i < 3; i++)
            nodes[i]->ops->close(nodes[i]);
        fake_cluster_free(made);
        tv_arena_reset(&arena);
    }
    for (uint64_t nth = 1; nth <= CUTS + 3; nth++) {
        for (int is_after = 0; is_after < 2; is_after++) {
            fake_cluster *made = fake_cluster_new(NULL);
            tv_pool *dies = fake_client_new(made), *lives = fake_client_new(made);
            tv_routes routes;

            fake_client_kill_at(dies, nth, is_after);
            tv_err err = tv_routes_create(dies, cuts, CUTS);

            CHECK(err == TV_OK || err == TV_ERR_STOPPED);
            CHECK_OK(tv_routes_create(lives, cuts, CUTS));
            CHECK_OK(tv_routes_load(lives, &arena, &routes));
            CHECK_INT(routes.range_count, CUTS + 1);
            dies->ops->close(dies);
            lives->ops->close(lives);
            fake_cluster_free(made);
        }
    }
}

/* Give a range another epoch, as a split would, and raise `drops` if asked to. */
static void change_epoch(tv_pool *by, tv_slice start, const char *epoch, bool is_drop)
{
    tv_route_change change;
    tv_routes routes;

    CHECK_OK(tv_routes_load(by, &arena, &routes));

    tv_route route = routes.ranges[tv_routes_find(&routes, start)];

    route.epoch = tv_slice_of(epoch);
    tv_route_change_init(&change, &arena);
    tv_route_change_put(&change, tv_route_key(&arena, TV_ROUTE_RANGE, route.start),
                        tv_route_encode(&arena, &route));
    if (is_drop)
        tv_route_change_put(&change, TV_ROUTE_DROPS_ROW,
                            tv_arena_printf(&arena, "%llu", (unsigned long long)routes.drops + 1));
    CHECK_OK(tv_route_change_commit(&change, by, routes.version));
    CHECK_ERR(tv_route_change_commit(&change, by, routes.version), TV_ERR_CONFLICT);
}

TEST(a_key_is_in_the_range_that_starts_before_it)
{
    static const struct {
        const char *key;
        size_t range;
    } rows[] = {{"!", 0},   {"a\x7F", 0}, {"b", 1},     {"d", 1},   {"d w~", 1},
                {"d x", 2}, {"m", 2},     {"m\x01", 3}, {"\xFE", 3}};
    tv_maps *maps;
    tv_map *map;

    CHECK_OK(tv_routes_create(pool, cuts, CUTS));
    CHECK_OK(tv_maps_open(pool, &maps));
    map = tv_maps_get(maps);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tv_slice key = tv_slice_of(rows[i].key);

        t_row = rows[i].key;
        CHECK_INT(tv_map_find(map, key) - map->ranges, rows[i].range);
        CHECK(tv_range_has(&map->ranges[rows[i].range], key));
        CHECK(!tv_range_has(&map->ranges[(rows[i].range + 1) % 4], key));
    }
    tv_map_unref(map);
    tv_maps_close(maps);
}

TEST(a_map_is_replaced_and_the_old_one_stays_as_long_as_it_is_held)
{
    tv_map *old, *map;
    tv_maps *maps;

    CHECK_OK(tv_routes_create(pool, cuts, CUTS));
    CHECK_OK(tv_maps_open(pool, &maps));
    old = tv_maps_get(maps);
    CHECK_OK(tv_maps_reload(maps, old));
    CHECK_OK(tv_maps_refresh(maps));
    map = tv_maps_get(maps);
    CHECK(map == old);
    tv_map_unref(map);

    change_epoch(other, TV_LIT("b"), "e2", false);
    CHECK_OK(tv_maps_refresh(maps));
    map = tv_maps_get(maps);
    CHECK_INT(map->version, 2);
    CHECK_TEXT(map->ranges[1].epoch, "e2");
    CHECK_TEXT(old->ranges[1].epoch, "e1");
    CHECK(map->ranges[1].lane == old->ranges[1].lane);
    tv_map_unref(old);
    tv_map_unref(map);
    tv_maps_close(maps);
}

/* The catalogues are looked at before a map with other drops is used, by the new map. */
typedef struct looker {
    tv_maps *maps;
    int looks;
    uint64_t version_seen;
    tv_err err;
    const char *again; /* another drop comes while it looks */
} looker;

static tv_err look(void *ctx)
{
    looker *l = ctx;
    tv_map *map = tv_maps_get(l->maps);
    tv_err err = l->err;

    l->looks++;
    l->version_seen = map->version;
    if (l->again) {
        change_epoch(other, TV_LIT("b"), l->again, true);
        l->again = NULL;
        err = tv_maps_reload(l->maps, map); /* what it reads was refused */
    }
    tv_map_unref(map);
    return err;
}

static uint64_t version_in_use(tv_maps *maps)
{
    tv_map *map = tv_maps_get(maps);
    uint64_t version = map->version;

    tv_map_unref(map);
    return version;
}

TEST(a_map_with_other_drops_is_used_after_a_look_at_the_catalogues)
{
    looker l = {0};

    CHECK_OK(tv_routes_create(pool, cuts, CUTS));
    CHECK_OK(tv_maps_open(pool, &l.maps));
    tv_maps_set_before_use(l.maps, look, &l);
    change_epoch(other, TV_LIT("b"), "e2", false);
    CHECK_OK(tv_maps_refresh(l.maps));
    CHECK_INT(l.looks, 0);

    change_epoch(other, TV_LIT("b"), "e3", true);
    l.err = TV_ERR_IO;
    CHECK_ERR(tv_maps_refresh(l.maps), TV_ERR_IO);
    CHECK(l.looks == 1 && l.version_seen == 3);
    CHECK_INT(version_in_use(l.maps), 2);

    l.err = TV_OK;
    CHECK_OK(tv_maps_refresh(l.maps));
    CHECK(l.looks == 2 && l.version_seen == 3);
    CHECK_INT(version_in_use(l.maps), 3);

    change_epoch(other, TV_LIT("b"), "e4", true);
    l.again = "e5";
    CHECK_OK(tv_maps_refresh(l.maps));
    CHECK(l.looks == 4 && l.version_seen == 5);
    CHECK_INT(version_in_use(l.maps), 5);
    tv_maps_close(l.maps);
}

TEST(a_pool_of_a_later_level_is_refused)
{
    tv_route_change change;
    tv_maps *maps;

    CHECK_OK(tv_routes_create(pool, NULL, 0));
    tv_route_change_init(&change, &arena);
    tv_route_change_put(&change, TV_ROUTE_FORMAT_ROW, TV_LIT("1 99"));
    CHECK_OK(tv_route_change_commit(&change, pool, 1));
    CHECK_ERR(tv_maps_open(pool, &maps), TV_ERR_CORRUPT);
}

static void note_level(void *ctx, int64_t level)
{
    *(int64_t *)ctx = level;
}

TEST(a_level_that_is_raised_is_told_to_those_who_do_not_know_it)
{
    int64_t told = 0, told_newer = 0;
    tv_maps *maps, *newer;

    CHECK_OK(tv_routes_create(pool, NULL, 0));
    CHECK_OK(tv_maps_open_level(pool, 2, &maps));
    CHECK_OK(tv_maps_open_level(pool, 3, &newer));
    tv_maps_set_on_newer(maps, note_level, &told);
    tv_maps_set_on_newer(newer, note_level, &told_newer);
    CHECK_OK(tv_route_raise_level(pool, 2));
    CHECK_OK(tv_maps_refresh(maps));
    CHECK_OK(tv_route_raise_level(pool, 3));
    CHECK_ERR(tv_maps_refresh(maps), TV_ERR_CORRUPT);
    CHECK_INT(told, 3);
    CHECK_OK(tv_maps_refresh(newer));
    CHECK_INT(told_newer, 0);

    uint64_t version = version_in_use(newer);

    CHECK_OK(tv_route_raise_level(pool, 2)); /* it has more: nothing changes */
    CHECK_OK(tv_maps_refresh(newer));
    CHECK_INT(version_in_use(newer), version);
    tv_maps_close(maps);
    tv_maps_close(newer);
}

TEST(a_map_of_many_ranges_is_read_in_pages)
{
    enum { MANY = 3000 };
    tv_slice many[MANY];
    tv_maps *maps;
    tv_map *map;

    for (int i = 0; i < MANY; i++)
        many[i] = tv_arena_printf(&arena, "k%05d", i);
    CHECK_OK(tv_routes_create(pool, many, MANY));
    CHECK_OK(tv_maps_open(pool, &maps));
    map = tv_maps_get(maps);
    CHECK_INT(map->count, MANY + 1);
    for (int i = 0; i < MANY; i++)
        CHECK_INT(tv_map_find(map, many[i]) - map->ranges, i + 1);
    tv_map_unref(map);
    tv_maps_close(maps);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(words_hold_any_byte, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rows_come_back_as_they_were_written, set_up, tear_down),
        cmocka_unit_test_setup_teardown(damaged_rows_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_first_start_makes_one_range_for_everything, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(nodes_that_start_together_make_one_store, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_key_is_in_the_range_that_starts_before_it, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(
            a_map_is_replaced_and_the_old_one_stays_as_long_as_it_is_held, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            a_map_with_other_drops_is_used_after_a_look_at_the_catalogues, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_pool_of_a_later_level_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_level_that_is_raised_is_told_to_those_who_do_not_know_it,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_map_of_many_ranges_is_read_in_pages, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
