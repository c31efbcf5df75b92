#include "sim/engine/symmetry_fold.h"

#include <string.h>

#include "base/error.h"
#include "base/garray_access.h"
#include "sim/map64.h"

#define SEEN_LAST 16

/* Work space of one refinement: colours are 64-bit hashes until the end. */
typedef struct RhRefinement {
    const RhTraffic *traffic;
    int32_t ranks_count, links_count;
    uint64_t *rank, *rank_next; /* by listed_place(): of the listed ranks */
    uint64_t *link, *link_next;
    uint64_t *flow, *pair_seed;
    uint64_t *instance, *instance_next;
    bool every_link; /* every link has a colour of its own instead of sharing one with its orbit */
    RhMap64 *seen;
    uint64_t seen_last[SEEN_LAST]; /* colours counted last, by their last bits */
    int32_t *peers_first; /* per role, one more at the end: peers are listed role by role */
    int32_t *peers_step;  /* number of places of each peer's other end that are listed */
    int32_t *places, *places_first; /* listed members' places, instance by instance */
} Refine;

/* Place of a rank in the list of ranks that are first in their block. */
static inline int32_t listed_place(const RhTraffic *t, int32_t rank)
{
    return rank / t->block;
}

static void first_rank_colours(const RhTraffic *t, uint64_t *rank)
{
    for (int32_t r = 0; r < t->program->ranks_count; r += t->block)
        rank[listed_place(t, r)] = rh_mix64(11, (uint64_t)(uint32_t)t->role_of_rank[r]);
    for (int32_t r = 0; t->platform->gpu_speeds->len > 0 && r < t->program->ranks_count;
         r += t->block) {
        double speed = rh_platform_gpu_speed(t->platform, rh_program_gpu(t->program, r));
        uint64_t *own = &rank[listed_place(t, r)];
        *own = speed != 1 ? rh_mix64(*own, rh_bits64(speed)) : *own;
    }
    for (int32_t r = 0; t->platform->others->len > 0 && r < t->program->ranks_count;
         r += t->block) {
        int32_t device = rh_platform_device_of(t->platform, rh_program_gpu(t->program, r));
        uint64_t *own = &rank[listed_place(t, r)];
        *own = device > 0 ? rh_mix64(*own, (uint64_t)(uint32_t)device) : *own;
    }
}

static void first_link_colours(Refine *f)
{
    for (int32_t i = 0; i < f->links_count; i++)
        f->link[i] =
            rh_mix64(13, rh_bits64(RH_AT(f->traffic->links, RhTrafficLink, i)->bytes_per_s));
}

static int32_t *peers_by_role(const RhTraffic *t)
{
    uint32_t roles = t->program->roles->len, i = 0;
    int32_t *first = g_new(int32_t, roles + 1);
    for (uint32_t role = 0; role <= roles; role++) {
        while (i < t->peers->len && (uint32_t)RH_AT(t->peers, RhPeer, i)->role < role)
            i++;
        first[role] = (int32_t)i;
    }
    return first;
}

/* Number of listed places of each peer's other end. Messages rotate with their blocks, so they
 * reach as far as some blocks are long. */
static int32_t *peers_steps(const RhTraffic *t)
{
    int32_t *steps = g_new(int32_t, t->peers->len + 1);
    for (uint32_t i = 0; i < t->peers->len; i++)
        steps[i] = RH_AT(t->peers, RhPeer, i)->delta / t->block;
    return steps;
}

/* Returns a hash per pair of the patterns that use it, with their shares. */
static uint64_t *pair_seeds(const RhTraffic *t)
{
    uint64_t *seeds = g_new(uint64_t, t->pairs->len + 1);
    for (uint32_t i = 0; i < t->pairs->len; i++) {
        const RhPair *pair = RH_AT(t->pairs, RhPair, i);
        const RhPairUse *uses = RH_AT(t->uses, RhPairUse, pair->uses_first);
        seeds[i] = 17;
        for (int32_t k = 0; k < pair->uses_count; k++)
            seeds[i] =
                rh_mix64(rh_mix64(seeds[i], (uint64_t)uses[k].pattern), rh_bits64(uses[k].share));
    }
    return seeds;
}

