#include "cli/capacity/capacity_query.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "cli/capacity/capacity_ranges.h"
#include "cli/capacity/prices.h"
#include "strategies/run/failure_rates.h"

/* Tokens of a step where none are asked for: what published runs of tens to hundreds of billions of
 * parameters take (Llama 3: 4 to 16 M, arXiv 2407.21783, section 3.4.1). */
#define STEP_TOKENS_LEAST 4194304
#define STEP_TOKENS_MOST  16777216
/* Pictures of a step: from what ResNets were first trained with to the most that trained as well, with
 * rates by layer (arXiv 1709.05011; to 8,192 without them, arXiv 1706.02677). */
#define STEP_PICTURES_LEAST 256
#define STEP_PICTURES_MOST  32768
/* Where as many nodes as it takes are looked for: the MFU that the first sizes are guessed with. */
#define GUESSED_MFU_FRAC 0.4
#define OPEN_GPUS_MAX    (1 << 20)

/* --- the words of the question --- */

static RhCapacitySeries default_batches(const RhArguments *a)
{
    g_autoptr(RhModel) m = rh_model_load(a->workload, NULL); /* what is wrong is told later */
    bool pictures = m && rh_model_sees_pictures(m);
    int64_t sequence = MAX(a->sequence, 1);
    return (RhCapacitySeries){
        .batch_least = pictures ? STEP_PICTURES_LEAST : MAX(STEP_TOKENS_LEAST / sequence, 1),
        .batch_most = pictures ? STEP_PICTURES_MOST : MAX(STEP_TOKENS_MOST / sequence, 1)};
}

/* A series of each platform, format and range of batches. */
static bool add_series(RhCapacityQuery *q, const char *platform, const char *dtype, GError **error)
{
    g_auto(GStrv) words = g_strsplit(q->a->batches ? q->a->batches : "", ",", -1);
    RhCapacitySeries s = default_batches(q->a);
    s.platform = platform;
    s.dtype = dtype;
    s.profile = rh_prices_profile(q->a, platform);
    for (int i = 0; i == 0 || (words[0] && words[i]); i++) {
        if (q->a->batches && !rh_capacity_range("global-batch", words[0] ? words[i] : "", 1 << 28,
                                                &s.batch_least, &s.batch_most, error))
            return false;
        g_array_append_val(q->series, s);
    }
    return true;
}

static bool read_dtypes(RhCapacityQuery *q, GError **error)
{
    q->dtypes = g_strsplit(q->a->dtype, ",", -1);
    for (char **word = q->dtypes; *word; word++)
        for (char **other = q->dtypes; other < word; other++)
            if (strcmp(*word, *other) == 0)
                return rh_fail(error, RH_ERROR_USAGE, "--dtype: %s is named twice", *word);
    return true;
}

/* Does the platform say how many nodes it has? */
static bool is_counted(const char *name, const RhPlatform *platform)
{
    return platform->nodes_count > 1 || strchr(name, ':');
}

/* Sizes may be left out where platforms say them, and where tokens and a date do. */
static bool check_sizes(const RhCapacityQuery *q, GError **error)
{
    g_autoptr(GPtrArray) unpriced = g_ptr_array_new();
    bool counted = true;
    for (guint i = 0; i < q->names->len; i++) {
        char *name = g_ptr_array_index(q->names, i);
        g_autoptr(RhPlatform) bare = rh_platform_load(name, NULL); /* why not is told later */
        counted &= !bare || is_counted(name, bare);
        if (bare && bare->price_usd_per_gpu_hour.value <= 0 && !rh_prices_has(q->a->prices, name))
            g_ptr_array_add(unpriced, name);
    }
    if (counted)
        return true;
    bool unpaid = q->goal.budget_usd > 0 && unpriced->len > 0;
    g_autofree char *words = rh_prices_words(unpriced);
    return rh_fail(error, RH_ERROR_USAGE,
                   "capacity needs --gpus 256..4096%s%s\nnote: --gpus  sizes, in steps of "
                   "halves: a range, numbers, or both by commas%s\nhelp: with --tokens and "
                   "--by --gpus may be left out: as many nodes as it takes",
                   unpaid ? " and " : "", unpaid ? words : "",
                   unpaid ? "\nnote: --price  what you pay: --budget is in it, and these have none"
                          : "");
}

RhCapacityQuery rh_capacity_query_new(const RhArguments *a)
{
    return (RhCapacityQuery){.a = a,
                             .names = g_ptr_array_new_with_free_func(g_free),
                             .sizes = g_array_new(FALSE, FALSE, sizeof(int64_t)),
                             .series = g_array_new(FALSE, FALSE, sizeof(RhCapacitySeries)),
                             .inputs =
                                 g_ptr_array_new_with_free_func((GDestroyNotify)rh_inputs_free),
                             .cells = g_array_new(FALSE, FALSE, sizeof(RhCapacityCell)),
                             .left_out = g_array_new(FALSE, FALSE, sizeof(RhCapacityLeftOut))};
}

