/* Arenas. */
#include "base/arena.h"

#include "check.h"
#include "random.h"

TEST(memory_is_aligned_for_any_type)
{
    tv_arena arena;

    tv_arena_init(&arena);
    for (size_t size = 0; size < 100; size++) {
        tv_arena_bytes(&arena, 1);
        CHECK_INT((uintptr_t)tv_arena_alloc(&arena, size) % _Alignof(max_align_t), 0);
    }
    tv_arena_done(&arena);
}

TEST(pieces_do_not_overlap)
{
    enum { PIECES = 2000 };
    static struct {
        unsigned char *data;
        size_t size;
    } pieces[PIECES];
    tv_arena arena;

    t_random_seed(0xa7e4a);
    tv_arena_init(&arena);
    for (int i = 0; i < PIECES; i++) {
        /* Most are small, some larger than a chunk. */
        pieces[i].size = t_random() % (i % 50 == 0 ? 20000 : 100);
        pieces[i].data = i % 2 ? tv_arena_alloc(&arena, pieces[i].size)
                               : (void *)tv_arena_bytes(&arena, pieces[i].size);
        memset(pieces[i].data, i % 251, pieces[i].size);
    }
    for (int i = 0; i < PIECES; i++) {
        for (size_t j = 0; j < pieces[i].size; j++)
            CHECK_INT(pieces[i].data[j], i % 251);
    }
    tv_arena_done(&arena);
}

TEST(zalloc_gives_zeros_in_used_memory_too)
{
    tv_arena arena;

    tv_arena_init(&arena);
    memset(tv_arena_alloc(&arena, 4000), 0xAA, 4000);
    tv_arena_reset(&arena);
    unsigned char *zeros = tv_arena_zalloc(&arena, 4000);
    for (int i = 0; i < 4000; i++)
        CHECK_INT(zeros[i], 0);
    tv_arena_done(&arena);
}

TEST(reset_keeps_a_chunk_and_done_keeps_nothing)
{
    tv_arena arena;

    tv_arena_init(&arena);
    char *first = tv_arena_bytes(&arena, 10);
    tv_arena_reset(&arena);
    CHECK(tv_arena_bytes(&arena, 10) == first);

    /* A large piece is not what the next user wants to inherit. */
    tv_arena_bytes(&arena, 1000000);
    tv_arena_reset(&arena);
    CHECK(tv_arena_bytes(&arena, 10) == first);

    tv_arena_done(&arena);
    CHECK(arena.chunk == NULL);
    CHECK(tv_arena_bytes(&arena, 10) != NULL);
    tv_arena_done(&arena);
    tv_arena_done(&arena);
}

TEST(reset_of_large_pieces_alone_frees_them)
{
    tv_arena arena;

    tv_arena_init(&arena);
    tv_arena_bytes(&arena, 1000000);
    tv_arena_reset(&arena);
    CHECK(arena.chunk == NULL);
    tv_arena_reset(&arena);
    tv_arena_done(&arena);
}

TEST(copies_and_formatted_text_live_in_the_arena)
{
    tv_arena arena;
    char text[] = "abc";

    tv_arena_init(&arena);
    tv_slice copy = tv_arena_dup(&arena, tv_slice_of(text));
    text[0] = 'x';
    CHECK_TEXT(copy, "abc");
    CHECK_INT(tv_arena_dup(&arena, TV_NONE).len, 0);
    CHECK(tv_arena_dup(&arena, TV_NONE).data != NULL);
    CHECK_TEXT(tv_arena_printf(&arena, "%d-%s", 5, "five"), "5-five");
    CHECK_INT(tv_arena_printf(&arena, "%20000s", "").len, 20000);
    tv_arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_aligned_for_any_type),
        cmocka_unit_test(pieces_do_not_overlap),
        cmocka_unit_test(zalloc_gives_zeros_in_used_memory_too),
        cmocka_unit_test(reset_keeps_a_chunk_and_done_keeps_nothing),
        cmocka_unit_test(reset_of_large_pieces_alone_frees_them),
        cmocka_unit_test(copies_and_formatted_text_live_in_the_arena),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
