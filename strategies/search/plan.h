#pragma once
/* The funnel: legal -> fits -> closed-form bound -> segment graph -> rehearsal, every stage a lower
 * bound of the next (docs/theory/search.md). Result does not depend on the number of jobs. */
#include "base/deadline.h"
#include "strategies/knobs.h"
#include "strategies/search/rehearsals/rehearse.h"
#include "strategies/search/space.h"

typedef enum {
    RH_OBJECTIVE_TIME,
    RH_OBJECTIVE_COST,
    RH_OBJECTIVE_MEMORY,
    RH_OBJECTIVE_ENERGY,
    RH_OBJECTIVE_LAST
} RhObjective;
const char *rh_objective_name(RhObjective objective);
/* False: there is none of that name. */
bool rh_objective_by_name(const char *name, RhObjective *out);
/* Returns the value that the objective minimises: bytes of the fullest GPU, joules of a step, or
 * seconds, to which cost is proportional. */
double rh_objective_value(RhObjective objective, const RhRehearsal *rehearsal);

/* A layout is ranked where of measured runs as full at most so many ran out of memory. */
#define RH_RISK_FRAC  0.05
#define RH_RISK_LEAST 1e-9 /* that none may: 0 is the default */

/* A best step that differs by more than this between idle communication as timers and as flows is
 * sensitive; where it moves by more than the second, nothing is proved any more. */
#define RH_PLAN_AGREEMENT_FRAC      1e-3
#define RH_PLAN_SENSITIVE_MOST_FRAC 0.02

typedef struct {
    RhObjective objective;
    int32_t top;     /* K, default 5 */
    double gap_frac; /* how much better than the first row what was not rehearsed might be */
    bool
        every_row; /* rows behind the first are proved to be the next, too, and not only the best of what was
                         rehearsed */
    double risk_frac; /* default RH_RISK_FRAC; a --limit on memory decides in its place */
    bool
        listed; /* of the layouts of rh_space_list alone, one by one: for checks against all of them */
    bool quick;      /* by lower bounds; only the first few of the answer are rehearsed */
    bool variants;   /* every rank order and number of model chunks has a row of its own; else the
                         best of a kind stands for them */
    bool exhaustive; /* rehearse every fitting layout */
    bool
        best_alone; /* neither a layout over the budget nor near misses nor changes are looked for */
    bool unperformed; /* the best is left as the search found it: rh_plan_perform */
    bool outside;     /* what is outside of the search is tried on the first row (unsearched.h) */
    const RhProblem *
        unlike; /* layouts whose cut (space.h) this problem allows too are left out; NULL: none are; then
                                a plan without entries is no error */
    /* Tables that a search of another batch of the same job left, and where this one leaves them
     * for the next; freed by the caller. NULL: none are. */
    struct RhBoundCache **kept;
    double worth_s;   /* steps that cannot be shorter are of no interest; 0: all are */
    int32_t jobs;     /* processes; 0 = all cores */
    double timeout_s; /* 0 = none */
    const RhConstraint *constraints;
    int32_t constraints_count;
    /* called between batches, may be NULL */
    void (*progress)(const char *stage, int64_t done, int64_t total, double best_s, void *user);
    /* every rehearsal as it comes in, in a fixed order; may be NULL */
    void (*seen)(const RhRehearsal *rehearsal, void *user);
    void *user;
} RhPlanOptions;

typedef struct {
    RhLayout layout;
    double bound_s; /* lower bound of its step */
    RhTrainMemory memory;
    char *reason; /* owned, one line: what it lacks */
} RhNearMiss;

/* Parts of a problem that may change, in ascending order of their effect on the training. */
typedef enum {
    RH_CHANGE_NONE,
    RH_CHANGE_CONSTRAINT,  /* one is given up */
    RH_CHANGE_CONSTRAINTS, /* all are */
    RH_CHANGE_STATES,      /* the optimizer's states leave the device; value 1: weights, too */
    RH_CHANGE_GPUS,
    RH_CHANGE_GRADIENTS, /* gradients in 16 bits, which changes the numerics */
    RH_CHANGE_BATCH,
    RH_CHANGE_SEQUENCE
} RhChangeKind;

/* The smallest change of the question that would make something fit as surely as was asked (when
 * nothing does). */
typedef struct {
    RhChangeKind kind;
    int64_t value;           /* of GPUS, BATCH and SEQUENCE: the new number; GRADIENTS: bytes;
                              STATES: 0 or 1 */
    RhConstraint constraint; /* CONSTRAINT: the one */
    char *effect;            /* owned */
    double peak_bytes;       /* the least that any layout needs then */
    RhLayout layout;         /* that one */
    /* GPUS: the most of those tried with which nothing fits, and the least that a layout needs
     * there; 0: none was tried, or none is legal */
    int64_t short_value;
    double short_bytes;
} RhSmallestChange;

/* Bytes of the training states of the whole model, once. */
typedef struct {
    double weights, gradients, optimizer;
} RhTrainingStates;
double rh_training_states_bytes(const RhTrainingStates *states);

/* Result of one stack under `--stack any`. */
typedef struct {
    const char *stack, *framework; /* interned */
    char *refused;                 /* owned: why nothing of it is started; NULL: its best is this */
    RhLayout layout;
    double step_time_s, mfu_frac, peak_bytes, energy_j;
} RhPlanOther;

