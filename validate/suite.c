#include "validate/suite.h"

#include <glib/gstdio.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/error.h"
#include "base/json.h"
#include "calibrate/pingpong.h"
#include "platforms/profile.h"
#include "sim/engine/engine.h"
#include "strategies/train/train.h"
#include "validate/bars.h"
#include "validate/lab_run.h"
#include "validate/patterns.h"
#include "validate/performed.h"
#include "validate/smpi.h"
#include "validate/stuck.h"
#include "validate/suite_cases.h"

#define JOB_BATCH     16
#define JOB_SEQUENCE  256
#define NOISY_FRAC    0.10 /* a case that spreads more is measured once more */
#define STEP_LIMIT_S  30
#define DEAD_LAUNCH_S 20   /* mpirun does not always notice that a host is gone */
#define DEAD_LIMIT_S  4    /* of a step that a link's death ends */
#define BUSY_FRAC     0.05 /* of the processors, by others */
#define PING_RUNS     3
#define SEEDS         5 /* of the noise in a prediction */

/* One case on its way. */
typedef struct {
    const RhSuiteCase *row;
    RhProgram *program; /* owned */
    RhRun *run;         /* owned; the rehearsal, with its timeline */
    char *name;         /* owned; of its files */
    char *stuck;        /* owned; NULL, or where the rehearsal's ranks wait for ever */
    guint index;        /* of its case in the validation */
    guint network;      /* into networks */
} Item;

/* A platform, and what was changed of it: cases on the same one are performed in one launch. */
typedef struct {
    const char *spec, *change; /* change: NULL for none */
    RhPlatform *platform;      /* owned */
} Network;

typedef struct {
    const RhSuite *suite;
    const RhSuiteOptions *options;
    RhValidation *v;
    RhModel *model;
    const RhStack *stack;
    char *folder, *profile; /* owned; profile: NULL until calibrated */
    GArray *items;          /* Item */
    GArray *networks;       /* Network */
    int32_t done, total;
    double other_s, all_s; /* processor time while we measured: of others, in all */
} Suite;

static void item_clear(void *data)
{
    Item *item = data;
    rh_program_free(item->program);
    rh_run_free(item->run);
    g_free(item->name);
    g_free(item->stuck);
}

static void network_clear(void *data)
{
    rh_platform_free(((Network *)data)->platform);
}

static Item *item_at(const Suite *s, guint i)
{
    return &g_array_index(s->items, Item, i);
}

static RhValidationCase *case_of(const Suite *s, const Item *item)
{
    return &g_array_index(s->v->cases, RhValidationCase, item->index);
}

static void tell(Suite *s, const char *what)
{
    if (s->options->progress)
        s->options->progress(what, s->done, s->total, s->options->user);
}

static void skip(RhValidationCase *c, const char *format, ...) G_GNUC_PRINTF(2, 3);
static void skip(RhValidationCase *c, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_free(c->skipped);
    c->skipped = g_strdup_vprintf(format, arguments);
    va_end(arguments);
}

/* --- programs --- */

static bool read_bytes(const char *text, double *bytes, GError **error)
{
    return rh_quantity_parse(text, RH_QUANTITY_BYTES, bytes, error);
}

static RhProgram *collective_program(const RhPlatform *platform, char **words, GError **error)
{
    RhOp op = RH_OP_NONE;
    RhAlgo algo = RH_ALGO_NONE;
    double bytes = 0;
    while (op < RH_OP_LAST && strcmp(rh_op_name(op), words[0]) != 0)
        op++;
    while (algo < RH_ALGO_LAST && strcmp(rh_algo_name(algo), words[1]) != 0)
        algo++;
    g_assert(op < RH_OP_LAST && algo < RH_ALGO_LAST); /* our own table */
    if (!read_bytes(words[2], &bytes, error))
        return NULL;
    return rh_pattern_collective(rh_platform_gpus(platform), op, algo, bytes, 3);
}

