#pragma once
/* Accuracy record: error bars by kind of job, and odds of running out of memory by predicted peak.
 * Made from evaluated runs (accuracy/evaluation.h) by `rehearse validate --record FILE`; plans read
 * their error bars and odds from validate/data/record.json.
 *
 * A job uses the first entry of a list whose given fields all match it. Without a match there is no
 * error bar. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "accuracy/evaluation.h"

#define RH_RECORD_SHARE  0.8  /* fraction of steps within an error bar */
#define RH_ODDS_ASKED    0.05 /* default risk of plans, for which curves are checked */
#define RH_RECORD_SCHEMA "rehearse.record/1"

/* Error bar of jobs that match its fields; NULL or 0 matches any. */
typedef struct {
    const char *stack, *generation, *kind; /* interned */
    int32_t gpus_least, gpus_most;
    double params_least, params_most; /* range of the measured models */
    int64_t tokens_most;              /* largest measured tokens per sample */
    /* Upper bound of |measured / predicted - 1| for RH_RECORD_SHARE of the steps, with equal weight
     * for each group. */
    double error_frac;
    int32_t steps;
    int32_t groups; /* groups of one source, model and device, whose errors are correlated */
    /* The error that remains once a run of the same group was measured: upper bound of how far a step's
     * measured / predicted is from that of another step of its group, for RH_RECORD_SHARE of such
     * pairs, each group weighing the same; 0: fewer than 3 groups have several steps. */
    double within_frac;
} RhErrorBar;

/* Odds of running out of memory: a logistic curve in the predicted peak over the memory, with a
 * width below its middle that is fitted to runs that failed unexpectedly, and one above that is
 * fitted to runs that succeeded unexpectedly. */
typedef struct {
    const char *stack, *kernels; /* interned; NULL: any */
    /* value 1/2 at middle_frac, and 1 / (1 + e) spread_frac below it */
    double middle_frac, spread_frac;
    double above_frac;          /* distance above at which the value is e / (1 + e) */
    int32_t ran, failed, peaks; /* runs and measured peaks of the fit */
} RhOdds;

/* Score of odds on runs that were not used in the fit: the mean square of predicted odds less
 * outcome (Brier), and the number of runs and failures by band of odds. */
#define RH_ODDS_BANDS 4
#define RH_ODDS_BANDS_ENDS                                                                         \
    {                                                                                              \
        RH_ODDS_ASKED, 0.5, 1 - RH_ODDS_ASKED, 1                                                   \
    }
typedef struct {
    double brier;
    int32_t count, runs[RH_ODDS_BANDS], failed[RH_ODDS_BANDS];
} RhOddsTrial;

/* Usual MFU of steps on a device, by kind of model and format of the linear layers: an interval
 * with RH_RECORD_SHARE of the steps, with equal weight for each group and equal tails. */
typedef struct {
    const char *device, *kind, *dtype; /* interned */
    double params_least, params_most;  /* range of the measured models */
    double low_frac, high_frac;
    int32_t steps, groups;
} RhTypicalMfu;

/* Error bars of services that match its fields: their mean TTFT, mean TPOT and output tokens a
 * second. Made from predictions of a cross-validation, by groups that were not part of what was
 * chosen and fitted (accuracy/cross_validation_errors.h). */
typedef struct {
    const char *kind; /* interned, as in RhEvidenceKey; NULL: any */
    bool known;       /* of runs whose launch flags, engine version and speculation are known */
    bool any_tables;  /* of experts with a table and without; else as `experts_untabled` */
    bool experts_untabled, apart, starved; /* as in RhEvidenceKey */
    /* Upper bounds of |measured / predicted - 1| for RH_RECORD_SHARE of the rows, each group weighing
     * the same; 0: fewer than RH_GROUPS_LEAST groups give the metric. */
    double ttft_frac, tpot_frac, throughput_frac;
    int32_t rows, groups, models; /* rows and groups with a TPOT or a throughput; models of them */
} RhServedBar;

typedef struct {
    char *made_on, *file; /* owned; "": nothing was evaluated */
    int32_t rows;
    GPtrArray *schedulers; /* const char*, interned: those of the evaluated services */
    GArray *bars;          /* RhServedBar, from the most particular to the most general */
} RhServingRecord;

/* Tokens from which a sample is long: attention and its communication dominate, and predictions are
 * less accurate. */
#define RH_LONG_TOKENS 65536

