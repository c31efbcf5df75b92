/* Rules that every framework checks before the first step: what divides what. */
#include "strategies/launch/readers.h"
#include "workloads/model.h"

#define NUMBER "%" G_GINT64_FORMAT

/* Is a batch of so many samples made of whole micro-batches of all replicas? */
static void check_batch(RhLaunchReading *r, int64_t replicas)
{
    const RhLayout *l = &r->layout;
    int64_t all = r->job[RH_JOB_FIELD_GLOBAL_BATCH], parts = r->job[RH_JOB_FIELD_ACCUMULATION];
    int64_t each = rh_launch_times(replicas, l->microbatch);
    if (all <= 0 || each <= 0)
        return;
    rh_launch_point(r, 0, RH_JOB_FIELD_GLOBAL_BATCH);
    if (parts > 0 && rh_launch_times(each, parts) != all)
        rh_launch_problem(r, "change one of them",
                          NUMBER " samples a step are not %d of a micro-batch x " NUMBER
                                 " x " NUMBER " replicas: %s refuses to start",
                          all, l->microbatch, parts, replicas, r->framework->title);
    else if (all % each != 0)
        rh_launch_problem(r, "a multiple of their product",
                          NUMBER " samples a step are no multiple of %d of a micro-batch x " NUMBER
                                 " replicas: %s refuses to start",
                          all, l->microbatch, replicas, r->framework->title);
}

/* Do the degrees of a replica divide the GPUs? */
static bool check_degrees(RhLaunchReading *r, int64_t gpus)
{
    const RhLayout *l = &r->layout;
    int64_t ranks = rh_launch_times(rh_launch_times(l->tp, l->pp), l->cp);
    if (ranks < 1 || gpus % ranks == 0)
        return true;
    rh_launch_point(r,
                    gpus % l->tp != 0   ? RH_ROW_KNOB(tp)
                    : gpus % l->pp != 0 ? RH_ROW_KNOB(pp)
                    : gpus % l->cp != 0 ? RH_ROW_KNOB(cp)
                    : l->tp > 1         ? RH_ROW_KNOB(tp)
                                        : RH_ROW_KNOB(pp),
                    0);
    rh_launch_problem(r, NULL,
                      "tp %d x pp %d x cp %d = " NUMBER " GPUs of a replica do not divide " NUMBER
                      " GPUs: %s refuses to start",
                      l->tp, l->pp, l->cp, ranks, gpus, r->framework->title);
    return false;
}

/* Does tensor parallelism divide the heads? */
static void check_heads(RhLaunchReading *r)
{
    int64_t heads = r->sizes[RH_SIZE_HEADS], tp = r->layout.tp;
    g_autoptr(RhModel) model = heads < 1 && r->model ? rh_model_load(r->model, NULL) : NULL;
    if (model)
        heads = rh_model_attention_kind(model)->heads;
    if (heads < 1 || heads % tp == 0)
        return;
    rh_launch_point(r, RH_ROW_KNOB(tp), 0);
    rh_launch_problem(r, "a divisor of the heads",
                      "tp " NUMBER " does not divide " NUMBER
                      " attention heads: %s refuses to start",
                      tp, heads, r->framework->title);
}

void rh_launch_check_rules(RhLaunchReading *r)
{
    int64_t gpus = r->job[RH_JOB_FIELD_GPUS];
    const RhLayout *l = &r->layout;
    int64_t ranks = rh_launch_times(rh_launch_times(l->tp, l->pp), l->cp);
    check_heads(r);
    if (gpus > 0 && check_degrees(r, gpus))
        check_batch(r, gpus / MAX(ranks, 1));
    r->at = NULL;
}
