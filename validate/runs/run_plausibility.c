#include "validate/runs/run_plausibility.h"

#include <math.h>

#include "base/error.h"
#include "base/units.h"
#include "report/format.h"
#include "strategies/search/rehearsals/rehearse.h"
#include "validate/runs/finding_texts.h"

/* Frameworks count the products of causal attention whole or half, so their FLOPs differ by less
 * than this factor. */
#define COUNTS_DIFFER 2.0
/* Share by which numbers of parameters differ where both count the same: rounded to "8.03 billion",
 * or with a vocabulary that was padded. */
#define PARAMETERS_FRAC 0.02

/* --- the log of another job --- */

typedef struct {
    double low, high;   /* of the job */
    const char *option; /* that says it */
} Claim;

static Claim claim_of(const RhProblem *c, RhRunFigureKind kind)
{
    const RhModel *m = c->model;
    double params = (double)rh_model_params(m), embedding = (double)m->vocab * (double)m->hidden;
    switch (kind) {
    case RH_SAID_BATCH:
        return (Claim){(double)c->job.global_batch, (double)c->job.global_batch, "--global-batch"};
    case RH_SAID_SEQUENCE:
        return (Claim){(double)c->job.sequence, (double)c->job.sequence, "--seq"};
    case RH_SAID_GPUS:
        return (Claim){c->job.gpus, c->job.gpus, "-p or --gpus"};
    case RH_SAID_LAYERS:
        return (Claim){m->layers_count, m->layers_count, "-w"};
    case RH_SAID_HIDDEN:
        return (Claim){(double)m->hidden, (double)m->hidden, "-w"};
    case RH_SAID_PARAMETERS:
        return (Claim){(1 - PARAMETERS_FRAC) * (params - 2 * embedding),
                       (1 + PARAMETERS_FRAC) * (params + embedding), "-w"};
    case RH_SAID_FLOPS: /* depends on the time: a finding */
    case RH_SAID_LAST:
    default:
        return (Claim){0, (double)INFINITY, ""};
    }
}

bool rh_run_log_is_of(const RhRunLog *log, const RhProblem *c, const char *launch, GError **error)
{
    for (int kind = 0; kind < RH_SAID_LAST; kind++) {
        const RhRunFigure *said = &log->said[kind];
        Claim claim = claim_of(c, (RhRunFigureKind)kind);
        if (said->value == 0 || (said->value >= claim.low && said->value <= claim.high))
            continue;
        bool batch = kind == RH_SAID_BATCH;
        double own = kind == RH_SAID_PARAMETERS ? (double)rh_model_params(c->model) : claim.low;
        g_autofree char *theirs = rh_run_said_text((RhRunFigureKind)kind, said->value),
                        *ours = rh_run_said_text((RhRunFigureKind)kind, own);
        g_autofree char *help =
            launch  ? g_strdup("are log and launch of one run?")
            : batch ? g_strdup("leave --global-batch out, the log says it")
                    : g_strdup_printf("is it the log of this run? Else correct %s", claim.option);
        return rh_fail(error, RH_ERROR_INPUT, "%s:%d:1: the run's %s is %s, %s says %s\nhelp: %s",
                       log->name, said->line, rh_run_said_name((RhRunFigureKind)kind), theirs,
                       launch ? launch : claim.option, ours, help);
    }
    return true;
}

/* --- what no run can be --- */

static void find_speed(const RhRunLog *log, const RhProblem *c, double step_s, GPtrArray *out)
{
    double mfu = rh_mfu_frac(c, step_s);
    g_autofree char *least = rh_quantity_format(step_s * mfu, RH_QUANTITY_S, 3),
                    *measured = rh_quantity_format(step_s, RH_QUANTITY_S, 3);
    if (mfu > 1)
        rh_finding_add(
            out,
            "%.0f %% MFU cannot be: at the data sheet's rate of a %s the products of this job "
            "alone take %s, and %s says %s: it is the log of a smaller job or of more GPUs, or "
            "its time is not that of a step",
            100 * mfu, c->platform->device->name, least, log->name, measured);
}

static void find_flops(const RhRunLog *log, const RhProblem *c, double step_s, GPtrArray *out)
{
    double job = rh_model_flops_per_s(c, step_s), said = log->said[RH_SAID_FLOPS].value;
    if (said > 0 && (said > COUNTS_DIFFER * job || said < job / COUNTS_DIFFER))
        rh_finding_add(
            out,
            "line %d says %.4g TFLOP/s of a GPU, and this job at the measured time has %.4g: it "
            "is the log of another model, batch, sample length or number of GPUs",
            log->said[RH_SAID_FLOPS].line, said / 1e12, job / 1e12);
}

static void find_memory(const RhRunLog *log, const RhProblem *c, const RhLayout *layout,
                        GPtrArray *out)
{
    const RhDevice *device = c->platform->device;
    RhTrainMemory memory = rh_train_memory(c, layout);
    double measured = log->memory_bytes, states = memory.at_peak_bytes[RH_MEMORY_WEIGHTS] +
                                                  memory.at_peak_bytes[RH_MEMORY_OPTIMIZER];
    if (measured > device->hbm_bytes.value)
        rh_finding_add(
            out,
            "a peak of %.1f GiB is not of a %s, which has %.1f GiB: the log is of another "
            "GPU",
            measured / RH_GIB_BYTES, device->name, device->hbm_bytes.value / RH_GIB_BYTES);
    if (measured > 0 && measured < states)
        rh_finding_add(
            out,
            "a peak of %.3g GiB is less than the %.3g GiB of weights and optimizer that this "
            "layout keeps on a GPU: it is the log of another model or layout",
            measured / RH_GIB_BYTES, states / RH_GIB_BYTES);
}

GPtrArray *rh_run_log_findings(const RhRunLog *log, const RhProblem *c, const RhLayout *layout)
{
    GPtrArray *out = g_ptr_array_new_with_free_func(g_free);
    RhRunJob job = {c->job.global_batch, c->job.sequence, c->job.gpus};
    double step_s = rh_run_log_step_s(log, &job);
    find_speed(log, c, step_s, out);
    find_flops(log, c, step_s, out);
    find_memory(log, c, layout, out);
    return out;
}
