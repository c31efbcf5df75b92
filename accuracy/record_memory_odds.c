/* Odds that memory suffices, from published runs: a logistic curve in the predicted share of the memory, with one spread
 * below its middle and one above.
 *
 * What a prediction leaves out and what it counts too much are different things, and neither says how far the other goes: with
 * one spread for both, runs that ran where all of the memory was said to be needed would make those doubtful that are far
 * from full. Where the middle lies is known beforehand from measured peaks: a prediction that is off by so much makes a run
 * need so much more or less than all of the memory. Runs that ran and runs that ran out of it then weigh middles and spreads
 * (Bayes' rule on a grid), one of them in fifty saying nothing, as tables have rows that are mislabelled. Kept is a curve
 * with the same halves, the same RH_ODDS_ASKED and the same 1 - RH_ODDS_ASKED. Where nobody told of failures the middle is at
 * most all of the memory: who publishes only what ran tells how full it was, and not how full it may be. */
#include <math.h>

#include "accuracy/error_bar_record.h"

#define RUNS_LEAST   20   /* per stack */
#define LAPSE        0.02 /* fraction of runs with meaningless labels */
#define MIDDLE_FROM  0.8
#define MIDDLE_STEP  0.005
#define MIDDLES      81
#define SPREAD_FROM  0.004
#define SPREAD_RATIO 1.25
#define SPREADS      14
/* a few per cent from certain success to certain failure; known to a factor of two */
#define SPREAD_MEAN 0.015
#define SPREAD_LOG  0.7
#define LOGIT_ASKED 2.9444389791664403 /* of RH_ODDS_ASKED */

typedef struct {
    double share;
    bool failed;
} Outcome;

/* The prior, from measured peaks alone. */
typedef struct {
    double middle, deviation;
    int32_t peaks;
} Prior;

static const RhEvaluatedRun *row_at(const RhEvaluation *evaluation, guint i)
{
    return &g_array_index(evaluation->rows, RhEvaluatedRun, i);
}

static bool counts(const RhEvaluatedRun *row)
{
    return !row->skipped && row->standing == RH_STANDING_MEASURED && row->capacity_bytes > 0 &&
           row->peak_bytes > 0;
}

/* Are peaks of one table, model and device, which have common errors? */
static bool same_group(const RhEvaluatedRun *a, const RhEvaluatedRun *b)
{
    return a->table == b->table && a->model == b->model && a->device == b->device;
}

static bool has_peak(const RhEvaluatedRun *row)
{
    return counts(row) && !row->failed && row->measured_peak_bytes > 0;
}

/* Error ln(measured / predicted) of a peak. */
static double peak_error(const RhEvaluatedRun *row)
{
    return log(row->measured_peak_bytes / rh_evaluation_peak_bytes(row));
}

/* Mean of the peaks' errors in the i-th row's group, and mean square about it; false: an earlier
 * row has it. */
static bool group_of(const RhEvaluation *evaluation, guint i, double *mean, double *square)
{
    double sum = 0, squares = 0;
    int32_t count = 0;
    for (guint k = 0; k < evaluation->rows->len; k++) {
        const RhEvaluatedRun *row = row_at(evaluation, k);
        if (!has_peak(row) || !same_group(row, row_at(evaluation, i)))
            continue;
        if (k < i)
            return false;
        sum += peak_error(row);
        squares += peak_error(row) * peak_error(row);
        count++;
    }
    *mean = sum / count;
    *square = squares / count - *mean * *mean;
    return true;
}

/* Prior, in which each group counts the same. With fewer than three groups all that is known is
 * that predictions are some 5 % off. */