static RhProgram *pattern_program(const RhPlatform *platform, char **words, GError **error)
{
    double bytes = 0;
    const RhMessagePattern *pattern = rh_message_pattern_by_name(words[0]);
    g_assert(pattern);
    return read_bytes(words[1], &bytes, error) ? pattern->build(rh_platform_gpus(platform), bytes)
                                               : NULL;
}

static RhProgram *layout_program(const Suite *s, const RhPlatform *platform, const char *text,
                                 GError **error)
{
    RhCase c = {.model = s->model,
                .platform = platform,
                .stack = s->stack,
                .job = {JOB_BATCH, JOB_SEQUENCE, rh_platform_gpus(platform), RH_DTYPE_BF16}};
    RhLayout layout = rh_layout_default();
    if (!rh_layout_parse(text, &layout, error))
        return NULL;
    if (layout.tp == 1)
        layout.sequence_parallel = false;
    rh_train_complete(&c, &layout);
    if (!rh_train_legal(&c, &layout, error))
        return NULL;
    layout = rh_train_canonical(&c, &layout);
    return rh_train_build(&c, &layout, error);
}

static RhProgram *build(const Suite *s, const RhSuiteCase *row, const RhPlatform *platform,
                        GError **error)
{
    g_auto(GStrv) words = g_strsplit(row->what, " ", -1);
    if (g_str_has_suffix(row->group, "collective"))
        return collective_program(platform, words, error);
    if (rh_message_pattern_by_name(words[0]))
        return pattern_program(platform, words, error);
    return layout_program(s, platform, row->what, error);
}

/* --- predictions --- */

static RhPlatform *platform_of(const Suite *s, const char *spec, const char *change, GError **error)
{
    g_autoptr(RhPlatform) hardware = rh_platform_load(spec, error);
    if (!hardware || (s->profile && !rh_platform_apply_profile(hardware, s->profile, error)))
        return NULL;
    g_auto(GStrv) changes = g_strsplit(change ? change : "", " ", -1);
    for (char **c = changes; *c; c++) {
        g_auto(GStrv) words = g_strsplit(*c, "=", 2);
        if (!rh_platform_set(hardware, words[0], words[1], error))
            return NULL;
    }
    return rh_stack_platform(s->stack, hardware);
}

static int by_time(const void *a, const void *b)
{
    const RhRun *x = *(RhRun *const *)a, *y = *(RhRun *const *)b;
    return x->step_time_s < y->step_time_s ? -1 : x->step_time_s > y->step_time_s;
}

/* The middle one of some seeds of the noise; NULL on failure. */
static RhRun *median_rehearsal(const RhProgram *p, const RhPlatform *platform, GError **error)
{
    g_autoptr(GPtrArray) runs = g_ptr_array_new_with_free_func((GDestroyNotify)rh_run_free);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        RhEngineOptions options = {.timeline = true, .seed = seed};
        RhRun *run = rh_engine_run(p, platform, &options, error);
        if (!run)
            return NULL;
        g_ptr_array_add(runs, run);
    }
    g_ptr_array_sort(runs, by_time);
    return g_ptr_array_steal_index(runs, SEEDS / 2);
}

static bool dies(const Item *item)
{
    return item->row->change && strstr(item->row->change, "dies@");
}

static bool predict(const Suite *s, Item *item, const RhPlatform *platform, GError **error)
{
    RhValidationCase *c = case_of(s, item);
    if (dies(item)) {
        g_autoptr(GError) end = NULL;
        item->run = median_rehearsal(item->program, platform, &end);
        item->stuck = end ? g_strdup(end->message) : NULL;
        return true;
    }
    RhEngineOptions plain = {0};
    g_autoptr(RhPlatform) fluid = rh_platform_copy(platform);
    fluid->messages.sender = RH_SHARING_NONE;
    item->run = median_rehearsal(item->program, platform, error);
    g_autoptr(RhRun) control =
        item->run ? rh_engine_run(item->program, fluid, &plain, error) : NULL;
    if (!control || !rh_dry_run(item->program, fluid, &c->control[RH_CONTROL_ALPHA_BETA], error))
        return false;
    c->predicted = item->run->step_time_s;
    c->control[RH_CONTROL_FLUID] = control->step_time_s;
    return true;
}

