/* Takes candidates from a queue, best bound first, until none left can be among the rows. */
#include <math.h>

#include "strategies/search/bounds/bound_cache.h"
#include "strategies/search/funnel/funnel.h"
#include "strategies/search/rehearsals/run_metrics.h"

/* GPUs below which folding takes less than a millisecond (for 16,384 it takes 2.5 ms), which is
 * hardly worth a thread. */
#define EXPECT_GPUS_LEAST 4096
/* Tasks up to which a quick search rehearses a batch of the best by bound. */
#define QUICK_TASKS_MAX 2e6
/* Maximum number of tasks of one rehearsal in a search; a single simulation may have more
 * (RH_TRAIN_TASKS_MAX). */
#define SEARCH_TASKS_MAX 1.2e7
/* Maximum number of tasks of a segment graph: half a second's work. */
#define GRAPH_TASKS_MAX 4.8e7

/* Has the layout more tasks than a search rehearses? Its cheaper segment graph has a higher limit,
 * as it may show that the layout is no better. */
bool rh_funnel_is_too_large(RhFunnel *f, const RhCandidate *c)
{
    RhLayout l = rh_funnel_layout(f, c->layout);
    double most = c->kind >= RH_KEY_SEGMENT ? SEARCH_TASKS_MAX : GRAPH_TASKS_MAX;
    return c->kind >= RH_KEY_CLOSED && rh_bound_tasks(f->cache, &l) > most;
}

/* Adds an entry known by its bounds alone, after all others. */
void rh_funnel_keep_quick(RhFunnel *f, const RhCandidate *c)
{
    RhLayout l = rh_funnel_layout(f, c->layout);
    RhRehearsal *r = rh_run_metrics_new(f->c, &l);
    double closed_s = rh_closed_form_s(f->cache, &r->layout);
    double segment_s =
        c->kind >= RH_KEY_SEGMENT ? rh_segment_graph_s(f->cache, &r->layout) : closed_s;
    r->bound_closed_s = closed_s * rh_straggler_factor(f->c);
    r->bound_segment_s = segment_s * rh_straggler_factor(f->c);
    rh_run_metrics_bound(f->c, r, segment_s);
    g_ptr_array_add(f->race->entries, r);
}

/* Leaves out a layout that is too large; recorded for the plan's note where it might have been a
 * row. */
static void leave_out(RhFunnel *f, const RhCandidate *c)
{
    if (f->race != &f->main && f->race != &f->over_budget) {
        f->race->left_out_s = fmin(f->race->left_out_s, c->key);
        return;
    }
    f->plan->too_large_count++;
    f->plan->too_large_bound_s = fmin(f->plan->too_large_bound_s, c->key);
}

/* Prefetches the fold of the next candidate's messages while the current one's are examined. */
static void expect_next(RhFunnel *f)
{
    const GArray *heap = f->race->heap;
    double worth = fmin(rh_funnel_cut_off(f), f->race->foreseen);
    const RhCandidate *next = NULL;
    if (f->c->job.gpus < EXPECT_GPUS_LEAST || rh_funnel_jobs(f) == 1)
        return;
    for (guint i = 0; i < heap->len; i++) {
        const RhCandidate *c = &g_array_index(heap, RhCandidate, i);
        if (c->kind == RH_KEY_GRAPH && c->key < (next ? next->key : worth) &&
            !rh_funnel_waits(f, c))
            next = c;
    }
    if (next) {
        RhLayout l = rh_funnel_layout(f, next->layout);
        rh_bound_expect_messages(f->cache, &l);
    }
}

/* Computes the next better bound of a candidate, and puts it back. */
void rh_funnel_refine_bound(RhFunnel *f, RhCandidate c)
{
    static double (*const bound_s[])(RhBoundCache *, const RhLayout *) = {
        [RH_KEY_SUMS] = rh_bound_gradient_interference_s,
        [RH_KEY_CLOSED] = rh_closed_form_s,
        [RH_KEY_GRAPH] = rh_bound_graph_s,
        [RH_KEY_SEGMENT] = rh_segment_graph_s};
    c.kind++;
    f->plan->segments_count += c.kind == RH_KEY_GRAPH;
    RhLayout l = rh_funnel_layout(f, c.layout);
    if (c.kind == RH_KEY_SEGMENT)
        expect_next(f);
    c.key = fmax(c.key, bound_s[c.kind](f->cache, &l));
    rh_candidate_heap_push(f->race->heap, c);
}

void rh_funnel_examine_candidate(RhFunnel *f, RhCandidate c)
{
    if (c.kind < RH_KEY_WORK) {
        rh_funnel_open(f, &c, f->race->family);
        return;
    }
    RhLayout l = rh_funnel_layout(f, c.layout);
    if ((c.kind >= RH_KEY_CLOSED && rh_funnel_beaten(f, &c)) || rh_funnel_fills_no_row(f, &c))
        return;
    if (c.kind >= RH_KEY_CLOSED && (rh_funnel_waits(f, &c) || rh_funnel_cannot_enter(f, &c))) {
        g_array_append_val(f->waiting, c);
    } else if (rh_funnel_is_too_large(f, &c)) {
        if (f->o->quick)
            g_array_append_val(f->aside, c);
        else
            leave_out(f, &c);
    } else if (c.kind < RH_KEY_SEGMENT) {
        rh_funnel_refine_bound(f, c);
    } else if (f->o->quick && rh_bound_tasks(f->cache, &l) > QUICK_TASKS_MAX) {
        g_array_append_val(f->aside, c);
    } else {
        rh_funnel_join_batch(f, &c,
                             rh_funnel_by_memory(f) ? rh_segment_graph_s(f->cache, &l) : c.key);
    }
}

void rh_funnel_run(RhFunnel *f, RhCandidateQueue *race)
{
    f->race = race;
    while (!rh_funnel_out_of_time(f)) {
        const GArray *heap = race->heap;
        bool over = heap->len == 0 ||
                    rh_candidate_heap_least(heap) >= fmin(rh_funnel_cut_off(f), race->foreseen) ||
                    (f->o->quick && f->plan->rehearsed_count >= race->batch) ||
                    (race->filling && race->tasks_left <= 0);
        if ((int32_t)f->batch->len == race->batch || (over && f->batch->len > 0)) {
            rh_funnel_rehearse_batch(f);
            continue;
        }
        if (over)
            break;
        rh_funnel_examine_candidate(f, rh_candidate_heap_pop(race->heap));
    }
    rh_funnel_leave_batch(f);
}

bool rh_funnel_fills_no_row(RhFunnel *f, const RhCandidate *c)
{
    if (!f->race->filling || c->kind < RH_KEY_WORK)
        return false;
    RhLayout l = rh_funnel_layout(f, c->layout);
    int32_t at = rh_funnel_entry_of_kind(f, &l);
    return at > 0 && c->key >= rh_funnel_worth_of(f, f->main.entries->pdata[at]);
}
