#pragma once
/* Choices as points of a plane, a line for each kind, as SVG. */
#include <stdbool.h>

#include "report/pictures/colors.h"

typedef struct {
    int kind; /* an index of `kinds`; points of a kind stand together, in the order of its line */
    double x, y;
    char *label, *about; /* beside the point, where there is room; shown where one points at it */
    bool large;          /* no other is better in every respect */
    bool chosen;         /* the answer: it has a ring */
} RhTradeoffPoint;

/* Everything is borrowed. */
typedef struct {
    const char *id;                  /* of the picture: its class */
    const char *title, *description; /* for who does not see it */
    const char *across, *up;         /* what the axes are */
    const char *const *kinds;
    int kinds_count;
    const RhColor *colors; /* of the kinds; NULL: as of things with names of their own */
    bool x_near;           /* the axis across begins near the first point, not at 0 */
    int joined_count;      /* lines join the points of so many kinds, the first */
    const RhTradeoffPoint *points;
    int points_count;
    /* Lines at goals, drawn where they lie within the picture; a text NULL: none. */
    double x_goal, y_goal;
    const char *x_goal_text, *y_goal_text;
} RhTradeoffChart;

void rh_tradeoff_point_clear(RhTradeoffPoint *point); /* label and about */
/* Caller frees; NULL: there is no point. */
char *rh_report_tradeoff_svg(const RhTradeoffChart *front);
