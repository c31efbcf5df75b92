#pragma once
/* Encodes boxes of one colour along a line as one short SVG path: "M0 1V0h12V1h3V0h12V1" is two
 * boxes, 12 wide, 3 apart. The path runs along the bottom (1) and steps up to the top (0) at each
 * box, so a box takes ten characters. Labels of boxes are encoded in parallel: "4 7" for two, "0-3"
 * for four from 0 to 3. */
#include <glib.h>
#include <stdint.h>

typedef struct RhBarPath RhBarPath;

#define RH_BOXES_NO_LABEL (-1) /* "-1" */

RhBarPath *rh_bar_path_new(void);
void rh_bar_path_free(RhBarPath *boxes); /* NULL is fine */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhBarPath, rh_bar_path_free)

/* Adds a box; boxes must come in order. A box that begins before the last one's end begins there,
 * and each is at least 1 wide. label: from 0, or RH_BOXES_NO_LABEL. */
void rh_bar_path_add(RhBarPath *boxes, int64_t from, int64_t to, int32_t label);
/* Appends labels and path to `labels` and `path` (nothing without boxes) and resets the encoder. */
void rh_bar_path_take(RhBarPath *boxes, GString *labels, GString *path);