static Prior prior_of(const RhEvaluation *evaluation)
{
    double sum = 0, squares = 0, within = 0;
    int32_t groups = 0;
    Prior prior = {1, 0.05, 0};
    for (guint i = 0; i < evaluation->rows->len; i++) {
        double mean, square;
        prior.peaks += has_peak(row_at(evaluation, i));
        if (!has_peak(row_at(evaluation, i)) || !group_of(evaluation, i, &mean, &square))
            continue;
        sum += mean;
        squares += mean * mean;
        within += square;
        groups++;
    }
    if (groups < 3)
        return prior;
    double between = (squares - sum * sum / groups) / (groups - 1);
    prior.middle = exp(-sum / groups);
    prior.deviation = sqrt(between + within / groups);
    return prior;
}

static double logistic(double x)
{
    return 1 / (1 + exp(-x));
}

static double middle_at(int i)
{
    return MIDDLE_FROM + MIDDLE_STEP * i;
}

static double spread_at(int k)
{
    return SPREAD_FROM * pow(SPREAD_RATIO, k);
}

/* Log likelihood of the outcomes on one side of a curve's middle, and of the spread there. */
static double side_likelihood(const GArray *outcomes, double middle, double spread, bool above)
{
    double wide = log(spread / SPREAD_MEAN) / SPREAD_LOG, sum = -0.5 * wide * wide;
    for (guint i = 0; i < outcomes->len; i++) {
        const Outcome *o = &g_array_index(outcomes, Outcome, i);
        double x = (o->share - middle) / spread;
        if ((o->share >= middle) == above)
            sum += log(LAPSE / 2 + (1 - LAPSE) * logistic(o->failed ? x : -x));
    }
    return sum;
}

/* Weights of all curves, which add up to 1: middles, spreads below them, spreads above. */
typedef struct {
    double of[MIDDLES][SPREADS][SPREADS];
} Weights;

static void weigh_middle(const Prior *prior, const GArray *outcomes, int i, Weights *weights)
{
    double below[SPREADS], above[SPREADS];
    double away = (middle_at(i) - prior->middle) / prior->deviation;
    for (int k = 0; k < SPREADS; k++) {
        below[k] = side_likelihood(outcomes, middle_at(i), spread_at(k), false);
        above[k] = side_likelihood(outcomes, middle_at(i), spread_at(k), true);
    }
    for (int k = 0; k < SPREADS; k++)
        for (int n = 0; n < SPREADS; n++)
            weights->of[i][k][n] = below[k] + above[n] - 0.5 * away * away;
}

static void weigh_curves(const Prior *prior, const GArray *outcomes, Weights *weights)
{
    double *all = &weights->of[0][0][0], most = -(double)INFINITY, sum = 0;
    for (int i = 0; i < MIDDLES; i++)
        weigh_middle(prior, outcomes, i, weights);
    for (int i = 0; i < MIDDLES * SPREADS * SPREADS; i++)
        most = fmax(most, all[i]);
    for (int i = 0; i < MIDDLES * SPREADS * SPREADS; i++)
        sum += all[i] = exp(all[i] - most);
    for (int i = 0; i < MIDDLES * SPREADS * SPREADS; i++)
        all[i] /= sum;
}

/* Probability that a run this full fails, over all curves. */
static double mean_risk(const Weights *weights, double share)
{
    double sum = 0;
    for (int i = 0; i < MIDDLES; i++)
        for (int k = 0; k < SPREADS; k++) {
            double risk = logistic((share - middle_at(i)) / spread_at(k));
            for (int n = 0; n < SPREADS; n++)
                sum += share >= middle_at(i) ? weights->of[i][n][k] * risk
                                             : weights->of[i][k][n] * risk;
        }
    return sum;
}

static double share_of(const Weights *weights, double risk)
{
    double low = 0, high = 2;
    for (int i = 0; i < 40; i++) {
        double between = (low + high) / 2;
        *(mean_risk(weights, between) < risk ? &low : &high) = between;
    }
    return low;
}

