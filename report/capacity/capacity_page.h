#pragma once
/* The page of `capacity`, for training and serving: its answer above one picture. */

typedef struct {
    const char *text, *json, *facts; /* as in RhPage */
    const char *id, *title;          /* id and title of the picture's section */
    const char *by;                  /* criteria of its large, Pareto-optimal points */
    const char *svg;                 /* NULL: nothing to draw */
} RhCapacityPage;

/* Caller frees. */
char *rh_report_capacity_page(const RhCapacityPage *page);
