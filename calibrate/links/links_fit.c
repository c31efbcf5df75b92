#include "calibrate/links/links_fit.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/garray_access.h"
#include "base/interned_strings.h"
#include "calibrate/kernels/raw_samples_device.h"
#include "calibrate/links/links_rates.h"
#include "platforms/fabric/nccl_protocol.h"
#include "platforms/platform_constants.h"
#include "sim/collective/collective.h"

#define TRAY_GPUS_MOST 16 /* more GPUs of a node than any server has: it is a rack */
#define SIZES_LEAST    3  /* sizes that depend on a constant, for it to be fitted */
/* Fraction of a time that latency takes: sizes at or above the first value determine latency, those
 * at or below the other the rate. */
#define LATENCY_LEAST_FRAC 0.5
#define LATENCY_MOST_FRAC  0.3
#define MEDIAN_MOST        0.5 /* beyond, no constants of this form produce such times */

typedef enum { TELLS_LATENCY, TELLS_BYTES, TELLS_LAUNCH, TELLS_COPY } Tells;

/* A constant, its plausible bounds, and the rows that must determine it. */
typedef struct {
    const char *key;
    double low, high;
    bool between; /* between nodes */
    Tells told;
    RhProtocol protocol;
} Constant;

#define PROTOCOL(link, name, number, between)                                                      \
    {link "." name ".latency", 1e-8, 1e-2, between, TELLS_LATENCY, RH_PROTOCOL_##number},          \
        {link "." name ".efficiency", 0.001, 1.2, between, TELLS_BYTES, RH_PROTOCOL_##number},     \
    {                                                                                              \
        link "." name ".launch", 1e-7, 1e-2, between, TELLS_LAUNCH, RH_PROTOCOL_##number           \
    }

static const Constant constants[] = {
    {"nvlink.latency", 1e-8, 1e-2, false, TELLS_LATENCY, RH_PROTOCOL_NONE},
    {"nvlink.efficiency", 0.01, 1, false, TELLS_BYTES, RH_PROTOCOL_NONE},
    {"nic.latency", 1e-8, 1e-2, true, TELLS_LATENCY, RH_PROTOCOL_NONE},
    {"nic.efficiency", 0.01, 1, true, TELLS_BYTES, RH_PROTOCOL_NONE},
    {"collective.launch", 1e-7, 1e-2, false, TELLS_LAUNCH, RH_PROTOCOL_NONE},
    PROTOCOL("nvlink", "ll", LL, false),
    PROTOCOL("nvlink", "ll128", LL128, false),
    PROTOCOL("nvlink", "simple", SIMPLE, false),
    PROTOCOL("nvlink", "nvls", NVLS, false),
    {"nvlink.copy", 0.001, 4, false, TELLS_COPY, RH_PROTOCOL_SIMPLE},
    PROTOCOL("nic", "ll", LL, true),
    PROTOCOL("nic", "ll128", LL128, true),
    PROTOCOL("nic", "simple", SIMPLE, true),
};

typedef struct {
    const RhTimed *timed;
    const char *name; /* of its class, interned */
    double latency_frac;
    RhProtocol protocol; /* chosen by the platform before the fit */
    uint32_t cluster;
    bool held_out;
} Row;

typedef struct {
    RhLinksFit *fit;
    GArray *rows;   /* Row */
    GArray *fitted; /* Row, those not held out */
} Work;

/* --- the model --- */

/* Latency of hops between tiers of switches, between the farthest nodes, which the estimate leaves
 * out. */
static double hops_s(const RhPlatform *p, int32_t nodes)
{
    if (nodes < 2)
        return 0;
    return rh_platform_route_latency_s(p, 0, (nodes - 1) * p->gpus_per_node) -
           p->nic_latency_s.value;
}

static int32_t *nodes_of(const RhTimed *row)
{
    int32_t *node_of = g_new(int32_t, row->ranks);
    for (int32_t i = 0; i < row->ranks; i++)
        node_of[i] = i / (row->ranks / row->nodes);
    return node_of;
}

static double time_s(const RhPlatform *platform, const RhTimed *row, double bytes)
{
    RhPlatform p = *platform; /* only facts are changed */
    g_autofree int32_t *node_of = nodes_of(row);
    double hop_s = hops_s(platform, row->nodes);
    p.nic_latency_s.value += hop_s;
    for (RhProtocol i = RH_PROTOCOL_NONE; i < RH_PROTOCOL_LAST; i++)
        p.nic_protocols[i].latency_s.value += hop_s;
    if (row->message) /* no kernel is launched for it */
        p.collective_launch_s.value = 0;
    RhAlgo algo = rh_collective_choose(row->op, row->ranks, node_of, bytes, &p, NULL);
    return rh_collective_launch_s(row->op, algo, row->ranks, node_of, &p) +
           rh_collective_estimate_s(row->op, algo, row->ranks, node_of, bytes, &p);
}

static RhProtocol protocol_of(const RhPlatform *p, const RhTimed *row)
{
    g_autofree int32_t *node_of = nodes_of(row);
    return rh_collective_protocol(
        rh_collective_choose(row->op, row->ranks, node_of, row->bytes, p, NULL));
}

double rh_links_time_s(const RhPlatform *platform, const RhTimed *row)
{
    return time_s(platform, row, row->bytes);
}

static double residual(void *user, size_t i)
{
    const Work *w = user;
    const RhTimed *row = g_array_index(w->fitted, Row, i).timed;
    return log(rh_links_time_s(w->fit->platform, row) / row->seconds);
}

static void refresh(void *user)
{
    (void)user;
}

/* --- rows that determine constants --- */

G_GNUC_PRINTF(2, 3) static void add_note(RhLinksFit *fit, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    g_ptr_array_add(fit->notes, g_strdup_vprintf(format, values));
    va_end(values);
}

/* Returns whether a row determines a constant; for protocols every size does at which they are
 * used. */
static bool tells(const Row *row, const Constant *c)
{
    if (row->protocol != c->protocol)
        return false;
    if (c->protocol != RH_PROTOCOL_NONE)
        return true;
    return c->told == TELLS_BYTES ? row->latency_frac <= LATENCY_MOST_FRAC
                                  : row->latency_frac >= LATENCY_LEAST_FRAC;
}

/* Do rows have different numbers of steps in one scope, so that launch and latency can be
 * separated? */
static bool steps_differ(const GArray *rows, const Constant *c)
{
    const RhTimed *first[2] = {NULL, NULL};
    for (guint i = 0; i < rows->len; i++) {
        const Row *row = &g_array_index(rows, Row, i);
        const RhTimed *t = row->timed, **seen = &first[t->nodes > 1];
        if (!tells(row, c) || (c->protocol != RH_PROTOCOL_NONE && (t->nodes > 1) != c->between))
            continue;
        bool alike = t->message || !*seen ||
                     (t->ranks == (*seen)->ranks && t->nodes == (*seen)->nodes &&
                      (t->op == RH_OP_ALL_REDUCE) == ((*seen)->op == RH_OP_ALL_REDUCE));
        if (!alike)
            return true;
        *seen = *seen || t->message ? *seen : t;
    }
    return false;
}

static guint sizes_that_tell(const GArray *rows, const Constant *c)
{
    g_autoptr(GHashTable) sizes = g_hash_table_new(NULL, NULL);
    for (guint i = 0; i < rows->len; i++) {
        const Row *row = &g_array_index(rows, Row, i);
        if ((row->timed->nodes > 1) == c->between && tells(row, c))
            g_hash_table_add(sizes, GUINT_TO_POINTER(row->cluster));
    }
    return g_hash_table_size(sizes);
}

static bool is_told(const Work *w, const Constant *c)
{
    bool parted = c->told == TELLS_LAUNCH || c->told == TELLS_COPY;
    if (parted && !steps_differ(w->fitted, c))
        return false;
    return (parted && c->protocol == RH_PROTOCOL_NONE) ||
           sizes_that_tell(w->fitted, c) >= SIZES_LEAST;
}

static bool has_scope(const Work *w, bool between)
{
    for (guint i = 0; i < w->rows->len; i++)
        if ((g_array_index(w->rows, Row, i).timed->nodes > 1) == between)
            return true;
    return false;
}

/* Does the platform have the protocol of the constant? */
static bool has_protocol(const RhPlatform *p, const Constant *c)
{
    return c->protocol == RH_PROTOCOL_NONE || rh_protocol_of(p, c->protocol, c->between) != NULL;
}

static void note_untold(const Work *w, const Constant *c)
{
    if (has_scope(w, c->between) || (c->told == TELLS_LAUNCH && c->protocol == RH_PROTOCOL_NONE))
        add_note(w->fit, "%s stays as it is: too few %s tell it", c->key,
                 c->told == TELLS_LAUNCH || c->told == TELLS_COPY ? "numbers of steps"
                 : c->protocol != RH_PROTOCOL_NONE                ? "sizes"
                 : c->told == TELLS_LATENCY                       ? "small sizes"
                                                                  : "large sizes");
}

static GArray *params_of(const Work *w)
{
    GArray *params = g_array_new(FALSE, FALSE, sizeof(RhFitParam));
    for (size_t i = 0; i < G_N_ELEMENTS(constants); i++) {
        const Constant *c = &constants[i];
        RhFactRow row;
        RhFitParam param = {
            (char *)(uintptr_t)c->key, RH_QUANTITY_NONE, NULL, c->low, c->high, false};
        if (!rh_facts_find(w->fit->platform, c->key, &row) || !has_protocol(w->fit->platform, c))
            continue;
        if (!is_told(w, c)) {
            note_untold(w, c);
            continue;
        }
        param.kind = row.kind;
        param.fact = rh_facts_at(w->fit->platform, &row);
        rh_protocols_complete(w->fit->platform, param.fact);
        g_array_append_val(params, param);
    }
    return params;
}

/* --- rows --- */

/* Makes a row. Sizes of one class are a cluster: its out-of-place and in-place times have common
 * errors. */
static Row row_of(const Work *w, const RhTimed *timed)
{
    const int64_t values[] = {timed->op + (timed->message ? RH_OP_LAST : 0), timed->ranks,
                              timed->nodes, (int64_t)timed->bytes};
    g_autofree char *name = rh_timed_class(timed);
    Row row = {.timed = timed, .name = rh_intern(name)};
    row.cluster = rh_fit_cluster(values, G_N_ELEMENTS(values));
    row.held_out = rh_fit_is_held_out(row.cluster, w->fit->holdout_frac);
    row.latency_frac = time_s(w->fit->platform, timed, RH_LATENCY_BYTES) / timed->seconds;
    row.protocol = protocol_of(w->fit->platform, timed);
    return row;
}

/* Places ranks on trays of an NVLink domain, which a platform counts as one node, into domains:
 * 72 ranks on 18 hosts of four are one node of gb200-nvl72. Returns whether it did. */
static bool join_trays(RhTimed *row, const RhPlatform *p)
{
    int32_t domain = p->gpus_per_node;
    if (domain <= TRAY_GPUS_MOST || row->nodes == 1 || row->ranks / row->nodes > TRAY_GPUS_MOST)
        return false;
    int32_t nodes = (row->ranks + domain - 1) / domain;
    while (row->ranks % nodes != 0)
        nodes++;
    row->nodes = nodes;
    return true;
}

static bool check_row(const RhMeasured *log, const RhTimed *row, const RhPlatform *p,
                      GError **error)
{
    if (row->ranks / row->nodes <= p->gpus_per_node && row->nodes <= p->nodes_count)
        return true;
    return rh_fail(error, RH_ERROR_INPUT,
                   "%s:%d: %d ranks on %d node%s; %s has %d node%s of %d GPUs\nhelp: -p with the "
                   "platform it was measured on, and as many nodes: NAME:%d",
                   log->name, row->line, row->ranks, row->nodes, row->nodes == 1 ? "" : "s",
                   p->name, p->nodes_count, p->nodes_count == 1 ? "" : "s", p->gpus_per_node,
                   row->nodes);
}

bool rh_links_place(RhMeasured *log, const RhPlatform *p, GPtrArray *notes, GError **error)
{
    if (*log->device && !rh_kernels_files_may_be(log->device, p->device))
        return rh_fail(error, RH_ERROR_INPUT,
                       "%s is of \"%s\", %s has %s\nhelp: -p with the platform it was measured on",
                       log->name, log->device, p->name, p->device->name);
    int32_t hosts = 0;
    for (guint i = 0; i < log->rows->len; i++) {
        RhTimed *timed = &g_array_index(log->rows, RhTimed, i);
        int32_t nodes = timed->nodes;
        if (join_trays(timed, p) && nodes != hosts) {
            hosts = nodes;
            g_ptr_array_add(notes,
                            g_strdup_printf("%s: %d hosts of %d ranks are trays of %d "
                                            "NVLink domain%s, which %s counts as nodes",
                                            log->name, hosts, timed->ranks / hosts, timed->nodes,
                                            timed->nodes == 1 ? "" : "s", p->name));
        }
        if (!check_row(log, timed, p, error))
            return false;
    }
    return true;
}

static bool take_log(Work *w, RhMeasured *log, GError **error)
{
    for (guint i = 0; i < log->notes->len; i++)
        add_note(w->fit, "%s: %s", log->name, (char *)g_ptr_array_index(log->notes, i));
    if (!rh_links_place(log, w->fit->platform, w->fit->notes, error))
        return false;
    for (guint i = 0; i < log->rows->len; i++) {
        Row row = row_of(w, &g_array_index(log->rows, RhTimed, i));
        g_array_append_val(w->rows, row);
        if (!row.held_out)
            g_array_append_val(w->fitted, row);
    }
    return true;
}

/* --- error figures --- */

/* Computes the errors of the rows of a class (NULL: all) that are held out, are not, or of both. */
static void figures_of(const Work *w, const char *name, const RhPlatform *p, bool all,
                       bool held_out, RhFitFigures *out)
{
    g_autofree double *off = g_new(double, w->rows->len + 1);
    const RhTimed *worst = NULL;
    double worst_frac = -1;
    size_t count = 0;
    for (guint i = 0; i < w->rows->len; i++) {
        const Row *row = &g_array_index(w->rows, Row, i);
        if ((name && row->name != name) || (!all && row->held_out != held_out))
            continue;
        double error = rh_links_time_s(p, row->timed) / row->timed->seconds - 1;
        off[count++] = error;
        if (fabs(error) > worst_frac) {
            worst_frac = fabs(error);
            worst = row->timed;
        }
    }
    rh_fit_figures_of(off, count, out);
    if (worst)
        out->worst = g_strdup_printf("%.6g B (line %d)", worst->bytes, worst->line);
}

static void clear_class(gpointer entry)
{
    RhLinksClass *c = entry;
    g_free(c->name);
    rh_fit_figures_clear(&c->before);
    rh_fit_figures_clear(&c->fitted);
    rh_fit_figures_clear(&c->held_out);
}

static int segments_of(const Work *w, const char *name, RhSegment segments[RH_SEGMENTS_MAX])
{
    g_autoptr(GArray) points = g_array_new(FALSE, FALSE, sizeof(RhSegmentPoint));
    for (guint i = 0; i < w->rows->len; i++) {
        const Row *row = &g_array_index(w->rows, Row, i);
        RhSegmentPoint point = {row->timed->bytes, row->timed->seconds};
        if (row->name == name)
            g_array_append_val(points, point);
    }
    return rh_segments_find(RH_ELEMENTS(points, RhSegmentPoint), points->len, segments);
}

static void add_class(const Work *w, const char *name, const RhPlatform *before)
{
    RhLinksClass c = {.name = g_strdup(name ? name : "all")};
    figures_of(w, name, before, true, false, &c.before);
    figures_of(w, name, w->fit->platform, false, false, &c.fitted);
    figures_of(w, name, w->fit->platform, false, true, &c.held_out);
    c.segments_count = name ? segments_of(w, name, c.segments) : 0;
    g_array_append_val(w->fit->classes, c);
}

static void add_classes(const Work *w, const RhPlatform *before)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (guint i = 0; i < w->rows->len; i++) {
        const char *name = g_array_index(w->rows, Row, i).name;
        if (g_ptr_array_find(names, name, NULL))
            continue;
        g_ptr_array_add(names, (void *)(uintptr_t)name);
        add_class(w, name, before);
    }
    add_class(w, NULL, before);
}

/* --- whole fit --- */

static char *source_of(const GPtrArray *logs, const RhPlatform *p)
{
    GString *out = g_string_new(NULL);
    for (guint i = 0; i < logs->len; i++) {
        const RhMeasured *log = g_ptr_array_index(logs, i);
        g_autofree char *file = g_path_get_basename(log->name);
        g_string_append_printf(out, "%s%s: %s", i ? "; " : "", file, log->format);
        if (*log->library)
            g_string_append_printf(out, ", %s", log->library);
        if (*log->device)
            g_string_append_printf(out, ", %s", log->device);
    }
    g_string_append_printf(out, "; on %s", p->name);
    return g_string_free(out, FALSE);
}

static RhLinksFit *fit_new(const GPtrArray *logs, const RhPlatform *platform, double holdout_frac,
                           const char *today)
{
    RhLinksFit *fit = g_new0(RhLinksFit, 1);
    g_autofree char *month = g_strndup(today, 7);
    fit->platform = rh_platform_copy(platform);
    fit->facts = rh_fitted_facts_new();
    fit->classes = g_array_new(FALSE, FALSE, sizeof(RhLinksClass));
    g_array_set_clear_func(fit->classes, clear_class);
    fit->notes = g_ptr_array_new_with_free_func(g_free);
    fit->source = source_of(logs, platform);
    fit->date = rh_intern(month);
    fit->holdout_frac = holdout_frac;
    return fit;
}

static void add_fact(RhLinksFit *fit, RhFitParam *param)
{
    g_autofree char *source =
        g_strconcat(fit->source, param->on_bound ? "; on the bound of the form" : "", NULL);
    param->fact->tag = RH_TAG_FITTED;
    param->fact->source = rh_intern(source);
    param->fact->date = fit->date;
    RhFittedFact fitted = {g_strdup(param->key), param->kind, *param->fact, param->on_bound};
    g_array_append_val(fit->facts, fitted);
}

static bool solve_constants(Work *w, int64_t t_end_us)
{
    size_t count = w->fitted->len;
    g_autoptr(GArray) params = params_of(w);
    g_autofree double *weights = g_new(double, count + 1);
    g_autofree uint32_t *clusters = g_new(uint32_t, count + 1);
    for (size_t i = 0; i < count; i++) {
        weights[i] = 1;
        clusters[i] = g_array_index(w->fitted, Row, i).cluster;
    }
    RhFitModel model = {.samples_count = count,
                        .weights = weights,
                        .clusters = clusters,
                        .residual = residual,
                        .refresh = refresh,
                        .user = w,
                        .t_end_us = t_end_us};
    if (params->len == 0 || count <= params->len ||
        !rh_fit_solve_model(&model, RH_ELEMENTS(params, RhFitParam), params->len))
        return false;
    for (guint i = 0; i < params->len; i++)
        add_fact(w->fit, &g_array_index(params, RhFitParam, i));
    return true;
}

static bool fail_unfitted(const RhLinksFit *fit, GError **error)
{
    g_autoptr(GString) notes = g_string_new(NULL);
    for (guint i = 0; i < fit->notes->len; i++)
        g_string_append_printf(notes, "\nnote: %s", (char *)g_ptr_array_index(fit->notes, i));
    return rh_fail(error, RH_ERROR_INPUT, "%s: no constant can be fitted to %d times%s",
                   fit->source, fit->rows_count, notes->str);
}

/* Checks the median error after the fit; fails when it is too large for the constants to be
 * credible. */
static bool check_fit(const RhLinksFit *fit, GError **error)
{
    const RhFitFigures *all =
        &g_array_index(fit->classes, RhLinksClass, fit->classes->len - 1).fitted;
    if (all->median_frac <= MEDIAN_MOST)
        return true;
    return rh_fail(error, RH_ERROR_INPUT, "%s: median error %.3g %%; no constants make such times",
                   fit->source, 100 * all->median_frac);
}

static bool is_rate_of(const char *key, bool between)
{
    for (size_t i = 0; i < G_N_ELEMENTS(constants); i++)
        if (constants[i].told == TELLS_BYTES && constants[i].between == between &&
            strcmp(constants[i].key, key) == 0)
            return true;
    return false;
}

/* Were rows timed inside nodes (between them) of which no rate was fitted? */
static bool lacks_rate(const Work *w, bool between)
{
    for (guint i = 0; i < w->fit->facts->len; i++)
        if (is_rate_of(g_array_index(w->fit->facts, RhFittedFact, i).key, between))
            return false;
    return has_scope(w, between);
}

static bool fit_rows(Work *w, const GPtrArray *logs, const RhPlatform *before, int64_t t_end_us,
                     double timeout_s, GError **error)
{
    RhLinksFit *fit = w->fit;
    bool solved = w->rows->len > 0 && solve_constants(w, t_end_us);
    if (t_end_us && g_get_monotonic_time() > t_end_us)
        return rh_fail(error, RH_ERROR_NO_ANSWER, "the fit takes longer than %g s", timeout_s);
    rh_links_rates_add(fit, logs);
    if (fit->facts->len == 0)
        return fail_unfitted(fit, error);
    fit->untold_rate = lacks_rate(w, true)    ? "nic.efficiency"
                       : lacks_rate(w, false) ? "nvlink.efficiency"
                                              : NULL;
    if (!solved)
        return true;
    add_classes(w, before);
    return check_fit(fit, error);
}

RhLinksFit *rh_links_fit(const GPtrArray *logs, const RhPlatform *platform, double holdout_frac,
                         const char *today, double timeout_s, GError **error)
{
    g_return_val_if_fail(logs != NULL && platform != NULL && today != NULL, NULL);
    int64_t t_end_us =
        timeout_s > 0 ? g_get_monotonic_time() + (int64_t)(1e6 * fmin(timeout_s, 1e9)) : 0;
    g_autoptr(RhLinksFit) fit = fit_new(logs, platform, holdout_frac, today);
    g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(Row));
    g_autoptr(GArray) fitted = g_array_new(FALSE, FALSE, sizeof(Row));
    Work w = {fit, rows, fitted};
    if (platform->messages.sender != RH_SHARING_NONE) {
        rh_fail(error, RH_ERROR_INPUT,
                "%s talks in messages, whose collectives no log of GPUs tells\nhelp: a ping-pong "
                "tells its constants",
                platform->name);
        return NULL;
    }
    for (guint i = 0; i < logs->len; i++)
        if (!take_log(&w, g_ptr_array_index(logs, i), error))
            return NULL;
    fit->rows_count = (int32_t)rows->len;
    return fit_rows(&w, logs, platform, t_end_us, timeout_s, error) ? g_steal_pointer(&fit) : NULL;
}

void rh_links_fit_free(RhLinksFit *fit)
{
    if (!fit)
        return;
    rh_platform_free(fit->platform);
    g_array_unref(fit->facts);
    g_array_unref(fit->classes);
    g_ptr_array_unref(fit->notes);
    g_free(fit->source);
    g_free(fit);
}