static void fit(RhOdds *odds, const Prior *prior, const GArray *outcomes)
{
    g_autofree Weights *weights = g_new(Weights, 1);
    weigh_curves(prior, outcomes, weights);
    double asked = share_of(weights, RH_ODDS_ASKED),
           hopeless = share_of(weights, 1 - RH_ODDS_ASKED);
    odds->middle_frac = share_of(weights, 0.5);
    if (odds->failed == 0)
        odds->middle_frac = fmin(odds->middle_frac, 1);
    odds->spread_frac = fmax(odds->middle_frac - asked, 0.01) / LOGIT_ASKED;
    odds->above_frac = fmax(hopeless - odds->middle_frac, 0.01) / LOGIT_ASKED;
    odds->peaks = prior->peaks;
}

/* Fits the curve to the runs that match the names in `odds`. */
static void fit_to(const RhEvaluation *evaluation, const Prior *prior, RhOdds *odds)
{
    g_autoptr(GArray) outcomes = g_array_new(FALSE, FALSE, sizeof(Outcome));
    for (guint i = 0; i < evaluation->rows->len; i++) {
        const RhEvaluatedRun *row = row_at(evaluation, i);
        Outcome outcome = {row->peak_bytes / row->capacity_bytes, row->failed};
        if (!counts(row) || (odds->stack && odds->stack != rh_evidence_key_holder(&row->like)) ||
            (odds->kernels && odds->kernels != row->like.kernels))
            continue;
        *(row->failed ? &odds->failed : &odds->ran) += 1;
        g_array_append_val(outcomes, outcome);
    }
    fit(odds, prior, outcomes);
}

/* Has a stack enough runs for a curve of its own? A stack with only successful runs, none of them
 * full, is better described by the curve of its kernels. */
static bool has_own_curve(const RhEvaluation *evaluation, const Prior *prior,
                          const RhEvidenceKey *like, const RhOdds *own)
{
    RhOdds wide = {.kernels = like->kernels};
    if (own->ran + own->failed < RUNS_LEAST)
        return false;
    if (own->failed > 0)
        return true;
    fit_to(evaluation, prior, &wide);
    return rh_odds_room(own, RH_ODDS_ASKED) >= rh_odds_room(&wide, RH_ODDS_ASKED);
}

static void add_curve(const RhEvaluation *evaluation, const Prior *prior, RhOdds odds,
                      const RhEvidenceKey *like, GPtrArray *list)
{
    fit_to(evaluation, prior, &odds);
    if (!odds.stack || has_own_curve(evaluation, prior, like, &odds))
        g_ptr_array_add(list, g_memdup2(&odds, sizeof odds));
}

void rh_record_make_odds(const RhEvaluation *evaluation, GPtrArray *list)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(g_direct_hash, g_direct_equal);
    Prior prior = prior_of(evaluation);
    for (int of_stack = 1; of_stack >= 0; of_stack--)
        for (guint i = 0; i < evaluation->rows->len; i++) {
            const RhEvidenceKey *like = &row_at(evaluation, i)->like;
            const char *name = of_stack ? rh_evidence_key_holder(like) : like->kernels;
            RhOdds odds = {.stack = of_stack ? name : NULL, .kernels = of_stack ? NULL : name};
            if (counts(row_at(evaluation, i)) && name && g_hash_table_add(seen, (void *)name))
                add_curve(evaluation, &prior, odds, like, list);
        }
    if (g_hash_table_size(seen) > 0)
        add_curve(evaluation, &prior, (RhOdds){0}, NULL, list);
}

double rh_odds_risk(const RhOdds *odds, double share)
{
    double beyond = share - odds->middle_frac;
    return logistic(beyond / (beyond > 0 ? odds->above_frac : odds->spread_frac));
}

double rh_odds_room(const RhOdds *odds, double risk)
{
    if (risk >= 1)
        return (double)INFINITY;
    double spread = risk > 0.5 ? odds->above_frac : odds->spread_frac;
    return fmax(0, odds->middle_frac + spread * log(risk / (1 - risk)));
}
