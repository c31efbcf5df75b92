#include "calibrate/links/pingpong_fit.h"

#include <gsl/gsl_blas.h>
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_multifit_nlinear.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/garray_access.h"
#include "platforms/platform_constants.h"

#define ROWS_LEAST       6
#define SMALL_BYTES      1024
#define LARGE_BYTES      65536
#define NORMAL_MEDIAN    1.2533 /* standard error of a median over the mean's */
#define NORMAL_QUARTILES 1.3490 /* distance of quartiles over the standard deviation */
#define MODEL_ERROR_FRAC 0.01   /* no size is more certain than this: assumed */
#define ERLANG_SPREAD    1.679  /* (q90 - q10) of an Erlang-2 of mean 2, halved */
#define ERLANG_SKEW      0.161  /* mean minus median, likewise */
#define SIZES_LEAST      3
#define SIZES_SPAN                                                                                 \
    16 /* largest over smallest size: below, latency and time per byte cannot be separated */
#define GROUPS_MOST    10000
#define ERROR_MOST     0.25  /* mean, of the fit: beyond, the model does not describe these times */
#define LATENCY_MOST_S 1e6   /* limit of the search */
#define COPY_LEAST     1e-15 /* seconds per byte: below, messages have no copies */

/* --- groups: trips of one pair with one size --- */

static int by_group(const void *a, const void *b)
{
    const RhPing *x = a, *y = b;
    if (x->reaction != y->reaction)
        return x->reaction - y->reaction;
    if (x->source != y->source)
        return x->source - y->source;
    if (x->destination != y->destination)
        return x->destination - y->destination;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    return x->seconds < y->seconds ? -1 : x->seconds > y->seconds;
}

/* Mean of the reactions, which follow the trips: that of an exponential distribution, from its
 * median, which a few disturbed ones do not change. `sorted` is sorted. */
static double mean_reaction_s(const GArray *sorted, guint first)
{
    guint count = sorted->len - first;
    g_autofree double *seconds = g_new(double, count + 1);
    for (guint i = 0; i < count; i++)
        seconds[i] = g_array_index(sorted, RhPing, first + i).seconds;
    gsl_sort(seconds, 1, count);
    return count ? gsl_stats_median_from_sorted_data(seconds, 1, count) / M_LN2 : 0;
}

/* Trips of one pair with one size. */
typedef struct {
    RhPing median;
    double quartiles_frac; /* distance between the quartiles, over the median */
    double error_frac;     /* standard error of the median, over the median */
} Group;

/* Group of `count` sorted trips from `first` on. */
static Group group_of(const RhPing *first, guint count)
{
    Group g = {.median = first[count / 2]};
    double quartiles_s = first[count * 3 / 4].seconds - first[count / 4].seconds;
    g.quartiles_frac = quartiles_s / g.median.seconds;
    g.error_frac = NORMAL_MEDIAN * g.quartiles_frac / NORMAL_QUARTILES / sqrt((double)count);
    return g;
}

/* Groups of sorted trips. *noise_s: from the spread of small messages. */
static GArray *groups_of(const GArray *sorted, double *noise_s)
{
    const RhPing *ping = RH_ELEMENTS(sorted, RhPing);
    GArray *groups = g_array_new(FALSE, FALSE, sizeof(Group));
    g_autofree double *spread_s = g_new0(double, sorted->len + 1);
    size_t spreads = 0;
    for (guint first = 0, end; first < sorted->len; first = end) {
        for (end = first + 1; end < sorted->len && ping[end].bytes == ping[first].bytes &&
                              ping[end].source == ping[first].source &&
                              ping[end].destination == ping[first].destination;)
            end++;
        guint count = end - first;
        Group group = group_of(&ping[first], count);
        g_array_append_val(groups, group);
        if (group.median.bytes <= SMALL_BYTES && count >= 10)
            spread_s[spreads++] =
                ping[first + count * 9 / 10].seconds - ping[first + count / 10].seconds;
    }
    gsl_sort(spread_s, 1, spreads);
    *noise_s =
        spreads ? gsl_stats_median_from_sorted_data(spread_s, 1, spreads) / ERLANG_SPREAD : 0;
    return groups;
}

