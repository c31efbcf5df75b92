#include "sim/engine/folded_network.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/garray_access.h"
#include "sim/equivalent_rank_blocks.h"
#include "sim/map64.h"

typedef struct {
    int32_t pattern, owner;
    int32_t number; /* index in the pattern's flows */
    int32_t flow;
    double share;
} Own;

typedef struct {
    const RhTraffic *traffic;
    const RhFold *fold;
    RhFoldedNetwork *q;
    GArray *own;          /* Own: flows of the representatives, by pattern, owner, number */
    RhMap64 *class_of;    /* flow colour -> class */
    RhMap64 *any_class;   /* pattern and owner -> first class, for merged colours */
    RhMap64 *link_of;     /* link colour -> index of the folded link */
    RhMap64 *weights;     /* class and folded link -> index into counts */
    GArray *counts;       /* int32_t */
    double *latency_s;    /* merged colours: longest per pattern and owner; else NULL */
    RhMap64 *link_number; /* 1 + link, or first of its orbit, that represents a colour -> its folded
                           * link */
    bool *stands;         /* per link of the traffic: does any of its orbit represent a colour? */
} Builder;

static int32_t owner_of(const Builder *b, const RhTrafficFlow *flow)
{
    return flow->instance >= 0 ? b->fold->call_of_instance[flow->instance]
                               : b->fold->colour_of_rank[flow->owner];
}

/* Number of flows that this one represents; 0 when another one does. An instance represents others
 * with all of its flows or none. */
static int32_t stands_for(const Builder *b, const RhTrafficFlow *flow)
{
    const RhFold *fold = b->fold;
    int32_t owner = owner_of(b, flow);
    if (flow->instance >= 0)
        return fold->call_instance[owner] == flow->instance
                   ? fold->instances_count[owner] * flow->per_owner
                   : 0;
    return owner >= 0 && fold->representative[owner] == flow->owner ? fold->ranks_count[owner] : 0;
}

static Own own_of(const Builder *b, int32_t pattern, int32_t number)
{
    Own own = {.pattern = pattern, .number = number};
    own.flow = rh_traffic_flow_of(b->traffic, RH_AT(b->traffic->patterns, RhPattern, pattern),
                                  number, &own.share);
    own.owner = owner_of(b, RH_AT(b->traffic->flows, RhTrafficFlow, own.flow));
    return own;
}

/* Does the flow's sender represent its colour? */
static bool is_representatives(const Builder *b, const RhTrafficFlow *flow)
{
    int32_t colour = b->fold->colour_of_rank[flow->owner];
    return colour >= 0 && b->fold->representative[colour] == flow->owner;
}

/* First flow of a pattern's step: all of a step have one owner. */
static const RhTrafficFlow *first_flow(const Builder *b, const RhPattern *pattern, int32_t step)
{
    double share;
    return RH_AT(b->traffic->flows, RhTrafficFlow,
                 rh_traffic_flow_of_step(b->traffic, pattern, step, 0, &share));
}

/* Finds, for merged colours, all flows of representative ranks, so that they share links with the
 * rank's messages, if their owner represents its colour. */
static void find_representatives_flows(Builder *b)
{
    const RhTraffic *t = b->traffic;
    for (int32_t i = 0; i < (int32_t)t->flows->len; i++) {
        const RhTrafficFlow *flow = RH_AT(t->flows, RhTrafficFlow, i);
        if (!is_representatives(b, flow) || stands_for(b, flow) == 0)
            continue;
        const RhPair *pair = RH_AT(t->pairs, RhPair, flow->pair);
        for (int32_t k = 0; k < pair->uses_count; k++) {
            const RhPairUse *use = RH_AT(t->uses, RhPairUse, pair->uses_first + k);
            const RhPattern *pattern = RH_AT(t->patterns, RhPattern, use->pattern);
            int32_t step = (i - pattern->flows_first) / MAX(pattern->pairs_count, 1);
            Own own = {use->pattern, owner_of(b, flow), step * rh_pattern_step(pattern) + use->edge,
                       i, use->share};
            g_array_append_val(b->own, own);
        }
    }
}