/* Lists the members that are first in their block once, as every round uses them. */
static void list_places(Refine *f)
{
    const RhTraffic *t = f->traffic;
    const int32_t *members = RH_ELEMENTS(t->members, int32_t);
    int32_t count = 0;
    f->places = g_new(int32_t, t->members->len + 1);
    f->places_first = g_new(int32_t, t->instances->len + 1);
    for (uint32_t i = 0; i < t->instances->len; i++) {
        const RhInstance *instance = RH_AT(t->instances, RhInstance, i);
        const int32_t *ranks = members + instance->members_first;
        f->places_first[i] = count;
        for (int32_t k = 0; k < instance->members_count; k++) {
            f->places[count] = listed_place(t, ranks[k]);
            count += f->places[count] * t->block == ranks[k];
        }
    }
    f->places_first[t->instances->len] = count;
}

/* Adds latencies to the colours of instances: a round waits for the slowest of its routes,
 * whichever that is, so a collective's latency is a property of the instance and not of its
 * flows. */
static void take_in_latencies(Refine *f)
{
    const RhTraffic *t = f->traffic;
    for (uint32_t i = 0; i < t->flows->len; i++) {
        const RhTrafficFlow *flow = RH_AT(t->flows, RhTrafficFlow, i);
        if (flow->instance >= 0)
            f->instance[flow->instance] +=
                rh_mix64(rh_mix64(f->pair_seed[flow->pair], rh_bits64(flow->latency_s)), 67);
    }
}

/* Sets the initial colours of ranks, links and instances; an instance's comes from group, shape and
 * latencies. */
static void first_colours(Refine *f)
{
    const RhTraffic *t = f->traffic;
    first_rank_colours(t, f->rank);
    first_link_colours(f);
    for (uint32_t i = 0; i < t->instances->len; i++) {
        const RhInstance *instance = RH_AT(t->instances, RhInstance, i);
        f->instance[i] = rh_mix64((uint64_t)instance->group + 29, (uint64_t)instance->shape);
    }
    take_in_latencies(f);
}

static Refine *refine_new(const RhTraffic *t)
{
    Refine *f = g_new0(Refine, 1);
    f->traffic = t;
    f->ranks_count = t->program->ranks_count;
    f->links_count = (int32_t)t->links->len;
    f->rank = g_new0(uint64_t, listed_place(t, f->ranks_count) + 1);
    f->rank_next = g_new0(uint64_t, listed_place(t, f->ranks_count) + 1);
    f->link = g_new0(uint64_t, f->links_count + 1);
    f->link_next = g_new0(uint64_t, f->links_count + 1);
    f->flow = g_new0(uint64_t, t->flows->len + 1);
    f->pair_seed = pair_seeds(t);
    f->instance = g_new0(uint64_t, t->instances->len + 1);
    f->instance_next = g_new0(uint64_t, t->instances->len + 1);
    f->seen = rh_map64_new();
    f->peers_first = peers_by_role(t);
    f->peers_step = peers_steps(t);
    list_places(f);
    first_colours(f);
    return f;
}

static void refine_free(Refine *f)
{
    if (!f)
        return;
    uint64_t *arrays[] = {f->rank, f->rank_next, f->link,     f->link_next,
                          f->flow, f->pair_seed, f->instance, f->instance_next};
    for (size_t i = 0; i < G_N_ELEMENTS(arrays); i++)
        g_free(arrays[i]);
    rh_map64_free(f->seen);
    g_free(f->peers_first);
    g_free(f->peers_step);
    g_free(f->places);
    g_free(f->places_first);
    g_free(f);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Refine, refine_free)