/* --- fit --- */

typedef struct {
    const GArray *groups;
    const guint *alike;   /* for each group the first with the same predicted time */
    RhPlatform *platform; /* a copy that is changed */
    double timeout_s;
    int64_t t_end_us; /* 0: none */
    GError *error;
} Problem;

static const RhPing *ping_at(const Problem *problem, size_t i)
{
    return &g_array_index(problem->groups, Group, i).median;
}

/* Groups with equally many links between their pair are alike; caller frees. */
static guint *alike_of(const GArray *groups, const RhPlatform *p)
{
    guint *alike = g_new0(guint, groups->len + 1);
    g_autoptr(GHashTable) first = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (guint i = 0; i < groups->len; i++) {
        const RhPing *ping = &g_array_index(groups, Group, i).median;
        RhLink links[RH_ROUTE_MAX];
        int count = rh_platform_route(p, ping->source, ping->destination, links);
        g_autofree char *name = g_strdup_printf("%d links, %.17g bytes", count, ping->bytes);
        gpointer found = NULL;
        bool known = g_hash_table_lookup_extended(first, name, NULL, &found);
        alike[i] = known ? GPOINTER_TO_UINT(found) : i;
        if (!known)
            g_hash_table_insert(first, g_steal_pointer(&name), GUINT_TO_POINTER(i));
    }
    return alike;
}

static bool rehearse_in_time(Problem *problem, const RhPing *ping, double *seconds)
{
    double left_s = 0;
    g_autoptr(GError) late = NULL;
    if (problem->t_end_us)
        left_s = fmax(1e-6 * (double)(problem->t_end_us - g_get_monotonic_time()), 1e-6);
    if (rh_ping_rehearse(problem->platform, ping, left_s, seconds, &late))
        return true;
    if (!g_error_matches(late, RH_ERROR, RH_ERROR_NO_ANSWER))
        g_propagate_error(&problem->error, g_steal_pointer(&late));
    else
        rh_fail(&problem->error, RH_ERROR_NO_ANSWER, "the fit takes longer than %g s",
                problem->timeout_s);
    return false;
}

static bool predict(Problem *problem, const RhPing *ping, double latency_s, double copy_s_per_byte,
                    double *seconds)
{
    RhPlatform *p = problem->platform;
    p->messages.copy_bytes_per_s.value = 0;
    p->nic_latency_s.value = p->nvlink_latency_s.value =
        fmin(latency_s + copy_s_per_byte * ping->bytes, LATENCY_MOST_S);
    return rehearse_in_time(problem, ping, seconds);
}

/* Residuals. x: logarithms of latency and seconds per byte, so that both stay above 0. */
static int residuals(const gsl_vector *x, void *user, gsl_vector *f)
{
    Problem *problem = user;
    double latency_s = exp(gsl_vector_get(x, 0)), copy_s_per_byte = exp(gsl_vector_get(x, 1));
    for (size_t i = 0; i < problem->groups->len; i++) {
        const RhPing *ping = ping_at(problem, i);
        double seconds = 0;
        size_t k = problem->alike[i];
        if (k < i) /* sizes repeat */
            seconds = (gsl_vector_get(f, k) + 1) * ping_at(problem, k)->seconds;
        else if (problem->error || !predict(problem, ping, latency_s, copy_s_per_byte, &seconds))
            return GSL_EBADFUNC;
        gsl_vector_set(f, i, seconds / ping->seconds - 1);
    }
    return GSL_SUCCESS;
}

/* Weight of a group: large messages are more certain than small ones. */
static double weight_of(const Group *group)
{
    return 1 / (MODEL_ERROR_FRAC * MODEL_ERROR_FRAC + group->error_frac * group->error_frac);
}

/* Median distance of the quartiles of large messages, which differ only because of other load, or a
 * hypervisor. */
