#include "strategies/search/colocation/checkpoint_interference.h"

#include <math.h>

#include "base/error.h"
#include "base/garray_access.h"
#include "sim/engine/multi_job.h"
#include "sim/engine/workers/isolated_run.h"

/* A step of more tasks is rehearsed in part. An exchange of experts counts as EXCHANGE_TASKS: on links that a checkpoint
 * shares none of its flows is a timer. Both assumed: DeepSeek-V3 on 2,048 GPUs takes 1.3 s of processor for each of its
 * 120 micro-batches (2026-11-30), and eight of them are rehearsed. Of 512 GPUs the whole step is 4.6 % slower, by these
 * 4.7 %, and beside a storage of 10 TB/s 39 % and 37 %. */
#define TASKS_MOST     100000.0
#define EXCHANGE_TASKS 50

RhProgram *rh_checkpoint_program(int32_t gpus, double bytes, RhMemoryTier from, RhMemoryTier to)
{
    RhProgram *p = rh_program_new(gpus);
    RhStride all = {1, gpus};
    bool out = to == RH_MEMORY_TIER_STORAGE || to == RH_MEMORY_TIER_NVME;
    rh_program_begin_role(p, "checkpoint", 0, &all, 1);
    RhTask copy = {.kind = RH_TASK_COPY,
                   .lane = out ? RH_LANE_COPY_OUT : RH_LANE_COPY_IN,
                   .from = (uint8_t)from,
                   .to = (uint8_t)to,
                   .layer = -1,
                   .microbatch = -1,
                   .bundle = -1,
                   .group = -1,
                   .label = rh_program_label(p, "checkpoint"),
                   .bytes = bytes / gpus};
    rh_program_add_task(p, copy, NULL, 0);
    rh_program_end_role(p);
    return p;
}

/* The problem with so many micro-batches; false: the layout cannot have them. */
static bool shorten(const RhProblem *c, const RhLayout *layout, int64_t microbatches,
                    RhProblem *out)
{
    *out = *c;
    out->job.global_batch = c->job.global_batch / rh_train_microbatches(c, layout) * microbatches;
    return microbatches > 0 && rh_train_legal(out, layout, NULL);
}

static bool is_short(const RhProblem *c, const RhLayout *layout)
{
    g_autoptr(RhProgram) p = rh_train_build(c, layout, NULL);
    double tasks = 0;
    for (guint i = 0; p && i < p->tasks->len; i++)
        tasks += rh_program_task(p, (int32_t)i)->op == RH_OP_ALL_TO_ALL ? EXCHANGE_TASKS : 1;
    return p && tasks < TASKS_MOST;
}

int64_t rh_checkpoint_beside_microbatches(const RhProblem *c, const RhLayout *layout)
{
    int64_t all = rh_train_microbatches(c, layout);
    RhProblem part, half;
    if (is_short(c, layout))
        return all;
    for (int64_t most = all / 2; most >= 2; most /= 2) {
        int64_t whole_fills = most - most % (2 * layout->pp); /* which some schedules ask for */
        int64_t some = whole_fills > 0 ? whole_fills : most - most % 2;
        if (shorten(c, layout, some, &part) && shorten(c, layout, some / 2, &half) &&
            is_short(&part, layout))
            return some;
    }
    return 0;
}

typedef struct {
    const RhProblem *c;
    const RhLayout *layout;
    RhMemoryTier from;
    double bytes;
} Build;

enum { STEP, CHECKPOINT, JOBS };

static RhProgram *build(int32_t job, void *user, GError **error)
{
    const Build *b = user;
    if (job == STEP)
        return rh_train_build(b->c, b->layout, error);
    return rh_checkpoint_program(b->c->job.gpus, b->bytes, b->from, RH_MEMORY_TIER_STORAGE);
}

/* The platform with this storage, these drives, and one device. */
static RhPlatform *stage_of(const RhPlatform *p, const RhCheckpointSetup *setup)
{
    RhPlatform *stage =
        rh_platform_devices_count(p) > 1 ? rh_platform_of_device(p, 0) : rh_platform_copy(p);
    stage->storage = setup->storage;
    if (setup->nvme_bytes_per_s > 0)
        stage->nvme_bytes_per_s.value = setup->nvme_bytes_per_s;
    return stage;
}

