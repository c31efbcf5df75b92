/* A torus of nodes, k-ary in each of up to four dimensions: node n has the coordinates n % k0, n /
 * k0 % k1 ... Messages go dimension by dimension, the shorter way round, up when both are equally
 * long (dimension-order routing; Dally and Seitz 1987). Each node has a link to the next node up
 * (+) and one down (-) in each dimension. A job has all nodes, so that every ring is closed. */
#include <stdlib.h>
#include <string.h>

#include "platforms/fabric/wiring.h"

static int32_t links(const RhPlatform *p)
{
    return 2 * p->torus_count * p->nodes_count;
}

/* Steps from a to b in a ring of k; negative: downwards. */
static int32_t ring_steps(int32_t a, int32_t b, int32_t k)
{
    int32_t up = (b - a + k) % k;
    return 2 * up <= k ? up : up - k;
}

static int32_t route(const RhPlatform *p, int32_t src, int32_t dst, int32_t *crossed)
{
    int32_t count = 0, at = src, stride = 1;
    for (int32_t d = 0; d < p->torus_count; d++) {
        int32_t k = p->torus[d], a = at / stride % k, left = ring_steps(a, dst / stride % k, k);
        for (int32_t way = left < 0 ? -1 : 1; left != 0; left -= way) {
            crossed[count++] = 2 * (at * p->torus_count + d) + (way < 0);
            int32_t next = (a + way + k) % k;
            at += (next - a) * stride;
            a = next;
        }
        stride *= k;
    }
    return count;
}

static int32_t hops(const RhPlatform *p, int32_t src, int32_t dst)
{
    int32_t count = 0, stride = 1;
    for (int32_t d = 0; d < p->torus_count; d++) {
        int32_t k = p->torus[d];
        count += abs(ring_steps(src / stride % k, dst / stride % k, k));
        stride *= k;
    }
    return count;
}

static double bytes_per_s(const RhPlatform *p, int32_t link)
{
    (void)link;
    return p->torus_bytes_per_s.value * p->nic_efficiency_frac.value;
}

static const char dimensions[] = "xyzw";

static char *link_name(const RhPlatform *p, int32_t link)
{
    int32_t place = link / 2;
    return g_strdup_printf("node%d/%c%c", place / p->torus_count,
                           dimensions[place % p->torus_count], link % 2 ? '-' : '+');
}

static int64_t link_named(const RhPlatform *p, const char *name)
{
    char *rest = NULL;
    if (!g_str_has_prefix(name, "node"))
        return -1;
    int64_t node = g_ascii_strtoll(name + strlen("node"), &rest, 10);
    const char *dimension = strlen(rest) == 3 ? strchr(dimensions, rest[1]) : NULL;
    return dimension ? 2 * (node * p->torus_count + (dimension - dimensions)) + (rest[2] == '-')
                     : -1;
}

const RhWiring rh_wiring_torus = {
    .name = "torus",
    .outside = true,
    .links = links,
    .route = route,
    .hops = hops,
    .bytes_per_s = bytes_per_s,
    .link_name = link_name,
    .link_named = link_named,
};
