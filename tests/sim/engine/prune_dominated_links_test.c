/* Links that SimGrid need not know of: rates are the same without them. */
#include <gsl/gsl_rng.h>
#include <math.h>

#include "sim/engine/prune_dominated_links.h"
#include "tests/kit/testkit.h"

#define LINKS_MAX   6
#define CLASSES_MAX 5

typedef struct {
    RhFoldedNetwork q;
    int32_t hops_first[CLASSES_MAX + 1];
    GArray *binding; /* RhBridgeHop */
} Case;

static Case case_new(void)
{
    Case c = {0};
    c.q.classes = g_array_new(FALSE, TRUE, sizeof(RhFlowClass));
    c.q.hops = g_array_new(FALSE, TRUE, sizeof(RhBridgeHop));
    c.q.links = g_array_new(FALSE, TRUE, sizeof(RhFoldedLink));
    return c;
}

static void case_clear(Case *c)
{
    GArray *arrays[] = {c->q.classes, c->q.hops, c->q.links, c->binding};
    for (size_t i = 0; i < G_N_ELEMENTS(arrays); i++)
        g_array_unref(arrays[i]);
}

static void add_link(Case *c, double bytes_per_s)
{
    RhFoldedLink link = {.bytes_per_s = bytes_per_s, .divisor = 1};
    g_array_append_val(c->q.links, link);
}

/* weights[link]; 0: does not cross it. */
static void add_class(Case *c, const int32_t *weights)
{
    RhFlowClass class = {.hops_first = (int32_t)c->q.hops->len};
    for (int32_t l = 0; l < (int32_t)c->q.links->len; l++) {
        RhBridgeHop hop = {l, weights[l]};
        if (weights[l] > 0)
            g_array_append_val(c->q.hops, hop);
    }
    class.hops_count = (int32_t)c->q.hops->len - class.hops_first;
    g_array_append_val(c->q.classes, class);
}

static bool is_known(const Case *c, int32_t class, int32_t link)
{
    for (int32_t h = c->hops_first[class]; h < c->hops_first[class + 1]; h++)
        if (g_array_index(c->binding, RhBridgeHop, h).link == link)
            return true;
    return false;
}

static void take_hops(Case *c)
{
    c->binding = rh_bottleneck_hops(&c->q, c->hops_first);
}

/* --- one by one --- */

static void of_two_links_in_a_row_one_is_enough(void)
{
    Case c = case_new();
    add_link(&c, 10);
    add_link(&c, 10);
    add_link(&c, 20);
    add_class(&c, (int32_t[]){1, 1, 1});
    add_class(&c, (int32_t[]){2, 2, 1});
    take_hops(&c);
    CU_ASSERT_TRUE(is_known(&c, 0, 0) && is_known(&c, 1, 0));
    CU_ASSERT_FALSE(is_known(&c, 0, 1) || is_known(&c, 1, 1));
    CU_ASSERT_FALSE(is_known(&c, 0, 2) || is_known(&c, 1, 2));
    CU_ASSERT_EQUAL(c.hops_first[2], 2);
    case_clear(&c);
}

static void links_that_others_cross_too_stay(void)
{
    Case c = case_new();
    add_link(&c, 10);
    add_link(&c, 10);
    add_class(&c, (int32_t[]){1, 1});
    add_class(&c, (int32_t[]){0, 1});
    add_class(&c, (int32_t[]){1, 0});
    take_hops(&c);
    CU_ASSERT_EQUAL(c.hops_first[3], 4);
    case_clear(&c);
}

static void a_link_of_some_is_left_out_beside_one_of_all(void)
{
    Case c = case_new();
    add_link(&c, 10);
    add_link(&c, 10);
    add_class(&c, (int32_t[]){1, 1});
    add_class(&c, (int32_t[]){0, 1});
    take_hops(&c);
    CU_ASSERT_FALSE(is_known(&c, 0, 0));
    CU_ASSERT_TRUE(is_known(&c, 0, 1) && is_known(&c, 1, 1));
    case_clear(&c);
}

