/* Text of a knob: its words in a layout's line, its cell in the table of plans. */
#include <string.h>

#include "strategies/knob_functions.h"

char *rh_knob_title_always(const RhKnob *knob, const RhLayout *l)
{
    int32_t value = rh_knob_value(knob, l);
    return value >= knob->low ? g_strdup_printf("%s%d", knob->key, value) : NULL;
}

char *rh_knob_title_above_1(const RhKnob *knob, const RhLayout *l)
{
    return rh_knob_value(knob, l) > 1 ? rh_knob_title_always(knob, l) : NULL;
}

char *rh_knob_title_expert_tensor(const RhKnob *knob, const RhLayout *l)
{
    return l->etp > 0 ? rh_knob_title_always(knob, l) : NULL;
}

char *rh_knob_title_context(const RhKnob *knob, const RhLayout *l)
{
    (void)knob;
    bool gathers = l->kv == RH_CONTEXT_GATHER;
    return gathers              ? g_strdup("CP by K/V all-gather")
           : l->slice           ? NULL
           : l->cp > l->ulysses ? g_strdup("CP by K/V ring")
                                : NULL;
}

char *rh_knob_title_slice(const RhKnob *knob, const RhLayout *l)
{
    g_autofree char *slice = rh_knob_text(knob, l);
    return l->slice ? g_strdup_printf("%s tiles", slice) : NULL;
}

char *rh_knob_title_cut_stages(const RhKnob *knob, const RhLayout *l)
{
    (void)knob;
    return l->cp_stages == 1  ? g_strdup("in the first stage")
           : l->cp_stages > 1 ? g_strdup_printf("in the first %d stages", l->cp_stages)
                              : NULL;
}

char *rh_knob_title_local_replicas(const RhKnob *knob, const RhLayout *l)
{
    (void)knob;
    return l->local_dp > 1 ? g_strdup_printf("%d GPUs a stage behind", l->local_dp) : NULL;
}

char *rh_knob_title_halo(const RhKnob *knob, const RhLayout *l)
{
    (void)knob;
    return l->halo == RH_HALO_LAYER ? g_strdup("edges once a layer") : NULL;
}

char *rh_knob_title_dispatch(const RhKnob *knob, const RhLayout *l)
{
    (void)knob;
    return l->dispatch == RH_DISPATCH_DEEPEP ? g_strdup("DeepEP") : NULL;
}

char *rh_knob_title_overlap(const RhKnob *knob, const RhLayout *l)
{
    (void)knob;
    static const char *const titles[] = {NULL, "shared expert overlapped",
                                         "micro-batch halves overlapped",
                                         "forward overlapped with backward"};
    return g_strdup(titles[l->overlap]);
}

char *rh_knob_title_microbatch(const RhKnob *knob, const RhLayout *l)
{
    (void)knob;
    return g_strdup_printf("micro-batch %d", l->microbatch);
}

char *rh_knob_title_zero(const RhKnob *knob, const RhLayout *l)
{
    (void)knob;
    return l->zero > 0 ? g_strdup_printf("ZeRO-%d", l->zero) : NULL;
}

char *rh_knob_title_shard(const RhKnob *knob, const RhLayout *l)
{
    (void)knob;
    return l->shard > 0 ? g_strdup_printf("sharded over %d GPUs", l->shard) : NULL;
}

char *rh_knob_title_outer(const RhKnob *knob, const RhLayout *l)
{
    (void)knob;
    return l->outer ? g_strdup("optimizer sharded over groups") : NULL;
}

char *rh_knob_title_secondary(const RhKnob *knob, const RhLayout *l)
{
    (void)knob;
    return l->hpz > 0 ? g_strdup_printf("hpZ over %d GPUs", l->hpz) : NULL;
}

char *rh_knob_title_narrow_gathers(const RhKnob *knob, const RhLayout *l)
{
    (void)knob;
    return l->qwz ? g_strdup("weights gathered in 8 bits") : NULL;
}

char *rh_knob_title_codec(const RhKnob *knob, const RhLayout *l)
{
    (void)knob;
    return g_strdup(rh_codec_title(l->codec));
}

/* Returns how many layers of a chunk are recomputed: "3", "0-2" where chunks differ. Caller frees. */
static char *layers_text(const RhLayout *l)
{
    int32_t low = l->recomputed_layers[0], high = low;
    if (l->recomputed_layers_count < 0)
        return g_strdup("the fewest");
    for (int32_t g = 1; g < l->recomputed_layers_count; g++) {
        low = MIN(low, l->recomputed_layers[g]);
        high = MAX(high, l->recomputed_layers[g]);
    }
    return low == high ? g_strdup_printf("%d", low) : g_strdup_printf("%d-%d", low, high);
}

char *rh_knob_title_recompute(const RhKnob *knob, const RhLayout *l)
{
    g_autofree char *what = rh_knob_value_text(knob, (int32_t)l->recompute);
    bool some = l->recompute != RH_RECOMPUTE_NONE;
    if (l->recomputed_layers_count == 0)
        return g_strdup_printf("%s recompute", some ? what : "no");
    g_autofree char *layers = layers_text(l);
    return g_strdup_printf("%s recompute of %s layer%s per model chunk", what, layers,
                           strcmp(layers, "1") == 0 ? "" : "s");
}