static double disturbance(const GArray *groups)
{
    g_autofree double *quartiles = g_new(double, groups->len + 1);
    size_t count = 0;
    for (guint i = 0; i < groups->len; i++) {
        const Group *group = &g_array_index(groups, Group, i);
        if (group->median.bytes >= LARGE_BYTES)
            quartiles[count++] = group->quartiles_frac;
    }
    gsl_sort(quartiles, 1, count);
    return count ? gsl_stats_median_from_sorted_data(quartiles, 1, count) : 0;
}

/* Evaluates the fit; `f`: residuals times the roots of their weights. */
static void evaluate_fit(const Problem *problem, const gsl_vector *f, RhPingFit *fit)
{
    size_t n = problem->groups->len;
    for (size_t i = 0; i < n; i++) {
        double weight = weight_of(&g_array_index(problem->groups, Group, i));
        double off = fabs(gsl_vector_get(f, i)) / sqrt(weight);
        fit->mape_frac += off / (double)n;
        if (off > fit->worst_frac) {
            fit->worst_frac = off;
            fit->worst_bytes = ping_at(problem, i)->bytes;
        }
    }
}

static void read_fit(const Problem *problem, gsl_multifit_nlinear_workspace *work, RhPingFit *fit)
{
    size_t n = problem->groups->len;
    double chisq = 0, latency_s = exp(gsl_vector_get(work->x, 0)),
           copy_s_per_byte = exp(gsl_vector_get(work->x, 1));
    gsl_matrix *covariance = gsl_matrix_alloc(2, 2);
    gsl_multifit_nlinear_covar(gsl_multifit_nlinear_jac(work), 0, covariance);
    gsl_blas_ddot(work->f, work->f, &chisq);
    double scale = gsl_cdf_tdist_Pinv(0.975, (double)(n - 2)) * sqrt(chisq / (double)(n - 2));
    *fit = (RhPingFit){
        .latency_s = latency_s,
        .latency_error_s = latency_s * scale * sqrt(gsl_matrix_get(covariance, 0, 0)),
        .copy_s_per_byte = copy_s_per_byte,
        .copy_error_s_per_byte = copy_s_per_byte * scale * sqrt(gsl_matrix_get(covariance, 1, 1)),
        .groups_count = (int32_t)n};
    evaluate_fit(problem, work->f, fit);
    gsl_matrix_free(covariance);
}

/* Solves, starting from the fastest message, and a copy at 2 GB/s. */
static bool solve(Problem *problem, RhPingFit *fit)
{
    gsl_multifit_nlinear_parameters how = gsl_multifit_nlinear_default_parameters();
    size_t n = problem->groups->len;
    double least_s = HUGE_VAL;
    int info = 0;
    for (size_t i = 0; i < n; i++)
        least_s = fmin(least_s, ping_at(problem, i)->seconds);
    how.h_df = 1e-3; /* steps of the logarithms, as the rehearsal rounds */
    gsl_multifit_nlinear_fdf fdf = {.f = residuals, .n = n, .p = 2, .params = problem};
    gsl_multifit_nlinear_workspace *work =
        gsl_multifit_nlinear_alloc(gsl_multifit_nlinear_trust, &how, n, 2);
    gsl_vector *start = gsl_vector_alloc(2);
    gsl_vector *weights = gsl_vector_alloc(n);
    gsl_vector_set(start, 0, log(least_s));
    gsl_vector_set(start, 1, log(1 / 2e9));
    for (size_t i = 0; i < n; i++)
        gsl_vector_set(weights, i, weight_of(&g_array_index(problem->groups, Group, i)));
    gsl_multifit_nlinear_winit(start, weights, &fdf, work);
    int status = gsl_multifit_nlinear_driver(30, 1e-6, 1e-6, 1e-6, NULL, NULL, &info, work);
    bool fitted = !problem->error &&
                  (status == GSL_SUCCESS || status == GSL_EMAXITER || status == GSL_ENOPROG);
    if (fitted)
        read_fit(problem, work, fit);
    gsl_vector_free(start);
    gsl_vector_free(weights);
    gsl_multifit_nlinear_free(work);
    return fitted;
}

/* --- checks --- */