/* Colour of a flow: its pair, its owner, and the colours of its links in order. */
static inline uint64_t flow_colour(const Refine *f, const RhTrafficFlow *flow,
                                   const RhCrossing *route)
{
    int32_t instance = flow->instance;
    uint64_t whose =
        instance >= 0 ? f->instance[instance] : f->rank[listed_place(f->traffic, flow->owner)];
    double latency_s = instance >= 0 ? 0 : flow->latency_s;
    uint64_t colour = rh_mix64(rh_mix64(f->pair_seed[flow->pair], rh_bits64(latency_s)), whose);
    for (int32_t k = 0; k < flow->links_count; k++)
        colour = rh_mix64(colour,
                          f->every_link ? rh_fold_own_hash(route[k].link) : f->link[route[k].at]);
    return colour;
}

static void colour_flows(Refine *f)
{
    const RhTrafficFlow *flows = RH_ELEMENTS(f->traffic->flows, RhTrafficFlow);
    for (uint32_t i = 0; i < f->traffic->flows->len; i++)
        f->flow[i] = flow_colour(f, &flows[i], rh_traffic_crossings(f->traffic, &flows[i]));
}

/* Adds the colours of flows to their owners and links. Sums of mixed hashes stand for multisets; a
 * flow listed once counts for its orbit. */
static void spread_flows(Refine *f)
{
    const RhTraffic *t = f->traffic;
    const RhTrafficFlow *flows = RH_ELEMENTS(t->flows, RhTrafficFlow);
    for (uint32_t i = 0; i < t->flows->len; i++) {
        const RhTrafficFlow *flow = &flows[i];
        const RhCrossing *route = rh_traffic_crossings(t, flow);
        uint64_t colour = flow_colour(f, flow, route), on_link = rh_mix64(colour, 19);
        uint64_t *whose = flow->instance >= 0 ? &f->instance_next[flow->instance]
                                              : &f->rank_next[listed_place(t, flow->owner)];
        *whose += (uint64_t)flow->per_owner * rh_mix64(colour, 23);
        for (int32_t k = 0; k < flow->links_count; k++)
            f->link_next[route[k].at] += (uint64_t)route[k].flows * on_link;
    }
}

static void spread_groups(Refine *f)
{
    const RhTraffic *t = f->traffic;
    for (uint32_t i = 0; i < t->instances->len; i++) {
        uint64_t own = rh_mix64(f->instance[i], 37), sum = 0;
        for (int32_t k = f->places_first[i]; k < f->places_first[i + 1]; k++) {
            sum += rh_mix64(f->rank[f->places[k]], 31);
            f->rank_next[f->places[k]] += own;
        }
        f->instance_next[i] +=
            (uint64_t)(t->block / RH_AT(t->instances, RhInstance, i)->alike) * sum;
    }
}

static void spread_peers(Refine *f)
{
    const RhTraffic *t = f->traffic;
    int32_t places = (f->ranks_count + t->block - 1) / t->block;
    for (int32_t place = 0; place < places; place++) {
        int32_t role = t->role_of_rank[place * t->block];
        if (role < 0)
            continue;
        for (int32_t i = f->peers_first[role]; i < f->peers_first[role + 1]; i++) {
            int32_t other = place + f->peers_step[i];
            if (other >= 0 && other < places)
                f->rank_next[place] += rh_mix64(f->rank[other], 41 + (uint64_t)i);
        }
    }
}

/* Adds a colour to those seen; consecutive objects mostly have the same one. */
static void count_colour(Refine *f, uint64_t colour)
{
    uint64_t *last = &f->seen_last[colour % SEEN_LAST];
    if (colour != *last)
        rh_map64_at(f->seen, colour, 0);
    *last = colour;
}

/* Counts the colours of ranks, and into *tasks the tasks that their representatives would
 * perform. */
static uint32_t count_ranks(Refine *f, int64_t *tasks)
{
    uint32_t ranks = 0;
    rh_map64_clear(f->seen);
    memset(f->seen_last, 0, sizeof f->seen_last);
    *tasks = 0;
    for (int32_t r = 0; r < f->ranks_count; r += f->traffic->block) {
        int32_t role = f->traffic->role_of_rank[r];
        count_colour(f, f->rank[listed_place(f->traffic, r)]);
        if (f->seen->used > ranks && role >= 0)
            *tasks += rh_program_role(f->traffic->program, role)->tasks_count;
        ranks = f->seen->used;
    }
    return ranks;
}

