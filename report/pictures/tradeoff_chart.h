#pragma once
/* Draws choices as points in a plane, with a line for each kind, as SVG. */
#include <stdbool.h>

#include "report/pictures/colors.h"

typedef struct {
    int kind; /* index into `kinds`; points of a kind are consecutive, in the order of its line */
    double x, y;
    char *label, *about; /* text beside the point, if there is room; tooltip */
    bool large;          /* Pareto-optimal */
    bool chosen;         /* the answer, drawn with a ring */
} RhTradeoffPoint;

/* Everything is borrowed. */
typedef struct {
    const char *id;                  /* class of the picture */
    const char *title, *description; /* for screen readers */
    const char *across, *up;         /* names of the axes */
    const char *const *kinds;
    int kinds_count;
    const RhColor *colors; /* per kind; NULL: colours of named series */
    bool x_near;           /* the x axis begins near the first point, not at 0 */
    int joined_count;      /* the first `joined_count` kinds have lines */
    const RhTradeoffPoint *points;
    int points_count;
    /* Lines at targets, drawn if they lie within the picture; text NULL: none. */
    double x_goal, y_goal;
    const char *x_goal_text, *y_goal_text;
} RhTradeoffChart;

void rh_tradeoff_point_clear(RhTradeoffPoint *point); /* label and about */
/* Returns the picture; NULL without points. Caller frees. */
char *rh_report_tradeoff_svg(const RhTradeoffChart *front);
