/* The closed-form bound: about a microsecond, never above the segment graph. A relaxation of what
 * the graph is made of, stage by stage:
 *   pipeline   the first micro-batch must pass the stages before, the stage does all its slots, the
 *              last gradients go back through the stages before; the optimizer follows
 *   SMs        lanes hold their share of the SMs: what of each cannot hide where no kernel runs
 *              takes that share from kernels
 *   lanes      gradients leave one after another once the first are there
 *   end        what stages do with one another before the optimizer comes behind all that
 *   links      gathers and scatters share theirs
 *   paths      critical paths of the schedule (train/shape.h): found once under plain costs, a path
 *              stays a path under any, so its price is a bound
 *
 * Legend: m micro-batches, stage s of p, v chunks, model chunk g = c p + s. */
#include "strategies/search/screen.h"

typedef struct {
    RhScreen *screen;
    const RhSpans *spans;
    const RhShape *shape;
    const RhPrices *prices;
    const RhNet *net;
    RhFlows *const *flows;
    int32_t p, v, m;
    double next_s, back_s, next_wrap_s, back_wrap_s; /* messages between neighbours; 0 at p = 1 */
    double least_s;                                  /* of the four */
    double begin_s; /* until the first kernel's parameters are in */
} Terms;

/* Of the shape's critical paths; the same for every layout with these prices and flows. */
static double longest_path_s(const Terms *t, const double *ends_s)
{
    double longest = 0;
    for (int32_t i = 0; i < t->shape->paths_count; i++) {
        const RhPathMessages *n = &t->shape->path_messages[i];
        double messages = n->next * t->next_s + n->next_wrap * t->next_wrap_s +
                          n->back * t->back_s + n->back_wrap * t->back_wrap_s;
        double path =
            t->prices->path_s[i] + messages + ends_s[i] + t->flows[n->end_stage]->optimizer_s;
        longest = rh_later(longest, path);
    }
    return longest;
}

/* Seconds of lanes beside kernels when the stage runs none for `idle_s`. A lane's communications
 * follow one another, but all lanes may use the same idle second. Messages have four lanes: in and
 * out, ahead and back. */
static double beside_s(const Terms *t, int32_t s, double idle_s)
{
    const RhFlows *f = t->flows[s];
    double gathers = f->step.gathers_s + t->m * f->step_each.gathers_s;
    double gradients = f->step.gradients_s + t->m * f->step_each.gradients_s;
    double message = t->m * t->least_s;
    double before = (t->v - (s == 0)) * message, after = (t->v - (s == t->p - 1)) * message;
    return rh_later(0, gathers - idle_s) + rh_later(0, gradients - idle_s) +
           2 * rh_later(0, before - idle_s) + 2 * rh_later(0, after - idle_s);
}

/* Six lanes at most hold `share` of the SMs each. While six shares are no more than all, an idle
 * second more never makes the sum less, so the least idle time gives a bound. */
static double pipeline_s(const Terms *t, int32_t s)
{
    const RhFlows *f = t->flows[s];
    double after = f->end_s + f->optimizer_s;
    int32_t laps = t->shape->back_chunk[s];
    double fill = t->begin_s + t->spans->fill_s[s] + s * t->next_s;
    double drain = t->spans->drain_s[laps * t->p + s] + s * t->back_s +
                   laps * ((t->p - 1) * t->back_s + t->back_wrap_s) + t->flows[0]->end_s +
                   t->flows[0]->optimizer_s;
    double work = t->m * t->spans->work_s[s], exposed = work - t->m * t->spans->kernels_s[s];
    double share = t->net->uniform ? rh_earlier(t->screen->held_frac, 1.0 / 6) : 0;
    double idle = fill + exposed;
    double here = fill + work + after + share * beside_s(t, s, idle + after);
    if (t->p == 1)
        return here;
    double back =
        fill + work - t->prices->behind_back_s[s] + drain + share * beside_s(t, s, idle + drain);
    return rh_later(here, back);
}

/* Gradients of every micro-batch: the first are there when one has gone through all chunks and back
 * to this stage. Of the last micro-batch: when it is the last one's turn. */
static double gradients_s(const Terms *t, int32_t s)
{
    const RhFlows *f = t->flows[s];
    int32_t chunks = t->p * t->v, own = chunks - t->p + s;
    double every = f->step.gradients_s + t->m * f->step_each.gradients_s;
    double there = t->v * (t->p - 1) * t->next_s + (t->v - 1) * t->next_wrap_s;
    double through = t->begin_s + t->spans->forward_all_s + there + t->spans->drain_s[chunks] -
                     t->spans->drain_s[own + 1] + (t->p - 1 - s) * t->back_s;
    double turn = t->begin_s + t->spans->fill_s[s] + s * t->next_s + t->prices->before_last_s[s];
    return rh_later(f->each ? through + every : 0, turn + f->last_s) + f->end_s + f->optimizer_s;
}

static double hop_s(const RhHop *hop, double bytes)
{
    return hop->latency_s + hop->s_per_byte * bytes;
}

static double paths_s(const Terms *t, const RhLayout *l)
{
    const double *found = g_hash_table_lookup(t->prices->longest, t->flows);
    if (found)
        return *found;
    g_autofree double *ends_s = rh_screen_path_ends_s(t->screen, l);
    double *longest = g_new(double, 1);
    *longest = longest_path_s(t, ends_s);
    g_hash_table_insert(t->prices->longest, (void *)(uintptr_t)t->flows, longest);
    return *longest;
}

static void price_messages(Terms *t, double bytes)
{
    const RhNet *net = t->net;
    if (t->p == 1)
        return;
    t->next_s = hop_s(&net->next[0], bytes);
    t->back_s = hop_s(&net->back[t->p - 1], bytes);
    t->next_wrap_s = hop_s(&net->next[t->p - 1], bytes);
    t->back_wrap_s = hop_s(&net->back[0], bytes);
    t->least_s =
        rh_earlier(rh_earlier(t->next_s, t->back_s), rh_earlier(t->next_wrap_s, t->back_wrap_s));
}

double rh_screen_bound_s(RhScreen *screen, const RhLayout *l)
{
    const RhShardCost *shard = rh_screen_shard(screen, l);
    const RhNet *net = rh_screen_net(screen, l);
    RhSpans *spans = rh_screen_spans(screen, shard, rh_screen_split(screen, l), net);
    Terms t = {.screen = screen,
               .spans = spans,
               .shape = rh_screen_shape(screen, l),
               .net = net,
               .flows = rh_screen_flows(screen, l),
               .p = l->pp,
               .v = l->vpp};
    t.m = t.shape->m;
    t.prices = rh_screen_prices(spans, t.shape);
    t.begin_s = t.flows[0]->first_wait_s;
    price_messages(&t, shard->pieces->message_bytes);
    double worst = t.p > 1 ? paths_s(&t, l) : 0;
    for (int32_t s = 0; s < t.p; s++) {
        const RhFlows *f = t.flows[s];
        double links = f->step.moving_s + t.m * f->step_each.moving_s + f->end_s + f->optimizer_s;
        worst = rh_later(worst, rh_later(links, rh_later(pipeline_s(&t, s), gradients_s(&t, s))));
    }
    return worst;
}
