/* The closed-form bound: about a microsecond, never above the segment graph. A relaxation of what
 * the graph is made of, stage by stage:
 *   pipeline   the first micro-batch must pass the stages before, the stage does all its slots, the
 *              last gradients go back through the stages before; the optimizer follows
 *   SMs        lanes hold their share of the SMs: what of each cannot hide where no kernel runs
 *              takes that share from kernels
 *   lanes      gradients leave one after another once the first are there
 *   end        what stages do with one another before the optimizer comes behind all that
 *   links      gathers and scatters share theirs
 *   copies     activations leave for the host's memory one after another, and come back so
 *   busiest    link, where replicas do not lie alike (busiest_link.c)
 *   path       the schedule's longest at these prices (train/schedule_critical_path.h): whatever is left out of the
 *              prices, it stays a path, so what follows along it is a bound
 *
 * Legend: m micro-batches, stage s of p, v chunks, model chunk g = c p + s. */
#include "strategies/search/bounds/bound_cache.h"

typedef struct {
    RhBoundCache *cache;
    const RhChunkTimeTable *spans;
    const RhPipelineProfile *profile;
    RhProfileCosts *prices;
    const RhGroupNetwork *net;
    const RhCommStepSet *set;
    const RhStageCommTime *sums; /* its */
    const double *work_s;        /* of the prices, or where recomputation is open */
    int32_t p, v, m;
    bool turns;   /* two chunks, the second back up the stages */
    bool mirrors; /* the second is of another copy of the model */
    double next_s, back_s, next_wrap_s, back_wrap_s; /* messages between neighbours; 0 at p = 1 */
    double least_s;                                  /* of the four */
    double message_bytes;
    double share;   /* of the SMs, taken from kernels by a lane that is surely busy beside them */
    double begin_s; /* until the first kernel's parameters are in */
    double lap_s;   /* messages of gradients once round all stages */
    double after_s; /* the first stage's last sums and optimizer */
} Terms;

/* Seconds that lanes beside kernels are busy: those of parameters and gradients, and of messages in
 * and out, each ahead and back; where the schedule turns there are twice as many. A lane's
 * communications follow one another. */
typedef struct {
    double gathers_s, gradients_s, before_s, after_s;
    int32_t lanes; /* of messages before, and after */
} Beside;

/* Returns the communication of stage s. */
static const RhStageCommTime *sums_of(const Terms *t, int32_t s)
{
    const RhStageCommTime *f = t->sums;
    for (; s >= f->alike_count; f++)
        s -= f->alike_count;
    return f;
}

static Beside beside(const Terms *t, int32_t s)
{
    const RhStageCommTime *f = sums_of(t, s);
    double message = t->m * t->least_s;
    int32_t before = t->v - (s == 0), after = t->v - (s == t->p - 1);
    if (t->turns) { /* with either neighbour, where there is one */
        before = s > 0;
        after = s < t->p - 1;
    }
    return (Beside){f->step.gathers_s + t->m * f->step_each.gathers_s,
                    f->step.gradients_s + t->m * f->step_each.gradients_s, before * message,
                    after * message, t->turns ? 4 : 2};
}

/* Returns the seconds that are left of them when the stage runs no kernel for `idle_s`: all lanes
 * may use the same idle second. */
static double left_s(const Beside *b, double idle_s)
{
    return rh_max_d(0, b->gathers_s - idle_s) + rh_max_d(0, b->gradients_s - idle_s) +
           b->lanes * (rh_max_d(0, b->before_s - idle_s) + rh_max_d(0, b->after_s - idle_s));
}

/* Returns when a stage's kernels start, at the earliest. */
static inline double fill_s(const Terms *t, int32_t s)
{
    return t->begin_s + t->spans->fill_s[s] + s * t->next_s;
}

/* Returns the time behind the stage's last gradients that go back, until the first stage is
 * done; where they are of a second copy of the model, until they are through its first part. */
