#include "calibrate/pingpong.h"

#include <gsl/gsl_blas.h>
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_multifit_nlinear.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "sim/engine/engine.h"

#define HEADER           "kind,source,destination,bytes,seconds"
#define TRIPS            8 /* the buckets of the links have settled by then */
#define ROWS_LEAST       6
#define SMALL_BYTES      1024
#define LARGE_BYTES      65536
#define NORMAL_MEDIAN    1.2533 /* standard error of a median, of the mean's */
#define NORMAL_QUARTILES 1.3490 /* between quartiles, of the standard deviation */
#define MODEL_ERROR_FRAC 0.01   /* no size is surer than this: assumed */
#define ERLANG_SPREAD    1.679  /* (q90 - q10) of an Erlang-2 of mean 2, halved */
#define ERLANG_SKEW      0.161  /* mean less median, likewise */

/* --- the file --- */

static bool read_row(const char *path, int line, const char *text, GArray *pings, GError **error)
{
    g_auto(GStrv) cells = g_strsplit(text, ",", -1);
    double values[5] = {0};
    if (g_strv_length(cells) != 5)
        return rh_fail(error, RH_ERROR_INPUT, "%s:%d: %u cells, 5 are wanted: " HEADER, path, line,
                       g_strv_length(cells));
    bool reaction = strcmp(cells[0], "reaction") == 0;
    if (!reaction && strcmp(cells[0], "trip") != 0)
        return rh_fail(error, RH_ERROR_INPUT, "%s:%d:1: \"%s\" is neither trip nor reaction", path,
                       line, cells[0]);
    for (int i = 1; i < 5; i++) {
        char *end = NULL;
        values[i] = g_ascii_strtod(cells[i], &end);
        if (end == cells[i] || *end || !isfinite(values[i]) || values[i] < 0 || values[i] > 1e12)
            return rh_fail(error, RH_ERROR_INPUT, "%s:%d:%d: \"%s\" is not a number >= 0", path,
                           line, i + 1, cells[i]);
    }
    if (!reaction && !(values[4] > 0))
        return rh_fail(error, RH_ERROR_INPUT, "%s:%d:5: no message takes no time", path, line);
    if (values[1] > 1e6 || values[2] > 1e6 || values[1] == values[2])
        return rh_fail(error, RH_ERROR_INPUT, "%s:%d: source and destination must be two ranks",
                       path, line);
    RhPing ping = {reaction, (int32_t)values[1], (int32_t)values[2], values[3], values[4]};
    g_array_append_val(pings, ping);
    return true;
}

GArray *rh_pings_parse(const char *name, const char *text, GError **error)
{
    g_autoptr(GArray) pings = g_array_new(FALSE, FALSE, sizeof(RhPing));
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    if (!lines[0] || strcmp(g_strstrip(lines[0]), HEADER) != 0) {
        rh_fail(error, RH_ERROR_INPUT, "%s:1: the header must be %s", name, HEADER);
        return NULL;
    }
    for (int i = 1; lines[i]; i++)
        if (*g_strstrip(lines[i]) && !read_row(name, i + 1, lines[i], pings, error))
            return NULL;
    return g_steal_pointer(&pings);
}

GArray *rh_pings_load(const char *path, GError **error)
{
    g_autofree char *text = NULL;
    g_autoptr(GError) local = NULL;
    if (g_file_get_contents(path, &text, NULL, &local))
        return rh_pings_parse(path, text, error);
    rh_fail(error, RH_ERROR_IO, "%s", local->message);
    return NULL;
}

/* --- groups: one pair, one size --- */

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

/* Mean of the reactions, which stand behind the trips: an exponential's, of which the median tells
 * even where a few were disturbed. `sorted` is. */
static double mean_reaction_s(const GArray *sorted, guint first)
{
    guint count = sorted->len - first;
    g_autofree double *seconds = g_new(double, count + 1);
    for (guint i = 0; i < count; i++)
        seconds[i] = g_array_index(sorted, RhPing, first + i).seconds;
    gsl_sort(seconds, 1, count);
    return count ? gsl_stats_median_from_sorted_data(seconds, 1, count) / M_LN2 : 0;
}

/* Trips of one pair and one size. */
typedef struct {
    RhPing median;
    double quartiles_frac; /* from the lower to the upper, of the median */
    double error_frac;     /* standard error of the median, of the median */
} Group;

/* `first` to `end` of sorted trips. */
static Group group_of(const RhPing *first, guint count)
{
    Group g = {.median = first[count / 2]};
    double quartiles_s = first[count * 3 / 4].seconds - first[count / 4].seconds;
    g.quartiles_frac = quartiles_s / g.median.seconds;
    g.error_frac = NORMAL_MEDIAN * g.quartiles_frac / NORMAL_QUARTILES / sqrt((double)count);
    return g;
}

