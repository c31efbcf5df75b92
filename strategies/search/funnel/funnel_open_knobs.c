/* Setting the open knobs of candidates, best bound first: first the chunks of a cut, then the
 * degrees of sharing and the recomputation (space.h). So layouts of a cut that its bound rules out
 * are never listed.
 *
 * More recomputation never saves time in one order of kernels. Where a layout fits, the same layout
 * with more recomputation is therefore left out: the smallest sets of modules that fit remain, and
 * the fewest whole layers that fit. In pairs what is recomputed may change the order
 * (bounds/recompute_keeps_pair_order.c), so there a larger set is left out only if it keeps the order of one that
 * fits. Of whole layers the fewest that fit and all of them are listed. */
#include <math.h>
#include <string.h>

#include "strategies/search/bounds/recompute_bound.h"
#include "strategies/search/funnel/funnel.h"
#include "strategies/search/funnel/near_miss_layouts.h"
#include "strategies/train/recompute_fewest_layers.h"

typedef struct {
    RhFunnel *f;
    double key;         /* of the candidate; a lower bound of all layouts that come of it */
    const char *family; /* the only family listed; NULL: all */
    RhRecomputeQuestion question;
} Opening;

/* Returns how many orders of ranks are tried: only the first where they do not differ. */
static guint orders_count(const RhFunnel *f, const RhLayout *l)
{
    guint count = rh_space_orders(f->layouts)->len;
    return rh_train_orders_differ(f->c, l) ? count : MIN(count, 1);
}

/* Returns a lower bound of the open layout: the least over its orders of ranks, without
 * recomputation or, `with_memory`, with as little as memory requires. */
static double slots_s(const Opening *o, const RhLayout *open, bool with_memory)
{
    RhLayout l = *open;
    RhBoundCache *cache = o->f->cache;
    double least = (double)INFINITY;
    RhMemoryExcess excess = {0, 0};
    if (with_memory)
        excess = rh_bound_memory_excess(cache, open, &o->question);
    const GArray *orders = rh_space_orders(o->f->layouts);
    for (guint i = 0, count = orders_count(o->f, open); i < count; i++) {
        l.order = g_array_index(orders, RhOrder, i);
        least = fmin(least, with_memory ? rh_bound_recomputed_s(cache, &l, &o->question, excess)
                                        : rh_bound_open_work_s(cache, &l));
    }
    return fmax(o->key, least);
}

static double recomputed_s(const Opening *o, const RhLayout *open)
{
    return slots_s(o, open, true);
}

static void push_open(RhFunnel *f, const RhLayout *l, double key, RhKeyKind kind)
{
    f->lacks_memory |= isinf(key);
    if (isinf(key))
        return;
    rh_layout_store_add(f->space, l, (double)INFINITY);
    rh_candidate_heap_push(f->race->heap,
                           (RhCandidate){rh_layout_store_count(f->space) - 1, key, kind});
}

/* --- what is recomputed --- */

/* Choices of recomputation for one layout. */
typedef struct {
    const Opening *o;
    RhLayout layout; /* without recomputation */
    GArray *fit;     /* RhRecompute: sets that keep within what is ranked, all layers of each */
    uint32_t needed; /* modules without which no set of modules fits, nor nearly */
    bool layers_fit; /* some, but not all, recomputed layers fit */
} Choosing;

/* Is the first set a subset of the second, or equal to it? */
static bool is_part(RhRecompute some, RhRecompute more)
{
    return some == RH_RECOMPUTE_NONE ||
           (more != RH_RECOMPUTE_FULL && ((uint32_t)some & ~(uint32_t)more) == 0);
}

/* Does the layout take at least as long with more recomputed than with some of it? */
static bool is_slower(const Choosing *choosing, RhRecompute some, RhRecompute more)
{
    const Opening *o = choosing->o;
    const RhLayout *plain = &choosing->layout;
    return !rh_pipeline_of(plain)->pairs || some == more ||
           rh_bound_pair_keeps_order(o->f->cache, rh_bound_shard(o->f->cache, plain),
                                     o->question.modules, some, more);
}

/* Is one of the sets that fit a part of this one, and at least as quick? */
static bool is_beaten(const Choosing *choosing, RhRecompute recompute)
{
    for (guint i = 0; i < choosing->fit->len; i++) {
        RhRecompute set = g_array_index(choosing->fit, RhRecompute, i);
        if (is_part(set, recompute) && is_slower(choosing, set, recompute))
            return true;
    }
    return false;
}

