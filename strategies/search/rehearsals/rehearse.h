#pragma once
/* One layout rehearsed: everything the reports show about it. */
#include "accuracy/record.h"
#include "base/cost_tree.h"
#include "platforms/devices/power.h"
#include "sim/engine/engine.h"
#include "strategies/train/train.h"

typedef struct {
    RhLayout layout;
    double step_time_s;
    double bound_closed_s, bound_segment_s, bound_dry_s; /* lower bounds, 0 when not computed */
    double tokens_per_s_per_gpu;                         /* of samples, where one is a picture */
    bool pictures;
    double model_flops_per_s_per_gpu; /* no recomputation counted: MFU's numerator */
    double mfu_frac, hfu_frac;        /* hfu counts recomputation; of the peak of: */
    RhDtype mfu_dtype;                /* the linear layers' own, where the device has such units */
    double mfu_bf16_frac;             /* of bf16's peak; 0: not known */
    RhTrainMemory memory;
    char *memory_when; /* owned: "backward of micro-batch 3"; NULL without a program */
    double memory_capacity_bytes;
    bool fits;
    bool adapters;         /* LoRA: no error bar is of such steps */
    bool assumed;          /* no run on its device was judged: the bar is a wider one */
    bool beyond;           /* the model is smaller or larger than those of its bar */
    const RhErrorBar *bar; /* of the record; NULL: nothing like the job was measured */
    double error_frac;     /* the bar's, wider by what follows; 0: there is none */
    bool
        format_unmeasured; /* too few steps in its number format were: as wide as any of its kind */
    const RhErrorBar *
        longs; /* of the record: as wide as theirs, as its bar has no samples as long; NULL: it is not */
    double extrapolated_frac;  /* of the kernels' time, where that widens it; 0: it does not */
    const RhOdds *odds;        /* of the record; NULL: no such runs are known */
    double risk_frac;          /* by these, that this peak is too much; 0: not known */
    const RhTypicalMfu *usual; /* of the record; NULL: no such steps were measured on the device */
    RhEnergy energy;           /* per step; its total 0 = unknown */
    double node_w;             /* mean of a node in the step, switches and building left out */
    double cost_usd;           /* per step; 0 = unknown */
    bool told_by_fewer;        /* by rehearsals of fewer micro-batches (steady_state.h) */
    double
        searched_s; /* the step by which a search went before it performed this one, told by fewer
                                 where `searched_by_fewer`; 0: it did not */
    bool searched_by_fewer;
    int64_t events_count;
    double bytes_total, bytes_as_flows; /* communication of a step, and what of it went as SimGrid
                                           flows */
    bool approximate;
    char *approximate_why;
    RhCost *costs; /* owned: tree of the mean rank's step, sums to step_time_s; NULL for --quick
                      entries */
    GArray *links; /* RhLinkUse-like busiest links (owned names), may be NULL */
} RhRehearsal;

void rh_rehearsal_free(RhRehearsal *r);
/* Model FLOPs utilization of a step of `step_s`, no recomputation counted; 0: no peak is known. */
double rh_mfu_frac(const RhProblem *c, double step_s);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhRehearsal, rh_rehearsal_free)

/* To cross to another process of the same program, and there, of the same case; caller's, NULL
 * when bytes are missing. */
void rh_rehearsal_pack(GByteArray *out, const RhRehearsal *rehearsal);
RhRehearsal *rh_rehearsal_unpack(RhUnpack *in, const RhProblem *c);

/* Builds, rehearses, accounts. `run_out` (may be NULL) receives the raw run (timeline), caller
 * frees. */
RhRehearsal *rh_rehearse(const RhProblem *c, const RhLayout *layout, const RhEngineOptions *options,
                         RhProgram **program_out, RhRun **run_out,
                         GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Returns the task that runs at the stage's memory peak, "backward of micro-batch 3"; NULL: none.
 * The caller frees it. */
char *rh_peak_moment(const RhProgram *program, int32_t stage);
/* Seconds of the step alone, performed in this very process, which has performed nothing yet and
 * performs nothing after: for callers that fork (sim/engine/workers/process_pool.h). */
bool rh_rehearse_here(const RhProblem *c, const RhLayout *layout, const RhEngineOptions *options,
                      double *step_s, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Returns a rehearsal's metrics from the closed forms alone, without the engine. */
RhRehearsal *rh_rehearse_quick(const RhProblem *c, const RhLayout *layout);