/* Finds the slowest flow of each step that represents its owner's flows. */
static void find_slowest_flows(Builder *b, int32_t index)
{
    const RhPattern *pattern = RH_AT(b->traffic->patterns, RhPattern, index);
    int32_t step = rh_pattern_step(pattern);
    for (int32_t i = 0; i * step < pattern->flows_count; i++) {
        const RhMergedRate *merged = rh_merged_rate(b->fold->steps, index, i);
        if (stands_for(b, first_flow(b, pattern, i)) == 0)
            continue;
        Own own = own_of(b, index, i * step + merged->slowest);
        b->latency_s[index * b->q->owners_count + own.owner] = merged->latency_s;
        if (!is_representatives(b, RH_AT(b->traffic->flows, RhTrafficFlow, own.flow)))
            g_array_append_val(b->own, own);
    }
}

static void find_merged_flows(Builder *b)
{
    size_t owners = (size_t)b->q->owners_count;
    b->latency_s = g_new0(double, b->traffic->patterns->len *owners + 1);
    find_representatives_flows(b);
    for (int32_t i = 0; i < (int32_t)b->traffic->patterns->len; i++)
        find_slowest_flows(b, i);
}

static int compare_own(const void *left, const void *right)
{
    const Own *a = left, *c = right;
    if (a->pattern != c->pattern)
        return a->pattern < c->pattern ? -1 : 1;
    if (a->owner != c->owner)
        return a->owner < c->owner ? -1 : 1;
    return a->number < c->number ? -1 : a->number > c->number;
}

static void find_exact_flows(Builder *b)
{
    for (int32_t i = 0; i < (int32_t)b->traffic->patterns->len; i++) {
        const RhPattern *pattern = RH_AT(b->traffic->patterns, RhPattern, i);
        int32_t step = rh_pattern_step(pattern);
        for (int32_t first = 0; first < pattern->flows_count; first += step) {
            if (stands_for(b, first_flow(b, pattern, first / step)) == 0)
                continue;
            for (int32_t k = 0; k < step; k++) {
                Own own = own_of(b, i, first + k);
                g_array_append_val(b->own, own);
            }
        }
    }
}

static void find_own_flows(Builder *b)
{
    if (b->fold->approximate_why)
        find_merged_flows(b);
    else
        find_exact_flows(b);
    g_array_sort(b->own, compare_own);
}

static int32_t quotient_link(Builder *b, const RhCrossing *crossing)
{
    bool merged = b->fold->approximate_why != NULL;
    RhLink own = merged ? crossing->link : rh_traffic_link(b->traffic, crossing)->first;
    uint64_t colour = merged ? rh_fold_own_hash(own) : b->fold->link_hash[crossing->at];
    int32_t *number = rh_map64_at(b->link_of, colour, (int32_t)b->q->links->len);
    if (*number == (int32_t)b->q->links->len) {
        RhLink link = crossing->link;
        RhFoldedLink added;
        memset(&added, 0, sizeof added); /* including padding: folded networks are compared as
                                          * bytes */
        added.link = link;
        added.bytes_per_s = rh_platform_link_bytes_per_s(b->traffic->platform, link);
        added.divisor = 1;
        g_array_append_val(b->q->links, added);
        rh_map64_at(b->link_number, (uint64_t)own + 1, *number);
        b->stands[crossing->at] = true;
    }
    return *number;
}

static void add_hops(Builder *b, const RhTrafficFlow *flow, RhFlowClass *added)
{
    added->hops_first = (int32_t)b->q->hops->len;
    for (int32_t k = 0; k < flow->links_count; k++) {
        RhBridgeHop hop = {quotient_link(b, rh_traffic_crossings(b->traffic, flow) + k), 0};
        bool known = false;
        for (uint32_t h = (uint32_t)added->hops_first; h < b->q->hops->len; h++)
            known = known || RH_AT(b->q->hops, RhBridgeHop, h)->link == hop.link;
        if (!known)
            g_array_append_val(b->q->hops, hop);
    }
    added->hops_count = (int32_t)b->q->hops->len - added->hops_first;
}

/* Counts flows under merged colours: the classes of a pattern and owner represent all of its flows,
 * not only the picked ones. */