/* Adds a layout that fits to the candidates within the memory budget, or to those over it. */
static void enter(const Opening *o, const RhLayout *l, double peak_bytes)
{
    RhFunnel *f = o->f;
    bool roomy = peak_bytes <= f->room.ranked_bytes;
    GArray *heap = !roomy ? f->over_budget.heap : f->race->heap;
    double key = rh_funnel_by_memory(f) ? peak_bytes : fmax(o->key, rh_bound_work_s(f->cache, l));
    f->plan->fit_count++;
    f->plan->screened_count++;
    f->plan->within_budget_count += roomy;
    rh_candidate_heap_push(heap,
                           (RhCandidate){rh_layout_store_count(f->space) - 1, key,
                                         rh_funnel_by_memory(f) ? RH_KEY_SEGMENT : RH_KEY_WORK});
}

/* Adds the layout in every order of ranks that makes a difference. Returns the peak of its fullest
 * GPU: INFINITY if it is far too large, NAN if no order is legal. Layouts that do not nearly fit
 * are dropped. */
static double add_layout(const Opening *o, const RhLayout *chosen)
{
    RhFunnel *f = o->f;
    RhLayout l = *chosen;
    double peak_bytes = (double)NAN;
    const GArray *orders = rh_space_orders(f->layouts);
    for (guint i = 0, count = orders_count(f, chosen); i < count; i++) {
        RhTrainMemory m;
        l.order = g_array_index(orders, RhOrder, i);
        if (!rh_space_admits(f->layouts, &l))
            continue;
        f->plan->legal_count++;
        peak_bytes = fmin(peak_bytes, (double)INFINITY);
        if (!rh_bound_memory_within(f->cache, &l, f->listed_bytes, &m))
            continue;
        rh_layout_store_add(f->space, &l, m.peak_bytes);
        if (m.peak_bytes <= f->room.most_bytes)
            enter(o, &l, m.peak_bytes);
        peak_bytes = fmin(peak_bytes, m.peak_bytes);
    }
    return peak_bytes;
}

/* Adds the layout with the fewest recomputed layers of each chunk that fit; with the same number in
 * every chunk if the framework has one number; with all layers if it has none. */
static void add_layers(const Opening *o, const RhLayout *chosen)
{
    RhFunnel *f = o->f;
    RhLayout l = *chosen;
    rh_recompute_fewest_layers(rh_bound_shard(f->cache, chosen)->model_cost,
                               rh_bound_pipeline_profile(f->cache, chosen), f->room.ranked_bytes,
                               &l);
    if (l.recompute != chosen->recompute)
        return; /* none, which is a choice of its own */
    if (!isnan(add_layout(o, &l)) || l.recomputed_layers_count == 0)
        return;
    if (rh_recompute_evenly(f->c, &l) && !isnan(add_layout(o, &l)))
        return;
    l.recomputed_layers_count = 0;
    add_layout(o, &l);
}

/* Does the layout fit with all layers recomputed? Then the search for fewer layers is deferred
 * until its bound is the best left. */
static bool defer_layers(const Opening *o, const RhLayout *chosen)
{
    RhFunnel *f = o->f;
    RhLayout all = *chosen;
    RhTrainMemory m;
    all.recomputed_layers_count = 0;
    if (!rh_bound_memory_within(f->cache, &all, f->room.ranked_bytes, &m))
        return false;
    Opening fewer = *o;
    fewer.question.modules = (uint32_t)chosen->recompute;
    fewer.question.shares_open = fewer.question.instead = false;
    fewer.question.most_bytes = f->room.ranked_bytes;
    bool bounded = chosen->recompute == RH_RECOMPUTE_FULL && !rh_funnel_by_memory(f);
    push_open(f, chosen, bounded ? recomputed_s(&fewer, chosen) : o->key, RH_KEY_LAYERS);
    return true;
}

static void choose(Choosing *choosing, RhRecomputeChoice choice)
{
    const Opening *o = choosing->o;
    const RhFunnel *f = o->f;
    RhLayout l = choosing->layout;
    bool every = f->o->exhaustive || rh_funnel_by_memory(f);
    bool whole = choice.recompute == RH_RECOMPUTE_FULL;
    if (!whole && (choosing->needed & ~(uint32_t)choice.recompute) != 0) {
        o->f->lacks_memory = true;
        return;
    }
    l.recompute = choice.recompute;
    l.recomputed_layers_count = choice.layers_count;
    if (!every &&
        (is_beaten(choosing, choice.recompute) ||
         (whole && choosing->layers_fit && is_slower(choosing, RH_RECOMPUTE_NONE, l.recompute))))
        return;
    if (whole && !is_slower(choosing, RH_RECOMPUTE_NONE, l.recompute))
        o->f->plan->paired_layers = true;
    if (choice.layers_count == RH_RECOMPUTED_FEWEST)
        choosing->layers_fit |= defer_layers(o, &l) && whole;
    else if (add_layout(o, &l) <= f->room.ranked_bytes)
        g_array_append_val(choosing->fit, choice.recompute);
}

