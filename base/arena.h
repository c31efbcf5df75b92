#pragma once
/* Arena allocator for many small objects of one lifetime, placed one after another in blocks
 * without a record of each.
 *
 *     g_autoptr(RhArena) arena = rh_arena_new();
 *     Point *p = rh_arena_take(arena, sizeof *p); */
#include <glib.h>

typedef struct RhArena RhArena;
RhArena *rh_arena_new(void);
/* Frees the arena and all memory taken from it. */
void rh_arena_free(RhArena *arena);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhArena, rh_arena_free)
/* Returns zeroed memory, aligned for any type and valid until the arena is cleared or freed. */
void *rh_arena_take(RhArena *arena, gsize bytes);
/* Frees all memory taken from the arena, which can be used again. */
void rh_arena_clear(RhArena *arena);
/* Returns a copy of the `bytes` bytes at `from`. */
void *rh_arena_copy(RhArena *arena, const void *from, gsize bytes);
