#include "sim/engine/prune_dominated_links.h"

#include "base/garray_access.h"

/* A class of flows on a link. */
typedef struct {
    int32_t class, weight;
} Crosser;

/* Classes that cross each link: those of link l are from first[l] to first[l + 1] - 1. */
typedef struct {
    const RhFoldedNetwork *q;
    int32_t *first;
    Crosser *crossers;
    bool *left_out;
} Links;

static const RhBridgeHop *hops_of(const RhFoldedNetwork *q, const RhFlowClass *class)
{
    return RH_AT(q->hops, RhBridgeHop, class->hops_first);
}

static void list_crossers(Links *links)
{
    const RhFoldedNetwork *q = links->q;
    int32_t count = (int32_t)q->links->len;
    for (int pass = 0; pass < 2; pass++) { /* count, then list */
        for (int32_t c = 0; c < (int32_t)q->classes->len; c++) {
            const RhFlowClass *class = RH_AT(q->classes, RhFlowClass, c);
            for (int32_t h = 0; h < class->hops_count; h++) {
                const RhBridgeHop *hop = &hops_of(q, class)[h];
                if (pass == 0)
                    links->first[hop->link + 1]++;
                else
                    links->crossers[links->first[hop->link]++] = (Crosser){c, hop->weight};
            }
        }
        for (int32_t l = 0; pass == 0 && l < count; l++)
            links->first[l + 1] += links->first[l];
    }
    for (int32_t l = count; l > 0; l--)
        links->first[l] = links->first[l - 1];
    links->first[0] = 0;
}

/* Weight of the class on the link; 0 where it does not cross it. */
static int32_t weight_on(const RhFoldedNetwork *q, int32_t class_index, int32_t link)
{
    const RhFlowClass *class = RH_AT(q->classes, RhFlowClass, class_index);
    for (int32_t h = 0; h < class->hops_count; h++)
        if (hops_of(q, class)[h].link == link)
            return hops_of(q, class)[h].weight;
    return 0;
}

/* Is `other` at least as full as `link`, whatever the rates of the classes? */
static bool holds_back_first(const Links *links, int32_t other, int32_t link)
{
    double own = RH_AT(links->q->links, RhFoldedLink, link)->bytes_per_s;
    double others = RH_AT(links->q->links, RhFoldedLink, other)->bytes_per_s;
    for (int32_t i = links->first[link]; i < links->first[link + 1]; i++) {
        const Crosser *crosser = &links->crossers[i];
        int32_t weight = weight_on(links->q, crosser->class, other);
        if (weight * own < crosser->weight * others || weight == 0)
            return false;
    }
    return true;
}

static bool is_held_back(const Links *links, int32_t link)
{
    if (links->first[link] == links->first[link + 1])
        return false;
    int32_t any = links->crossers[links->first[link]].class;
    const RhFlowClass *class = RH_AT(links->q->classes, RhFlowClass, any);
    for (int32_t h = 0; h < class->hops_count; h++) {
        int32_t other = hops_of(links->q, class)[h].link;
        if (other == link || links->left_out[other] || !holds_back_first(links, other, link))
            continue;
        if (other < link || !holds_back_first(links, link, other))
            return true;
    }
    return false;
}

GArray *rh_bottleneck_hops(const RhFoldedNetwork *q, int32_t *hops_first)
{
    int32_t count = (int32_t)q->links->len, classes = (int32_t)q->classes->len;
    g_autofree int32_t *first = g_new0(int32_t, count + 2);
    g_autofree Crosser *crossers = g_new0(Crosser, q->hops->len + 1);
    g_autofree bool *left_out = g_new0(bool, count + 1);
    Links links = {q, first, crossers, left_out};
    list_crossers(&links);
    for (int32_t l = 0; l < count; l++)
        left_out[l] = is_held_back(&links, l);
    GArray *hops = g_array_new(FALSE, FALSE, sizeof(RhBridgeHop));
    for (int32_t c = 0; c < classes; c++) {
        const RhFlowClass *class = RH_AT(q->classes, RhFlowClass, c);
        hops_first[c] = (int32_t)hops->len;
        for (int32_t h = 0; h < class->hops_count; h++)
            if (!left_out[hops_of(q, class)[h].link])
                g_array_append_vals(hops, &hops_of(q, class)[h], 1);
    }
    hops_first[classes] = (int32_t)hops->len;
    return hops;
}