/* --- any --- */

/* Max-min rates by filling up: all flows grow alike until a link is full, whose flows then stay. */
static void fill(const Case *c, bool all_links, double *rates)
{
    int32_t classes = (int32_t)c->q.classes->len, left = classes;
    bool fixed[CLASSES_MAX] = {false};
    double level = 0;
    while (left > 0) {
        double next = (double)INFINITY, full[LINKS_MAX];
        for (int32_t l = 0; l < (int32_t)c->q.links->len; l++) {
            double used = 0, weights = 0;
            for (int32_t k = 0; k < classes; k++) {
                const RhFlowClass *class = &g_array_index(c->q.classes, RhFlowClass, k);
                for (int32_t h = 0; h < class->hops_count; h++) {
                    const RhBridgeHop *hop =
                        &g_array_index(c->q.hops, RhBridgeHop, class->hops_first + h);
                    if (hop->link != l || (!all_links && !is_known(c, k, l)))
                        continue;
                    used += fixed[k] ? hop->weight * rates[k] : 0;
                    weights += fixed[k] ? 0 : hop->weight;
                }
            }
            double capacity = g_array_index(c->q.links, RhFoldedLink, l).bytes_per_s;
            full[l] = weights > 0 ? (capacity - used) / weights : (double)INFINITY;
            next = fmin(next, full[l]);
        }
        level = next;
        for (int32_t k = 0; k < classes; k++) {
            const RhFlowClass *class = &g_array_index(c->q.classes, RhFlowClass, k);
            bool held = false;
            for (int32_t h = 0; h < class->hops_count; h++) {
                int32_t l = g_array_index(c->q.hops, RhBridgeHop, class->hops_first + h).link;
                held |= (all_links || is_known(c, k, l)) && full[l] <= level * (1 + 1e-12);
            }
            if (fixed[k] || !held)
                continue;
            fixed[k] = true;
            rates[k] = level;
            left--;
        }
    }
}

static void rates_are_the_same_without_them(void)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    gsl_rng_set(rng, 20261122);
    int32_t left_out = 0;
    for (int i = 0; i < RH_TRIES(4000, 400); i++) {
        Case c = case_new();
        int32_t links = 2 + (int32_t)gsl_rng_uniform_int(rng, LINKS_MAX - 1);
        int32_t classes = 1 + (int32_t)gsl_rng_uniform_int(rng, CLASSES_MAX);
        for (int32_t l = 0; l < links; l++)
            add_link(&c, 10 + 5 * (double)gsl_rng_uniform_int(rng, 3));
        for (int32_t k = 0; k < classes; k++) {
            int32_t weights[LINKS_MAX];
            for (int32_t l = 0; l < links; l++)
                weights[l] = (int32_t)gsl_rng_uniform_int(rng, 3);
            weights[gsl_rng_uniform_int(rng, (unsigned long)links)] = 1;
            add_class(&c, weights);
        }
        take_hops(&c);
        left_out += (int32_t)(c.q.hops->len - c.binding->len);
        double with[CLASSES_MAX], without[CLASSES_MAX];
        fill(&c, true, with);
        fill(&c, false, without);
        for (int32_t k = 0; k < classes; k++) {
            CU_ASSERT_TRUE(c.hops_first[k + 1] > c.hops_first[k]);
            RH_CHECK_CLOSE(with[k], without[k], 1e-9);
        }
        case_clear(&c);
    }
    CU_ASSERT_TRUE(left_out > 100);
    gsl_rng_free(rng);
}

int main(void)
{
    return rh_test_main(
        "bottleneck_links",
        (RhTest[]){{"of_two_links_in_a_row_one_is_enough", of_two_links_in_a_row_one_is_enough},
                   {"links_that_others_cross_too_stay", links_that_others_cross_too_stay},
                   {"a_link_of_some_is_left_out_beside_one_of_all",
                    a_link_of_some_is_left_out_beside_one_of_all},
                   {"rates_are_the_same_without_them", rates_are_the_same_without_them},
                   {0}});
}