char *rh_knob_title_states(const RhKnob *knob, const RhLayout *l)
{
    (void)knob;
    const char *place = l->states == RH_PLACE_NVME ? "drives" : "the host";
    if (l->states == RH_PLACE_DEVICE)
        return NULL;
    return l->states_percent == 100
               ? g_strdup_printf("optimizer states on %s", place)
               : g_strdup_printf("%d %% of optimizer states on %s", l->states_percent, place);
}

char *rh_knob_title_weights(const RhKnob *knob, const RhLayout *l)
{
    (void)knob;
    return l->weights == RH_PLACE_DEVICE ? NULL
           : l->weights == RH_PLACE_HOST ? g_strdup("weights on the host")
                                         : g_strdup("weights on drives");
}

char *rh_knob_title_offload(const RhKnob *knob, const RhLayout *l)
{
    (void)knob;
    return l->offload > 0 ? g_strdup_printf("%d %% offloaded", l->offload) : NULL;
}

char *rh_knob_title_schedule(const RhKnob *knob, const RhLayout *l)
{
    (void)knob;
    return l->pp > 1 ? g_strdup(rh_pipeline_kind_title(l->schedule)) : NULL;
}

char *rh_knob_title_tensor_overlap(const RhKnob *knob, const RhLayout *l)
{
    (void)knob;
    return l->tensor_overlap ? g_strdup("TP overlap") : NULL;
}

char *rh_knob_title_partition(const RhKnob *knob, const RhLayout *l)
{
    if (l->partition == RH_PARTITION_EVEN || l->pp == 1)
        return NULL;
    return l->partition == RH_PARTITION_UNIFORM
               ? g_strdup("embedding and head counted as layers")
               : g_strdup_printf("stages balanced by %s", knob->names[l->partition]);
}

char *rh_knob_title_stages(const RhKnob *knob, const RhLayout *l)
{
    (void)knob;
    return l->stage_layers_count > 0 ? g_strdup("given stages") : NULL;
}

/* --- cells of the table of plans --- */

static char *value_text(const RhKnob *knob, const RhLayout *l)
{
    return rh_knob_value_text(knob, rh_knob_value(knob, l));
}

/* Characters of each name in a cell of several modules. */
#define MODULE_CHARS 4
char *rh_knob_cell_recompute(const RhKnob *knob, const RhLayout *l)
{
    if (l->recompute == RH_RECOMPUTE_SELECTIVE)
        return g_strdup("select");
    if (l->recompute == RH_RECOMPUTE_FULL && l->recomputed_layers_count > 0) {
        g_autofree char *layers = layers_text(l);
        return g_strdup_printf("full %s", layers);
    }
    g_autofree char *text = rh_knob_value_text(knob, (int32_t)l->recompute);
    if (!strchr(text, '+'))
        return g_steal_pointer(&text);
    g_auto(GStrv) names = g_strsplit(text, "+", -1);
    for (char **name = names; *name; name++)
        if (strlen(*name) > MODULE_CHARS)
            (*name)[MODULE_CHARS] = 0;
    return g_strjoinv("+", names);
}

/* Cell of the context exchange, empty where a rank has all tokens. */
char *rh_knob_cell_context(const RhKnob *knob, const RhLayout *l)
{
    return l->cp > l->ulysses ? value_text(knob, l) : g_strdup("-");
}

char *rh_knob_cell_expert_tensor(const RhKnob *knob, const RhLayout *l)
{
    (void)knob;
    return l->ep == 1 && l->etp == 0 ? g_strdup("-")
                                     : g_strdup_printf("%d", l->etp > 0 ? l->etp : l->tp);
}

char *rh_knob_cell_shard(const RhKnob *knob, const RhLayout *l)
{
    (void)knob;
    return l->shard > 0 ? g_strdup_printf("%d", l->shard) : g_strdup(l->zero > 0 ? "all" : "-");
}

char *rh_knob_cell_outer(const RhKnob *knob, const RhLayout *l)
{
    return l->shard > 0 ? value_text(knob, l) : g_strdup("-");
}

char *rh_knob_cell_secondary(const RhKnob *knob, const RhLayout *l)
{
    (void)knob;
    return l->hpz > 0 ? g_strdup_printf("%d", l->hpz) : g_strdup("-");
}

/* Cell of the schedule; one without a title is known from vpp. */
char *rh_knob_cell_schedule(const RhKnob *knob, const RhLayout *l)
{
    (void)knob;
    bool titled = rh_pipeline_kind_title(l->schedule) != NULL;
    return g_strdup(rh_pipeline_kind_name(titled ? l->schedule : RH_PIPELINE_1F1B));
}

char *rh_knob_cell_sequence_parallel(const RhKnob *knob, const RhLayout *l)
{
    return l->tp == 1 ? g_strdup("-") : value_text(knob, l);
}

char *rh_knob_cell_tensor_overlap(const RhKnob *knob, const RhLayout *l)
{
    return l->sequence_parallel ? value_text(knob, l) : g_strdup("-");
}

char *rh_knob_cell_order(const RhKnob *knob, const RhLayout *l)
{
    g_autofree char *order = value_text(knob, l);
    return g_strdup(order + strlen("tp-"));
}
