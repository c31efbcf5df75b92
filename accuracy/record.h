#pragma once
/* What came of runs that were predicted: how far off predictions of a kind were, and how often runs
 * that were predicted so full ran out of memory. Made from judged runs (accuracy/evaluation.h) by
 * `rehearse validate --record FILE`; the tree's own, validate/data/record.json, is what error bars
 * and odds of plans are read from.
 *
 * A bar or odds are of runs that are alike in what they name: the first in the list that names
 * nothing but what a job is. Of what is like nothing there is no bar, and none is made up. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "accuracy/evaluation.h"

#define RH_RECORD_SHARE  0.8  /* of steps lie within an error bar */
#define RH_ODDS_ASKED    0.05 /* the risk that curves are kept by: what plans ask by default */
#define RH_RECORD_SCHEMA "rehearse.record/1"

/* NULL, 0: any. */
typedef struct {
    const char *stack, *generation, *kind; /* interned */
    int32_t gpus_least, gpus_most;
    double params_least, params_most; /* of the models that were measured */
    int64_t tokens_most;              /* of a sample, of those that were measured */
    /* |measured / predicted - 1| of RH_RECORD_SHARE of the steps is at most this, each group of
     * them counting the same */
    double error_frac;
    int32_t steps;
    int32_t groups; /* of one source, model and device, which err together */
} RhErrorBar;

/* How likely a run is to be out of memory: a logistic curve in the predicted peak over the memory, as wide below its middle
 * as runs that ran out unforeseen say, and above as those that ran all the same. */
typedef struct {
    const char *stack, *kernels;     /* interned; NULL: any */
    double middle_frac, spread_frac; /* where it is a half, and how far below it is 1 / (1 + e) */
    double above_frac;               /* how far above it is e / (1 + e) */
    int32_t ran, failed, peaks;      /* runs and measured peaks it was fitted to */
} RhOdds;

/* The score of odds on runs that their curves were not fitted to: the mean square of what was said less what came (Brier),
 * and by band how many ran out of memory. */
#define RH_ODDS_BANDS 4
#define RH_ODDS_BANDS_ENDS                                                                         \
    {                                                                                              \
        RH_ODDS_ASKED, 0.5, 1 - RH_ODDS_ASKED, 1                                                   \
    }
typedef struct {
    double brier;
    int32_t count, runs[RH_ODDS_BANDS], failed[RH_ODDS_BANDS];
} RhOddsTrial;

/* What MFU steps on a device have, by kind of model and format of the linear layers: RH_RECORD_SHARE of
 * the steps, each group of them counting the same, lie between the two, as many below as above. */
typedef struct {
    const char *device, *kind, *dtype; /* interned */
    double params_least, params_most;  /* of the models that were measured */
    double low_frac, high_frac;
    int32_t steps, groups;
} RhUsualMfu;

/* How far off the mean time to the first token, and of each further one, were in services alike. */
typedef struct {
    const char *scheduler, *device, *generation,
        *kind;           /* interned; device NULL: any of the generation */
    bool apart, starved; /* as of RhEvidenceKey */
    /* |measured / predicted - 1| of RH_RECORD_SHARE of the rows is at most this */
    double ttft_frac, tpot_frac;
    int32_t rows, fitted; /* that give both; of these, such as a constant was fitted to */
    int32_t models;       /* that were measured */
} RhServedBar;

typedef struct {
    char *made_on, *file; /* owned; "": nothing was judged */
    int32_t rows;
    GArray *bars; /* RhServedBar */
} RhServingRecord;

/* A sample is long from so many tokens on: most of its step is attention and what sends that about, which err more. */
#define RH_LONG_TOKENS 65536

typedef struct {
    char *made_on;                /* owned: "2026-11-22" */
    int32_t steps, failed;        /* runs it was made from: with a time, out of memory */
    int32_t within, barred, bare; /* steps within their bar, of those that have one, and those that
                                     have none, where a bar is of other sources' runs alone */
    GArray *bars;                 /* RhErrorBar */
    RhErrorBar longs; /* of long samples, whatever ran them; its error 0: too few were measured */
    GPtrArray *odds;  /* RhOdds*, owned */
    RhOddsTrial trials[2]; /* of runs it was made from, by group and by table; not in a file */
    GArray *usual;         /* RhUsualMfu */
    RhServingRecord serving;
} RhRecord;

