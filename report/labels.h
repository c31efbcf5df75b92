#pragma once
/* Labels of points of a picture that do not lie on one another: each stands above, right of, below or left of its point,
 * where there is room; those that come first have the choice, and one without room is left out. */
#include <glib.h>
#include <stdbool.h>

typedef struct RhLabels RhLabels;

/* Labels stay between these, in pixels. */
RhLabels *rh_labels_new(double left, double top, double right, double bottom);
void rh_labels_free(RhLabels *labels);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhLabels, rh_labels_free)
/* Nothing may lie there: a point's mark. */
void rh_labels_block(RhLabels *labels, double x, double y, double half);
/* False: there is no room, and nothing was drawn. */
bool rh_labels_draw(RhLabels *labels, GString *out, double x, double y, const char *text);