static char *result_path(const Suite *s, const Item *item, const char *ending)
{
    g_autofree char *file = g_strconcat(item->name, ending, NULL);
    return g_build_filename(s->folder, file, NULL);
}

static bool write_program(const Suite *s, const Item *item, GError **error)
{
    g_autofree char *path = result_path(s, item, ".program.json");
    g_autofree char *text = rh_program_to_json(item->program);
    return rh_file_write(path, text, strlen(text), error);
}

static bool add_item(Suite *s, const RhSuiteCase *row, guint network, GError **error)
{
    const RhPlatform *platform = g_array_index(s->networks, Network, network).platform;
    Item item = {.row = row, .index = s->v->cases->len, .network = network};
    RhValidationCase c = {.group = row->group,
                          .source = row->platform,
                          .metric = "step_time",
                          .start_error_frac = -1};
    c.id = g_strdup_printf("%s on %s%s%s", row->what, row->platform, row->change ? ", " : "",
                           row->change ? row->change : "");
    g_array_append_val(s->v->cases, c);
    item.name = g_strdup_printf("%03u", item.index);
    item.program = build(s, row, platform, error);
    g_array_append_val(s->items, item);
    Item *kept = item_at(s, s->items->len - 1);
    if (kept->program && rh_program_check(kept->program, error) &&
        predict(s, kept, platform, error) && write_program(s, kept, error))
        return true;
    g_prefix_error(error, "%s on %s: ", row->what, row->platform);
    return false;
}

/* SMPI performs the programs of a network on paper. */
static bool predict_by_smpi(Suite *s, guint network, GError **error)
{
    const Network *n = &g_array_index(s->networks, Network, network);
    const RhPlatform *platform = n->platform;
    if (n->change && strstr(n->change, "dies@"))
        return true;
    g_autoptr(GPtrArray) argv = g_ptr_array_new_with_free_func(g_free);
    g_ptr_array_add(argv, g_strdup(s->options->smpi));
    g_ptr_array_add(argv, g_strdup_printf("--platform=%s", platform->name));
    g_ptr_array_add(argv, g_strdup_printf("--output=%s", s->folder));
    g_ptr_array_add(argv, g_strdup("--runs=1"));
    for (guint i = 0; i < s->items->len; i++)
        if (item_at(s, i)->network == network)
            g_ptr_array_add(argv, result_path(s, item_at(s, i), ".program.json"));
    g_ptr_array_add(argv, NULL);
    if (!rh_smpi_run(platform, s->folder, (const char *const *)argv->pdata, error))
        return false;
    for (guint i = 0; i < s->items->len; i++) {
        const Item *item = item_at(s, i);
        g_autofree char *json = result_path(s, item, ".json");
        RhPerformedResult result;
        if (item->network != network)
            continue;
        if (!rh_performed_load(json, &result, error))
            return false;
        case_of(s, item)->control[RH_CONTROL_SMPI] = result.step_time_s;
        rh_performed_result_clear(&result);
        g_unlink(json); /* the real run writes there */
    }
    return true;
}

/* --- real runs --- */

/* Processor seconds of everybody and of our children, and all there were. */
typedef struct {
    double busy_s, own_s, all_s;
} Load;

static Load load_now(void)
{
    g_autofree char *text = NULL;
    struct rusage own;
    double tick_s = 1.0 / (double)sysconf(_SC_CLK_TCK), columns[7] = {0};
    getrusage(RUSAGE_CHILDREN, &own);
    if (g_file_get_contents("/proc/stat", &text, NULL, NULL))
        sscanf(text, "cpu %lf %lf %lf %lf %lf", &columns[0], &columns[1], &columns[2], &columns[3],
               &columns[4]); /* user, nice, system, idle, waiting for disks */
    double busy_s = tick_s * (columns[0] + columns[1] + columns[2]);
    return (Load){busy_s,
                  (double)(own.ru_utime.tv_sec + own.ru_stime.tv_sec) +
                      1e-6 * (double)(own.ru_utime.tv_usec + own.ru_stime.tv_usec),
                  busy_s + tick_s * (columns[3] + columns[4])};
}