/* Finds the first step of the knob that replaces recomputation (RhKnob.instead), from `step` on,
 * that fits into `most_bytes`. Returns the step after it; 0 if none fits. */
static int32_t find_instead(const Opening *o, const RhLayout *shares, double most_bytes,
                            int32_t step, RhLayout *out)
{
    const RhFunnel *f = o->f;
    const RhKnob *knob = o->question.instead ? rh_space_instead(f->layouts, shares) : NULL;
    RhTrainMemory m;
    for (; knob; step++) {
        *out = *shares;
        out->recompute = RH_RECOMPUTE_FULL;
        if (!knob->outside_next(f->c, out, step))
            return 0;
        if (rh_bound_memory_within(f->cache, out, most_bytes, &m))
            return step + 1;
    }
    return 0;
}

static bool has_none(const GArray *fit)
{
    for (guint i = 0; i < fit->len; i++)
        if (g_array_index(fit, RhRecompute, i) == RH_RECOMPUTE_NONE)
            return true;
    return false;
}

/* Adds layouts whose recomputation is replaced: the first that fits if nothing else does, or all of
 * them in a search of everything. */
static void add_instead(const Opening *o, const RhLayout *shares, const GArray *fit)
{
    const RhFunnel *f = o->f;
    bool every = f->o->exhaustive || rh_funnel_by_memory(f);
    double most_bytes = every ? f->room.most_bytes : f->room.ranked_bytes;
    RhLayout l;
    if (!every && has_none(fit))
        return;
    for (int32_t step = 0; (step = find_instead(o, shares, most_bytes, step, &l)) > 0;) {
        add_layout(o, &l);
        if (!every)
            return;
    }
}

/* Does the layout fit, or nearly, with these modules recomputed? */
static bool fits_with(const Opening *o, const RhLayout *shares, uint32_t modules)
{
    RhLayout l = *shares;
    RhTrainMemory m;
    l.recompute = (RhRecompute)modules;
    return rh_bound_memory_within(o->f->cache, &l, o->f->listed_bytes, &m);
}

/* Returns the modules that sets may recompute; *full: whole layers may be, too. */
static uint32_t modules_of(const RhFunnel *f, bool *full)
{
    const GArray *choices = rh_space_recompute_choices(f->layouts);
    uint32_t all = 0;
    *full = false;
    for (guint i = 0; i < choices->len; i++) {
        RhRecomputeChoice choice = g_array_index(choices, RhRecomputeChoice, i);
        *full |= choice.recompute == RH_RECOMPUTE_FULL;
        all |= choice.recompute == RH_RECOMPUTE_FULL ? 0 : (uint32_t)choice.recompute;
    }
    return all;
}

/* Can any choice of recomputation fit, or nearly? Tries all modules, whole layers, and the knob
 * that replaces recomputation. *needed: the modules without which no set fits; all bits: none does.
 * What is recomputed is not kept, so a set needs no more memory than a part of it. */
static bool may_fit(const Opening *o, const RhLayout *shares, uint32_t *needed)
{
    bool full;
    uint32_t all = modules_of(o->f, &full);
    RhLayout l;
    *needed = fits_with(o, shares, all) ? 0 : ~0u;
    for (uint32_t left = *needed ? 0 : all; left; left &= left - 1)
        if (!fits_with(o, shares, all & ~(left & -left)))
            *needed |= left & -left;
    return *needed != ~0u || (full && fits_with(o, shares, RH_RECOMPUTE_FULL)) ||
           find_instead(o, shares, o->f->listed_bytes, 0, &l) > 0;
}

/* Lists the choices of recomputation of a layout of which all else is set. */
static void choose_recompute(const Opening *o, const RhLayout *shares)
{
    RhFunnel *f = o->f;
    uint32_t needed;
    if (!may_fit(o, shares, &needed)) {
        f->lacks_memory = true;
        return;
    }
    const GArray *choices = rh_space_recompute_choices(f->layouts);
    g_autoptr(GArray) fit = g_array_new(FALSE, FALSE, sizeof(RhRecompute));
    Choosing choosing = {.o = o, .layout = *shares, .fit = fit, .needed = needed};
    for (guint i = 0; i < choices->len && !rh_funnel_out_of_time(f); i++)
        choose(&choosing, g_array_index(choices, RhRecomputeChoice, i));
    add_instead(o, shares, fit);
}

