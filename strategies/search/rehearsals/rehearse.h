#pragma once
/* Rehearsal: the result of simulating one layout, with everything that reports show about it. */
#include "accuracy/error_bar_record.h"
#include "base/cost_tree.h"
#include "platforms/devices/power.h"
#include "sim/engine/engine.h"
#include "strategies/train/train.h"

/* How a profile that was scaled to one measured run changes the error bar. */
typedef enum {
    RH_SCALING_NONE,
    RH_SCALING_OWN,     /* a run of the same stack and model: what runs of a group share is gone */
    RH_SCALING_UNKNOWN, /* ... but the record has too few groups to tell what remains */
    RH_SCALING_OTHER, /* a run of another model or stack: no narrower, no less than its residual */
} RhRunScaling;

typedef struct {
    RhLayout layout;
    double step_time_s;
    double bound_closed_s, bound_segment_s, bound_dry_s; /* lower bounds, 0 when not computed */
    double tokens_per_s_per_gpu;                         /* of samples, where one is a picture */
    bool pictures;
    double model_flops_per_s_per_gpu; /* no recomputation counted: MFU's numerator */
    double mfu_frac, hfu_frac; /* hfu counts recomputation; relative to the peak of mfu_dtype */
    RhDtype mfu_dtype;         /* format of linear layers, if the device has units for it */
    double mfu_bf16_frac;      /* relative to the peak of bf16; 0: unknown */
    /* share of the step in which a kernel runs on the GPU, of communication or not, waits of
     * communication among them: what nvidia-smi calls utilisation */
    double busy_frac;
    bool tells_busy; /* several processes share each GPU, or samples are loaded: reports say so */
    RhTrainMemory memory;
    char *memory_when; /* owned: "backward of micro-batch 3"; NULL without a program */
    double memory_capacity_bytes;
    bool fits;
    bool adapters;            /* LoRA: no error bar is of such steps */
    bool assumed;             /* no run on its device was judged: the bar is a wider one */
    bool beyond;              /* the model is smaller or larger than those of its bar */
    const RhErrorBar *bar;    /* of the record; NULL: nothing like the job was measured */
    double error_frac;        /* the bar's error, widened as below; 0: none */
    RhRunScaling scaling;     /* by one measured run of a profile */
    bool format_unmeasured;   /* few steps in its format were measured: widest bar */
    const RhErrorBar *longs;  /* bar of long samples, if it applies; NULL: it does not */
    double extrapolated_frac; /* share of kernel time that widens the bar; 0: none */
    const RhOdds *odds;       /* of the record; NULL: no such runs are known */
    double risk_frac;         /* probability by these odds that the peak is too large; 0: unknown */
    const RhTypicalMfu *usual; /* of the record; NULL: no such steps were measured on the device */
    RhEnergy energy;           /* per step; its total 0 = unknown */
    double node_w;             /* mean of a node in the step, switches and building left out */
    double cost_usd;           /* per step; 0 = unknown */
    bool told_by_fewer;        /* extrapolated from fewer micro-batches (steady_state.h) */
    double searched_s;         /* the search's step time, if it differs; else 0 */
    bool searched_by_fewer;
    int64_t events_count;
    double bytes_total,
        bytes_as_flows; /* bytes of communication of a step, and those simulated as flows */
    bool approximate;
    char *approximate_why;
    RhCost *costs; /* owned: tree of the mean rank's step, sums to step_time_s; NULL for --quick
                      entries */
    GArray *links; /* RhLinkUse-like busiest links (owned names), may be NULL */
} RhRehearsal;

void rh_rehearsal_free(RhRehearsal *r);
/* Returns the model FLOPs utilization of a step of `step_s`, without recomputation; 0 if no peak is
 * known. */
double rh_mfu_frac(const RhProblem *c, double step_s);
/* Returns the model FLOPs per second and GPU of a step of `step_s`, without recomputation. */
double rh_model_flops_per_s(const RhProblem *c, double step_s);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhRehearsal, rh_rehearsal_free)

/* Packs a rehearsal for another process of the same program, and unpacks it there for the same
 * case. The caller frees the result, which is NULL if bytes are missing. */
void rh_rehearsal_pack(GByteArray *out, const RhRehearsal *rehearsal);
RhRehearsal *rh_rehearsal_unpack(RhUnpack *in, const RhProblem *c);

/* Builds and rehearses a layout, and computes its metrics. `run_out` (may be NULL) receives the raw
 * run (timeline); the caller frees it. */
RhRehearsal *rh_rehearse(const RhProblem *c, const RhLayout *layout, const RhEngineOptions *options,
                         RhProgram **program_out, RhRun **run_out,
                         GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Returns the task that runs at the stage's memory peak, "backward of micro-batch 3"; NULL: none.
 * The caller frees it. */
char *rh_peak_moment(const RhProgram *program, int32_t stage);
/* Computes the step time alone, in this very process, which simulates nothing before or after it:
 * for callers that fork (sim/engine/workers/process_pool.h). */
bool rh_rehearse_here(const RhProblem *c, const RhLayout *layout, const RhEngineOptions *options,
                      double *step_s, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Returns a rehearsal's metrics from the closed forms alone, without the engine. */
RhRehearsal *rh_rehearse_quick(const RhProblem *c, const RhLayout *layout);