/* Performs the items in one launch; results are files of `folder`. `flag`: NULL, or one more for
 * the performer. */
static bool launch(Suite *s, const GPtrArray *items, const RhPlatform *platform, const char *folder,
                   const char *flag, GError **error)
{
    g_autoptr(GPtrArray) argv = g_ptr_array_new_with_free_func(g_free);
    g_autofree char *output = NULL;
    bool fatal = flag && g_str_has_prefix(flag, "--event");
    int32_t limit_s = fatal ? DEAD_LAUNCH_S : 60 + 10 * (int32_t)items->len;
    g_ptr_array_add(argv, g_strdup(s->options->perform));
    g_ptr_array_add(argv, g_strdup_printf("--platform=%s", platform->name));
    g_ptr_array_add(argv, g_strdup_printf("--output=%s", folder));
    g_ptr_array_add(argv, g_strdup_printf("--runs=%d", s->options->runs));
    if (flag)
        g_ptr_array_add(argv, g_strdup(flag));
    g_ptr_array_add(argv, g_strdup_printf("--timeout=%d", fatal ? DEAD_LIMIT_S : STEP_LIMIT_S));
    for (guint i = 0; i < items->len; i++)
        g_ptr_array_add(argv, result_path(s, g_ptr_array_index(items, i), ".program.json"));
    g_ptr_array_add(argv, NULL);
    s->v->launches_count++;
    Load before = load_now();
    bool ran = rh_lab_run(s->options->lab_folder, platform, limit_s,
                          (const char *const *)argv->pdata, &output, error);
    Load after = load_now();
    s->other_s += fmax(0, after.busy_s - before.busy_s - (after.own_s - before.own_s));
    s->all_s += after.all_s - before.all_s;
    return ran;
}

static void read_result(Suite *s, const Item *item, const char *why_missing)
{
    RhValidationCase *c = case_of(s, item);
    g_autofree char *json = result_path(s, item, ".json");
    g_autofree char *trace = result_path(s, item, ".run.json.gz");
    g_autoptr(GError) error = NULL;
    RhPerformedResult result;
    g_clear_pointer(&c->skipped, g_free);
    g_autofree char *stuck = rh_stuck_collect(s->folder, item->name, item->program->ranks_count);
    if (stuck) {
        skip(c, "the real run did not end: %s", stuck);
        return;
    }
    if (!g_file_test(json, G_FILE_TEST_EXISTS)) {
        skip(c, "not performed: %s", why_missing ? why_missing : "no result was written");
        return;
    }
    if (!rh_performed_load(json, &result, &error)) {
        skip(c, "%s", error->message);
        return;
    }
    c->measured = result.step_time_s;
    c->spread_frac = result.spread_frac;
    if (result.wrong_count > 0)
        skip(c, "the real run moved wrong data: %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT " words",
             result.wrong_count, result.checked_count);
    else if (!rh_performed_start_error(trace, item->program, item->run, c->measured,
                                       &c->start_error_frac, &error))
        skip(c, "%s", error->message);
    if (!s->v->made_on) {
        struct utsname machine;
        uname(&machine);
        s->v->made_on = g_strdup_printf("%s, Linux %s, %u processors", result.library,
                                        machine.release, g_get_num_processors());
    }
    rh_performed_result_clear(&result);
}

/* What is left of a launch that ended early is tried once more. */
static void perform(Suite *s, const GPtrArray *items, const RhPlatform *platform)
{
    for (int attempt = 0; attempt < 2; attempt++) {
        g_autoptr(GPtrArray) left = g_ptr_array_new();
        g_autoptr(GError) error = NULL;
        for (guint i = 0; i < items->len; i++) {
            const Item *item = g_ptr_array_index(items, i);
            g_autofree char *json = result_path(s, item, ".json");
            if (attempt == 0)
                g_unlink(json);
            if (!g_file_test(json, G_FILE_TEST_EXISTS))
                g_ptr_array_add(left, (Item *)item);
        }
        if (left->len == 0)
            break;
        launch(s, left, platform, s->folder, NULL, &error);
        for (guint i = 0; i < left->len; i++)
            read_result(s, g_ptr_array_index(left, i), error ? error->message : NULL);
    }
}

