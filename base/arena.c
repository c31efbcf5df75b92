#include "base/arena.h"

#include <stddef.h>
#include <string.h>

#define BLOCK_BYTES ((gsize)1 << 18)
#define ALIGNMENT   _Alignof(max_align_t)

struct RhArena {
    GPtrArray *blocks; /* owned; the last one is being filled */
    gsize left_bytes;  /* of the last block */
    guint8 *at;
};

RhArena *rh_arena_new(void)
{
    RhArena *arena = g_new0(RhArena, 1);
    arena->blocks = g_ptr_array_new_with_free_func(g_free);
    return arena;
}

void rh_arena_clear(RhArena *arena)
{
    g_ptr_array_set_size(arena->blocks, 0);
    arena->left_bytes = 0;
}

void rh_arena_free(RhArena *arena)
{
    if (!arena)
        return;
    g_ptr_array_unref(arena->blocks);
    g_free(arena);
}

void *rh_arena_take(RhArena *arena, gsize bytes)
{
    gsize taken = (MAX(bytes, 1) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (taken > arena->left_bytes) {
        arena->left_bytes = MAX(taken, BLOCK_BYTES);
        arena->at = g_malloc0(arena->left_bytes);
        g_ptr_array_add(arena->blocks, arena->at);
    }
    void *out = arena->at;
    arena->at += taken;
    arena->left_bytes -= taken;
    return out;
}

void *rh_arena_copy(RhArena *arena, const void *from, gsize bytes)
{
    void *out = rh_arena_take(arena, bytes);
    if (bytes > 0)
        memcpy(out, from, bytes);
    return out;
}
