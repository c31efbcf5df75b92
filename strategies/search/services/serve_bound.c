/* Upper bound on the rate of requests of a deployment, in closed form (docs/theory/search.md).
 *
 * I, O: mean tokens of prompt and answer; b: sequences continued in an iteration; p: tokens of
 * prompts read in it; T(b, p): its time. A request needs O - 1 steps of iterations that continue it
 * (fewer where one gives several tokens), and I tokens read, less those in a cache that never
 * evicts. Whatever a scheduler does, iterations have some (b, p), so a request takes at least the
 * time of the cheapest mixture of iterations that does both:
 *
 *     t = min sum w T(b, p),   sum w b = O - 1,   sum w p = I,   w >= 0
 *
 * With two conditions this is a mixture of two. Larger b are cheaper per step, so it suffices to
 * consider the largest b and iterations without steps. */
#include <math.h>

#include <stdlib.h>

#include "strategies/search/services/serve_plan.h"
#include "strategies/serve/cache/prompt_prefixes.h"
#include "strategies/serve/iteration/speculation.h"
#include "strategies/serve/server_software.h"

#define CHUNKS_MOST 256
#define POINTS_MOST 32
#define STRIDES     8 /* values of p between none and the maximum of an iteration */

typedef struct {
    RhIterations *it;
    double input, output; /* I, O */
    double unread;        /* I less the tokens that caches may hold */
    double given;         /* mean tokens that an iteration gives each sequence */
    double batch, chunk;  /* maximum of sequences, and of tokens, of an iteration */
    int32_t groups;       /* groups of one server that work side by side (dp, pp) */
} Bounding;

typedef struct {
    double b, p, s;
} Point;