/* Counts the colours of ranks, which are known, and of instances. */
static uint32_t count_instances(Refine *f)
{
    for (uint32_t i = 0; i < f->traffic->instances->len; i++)
        count_colour(f, f->instance[i]);
    return f->seen->used;
}

static uint32_t count_links(Refine *f, const uint64_t *colours)
{
    rh_map64_clear(f->seen);
    memset(f->seen_last, 0, sizeof f->seen_last);
    for (int32_t i = 0; i < f->links_count; i++)
        count_colour(f, colours[i]);
    return f->seen->used;
}

static void exchange_colours(uint64_t **a, uint64_t **b)
{
    uint64_t *kept = *a;
    *a = *b;
    *b = kept;
}

/* Refines once over ranks and instances, and over links where flows take part: every colour is
 * mixed with the colours around it. */
static void refine_once(Refine *f, bool flows_too)
{
    uint32_t instances = f->traffic->instances->len;
    for (int32_t i = 0; flows_too && i < f->links_count; i++)
        f->link_next[i] = rh_mix64(f->link[i], 47);
    for (int32_t i = 0; i * f->traffic->block < f->ranks_count; i++)
        f->rank_next[i] = rh_mix64(f->rank[i], 43);
    for (uint32_t i = 0; i < instances; i++)
        f->instance_next[i] = rh_mix64(f->instance[i], 53);
    if (flows_too)
        spread_flows(f);
    spread_groups(f);
    spread_peers(f);
    exchange_colours(&f->rank, &f->rank_next);
    exchange_colours(&f->instance, &f->instance_next);
    if (flows_too)
        exchange_colours(&f->link, &f->link_next);
}

typedef enum { REFINE_ALL, REFINE_RANKS_ONLY } Which;

/* Refines until nothing splits: colours are mixed with their previous values, so a round that adds
 * none is the last. Links are by far the most numerous, and are counted, before and after, only
 * when nothing else has split. False when there would be too many representatives; then refinement
 * stops early when flows take part, and *ranks is a lower bound of their number. */
static bool refine(Refine *f, Which which, uint32_t *ranks)
{
    bool links_too = which == REFINE_ALL;
    bool few = true;
    int64_t tasks;
    *ranks = count_ranks(f, &tasks);
    uint32_t before, now = count_instances(f);
    do {
        before = now;
        refine_once(f, links_too);
        *ranks = count_ranks(f, &tasks);
        few = *ranks <= RH_FOLD_COLOURS_MAX && tasks <= RH_FOLD_TASKS_MAX;
        now = count_instances(f);
    } while (
        (few || !links_too) &&
        (now != before || (links_too && count_links(f, f->link) != count_links(f, f->link_next))));
    return few;
}

static void name_colours(const Refine *f, RhFold *fold)
{
    const RhTraffic *t = f->traffic;
    int32_t block = t->block;
    rh_map64_clear(f->seen);
    fold->colour_of_rank = g_new(int32_t, f->ranks_count + 1);
    g_autoptr(GArray) first = g_array_new(FALSE, FALSE, sizeof(int32_t));
    g_autoptr(GArray) counts = g_array_new(FALSE, TRUE, sizeof(int32_t));
    for (int32_t r = 0, listed = 0; r < f->ranks_count; r += block, listed++) {
        int32_t colour = -1;
        if (t->role_of_rank[r] >= 0) {
            colour = *rh_map64_at(f->seen, f->rank[listed], (int32_t)first->len);
            if (colour == (int32_t)first->len) {
                g_array_append_val(first, r);
                g_array_set_size(counts, first->len);
            }
            g_array_index(counts, int32_t, colour) += block;
        }
        for (int32_t place = 0; place < block; place++)
            fold->colour_of_rank[r + place] = colour;
    }
    fold->colours_count = (int32_t)first->len;
    fold->representative = (int32_t *)(void *)g_array_free(g_steal_pointer(&first), FALSE);
    fold->ranks_count = (int32_t *)(void *)g_array_free(g_steal_pointer(&counts), FALSE);
}

