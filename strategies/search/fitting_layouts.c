#include "strategies/search/fitting_layouts.h"

#include <math.h>

#include "strategies/search/bounds/bound_cache.h"
#include "strategies/search/memory_smallest.h"
#include "strategies/search/rehearsals/run_metrics.h"

/* --- the quickest --- */

typedef struct {
    RhLayout layout;
    double work_s; /* of its slots: the cheapest bound */
} Fitting;

typedef struct {
    RhBoundCache *cache;
    double room_bytes;
    GArray *fitting;
} Listing;

static bool list_fitting(const RhLayout *layout, void *user)
{
    Listing *s = user;
    RhTrainMemory m;
    if (rh_bound_memory_within(s->cache, layout, s->room_bytes, &m)) {
        Fitting found = {*layout, rh_bound_work_s(s->cache, layout)};
        g_array_append_val(s->fitting, found);
    }
    return true;
}

static int by_work(gconstpointer x, gconstpointer y)
{
    const Fitting *a = x, *b = y;
    return a->work_s < b->work_s ? -1 : a->work_s > b->work_s;
}

/* Takes layouts by their cheapest bound, until that is no better than a dearer one of the best. */
static void find_quickest(RhBoundCache *cache, GArray *fitting, RhFittingLayouts *out)
{
    g_array_sort(fitting, by_work);
    out->segment_s = (double)INFINITY;
    for (guint i = 0; i < fitting->len; i++) {
        const Fitting *f = &g_array_index(fitting, Fitting, i);
        if (f->work_s >= out->segment_s)
            break;
        if (rh_closed_form_s(cache, &f->layout) >= out->segment_s)
            continue;
        double segment_s = rh_segment_graph_s(cache, &f->layout);
        if (segment_s < out->segment_s) {
            out->segment_s = segment_s;
            out->quickest = f->layout;
        }
    }
}

RhFittingLayouts rh_fitting_layouts(const RhProblem *c, RhDeadline deadline, double room_bytes)
{
    RhFittingLayouts out = {0};
    g_autoptr(RhBoundCache) cache = rh_bound_new(c);
    g_autoptr(GArray) fitting = g_array_new(FALSE, FALSE, sizeof(Fitting));
    Listing s = {cache, room_bytes, fitting};
    cache->deadline = deadline;
    rh_space_walk(c, NULL, 0, deadline, list_fitting, &s);
    out.fit_count = fitting->len;
    if (fitting->len > 0)
        find_quickest(cache, fitting, &out);
    out.segment_s *= rh_straggler_factor(c);
    return out;
}

/* --- the largest sizes --- */

typedef enum { SIZE_MICROBATCH, SIZE_SEQUENCE, SIZE_RANK } Size;

typedef struct {
    const RhProblem *c;
    RhDeadline deadline;
    double room_bytes;
    RhLargestAnywhere *out;
} Anywhere;

static int64_t *size_of(Size size, RhLargestMemory *sizes)
{
    return size == SIZE_MICROBATCH ? &sizes->microbatch
           : size == SIZE_SEQUENCE ? &sizes->sequence
                                   : &sizes->lora_rank;
}

static RhLayout *layout_of(Size size, RhLargestAnywhere *out)
{
    return size == SIZE_MICROBATCH ? &out->at_microbatch
           : size == SIZE_SEQUENCE ? &out->at_sequence
                                   : &out->at_rank;
}

/* The next size to look for; 0: none is. */
static int64_t next_of(const Anywhere *a, Size size, int64_t n)
{
    int64_t step = RH_MEMORY_SEQUENCE_STEP, next = n + 1, most = RH_MEMORY_MICROBATCH_MOST;
    if (size == SIZE_SEQUENCE) {
        next = (n / step + 1) * step;
        most = rh_memory_sequence_most(a->c);
    } else if (size == SIZE_RANK) {
        next = MAX(2 * n, 1);
        most = RH_MEMORY_RANK_MOST;
    }
    return next <= most ? next : 0;
}

/* The layout that needs least memory at a size. */
static RhSmallestMemory leanest_at(const Anywhere *a, Size size, int64_t n)
{
    RhProblem c = *a->c;
    RhConstraint microbatch = {.knob = rh_knob_microbatch(), .value = 1};
    RhPlanOptions options = {.constraints = &microbatch, .constraints_count = 1};
    if (size == SIZE_MICROBATCH) {
        c.job.global_batch *= n;
        microbatch.value = (double)n;
    } else if (size == SIZE_SEQUENCE) {
        c.job.sequence = n;
    } else {
        c.job.lora.rank = (int32_t)n;
        options.constraints_count = 0;
    }
    return rh_memory_smallest(&c, &options, a->deadline, a->room_bytes);
}

/* Goes from what is known to fit to the leanest layout at the next size, and with it as far as it
 * gets, until no layout fits. */
static void grow(const Anywhere *a, Size size)
{
    int64_t *largest = size_of(size, &a->out->sizes), next;
    while ((next = next_of(a, size, *largest)) > 0) {
        RhSmallestMemory found = leanest_at(a, size, next);
        a->out->cut_short |= rh_deadline_passed(a->deadline);
        if (!found.some)
            return;
        RhLayout l = found.layout;
        if (size == SIZE_MICROBATCH)
            l.microbatch = 1; /* a divisor of the job's batch */
        RhLargestMemory sizes = rh_memory_reach(a->c, &l, a->room_bytes);
        *largest = MAX(next, *size_of(size, &sizes));
        if (size == SIZE_MICROBATCH)
            l.microbatch = (int32_t)*largest;
        *layout_of(size, a->out) = l;
    }
}

RhLargestAnywhere rh_memory_reach_anywhere(const RhProblem *c, const RhLayout *from,
                                           RhDeadline deadline, double room_bytes)
{
    RhLargestAnywhere out = {.sizes = rh_memory_reach(c, from, room_bytes),
                             .at_microbatch = *from,
                             .at_sequence = *from,
                             .at_rank = *from};
    Anywhere a = {c, deadline, room_bytes, &out};
    out.at_microbatch.microbatch = (int32_t)out.sizes.microbatch;
    out.at_sequence.microbatch = 1;
    grow(&a, SIZE_MICROBATCH);
    if (out.sizes.sequence >= 0)
        grow(&a, SIZE_SEQUENCE);
    out.sizes.sequence_is_most =
        c->model->positions > 0 && next_of(&a, SIZE_SEQUENCE, out.sizes.sequence) == 0;
    if (c->job.lora.rank > 0)
        grow(&a, SIZE_RANK);
    return out;
}