/* The collectives of a network once more, as the MPI library would do them. */
static void perform_library(Suite *s, const GPtrArray *all, const RhPlatform *platform)
{
    g_autoptr(GPtrArray) collectives = g_ptr_array_new();
    g_autoptr(GError) error = NULL;
    g_autofree char *folder = g_build_filename(s->folder, "library", NULL);
    for (guint i = 0; i < all->len; i++) {
        const Item *item = g_ptr_array_index(all, i);
        if (g_str_has_suffix(item->row->group, "collective"))
            g_ptr_array_add(collectives, (Item *)item);
    }
    if (collectives->len == 0)
        return;
    g_mkdir_with_parents(folder, 0777);
    if (!launch(s, collectives, platform, folder, "--library", &error))
        g_ptr_array_add(s->v->notes, g_strdup_printf("MPI's own collectives: %s", error->message));
    for (guint i = 0; i < collectives->len; i++) {
        const Item *item = g_ptr_array_index(collectives, i);
        g_autofree char *file = g_strconcat(item->name, ".json", NULL);
        g_autofree char *path = g_build_filename(folder, file, NULL);
        RhPerformedResult result;
        if (!rh_performed_load(path, &result, NULL))
            continue;
        if (result.wrong_count == 0)
            case_of(s, item)->library_s = result.step_time_s;
        rh_performed_result_clear(&result);
    }
}

/* "cut r3" of the first link that dies: "link.nic/node3/0/tx=dies@0.3s" on a star. */
static char *event_of(const Suite *s, const char *change)
{
    int node = 0;
    const char *when = strstr(change, "dies@");
    sscanf(change, "link.nic/node%d", &node);
    g_autofree char *cut = g_build_filename(s->options->lab_folder, "cut", NULL);
    g_autofree char *quoted = g_shell_quote(cut);
    return g_strdup_printf("--event=%g:%s r%d", g_ascii_strtod(when + strlen("dies@"), NULL),
                           quoted, node);
}

/* A run that a link's death ends: it must not hang, and tell who waits for what. */
static void perform_death(Suite *s, const Item *item, const RhPlatform *platform)
{
    RhValidationCase *c = case_of(s, item);
    g_autofree char *event = event_of(s, item->row->change);
    g_autoptr(GPtrArray) one = g_ptr_array_new();
    g_autofree char *why = NULL;
    g_ptr_array_add(one, (Item *)item);
    launch(s, one, platform, s->folder, event, NULL); /* it fails, as it should */
    g_autofree char *performed =
        rh_stuck_collect(s->folder, item->name, item->program->ranks_count);
    c->outcome = rh_stuck_compare(item->stuck, performed, item->program->ranks_count, &why);
    if (!c->outcome)
        skip(c, "%s", why);
}

static void perform_network(Suite *s, guint network)
{
    g_autoptr(GPtrArray) all = g_ptr_array_new();
    g_autoptr(GPtrArray) noisy = g_ptr_array_new();
    for (guint i = 0; i < s->items->len; i++)
        if (item_at(s, i)->network == network && !dies(item_at(s, i)))
            g_ptr_array_add(all, item_at(s, i));
    const RhPlatform *platform = g_array_index(s->networks, Network, network).platform;
    for (guint i = 0; i < s->items->len; i++)
        if (item_at(s, i)->network == network && dies(item_at(s, i)))
            perform_death(s, item_at(s, i), platform);
    perform(s, all, platform);
    for (guint i = 0; i < all->len; i++) {
        const RhValidationCase *c = case_of(s, g_ptr_array_index(all, i));
        if (!c->skipped && c->spread_frac > NOISY_FRAC)
            g_ptr_array_add(noisy, g_ptr_array_index(all, i));
    }
    perform(s, noisy, platform);
    if (s->options->controls)
        perform_library(s, all, platform);
    s->done += (int32_t)all->len;
}

/* --- calibration --- */