static bool check_ranks(const GArray *pings, const RhPlatform *platform, GError **error)
{
    int32_t gpus = rh_platform_gpus(platform);
    for (guint i = 0; i < pings->len; i++) {
        const RhPing *ping = &g_array_index(pings, RhPing, i);
        if (ping->source >= gpus || ping->destination >= gpus)
            return rh_fail(error, RH_ERROR_INPUT, "row %u is between ranks %d and %d; %s has %d",
                           i + 1, ping->source, ping->destination, platform->name, gpus);
    }
    return true;
}

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* Checks sizes, which alone separate latency from time per byte. */
static bool check_sizes(const GArray *groups, GError **error)
{
    g_autofree double *bytes = g_new(double, groups->len + 1);
    guint sizes = 0;
    for (guint i = 0; i < groups->len; i++)
        bytes[i] = g_array_index(groups, Group, i).median.bytes;
    qsort(bytes, groups->len, sizeof *bytes, by_value);
    for (guint i = 0; i < groups->len; i++)
        sizes += i == 0 || bytes[i] != bytes[i - 1];
    if (groups->len < ROWS_LEAST || sizes < SIZES_LEAST)
        return rh_fail(
            error, RH_ERROR_INPUT,
            "%u pairs of ranks and sizes, %u different sizes: at least %d, and %d, are needed",
            groups->len, sizes, ROWS_LEAST, SIZES_LEAST);
    if (groups->len > GROUPS_MOST)
        return rh_fail(error, RH_ERROR_INPUT, "%u pairs and sizes: at most %d are fitted",
                       groups->len, GROUPS_MOST);
    if (bytes[groups->len - 1] < SIZES_SPAN * fmax(bytes[0], 1))
        return rh_fail(error, RH_ERROR_INPUT,
                       "messages from %.0f to %.0f B: what a message takes and what a byte takes "
                       "cannot be told apart\nhelp: measure from a few bytes to a MiB",
                       bytes[0], bytes[groups->len - 1]);
    return true;
}

/* Checks pairs. Without a network stack of its own, a platform has one latency inside nodes and
 * another between. */
static bool check_pairs(const GArray *groups, const RhPlatform *p, bool *between, GError **error)
{
    guint count = 0;
    for (guint i = 0; i < groups->len; i++) {
        const RhPing *ping = &g_array_index(groups, Group, i).median;
        count += rh_platform_node_of(p, ping->source) != rh_platform_node_of(p, ping->destination);
    }
    *between = count > 0;
    if (count == 0 || count == groups->len || p->messages.sender != RH_SHARING_NONE)
        return true;
    return rh_fail(error, RH_ERROR_INPUT,
                   "%u of %u pairs and sizes are between nodes, the others inside one: on %s these "
                   "are two links\nhelp: measure them apart, one rank on each of two nodes",
                   count, groups->len, p->name);
}

static bool check_fit(const RhPingFit *fit, const RhPlatform *p, GError **error)
{
    if (!isfinite(fit->latency_s + fit->latency_error_s) || !(fit->mape_frac <= ERROR_MOST))
        return rh_fail(error, RH_ERROR_INPUT,
                       "the times cannot be fitted: they do not grow with the bytes as the links "
                       "of %s do\nnote: the best fit is off by %.0f %% in the mean",
                       p->name, 100 * fmin(fit->mape_frac, 1e6));
    if (fit->latency_error_s > fit->latency_s)
        return rh_fail(error, RH_ERROR_INPUT,
                       "these rows do not tell the latency: %.2g us, 95 %% within +-%.2g us\nhelp: "
                       "measure more messages, and smaller ones",
                       1e6 * fit->latency_s, 1e6 * fit->latency_error_s);
    return true;
}

