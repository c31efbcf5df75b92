#include "sim/fair_share_transfers.h"

#include <math.h>

typedef struct {
    int32_t who, links_count;
    RhLink links[RH_ROUTE_MAX];
    double left, rate;
    bool anew; /* its rate must be computed again */
} Flow;

/* A link with some flow on it. */
typedef struct {
    RhLink link;
    double room;    /* bytes/s that are not allocated yet */
    int32_t asking; /* flows on it whose rate is not settled */
} Used;

struct RhTransfers {
    const RhPlatform *platform;
    GArray *flows;       /* Flow */
    GArray *used;        /* Used */
    int32_t *place;      /* by link: its index in used, from 1; 0: no flow is on it */
    double *bytes_per_s; /* by link; 0: not looked up yet */
    RhSwitchLinks switches;
    double t_s;
    GArray *changed;  /* RhLink: flows began or ended on them since rates were settled */
    uint8_t *touched; /* by link: is it changed, or shared by a flow on a changed link? */
};

#define NO_BYTES 1e-6 /* rounding error below which a flow has ended */

RhTransfers *rh_transfers_new(const RhPlatform *platform)
{
    RhTransfers *f = g_new0(RhTransfers, 1);
    f->platform = platform;
    f->flows = g_array_new(FALSE, FALSE, sizeof(Flow));
    f->used = g_array_new(FALSE, FALSE, sizeof(Used));
    f->place = g_new0(int32_t, rh_platform_links_count(platform) + 1);
    f->bytes_per_s = g_new0(double, rh_platform_links_count(platform) + 1);
    f->changed = g_array_new(FALSE, FALSE, sizeof(RhLink));
    f->touched = g_new0(uint8_t, rh_platform_links_count(platform) + 1);
    f->switches = rh_platform_switch_links(platform);
    return f;
}

void rh_transfers_free(RhTransfers *f)
{
    if (!f)
        return;
    g_array_unref(f->flows);
    g_array_unref(f->used);
    g_array_unref(f->changed);
    g_free(f->touched);
    g_free(f->place);
    g_free(f->bytes_per_s);
    g_free(f);
}

static Flow *flow_at(const RhTransfers *f, guint i)
{
    return &g_array_index(f->flows, Flow, i);
}

static Used *used_at(const RhTransfers *f, RhLink link)
{
    return &g_array_index(f->used, Used, f->place[link] - 1);
}

static double room_of(RhTransfers *f, RhLink link)
{
    if (f->bytes_per_s[link] <= 0)
        f->bytes_per_s[link] = rh_platform_link_bytes_per_s(f->platform, link);
    return f->bytes_per_s[link];
}

static void touch_link(RhTransfers *f, const Flow *flow)
{
    for (int32_t l = 0; l < flow->links_count; l++) {
        if (!f->touched[flow->links[l]])
            g_array_append_val(f->changed, flow->links[l]);
        f->touched[flow->links[l]] = 1;
    }
}

static bool is_touched(const RhTransfers *f, const Flow *flow)
{
    for (int32_t l = 0; l < flow->links_count; l++)
        if (f->touched[flow->links[l]])
            return true;
    return false;
}

/* Finds the flows on changed links, and on links of these flows: rates of all others stay. */
static void find_concerned(RhTransfers *f)
{
    for (guint i = 0; i < f->flows->len; i++)
        flow_at(f, i)->anew = false;
    for (bool grown = true; grown;) {
        grown = false;
        for (guint i = 0; i < f->flows->len; i++) {
            Flow *flow = flow_at(f, i);
            if (flow->anew || !is_touched(f, flow))
                continue;
            flow->anew = grown = true;
            touch_link(f, flow);
        }
    }
    for (guint i = 0; i < f->changed->len; i++)
        f->touched[g_array_index(f->changed, RhLink, i)] = 0;
    g_array_set_size(f->changed, 0);
}