static bool copy_alone(const RhProblem *c, const RhCheckpointSetup *setup, RhMemoryTier from,
                       RhMemoryTier to, const RhEngineOptions *options, double *out, GError **error)
{
    g_autoptr(RhPlatform) stage = stage_of(c->platform, setup);
    g_autoptr(RhProgram) p = rh_checkpoint_program(c->job.gpus, setup->bytes, from, to);
    g_autoptr(RhRun) run = rh_rehearse_isolated(p, stage, options, error);
    if (run)
        *out = run->step_time_s;
    return run != NULL;
}

bool rh_checkpoint_alone(const RhProblem *c, const RhCheckpointSetup *setup,
                         const RhEngineOptions *options, RhCheckpointTimes *times, GError **error)
{
    bool drives = setup->nvme_bytes_per_s > 0, drains = rh_checkpoint_drains(setup);
    RhMemoryTier first = !drains        ? RH_MEMORY_TIER_STORAGE
                         : setup->async ? RH_MEMORY_TIER_HOST
                                        : RH_MEMORY_TIER_NVME,
                 held = drives ? RH_MEMORY_TIER_NVME : RH_MEMORY_TIER_HOST;
    struct {
        RhMemoryTier from, to;
        double *out;
        bool is_made;
    } copies[] = {{RH_MEMORY_TIER_HBM, first, &times->write_s, true},
                  {held, RH_MEMORY_TIER_STORAGE, &times->drain_s, drains},
                  {RH_MEMORY_TIER_STORAGE, RH_MEMORY_TIER_HBM, &times->read_s, true},
                  {RH_MEMORY_TIER_NVME, RH_MEMORY_TIER_HBM, &times->local_read_s, drives}};
    for (size_t i = 0; i < G_N_ELEMENTS(copies); i++)
        if (copies[i].is_made &&
            !copy_alone(c, setup, copies[i].from, copies[i].to, options, copies[i].out, error))
            return false;
    if (drains)
        times->drain_s *= fmax(setup->drain_times, 1);
    return true;
}

/* Rehearses the step of so many micro-batches beside the checkpoint. */
static bool beside(const RhCheckpointInterference *ask, int64_t microbatches,
                   const RhEngineOptions *options, RhCheckpointInterferenceTimes *out,
                   GError **error)
{
    const RhCheckpointSetup *setup = ask->setup;
    RhProblem c;
    if (!shorten(ask->c, ask->layout, microbatches, &c))
        return rh_fail(error, RH_ERROR_INTERNAL, "no step of %" G_GINT64_FORMAT " micro-batches",
                       microbatches);
    g_autoptr(RhPlatform) stage = stage_of(ask->c->platform, setup);
    c.platform = stage;
    double rate =
        rh_platform_storage_bytes_per_s(stage, MAX(c.job.gpus / stage->gpus_per_node, 1), true);
    Build what = {&c, ask->layout,
                  setup->nvme_bytes_per_s > 0 ? RH_MEMORY_TIER_NVME : RH_MEMORY_TIER_HOST,
                  fmin(setup->bytes, rate * ask->step_s * (double)c.job.global_batch /
                                         (double)ask->c->job.global_batch)};
    RhMultiJobPart parts[JOBS] = {{"step", 0, 1}, {"checkpoint", 0, 1}};
    RhMultiJobQuestion jobs = {.jobs = parts, .count = JOBS, .build = build, .user = &what};
    g_autoptr(RhMultiJobRun) run =
        rh_multi_job_rehearse(&jobs, stage, options, MAX(ask->processes, 1), error);
    if (!run)
        return false;
    const RhMultiJobResult *step = RH_AT(run->parts, RhMultiJobResult, STEP),
                           *written = RH_AT(run->parts, RhMultiJobResult, CHECKPOINT);
    *out = (RhCheckpointInterferenceTimes){step->alone->step_time_s, step->beside->step_time_s,
                                           written->alone->step_time_s,
                                           written->beside->step_time_s, what.bytes};
    return true;
}

bool rh_checkpoint_beside(const RhCheckpointInterference *ask, const RhEngineOptions *options,
                          RhCheckpointInterferenceTimes *out, GError **error)
{
    RhCheckpointInterferenceTimes half;
    int64_t all = rh_train_microbatches(ask->c, ask->layout), some = ask->microbatches;
    if (!beside(ask, some, options, out, error))
        return false;
    if (some == all)
        return true;
    if (!beside(ask, some / 2, options, &half, error))
        return false;
    double more = (double)(all - some) / (double)(some - some / 2);
    out->step_alone_s += more * (out->step_alone_s - half.step_alone_s);
    out->step_beside_s += more * (out->step_beside_s - half.step_beside_s);
    return true;
}
