/* Arenas: memory is zeroed, aligned, disjoint, and valid until the arena is cleared. */
#include <stddef.h>
#include <string.h>

#include "base/arena.h"
#include "tests/kit/testkit.h"

static void bytes_are_zero_and_apart(void)
{
    g_autoptr(RhArena) arena = rh_arena_new();
    guint8 *taken[200];
    gsize sizes[200];
    for (int i = 0; i < 200; i++) {
        sizes[i] = (gsize)(i * i * 7 % 40000); /* together more than several blocks */
        taken[i] = rh_arena_take(arena, sizes[i]);
        CU_ASSERT_EQUAL((guintptr)taken[i] % _Alignof(max_align_t), 0);
        for (gsize k = 0; k < sizes[i]; k++)
            if (taken[i][k] != 0)
                CU_FAIL("not zero");
        memset(taken[i], i + 1, sizes[i]);
    }
    for (int i = 0; i < 200; i++)
        for (gsize k = 0; k < sizes[i]; k++)
            if (taken[i][k] != (guint8)(i + 1))
                CU_FAIL("overwritten by another");
}

static void what_is_larger_than_a_block_has_room(void)
{
    g_autoptr(RhArena) arena = rh_arena_new();
    guint8 *large = rh_arena_take(arena, 1 << 22);
    int *small = rh_arena_copy(arena, &(int){42}, sizeof *small);
    large[0] = large[(1 << 22) - 1] = 1;
    CU_ASSERT_EQUAL(*small, 42);
}

static void it_begins_again_when_cleared(void)
{
    g_autoptr(RhArena) arena = rh_arena_new();
    rh_arena_clear(arena);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 1000; i++) {
            guint8 *room = rh_arena_take(arena, 1000);
            CU_ASSERT_EQUAL(room[0] | room[999], 0);
            memset(room, 0xff, 1000);
        }
        rh_arena_clear(arena);
    }
    CU_ASSERT_PTR_NOT_NULL(rh_arena_copy(arena, NULL, 0));
    rh_arena_free(NULL);
}

int main(void)
{
    return rh_test_main(
        "arena",
        (RhTest[]){{"bytes_are_zero_and_apart", bytes_are_zero_and_apart},
                   {"what_is_larger_than_a_block_has_room", what_is_larger_than_a_block_has_room},
                   {"it_begins_again_when_cleared", it_begins_again_when_cleared},
                   {0}});
}
