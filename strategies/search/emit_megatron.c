/* Launch flags for Megatron-LM. Names: strategies/data/megatron-flags.txt (project, version, file
 * are in its head); a test compares every flag emitted here with that list. */
#include <string.h>

#include "base/error.h"
#include "strategies/search/plan.h"

static void add(GString *s, const char *flag)
{
    g_string_append_printf(s, "%s%s", s->len ? " " : "", flag);
}

static void add_int(GString *s, const char *flag, int64_t value)
{
    add(s, flag);
    g_string_append_printf(s, " %" G_GINT64_FORMAT, value);
}

/* Splits other than Megatron's even one: "Et*7|t*8|...|t*7L" in the layout language of the flag. */
static bool even_split(const RhCase *c, const RhLayout *l)
{
    return c->model->layers_count % (l->pp * l->vpp) == 0;
}

static void add_stage_map(GString *s, const RhCase *c, const RhLayout *l)
{
    int32_t chunks = l->pp * l->vpp;
    add(s, "--pipeline-model-parallel-layout ");
    for (int32_t g = 0; g < chunks; g++) {
        int32_t first, count;
        rh_train_chunk_layers(c, l, g, &first, &count);
        g_string_append_printf(s, "%s%st*%d%s", g ? "|" : "'", g == 0 ? "E" : "", count,
                               g == chunks - 1 ? "L'" : "");
    }
}

static void add_pipeline(GString *s, const RhCase *c, const RhLayout *l)
{
    add_int(s, "--pipeline-model-parallel-size", l->pp);
    if (l->pp == 1)
        return;
    if (!even_split(c, l))
        add_stage_map(s, c, l);
    else if (l->vpp > 1)
        add_int(s, "--num-virtual-stages-per-pipeline-rank", l->vpp);
}

static void add_data(GString *s, const RhLayout *l)
{
    if (l->zero == 1)
        add(s, "--use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather");
    else if (l->zero >= 2)
        add(s, "--use-distributed-optimizer --use-megatron-fsdp --no-gradient-accumulation-fusion "
               "--overlap-grad-reduce --overlap-param-gather --ckpt-format fsdp_dtensor");
    else if (l->dp > 1)
        add(s, "--overlap-grad-reduce");
    if (l->zero >= 2)
        add(s, l->zero == 2 ? "--data-parallel-sharding-strategy optim_grads"
                            : "--data-parallel-sharding-strategy optim_grads_params");
}

static void add_recompute(GString *s, const RhLayout *l)
{
    if (l->recompute == RH_RECOMPUTE_SELECTIVE)
        add(s, "--recompute-granularity selective");
    if (l->recompute == RH_RECOMPUTE_FULL)
        add(s, "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1");
}

static char *emit_megatron(const RhCase *c, const RhLayout *l)
{
    GString *s = g_string_new(NULL);
    add_int(s, "--tensor-model-parallel-size", l->tp);
    if (l->sequence_parallel)
        add(s, "--sequence-parallel");
    add_pipeline(s, c, l);
    add_data(s, l);
    add_int(s, "--micro-batch-size", l->microbatch);
    add_int(s, "--global-batch-size", c->job.global_batch);
    add_int(s, "--seq-length", c->job.sequence);
    add_recompute(s, l);
    if (l->order == RH_ORDER_TP_PP_DP)
        add(s, "--use-tp-pp-dp-mapping");
    add(s, c->job.dtype == RH_DTYPE_FP16 ? "--fp16" : "--bf16");
    return g_string_free(s, FALSE);
}

char *rh_emit(const char *framework, const RhCase *c, const RhLayout *layout, GError **error)
{
    if (strcmp(framework, "megatron") != 0) {
        rh_fail(error, RH_ERROR_USAGE,
                "no launch flags for \"%s\" in this version\nnote: frameworks: megatron",
                framework);
        return NULL;
    }
    if (layout->pp > 1 && layout->schedule == RH_SCHEDULE_GPIPE) {
        rh_fail(error, RH_ERROR_USAGE,
                "Megatron-LM has no GPipe schedule\nhelp: plan with --fix schedule=1f1b");
        return NULL;
    }
    return emit_megatron(c, layout);
}

const char *rh_emit_note(const char *framework, const RhLayout *layout)
{
    bool fsdp = strcmp(framework, "megatron") == 0 && layout->zero >= 2;
    return fsdp ? "Megatron-FSDP needs CUDA_DEVICE_MAX_CONNECTIONS unset, or above 1" : NULL;
}
