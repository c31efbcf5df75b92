#pragma once
/* Choices as points of a plane, of which less is better both ways: a line for each kind, as SVG. */
#include <stdbool.h>

typedef struct {
    int kind; /* an index of `kinds`; points of a kind stand together, in the order of its line */
    double x, y;
    char *label, *about; /* above the point; shown where one points at it */
    bool large;          /* nothing betters it */
} RhFrontPoint;

/* Everything is borrowed. */
typedef struct {
    const char *title, *description; /* for who does not see it */
    const char *across, *up;         /* what the axes are */
    const char *const *kinds;
    int kinds_count;
    const RhFrontPoint *points;
    int points_count;
    /* Lines at goals, drawn where they lie within the picture; a text NULL: none. */
    double x_goal, y_goal;
    const char *x_goal_text, *y_goal_text;
} RhFront;

void rh_front_point_clear(RhFrontPoint *point); /* label and about */
/* Caller frees; NULL: there is no point. */
char *rh_report_front_svg(const RhFront *front);