RhRecord *rh_record_new(void);
void rh_record_free(RhRecord *record);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhRecord, rh_record_free)

/* From the runs that count as measurements. Bars and usual MFUs need at least 8 steps of 3 groups. Odds are of
 * a stack with at least 20 runs, of kernels, and of all; how they are fitted stands in record_odds.c. */
RhRecord *rh_record_make(const RhEvaluation *judged);
/* Of judged services: what they lived through, in place of the record's own; bars need at least 15 rows. Rows without a
 * `generation` are like nothing. False: there is no such row, and the record is as it was. */
bool rh_record_serve(RhRecord *record, const RhEvaluation *judged);
/* The part of services, from another record. */
void rh_record_take_serving(RhRecord *record, const RhRecord *other);
/* Into each row's `bar_frac` what its bar would be if there were no run of its own table; 0: none. */
void rh_record_hold_out(RhEvaluation *judged);

/* RH_ERROR_INPUT with file:line:col, RH_ERROR_IO. */
RhRecord *rh_record_load(const char *path, GError **error);
/* `made_by`: the command. Caller frees. */
char *rh_record_json(const RhRecord *record, const char *made_by);
/* The tree's, read once; an empty one where there is none. Borrowed, for ever. */
const RhRecord *rh_record_shipped(void);

/* Were models measured that are no larger, and such that are no smaller? */
bool rh_error_bar_spans(const RhErrorBar *bar, double params);
/* The first that spans the model's size, else the first; NULL: nothing like it was measured. Where the
 * device's constants are assumed, the widest of this and of those that generations have, stacks together,
 * for this kind of model. NULL of adapters: bars are of steps that train all weights. */
const RhErrorBar *rh_record_bar(const RhRecord *record, const RhEvidenceKey *like);
/* The widest of those that generations have, stacks together, for this kind of model; 0: none has one. */
double rh_record_widest_frac(const RhRecord *record, const char *kind);
/* The prediction at the upper end of its error bar: levels, dates and budgets are kept with it. */
static inline double rh_upper_end(double predicted, double error_frac)
{
    return predicted * (1 + error_frac);
}
/* Of a service: its device's, else its generation's; NULL: nothing like it was measured. */
const RhServedBar *rh_record_served(const RhRecord *record, const RhEvidenceKey *like);
/* Of services with one pool and a cache that is not full, the widest that is known of this kind of models, whatever the
 * server and the device, in each of both times; 0 where none is. */
void rh_record_served_widest(const RhRecord *record, const char *kind, double *ttft_frac,
                             double *tpot_frac);
const RhOdds *rh_record_odds(const RhRecord *record, const RhEvidenceKey *like);
/* NULL: no such steps were measured on the device, or only of smaller or only of larger models. */
const RhUsualMfu *rh_record_usual(const RhRecord *record, const RhEvidenceKey *like);
/* How likely memory is to run out where so much of it is predicted to be needed; grows with the share. */
double rh_odds_risk(const RhOdds *odds, double share);
/* The least risk that is ever said: of n runs none is not never, but one in n + 2 (Laplace). */
static inline double rh_odds_least_risk(const RhOdds *odds)
{
    return 1.0 / (odds->ran + odds->failed + 2);
}
/* The largest share of the memory at which the curve is at most `risk`; INFINITY for 1. */
double rh_odds_room(const RhOdds *odds, double risk);
/* Each group of one table, model and device left out, or each table; of tables that tell of failures. (record_trial.c) */
RhOddsTrial rh_record_try_odds(const RhEvaluation *judged, bool tables);
/* Curves of these runs into a list of RhOdds*, stacks first. (record_odds.c) */
void rh_record_make_odds(const RhEvaluation *judged, GPtrArray *list);