/* Variants that an entry represents: layouts of its kind that fit in the same memory. */
typedef struct {
    int32_t count;    /* itself among them */
    double more_frac; /* how much longer the slowest takes, by the closed forms of both */
} RhPlanVariants;

/* A family of which nothing is near the best entry. */
typedef struct {
    const char *family;  /* static */
    double step_least_s; /* no layout of it takes less, by their lower bounds */
} RhPlanFamilyBound;

typedef struct {
    /* Ways to cut the model (space.h); those that bounds did not rule out; of these, and their chunks, likewise */
    int64_t cuts_count, cuts_opened_count, chunks_opened_count;
    /* Layouts of these that were looked at; those that fit; ... */
    int64_t legal_count, fit_count, screened_count, segments_count, rehearsed_count;
    int64_t steady_count; /* steps told by rehearsals of fewer micro-batches (steady_state.h) */
    double
        steady_apart_frac; /* by how much those that were performed whole differ from that, at most */
    bool steady_disagrees;       /* that is too much for a proof */
    int64_t within_budget_count; /* of those that fit, what keeps within ranked_bytes */
    double ranked_bytes;      /* what the entries may need: by their odds, a --limit, or all of the
                            device where nothing keeps within that */
    int64_t too_large_count;  /* left out: more tasks than a search rehearses */
    double too_large_bound_s; /* the least bound of those, INFINITY for none */
    int64_t lost_count;       /* left out: the machine had not the memory for their rehearsal */
    double lost_bound_s;      /* the least bound of those, INFINITY for none */
    bool lost_may_win;        /* one of those may be better than the best entry */
    int64_t
        unperformed_count; /* best entries that it had not the memory for with every byte a flow */
    bool proved;
    bool paired_layers; /* in some layouts, two micro-batches run as a pair and whole layers are
                           recomputed: the fewest that fit, or all; other numbers are not listed */
    bool unsafe; /* nothing fits as surely as was asked: the entries are of all that fits at all */
    bool timed_out;    /* also where the listing was cut short: cuts_count is then too low */
    double apart_frac; /* of the best plan, by how much its step with every byte as a flow differs
                             from that with idle ones as timers, which the search went by */
    /* Where that is beyond RH_PLAN_AGREEMENT_FRAC: how far such a step moves when next to nothing
     * changes (step_perturbation_spread.h), the most. */
    double spread_frac;
    bool estimated;       /* message by message the bounds are estimates: nothing is proved */
    double proof_bound_s; /* best bound among the layouts not rehearsed (INFINITY when none); not
                             of those that cannot better the entry of their kind */
    GPtrArray *entries;   /* RhRehearsal*, best first, at most K, one of a kind */
    GArray *variants;     /* RhPlanVariants, of each entry; fewer where they were not looked for */
    GPtrArray *families;  /* RhRehearsal*, best first: of each family (rh_layout_family) that has no
                             entry, its best. Idle communication is a timer in them */
    GArray *family_bounds; /* RhPlanFamilyBound, of those that are far behind: not rehearsed for */
    RhRehearsal
        *over_budget; /* the quickest that fits but needs more than ranked_bytes, where it is
                             quicker than the best entry; else NULL. As those of families */
    /* RhNearMiss*, at most 3: quicker by their bound, up to 5 % too large */
    GPtrArray *near_misses;
    GPtrArray *changes;      /* RhSmallestChange*, when nothing fits or is safe, smallest first */
    RhTrainingStates states; /* when nothing fits; else 0 */
    double wall_s;           /* not printed in JSON */
    /* RhPlanOther, of every stack that was asked, this one too; NULL: one alone was. Frees what it
     * holds */
    GArray *others;
    GArray *near_batches; /* RhNearBatch (near_batch.h), where they were looked for; else NULL */
    GArray *outside;      /* RhUnsearched (unsearched.h), likewise */
    struct RhColocatedJobPlan
        *beside; /* plan_with_jobs.h: of rh_plan_with_jobs; else NULL; owned */
} RhPlan;

/* Returns the number of processes of a search with these options, at least 1. */
int32_t rh_plan_jobs(const RhPlanOptions *options);
RhPlan *rh_plan(const RhProblem *c, const RhPlanOptions *options,
                GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* The best entry of an unperformed plan once more, every byte as a flow, as it is printed;
 * `proved` and `timed_out` are of both. */
bool rh_plan_perform(const RhProblem *c, const RhPlanOptions *options, RhPlan *plan,
                     GError **error) G_GNUC_WARN_UNUSED_RESULT;
void rh_plan_free(RhPlan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhPlan, rh_plan_free)
/* How far the most sensitive of the performed steps moves when next to nothing changes; 0: none
 * does. What is proved is so to the gap and this. */
double rh_plan_sensitive_frac(const RhPlan *plan);

/* --- bounds, for tests --- */
/* Lower bounds; seconds. */
typedef struct RhBoundCache RhBoundCache; /* tables shared by the bounds of one case */
RhBoundCache *rh_bound_new(const RhProblem *c);
void rh_bound_free(RhBoundCache *cache);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhBoundCache, rh_bound_free)
double rh_closed_form_s(RhBoundCache *cache, const RhLayout *layout);   /* about a microsecond */
double rh_segment_graph_s(RhBoundCache *cache, const RhLayout *layout); /* under a millisecond */