/* *noise_s: from the spread of small messages. `sorted` is. */
static GArray *groups_of(const GArray *sorted, double *noise_s)
{
    const RhPing *ping = (const RhPing *)(const void *)sorted->data;
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

/* --- the rehearsal of a ping-pong --- */

static int32_t add_end(RhProgram *p, RhTaskKind kind, int32_t delta, double bytes, int32_t before)
{
    RhTask task = {.kind = (uint8_t)kind,
                   .lane = kind == RH_TASK_SEND ? RH_LANE_SEND_NEXT : RH_LANE_RECV_PREV,
                   .layer = -1,
                   .microbatch = -1,
                   .label = rh_program_label(p, "ping"),
                   .bundle = -1,
                   .group = -1,
                   .peer_task = -1,
                   .peer_delta = delta,
                   .bytes = bytes};
    return rh_program_add_task(p, task, &before, 1);
}

/* Rank 0 sends and awaits, rank 1 awaits and sends, TRIPS times. */
static RhProgram *ping_program(const RhPing *ping)
{
    RhProgram *p = rh_program_new(2);
    int32_t ends[2][2 * TRIPS];
    for (int32_t rank = 0; rank < 2; rank++) {
        int32_t last = -1, delta = rank == 0 ? 1 : -1;
        rh_program_begin_role(p, rank == 0 ? "ping" : "pong", rank, NULL, 0);
        for (int i = 0; i < 2 * TRIPS; i++) {
            bool sends = (i + rank) % 2 == 0;
            last = ends[rank][i] =
                add_end(p, sends ? RH_TASK_SEND : RH_TASK_RECV, delta, ping->bytes, last);
        }
        rh_program_end_role(p);
    }
    for (int i = 0; i < 2 * TRIPS; i++)
        rh_program_match(p, ends[i % 2][i], ends[1 - i % 2][i]);
    p->gpu_of_rank = g_new(int32_t, 2);
    p->gpu_of_rank[0] = ping->source;
    p->gpu_of_rank[1] = ping->destination;
    return p;
}

bool rh_ping_rehearse(const RhPlatform *platform, const RhPing *ping, double *seconds,
                      GError **error)
{
    g_autoptr(RhProgram) p = ping_program(ping);
    RhEngineOptions options = {.timeline = true};
    g_autoptr(RhRun) run = rh_engine_run(p, platform, &options, error);
    if (!run)
        return false;
    /* The last two receives of rank 0 are a round trip apart. */
    double t_s[2] = {0};
    for (guint i = 0; i < run->timeline->len; i++) {
        const RhSpanOfTime *span = &g_array_index(run->timeline, RhSpanOfTime, i);
        if (span->task == 2 * TRIPS - 1)
            t_s[1] = span->t_end_s;
        if (span->task == 2 * TRIPS - 3)
            t_s[0] = span->t_end_s;
    }
    *seconds = (t_s[1] - t_s[0]) / 2;
    return true;
}

/* --- the fit --- */

typedef struct {
    const GArray *groups;
    RhPlatform *platform; /* a copy, to change */
    GError *error;
} Problem;

static const RhPing *ping_at(const Problem *problem, size_t i)
{
    return &g_array_index(problem->groups, Group, i).median;
}

/* Would the rehearsal tell them apart? Pairs with as many links between them are alike. */
static bool same(const RhPlatform *p, const RhPing *a, const RhPing *b)
{
    RhLink links[RH_ROUTE_MAX];
    return a->bytes == b->bytes && rh_platform_route(p, a->source, a->destination, links) ==
                                       rh_platform_route(p, b->source, b->destination, links);
}

static bool predict(Problem *problem, const RhPing *ping, double latency_s, double copy_s_per_byte,
                    double *seconds)
{
    RhPlatform *p = problem->platform;
    p->messages.copy_bytes_per_s.value = 0;
    p->nic_latency_s.value = p->nvlink_latency_s.value = latency_s + copy_s_per_byte * ping->bytes;
    return rh_ping_rehearse(p, ping, seconds, &problem->error);
}

/* x: logarithms of latency and seconds per byte, so that both stay above 0. */
static int residuals(const gsl_vector *x, void *user, gsl_vector *f)
{
    Problem *problem = user;
    double latency_s = exp(gsl_vector_get(x, 0)), copy_s_per_byte = exp(gsl_vector_get(x, 1));
    for (size_t i = 0; i < problem->groups->len; i++) {
        const RhPing *ping = ping_at(problem, i);
        double seconds = 0;
        size_t k = 0;
        while (k < i && !same(problem->platform, ping_at(problem, k), ping))
            k++;
        if (k < i) /* sizes repeat */
            seconds = (gsl_vector_get(f, k) + 1) * ping_at(problem, k)->seconds;
        else if (problem->error || !predict(problem, ping, latency_s, copy_s_per_byte, &seconds))
            return GSL_EBADFUNC;
        gsl_vector_set(f, i, seconds / ping->seconds - 1);
    }
    return GSL_SUCCESS;
}

/* Large messages are surer than small ones. */
static double weight_of(const Group *group)
{
    return 1 / (MODEL_ERROR_FRAC * MODEL_ERROR_FRAC + group->error_frac * group->error_frac);
}

/* How far apart the quartiles of large messages are, in the middle: nothing but other work, or a
 * hypervisor, makes them differ. */
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

/* `f`: residuals times the roots of their weights. */
static void judge(const Problem *problem, const gsl_vector *f, RhPingFit *fit)
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
    judge(problem, work->f, fit);
    gsl_matrix_free(covariance);
}

