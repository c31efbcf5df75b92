#include "workloads/expert_routing_fanout.h"

#include <glib.h>
#include <gsl/gsl_cdf.h>
#include <math.h>

static double choose(int32_t n, int32_t k)
{
    double ways = k >= 0 && k <= n ? 1 : 0;
    for (int32_t i = 0; i < k && ways > 0; i++)
        ways *= (double)(n - i) / (i + 1);
    return ways;
}

/* Probability that a part holds none of the chosen experts: all of them are among the `allowed -
 * covered` others. */
static double miss_frac(const RhRouting *r, int32_t allowed, int32_t covered)
{
    double frac = 1;
    for (int32_t i = 0; i < r->chosen; i++)
        frac *= (double)MAX(allowed - covered - i, 0) / MAX(allowed - i, 1);
    return frac;
}

/* Cover of the groups by a run [first, end): `whole` groups, and some experts of the two at its
 * ends. */
typedef struct {
    int32_t whole, edge[2];
} Cover;

static Cover cover_of(int32_t first, int32_t end, int32_t size)
{
    int32_t from = (first + size - 1) / size, to = end / size;
    if (from > to) /* the run lies inside one group */
        return (Cover){0, {end - first, 0}};
    return (Cover){to - from, {from * size - first, end - to * size}};
}

/* Probability that a token misses the part, summed over how many of the part's whole groups, and
 * which of its partial ones, are chosen. */
static double part_missed(const RhRouting *r, const Cover *c)
{
    int32_t size = r->experts / r->groups, allowed = size * r->groups_chosen;
    int32_t edges = (c->edge[0] > 0) + (c->edge[1] > 0);
    int32_t others = r->groups - c->whole - edges;
    double all = choose(r->groups, r->groups_chosen), missed = 0;
    for (int32_t whole = 0; whole <= MIN(c->whole, r->groups_chosen); whole++)
        for (int32_t ends = 0; ends < 4; ends++) {
            int32_t left = ends & 1, right = ends >> 1;
            if ((left && c->edge[0] == 0) || (right && c->edge[1] == 0))
                continue;
            double ways = choose(c->whole, whole) *
                          choose(others, r->groups_chosen - whole - left - right) / all;
            int32_t covered = whole * size + left * c->edge[0] + right * c->edge[1];
            missed += ways * miss_frac(r, allowed, covered);
        }
    return missed;
}

double rh_routing_parts(const RhRouting *r, int32_t parts)
{
    g_return_val_if_fail(r->experts > 0 && r->groups > 0 && parts > 0, 0);
    int32_t each = r->experts / parts;
    double met = 0, missed = 0;
    Cover last = {-1, {0, 0}};
    for (int32_t part = 0; part < parts; part++) {
        Cover cover = cover_of(part * each, (part + 1) * each, r->experts / r->groups);
        if (cover.whole != last.whole || cover.edge[0] != last.edge[0] ||
            cover.edge[1] != last.edge[1])
            missed = part_missed(r, &cover);
        last = cover;
        met += 1 - missed;
    }
    return met;
}

/* Variance of the number of experts that one token asks on one part: the number of the part's
 * chosen groups is hypergeometric, and each of the token's experts falls to them as likely as to
 * the other chosen groups. */
static double part_variance(const RhRouting *r, int32_t parts)
{
    double groups = r->groups, chosen = r->groups_chosen, k = r->chosen;
    double held = fmax(groups / parts, 1), share = fmin(groups / parts, 1) / chosen;
    double of_groups =
        chosen * (held / groups) * (1 - held / groups) * (groups - chosen) / (groups - 1);
    double mean = share * chosen * held / groups, variance = share * share * of_groups;
    return k * (mean - variance - mean * mean) + k * k * variance;
}

double rh_routing_busiest(const RhRouting *r, int32_t parts, double tokens)
{
    if (r->groups <= 1 || r->groups_chosen >= r->groups || parts <= 1 || tokens <= 0)
        return 1;
    double mean = tokens * r->chosen / parts;
    /* expected maximum: Blom 1958 */
    double highest = gsl_cdf_ugaussian_Pinv((parts - 0.375) / (parts + 0.25));
    return 1 + highest * sqrt(tokens * part_variance(r, parts)) / mean;
}