bool rh_capacity_query_read(RhCapacityQuery *q, GError **error)
{
    const RhArguments *a = q->a;
    q->goal = (RhCapacityTarget){.tokens = a->tokens,
                                 .by_s = a->by_s,
                                 .budget_usd = a->budget_usd,
                                 .usd_per_kwh = a->usd_per_kwh,
                                 .as_predicted = strcmp(a->error_bar, "none") == 0,
                                 .failures = rh_failure_rates_by_name(a->failures),
                                 .gap_frac = a->gap_frac,
                                 .risk_frac = fmax(a->risk_frac, RH_RISK_LEAST),
                                 .jobs = (int32_t)a->jobs};
    if (!rh_prices_platforms(a->platforms, q->names, error) ||
        (a->sizes && !rh_capacity_sizes(a->sizes, q->sizes, error)) || !read_dtypes(q, error))
        return false;
    for (guint i = 0; i < q->names->len; i++)
        for (char **dtype = q->dtypes; *dtype; dtype++)
            if (!add_series(q, g_ptr_array_index(q->names, i), *dtype, error))
                return false;
    bool said = q->sizes->len > 0 || (a->tokens > 0 && a->by_s > 0);
    return said || check_sizes(q, error);
}

/* --- cells --- */

/* One series at one size; whole nodes. */
static RhInputs *load(const RhCapacityQuery *q, const RhCapacitySeries *s, int64_t gpus,
                      GError **error)
{
    g_autoptr(GPtrArray) sets = rh_prices_sets(q->a, s->platform);
    if (s->profile)
        g_ptr_array_insert(sets, 0, g_strconcat("profile=", s->profile, NULL));
    g_ptr_array_add(sets, g_strdup_printf("nodes=%" G_GINT64_FORMAT, gpus / s->gpus_per_node));
    g_ptr_array_add(sets, NULL);
    g_auto(GStrv) argv = rh_arguments_words(q->a->recorded);
    RhInputsSpec spec = {.workload = q->a->workload,
                         .platform = s->platform,
                         .dtype = s->dtype,
                         .stack = q->a->stack,
                         .global_batch = s->batch_most,
                         .sequence = q->a->sequence,
                         .gpus = gpus,
                         .seed = q->a->seed,
                         .sets = (const char *const *)sets->pdata,
                         .argv = (const char *const *)argv};
    g_autoptr(RhInputs) in = rh_inputs_load(&spec, error);
    if (in && !rh_inputs_alone_on_gpus(in, "capacity", error))
        return NULL;
    return g_steal_pointer(&in);
}

/* That a platform cannot be built of so many nodes is part of the answer; other errors are the user's. */
static bool leave_out(RhCapacityQuery *q, const char *platform, int64_t gpus, int64_t nodes,
                      const GError *why)
{
    g_autofree char *set = g_strdup_printf("--set nodes=%" G_GINT64_FORMAT ": ", nodes);
    if (!g_str_has_prefix(why->message, set))
        return false;
    for (guint i = 0; i < q->left_out->len; i++) { /* of another series */
        const RhCapacityLeftOut *other = &g_array_index(q->left_out, RhCapacityLeftOut, i);
        if (other->gpus == gpus && strcmp(other->platform, platform) == 0)
            return true;
    }
    const char *reason = why->message + strlen(set);
    RhCapacityLeftOut size = {platform, (int32_t)gpus, g_strndup(reason, strcspn(reason, "\n"))};
    g_array_append_val(q->left_out, size);
    return true;
}

/* Where a cell of the series and size stands, or would: *there. */
static guint place_of(const RhCapacityQuery *q, int32_t series, int64_t gpus, bool *there)
{
    guint i = 0;
    *there = false;
    for (; i < q->cells->len; i++) {
        const RhCapacityCell *cell = &g_array_index(q->cells, RhCapacityCell, i);
        if (cell->series > series || (cell->series == series && cell->c.job.gpus >= gpus)) {
            *there = cell->series == series && cell->c.job.gpus == gpus;
            break;
        }
    }
    return i;
}

static bool add_cell(RhCapacityQuery *q, int32_t series, int64_t asked, GError **error)
{
    const RhCapacitySeries *s = &g_array_index(q->series, RhCapacitySeries, series);
    int64_t each = s->gpus_per_node, size = (asked + each - 1) / each * each;
    bool there;
    guint place = place_of(q, series, size, &there);
    if (there)
        return true;
    g_autoptr(GError) why = NULL;
    RhInputs *in = load(q, s, size, &why);
    if (!in && leave_out(q, s->platform, size, size / each, why))
        return true;
    if (!in) {
        g_propagate_error(error, g_steal_pointer(&why));
        return false;
    }
    RhCapacityCell cell = {.platform = s->platform,
                           .series = series,
                           .asked = (int32_t)asked,
                           .batch_least = s->batch_least,
                           .batch_most = s->batch_most,
                           .c = in->c};
    g_ptr_array_insert(q->inputs, (gint)place, in);
    g_array_insert_val(q->cells, place, cell);
    return true;
}

/* --- as many nodes as it takes --- */

