#include "cli/explain/explain_memory.h"

#include <math.h>

#include "base/text/text_table.h"
#include "base/units.h"
#include "report/format.h"
#include "report/report.h"
#include "strategies/knobs.h"
#include "strategies/train/memory/memory.h"

#define RELIEFS_MAX 14
#define STAGES_MAX  16

bool rh_explain_is_memory(const char *word)
{
    return g_ascii_strcasecmp(word, "memory") == 0;
}

/* --- stages --- */

static bool alike(const RhStageMemoryPeak *a, const RhStageMemoryPeak *b)
{
    for (int use = 0; use < RH_MEMORY_LAST; use++)
        if ((int64_t)(a->bytes[use] / RH_GIB_BYTES * 10 + 0.5) !=
            (int64_t)(b->bytes[use] / RH_GIB_BYTES * 10 + 0.5))
            return false;
    return g_strcmp0(a->when, b->when) == 0;
}

/* "3", or "3-6" of stages alike; caller frees. */
static char *range_text(int32_t first, int32_t last)
{
    return first == last ? g_strdup_printf("%d", first) : g_strdup_printf("%d-%d", first, last);
}

/* The last of the stages from `first` on that read as it does. */
static int32_t last_alike(const RhMemoryAnswer *a, int32_t first)
{
    int32_t last = first;
    while (last + 1 < a->stages_count && alike(&a->stages[first], &a->stages[last + 1]))
        last++;
    return last;
}

static void stage_row(RhTable *table, const RhMemoryAnswer *a, int32_t first, int32_t last)
{
    const RhStageMemoryPeak *s = &a->stages[first];
    g_autofree char *name = range_text(first, last);
    g_autoptr(GString) cells = g_string_new(NULL);
    for (int use = RH_MEMORY_WEIGHTS; use <= RH_MEMORY_RESERVE; use++)
        g_string_append_printf(cells, "|%.1f", s->bytes[use] / RH_GIB_BYTES);
    rh_table_rowf(table, "%s|%.1f%s", name, s->peak_bytes / RH_GIB_BYTES, cells->str);
}

/* "stages 0-14 in backward of micro-batch 0; stage 15 in forward of micro-batch 0" */
static void append_moments(GString *out, const RhMemoryAnswer *a)
{
    g_autoptr(GString) line = g_string_new("peaks:");
    for (int32_t first = 0, last; first < a->stages_count; first = last + 1) {
        const char *when = a->stages[first].when;
        last = first;
        while (last + 1 < a->stages_count && g_strcmp0(a->stages[last + 1].when, when) == 0)
            last++;
        g_autofree char *name = range_text(first, last);
        g_string_append_printf(line, "%s stage%s %s in %s", first > 0 ? ";" : "",
                               first < last ? "s" : "", name, when ? when : "every moment");
    }
    g_string_append(out, "  ");
    rh_text_wrap(out, line->str, 4, 77);
}

static void append_stages(GString *out, const RhMemoryAnswer *a, int32_t fullest)
{
    g_autoptr(RhTable) table = rh_table_new("<>>>>>>>>>");
    int32_t rows = 0, left = 0;
    rh_table_rowf(table, "stage|total|weights|grads|optim|activ|work|logits|comm|CUDA");
    for (int32_t first = 0, last; first < a->stages_count; first = last + 1) {
        last = last_alike(a, first);
        bool shown = rows < STAGES_MAX || (fullest >= first && fullest <= last);
        left += shown ? 0 : last - first + 1;
        if (!shown)
            continue;
        rows++;
        stage_row(table, a, first, last);
    }
    g_string_append(out, "\nGiB of a GPU of each stage at its peak\n");
    rh_table_append(table, out, "  ");
    if (left > 0)
        g_string_append_printf(out, "  and %d more stages, none with more memory\n", left);
    append_moments(out, a);
}

/* --- what makes it so much --- */

/* " + 1.20 G x 2 B / 8": parameters of each class that has some. */
static void add_product(GString *out, double params, double each_bytes, int32_t shards)
{
    if (params <= 0)
        return;
    g_autofree char *count = rh_text_number(params / 1e9, 3);
    g_string_append_printf(out, "%s%s G parameters x %.3g B", out->len ? " + " : "", count,
                           each_bytes);
    if (shards > 1)
        g_string_append_printf(out, " / %d ranks", shards);
}

