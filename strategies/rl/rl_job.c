#include "strategies/rl/rl_job.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <gsl/gsl_sort.h>
#include <math.h>

#define BLOCK_TOKENS      16 /* of a name of a prompt's block, as servers have them */
#define BLOCK_TOKENS_MOST 256
#define BLOCKS_LEAST      8 /* of a prompt: what is not a whole block is read by every answer */
#define SEED_OFFSET       7000003
#define LENGTH_RUNS       48 /* lengths that stand for all samples; RH_DOCUMENT_RUNS_MAX at most */
#define MEDIAN_STEPS      200

int64_t rh_rl_updates(const RhRlJob *job)
{
    int64_t samples = rh_rl_step_samples(job), each = rh_rl_update_samples(job);
    return job->epochs * ((samples + each - 1) / each);
}

/* Tensors of a layer beside its experts: four projections of attention, those of a dense or shared network, norms. */
#define LAYER_TENSORS 10

int64_t rh_rl_weight_matrices(const RhModel *model)
{
    int64_t sum = 3; /* embedding, last norm, head */
    for (int32_t i = 0; i < model->layers_count; i++) {
        const RhLayerKind *kind = &model->kinds[model->kind_of_layer[i]];
        sum += LAYER_TENSORS + (int64_t)kind->experts * (kind->ffn_gated ? 3 : 2);
    }
    return sum;
}

int32_t rh_rl_takes(const RhRlJob *job)
{
    int64_t each = rh_rl_update_samples(job);
    bool whole =
        job->epochs == 1 && each % job->samples == 0 && rh_rl_step_samples(job) % each == 0;
    return whole ? (int32_t)rh_rl_updates(job) : 1;
}

int32_t rh_rl_forwards(const RhRlJob *job)
{
    return job->algorithm->forwards - job->served_log_probs +
           (job->algorithm->reference && job->reference);
}

/* E[min(X, m)] of ln X normal with median x and deviation s:
 * x e^(s^2/2) Phi(ln(m/x)/s - s) + m (1 - Phi(ln(m/x)/s)). */
static double capped_mean(double median, double sigma, double most)
{
    double z = log(most / median) / sigma;
    return median * exp(sigma * sigma / 2) * gsl_cdf_ugaussian_P(z - sigma) +
           most * gsl_cdf_ugaussian_Q(z);
}

double rh_rl_median(double mean, double sigma, double most)
{
    if (sigma <= 0)
        return most > 0 && mean > most ? 0 : mean;
    if (most <= 0)
        return mean * exp(-sigma * sigma / 2);
    if (mean >= most)
        return 0;
    double low = log(mean) - sigma * sigma - 1, high = log(most) + 20 * sigma + 20;
    for (int i = 0; i < MEDIAN_STEPS && high - low > 1e-12; i++) {
        double middle = (low + high) / 2;
        *(capped_mean(exp(middle), sigma, most) < mean ? &low : &high) = middle;
    }
    return exp((low + high) / 2);
}

static int32_t draw_answer(const RhRlAnswers *a, double median, gsl_rng *rng)
{
    double drawn = median * exp(a->sigma * gsl_ran_ugaussian(rng));
    double most = a->most > 0 ? a->most : RH_REQUEST_TOKENS_MAX / 2;
    return (int32_t)fmax(round(fmin(drawn, most)), 1);
}

static int32_t draw_prompt(RhLengthRange range, gsl_rng *rng)
{
    double share = gsl_rng_uniform(rng);
    return range.low + (int32_t)floor(share * ((double)range.high - range.low + 1));
}

/* Returns tokens of a name: a power of two that cuts the shortest prompt into a few blocks, for looking names up is
 * most of what simulating short answers takes. */
static int32_t block_tokens(const RhRlJob *job)
{
    int32_t tokens = BLOCK_TOKENS;
    while (!job->lengths && tokens < BLOCK_TOKENS_MOST &&
           2 * tokens * BLOCKS_LEAST <= job->prompt.low)
        tokens *= 2;
    return tokens;
}

/* Appends names for the blocks of group `group`'s prompt; returns the index of the first. */
static int32_t name_blocks(RhRequests *requests, int32_t group, int32_t tokens)
{
    int32_t first = (int32_t)requests->blocks->len;
    for (int32_t i = 0; i < tokens / requests->block_tokens; i++) {
        uint64_t name = ((uint64_t)group + 1) << 32 | (uint32_t)i;
        g_array_append_val(requests->blocks, name);
    }
    return first;
}

/* A pair of lengths of the file, or drawn by the laws. */
static RhRequest draw_sample(const RhRlJob *job, double median, gsl_rng *rng)
{
    const GArray *given = job->lengths ? job->lengths->list : NULL;
    if (given)
        return g_array_index(given, RhRequest, gsl_rng_uniform_int(rng, given->len));
    return (RhRequest){.input_tokens = draw_prompt(job->prompt, rng),
                       .output_tokens = draw_answer(&job->answer, median, rng)};
}

/* Appends an answer: one request, or one a turn, whose prompt is all that was said before. Turns are of a session
 * of their own, whose cache servers keep. */
