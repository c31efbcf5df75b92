#pragma once
/* Places labels of points without overlap of labels, marks and lines: each is above, right of,
 * below, left of or diagonal to its point, where there is room. Earlier labels take precedence, and
 * one without room is omitted. */
#include <glib.h>
#include <stdbool.h>

#include "report/pictures/svg.h"

typedef struct RhLabels RhLabels;

/* Makes a set of labels confined to this area in pixels. */
RhLabels *rh_labels_new(double left, double top, double right, double bottom);
void rh_labels_free(RhLabels *labels);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhLabels, rh_labels_free)
/* Reserves the area of a point's mark. */
void rh_labels_block(RhLabels *labels, double x, double y, double half);
void rh_labels_block_line(RhLabels *labels, double x1, double y1, double x2, double y2);
/* Draws a text at a fixed position and reserves its area. */
void rh_labels_text(RhLabels *labels, GString *out, RhSvgInk ink, const char *anchor, double x,
                    double y, const char *text);
/* Draws a text beside the point at (x, y), whose mark has radius `half`. Returns false, and draws
 * nothing, without room. */
bool rh_labels_draw(RhLabels *labels, GString *out, double x, double y, double half,
                    const char *text);