typedef struct {
    const RhProblem *c;
    const RhLayout *l;
    RhStageContents held;
} Stage;

/* Ranks that share out what ZeRO does from this degree on. */
static int32_t sharers(const RhLayout *l, RhParamsClass cls, int32_t from_zero)
{
    if (from_zero == 1)
        return rh_params_optimizer_shards(l, cls);
    return rh_params_degree(l, cls) >= from_zero ? rh_params_shards(l, cls) : 1;
}

static void add_states(GString *out, const Stage *s, double each_bytes, int32_t from_zero)
{
    for (int cls = 0; cls < RH_PARAMS_LAST; cls++)
        add_product(out, s->held.states.params.of[cls], each_bytes,
                    sharers(s->l, (RhParamsClass)cls, from_zero));
}

static void say_weights(GString *out, const Stage *s, double bytes)
{
    (void)bytes;
    for (int cls = 0; cls < RH_PARAMS_LAST; cls++)
        add_product(out, rh_states_wide(s->c, &s->held.states, (RhParamsClass)cls),
                    rh_weight_bytes(s->c), sharers(s->l, (RhParamsClass)cls, 3));
    if (s->c->job.lora.rank > 0)
        g_string_append(out, ", frozen weights included");
    if (rh_weight_copies_bytes(s->c) > 0)
        g_string_append_printf(out, "; and %.3g B for each weight of linear layers, %s%s",
                               rh_weight_copies_bytes(s->c),
                               rh_holds_narrow(s->c) ? "stored in low precision"
                                                     : "a low-precision copy",
                               s->l->zero == 3 ? ", sharded too" : "");
    if (s->l->hpz > 0)
        g_string_append_printf(out, "; and a second copy over %d ranks (hpZ)", s->l->hpz);
}

static void say_gradients(GString *out, const Stage *s, double bytes)
{
    (void)bytes;
    if (s->c->stack->frees_gradients)
        g_string_append_printf(out, "%.3g B a parameter, for each chunk from its first backward%s",
                               rh_gradient_bytes(s->c),
                               rh_stack_reduces_each(s->c->stack, s->l->zero, s->l->pp)
                                   ? ", sharded"
                               : s->l->zero >= 1 ? ", sharded after their reduction"
                                                 : "");
    else
        add_states(out, s, rh_gradient_bytes(s->c),
                   rh_stack_reduces_each(s->c->stack, s->l->zero, s->l->pp) ? 2 : 4);
    if (s->c->stack->dummy_gradients && s->l->zero < 2)
        g_string_append(out, "; and one placeholder gradient for each shape of a layer's weights");
}

static void say_optimizer(GString *out, const Stage *s, double bytes)
{
    (void)bytes;
    add_states(out, s, rh_optimizer_state_bytes(s->c), 1);
    g_string_append_printf(out, ": %stwo moments in %s",
                           rh_has_masters(s->c) ? "an fp32 copy and " : "",
                           s->c->job.moments ? s->c->job.moments->name : rh_adam_moments_fp32.name);
}

static void say_activations(GString *out, const Stage *s, double bytes)
{
    g_autofree char *kept = rh_quantity_format(s->held.kept_bytes, RH_QUANTITY_BYTES, 3);
    g_autofree char *recompute = rh_knob_value_text(RH_KNOB_OF(recompute), s->l->recompute);
    if (s->held.kept_bytes > 0)
        g_string_append_printf(out, "%.3g micro-batches x %s for %d layers (recompute=%s)",
                               bytes / s->held.kept_bytes, kept, s->held.layers, recompute);
}

static void say_working(GString *out, const Stage *s, double bytes)
{
    (void)s, (void)bytes;
    g_string_append(out, "temporary tensors of the layer that runs at that moment, recomputed ones "
                         "included");
}

static void say_logits(GString *out, const Stage *s, double bytes)
{
    (void)bytes;
    g_string_append_printf(
        out, "softmax over %" G_GINT64_FORMAT " tokens of the vocabulary, fp32, kept for backward",
        s->c->model->vocab);
}

static void say_communication(GString *out, const Stage *s, double bytes)
{
    (void)bytes;
    g_string_append_printf(
        out, "buffers for transfers between stages%s",
        s->l->zero >= 2 ? ", and for the gathered parameters of the largest layer" : "");
}