static void count_merged_flows(Builder *b)
{
    size_t owners = (size_t)b->q->owners_count;
    g_autofree double *shares = g_new0(double, b->traffic->patterns->len *owners + 1);
    for (int32_t i = 0; i < (int32_t)b->traffic->patterns->len; i++) {
        const RhPattern *pattern = RH_AT(b->traffic->patterns, RhPattern, i);
        int32_t step = rh_pattern_step(pattern);
        for (int32_t k = 0; k * step < pattern->flows_count; k++) {
            int32_t owner = owner_of(b, first_flow(b, pattern, k));
            if (owner >= 0)
                shares[(size_t)i * owners + (size_t)owner] +=
                    rh_merged_rate(b->fold->steps, i, k)->shares * b->traffic->block;
        }
    }
    for (uint32_t i = 0; i < b->q->classes->len; i++) {
        RhFlowClass *class = RH_AT(b->q->classes, RhFlowClass, i);
        size_t cell = (size_t) class->pattern * owners + (size_t) class->owner;
        int32_t count = b->q->classes_first[cell + 1] - b->q->classes_first[cell];
        class->flows_count = shares[cell] / (class->share * MAX(count, 1));
    }
}

/* Key of the class of a flow in one of the patterns that use its pair. */
static uint64_t class_key(const Builder *b, int32_t flow, int32_t pattern, double share)
{
    return rh_mix64(rh_mix64(b->fold->flow_hash[flow], (uint64_t)pattern), rh_bits64(share));
}

static void add_class(Builder *b, const Own *own)
{
    const RhTrafficFlow *flow = RH_AT(b->traffic->flows, RhTrafficFlow, own->flow);
    uint64_t cell = (uint64_t)own->pattern * (uint64_t)b->q->owners_count + (uint64_t)own->owner;
    int32_t fresh = (int32_t)b->q->classes->len;
    uint64_t key = class_key(b, own->flow, own->pattern, own->share);
    int32_t class_index = *rh_map64_at(b->class_of, key, fresh);
    if (class_index == fresh) {
        RhFlowClass added = {.pattern = own->pattern,
                             .owner = own->owner,
                             .share = own->share,
                             .latency_s = flow->latency_s};
        add_hops(b, flow, &added);
        if (b->latency_s)
            added.latency_s = b->latency_s[cell];
        g_array_append_val(b->q->classes, added);
        rh_map64_at(b->any_class, cell + 1, fresh);
        b->q->classes_first[cell + 1] = fresh + 1;
    }
    RhFlowClass *class = RH_AT(b->q->classes, RhFlowClass, class_index);
    class->flows_count += stands_for(b, flow);
    class->latency_s = MAX(class->latency_s, flow->latency_s);
}

static void add_classes(Builder *b)
{
    for (uint32_t i = 0; i < b->own->len; i++) {
        const Own *own = RH_AT(b->own, Own, i);
        if (RH_AT(b->traffic->flows, RhTrafficFlow, own->flow)->links_count > 0) /* not to itself */
            add_class(b, own);
    }
    size_t cells = (size_t)b->traffic->patterns->len * (size_t)b->q->owners_count;
    for (size_t i = 1; i <= cells; i++)
        b->q->classes_first[i] = MAX(b->q->classes_first[i], b->q->classes_first[i - 1]);
    if (b->latency_s)
        count_merged_flows(b);
}

static int32_t class_of_flow(const Builder *b, int32_t index, const RhPairUse *use)
{
    int32_t found = rh_map64_get(b->class_of, class_key(b, index, use->pattern, use->share));
    if (found >= 0)
        return found;
    int32_t owner = owner_of(b, RH_AT(b->traffic->flows, RhTrafficFlow, index));
    if (owner < 0)
        return -1;
    return rh_map64_get(b->any_class, (uint64_t)use->pattern * (uint64_t)b->q->owners_count +
                                          (uint64_t)owner + 1);
}

/* Unit in which flows are counted: the class, or under merged colours its pattern and owner. */
static int32_t unit_of(const Builder *b, int32_t class_index)
{
    const RhFlowClass *class = RH_AT(b->q->classes, RhFlowClass, class_index);
    return b->fold->approximate_why ? class->pattern * b->q->owners_count + class->owner
                                    : class_index;
}