static inline double drain_s(const Terms *t, int32_t s)
{
    int32_t laps = t->profile->back_chunk[s];
    double messages = s * t->back_s + laps * t->lap_s;
    if (t->turns) /* on to the last stage, then back to the first */
        messages = laps ? (t->p - 1 - s) * t->next_s + (t->p - 1) * t->back_s : s * t->back_s;
    int32_t g = rh_pipeline_model_chunk(t->profile->schedule, t->p, s, laps);
    if (t->mirrors)
        return t->spans->drain_s[g] + (laps ? (t->p - 1 - s) * t->next_s : s * t->back_s);
    return t->spans->drain_s[g] + messages + t->after_s;
}

/* Returns when all slots are done and what the stage does `after`, or, if later, when its gradients
 * are back at the first stage. */
static inline double slots_s(const Terms *t, int32_t s, double after)
{
    double work = fill_s(t, s) + t->work_s[s];
    double back = t->p > 1 ? work - t->prices->behind_back_s[s] + drain_s(t, s) : 0;
    return rh_max_d(work + after, back);
}

/* Returns when a stage is done whose lanes hold SMs. Six lanes at most (ten, where the schedule
 * turns) take `share` of the SMs each. While their shares are no more than all, an idle second more
 * never makes the sum less, so the least idle time gives a bound. */
static double slowed_s(const Terms *t, int32_t s)
{
    const RhStageCommTime *f = sums_of(t, s);
    Beside lanes = beside(t, s);
    double fill = fill_s(t, s), work = t->work_s[s], drain = drain_s(t, s);
    double idle = fill + (work - t->m * t->spans->kernels_s[s]), after = f->end_s + f->optimizer_s;
    double here = fill + work + after + t->share * left_s(&lanes, idle + after);
    if (t->p == 1)
        return here;
    double back = fill + work - t->prices->behind_back_s[s] + drain;
    return rh_max_d(here, back + t->share * left_s(&lanes, idle + drain));
}

/* Latest times over stages that communicate alike. */
typedef struct {
    double turn_s;    /* the last micro-batch's gradients are a stage's next slots */
    double through_s; /* the first gradients are there */
    double work_s;    /* all slots are done, or gone back to the first stage: no lane beside them */
} Latest;

static Latest latest_of(const Terms *t, int32_t s, int32_t end)
{
    Latest l = {0};
    const RhChunkTimeTable *spans = t->spans;
    const RhProfileCosts *prices = t->prices;
    int32_t chunks = t->p * t->v;
    double there = t->v * (t->p - 1) * t->next_s + (t->v - 1) * t->next_wrap_s;
    if (t->turns)
        there = (t->p - 1) * (t->next_s + t->back_s);
    double first = t->begin_s + spans->forward_all_s + there + spans->drain_s[chunks];
    const RhStageCommTime *f = sums_of(t, s);
    double after = f->end_s + f->optimizer_s;
    for (int32_t i = s; i < end; i++) {
        double fill = fill_s(t, i);
        l.turn_s = rh_max_d(l.turn_s, fill + prices->before_last_s[i]);
        int32_t g = rh_pipeline_model_chunk(t->profile->schedule, t->p, i, t->v - 1);
        double here = t->turns ? i * t->next_s : (t->p - 1 - i) * t->back_s;
        if (!t->mirrors)
            l.through_s = rh_max_d(l.through_s, first - spans->drain_s[g + 1] + here);
        l.work_s = rh_max_d(l.work_s, slots_s(t, i, after));
    }
    return l;
}

/* Returns the latest end of stages that communicate alike, or `worst_s` if even all that lanes hold
 * would not make them later. */
static double pipeline_s(const Terms *t, int32_t s, int32_t end, double work_s, double worst_s)
{
    Beside lanes = beside(t, s == 0 && end > 1 ? 1 : s); /* an inner stage has the most messages */
    if (work_s + t->share * left_s(&lanes, 0) <= worst_s)
        return worst_s;
    for (int32_t i = s; i < end; i++)
        worst_s = rh_max_d(worst_s, slowed_s(t, i));
    return worst_s;
}

/* Returns when a stage's gradients are reduced and its optimizer is done. Gradients of every micro-
 * batch: the first are there when one has gone through all chunks and back to this stage. Gradients
 * of the last micro-batch: when it is the last one's turn. */
static double gradients_s(const Terms *t, int32_t s, const Latest *l)
{
    const RhStageCommTime *f = sums_of(t, s);
    double every = f->step.gradients_s + t->m * f->step_each.gradients_s;
    return rh_max_d(f->each ? l->through_s + every : 0, l->turn_s + f->last_s) + f->end_s +
           f->optimizer_s;
}

