#include "strategies/search/advice.h"

#include <math.h>

#include "base/error.h"
#include "strategies/search/screen.h"

char *rh_advice_memory_reason(const RhTrainMemory *m, double limit_bytes)
{
    int largest = 0;
    for (int use = 0; use < RH_MEMORY_LAST; use++)
        if (m->at_peak_bytes[use] > m->at_peak_bytes[largest])
            largest = use;
    g_autofree char *need = rh_quantity_format(m->peak_bytes, RH_QUANTITY_BYTES, 3);
    g_autofree char *over = rh_quantity_format(m->peak_bytes - limit_bytes, RH_QUANTITY_BYTES, 2);
    g_autofree char *part = rh_quantity_format(m->at_peak_bytes[largest], RH_QUANTITY_BYTES, 3);
    return g_strdup_printf("needs %s, %s over; stage %d holds %s of %s", need, over, m->stage, part,
                           rh_memory_name((RhMemoryUse)largest));
}

/* The space of a changed question: is any layout legal, and what is the least memory one needs? */
static double least_peak(const RhCase *c, const RhPlanOptions *o, int64_t *legal)
{
    g_autoptr(GArray) space = rh_space_list(c, o->constraints, o->constraints_count);
    g_autoptr(RhScreen) screen = rh_screen_new(c);
    double least = (double)INFINITY;
    for (guint i = 0; i < space->len; i++) {
        const RhLayout *l = &g_array_index(space, RhLayout, i);
        least = fmin(least, rh_train_memory_with(rh_screen_shard(screen, l)->pieces, l).peak_bytes);
    }
    *legal = space->len;
    return least;
}

void rh_advice_no_layout(const RhCase *c, const RhPlanOptions *o, GError **error)
{
    RhLayout probe = rh_layout_default();
    g_autoptr(GError) why = NULL;
    for (int32_t i = 0; i < o->constraints_count; i++)
        if (o->constraints[i].relation == 0) {
            g_autofree char *item =
                g_strdup_printf("%s=%.0f", o->constraints[i].key, o->constraints[i].value);
            rh_layout_parse(item, &probe, NULL);
        }
    rh_train_complete(c, &probe);
    int64_t legal;
    RhPlanOptions free_options = *o;
    free_options.constraints_count = 0;
    least_peak(c, &free_options, &legal);
    if (!rh_train_legal(c, &probe, &why) && legal > 0) {
        rh_fail(error, RH_ERROR_USAGE, "%s", why->message);
        return;
    }
    if (legal > 0) {
        rh_fail(
            error, RH_ERROR_USAGE,
            "no legal layout meets these --fix and --limit together\nnote: without them %" G_GINT64_FORMAT
            " layouts are legal",
            legal);
        return;
    }
    rh_fail(
        error, RH_ERROR_USAGE,
        "no layout is legal: %d GPUs and a global batch of %" G_GINT64_FORMAT
        " samples do not divide\nhelp: every GPU outside a model replica takes part of the batch: "
        "choose a global batch with a common factor with the GPUs",
        c->job.gpus, c->job.global_batch);
}

static void add_change(RhPlan *plan, char *change, char *effect, double peak)
{
    RhSmallestChange *s = g_new0(RhSmallestChange, 1);
    *s = (RhSmallestChange){change, effect, peak};
    g_ptr_array_add(plan->changes, s);
}

static void try_gpus(const RhCase *c, const RhPlanOptions *o, RhPlan *plan)
{
    for (int32_t factor = 2; factor <= 64; factor *= 2) {
        g_autoptr(RhPlatform) wider = rh_platform_copy(c->platform);
        RhCase changed = *c;
        changed.platform = wider;
        changed.job.gpus = c->job.gpus * factor;
        int32_t nodes = (changed.job.gpus + wider->gpus_per_node - 1) / wider->gpus_per_node;
        wider->nodes_count = MAX(wider->nodes_count, nodes);
        int64_t legal;
        double peak = least_peak(&changed, o, &legal);
        if (peak > rh_train_memory_capacity(&changed))
            continue;
        g_autofree char *text = rh_quantity_format(peak, RH_QUANTITY_BYTES, 3);
        add_change(plan, g_strdup_printf("--gpus %d", changed.job.gpus),
                   g_strdup_printf("needs %s per GPU at the least", text), peak);
        return;
    }
}

static void try_sequence(const RhCase *c, const RhPlanOptions *o, RhPlan *plan)
{
    for (int64_t s = c->job.sequence / 2; s >= 128; s /= 2) {
        RhCase changed = *c;
        changed.job.sequence = s;
        int64_t legal;
        double peak = least_peak(&changed, o, &legal);
        if (peak > rh_train_memory_capacity(&changed))
            continue;
        g_autofree char *text = rh_quantity_format(peak, RH_QUANTITY_BYTES, 3);
        add_change(plan, g_strdup_printf("--seq %" G_GINT64_FORMAT, s),
                   g_strdup_printf("needs %s per GPU at the least", text), peak);
        return;
    }
}

static void try_without_limits(const RhCase *c, const RhPlanOptions *o, RhPlan *plan)
{
    if (o->constraints_count == 0)
        return;
    RhPlanOptions changed = *o;
    changed.constraints_count = 0;
    int64_t legal;
    double peak = least_peak(c, &changed, &legal);
    if (peak > rh_train_memory_capacity(c))
        return;
    g_autofree char *text = rh_quantity_format(peak, RH_QUANTITY_BYTES, 3);
    add_change(plan, g_strdup("without --fix and --limit"),
               g_strdup_printf("needs %s per GPU at the least", text), peak);
}

void rh_advice_smallest_change(const RhCase *c, const RhPlanOptions *o, RhPlan *plan)
{
    plan->states_bytes = (double)rh_model_params(c->model) * (2 + c->stack->gradient_bytes + 12);
    try_without_limits(c, o, plan);
    try_sequence(c, o, plan);
    try_gpus(c, o, plan);
}

void rh_advice_change_free(void *data)
{
    RhSmallestChange *s = data;
    g_free(s->change);
    g_free(s->effect);
    g_free(s);
}