/* Up to whole nodes that divide well: to an eighth at most. */
static int64_t rounded(double gpus, int32_t each)
{
    int64_t nodes = (int64_t)ceil(fmin(gpus, OPEN_GPUS_MAX) / each), unit = 1;
    while (unit * 16 <= nodes)
        unit *= 2;
    return (nodes + unit - 1) / unit * unit * each;
}

/* By the model's arithmetic alone, at a guessed MFU, and a third around. */
static bool add_guessed(RhCapacityQuery *q, int32_t series, GError **error)
{
    static const double around[] = {0.75, 1, 1.5};
    const RhCapacitySeries *s = &g_array_index(q->series, RhCapacitySeries, series);
    g_autoptr(RhInputs) node = load(q, s, s->gpus_per_node, error);
    if (!node)
        return false;
    const RhJob *job = &node->c.job;
    double steps = q->goal.tokens / ((double)job->global_batch * (double)job->sequence);
    double gpus = s->gpus_per_node * steps * rh_mfu_frac(&node->c, 1) / q->goal.by_s;
    for (size_t i = 0; i < G_N_ELEMENTS(around); i++)
        if (!add_cell(q, series, rounded(gpus / GUESSED_MFU_FRAC * around[i], s->gpus_per_node),
                      error))
            return false;
    return true;
}

/* Times longer than the date allows. */
static double times_late(const RhCapacityQuery *q, const RhCapacityCell *cell)
{
    return rh_upper_end(cell->seconds, cell->allowed_frac) / q->goal.by_s;
}

/* The size that the series is to be planned at next; 0: none. Below the smallest in time what its time leaves room for,
 * above the largest what that lacks. */
static int64_t next_size(const RhCapacityQuery *q, int32_t series)
{
    const RhCapacitySeries *s = &g_array_index(q->series, RhCapacitySeries, series);
    const RhCapacityCell *late = NULL, *none = NULL;
    for (guint i = 0; i < q->cells->len; i++) {
        const RhCapacityCell *cell = &g_array_index(q->cells, RhCapacityCell, i);
        if (cell->series != series)
            continue;
        if (cell->timed_out)
            return 0;
        if (!cell->r) { /* it may be the size alone */
            none = cell;
            continue;
        }
        if (times_late(q, cell) > 1) {
            late = cell;
            continue;
        }
        int64_t size = rounded(cell->c.job.gpus * times_late(q, cell), s->gpus_per_node);
        bool between = size < cell->c.job.gpus && (!late || size > late->c.job.gpus);
        return between ? size : 0;
    }
    if (none && (!late || none->c.job.gpus > late->c.job.gpus))
        late = none;
    if (!late || late->c.job.gpus >= OPEN_GPUS_MAX / 2)
        return 0;
    double times = late->r ? fmin(times_late(q, late), 8) : 2;
    int64_t size = rounded(late->c.job.gpus * times, s->gpus_per_node);
    return size > late->c.job.gpus ? size : 0;
}

bool rh_capacity_query_next(RhCapacityQuery *q, guint *count, GError **error)
{
    guint before = q->cells->len;
    for (guint i = 0; i < q->series->len; i++) {
        bool open = g_array_index(q->series, RhCapacitySeries, i).open;
        int64_t size = open ? next_size(q, (int32_t)i) : 0;
        if (size > 0 && !add_cell(q, (int32_t)i, size, error))
            return false;
    }
    *count = q->cells->len - before;
    return true;
}

/* --- all of them --- */

static bool load_series(RhCapacityQuery *q, int32_t series, GError **error)
{
    RhCapacitySeries *s = &g_array_index(q->series, RhCapacitySeries, series);
    g_autoptr(RhPlatform) bare = rh_platform_load(s->platform, error);
    if (!bare)
        return false;
    s->gpus_per_node = bare->gpus_per_node;
    for (guint i = 0; i < q->sizes->len; i++)
        if (!add_cell(q, series, g_array_index(q->sizes, int64_t, i), error))
            return false;
    if (q->sizes->len > 0)
        return true;
    if (is_counted(s->platform, bare))
        return add_cell(q, series, rh_platform_gpus(bare), error);
    s->open = true;
    return add_guessed(q, series, error);
}

bool rh_capacity_query_load(RhCapacityQuery *q, GError **error)
{
    for (guint i = 0; i < q->series->len; i++)
        if (!load_series(q, (int32_t)i, error))
            return false;
    return true;
}

void rh_capacity_query_clear(RhCapacityQuery *q)
{
    for (guint i = 0; i < q->cells->len; i++)
        rh_capacity_cell_clear(&g_array_index(q->cells, RhCapacityCell, i));
    for (guint i = 0; i < q->left_out->len; i++)
        g_free(g_array_index(q->left_out, RhCapacityLeftOut, i).why);
    g_strfreev(q->dtypes);
    g_array_unref(q->left_out);
    g_array_unref(q->cells);
    g_array_unref(q->series);
    g_array_unref(q->sizes);
    g_ptr_array_unref(q->inputs);
    g_ptr_array_unref(q->names);
}