static int by_number(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* Lists, for each level, the quantile of `count` numbers, which it sorts. */
static void list_shares(int32_t *numbers, guint count, const RhSlos *slos, int32_t *at)
{
    qsort(numbers, count, sizeof *numbers, by_number);
    for (int32_t k = 0; k < slos->count; k++) {
        double rank = ceil(slos->list[k].share * count) - 1;
        at[k] = numbers[(guint)fmin(fmax(rank, 0), count - 1)];
    }
}

RhServeMeans rh_serve_means(const RhRequests *requests, const RhServer *server, const RhSlos *slos)
{
    RhServeMeans means = {0};
    guint count = requests->list->len;
    g_autofree int32_t *inputs = g_new(int32_t, count + 1), *outputs = g_new(int32_t, count + 1);
    double n = requests->list->len;
    for (guint i = 0; i < requests->list->len; i++) {
        means.input += g_array_index(requests->list, RhRequest, i).input_tokens / n;
        means.output += g_array_index(requests->list, RhRequest, i).output_tokens / n;
        inputs[i] = g_array_index(requests->list, RhRequest, i).input_tokens;
        outputs[i] = g_array_index(requests->list, RhRequest, i).output_tokens;
    }
    if (count > 0) {
        list_shares(inputs, count, slos, means.input_at);
        list_shares(outputs, count, slos, means.output_at);
        means.shortest = inputs[0];
    }
    g_autoptr(RhPromptPrefixes) prompts = rh_prompt_prefixes_new(requests, server->block_tokens);
    means.unread = means.input - (prompts ? (double)rh_prompt_prefixes_found_most(prompts) / n : 0);
    return means;
}

/* Appends whole prompts, and the middle of one more, to `chunks`, as long as there is room. Returns
 * how many of them end a prompt. */
static int32_t add_chunks(const Bounding *x, double tokens, int32_t most, RhChunk *chunks,
                          int32_t *count)
{
    int32_t ended = 0, input = (int32_t)fmax(1, floor(x->input)), last = *count + most - 1;
    for (double left = floor(tokens); left >= 1; (*count)++) {
        int32_t of_one = (int32_t)fmin(left, input);
        int32_t taken = *count == last ? (int32_t)left : of_one;
        chunks[*count] = (RhChunk){(input - of_one) / 2, taken};
        left -= taken;
        ended += of_one == input;
    }
    return ended;
}

/* T(b, p): sequences with half of their answers, and prompts distributed evenly to the server's
 * groups. */
static double iteration_s(const Bounding *x, double b, double p)
{
    RhChunk chunks[CHUNKS_MOST];
    int32_t count = 0, ended = 0, groups = MIN(x->groups, CHUNKS_MOST);
    for (int32_t g = 0; g < groups; g++)
        ended += add_chunks(x, p / groups, CHUNKS_MOST / groups, chunks, &count);
    RhBatch batch = {.decodes = (int32_t)b,
                     .contexts = (int64_t)(b * (x->input + x->output / 2)),
                     .chunks = chunks,
                     .chunks_count = count,
                     .ended = ended};
    return rh_iteration_s(x->it, &batch);
}

/* Lists iterations that continue b sequences and read prompts, from none to the maximum. */
static int32_t list_points(const Bounding *x, double b, Point *points)
{
    double most = x->chunk - b, own[] = {64, 256, x->input, 2 * x->input};
    int32_t count = 0;
    for (int32_t i = 0; i <= STRIDES; i++)
        points[count++].p = floor(fmax(most, 0) * i / STRIDES);
    for (size_t i = 0; i < G_N_ELEMENTS(own); i++)
        if (own[i] <= most)
            points[count++].p = floor(own[i]);
    for (int32_t i = 0; i < count; i++) {
        points[i].b = b;
        points[i].s = b > 0 || points[i].p > 0 ? iteration_s(x, b, points[i].p) : 0;
    }
    return count;
}

/* Time of the mixture of two that makes so many steps and reads so many tokens; HUGE_VAL: none
 * does. */
static double mixture_s(const Point *a, const Point *c, double steps, double tokens)
{
    double det = a->b * c->p - c->b * a->p;
    if (fabs(det) < 1e-9)
        return HUGE_VAL;
    double w = (steps * c->p - c->b * tokens) / det, v = (a->b * tokens - steps * a->p) / det;
    return w >= 0 && v >= 0 ? w * a->s + v * c->s : HUGE_VAL;
}

/* t, where at most b sequences are continued at once. */
static double request_s(const Bounding *x, double b)
{
    Point points[2 * POINTS_MOST];
    int32_t count = list_points(x, b, points);
    count += list_points(x, 0, points + count);
    double least_s = HUGE_VAL, steps = (x->output - 1) / x->given;
    for (int32_t i = 0; i < count; i++) {
        if (points[i].p > 0 && steps <= 0)
            least_s = fmin(least_s, points[i].s * x->unread / points[i].p);
        for (int32_t k = i + 1; k < count && steps > 0; k++)
            least_s = fmin(least_s, mixture_s(&points[i], &points[k], steps, x->unread));
    }
    return least_s;
}

/* Least limit that levels set on the mean time per token of nearly all requests. */
static double token_limit_s(const RhSlos *slos)
{
    double limit_s = HUGE_VAL;
    for (int32_t k = 0; k < slos->count; k++) {
        const RhSlo *slo = &slos->list[k];
        if (slo->metric == RH_METRIC_TPOT && (slo->share <= 0 || slo->share >= 0.9))
            limit_s = fmin(limit_s, slo->limit_s);
    }
    return limit_s;
}

/* Mean gap between tokens of b sequences that are served without a pause: rate x steps x gap =
 * b. */
static double token_gap_s(const Bounding *x, double b, bool prompts_too)
{
    double steps = fmax(x->output - 1, 1);
    return prompts_too ? b * request_s(x, b) / steps : iteration_s(x, b, 0) / x->given;
}

/* Most concurrent sequences within the limit; 0: not even one is. */
static double batch_within(const Bounding *x, double most, bool prompts_too, double limit_s)
{
    double low = 0, high = floor(most);
    if (!isfinite(limit_s) || x->output <= 1 || token_gap_s(x, high, prompts_too) <= limit_s)
        return high;
    while (high - low > 1) {
        double middle = floor((low + high) / 2);
        if (token_gap_s(x, middle, prompts_too) <= limit_s)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Maximum of sequences that one replica can continue at once, by limits on sequences, tokens and
 * cache. */
static double most_at_once(const Bounding *x, const RhService *service, int32_t which)
{
    double tokens = (double)rh_service_kv_budget(service, which).tokens;
    return fmax(1, fmin(fmin(x->batch, x->chunk), tokens / (x->input + x->output / 2)));
}

/* Inputs of the bound. Limits of a deployment are of one of the groups of attention. */
static Bounding bounding_of(const RhService *service, const RhDeployment *d, const RhServer *server,
                            const RhServeMeans *means, int32_t which)
{
    const RhPool *pool = &d->pools[which];
    Bounding x = {.it = rh_service_iterations(service, which),
                  .input = means->input,
                  .output = means->output,
                  .unread = pool->prefix == RH_PREFIX_OFF ? means->input : means->unread,
                  .given = rh_pool_accepted(pool),
                  .batch = (pool->batch > 0 ? pool->batch : server->batch) *
                           (double)rh_server_batches(server, pool),
                  .chunk = (pool->chunk > 0 ? pool->chunk : server->chunk) *
                           (double)rh_pool_batches(pool),
                  .groups = pool->dp * pool->pp};
    return x;
}

static double bound_together(const RhService *service, const RhDeployment *d,
                             const RhServer *server, const RhServeMeans *means, double limit_s)
{
    Bounding x = bounding_of(service, d, server, means, 0);
    double most = most_at_once(&x, service, 0);
    double b = batch_within(&x, most, true, limit_s);
    return b < 1 ? 0 : d->pools[0].replicas / request_s(&x, b);
}

/* Bound with two pools: that of the slower one. */
static double bound_apart(const RhService *service, const RhDeployment *d, const RhServer *server,
                          const RhServeMeans *means, double limit_s)
{
    Bounding prompts = bounding_of(service, d, server, means, 0),
             tokens = bounding_of(service, d, server, means, 1);
    double steps = (prompts.output - 1) / tokens.given, most = most_at_once(&tokens, service, 1);
    double b = batch_within(&tokens, most, false, limit_s);
    prompts.output = 1;
    double read = d->pools[0].replicas / request_s(&prompts, 0);
    if (b < 1 || steps <= 0)
        return b < 1 ? 0 : read;
    return fmin(read, d->pools[1].replicas * b / steps / iteration_s(&tokens, b, 0));
}

/* Bound of a model that makes no tokens: passes over full batches of the shortest requests. */
static double bound_once(const RhService *service, const RhDeployment *d, const RhServer *server,
                         const RhServeMeans *means)
{
    int32_t most = d->pools[0].batch > 0 ? d->pools[0].batch : server->batch;
    g_autofree RhChunk *chunks = g_new(RhChunk, most + 1);
    double best = 0;
    for (int32_t b = 1; b <= most; b++) {
        chunks[b - 1] = (RhChunk){0, means->shortest};
        RhBatch batch = {.chunks = chunks, .chunks_count = b, .ended = b};
        best = fmax(best, b / rh_iteration_s(rh_service_iterations(service, 0), &batch));
    }
    return d->pools[0].replicas * best;
}

/* --- levels that are missed at any rate --- */

/* Time of reading a prompt in an empty server: whole, or in chunks where that is faster. */
static double read_s(const Bounding *x, int32_t tokens)
{
    RhChunk chunk = {0, tokens};
    RhBatch batch = {.chunks = &chunk, .chunks_count = 1, .ended = 1};
    double whole_s = rh_iteration_s(x->it, &batch), parts_s = 0;
    int32_t each = (int32_t)fmax(1, x->chunk / x->groups);
    if (each >= tokens || tokens / each > CHUNKS_MOST)
        return whole_s;
    for (int32_t done = 0; done < tokens; done += each) {
        chunk = (RhChunk){done, MIN(each, tokens - done)};
        batch.ended = done + each >= tokens;
        parts_s += rh_iteration_s(x->it, &batch);
    }
    return fmin(whole_s, parts_s);
}

/* Time of a further token of one sequence, in a nearly empty cache. */
static double token_s(const Bounding *x)
{
    RhBatch batch = {.decodes = 1, .contexts = 1};
    return rh_iteration_s(x->it, &batch) / x->given;
}

double rh_serve_missed_s(const RhService *service, const RhDeployment *d, const RhServer *server,
                         const RhServeMeans *means, const RhSlo *slo, int32_t level,
                         double *least_s)
{
    bool share = slo->share > 0;
    Bounding x = bounding_of(service, d, server, means, 0),
             y = bounding_of(service, d, server, means, d->pools_count - 1);
    bool finds = x.unread < x.input; /* any prompt may be in the cache */
    int32_t tokens = finds ? 1 : share ? means->input_at[level] : means->shortest;
    int32_t answer = share ? means->output_at[level] : 1;
    double made_s = answer > 1 ? read_s(&x, 1) + (answer - 1) * token_s(&y) : 0;
    double fixed_s = server->admit_s.value + server->first_s.value;
    *least_s = slo->metric == RH_METRIC_TTFT  ? fixed_s + read_s(&x, tokens)
               : slo->metric == RH_METRIC_E2E ? fixed_s + fmax(read_s(&x, tokens), made_s)
               : means->output > 1            ? token_s(&y)
                                              : 0;
    if (slo->metric == RH_METRIC_TBT && x.given > 1)
        *least_s = 0; /* tokens that come together have no gap */
    return fmax(*least_s - slo->limit_s, 0);
}

double rh_serve_bound_per_s(const RhService *service, const RhDeployment *d, const RhServer *server,
                            const RhServeMeans *means, const RhSlos *slos)
{
    double least_s;
    for (int32_t k = 0; k < slos->count; k++)
        if (rh_serve_missed_s(service, d, server, means, &slos->list[k], k, &least_s) > 0)
            return 0;
    if (means->once)
        return bound_once(service, d, server, means);
    return (d->pools_count > 1 ? bound_apart : bound_together)(service, d, server, means,
                                                               token_limit_s(slos));
}