/* Sums the seconds of the path's messages, each as the network has it for its stage (RhGroupNetwork.next). */
static double messages_s(const Terms *t, const RhSchedulePath *path)
{
    double sum = 0;
    for (int32_t s = 0; s < t->p; s++)
        sum += path->messages[2 * s] * rh_link_cost_s(&t->net->next[s], t->message_bytes) +
               path->messages[2 * s + 1] * rh_link_cost_s(&t->net->back[s], t->message_bytes);
    return sum;
}

static double mean_message_s(const Terms *t)
{
    double sum = 0;
    for (int32_t s = 0; s < t->p; s++)
        sum += rh_link_cost_s(&t->net->next[s], t->message_bytes) +
               rh_link_cost_s(&t->net->back[s], t->message_bytes);
    return sum / (2 * t->p);
}

/* Returns the end of a path with its own messages, what delays its last slots and the optimizer of
 * the stage at its end; 0 without a path. */
static double along_s(const Terms *t, const RhLayout *l, const RhSchedulePath *path)
{
    if (!path)
        return 0;
    const RhSchedulePathSlot *end =
        &g_array_index(path->slots, RhSchedulePathSlot, path->slots->len - 1);
    return path->slots_s + messages_s(t, path) + rh_bound_path_late_s(t->cache, l, t->net, path) +
           sums_of(t, end->stage)->optimizer_s;
}

/* Returns the end of the path that is longest if each message takes `message_s`. */
static double path_at_s(const Terms *t, const RhLayout *l, double message_s)
{
    double last_frac = t->net->uniform && t->sums->last_s > 0 ? t->cache->held_frac : 0;
    return along_s(
        t, l,
        rh_bound_path(t->spans, t->profile, t->prices, message_s, last_frac, !t->net->uniform));
}

/* Returns the end of the path that is longest if messages also keep back the collectives of slots
 * behind them. */
static double path_beside_s(const Terms *t, const RhLayout *l, double message_s)
{
    g_autofree double *behind_s = rh_bound_path_behind_s(t->cache, l, t->net);
    RhSchedulePath *path =
        behind_s ? rh_bound_path_find(t->spans, t->profile, message_s, 0, true, behind_s) : NULL;
    double seconds = along_s(t, l, path);
    if (path)
        rh_schedule_path_free(path);
    return seconds;
}

/* Returns the longest path's end. Where replicas are placed differently messages differ, and of
 * several paths the longest counts: with messages at their least, at their mean, and with the
 * collectives that they delay. */
static double path_s(const Terms *t, const RhLayout *l)
{
    double least = path_at_s(t, l, t->next_s);
    if (t->net->uniform || t->p == 1)
        return least;
    double mean = mean_message_s(t);
    return rh_max_d(rh_max_d(least, path_at_s(t, l, mean)), path_beside_s(t, l, mean));
}

/* Returns path_s, which is the same for every layout with these prices and flows, and so is
 * stored. */
static double known_path_s(const Terms *t, const RhLayout *l)
{
    GArray *known = t->prices->longest;
    if (!known)
        known = t->prices->longest = g_array_new(FALSE, FALSE, sizeof(RhLongest));
    for (guint i = 0; i < known->len; i++)
        if (g_array_index(known, RhLongest, i).flows == t->set)
            return g_array_index(known, RhLongest, i).seconds;
    RhLongest longest = {t->set, path_s(t, l)};
    g_array_append_val(known, longest);
    return longest.seconds;
}

static void price_messages(Terms *t, double bytes)
{
    const RhGroupNetwork *net = t->net;
    t->message_bytes = bytes;
    if (t->p == 1)
        return;
    t->next_s = rh_link_cost_s(&net->least_next, bytes);
    t->back_s = rh_link_cost_s(&net->least_back, bytes);
    t->next_wrap_s = rh_link_cost_s(&net->next[t->p - 1], bytes);
    t->back_wrap_s = rh_link_cost_s(&net->back[0], bytes);
    t->lap_s = (t->p - 1) * t->back_s + t->back_wrap_s;
    t->least_s = rh_min_d(rh_min_d(t->next_s, t->back_s), rh_min_d(t->next_wrap_s, t->back_wrap_s));
}