/* Starts from the quickest message, and a copy at 2 GB/s. */
static bool solve(Problem *problem, RhPingFit *fit)
{
    gsl_multifit_nlinear_parameters how = gsl_multifit_nlinear_default_parameters();
    size_t n = problem->groups->len;
    double least_s = HUGE_VAL;
    int info = 0;
    for (size_t i = 0; i < n; i++)
        least_s = fmin(least_s, ping_at(problem, i)->seconds);
    how.h_df = 1e-3; /* steps of the logarithms: the rehearsal rounds */
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

bool rh_pings_fit(const GArray *pings, const RhPlatform *platform, RhPingFit *fit, GError **error)
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
    if (groups->len < ROWS_LEAST)
        return rh_fail(error, RH_ERROR_INPUT, "%u sizes and pairs of ranks: at least %d are needed",
                       groups->len, ROWS_LEAST);
    g_autoptr(RhPlatform) copy = rh_platform_copy(platform);
    Problem problem = {groups, copy, NULL};
    copy->messages.noise_s.value = 0;
    for (int32_t t = 0; t < copy->tiers_count; t++)
        copy->tiers[t].hop_latency_s.value = 0;
    if (solve(&problem, fit)) {
        fit->noise_s = fmin(noise_s, fit->latency_s / (1 - ERLANG_SKEW));
        fit->latency_s += ERLANG_SKEW * fit->noise_s;
        fit->reaction_s = reaction_s;
        fit->rows_count = (int32_t)pings->len;
        fit->disturbance_frac = disturbance(groups);
        return true;
    }
    if (problem.error)
        g_propagate_error(error, problem.error);
    else
        rh_fail(error, RH_ERROR_INPUT,
                "the times cannot be fitted: they do not grow with the bytes as the links of %s do",
                platform->name);
    return false;
}

/* --- the profile --- */

static void put_fact(RhJsonWriter *w, const char *key, double value, const char *unit, double error,
                     const char *source, const char *date)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    g_ascii_formatd(text, sizeof text, "%.6g", value);
    g_autofree char *quantity = g_strconcat(text, unit, NULL);
    char spread[G_ASCII_DTOSTR_BUF_SIZE];
    g_ascii_formatd(spread, sizeof spread, "%.2g", error);
    g_autofree char *cited = g_strdup_printf("%s; 95 %% within +-%s%s", source, spread, unit);
    rh_json_begin_object(w, key);
    rh_json_put_string(w, "value", quantity);
    rh_json_put_string(w, "tag", "fitted");
    rh_json_put_string(w, "source", cited);
    rh_json_put_string(w, "date", date);
    rh_json_end_object(w);
}

char *rh_pings_profile(const RhPingFit *f, const RhPlatform *platform, const char *source,
                       const char *date)
{
    static const char *const links[] = {"nic.latency",
                                        "nvlink.latency"}; /* one network stack serves both */
    g_autofree char *cited =
        g_strdup_printf("ping-pong on %s (%s), %d rows", platform->name, source, f->rows_count);
    g_autoptr(RhJsonWriter) w = rh_json_writer_new(true);
    rh_json_begin_object(w, NULL);
    rh_json_put_string(w, "schema", "rehearse.profile/1");
    rh_json_put_string(w, "platform", platform->name);
    rh_json_put_string(w, "about", cited);
    rh_json_begin_object(w, "fit");
    rh_json_put_number(w, "mape_frac", f->mape_frac);
    rh_json_put_number(w, "worst_frac", f->worst_frac);
    rh_json_put_number(w, "worst_bytes", f->worst_bytes);
    rh_json_end_object(w);
    rh_json_begin_object(w, "facts");
    for (size_t i = 0; i < G_N_ELEMENTS(links); i++)
        put_fact(w, links[i], 1e6 * f->latency_s, "us", 1e6 * f->latency_error_s, cited, date);
    put_fact(w, "messages.reaction", 1e6 * f->reaction_s, "us", 1e6 * f->latency_error_s, cited,
             date);
    put_fact(w, "messages.noise", 1e6 * f->noise_s, "us", 1e6 * f->latency_error_s, cited, date);
    put_fact(w, "messages.copy", 1e-9 / f->copy_s_per_byte, "GB/s",
             1e-9 * f->copy_error_s_per_byte / (f->copy_s_per_byte * f->copy_s_per_byte), cited,
             date);
    rh_json_end_object(w);
    rh_json_end_object(w);
    return rh_json_writer_steal(w);
}