static void append_answer(RhRequests *requests, const RhRlJob *job, const RhRequest *whole,
                          int32_t session)
{
    RhRequest q = *whole;
    q.session = job->turns > 1 ? session : -1;
    for (int32_t turn = 0, said = 0; turn < job->turns; turn++) {
        int32_t until =
            MAX((int32_t)((int64_t)whole->output_tokens * (turn + 1) / job->turns), said + 1);
        q.turn = turn;
        q.output_tokens = until - said;
        g_array_append_val(requests->list, q);
        q.input_tokens += q.output_tokens + job->tool_tokens;
        said = until;
    }
}

RhRequests *rh_rl_requests(const RhRlJob *job, int32_t groups)
{
    RhRequests *requests = rh_requests_new("drawn");
    double median = rh_rl_median(job->answer.mean, job->answer.sigma, job->answer.most);
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    gsl_rng_set(rng, (unsigned long)(job->seed & 0xffffffffU) + 1 + SEED_OFFSET);
    requests->block_tokens = block_tokens(job);
    for (int32_t g = 0; g < groups; g++) {
        RhRequest first = {0};
        for (int32_t s = 0; s < job->samples; s++) {
            RhRequest q = draw_sample(job, median, rng);
            q.priority = 0;
            q.t_s = 0;
            q.blocks_first = q.blocks_count = 0;
            if (s == 0)
                first = q;
            if (s == 0 && job->turns == 1) {
                q.blocks_first = name_blocks(requests, g, q.input_tokens);
                q.blocks_count = q.input_tokens / requests->block_tokens;
                first = q;
            }
            q.input_tokens = first.input_tokens;
            q.blocks_first = first.blocks_first;
            q.blocks_count = first.blocks_count;
            append_answer(requests, job, &q, g * job->samples + s);
        }
    }
    gsl_rng_free(rng);
    requests->timed = true;
    return requests;
}

typedef struct {
    int32_t group, longest;
} GroupLength;

static int by_longest(const void *a, const void *b)
{
    const GroupLength *x = a, *y = b;
    return x->longest != y->longest ? (x->longest > y->longest) - (x->longest < y->longest)
                                    : (x->group > y->group) - (x->group < y->group);
}

void rh_rl_keep_first(const RhRlJob *job, RhRequests *requests)
{
    int32_t samples = rh_rl_group_requests(job), groups = (int32_t)requests->list->len / samples;
    if (groups <= job->prompts)
        return;
    g_autofree GroupLength *lengths = g_new0(GroupLength, groups);
    for (int32_t i = 0; i < groups * samples; i++) {
        GroupLength *l = &lengths[i / samples];
        l->group = i / samples;
        l->longest = MAX(l->longest, g_array_index(requests->list, RhRequest, i).output_tokens);
    }
    qsort(lengths, (size_t)groups, sizeof *lengths, by_longest);
    GArray *kept = g_array_new(FALSE, FALSE, sizeof(RhRequest));
    for (int32_t i = 0; i < job->prompts; i++)
        g_array_append_vals(kept,
                            &g_array_index(requests->list, RhRequest, lengths[i].group * samples),
                            (guint)samples);
    g_array_unref(requests->list);
    requests->list = kept;
}

/* Mean over updates of the longest sample in each. */
static int64_t update_longest(const double *lengths, guint count, int64_t update)
{
    double sum = 0, longest = 0;
    guint updates = 0;
    for (guint i = 0; i < count; i++) {
        longest = fmax(longest, lengths[i]);
        if ((i + 1) % (guint)update != 0 && i + 1 < count)
            continue;
        sum += longest;
        longest = 0;
        updates++;
    }
    return (int64_t)round(sum / updates);
}

/* Is the next request a turn of the same answer? */
static bool goes_on(const RhRequests *requests, guint i)
{
    const RhRequest *q = &g_array_index(requests->list, RhRequest, i);
    return q->session >= 0 && i + 1 < requests->list->len && q[1].session == q->session;
}

RhRlTokens rh_rl_tokens(const RhRequests *requests, int64_t update)
{
    RhRlTokens t = {0};
    g_autofree double *lengths = g_new(double, requests->list->len);
    guint count = 0;
    int64_t prompt = 0, answer = 0;
    for (guint i = 0; i < requests->list->len; i++) {
        const RhRequest *q = &g_array_index(requests->list, RhRequest, i);
        bool begins = i == 0 || !goes_on(requests, i - 1);
        prompt = begins ? q->input_tokens : prompt;
        answer = (begins ? 0 : answer) + q->output_tokens;
        if (goes_on(requests, i))
            continue;
        lengths[count++] = (double)q->input_tokens + q->output_tokens;
        t.prompt += (double)prompt;
        t.answer += (double)answer;
        t.tools += lengths[count - 1] - (double)(prompt + answer);
        t.longest_prompt = MAX(t.longest_prompt, prompt);
        t.longest_answer = MAX(t.longest_answer, answer);
    }
    t.prompt /= count;
    t.answer /= count;
    t.tools /= count;
    t.update_longest = update_longest(lengths, count, update);
    gsl_sort(lengths, 1, count);
    t.longest = (int64_t)lengths[count - 1];
    guint runs = MIN(count, LENGTH_RUNS);
    for (guint r = 0; r < runs; r++) {
        guint from = count * r / runs, to = count * (r + 1) / runs;
        double sum = 0;
        for (guint i = from; i < to; i++)
            sum += lengths[i];
        t.documents.runs[t.documents.runs_count++] =
            (RhDocumentRun){.tokens = (int64_t)round(sum / (to - from)), .count = to - from};
    }
    return t;
}
