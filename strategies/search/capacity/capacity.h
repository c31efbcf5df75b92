#pragma once
/* Capacity: how many tokens are to be trained, by when and for how much; which of several clusters
 * and sizes, with which batch and layout, does it. A cell is one cluster at one size: its best
 * batch and layout are found by the planner (plan.h), the rest is arithmetic:
 *
 *     steps   = tokens / (batch x sequence), rounded up: the last one is done whole; where no tokens are
 *               said, as many as date and budget allow
 *     seconds = steps x step time                 joules  = energy of a step x steps
 *     USD = GPUs x hours x price + kWh x price of electricity
 *
 * A date and a budget are kept at the upper end of the step's error bar (accuracy/error_bar_record.h), as
 * levels of a service are. A batch is free within a range. Runs of more than a day are longer by what
 * failures undo (strategies/run/run_estimate.h), at rates that may be left out. */
#include "strategies/run/training_run_spec.h"
#include "strategies/search/plan.h"

typedef struct {
    double tokens;                  /* 0: as many as can be, by the date and within the budget */
    double by_s;                    /* 0: no date */
    double budget_usd;              /* 0: no budget */
    double usd_per_kwh;             /* 0: electricity is not paid apart */
    bool as_predicted;              /* both are kept by what is predicted, whatever its error bar */
    const RhFailureRates *failures; /* of runs of more than a day; NULL: nothing fails */
    double gap_frac, risk_frac;     /* of the planner */
    int32_t jobs;
    double timeout_s; /* of the call; 0: none */
    void (*progress)(const char *stage, int64_t done, int64_t total, double best_s, void *user);
} RhCapacityTarget;

/* Query of one cell; the problem's own batch is not used. */
typedef struct {
    const RhProblem *c;
    int64_t batch_least, batch_most;
} RhCapacityQuestion;

typedef struct {
    const char *platform; /* as it was asked for; borrowed */
    int32_t series;       /* cells of one differ in size alone, ascending, and stand together */
    int64_t batch_least, batch_most;
    int32_t asked;  /* GPUs; those of the case are of whole nodes */
    RhProblem c;    /* with the batch that was chosen; borrows what the given one did */
    RhRehearsal *r; /* owned; NULL: nothing fits, `why` */
    char *why;      /* owned; NULL where `r` is not */
    bool proved;    /* no kind of layout left is quicker by the gap */
    bool too_large; /* with a batch: layouts are legal, none fits */
    bool timed_out;
    bool lost_may_win;                     /* as RhPlan's, of one of its batches */
    double tokens, seconds, usd, energy_j; /* of the whole run; usd and energy_j 0: unknown */
    double electricity_usd;                /* of `usd`, paid apart */
    double
        goodput_frac; /* of the time, what is not undone by failures or spent on them; 1: not counted */
    double allowed_frac; /* so much longer and dearer it may be and meets the goal still: the step's
                            error bar, else the widest of its kind of model */
    double efficiency_frac; /* tokens a second and GPU over those of the series' smallest size */
    bool meets;             /* date and budget */
    bool pareto; /* no other cell is as good by tokens, time, money and energy, and better by one */
} RhCapacityCell;

/* Batches of the range that a size is tried with: the largest; within an eighth of that the
 * largest that all of its GPUs, or a half, a quarter and so on of them, divide; and that which
 * the largest such part divides, wherever in the range it is. Ascending; the count. */
#define RH_CAPACITY_BATCHES_MAX 3
int32_t rh_capacity_batches(int64_t least, int64_t most, int32_t gpus,
                            int64_t batches[RH_CAPACITY_BATCHES_MAX]);
/* Plans the case with each batch and keeps the quickest a token; `platform`, `series` and
 * `asked` are left to the caller. False on errors that no other batch mends. */
bool rh_capacity_plan(const RhCapacityQuestion *asked, const RhCapacityTarget *goal,
                      RhCapacityCell *out, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Plans many problems in separate processes, `jobs` at a time (0: all cores), which does not change
 * results; the target's timeout is for all together. `out` must have `count` elements. Returns
 * false, without results, on errors. */
bool rh_capacity_plan_all(const RhCapacityQuestion *asked, int32_t count,
                          const RhCapacityTarget *goal, RhCapacityCell *out,
                          GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* In which order cells are begun, so that what ends last is short: indices, `order` has room for
 * `count`. */
void rh_capacity_order(const RhCapacityQuestion *asked, int32_t count, int32_t *order);
void rh_capacity_cell_clear(RhCapacityCell *cell);

/* Fills in what cells are to each other (RhCapacityCell): efficiency, meets, pareto. Returns the
 * best that meets the goal: the cheapest; with a budget and no date the soonest; where no tokens
 * are said that which trains on most. -1: none does. Where a cell has no price, GPU-hours stand
 * for money. */
int32_t rh_capacity_judge(const RhCapacityTarget *goal, GArray *cells);
/* The soonest, and the cheapest, whatever the goal; -1: nothing fits anywhere. */
int32_t rh_capacity_soonest(const GArray *cells);
int32_t rh_capacity_cheapest(const GArray *cells);
/* The least and the most that any cell's batch may be. */
void rh_capacity_batches_asked(const GArray *cells, int64_t *least, int64_t *most);
/* Is every cell that fits priced? */
bool rh_capacity_priced(const GArray *cells);
