#include "sim/collective/rings.h"

#include <math.h>
#include <string.h>

#define CYCLES_MAX 256 /* cycles considered, the widest found first */
/* steps of a walk and of a choice: the best are found in far fewer (mesh_test) */
#define STEPS_MAX 2000
#define LINKS_MAX 512 /* of a node's mesh */
/* fractions of a link's rate that a channel may have: 1 / 1 to 1 / SPLITS_MAX */
#define SPLITS_MAX 6

/* A cycle over all members, which stands for both of its directions. */
typedef struct {
    int32_t at[RH_MESH_MAX];
} Cycle;

typedef struct {
    const RhPlatform *p;
    int32_t n;
    const int32_t *gpus;
    int32_t links_count; /* links that routes between members cross */
    double bytes_per_s[LINKS_MAX];
    int32_t route[RH_MESH_MAX][RH_MESH_MAX]
                 [RH_ROUTE_MAX]; /* numbers of these links, -1 behind the last */
    int32_t room[LINKS_MAX];     /* channels that a link can still carry */
    Cycle cycles[CYCLES_MAX];
    int32_t cycles_count;
    int32_t taken[CYCLES_MAX], best[CYCLES_MAX]; /* channels of each cycle */
    int32_t most, enough;
    int32_t steps;
    bool direct; /* without relays: only links that join two members */
} Search;

/* --- links and their loads --- */

static int32_t number_of(Search *s, RhLink *known, RhLink link)
{
    for (int32_t i = 0; i < s->links_count; i++)
        if (known[i] == link)
            return i;
    g_assert(s->links_count < LINKS_MAX);
    known[s->links_count] = link;
    s->bytes_per_s[s->links_count] = rh_platform_link_rated_bytes_per_s(s->p, link);
    return s->links_count++;
}

static void find_routes(Search *s)
{
    RhLink known[LINKS_MAX], links[RH_ROUTE_MAX];
    for (int32_t a = 0; a < s->n; a++)
        for (int32_t b = 0; b < s->n; b++) {
            int count = a == b ? 0 : rh_platform_route(s->p, s->gpus[a], s->gpus[b], links);
            for (int i = 0; i < count; i++)
                s->route[a][b][i] = number_of(s, known, links[i]);
            s->route[a][b][count] = -1;
        }
}

/* Adds `channels` to the route from a to b, or removes them if negative; false where a link has no
 * room. */
static bool load(Search *s, int32_t a, int32_t b, int32_t channels)
{
    bool fits = true;
    for (const int32_t *link = s->route[a][b]; *link >= 0; link++) {
        s->room[*link] -= channels;
        fits = fits && s->room[*link] >= 0;
    }
    return fits;
}

/* Adds channels to a cycle and, where it differs, to its reverse. */
static bool load_cycle(Search *s, const Cycle *c, int32_t channels)
{
    bool fits = true;
    for (int32_t i = 0; i < s->n; i++) {
        int32_t a = c->at[i], b = c->at[(i + 1) % s->n];
        fits = load(s, a, b, channels) && fits;
        if (s->n > 2)
            fits = load(s, b, a, channels) && fits;
    }
    return fits;
}

static void set_room(Search *s, double channel_bytes_per_s)
{
    for (int32_t i = 0; i < s->links_count; i++)
        s->room[i] = (int32_t)floor(s->bytes_per_s[i] / channel_bytes_per_s * (1 + 1e-9));
}

/* --- cycles --- */

static void add_cycle(Search *s, const Cycle *c)
{
    if (s->cycles_count < CYCLES_MAX)
        s->cycles[s->cycles_count++] = *c;
}

static bool may_follow(const Search *s, int32_t a, int32_t b)
{
    int32_t each = s->p->gpus_per_node;
    return !s->direct || s->p->mesh.joined[s->gpus[a] % each][s->gpus[b] % each] > 0;
}

