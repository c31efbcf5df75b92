#include "sim/engine/approximate_fold_rates.h"

#include <string.h>

#include "base/garray_access.h"

/* A step of a pattern, and the steps that move at the same time: those of its family in its
 * role. */
typedef struct {
    int32_t family, role, pattern, step;
} Moving;

static int32_t moving_key(const RhTraffic *t, const Moving *m)
{
    return (m->role + 1) * (int32_t)t->patterns->len + m->family;
}

/* Sorts by role, family, pattern and step, by counting, so that a role's flows stay in the cache
 * while all of its families are handled. */
static Moving *sort_moving(const RhTraffic *t, const Moving *all, int32_t count)
{
    size_t keys = (size_t)t->patterns->len * (t->program->roles->len + 1);
    g_autofree uint32_t *first = g_new0(uint32_t, keys + 1);
    Moving *sorted = g_new(Moving, count + 1);
    for (int32_t i = 0; i < count; i++)
        first[moving_key(t, &all[i]) + 1]++;
    for (size_t k = 0; k < keys; k++)
        first[k + 1] += first[k];
    for (int32_t i = 0; i < count; i++)
        sorted[first[moving_key(t, &all[i])]++] = all[i];
    return sorted;
}

static Moving *list_moving(const RhTraffic *t, const RhTrafficFamily *family,
                           const int32_t *steps_first, RhMoves moves, int32_t *count)
{
    g_autofree Moving *all = g_new(Moving, steps_first[t->patterns->len] + 1);
    *count = 0;
    for (int32_t i = 0; i < (int32_t)t->patterns->len; i++) {
        const RhPattern *pattern = RH_AT(t->patterns, RhPattern, i);
        bool asked = (pattern->group < 0) == (moves == RH_MOVES_MESSAGES);
        for (int32_t step = 0; asked && step < steps_first[i + 1] - steps_first[i]; step++) {
            double share;
            int32_t flow = rh_traffic_flow_of_step(t, pattern, step, 0, &share);
            int32_t owner = RH_AT(t->flows, RhTrafficFlow, flow)->owner;
            all[(*count)++] = (Moving){family[i].first, t->role_of_rank[owner], i, step};
        }
    }
    return sort_moving(t, all, *count);
}

/* State of counting the flows over each link that move at the same time: those of a family in one
 * role. */
typedef struct {
    const RhTraffic *traffic;
    const RhTrafficFamily *family;
    RhMergedRates *steps;
} Finder;

static double slowest_link(const RhTraffic *t, const RhTrafficFlow *flow, const RhCrossed *crossed)
{
    const RhCrossing *route = rh_traffic_crossings(t, flow);
    double slowest = 0;
    for (int32_t l = 0; l < flow->links_count; l++)
        slowest =
            MAX(slowest, crossed[route[l].at].flows / rh_traffic_link(t, &route[l])->bytes_per_s);
    return slowest;
}

static void take_step(const Finder *f, const Moving *moving)
{
    const RhTraffic *t = f->traffic;
    const RhPattern *pattern = RH_AT(t->patterns, RhPattern, moving->pattern);
    RhMergedRate *merged = &f->steps->steps[f->steps->first[moving->pattern] + moving->step];
    const RhTrafficFlow *flow = NULL;
    double most = 0;
    *merged = (RhMergedRate){0};
    for (int32_t k = 0; k < rh_pattern_step(pattern); k++) {
        double share;
        flow = RH_AT(t->flows, RhTrafficFlow,
                     rh_traffic_flow_of_step(t, pattern, moving->step, k, &share));
        double s_per_byte =
            slowest_link(t, flow, f->steps->crossed) / f->family[moving->pattern].bytes;
        most = MAX(most, s_per_byte);
        merged->latency_s = MAX(merged->latency_s, flow->latency_s);
        merged->shares += flow->links_count > 0 ? share : 0;
        if (s_per_byte * share > merged->s_per_byte) {
            merged->s_per_byte = s_per_byte * share;
            merged->slowest = k;
        }
    }
    double *own = flow->instance >= 0 ? &f->steps->of_instance[flow->instance]
                                      : &f->steps->of_listed[flow->owner / t->block];
    *own = MAX(*own, most);
}

/* Finds the rates of steps: each link is shared by the flows that move at the same time. */
static void find_steps(const Finder *f, const Moving *all, int32_t count)
{
    for (int32_t first = 0, end; first < count; first = end) {
        for (end = first; end < count && all[end].family == all[first].family &&
                          all[end].role == all[first].role;
             end++)
            rh_traffic_count_crossed(f->traffic, all[end].pattern, all[end].step,
                                     f->family[all[end].pattern].bytes, first + 1,
                                     f->steps->crossed);
        for (int32_t i = first; i < end; i++)
            take_step(f, &all[i]);
    }
}

/* Returns the index of each pattern's first step, and at the end the number of steps. */
static int32_t *number_steps(const RhTraffic *t)
{
    int32_t *first = g_new0(int32_t, t->patterns->len + 1);
    for (uint32_t i = 0; i < t->patterns->len; i++) {
        const RhPattern *pattern = RH_AT(t->patterns, RhPattern, i);
        first[i + 1] = first[i] + pattern->flows_count / rh_pattern_step(pattern);
    }
    return first;
}

RhMergedRates *rh_merged_rates_new(const RhTraffic *t)
{
    RhMergedRates *s = g_new0(RhMergedRates, 1);
    s->first = number_steps(t);
    s->steps = g_new(RhMergedRate, s->first[t->patterns->len] + 1);
    s->of_listed = g_new0(double, t->program->ranks_count / t->block + 1);
    s->of_instance = g_new0(double, t->instances->len + 1);
    s->crossed = g_new0(RhCrossed, t->links->len + 1);
    return s;
}

void rh_merged_rates_find(RhMergedRates *s, const RhTraffic *t, RhMoves moves)
{
    int32_t count;
    g_autofree RhTrafficFamily *family = rh_traffic_families(t);
    g_autofree Moving *all = list_moving(t, family, s->first, moves, &count);
    memset(s->crossed, 0, sizeof *s->crossed * t->links->len);
    find_steps(&(Finder){t, family, s}, all, count);
}

void rh_merged_rates_free(RhMergedRates *p)
{
    if (!p)
        return;
    g_free(p->first);
    g_free(p->steps);
    g_free(p->of_listed);
    g_free(p->of_instance);
    g_free(p->crossed);
    g_free(p);
}