static bool crosses(const Builder *b, const RhFlowClass *class, int32_t link)
{
    for (int32_t h = 0; h < class->hops_count; h++)
        if (RH_AT(b->q->hops, RhBridgeHop, class->hops_first + h)->link == link)
            return true;
    return false;
}

static uint64_t weight_key(int32_t class_index, int32_t link)
{
    return ((uint64_t)class_index << 32 | (uint64_t)link) + 1;
}

static void add_weight(Builder *b, int32_t class_index, int32_t link, int32_t flows)
{
    int32_t fresh = (int32_t)b->counts->len;
    int32_t at = *rh_map64_at(b->weights, weight_key(unit_of(b, class_index), link), fresh);
    if (at == fresh)
        g_array_set_size(b->counts, b->counts->len + 1);
    g_array_index(b->counts, int32_t, at) += flows;
}

/* Adds weights in each pattern that uses the flow's pair. */
static void add_weights(Builder *b, int32_t index, int32_t link, int32_t flows)
{
    const RhTraffic *t = b->traffic;
    const RhPair *pair = RH_AT(t->pairs, RhPair, RH_AT(t->flows, RhTrafficFlow, index)->pair);
    for (int32_t k = 0; link >= 0 && k < pair->uses_count; k++) {
        int32_t found = class_of_flow(b, index, RH_AT(t->uses, RhPairUse, pair->uses_first + k));
        if (found >= 0)
            add_weight(b, found, link, flows);
    }
}

/* Counts the flows of each class over each representing link, in one pass over all flows. Under
 * merged colours each link of an orbit may represent itself. */
static void count_weights(Builder *b)
{
    const RhTraffic *t = b->traffic;
    const RhTrafficFlow *flows = RH_ELEMENTS(t->flows, RhTrafficFlow);
    for (uint32_t i = 0; i < t->flows->len; i++) {
        const RhCrossing *route = rh_traffic_crossings(t, &flows[i]);
        for (int32_t k = 0; k < flows[i].links_count; k++) {
            int32_t links = b->fold->approximate_why ? t->block / route[k].flows : 1;
            RhLink first = rh_traffic_link(t, &route[k])->first;
            for (int32_t l = 0; l < links && b->stands[route[k].at]; l++)
                add_weights(b, (int32_t)i,
                            rh_map64_get(b->link_number, (uint64_t)(first + 2 * l) + 1),
                            route[k].flows);
        }
    }
}

/* --- weights of merged colours --- */

/* Links classes that move at the same time into rings: those of one family and one role; for
 * messages, and for groups that join roles, those of each unit. */
static int32_t *movers_of(const Builder *b, const RhTrafficFamily *family)
{
    const RhTraffic *t = b->traffic;
    RhMap64 *last = rh_map64_new();
    int32_t *next = g_new(int32_t, b->q->classes->len + 1);
    for (int32_t c = 0; c < (int32_t)b->q->classes->len; c++) {
        const RhFlowClass *class = RH_AT(b->q->classes, RhFlowClass, c);
        uint64_t key = rh_mix64(71, (uint64_t)unit_of(b, c));
        if (RH_AT(t->patterns, RhPattern, class->pattern)->group >= 0 &&
            !RH_AT(b->q->calls, RhCollectiveCall, class->owner)->joins_roles) {
            int32_t instance = b->fold->call_instance[class->owner];
            int32_t first = RH_AT(t->instances, RhInstance, instance)->members_first;
            int32_t role = t->role_of_rank[*RH_AT(t->members, int32_t, first)];
            key = rh_mix64(rh_mix64(73, (uint64_t)family[class->pattern].first), (uint64_t)role);
        }
        int32_t *before = rh_map64_at(last, key, c);
        next[c] = *before == c ? c : next[*before];
        next[*before] = c;
        *before = c;
    }
    rh_map64_free(last);
    return next;
}

static int32_t unit_flows(const Builder *b, int32_t class_index, int32_t link)
{
    int32_t at = rh_map64_get(b->weights, weight_key(unit_of(b, class_index), link));
    return at >= 0 ? *RH_AT(b->counts, int32_t, at) : 0;
}