typedef struct {
    char *made_on;         /* owned: "2026-11-22" */
    int32_t steps, failed; /* runs of the record: with a time, out of memory */
    /* steps within their bar, steps with one, and steps without one, where bars use only other
     * sources' runs */
    int32_t within, barred, bare;
    GArray *bars;          /* RhErrorBar */
    RhErrorBar longs;      /* long samples of all stacks; error_frac 0: too few measurements */
    GPtrArray *odds;       /* RhOdds*, owned */
    RhOddsTrial trials[2]; /* on the record's own runs, by group and by table; not in a file */
    GArray *usual;         /* RhTypicalMfu */
    RhServingRecord serving;
} RhRecord;

RhRecord *rh_record_new(void);
void rh_record_free(RhRecord *record);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhRecord, rh_record_free)

/* Makes a record from the runs that count as measurements. Bars and usual MFUs need at least 8
 * steps in 3 groups. Odds exist per stack with at least 20 runs, per set of kernels, and for all;
 * record_memory_odds.c describes the fit. */
RhRecord *rh_record_make(const RhEvaluation *evaluation);
/* Replaces the serving part by one made from evaluated services with groups. Returns false, and
 * changes nothing, when there is no such row. */
bool rh_record_serve(RhRecord *record, const RhEvaluation *evaluation);
/* Sets `bar_frac` of each row of a service with a group to the bar that it would have without the rows
 * of its group; 0: none. */
void rh_record_hold_out_groups(RhEvaluation *evaluation);
/* Replaces the serving part by that of another record. */
void rh_record_take_serving(RhRecord *record, const RhRecord *other);
/* Sets each row's `bar_frac` to the bar that it would have without the runs of its own table; 0:
 * none. */
void rh_record_hold_out(RhEvaluation *evaluation);

/* Reads a record. RH_ERROR_INPUT with file:line:col, RH_ERROR_IO. */
RhRecord *rh_record_load(const char *path, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Writes a record as JSON; `made_by` is the command. Caller frees. */
char *rh_record_json(const RhRecord *record, const char *made_by);
/* Returns the record of the installation, read once; an empty one if there is none. Borrowed, never
 * freed. */
const RhRecord *rh_record_shipped(void);

/* Returns whether the size lies between those of the measured models. */
bool rh_error_bar_spans(const RhErrorBar *bar, double params);
/* Returns the first matching bar that spans the model's size, else the first; NULL when none
 * matches, and for adapters, because bars are of steps that train all weights. Where the device's
 * constants are assumed, returns the widest of this one and of the bars per generation (over all
 * stacks) for this kind of model. */
const RhErrorBar *rh_record_bar(const RhRecord *record, const RhEvidenceKey *like);
/* Returns the widest of the bars per generation (over all stacks) for this kind of model; 0: none.
 */
double rh_record_widest_frac(const RhRecord *record, const char *kind);
/* Returns the upper end of a prediction's error bar, against which levels, dates and budgets are
 * checked. */
static inline double rh_upper_end(double predicted, double error_frac)
{
    return predicted * (1 + error_frac);
}
/* Returns the bar of a service by the most particular of its properties that enough groups share;
 * NULL when none matches, or nothing that was measured is like it. */
const RhServedBar *rh_record_served(const RhRecord *record, const RhEvidenceKey *like);
/* Returns the widest TTFT and TPOT bars for this kind of model, for services with one pool, a cache
 * that is not full, and known launch flags; 0: none. */
void rh_record_served_widest(const RhRecord *record, const char *kind, double *ttft_frac,
                             double *tpot_frac);
const RhOdds *rh_record_odds(const RhRecord *record, const RhEvidenceKey *like);
/* Returns the usual MFU; NULL when no such steps were measured on the device, or only ones of
 * smaller or only of larger models. */
const RhTypicalMfu *rh_record_usual(const RhRecord *record, const RhEvidenceKey *like);
/* Returns the odds of running out of memory when this fraction of it is predicted to be needed;
 * increases with the fraction. */
double rh_odds_risk(const RhOdds *odds, double share);
/* Returns the least risk that is reported: n runs without a failure give 1 / (n + 2) (Laplace). */
static inline double rh_odds_least_risk(const RhOdds *odds)
{
    return 1.0 / (odds->ran + odds->failed + 2);
}
/* Returns the largest fraction of the memory at which the odds are at most `risk`; INFINITY for 1.
 */
double rh_odds_room(const RhOdds *odds, double risk);
/* Tests odds by leaving out each group of one table, model and device, or each table, among tables
 * that report failures (memory_odds_cross_validation.c). */
RhOddsTrial rh_record_try_odds(const RhEvaluation *evaluation, bool tables);
/* Appends the curves of these runs to a list of RhOdds*, stacks first (record_memory_odds.c). */
void rh_record_make_odds(const RhEvaluation *evaluation, GPtrArray *list);