/* Lists the choices of recomputation of a layout of which all else is set. Where only the best is
 * asked for, they wait until a bound that knows what its stages communicate is the best left. */
static bool push_shares(const RhLayout *shares, void *user)
{
    const Opening *o = user;
    RhFunnel *f = o->f;
    if (o->family && strcmp(rh_layout_family(shares), o->family) != 0)
        return true;
    if (!f->o->best_alone || f->o->exhaustive || rh_funnel_by_memory(f)) {
        choose_recompute(o, shares);
    } else {
        Opening set = *o;
        set.question.shares_open = false;
        push_open(f, shares, recomputed_s(&set, shares), RH_KEY_SHARES);
    }
    return !rh_funnel_out_of_time(f);
}

/* Returns the memory question of a cut's chunks. */
static RhRecomputeQuestion question_of(const RhFunnel *f, const RhLayout *cut)
{
    return (RhRecomputeQuestion){
        rh_space_recompute_modules(f->layouts, cut), rh_space_recomputes_unevenly(f->layouts), true,
        rh_space_instead(f->layouts, cut) != NULL, fmin(f->room.most_bytes, f->listed_bytes)};
}

/* --- cuts --- */

/* Number of cuts that are opened at once: each time twice as many as before, so that few are opened
 * in vain. */
#define CUTS_LEAST 32
#define CUTS_MOST  1024

typedef struct {
    RhFunnel *f;
    GArray *cuts; /* RhLayout */
    GArray *keys; /* double, of each */
} Cuts;

/* Factor over the least bound so far up to which the memory of chunks is bounded at once, which
 * takes ten times as long; others wait until their bound is the best left. Results do not depend on
 * it; chosen by the time that 70B on 64 GPUs took. */
#define CHUNKS_NEAR 1.15

static bool push_chunks(const RhLayout *chunks, void *user)
{
    const Opening *o = user;
    RhFunnel *f = o->f;
    if (rh_funnel_by_memory(f)) {
        push_open(f, chunks, 0, RH_KEY_CHUNKS);
        return !rh_funnel_out_of_time(f);
    }
    double slots = slots_s(o, chunks, false);
    if (slots > CHUNKS_NEAR * f->chunks_least_s) {
        push_open(f, chunks, slots, RH_KEY_SLOTS);
    } else {
        double key = recomputed_s(o, chunks);
        push_open(f, chunks, key, RH_KEY_CHUNKS);
        f->chunks_least_s = fmin(f->chunks_least_s, key);
    }
    return !rh_funnel_out_of_time(f);
}

static void open_cut(RhFunnel *f, const RhLayout *cut, double key)
{
    Opening o = {f, key, NULL, question_of(f, cut)};
    rh_bound_forget_shards(f->cache);
    rh_space_walk_chunks(f->layouts, cut, push_chunks, &o);
}

static void add_cut(Cuts *cuts, const RhCandidate *c)
{
    RhLayout l = rh_funnel_layout(cuts->f, c->layout);
    g_array_append_val(cuts->cuts, l);
    g_array_append_val(cuts->keys, c->key);
}

/* Puts a cut back with the bound of all its work. */
static void bound_cut(RhFunnel *f, RhCandidate c)
{
    RhLayout l = rh_funnel_layout(f, c.layout);
    rh_bound_forget_shards(f->cache);
    c.key = fmax(c.key, rh_cut_bound_s(f->cache, &l));
    c.kind = RH_KEY_CUT;
    rh_candidate_heap_push(f->race->heap, c);
}

/* Share behind the opened cut, or behind the best chunks so far, up to which further cuts are
 * opened with it. For others a step may be known later that they cannot better. */
#define CUTS_AHEAD_FRAC 0.05

/* Collects the next cuts while nothing known is better. */
static void gather_cuts(Cuts *cuts, double key, guint most)
{
    RhFunnel *f = cuts->f;
    GArray *heap = f->race->heap;
    double ahead =
        (1 + CUTS_AHEAD_FRAC) * (isinf(f->chunks_least_s) ? key : fmax(key, f->chunks_least_s));
    double worth = fmin(ahead, fmin(rh_funnel_cut_off(f), f->race->foreseen));
    g_autoptr(GArray) others = g_array_new(FALSE, FALSE, sizeof(RhCandidate));
    while (cuts->cuts->len < most && rh_candidate_heap_least(heap) < worth) {
        RhCandidate c = rh_candidate_heap_pop(heap);
        if (c.kind == RH_KEY_KERNELS)
            bound_cut(cuts->f, c);
        else if (c.kind == RH_KEY_CUT)
            add_cut(cuts, &c);
        else
            g_array_append_val(others, c);
    }
    for (guint i = 0; i < others->len; i++)
        rh_candidate_heap_push(heap, g_array_index(others, RhCandidate, i));
}

