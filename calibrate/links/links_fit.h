#pragma once
/* A platform's constants of links from collectives that were timed on one like it. Method:
 * docs/theory/calibration.md.
 *
 *     g_autoptr(RhLinksFit) fit = rh_links_fit(logs, platform, 0.2, "2026-11-22", 0, &error);
 *     g_autofree char *profile = rh_links_fit_profile(fit);
 *
 * The model of a time is the platform's: launch, and the estimate of the algorithm that its library
 * takes (sim/collective). What rows inside a node tell is nvlink.*, what rows between nodes tell
 * nic.*; a constant that too few rows depend on stays as it is, which is said. */
#include "calibrate/fit/fitted_facts.h"
#include "calibrate/links/collective_time_segments.h"
#include "calibrate/links/measured.h"
#include "platforms/platform.h"

/* Rows of one collective in one placement. */
typedef struct {
    char *name;                            /* "all_reduce of 16 ranks on 2 nodes", owned */
    RhFitFigures before, fitted, held_out; /* before: as the platform was, all rows */
    RhSegment segments[RH_SEGMENTS_MAX];
    int segments_count;
} RhLinksClass;

typedef struct {
    RhPlatform *platform; /* with the fitted facts in place, owned */
    GArray *facts;        /* RhFittedFact */
    GArray *classes;      /* RhLinksClass; the last one is of all rows; none without rows */
    GPtrArray *notes;     /* char*, owned */
    char *source;         /* of every fact */
    const char *date;     /* interned "YYYY-MM" */
    double holdout_frac;
    int32_t rows_count;
    /* static: the rate that rows are of and no size of them determines, "nic.efficiency", so that
     * large messages are no better predicted than before; NULL: none */
    const char *untold_rate;
} RhLinksFit;

/* `logs`: RhMeasured. RH_ERROR_INPUT when they do not fit the platform (more ranks on a node, more
 * nodes, other GPUs) or tell no constant; RH_ERROR_NO_ANSWER after `timeout_s` (0: none). */
RhLinksFit *rh_links_fit(const GPtrArray *logs, const RhPlatform *platform, double holdout_frac,
                         const char *today, double timeout_s,
                         GError **error) G_GNUC_WARN_UNUSED_RESULT;
void rh_links_fit_free(RhLinksFit *fit);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhLinksFit, rh_links_fit_free)

/* The profile as JSON text, caller frees. */
char *rh_links_fit_profile(const RhLinksFit *fit);

/* Places the rows of a log on a platform: hosts that are trays of an NVLink domain become its nodes,
 * which `notes` (char*) tells. RH_ERROR_INPUT where other GPUs, or more of them, were timed. */
bool rh_links_place(RhMeasured *log, const RhPlatform *platform, GPtrArray *notes,
                    GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Seconds that the platform gives a row: launch and the estimate of what its library takes. */
double rh_links_time_s(const RhPlatform *platform, const RhTimed *row);
