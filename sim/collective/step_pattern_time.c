/* Times steps given as patterns: the flows of a pattern on each link do not depend on the bytes, so
 * they are counted once. */
#include "sim/collective/step_pattern_time.h"

#include <math.h>
#include <string.h>

#include "sim/collective/group_links.h"

/* Flows of a pattern on a link, in a list with those of earlier patterns. Many links have equal
 * lists, so steps are timed by kinds of links and not by links. */
typedef struct {
    int32_t before; /* the earlier part of the list; 0: none */
    int32_t wave, flows;
} Share;

typedef struct {
    int32_t share;
    double bytes_per_s;
} LinkKind;

#define LAST_KNOWN 16

struct RhPatternTally {
    RhOp op;
    int32_t members;
    const RhPlatform *platform;
    bool between;      /* the first listed group spans nodes */
    GArray *shares;    /* Share; index 0 stands for none */
    GArray *kinds;     /* LinkKind */
    double *latency_s; /* per pattern */
    bool *moves;       /* per pattern, in the current steps */
};

/* State of counting. */
typedef struct {
    RhPatternTally *out;
    RhGroupLinks groups;
    const RhStepPatterns *waves;
    bool latency_alone;             /* no bytes are put on links */
    RhMap64 *known;                 /* hashes of shares and of kinds -> their indices */
    uint64_t last_hash[LAST_KNOWN]; /* hashes asked for last, by their last bits */
    int32_t last_place[LAST_KNOWN];
} Count;

static const RhStepPattern *wave_at(const RhStepPatterns *waves, int32_t i)
{
    return &g_array_index(waves->waves, RhStepPattern, i);
}

static void count_edge(Count *t, int32_t wave, int32_t instance, const RhStepPatternEdge *edge)
{
    RhGroupLinks *k = &t->groups;
    RhLink links[RH_ROUTE_MAX];
    double latency_s;
    bool back = wave_at(t->waves, wave)->reversed;
    int32_t from = back ? edge->dst : edge->src, to = back ? edge->src : edge->dst;
    if (t->latency_alone) {
        t->out->latency_s[wave] =
            fmax(t->out->latency_s[wave], rh_group_latency_s(k, instance, from, to));
        return;
    }
    int count = rh_group_route(k, instance, from, to, links, &latency_s);
    t->out->latency_s[wave] = fmax(t->out->latency_s[wave], latency_s);
    for (int i = 0; i < count; i++)
        rh_group_load(k, rh_group_crossing(k, links[i]), 1);
}

/* Index of a hash; `fresh` for a new one. Neighbouring links are mostly alike, so the last ones are
 * cached. */
static int32_t known_hash(Count *t, uint64_t hash, int32_t fresh)
{
    size_t at = hash % LAST_KNOWN;
    if (t->last_hash[at] != hash || t->last_place[at] < 0) {
        t->last_hash[at] = hash;
        t->last_place[at] = *rh_map64_at(t->known, hash, fresh);
    }
    return t->last_place[at];
}

static void forget_known(Count *t)
{
    rh_map64_clear(t->known);
    memset(t->last_place, 0xff, sizeof t->last_place);
}

/* Appends the pattern's flows over each link to the link's list of shares. */
static void append_shares(Count *t, int32_t wave)
{
    RhGroupLinks *k = &t->groups;
    for (int32_t i = 0; i < k->touched_count; i++) {
        RhUsedLink *load = &g_array_index(k->loads, RhUsedLink, k->touched[i]);
        Share share = {load->share, wave, (int32_t)load->bytes};
        uint64_t hash =
            rh_mix64((uint64_t)share.before << 32 | (uint32_t)wave, (uint64_t)share.flows);
        load->share = known_hash(t, hash, (int32_t)t->out->shares->len);
        if (load->share == (int32_t)t->out->shares->len)
            g_array_append_val(t->out->shares, share);
        load->bytes = 0;
    }
    k->touched_count = 0;
}

static void count_waves(Count *t)
{
    for (guint w = 0; w < t->waves->waves->len; w++) {
        const RhStepPattern *wave = wave_at(t->waves, (int32_t)w);
        for (int32_t g = 0; g < t->groups.instances_count; g++)
            for (int32_t e = wave->edges_first; e < wave->edges_first + wave->edges_count; e++)
                count_edge(t, (int32_t)w, g, &g_array_index(t->waves->edges, RhStepPatternEdge, e));
        append_shares(t, (int32_t)w);
    }
    forget_known(t);
    for (guint i = 0; i < t->groups.loads->len; i++) {
        const RhUsedLink *load = &g_array_index(t->groups.loads, RhUsedLink, i);
        LinkKind kind = {load->share, load->bytes_per_s};
        uint64_t hash = rh_mix64((uint64_t)kind.share, rh_bits64(kind.bytes_per_s));
        if (known_hash(t, hash, (int32_t)t->out->kinds->len) == (int32_t)t->out->kinds->len)
            g_array_append_val(t->out->kinds, kind);
    }
}

/* A tally together with the patterns for given bytes, which it times. */
typedef struct {
    const RhPatternTally *tally;
    const RhStepPatterns *waves;
    double step_more_s; /* extra latency of the protocol */
} Clock;