/* Opens the cut and those that come next, grouped by shard, whose tables they share. All in this
 * process: others would have to make the tables again, which takes longer. */
static void open_cuts(RhFunnel *f, const RhCandidate *first)
{
    g_autoptr(GArray) layouts = g_array_new(FALSE, FALSE, sizeof(RhLayout));
    g_autoptr(GArray) keys = g_array_new(FALSE, FALSE, sizeof(double));
    Cuts cuts = {f, layouts, keys};
    f->cuts_at_once = CLAMP(2 * f->cuts_at_once, CUTS_LEAST, CUTS_MOST);
    add_cut(&cuts, first);
    gather_cuts(&cuts, first->key, (guint)f->cuts_at_once);
    g_autoptr(GArray) order = rh_funnel_by_shard(f, layouts);
    f->plan->cuts_opened_count += layouts->len;
    for (guint i = 0; i < order->len && !rh_funnel_out_of_time(f); i++) {
        int32_t at = g_array_index(order, int32_t, i);
        open_cut(f, &g_array_index(layouts, RhLayout, at), g_array_index(keys, double, at));
        rh_funnel_report(f, "examining divisions of the model", i + 1, order->len);
    }
}

static void open_chunks(RhFunnel *f, const RhCandidate *c, const char *family)
{
    rh_bound_forget_shards(f->cache);
    RhLayout l = rh_funnel_layout(f, c->layout);
    Opening o = {f, c->key, family, question_of(f, &l)};
    if (c->kind == RH_KEY_SLOTS) {
        double key = recomputed_s(&o, &l);
        f->lacks_memory |= isinf(key);
        if (!isinf(key))
            rh_candidate_heap_push(f->race->heap, (RhCandidate){c->layout, key, RH_KEY_CHUNKS});
    } else if (c->kind == RH_KEY_CHUNKS) {
        f->plan->chunks_opened_count++;
        rh_space_walk_shares(f->layouts, &l, push_shares, &o);
    } else if (c->kind == RH_KEY_SHARES) {
        choose_recompute(&o, &l);
    } else {
        add_layers(&o, &l);
    }
}

/* Share behind the opened candidate up to which further candidates are opened with it. Results do
 * not depend on it; chosen by the time that Mixtral-8x22B on 1,536 GPUs took. */
#define CHUNKS_AHEAD_FRAC 0.01

/* Collects the next candidates of the same kind while nothing known is better. */
static GArray *gather_chunks(RhFunnel *f, const RhCandidate *first)
{
    GArray *heap = f->race->heap, *next = g_array_new(FALSE, FALSE, sizeof(RhCandidate));
    double worth =
        fmin((1 + CHUNKS_AHEAD_FRAC) * first->key, fmin(rh_funnel_cut_off(f), f->race->foreseen));
    g_autoptr(GArray) others = g_array_new(FALSE, FALSE, sizeof(RhCandidate));
    g_array_append_val(next, *first);
    while (rh_candidate_heap_least(heap) < worth) {
        RhCandidate c = rh_candidate_heap_pop(heap);
        g_array_append_val(c.kind == first->kind ? next : others, c);
    }
    for (guint i = 0; i < others->len; i++)
        rh_candidate_heap_push(heap, g_array_index(others, RhCandidate, i));
    return next;
}

/* Opens the candidate and those that come next, grouped by shard, whose tables they share. */
static void open_many(RhFunnel *f, const RhCandidate *first, const char *family)
{
    g_autoptr(GArray) next = gather_chunks(f, first);
    g_autoptr(GArray) layouts = g_array_new(FALSE, FALSE, sizeof(RhLayout));
    for (guint i = 0; i < next->len; i++) {
        RhLayout l = rh_funnel_layout(f, g_array_index(next, RhCandidate, i).layout);
        g_array_append_val(layouts, l);
    }
    g_autoptr(GArray) order = rh_funnel_by_shard(f, layouts);
    for (guint i = 0; i < order->len && !rh_funnel_out_of_time(f); i++)
        open_chunks(f, &g_array_index(next, RhCandidate, g_array_index(order, int32_t, i)), family);
}

void rh_funnel_open(RhFunnel *f, const RhCandidate *c, const char *family)
{
    if (c->kind == RH_KEY_KERNELS)
        bound_cut(f, *c);
    else if (c->kind == RH_KEY_CUT)
        open_cuts(f, c);
    else
        open_many(f, c, family);
}