/* Extends the first `count` members in all ways; a cycle and its reverse count once. */
static void extend_cycle(Search *s, Cycle *c, int32_t count, uint32_t seen)
{
    if (s->cycles_count == CYCLES_MAX || ++s->steps > STEPS_MAX)
        return;
    if (count == s->n) {
        bool forward =
            (s->n < 3 || c->at[1] < c->at[s->n - 1]) && may_follow(s, c->at[s->n - 1], c->at[0]);
        if (forward && load_cycle(s, c, 1))
            add_cycle(s, c);
        if (forward)
            load_cycle(s, c, -1);
        return;
    }
    for (int32_t next = 1; next < s->n; next++) {
        if (seen & 1U << next)
            continue;
        int32_t last = c->at[count - 1];
        bool fits = load(s, last, next, 1);
        load(s, last, next, -1);
        c->at[count] = next;
        if (fits && may_follow(s, last, next))
            extend_cycle(s, c, count + 1, seen | 1U << next);
    }
}

/* Number of channels that a cycle has room for. */
static int32_t cycle_width(Search *s, const Cycle *c)
{
    int32_t channels = 0;
    while (load_cycle(s, c, 1))
        channels++;
    load_cycle(s, c, -channels - 1);
    return channels;
}

/* Sorts cycles by width, the widest first, so that a doubled ring comes before its parts. The sort
 * is stable. */
static void sort_cycles(Search *s)
{
    int32_t widths[CYCLES_MAX];
    for (int32_t i = 0; i < s->cycles_count; i++) {
        Cycle own = s->cycles[i];
        int32_t wide = cycle_width(s, &own), at = i;
        for (; at > 0 && widths[at - 1] < wide; at--) {
            widths[at] = widths[at - 1];
            s->cycles[at] = s->cycles[at - 1];
        }
        widths[at] = wide;
        s->cycles[at] = own;
    }
}

/* Chooses channels for the cycles from the i-th on, given `sum` chosen so far, and keeps the best
 * choice. */
static void choose_channels(Search *s, int32_t i, int32_t sum)
{
    if (sum > s->most) {
        s->most = sum;
        memcpy(s->best, s->taken, sizeof s->best);
    }
    if (i == s->cycles_count || s->most >= s->enough || ++s->steps > STEPS_MAX)
        return;
    for (int32_t channels = cycle_width(s, &s->cycles[i]); channels >= 0; channels--) {
        load_cycle(s, &s->cycles[i], channels);
        s->taken[i] = channels;
        choose_channels(s, i + 1, sum + channels);
        load_cycle(s, &s->cycles[i], -channels);
    }
    s->taken[i] = 0;
}

/* Upper bound on channels: the room on the links out of any member. */
static int32_t channels_possible(const Search *s)
{
    int32_t least = INT32_MAX;
    for (int32_t a = 0; a < s->n; a++) {
        int32_t sum = 0;
        bool counted[LINKS_MAX] = {false};
        for (int32_t b = 0; b < s->n; b++) {
            int32_t narrow = -1;
            for (const int32_t *l = s->route[a][b]; *l >= 0; l++)
                if (narrow < 0 || s->room[*l] < s->room[narrow])
                    narrow = *l;
            if (narrow >= 0 && !counted[narrow])
                sum += s->room[narrow];
            if (narrow >= 0)
                counted[narrow] = true;
        }
        least = MIN(least, s->n > 2 ? sum / 2 : sum);
    }
    return least;
}

/* Searches channels of one rate; returns their number, 0 where there cannot be more than
 * `before`. */
static int32_t search_at(Search *s, double channel_bytes_per_s, int32_t before)
{
    Cycle first = {{0}};
    set_room(s, channel_bytes_per_s);
    s->cycles_count = s->most = s->steps = 0;
    s->enough = channels_possible(s);
    if (s->enough <= before)
        return 0;
    extend_cycle(s, &first, 1, 1);
    sort_cycles(s);
    s->steps = 0;
    memset(s->taken, 0, sizeof s->taken);
    choose_channels(s, 0, 0);
    return s->most;
}

/* --- rings --- */