/* Number of classes of the class's unit that cross the link: they share its flows. */
static int32_t sharers(const Builder *b, int32_t class_index, int32_t link)
{
    int32_t count = 0, cell = unit_of(b, class_index);
    for (int32_t c = b->q->classes_first[cell]; c < b->q->classes_first[cell + 1]; c++)
        count += crosses(b, RH_AT(b->q->classes, RhFlowClass, c), link);
    return count;
}

/* Classes that move at the same time, and the bytes of their flows. */
typedef struct {
    RhTrafficFamily *family; /* per pattern; owned, like `next` */
    int32_t *next;           /* from movers_of() */
} Movers;

/* Weight of the class among the flows that move with it over a link: its part of its own unit's,
 * and, weighted by their bytes, of those of units whose classes are on other links. */
static int32_t merged_weight(const Builder *b, const Movers *m, int32_t class_index, int32_t link)
{
    double others = 0;
    int32_t crossing = 0, c = class_index;
    do {
        const RhFlowClass *class = RH_AT(b->q->classes, RhFlowClass, c);
        crossing += crosses(b, class, link);
        if (c == b->q->classes_first[unit_of(b, c)] && sharers(b, c, link) == 0)
            others += unit_flows(b, c, link) * m->family[class->pattern].bytes;
        c = m->next[c];
    } while (c != class_index);
    int32_t own = unit_flows(b, class_index, link), share = sharers(b, class_index, link);
    others /= m->family[RH_AT(b->q->classes, RhFlowClass, class_index)->pattern].bytes * crossing;
    return (own + share - 1) / share + (int32_t)ceil(others - 1e-9);
}

/* Sets the weights of hops, and the rates of classes. */
static void set_weights(Builder *b)
{
    RhFoldedNetwork *q = b->q;
    g_autofree int32_t *divisor = g_new0(int32_t, q->links->len + 1);
    g_autofree RhTrafficFamily *family = rh_traffic_families(b->traffic);
    g_autofree int32_t *next = b->fold->approximate_why ? movers_of(b, family) : NULL;
    Movers movers = {family, next};
    for (uint32_t c = 0; c < q->classes->len; c++) {
        RhFlowClass *class = RH_AT(q->classes, RhFlowClass, c);
        class->bytes_per_s = HUGE_VAL;
        for (int32_t h = 0; h < class->hops_count; h++) {
            RhBridgeHop *hop = RH_AT(q->hops, RhBridgeHop, class->hops_first + h);
            int32_t flows = next ? merged_weight(b, &movers, (int32_t)c, hop->link)
                                 : unit_flows(b, (int32_t)c, hop->link);
            hop->weight = MAX(flows, 1);
            divisor[hop->link] = rh_common_divisor(hop->weight, divisor[hop->link]);
            class->bytes_per_s =
                MIN(class->bytes_per_s,
                    RH_AT(q->links, RhFoldedLink, hop->link)->bytes_per_s / hop->weight);
        }
    }
    g_autofree int32_t *largest = g_new0(int32_t, q->links->len + 1);
    for (uint32_t h = 0; h < q->hops->len; h++) {
        RhBridgeHop *hop = RH_AT(q->hops, RhBridgeHop, h);
        hop->weight /= divisor[hop->link];
        largest[hop->link] = MAX(largest[hop->link], hop->weight);
    }
    for (uint32_t l = 0; l < q->links->len; l++) {
        double rounding = MAX(1.0, (double)largest[l] / RH_WEIGHT_MAX);
        RH_AT(q->links, RhFoldedLink, l)->divisor = MAX(divisor[l], 1) * rounding;
        RH_AT(q->links, RhFoldedLink, l)->bytes_per_s /= MAX(divisor[l], 1) * rounding;
        q->weights_rounded = q->weights_rounded || rounding > 1;
    }
    for (uint32_t h = 0; h < q->hops->len; h++) {
        RhBridgeHop *hop = RH_AT(q->hops, RhBridgeHop, h);
        if (largest[hop->link] > RH_WEIGHT_MAX)
            hop->weight =
                MAX(1, (int32_t)lround((double)hop->weight * RH_WEIGHT_MAX / largest[hop->link]));
    }
}

