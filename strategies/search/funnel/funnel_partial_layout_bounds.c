/* Cuts of the space and their lower bounds, computed by several processes. Cuts with the same shard
 * are bounded one after another, since the cost of its layers is most of the work. */
#include <math.h>
#include <string.h>

#include "base/serialize.h"
#include "strategies/search/bounds/bound_cache.h"
#include "strategies/search/funnel/forked_work.h"
#include "strategies/search/funnel/funnel.h"
#include "strategies/search/funnel/near_miss_layouts.h"
#include "strategies/train/layout_representatives.h"

/* Least number of cuts for one process. */
#define CUTS_A_PROCESS 512

/* CUTS_NEAR: factor over the least bound so far beyond which a cut is bounded by its kernels alone
 * until it is the best left, because collectives take most of the time. SAMPLE: one cut of so many
 * is bounded first, to get a least bound. Results depend on neither; chosen by the time that
 * DeepSeek-V3 on 2,048 GPUs took. */
#define CUTS_NEAR 1.5
#define SAMPLE    256

typedef struct {
    double key; /* INFINITY: its states do not fit */
    RhKeyKind kind;
} Bound;

typedef struct {
    RhFunnel *f;
    GArray *cuts;  /* RhLayout */
    GArray *order; /* rh_funnel_by_shard */
    Bound *bounds; /* of each cut */
} Listing;

static bool add_cut(const RhLayout *cut, void *user)
{
    Listing *list = user;
    RhFunnel *f = list->f;
    g_array_append_vals(list->cuts, cut, 1);
    if (f->plan->cuts_count++ % 64 == 0)
        rh_funnel_report(f, "listing divisions of the model", f->plan->cuts_count,
                         f->plan->cuts_count);
    return !rh_funnel_out_of_time(f);
}

typedef struct {
    RhBoundKey shard;
    int32_t at;
} Place;

static int by_shard(const void *a, const void *b)
{
    const Place *x = a, *y = b;
    int differs = memcmp(&x->shard, &y->shard, sizeof x->shard);
    return differs ? differs : (x->at > y->at) - (x->at < y->at);
}

GArray *rh_funnel_by_shard(const RhFunnel *f, const GArray *cuts)
{
    g_autoptr(GArray) places = g_array_sized_new(FALSE, FALSE, sizeof(Place), cuts->len);
    GArray *order = g_array_sized_new(FALSE, FALSE, sizeof(int32_t), cuts->len);
    for (guint i = 0; i < cuts->len; i++) {
        RhLayout plain = rh_train_plain_cut(&g_array_index(cuts, RhLayout, i), RH_ORDER_TP_DP_PP);
        Place place = {rh_bound_shard_key(f->cache, &plain), (int32_t)i};
        g_array_append_val(places, place);
    }
    g_array_sort(places, by_shard);
    for (guint i = 0; i < places->len; i++)
        g_array_append_val(order, g_array_index(places, Place, i).at);
    return order;
}

static Bound bound_of(RhFunnel *f, const RhLayout *cut)
{
    rh_bound_forget_shards(f->cache);
    if (!rh_bound_states_fit(f->cache, cut, f->listed_bytes))
        return (Bound){(double)INFINITY, RH_KEY_CUT};
    if (rh_funnel_by_memory(f))
        return (Bound){0, RH_KEY_CUT};
    double kernels_s = rh_cut_bound_kernels_s(f->cache, cut);
    if (kernels_s > CUTS_NEAR * f->cuts_least_s || kernels_s >= f->main.worth)
        return (Bound){kernels_s, RH_KEY_KERNELS};
    Bound bound = {rh_cut_bound_s(f->cache, cut), RH_KEY_CUT};
    f->cuts_least_s = fmin(f->cuts_least_s, bound.key);
    return bound;
}

static void find_bound(int32_t question, GByteArray *out, void *user)
{
    const Listing *list = user;
    int32_t at = g_array_index(list->order, int32_t, question);
    Bound bound = bound_of(list->f, &g_array_index(list->cuts, RhLayout, at));
    rh_pack(out, &bound, sizeof bound);
}

static void take_bounds(int32_t begin, int32_t end, const GByteArray *answers, void *user)
{
    const Listing *list = user;
    RhUnpack in = {answers->data, answers->data + answers->len, true};
    for (int32_t i = begin; i < end; i++)
        rh_unpack(&in, &list->bounds[g_array_index(list->order, int32_t, i)], sizeof(Bound));
}

static void find_bounds(Listing *list)
{
    list->bounds = g_new(Bound, list->cuts->len + 1);
    for (guint i = 0; i < list->cuts->len; i++)
        list->bounds[i] = (Bound){(double)INFINITY, RH_KEY_CUT};
    for (guint i = SAMPLE / 2; i < list->cuts->len && !rh_funnel_out_of_time(list->f); i += SAMPLE)
        bound_of(list->f, &g_array_index(list->cuts, RhLayout, i));
    rh_funnel_share_work(list->f, &(RhSharedWork){.count = (int32_t)list->cuts->len,
                                                  .process_least = CUTS_A_PROCESS,
                                                  .parts = 8,
                                                  .stage = "list",
                                                  .find = find_bound,
                                                  .take = take_bounds,
                                                  .user = list});
}

void rh_funnel_list_cuts(RhFunnel *f)
{
    g_autoptr(GArray) cuts = g_array_new(FALSE, FALSE, sizeof(RhLayout));
    Listing list = {.f = f, .cuts = cuts};
    rh_space_walk_cuts(f->layouts, add_cut, &list);
    list.order = rh_funnel_by_shard(f, cuts);
    find_bounds(&list);
    for (guint i = 0; i < cuts->len; i++) {
        Bound bound = list.bounds[i];
        f->lacks_memory |= isinf(bound.key);
        if (isinf(bound.key))
            continue;
        rh_layout_store_add(f->space, &g_array_index(cuts, RhLayout, i), (double)INFINITY);
        rh_candidate_heap_push(f->main.heap, (RhCandidate){rh_layout_store_count(f->space) - 1,
                                                           bound.key, bound.kind});
    }
    g_array_unref(list.order);
    g_free(list.bounds);
}