static void number_calls(const Refine *f, RhFold *fold)
{
    int32_t instances = (int32_t)f->traffic->instances->len;
    rh_map64_clear(f->seen);
    fold->call_of_instance = g_new(int32_t, instances + 1);
    fold->call_instance = g_new(int32_t, instances + 1);
    fold->instances_count = g_new0(int32_t, instances + 1);
    for (int32_t i = 0; i < instances; i++) {
        int32_t call = *rh_map64_at(f->seen, f->instance[i], fold->calls_count);
        if (call == fold->calls_count)
            fold->call_instance[fold->calls_count++] = i;
        fold->call_of_instance[i] = call;
        fold->instances_count[call] += RH_AT(f->traffic->instances, RhInstance, i)->alike;
    }
}

/* Chooses the slowest rank to represent a merged colour: in step with the others, it sets the
 * pace. */
static void choose_ranks(const RhTraffic *t, RhFold *fold)
{
    fold->steps = rh_merged_rates_new(t);
    rh_merged_rates_find(fold->steps, t, RH_MOVES_MESSAGES);
    const double *slow = fold->steps->of_listed;
    for (int32_t r = 0, place = 0; r < t->program->ranks_count; r += t->block, place++) {
        int32_t colour = fold->colour_of_rank[r], *best = &fold->representative[MAX(colour, 0)];
        if (colour >= 0 && slow[place] > slow[*best / t->block] * (1 + 1e-12))
            *best = r;
    }
}

static void choose_instances(const RhTraffic *t, RhFold *fold)
{
    rh_merged_rates_find(fold->steps, t, RH_MOVES_COLLECTIVES);
    const double *slow = fold->steps->of_instance;
    for (uint32_t i = 0; i < t->instances->len; i++) {
        int32_t *best = &fold->call_instance[fold->call_of_instance[i]];
        if (slow[i] > slow[*best] * (1 + 1e-12))
            *best = (int32_t)i;
    }
}

static char *merged_text(const RhFold *fold, uint32_t wanted)
{
    return g_strdup_printf("at least %u kinds of rank behave differently, which is too many to "
                           "perform; they were merged into %d by role, each performed by its "
                           "slowest rank",
                           wanted, fold->colours_count);
}

static void take_instances(Refine *f, RhFold *fold)
{
    number_calls(f, fold);
    fold->link_hash = g_steal_pointer(&f->link);
    fold->flow_hash = g_steal_pointer(&f->flow);
}

/* Colours of ranks and instances by groups and messages alone, whatever their links. */
typedef struct {
    uint64_t *rank, *instance; /* owned */
} Coarse;

static size_t ranks_bytes(const Refine *f)
{
    return sizeof *f->rank * (size_t)(listed_place(f->traffic, f->ranks_count) + 1);
}

static size_t instances_bytes(const Refine *f)
{
    return sizeof *f->instance * (size_t)(f->traffic->instances->len + 1);
}

static Coarse coarse_of(const Refine *f)
{
    return (Coarse){g_memdup2(f->rank, ranks_bytes(f)), g_memdup2(f->instance, instances_bytes(f))};
}

static void take_coarse(Refine *f, const Coarse *coarse)
{
    memcpy(f->rank, coarse->rank, ranks_bytes(f));
    memcpy(f->instance, coarse->instance, instances_bytes(f));
}

static void coarse_clear(Coarse *coarse)
{
    g_free(coarse->rank);
    g_free(coarse->instance);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Coarse, coarse_clear)

/* Makes the approximate fold: ranks with the same collectives and messages in their program are
 * merged, wherever they are; their instances and flows are assigned on demand. */