/* Returns the part of the SMs that a lane takes from kernels beside so many lanes of layers. */
static double taken_frac(const RhBoundCache *cache, const RhTables *tables, int lanes)
{
    int32_t counted = tables->profile->schedule->turns ? 10 : 6;
    return tables->net->uniform ? rh_bound_taken_frac(cache, counted, lanes) : 0;
}

/* Terms of the bound without the communication of stage programs. */
static Terms terms_of_work(RhBoundCache *cache, const RhLayout *l, const RhTables *tables)
{
    Terms t = {.cache = cache,
               .spans = tables->spans,
               .profile = tables->profile,
               .prices = tables->prices,
               .net = tables->net,
               .p = l->pp,
               .v = l->vpp,
               .turns = tables->profile->schedule->turns,
               .mirrors = tables->profile->schedule->mirrors,
               .m = tables->profile->m};
    t.share = taken_frac(cache, tables, tables->spans->beside);
    price_messages(&t, tables->shard->model_cost->least_message_bytes);
    return t;
}

static void add_sums(Terms *t, const RhStageCommTime *sums)
{
    t->sums = sums;
    t->begin_s = sums->first_wait_s;
    t->after_s = sums->end_s + sums->optimizer_s;
}

static Terms terms_of(RhBoundCache *cache, const RhLayout *l)
{
    RhTables tables = rh_bound_tables(cache, l);
    Terms t = terms_of_work(cache, l, &tables);
    t.work_s = rh_bound_slot_work(cache, l, &tables);
    t.set = rh_bound_comm_step_set(cache, l);
    add_sums(&t, t.set->sums);
    return t;
}

static double slowest_s(const Terms *t)
{
    double worst = 0;
    for (int32_t s = 0; s < t->p; s++)
        worst = rh_max_d(worst, slots_s(t, s, 0));
    return worst;
}

double rh_bound_work_s(RhBoundCache *cache, const RhLayout *l)
{
    if (rh_stages_unequal(l))
        return rh_unequal_closed_s(cache, l);
    RhTables tables = rh_bound_tables(cache, l);
    Terms t = terms_of_work(cache, l, &tables);
    t.work_s = rh_bound_slot_work(cache, l, &tables);
    return slowest_s(&t);
}

/* Returns the end of all slots of a stage that is busy longer for each micro-batch. While a pair
 * of passes waits, more kernels may run without making it longer: there they add to the kernels
 * alone. */
static double more_slots_s(const Terms *t, const RhRecomputeWork *more)
{
    int32_t s = more->stage;
    const RhStageCommTime *f = sums_of(t, s);
    double after = f->end_s + f->optimizer_s;
    double kernels_s = t->m * (t->spans->kernels_s[s] + more->more_s);
    return t->spans->pairs ? fill_s(t, s) + kernels_s + after
                           : slots_s(t, s, after) + t->m * more->more_s;
}

/* Gets the work where pairs may run in another order than without recomputation (recompute_keeps_pair_order.c). */
static void add_open_work(Terms *t, const RhLayout *plain, const RhTables *tables,
                          const uint32_t *modules)
{
    RhProfileCosts *prices = tables->prices;
    double **known_s = modules ? &prices->open_modules_s : &prices->open_s;
    bool asked = *known_s && (!modules || *modules == prices->open_modules);
    if (tables->spans->pairs && !asked) {
        g_autofree double *pair_s = rh_bound_open_pairs_new(t->cache, plain, tables, modules);
        if (!*known_s)
            *known_s = rh_arena_take(t->cache->tables, (gsize)t->p * sizeof **known_s);
        rh_bound_pair_work(tables->spans, tables->profile, pair_s, *known_s);
        prices->open_modules = modules ? *modules : prices->open_modules;
    }
    t->work_s = *known_s ? *known_s : rh_bound_slot_work(t->cache, plain, tables);
}

double rh_bound_open_work_s(RhBoundCache *cache, const RhLayout *plain)
{
    if (rh_stages_unequal(plain))
        return rh_unequal_closed_s(cache, plain);
    RhTables tables = rh_bound_tables(cache, plain);
    Terms t = terms_of_work(cache, plain, &tables);
    add_open_work(&t, plain, &tables, NULL);
    return slowest_s(&t);
}