/* Checks that the profile can be read again. */
static bool check_facts(const RhPingFit *fit, const RhPlatform *p, GError **error)
{
    bool stack = p->messages.sender != RH_SHARING_NONE;
    double copy = fit->copy_s_per_byte > 0 ? 1 / fit->copy_s_per_byte : 0;
    const struct {
        const char *key;
        double value;
    } facts[] = {
        {fit->between_nodes || stack ? "nic.latency" : "nvlink.latency", fit->latency_s},
        {stack                ? "messages.copy"
         : fit->between_nodes ? "nic.efficiency"
                              : "nvlink.efficiency",
         stack ? copy : fit->efficiency_frac},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(facts); i++) {
        RhFactRow row;
        if (!rh_facts_find(p, facts[i].key, &row) || rh_range_holds(row.range, facts[i].value))
            continue;
        g_autofree char *found = rh_quantity_format(facts[i].value, row.kind, 3);
        g_autofree char *wanted = rh_range_text(row.range, row.kind);
        return rh_fail(error, RH_ERROR_INPUT,
                       "these rows make %s %s, which %s\nnote: no network of %s is like that",
                       facts[i].key, found, wanted, p->name);
    }
    return true;
}

/* --- whole fit --- */

/* Returns the efficiency of a link that also loses `copy_s_per_byte`. */
static double efficiency_of(const RhPlatform *p, bool between, double copy_s_per_byte)
{
    const RhFact *rate = between ? &p->nic_bytes_per_s : &p->nvlink_bytes_per_s;
    return 1 / (1 + copy_s_per_byte * rate->value);
}

/* Copy of the platform without the latencies and losses that are fitted. */
static RhPlatform *platform_to_fit(const RhPlatform *platform)
{
    RhPlatform *copy = rh_platform_copy(platform);
    copy->messages.noise_s.value = 0;
    if (copy->messages.sender == RH_SHARING_NONE)
        copy->nic_efficiency_frac.value = copy->nvlink_efficiency_frac.value = 1;
    else
        for (int32_t t = 0; t < copy->tiers_count; t++)
            copy->tiers[t].hop_latency_s.value = 0;
    return copy;
}

static bool fit_groups(const GArray *groups, const RhPlatform *platform, double timeout_s,
                       RhPingFit *fit, GError **error)
{
    bool between = false;
    if (!check_sizes(groups, error) || !check_pairs(groups, platform, &between, error))
        return false;
    g_autofree guint *alike = alike_of(groups, platform);
    g_autoptr(RhPlatform) copy = platform_to_fit(platform);
    Problem problem = {.groups = groups, .alike = alike, .platform = copy, .timeout_s = timeout_s};
    if (timeout_s > 0)
        problem.t_end_us = g_get_monotonic_time() + (int64_t)(1e6 * fmin(timeout_s, 1e9));
    bool fitted = solve(&problem, fit);
    if (problem.error) {
        g_propagate_error(error, problem.error);
        return false;
    }
    if (!fitted)
        fit->mape_frac = HUGE_VAL;
    if (!check_fit(fit, platform, error))
        return false;
    fit->between_nodes = between;
    if (fit->copy_s_per_byte < COPY_LEAST)
        fit->copy_s_per_byte = fit->copy_error_s_per_byte = 0;
    if (platform->messages.sender == RH_SHARING_NONE)
        fit->efficiency_frac = efficiency_of(platform, between, fit->copy_s_per_byte);
    return check_facts(fit, platform, error);
}

bool rh_pings_fit(const GArray *pings, const RhPlatform *platform, double timeout_s, RhPingFit *fit,
                  GError **error)
{
    double noise_s = 0;
    if (!check_ranks(pings, platform, error))
        return false;
    g_autoptr(GArray) sorted = g_array_copy((GArray *)pings);
    g_array_sort(sorted, by_group);
    guint trips = 0;
    while (trips < sorted->len && !g_array_index(sorted, RhPing, trips).reaction)
        trips++;
    double reaction_s = mean_reaction_s(sorted, trips);
    g_array_set_size(sorted, trips);
    g_autoptr(GArray) groups = groups_of(sorted, &noise_s);
    *fit = (RhPingFit){0};
    if (!fit_groups(groups, platform, timeout_s, fit, error))
        return false;
    fit->noise_s = fmin(noise_s, fit->latency_s / (1 - ERLANG_SKEW));
    fit->latency_s += ERLANG_SKEW * fit->noise_s;
    fit->reaction_s = reaction_s;
    fit->rows_count = (int32_t)pings->len;
    fit->disturbance_frac = disturbance(groups);
    return true;
}