static void add_call(Builder *b, const RhInstance *instance, bool *taken)
{
    const int32_t *ranks = RH_AT(b->traffic->members, int32_t, instance->members_first);
    RhCollectiveCall added;
    memset(&added, 0, sizeof added);
    added.group = instance->group;
    added.shape = instance->shape;
    added.colours_first = (int32_t)b->q->colours->len;
    const int32_t *role_of_rank = b->traffic->role_of_rank;
    for (int32_t k = 0; k < instance->members_count; k++) {
        int32_t colour = b->fold->colour_of_rank[ranks[k]];
        added.joins_roles |= role_of_rank[ranks[k]] != role_of_rank[ranks[0]];
        if (colour < 0 || taken[colour])
            continue;
        taken[colour] = true;
        g_array_append_val(b->q->colours, colour);
        added.colours_count++;
    }
    for (uint32_t i = (uint32_t)added.colours_first; i < b->q->colours->len; i++)
        taken[*RH_AT(b->q->colours, int32_t, i)] = false;
    g_array_append_val(b->q->calls, added);
}

static void add_calls(Builder *b)
{
    const RhFold *fold = b->fold;
    uint32_t groups = b->traffic->program->groups->len;
    g_autofree bool *taken = g_new0(bool, fold->colours_count + 1);
    for (int32_t m = 0; m < fold->calls_count; m++)
        add_call(b, RH_AT(b->traffic->instances, RhInstance, fold->call_instance[m]), taken);
    for (int32_t c = 0; c < fold->colours_count; c++)
        for (uint32_t g = 0; g < groups; g++) {
            const int32_t *instance_of = b->traffic->groups[g].instance_of_rank;
            int32_t instance = instance_of ? instance_of[fold->representative[c]] : -1;
            b->q->call_of[(uint32_t)c * groups + g] =
                instance < 0 ? -1 : fold->call_of_instance[instance];
        }
}

RhFoldedNetwork *rh_folded_network_new(const RhTraffic *traffic, const RhFold *fold)
{
    RhFoldedNetwork *q = g_new0(RhFoldedNetwork, 1);
    q->classes = g_array_new(FALSE, FALSE, sizeof(RhFlowClass));
    q->hops = g_array_new(FALSE, FALSE, sizeof(RhBridgeHop));
    q->links = g_array_new(FALSE, FALSE, sizeof(RhFoldedLink));
    q->calls = g_array_new(FALSE, FALSE, sizeof(RhCollectiveCall));
    q->colours = g_array_new(FALSE, FALSE, sizeof(int32_t));
    q->owners_count = MAX(fold->colours_count, fold->calls_count);
    q->classes_first =
        g_new0(int32_t, (size_t)traffic->patterns->len * (size_t)q->owners_count + 2);
    q->call_of =
        g_new0(int32_t, (size_t)traffic->program->groups->len * (size_t)fold->colours_count + 1);
    Builder b = {.traffic = traffic, .fold = fold, .q = q};
    b.own = g_array_new(FALSE, FALSE, sizeof(Own));
    b.counts = g_array_new(FALSE, TRUE, sizeof(int32_t));
    b.class_of = rh_map64_new();
    b.any_class = rh_map64_new();
    b.link_of = rh_map64_new();
    b.weights = rh_map64_new();
    b.link_number = rh_map64_new();
    b.stands = g_new0(bool, traffic->links->len + 1);
    find_own_flows(&b);
    add_classes(&b);
    count_weights(&b);
    add_calls(&b);
    set_weights(&b);
    g_array_unref(b.own);
    g_array_unref(b.counts);
    rh_map64_free(b.class_of);
    rh_map64_free(b.any_class);
    rh_map64_free(b.link_of);
    rh_map64_free(b.weights);
    rh_map64_free(b.link_number);
    g_free(b.stands);
    g_free(b.latency_s);
    return q;
}

void rh_folded_network_free(RhFoldedNetwork *q)
{
    if (!q)
        return;
    GArray *arrays[] = {q->classes, q->hops, q->links, q->calls, q->colours};
    for (size_t i = 0; i < G_N_ELEMENTS(arrays); i++)
        g_array_unref(arrays[i]);
    g_free(q->classes_first);
    g_free(q->call_of);
    g_free(q);
}
