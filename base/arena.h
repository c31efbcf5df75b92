#pragma once
/* Memory for many small things that end together: one behind another in blocks, with no book kept of each.
 *
 *     g_autoptr(RhArena) arena = rh_arena_new();
 *     Point *p = rh_arena_take(arena, sizeof *p); */
#include <glib.h>

typedef struct RhArena RhArena;
RhArena *rh_arena_new(void);
/* Ends all that was taken. */
void rh_arena_free(RhArena *arena);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhArena, rh_arena_free)
/* So many bytes, all 0, where any type may be; they stand until the arena is cleared or freed. */
void *rh_arena_take(RhArena *arena, gsize bytes);
/* Ends all that was taken; the arena can be taken from again. */
void rh_arena_clear(RhArena *arena);
/* A copy of `bytes` at `from`. */
void *rh_arena_copy(RhArena *arena, const void *from, gsize bytes);