static RhRings *rings_of(const Search *s, double channel_bytes_per_s)
{
    RhRings *rings = g_new0(RhRings, 1);
    int32_t ways = s->n > 2 ? 2 : 1;
    rings->members = s->n;
    rings->order = g_new(int32_t, (gsize)(2 * s->cycles_count * s->n));
    rings->channels = g_new(int32_t, (gsize)(2 * s->cycles_count));
    for (int32_t c = 0; c < s->cycles_count; c++)
        for (int32_t way = 0; s->best[c] > 0 && way < ways; way++) {
            int32_t *order = rings->order + rings->rings_count * s->n;
            for (int32_t i = 0; i < s->n; i++)
                order[i] = s->cycles[c].at[way ? (s->n - i) % s->n : i];
            rings->channels[rings->rings_count++] = s->best[c];
        }
    rings->bytes_per_s = ways * s->most * channel_bytes_per_s;
    return rings;
}

/* Searches over the rates of links, or fractions of them, for the rings that carry most; among
 * equals those with the fastest channels. */
static RhRings *search_rates(Search *s, bool direct)
{
    RhRings *best = NULL;
    int32_t ways = s->n > 2 ? 2 : 1;
    s->direct = direct;
    for (int32_t link = 0; link < s->links_count; link++)
        for (int32_t parts = 1; parts <= SPLITS_MAX; parts++) {
            double rate = s->bytes_per_s[link] / parts;
            int32_t before = best ? (int32_t)(best->bytes_per_s * (1 + 1e-9) / rate / ways) : 0;
            bool seen = false;
            for (int32_t other = 0; other < link; other++)
                seen = seen || s->bytes_per_s[other] == s->bytes_per_s[link];
            if (seen || search_at(s, rate, before) <= before)
                continue;
            rh_rings_free(best);
            best = rings_of(s, rate);
        }
    return best;
}

static double slowest_pair(const Search *s)
{
    double slowest = HUGE_VAL;
    for (int32_t a = 0; a < s->n; a++)
        for (int32_t b = 0; b < s->n; b++)
            for (const int32_t *link = s->route[a][b]; *link >= 0; link++)
                slowest = fmin(slowest, s->bytes_per_s[*link]);
    return slowest;
}

/* Keeps the first ring's order, one way: over several nodes all rings walk through each node in
 * it. */
static void keep_first(RhRings *rings, const Search *s)
{
    double slowest = HUGE_VAL;
    for (int32_t i = 0; i < s->n; i++) {
        int32_t a = rings->order[i], b = rings->order[(i + 1) % s->n];
        for (const int32_t *link = s->route[a][b]; *link >= 0; link++)
            slowest = fmin(slowest, s->bytes_per_s[*link]);
    }
    rings->rings_count = rings->channels[0] = 1;
    rings->bytes_per_s = slowest;
}

/* Members per node, where all nodes hold the same GPUs of theirs, numbered consecutively; else
 * 0. */
static int32_t members_of_node(const RhPlatform *p, int32_t members, const int32_t *gpus)
{
    int32_t each = 1;
    while (each < members && rh_platform_node_of(p, gpus[each]) == rh_platform_node_of(p, gpus[0]))
        each++;
    for (int32_t i = 0; i < members; i++) {
        int32_t first = i / each * each;
        if (members % each != 0 ||
            gpus[i] % p->gpus_per_node != gpus[i % each] % p->gpus_per_node ||
            rh_platform_node_of(p, gpus[i]) != rh_platform_node_of(p, gpus[first]))
            return 0;
    }
    return each;
}

RhRings *rh_rings_new(const RhPlatform *p, int32_t members, const int32_t *gpus)
{
    if (!p || p->mesh.gpus == 0 || members < 2)
        return NULL;
    int32_t each = members_of_node(p, members, gpus);
    if (each < 2)
        return NULL;
    g_autofree Search *s = g_new0(Search, 1);
    s->p = p;
    s->n = each;
    s->gpus = gpus;
    find_routes(s);
    RhRings *rings = search_rates(s, true);
    rings = rings ? rings : search_rates(s, false);
    if (rings)
        rings->pair_bytes_per_s = slowest_pair(s);
    if (rings && each < members)
        keep_first(rings, s);
    return rings;
}

void rh_rings_free(RhRings *rings)
{
    if (!rings)
        return;
    g_free(rings->order);
    g_free(rings->channels);
    g_free(rings);
}