static void list_links(RhTransfers *f)
{
    for (guint i = 0; i < f->used->len; i++)
        f->place[g_array_index(f->used, Used, i).link] = 0;
    g_array_set_size(f->used, 0);
    for (guint i = 0; i < f->flows->len; i++) {
        Flow *flow = flow_at(f, i);
        if (!flow->anew)
            continue;
        flow->rate = -1; /* not settled */
        for (int32_t l = 0; l < flow->links_count; l++) {
            RhLink link = flow->links[l];
            if (f->place[link] == 0) {
                Used used = {link, room_of(f, link), 0};
                g_array_append_val(f->used, used);
                f->place[link] = (int32_t)f->used->len;
            }
            used_at(f, link)->asking++;
        }
    }
}

static const Used *tightest(const RhTransfers *f)
{
    const Used *best = NULL;
    for (guint i = 0; i < f->used->len; i++) {
        const Used *u = &g_array_index(f->used, Used, i);
        if (u->asking > 0 && (!best || u->room * best->asking < best->room * u->asking))
            best = u;
    }
    return best;
}

/* Progressive filling: the link with the least bandwidth per flow settles its flows (Bertsekas and
 * Gallager 1992, section 6.5.2). */
static void fill_progressively(RhTransfers *f)
{
    find_concerned(f);
    list_links(f);
    for (const Used *u; (u = tightest(f)) != NULL;) {
        double rate = u->room / u->asking;
        RhLink link = u->link;
        for (guint i = 0; i < f->flows->len; i++) {
            Flow *flow = flow_at(f, i);
            bool crosses = false;
            if (flow->rate >= 0)
                continue;
            for (int32_t l = 0; l < flow->links_count; l++)
                crosses |= flow->links[l] == link;
            if (!crosses)
                continue;
            flow->rate = rate;
            for (int32_t l = 0; l < flow->links_count; l++) {
                Used *other = used_at(f, flow->links[l]);
                other->room = fmax(other->room - rate, 0);
                other->asking--;
            }
        }
    }
}

static void settle_flows(RhTransfers *f)
{
    if (f->changed->len > 0)
        fill_progressively(f);
}

static void advance_flows(RhTransfers *f, double t_s)
{
    if (t_s > f->t_s)
        settle_flows(f);
    for (guint i = 0; i < f->flows->len; i++) {
        Flow *flow = flow_at(f, i);
        if (t_s > f->t_s)
            flow->left = fmax(flow->left - flow->rate * (t_s - f->t_s), 0);
    }
    f->t_s = t_s;
}

void rh_transfers_start(RhTransfers *f, double t_s, int32_t src, int32_t dst, double bytes,
                        int32_t who)
{
    Flow flow = {.who = who, .left = bytes};
    RhLink route[RH_ROUTE_MAX];
    int count = rh_platform_route(f->platform, src, dst, route);
    for (int l = 0; l < count; l++)
        if (!rh_switch_link_is_ample(&f->switches, route[l]))
            flow.links[flow.links_count++] = route[l];
    advance_flows(f, t_s);
    g_array_append_val(f->flows, flow);
    touch_link(f, &flow);
}

/* Transfer that ends first. Rates are not needed when one ends now, as often when many start and
 * end together. */
static guint first_to_end(RhTransfers *f, double *t_s)
{
    guint first = 0;
    *t_s = f->t_s;
    for (guint i = 0; i < f->flows->len; i++)
        if (flow_at(f, i)->left <= NO_BYTES)
            return i;
    settle_flows(f);
    *t_s = HUGE_VAL;
    for (guint i = 0; i < f->flows->len; i++) {
        const Flow *flow = flow_at(f, i);
        double ends_s = f->t_s + flow->left / flow->rate;
        if (ends_s < *t_s) {
            *t_s = ends_s;
            first = i;
        }
    }
    return first;
}

int32_t rh_transfers_count(const RhTransfers *f)
{
    return (int32_t)f->flows->len;
}

double rh_transfers_next_s(RhTransfers *f)
{
    double t_s;
    first_to_end(f, &t_s);
    return t_s;
}

int32_t rh_transfers_end(RhTransfers *f)
{
    double t_s;
    guint i = first_to_end(f, &t_s);
    int32_t who = flow_at(f, i)->who;
    advance_flows(f, t_s);
    touch_link(f, flow_at(f, i));
    g_array_remove_index(f->flows, i);
    return who;
}