static bool calibrate(Suite *s, GError **error)
{
    g_autoptr(RhPlatform) star = platform_of(s, s->suite->star, NULL, error);
    g_autofree char *csv = g_build_filename(s->folder, "pingpong.csv", NULL);
    g_autofree char *ping = g_strdup_printf("--pingpong=%s", csv);
    g_autofree char *runs = g_strdup_printf("--runs=%d", PING_RUNS);
    g_autofree char *output = NULL;
    g_autofree char *on = g_strdup_printf("--platform=%s", s->suite->star);
    const char *argv[] = {s->options->perform, on, ping, runs, NULL};
    if (!star)
        return false;
    tell(s, "calibrating");
    s->v->launches_count++;
    if (!rh_lab_run(s->options->lab_folder, star, 120, argv, &output, error))
        return false;
    g_autoptr(GArray) pings = rh_pings_load(csv, error);
    RhPingFit fit;
    if (!pings || !rh_pings_fit(pings, star, &fit, error))
        return false;
    g_autoptr(GDateTime) now = g_date_time_new_now_utc();
    g_autofree char *date = g_date_time_format(now, "%Y-%m");
    g_autofree char *text = rh_pings_profile(&fit, star, "this run", date);
    g_autofree char *path = g_build_filename(s->folder, "profile.json", NULL);
    if (!rh_file_write(path, text, strlen(text), error))
        return false;
    s->profile = g_steal_pointer(&path);
    g_ptr_array_add(
        s->v->notes,
        g_strdup_printf(
            "calibrated by ping-pong on %s alone: latency %.0f us "
            "(+-%.0f; %.0f of it noise), reaction %.0f us, copies %.2f ns/B; its own mean error %.1f %%",
            s->suite->star, 1e6 * fit.latency_s, 1e6 * fit.latency_error_s, 1e6 * fit.noise_s,
            1e6 * fit.reaction_s, 1e9 * fit.copy_s_per_byte, 100 * fit.mape_frac));
    return true;
}

/* --- the whole --- */

static bool wanted(const Suite *s, const RhSuiteCase *row)
{
    g_autofree char *id = g_strdup_printf("%s: %s on %s", row->group, row->what, row->platform);
    return !s->options->only || strstr(id, s->options->only);
}

/* The network of a row, made when first met; -1 with an error when it cannot be. */
static int32_t network_of(Suite *s, const RhSuiteCase *row, GError **error)
{
    for (guint i = 0; i < s->networks->len; i++) {
        const Network *n = &g_array_index(s->networks, Network, i);
        if (strcmp(n->spec, row->platform) == 0 && g_strcmp0(n->change, row->change) == 0)
            return (int32_t)i;
    }
    Network made = {row->platform, row->change, platform_of(s, row->platform, row->change, error)};
    if (!made.platform)
        return -1;
    g_array_append_val(s->networks, made);
    return (int32_t)s->networks->len - 1;
}

static bool count_cases(Suite *s, GError **error)
{
    for (const RhSuiteCase *row = s->suite->cases; row->group; row++)
        s->total += wanted(s, row);
    return s->total > 0 || rh_fail(error, RH_ERROR_USAGE,
                                   "no case of %s has \"%s\" in its name\nhelp: names begin with "
                                   "collective:, pattern:, iteration:, layout: or fault:",
                                   s->suite->name, s->options->only);
}

/* Every case is predicted before any is measured. */
static bool prepare(Suite *s, GError **error)
{
    for (const RhSuiteCase *row = s->suite->cases; row->group; row++) {
        if (!wanted(s, row))
            continue;
        int32_t network = network_of(s, row, error);
        if (network < 0 || !add_item(s, row, (guint)network, error))
            return false;
        tell(s, "predicting");
    }
    for (guint i = 0; s->options->controls && i < s->networks->len; i++) {
        tell(s, "predicting with SMPI");
        if (!predict_by_smpi(s, i, error))
            return false;
    }
    return true;
}

static void skip_all(Suite *s, const char *why)
{
    for (guint i = 0; i < s->v->cases->len; i++)
        skip(&g_array_index(s->v->cases, RhValidationCase, i), "%s", why);
    g_ptr_array_add(s->v->notes, g_strdup_printf("nothing was performed: %s", why));
}