static void say_reserve(GString *out, const Stage *s, double bytes)
{
    (void)bytes;
    const RhFact *fact = &s->c->stack->reserve_bytes;
    g_string_append_printf(out, "%s, allocator included: %s", rh_tag_name(fact->tag), fact->source);
}

static void append_kinds(GString *out, const RhProblem *c, const RhLayout *l,
                         const RhStageMemoryPeak *full, int32_t stage)
{
    static void (*const say[RH_MEMORY_LAST])(GString *, const Stage *, double) = {
        [RH_MEMORY_WEIGHTS] = say_weights,
        [RH_MEMORY_GRADIENTS] = say_gradients,
        [RH_MEMORY_OPTIMIZER] = say_optimizer,
        [RH_MEMORY_ACTIVATIONS] = say_activations,
        [RH_MEMORY_RECOMPUTE] = say_working,
        [RH_MEMORY_LOGITS] = say_logits,
        [RH_MEMORY_COMMUNICATION] = say_communication,
        [RH_MEMORY_RESERVE] = say_reserve};
    Stage s = {c, l, rh_stage_contents(c, l, stage)};
    g_string_append_printf(out, "\nwhat fills stage %d at its peak, GiB\n", stage);
    for (int use = RH_MEMORY_WEIGHTS; use <= RH_MEMORY_RESERVE; use++) {
        g_autoptr(GString) why = g_string_new(NULL);
        if (full->bytes[use] <= 0)
            continue;
        say[use](why, &s, full->bytes[use]);
        g_string_append_printf(out, "  %-13s  %5.1f  ", rh_report_memory_name((RhMemoryUse)use),
                               full->bytes[use] / RH_GIB_BYTES);
        rh_text_wrap(out, why->str, 24, 79);
    }
}

/* --- what would lower it --- */

/* "+30.2 %"; what rounds to nothing has no sign. Caller frees. */
static char *change_text(double frac)
{
    return fabs(frac) < 5e-4 ? g_strdup("0.0 %") : g_strdup_printf("%+.1f %%", 100 * frac);
}

static void relief_row(RhTable *table, const RhRehearsal *r, const RhMemorySaver *relief)
{
    g_autofree char *step = rh_quantity_format(relief->segment_s, RH_QUANTITY_S, 3);
    g_autofree char *change = change_text(relief->segment_s / r->bound_segment_s - 1);
    rh_table_rowf(table, "%s|%.1f|%.1f|%s|%s", relief->change, relief->peak_bytes / RH_GIB_BYTES,
                  (r->memory.peak_bytes - relief->peak_bytes) / RH_GIB_BYTES, step, change);
}

static void append_reliefs(GString *out, const RhRehearsal *r, const GArray *reliefs)
{
    if (reliefs->len == 0) {
        g_string_append(out, "\nno single change of the layout or of a number format lowers it\n");
        return;
    }
    g_string_append(out, "\nsingle changes that lower it\n");
    g_autoptr(RhTable) table = rh_table_new("<>>>>");
    rh_table_rowf(table, "--what-if|GiB|saved|step|change");
    for (guint i = 0; i < MIN(reliefs->len, RELIEFS_MAX); i++)
        relief_row(table, r, &g_array_index(reliefs, RhMemorySaver, i));
    rh_table_append(table, out, "  ");
    if (reliefs->len > RELIEFS_MAX)
        g_string_append_printf(out, "  and %u that free less\n", reliefs->len - RELIEFS_MAX);
    g_string_append(
        out, "  steps are lower bounds; of each setting, the fastest value and the one with the\n"
             "  least memory are listed\n");
}

void rh_explain_append_memory(GString *out, const RhInputs *in, const RhRehearsal *r,
                              const RhMemoryAnswer *a)
{
    const RhTrainMemory *m = &r->memory;
    g_string_append_printf(out,
                           "peak memory of a GPU: %.1f of %.1f GiB (%.1f %%), on stage %d%s%s\n",
                           m->peak_bytes / RH_GIB_BYTES, r->memory_capacity_bytes / RH_GIB_BYTES,
                           100 * m->peak_bytes / r->memory_capacity_bytes, m->stage,
                           r->memory_when ? ", in " : "", r->memory_when ? r->memory_when : "");
    append_stages(out, a, m->stage);
    append_kinds(out, &in->c, &r->layout, &a->stages[m->stage], m->stage);
    append_reliefs(out, r, a->reliefs);
}