static RhStepTime wave_step(const Clock *k, int32_t step)
{
    const RhPatternTally *t = k->tally;
    RhStepTime one = {0};
    for (guint w = 0; w < k->waves->waves->len; w++) {
        const RhStepPattern *wave = wave_at(k->waves, (int32_t)w);
        t->moves[w] = wave->step_first <= step && step < wave->step_end;
        one.latency_s = fmax(one.latency_s, t->moves[w] ? t->latency_s[w] : 0);
    }
    one.latency_s = fmax(0, one.latency_s + k->step_more_s);
    for (guint i = 0; i < t->kinds->len; i++) {
        const LinkKind *kind = &g_array_index(t->kinds, LinkKind, i);
        double flows = 0;
        for (int32_t at = kind->share; at > 0; at = g_array_index(t->shares, Share, at).before) {
            const Share *share = &g_array_index(t->shares, Share, at);
            flows += t->moves[share->wave] ? share->flows : 0;
        }
        one.moving_s = fmax(one.moving_s, flows * k->waves->flow_bytes / kind->bytes_per_s);
    }
    return one;
}

/* The next step whose set of active patterns differs from this one's; this one when there is
 * none. */
static int32_t next_change(const RhStepPatterns *waves, int32_t step)
{
    int32_t next = G_MAXINT32;
    for (guint w = 0; w < waves->waves->len; w++) {
        const RhStepPattern *wave = wave_at(waves, (int32_t)w);
        if (wave->step_first > step)
            next = MIN(next, wave->step_first);
        else if (wave->step_end > step)
            next = MIN(next, wave->step_end);
    }
    return next == G_MAXINT32 ? step : next;
}

static RhStepTime steps_s(const Clock *k)
{
    RhStepTime total = {0};
    for (int32_t step = 0, next; (next = next_change(k->waves, step)) > step; step = next) {
        RhStepTime one = wave_step(k, step);
        total.latency_s += (next - step) * one.latency_s;
        total.moving_s += (next - step) * one.moving_s;
    }
    return total;
}

/* --- both --- */

/* Fills the patterns of an algorithm; false where it has none. */
static bool waves_init(RhStepPatterns *waves, RhOp op, RhAlgo algo, int32_t members, double bytes)
{
    const RhAlgorithm *row = rh_algorithm(algo);
    *waves = (RhStepPatterns){.members = members, .bytes = bytes};
    if (!row || !row->waves || members < 2 || !rh_collective_supports(op, algo))
        return false;
    waves->waves = g_array_new(FALSE, FALSE, sizeof(RhStepPattern));
    waves->edges = g_array_new(FALSE, FALSE, sizeof(RhStepPatternEdge));
    return row->waves(waves, op);
}

static void waves_clear(RhStepPatterns *waves)
{
    g_clear_pointer(&waves->waves, g_array_unref);
    g_clear_pointer(&waves->edges, g_array_unref);
}

static bool is_between(const RhGroupLinks *k)
{
    g_autofree int32_t *nodes = g_new(int32_t, k->size);
    for (int32_t i = 0; i < k->size; i++)
        nodes[i] = rh_platform_node_of(k->platform, rh_program_gpu(k->program, k->members[i]));
    return rh_is_between(k->size, nodes);
}

RhPatternTally *rh_step_pattern_tally_new(const RhCollectiveSpec *spec, const RhProgram *p,
                                          const RhPlatform *platform, int32_t group, int32_t role)
{
    RhStepPatterns waves;
    RhPatternTally *t = NULL;
    int32_t members = rh_program_group(p, group)->size;
    if (waves_init(&waves, spec->op, spec->algo, members, spec->bytes)) {
        t = g_new0(RhPatternTally, 1);
        Count count = {.out = t,
                       .groups = rh_group_links(p, platform, group, role),
                       .waves = &waves,
                       .latency_alone = spec->bytes <= RH_LATENCY_BYTES,
                       .known = rh_map64_new()};
        *t = (RhPatternTally){.op = spec->op,
                              .members = members,
                              .platform = platform,
                              .between = is_between(&count.groups),
                              .shares = g_array_new(FALSE, TRUE, sizeof(Share)),
                              .kinds = g_array_new(FALSE, FALSE, sizeof(LinkKind)),
                              .latency_s = g_new0(double, waves.waves->len + 1),
                              .moves = g_new0(bool, waves.waves->len + 1)};
        g_array_set_size(t->shares, 1);
        forget_known(&count);
        count_waves(&count);
        rh_map64_free(count.known);
        rh_group_links_clear(&count.groups);
    }
    waves_clear(&waves);
    return t;
}

RhScheduleTime rh_step_pattern_tally_time(const RhPatternTally *t, RhAlgo algo, double bytes)
{
    RhStepPatterns waves;
    RhProtocolRate pace =
        rh_protocol_rate(rh_algorithm(algo), t->op, t->members, t->between, t->platform);
    waves_init(&waves, t->op, algo, t->members, bytes);
    waves.flow_bytes *= pace.wire_factor;
    RhStepTime steps = steps_s(&(Clock){t, &waves, pace.step_more_s});
    waves_clear(&waves);
    return rh_steps_as_time(t->platform, t->op, algo, bytes, pace.launch_more_s, steps);
}

void rh_step_pattern_tally_free(RhPatternTally *t)
{
    if (!t)
        return;
    g_array_unref(t->shares);
    g_array_unref(t->kinds);
    g_free(t->latency_s);
    g_free(t->moves);
    g_free(t);
}
