#pragma once
/* Labels of points of a picture that lie neither on one another nor on marks and lines: each stands above, right of,
 * below, left of or aslant from its point, where there is room; those that come first have the choice, and one without
 * room is left out. */
#include <glib.h>
#include <stdbool.h>

#include "report/pictures/svg.h"

typedef struct RhLabels RhLabels;

/* Labels stay between these, in pixels. */
RhLabels *rh_labels_new(double left, double top, double right, double bottom);
void rh_labels_free(RhLabels *labels);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhLabels, rh_labels_free)
/* Nothing may lie there: a point's mark. */
void rh_labels_block(RhLabels *labels, double x, double y, double half);
void rh_labels_block_line(RhLabels *labels, double x1, double y1, double x2, double y2);
/* A text that stands where it is told to: drawn, and nothing may lie there. */
void rh_labels_text(RhLabels *labels, GString *out, RhSvgInk ink, const char *anchor, double x,
                    double y, const char *text);
/* Draws a text beside the point at x, y, whose mark reaches `half` far. False: there is no room, and nothing was drawn. */
bool rh_labels_draw(RhLabels *labels, GString *out, double x, double y, double half,
                    const char *text);