static RhFold *fold_merged(Refine *f, const Coarse *coarse, uint32_t wanted)
{
    RhFold *fold = g_new0(RhFold, 1);
    take_coarse(f, coarse);
    name_colours(f, fold);
    choose_ranks(f->traffic, fold);
    fold->approximate_why = merged_text(fold, wanted);
    fold->unfinished = f;
    return fold;
}

/* Makes the exact fold of the final colours. */
static RhFold *fold_exact(Refine *f)
{
    RhFold *fold = g_new0(RhFold, 1);
    colour_flows(f);
    name_colours(f, fold);
    take_instances(f, fold);
    return fold;
}

/* Folds ranks. Colours are first refined by groups and messages, which are few; links can only
 * split them further. The result is the colouring of merged ranks, and the start of the exact
 * refinement. */
RhFold *rh_fold_ranks(const RhTraffic *traffic, RhDeadline deadline)
{
    g_autoptr(Refine) f = refine_new(traffic);
    uint32_t kinds;
    bool few = refine(f, REFINE_RANKS_ONLY, &kinds);
    g_auto(Coarse) coarse = coarse_of(f);
    if (rh_deadline_passed(deadline))
        return NULL;
    if (few && refine(f, REFINE_ALL, &kinds))
        return fold_exact(f);
    return rh_deadline_passed(deadline) ? NULL : fold_merged(g_steal_pointer(&f), &coarse, kinds);
}

void rh_fold_end(RhFold *fold)
{
    g_autoptr(Refine) f = g_steal_pointer(&fold->unfinished);
    if (!f)
        return;
    f->every_link = true;
    colour_flows(f);
    take_instances(f, fold);
    choose_instances(f->traffic, fold);
}

static RhFold *fold_nothing(const RhTraffic *t, GError **error)
{
    if (t->program->ranks_count > RH_UNFOLDED_RANKS_MAX) {
        rh_fail(error, RH_ERROR_USAGE,
                "an unfolded simulation of %d ranks is too large\n"
                "note: at most %d ranks can be performed one by one",
                t->program->ranks_count, RH_UNFOLDED_RANKS_MAX);
        return NULL;
    }
    g_autoptr(Refine) f = refine_new(t);
    for (int32_t r = 0; r < f->ranks_count; r++)
        f->rank[r] = rh_mix64(f->rank[r], (uint64_t)r + 53);
    for (int32_t l = 0; l < f->links_count; l++)
        f->link[l] = rh_mix64(f->link[l], (uint64_t)l + 59);
    for (uint32_t i = 0; i < t->instances->len; i++)
        f->instance[i] = rh_mix64(f->instance[i], (uint64_t)i + 61);
    return fold_exact(f);
}

RhFold *rh_fold_new(const RhTraffic *traffic, bool unfolded, GError **error)
{
    if (unfolded)
        return fold_nothing(traffic, error);
    RhFold *fold = rh_fold_ranks(traffic, rh_deadline_in(0));
    rh_fold_end(fold);
    return fold;
}

void rh_fold_trim(RhFold *fold)
{
    g_clear_pointer(&fold->call_of_instance, g_free);
    g_clear_pointer(&fold->call_instance, g_free);
    g_clear_pointer(&fold->instances_count, g_free);
    g_clear_pointer(&fold->link_hash, g_free);
    g_clear_pointer(&fold->flow_hash, g_free);
    g_clear_pointer(&fold->steps, rh_merged_rates_free);
}

void rh_fold_free(RhFold *fold)
{
    if (!fold)
        return;
    g_free(fold->colour_of_rank);
    g_free(fold->representative);
    g_free(fold->ranks_count);
    g_free(fold->call_of_instance);
    g_free(fold->call_instance);
    g_free(fold->instances_count);
    g_free(fold->link_hash);
    g_free(fold->flow_hash);
    rh_merged_rates_free(fold->steps);
    refine_free(fold->unfinished);
    g_free(fold->approximate_why);
    g_free(fold);
}
