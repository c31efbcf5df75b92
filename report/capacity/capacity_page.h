#pragma once
/* The page of `capacity`, of runs and of services: its answer over one picture. */

typedef struct {
    const char *text, *json, *facts; /* as RhPage has them */
    const char *id, *title;          /* of the picture's section */
    const char *by;                  /* what its large points are best by */
    const char *svg;                 /* NULL: nothing to draw */
} RhCapacityPage;

/* Caller frees. */
char *rh_report_capacity_page(const RhCapacityPage *page);
