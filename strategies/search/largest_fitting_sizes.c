#include "strategies/search/largest_fitting_sizes.h"

#include "strategies/search/bounds/bound_cache.h"
#include "strategies/search/rehearsals/run_metrics.h"
#include "strategies/train/memory/memory.h"

#define SEQUENCE_MOST (INT64_C(1) << 24) /* tokens, of a model without a limit */

bool rh_memory_holds(const RhProblem *c, const RhLayout *layout, double room_bytes)
{
    if (!rh_train_job_legal(c, NULL) || !rh_train_legal(c, layout, NULL))
        return false;
    RhLayout l = rh_train_canonical(c, layout);
    RhTrainMemory m = rh_train_memory(c, &l);
    return m.peak_bytes <= room_bytes && m.peak_bytes <= rh_train_stage_capacity(c, &l, m.stage) &&
           rh_train_host_holds(c, &m);
}

int64_t rh_memory_largest(bool (*fits)(int64_t n, void *user), void *user, int64_t step,
                          int64_t most)
{
    int64_t fit = 0, over;
    for (int64_t n = step; n <= most; n *= 2)
        if (fits(n, user))
            fit = n;
    if (fit == 0)
        return 0;
    int64_t last = most / step * step;
    over = MIN(2 * fit, last + step);
    if (fit < last && over > last && fits(last, user))
        return last;
    while (over - fit > step) {
        int64_t middle = fit + (over - fit) / 2 / step * step;
        if (fits(middle, user))
            fit = middle;
        else
            over = middle;
    }
    return fit;
}

/* A layout of which one number is varied. */
typedef struct {
    const RhProblem *c;
    const RhLayout *layout;
    double room_bytes;
} Varied;

/* The job is given as many samples as keep the number of micro-batches. */
static bool microbatch_fits(int64_t n, void *user)
{
    const Varied *v = user;
    RhProblem c = *v->c;
    RhLayout l = *v->layout;
    int64_t microbatches = rh_train_microbatches(v->c, v->layout);
    l.microbatch = (int32_t)n;
    c.job.global_batch = n * l.dp * microbatches;
    return rh_memory_holds(&c, &l, v->room_bytes);
}

static bool sequence_fits(int64_t n, void *user)
{
    const Varied *v = user;
    RhProblem c = *v->c;
    RhLayout l = *v->layout;
    c.job.sequence = n;
    c.job.global_batch = l.dp * rh_train_microbatches(v->c, v->layout);
    l.microbatch = 1;
    return rh_memory_holds(&c, &l, v->room_bytes);
}

static int64_t largest_rank(const Varied *v)
{
    int64_t largest = 0;
    for (int32_t rank = 1; rank <= RH_MEMORY_RANK_MOST; rank *= 2) {
        RhProblem c = *v->c;
        c.job.lora.rank = rank;
        if (rh_memory_holds(&c, v->layout, v->room_bytes))
            largest = rank;
    }
    return largest;
}

int64_t rh_memory_sequence_most(const RhProblem *c)
{
    int64_t each = c->job.preference == RH_PREFERENCE_NONE ? 1 : 2;
    return c->model->positions > 0 ? each * c->model->positions : SEQUENCE_MOST;
}

RhLargestMemory rh_memory_reach(const RhProblem *c, const RhLayout *layout, double room_bytes)
{
    Varied v = {c, layout, room_bytes};
    RhLargestMemory reach = {.sequence = -1, .lora_rank = -1};
    reach.microbatch = rh_memory_largest(microbatch_fits, &v, 1, RH_MEMORY_MICROBATCH_MOST);
    bool parted = c->job.documents.runs_count > 0 && c->job.preference == RH_PREFERENCE_NONE;
    if (!rh_model_sees_pictures(c->model) && !parted) {
        int64_t step = MAX(RH_MEMORY_SEQUENCE_STEP, 2 * (int64_t)layout->cp * layout->tp);
        int64_t most = rh_memory_sequence_most(c);
        reach.sequence = rh_memory_largest(sequence_fits, &v, step, most);
        reach.sequence_is_most = c->model->positions > 0 && reach.sequence == most / step * step;
    }
    if (c->job.lora.rank > 0)
        reach.lora_rank = largest_rank(&v);
    return reach;
}

/* --- what makes it fit --- */

static int by_step(gconstpointer x, gconstpointer y)
{
    const RhMemorySaver *a = x, *b = y;
    if (a->segment_s != b->segment_s)
        return a->segment_s < b->segment_s ? -1 : 1;
    return g_strcmp0(a->change, b->change);
}

static void try_adapters(const RhProblem *c, const RhLayout *layout, double room_bytes,
                         const RhFrozenFormat *frozen, GArray *out)
{
    RhProblem changed = *c;
    changed.job.lora = (RhLora){.rank = MAX(c->job.lora.rank, RH_MEMORY_RANK_PROPOSED),
                                .modules = c->job.lora.modules};
    changed.job.frozen = frozen;
    if (!rh_memory_holds(&changed, layout, room_bytes))
        return;
    RhLayout l = rh_train_canonical(&changed, layout);
    g_autoptr(RhBoundCache) cache = rh_bound_new(&changed);
    RhMemorySaver found = {.change = frozen
                                         ? g_strdup_printf("lora.rank=%d lora.base=%s",
                                                           changed.job.lora.rank, frozen->name)
                                         : g_strdup_printf("lora.rank=%d", changed.job.lora.rank),
                           .layout = l,
                           .peak_bytes = rh_train_memory(&changed, &l).peak_bytes,
                           .segment_s = rh_segment_graph_s(cache, &l) * rh_straggler_factor(c)};
    g_array_append_val(out, found);
}

GArray *rh_memory_room_makers(const RhProblem *c, const RhLayout *layout, double room_bytes)
{
    GArray *out = g_array_new(FALSE, FALSE, sizeof(RhMemorySaver));
    g_autoptr(GArray) all = rh_memory_savers_new(c, layout, 0);
    g_array_set_clear_func(out, rh_memory_saver_clear);
    for (guint i = 0; i < all->len; i++) {
        RhMemorySaver found = g_array_index(all, RhMemorySaver, i);
        if (found.peak_bytes > room_bytes)
            continue;
        found.change = g_strdup(found.change);
        g_array_append_val(out, found);
    }
    g_array_sort(out, by_step);
    if (c->job.lora.rank == 0)
        try_adapters(c, layout, room_bytes, NULL, out);
    if (!c->job.frozen)
        try_adapters(c, layout, room_bytes, &rh_frozen_format_nf4, out);
    return out;
}
