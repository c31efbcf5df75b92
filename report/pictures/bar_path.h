#pragma once
/* Boxes of one colour along a line, as one short path: "M0 1V0h12V1h3V0h12V1" is two boxes, 12 wide, 3 apart.
 * It runs along the foot (1) and steps up to the head (0) where a box is, so a box costs ten characters.
 * Labels go with it, one a box: "4 7" of two, "0-3" of four, 0 to 3. */
#include <glib.h>
#include <stdint.h>

typedef struct RhBarPath RhBarPath;

#define RH_BOXES_NO_LABEL (-1) /* "-1" */

RhBarPath *rh_bar_path_new(void);
void rh_bar_path_free(RhBarPath *boxes); /* NULL is fine */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhBarPath, rh_bar_path_free)

/* Boxes come in order. One that begins before the last one's end begins there, and each is at least 1 wide.
 * label: from 0, or RH_BOXES_NO_LABEL. */
void rh_bar_path_add(RhBarPath *boxes, int64_t from, int64_t to, int32_t label);
/* Moves both to the ends of `labels` and `path`; empty where there was no box. Begins anew. */
void rh_bar_path_take(RhBarPath *boxes, GString *labels, GString *path);