double rh_bound_work_beside_s(RhBoundCache *cache, const RhLayout *plain,
                              const RhRecomputeWork *more)
{
    static const RhStageCommTime none = {.alike_count = INT32_MAX};
    RhTables tables = rh_bound_tables(cache, plain);
    Terms t = terms_of_work(cache, plain, &tables);
    add_open_work(&t, plain, &tables, &more->modules);
    add_sums(&t, &none);
    return rh_max_d(slowest_s(&t), more_slots_s(&t, more));
}

/* Returns the latest of `worst` and of the sums over stages. */
static double sums_s(const Terms *t, double worst)
{
    for (int32_t s = 0, end; s < t->p; s = end) {
        const RhStageCommTime *f = sums_of(t, s);
        double links = f->step.moving_s + t->m * f->step_each.moving_s + f->end_s + f->optimizer_s;
        double copies = f->step.copies_s + t->m * f->step_each.copies_s;
        double weights = f->step.weights_s + t->m * f->step_each.weights_s;
        end = s + f->alike_count;
        Latest latest = latest_of(t, s, end);
        worst = rh_max_d(worst, rh_max_d(links, gradients_s(t, s, &latest)));
        if (copies > 0) /* none before the stage begins, and its last backward waits for the last */
            worst = rh_max_d(worst, fill_s(t, s) + copies + f->end_s + f->optimizer_s);
        if (weights > 0) /* the last backward waits for the last of them */
            worst = rh_max_d(worst, weights + f->end_s + f->optimizer_s);
        worst = pipeline_s(t, s, end, latest.work_s, worst);
    }
    return worst;
}

double rh_bound_gradient_interference_s(RhBoundCache *cache, const RhLayout *l)
{
    if (rh_stages_unequal(l))
        return rh_unequal_closed_s(cache, l);
    RhTables tables = rh_bound_tables(cache, l);
    Terms t = terms_of_work(cache, l, &tables);
    t.work_s = rh_bound_slot_work(cache, l, &tables);
    add_sums(&t, rh_bound_comm_step_set(cache, l)->sums);
    return sums_s(&t, 0);
}

double rh_bound_open_sums_s(RhBoundCache *cache, const RhLayout *plain, const RhRecomputeWork *more)
{
    RhTables tables = rh_bound_tables(cache, plain);
    Terms t = terms_of_work(cache, plain, &tables);
    add_open_work(&t, plain, &tables, &more->modules);
    g_autofree RhStageCommTime *sums = rh_layer_comm_sums_new(cache, plain);
    t.share = taken_frac(cache, &tables, tables.spans->lanes);
    add_sums(&t, sums);
    return sums_s(&t, more_slots_s(&t, more));
}

/* Returns the terms with the network of replicas that are placed differently. */
static Terms terms_beside(const Terms *t, const RhLayout *l, int32_t other)
{
    RhTables tables = rh_bound_tables(t->cache, l);
    tables.net = &tables.net->others[other];
    tables.spans =
        rh_bound_chunk_times(t->cache, tables.shard, rh_bound_split(t->cache, l), tables.net);
    tables.prices = rh_bound_profile_costs(t->cache, tables.spans, tables.profile);
    Terms beside = terms_of_work(t->cache, l, &tables);
    beside.work_s = rh_bound_slot_work(t->cache, l, &tables);
    beside.set = t->set;
    add_sums(&beside, t->sums);
    return beside;
}

double rh_closed_form_s(RhBoundCache *cache, const RhLayout *l)
{
    if (rh_stages_unequal(l))
        return rh_unequal_closed_s(cache, l);
    Terms t = terms_of(cache, l);
    double worst = sums_s(&t, known_path_s(&t, l));
    for (int32_t i = 0; i < t.net->others_count; i++) {
        Terms beside = terms_beside(&t, l, i);
        worst = sums_s(&beside, rh_max_d(worst, known_path_s(&beside, l)));
    }
    return t.net->uniform ? worst : rh_max_d(worst, rh_bound_links_s(cache, l));
}
