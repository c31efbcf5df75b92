#pragma once
/* A collective's times and rates by size, as text, JSON, CSV and SVG. */
#include "sim/collective/collective_benchmark.h"

/* Everything is borrowed. */
typedef struct {
    const char *version;
    const char *const *argv;
    const char *operation; /* "all-reduce" */
    const RhCollectiveBenchmark *benchmark;
    const RhPlatform *platform;
    bool given;               /* the profile was asked for, and not the catalogue's choice */
    const char *profile;      /* of links, whose constants were taken; NULL: the platform's own */
    const GArray *points;     /* RhCollectivePoint, sizes ascending */
    const double *measured_s; /* of each point, from a log; NULL: none */
    const char *log;          /* its name; NULL: none */
} RhCollectiveAnswer;

/* Return texts; caller frees. */
char *rh_report_collective_text(const RhCollectiveAnswer *answer, bool verbose);
char *rh_report_collective_json(const RhCollectiveAnswer *answer);
char *rh_report_collective_csv(const RhCollectiveAnswer *answer);
/* Draws bus bandwidth over size, on a logarithmic axis of sizes. */
char *rh_report_collective_svg(const RhCollectiveAnswer *answer);