static bool run(Suite *s, GError **error)
{
    g_autofree char *how = NULL;
    g_autofree char *obstacle = rh_lab_obstacle(s->options->lab_folder, &how);
    g_autoptr(GError) local = NULL;
    if (!obstacle && !calibrate(s, &local))
        obstacle = g_strdup_printf("calibration failed: %s", local->message);
    if (!prepare(s, error))
        return false;
    if (obstacle) {
        skip_all(s, obstacle);
        return true;
    }
    for (guint i = 0; i < s->networks->len; i++) {
        const char *spec = g_array_index(s->networks, Network, i).spec;
        g_autofree char *what = g_strdup_printf("performing on %s", spec);
        tell(s, what);
        perform_network(s, i);
    }
    g_ptr_array_add(s->v->notes, g_strdup_printf("lab built as %s", how));
    g_ptr_array_add(s->v->notes,
                    g_strdup_printf("other work took %.0f %% of the processors meanwhile%s",
                                    100 * s->other_s / fmax(s->all_s, 1e-9),
                                    s->other_s > BUSY_FRAC * s->all_s
                                        ? ": the measurements are not to be trusted"
                                        : ""));
    rh_bars_judge(s->v);
    return true;
}

static void remove_folder(const char *path)
{
    g_autoptr(GDir) folder = g_dir_open(path, 0, NULL);
    for (const char *name = folder ? g_dir_read_name(folder) : NULL; name;
         name = g_dir_read_name(folder)) {
        g_autofree char *file = g_build_filename(path, name, NULL);
        if (g_file_test(file, G_FILE_TEST_IS_DIR))
            remove_folder(file);
        else
            g_unlink(file);
    }
    g_rmdir(path);
}

const char *const *rh_suite_names(void)
{
    static const char *names[8];
    for (size_t i = 0; rh_suites[i].name && i + 1 < G_N_ELEMENTS(names); i++)
        names[i] = rh_suites[i].name;
    return names;
}

static const RhSuite *suite_by_name(const char *name, GError **error)
{
    for (const RhSuite *suite = rh_suites; suite->name; suite++)
        if (strcmp(suite->name, name) == 0)
            return suite;
    g_autofree char *list = g_strjoinv(", ", (char **)rh_suite_names());
    rh_fail(error, RH_ERROR_USAGE, "there is no suite \"%s\"\nnote: suites: %s", name, list);
    return NULL;
}

static char *folder_of(const RhSuiteOptions *options, GError **error)
{
    if (!options->keep_folder)
        return g_dir_make_tmp("rehearse-validate-XXXXXX", error);
    if (g_mkdir_with_parents(options->keep_folder, 0777) != 0) {
        rh_fail(error, RH_ERROR_IO, "cannot make %s", options->keep_folder);
        return NULL;
    }
    return g_canonicalize_filename(options->keep_folder, NULL);
}

RhValidation *rh_suite_run(const char *name, const RhSuiteOptions *options, GError **error)
{
    Suite s = {.suite = suite_by_name(name, error), .options = options};
    g_autofree char *model =
        g_build_filename(options->lab_folder, "..", "data", "lab-gpt.json", NULL);
    if (!s.suite || !(s.folder = folder_of(options, error)))
        return NULL;
    s.stack = rh_stack_by_name("lab");
    s.model = rh_model_load(model, error);
    s.v = rh_validation_new(name);
    s.items = g_array_new(FALSE, TRUE, sizeof(Item));
    g_array_set_clear_func(s.items, item_clear);
    s.networks = g_array_new(FALSE, TRUE, sizeof(Network));
    g_array_set_clear_func(s.networks, network_clear);
    bool fine = s.model && count_cases(&s, error) && run(&s, error);
    g_array_unref(s.items);
    g_array_unref(s.networks);
    rh_model_free(s.model);
    if (!options->keep_folder)
        remove_folder(s.folder);
    g_free(s.folder);
    g_free(s.profile);
    if (!fine)
        g_clear_pointer(&s.v, rh_validation_free);
    return s.v;
}
