#include "validate/suites/suite.h"

#include <math.h>
#include <string.h>

#include "base/cleanup_supervisor.h"
#include "base/error.h"
#include "base/json/json.h"
#include "calibrate/links/pingpong_fit.h"
#include "validate/suites/emulated_network_run.h"
#include "validate/suites/suite_private.h"
#include "validate/suites/thresholds.h"

#define PING_RUNS 3
#define PINGS_MAX 3    /* maximum number of ping-pongs */
#define CALM_FRAC 0.02 /* limit of the spread of equal messages */

static void item_clear(void *data)
{
    RhSuiteItem *item = data;
    rh_program_free(item->program);
    rh_run_free(item->run);
    g_free(item->name);
    g_free(item->stuck);
}

static void network_clear(void *data)
{
    rh_platform_free(((RhSuiteNetwork *)data)->platform);
}

/* --- calibration --- */

/* Performs one ping-pong, and fits it. */
static bool perform_ping(RhSuiteRun *s, const RhPlatform *star, RhPingFit *out, GError **error)
{
    g_autofree char *csv = g_build_filename(s->folder, "pingpong.csv", NULL);
    g_autofree char *file = g_strdup_printf("--pingpong=%s", csv);
    g_autofree char *runs = g_strdup_printf("--runs=%d", PING_RUNS);
    g_autofree char *on = g_strdup_printf("--platform=%s", s->suite->star);
    g_autofree char *output = NULL;
    const char *argv[] = {s->options->perform, on, file, runs, NULL};
    rh_suite_tell(s, "calibrating");
    s->v->launches_count++;
    if (!rh_lab_run(s->options->lab_folder, star, RH_LAB_PING_S, 0, argv, &output, error))
        return false;
    g_autoptr(GArray) pings = rh_pings_load(csv, error);
    return pings && rh_pings_fit(pings, star, 0, out, error);
}

/* Finds the least disturbed of some ping-pongs. One that cannot be fitted was too disturbed:
 * another one is tried, and its error is reported when none can be fitted. */
static bool best_ping(RhSuiteRun *s, const RhPlatform *star, RhPingFit *best, GError **error)
{
    bool found = false;
    for (int i = 0; i < PINGS_MAX && !(found && best->disturbance_frac < CALM_FRAC); i++) {
        RhPingFit fit;
        g_autoptr(GError) unfit = NULL;
        if (perform_ping(s, star, &fit, &unfit)) {
            if (!found || fit.disturbance_frac < best->disturbance_frac)
                *best = fit;
            found = true;
        } else if (!g_error_matches(unfit, RH_ERROR, RH_ERROR_INPUT) ||
                   (!found && i == PINGS_MAX - 1)) {
            g_propagate_error(error, g_steal_pointer(&unfit));
            return false;
        }
    }
    return true;
}

static bool calibrate(RhSuiteRun *s, GError **error)
{
    g_autoptr(RhPlatform) star = rh_suite_platform(s, s->suite->star, NULL, error);
    RhPingFit fit;
    if (!star || !best_ping(s, star, &fit, error))
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

/* --- whole suite --- */

static bool is_selected(const RhSuiteRun *s, const RhSuiteCase *row)
{
    g_autofree char *id = g_strdup_printf("%s: %s on %s", row->group, row->what, row->platform);
    return !s->options->only || strstr(id, s->options->only);
}

/* Network of a row, made on first use; -1 with an error when it cannot be made. */
static int32_t network_of(RhSuiteRun *s, const RhSuiteCase *row, GError **error)
{
    for (guint i = 0; i < s->networks->len; i++) {
        const RhSuiteNetwork *n = rh_suite_network(s, i);
        if (strcmp(n->spec, row->platform) == 0 && g_strcmp0(n->change, row->change) == 0)
            return (int32_t)i;
    }
    RhSuiteNetwork made = {row->platform, row->change,
                           rh_suite_platform(s, row->platform, row->change, error)};
    if (!made.platform)
        return -1;
    g_array_append_val(s->networks, made);
    return (int32_t)s->networks->len - 1;
}

static bool count_cases(RhSuiteRun *s, GError **error)
{
    for (const RhSuiteCase *row = s->suite->cases; row->group; row++)
        s->total += is_selected(s, row);
    return s->total > 0 || rh_fail(error, RH_ERROR_USAGE,
                                   "no case of %s has \"%s\" in its name\nhelp: names begin with "
                                   "collective:, pattern:, iteration:, service:, layout: or fault:",
                                   s->suite->name, s->options->only);
}

/* Predicts every case before any is measured. */
static bool prepare(RhSuiteRun *s, GError **error)
{
    for (const RhSuiteCase *row = s->suite->cases; row->group; row++) {
        if (!is_selected(s, row))
            continue;
        int32_t network = network_of(s, row, error);
        if (network < 0 || !rh_suite_add(s, row, (guint)network, error))
            return false;
        rh_suite_tell(s, "predicting");
    }
    for (guint i = 0; s->options->controls && i < s->networks->len; i++) {
        rh_suite_tell(s, "predicting with SMPI");
        if (!rh_suite_ask_smpi(s, i, error))
            return false;
    }
    return true;
}

/* Reports whether the measurements can be trusted. */
static void report_load(RhSuiteRun *s)
{
    double other_frac = s->other_s / fmax(s->all_s, 1e-9), stolen_frac = 0;
    for (guint i = 0; i < s->items->len; i++)
        if (!rh_suite_disturbed(rh_suite_item(s, i)))
            stolen_frac = fmax(stolen_frac, rh_suite_item(s, i)->stolen_frac);
    g_ptr_array_add(
        s->v->notes,
        g_strdup_printf("other work took %.0f %% of the processors meanwhile%s", 100 * other_frac,
                        other_frac > RH_SUITE_BUSY_FRAC ? ": the measurements are not to be trusted"
                                                        : ""));
    if (s->repeated_count > 0)
        g_ptr_array_add(
            s->v->notes,
            g_strdup_printf("%d steps that a hypervisor disturbed were repeated; of "
                            "those that count it took %.1f %% of the processors at most",
                            s->repeated_count, 100 * stolen_frac));
}

static bool run_suite(RhSuiteRun *s, GError **error)
{
    g_autofree char *how = NULL;
    g_autofree char *obstacle = rh_lab_obstacle(s->options->lab_folder, &how);
    g_autoptr(GError) local = NULL;
    if (!obstacle && !calibrate(s, &local))
        obstacle = g_strdup_printf("calibration failed: %s", local->message);
    if (!prepare(s, error))
        return false;
    if (obstacle) {
        rh_suite_fall_back(s, obstacle);
        return true;
    }
    for (guint i = 0; i < s->networks->len; i++) {
        const char *spec = rh_suite_network(s, i)->spec;
        g_autofree char *what = g_strdup_printf("performing on %s", spec);
        rh_suite_tell(s, what);
        rh_suite_perform(s, i);
    }
    g_ptr_array_add(s->v->notes, g_strdup_printf("lab built as %s%s%s", how,
                                                 s->suite->change ? "; all of it with " : "",
                                                 s->suite->change ? s->suite->change : ""));
    report_load(s);
    rh_thresholds_judge(s->v);
    return true;
}

/* Names of the suites; ends with NULL. */
static const char *const *names_of_suites(void)
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
    rh_fail_unknown(error, "suite", name, names_of_suites());
    return NULL;
}

bool rh_suite_known(const char *name, GError **error)
{
    return suite_by_name(name, error) != NULL;
}

static char *folder_of(const RhSuiteOptions *options, GError **error)
{
    if (!options->keep_folder)
        return rh_temp_folder("rehearse-validate-XXXXXX", error);
    if (g_mkdir_with_parents(options->keep_folder, 0777) != 0) {
        rh_fail(error, RH_ERROR_IO, "cannot make %s", options->keep_folder);
        return NULL;
    }
    return g_canonicalize_filename(options->keep_folder, NULL);
}

static RhModel *load_model(const RhSuiteOptions *options, const char *name, GError **error)
{
    g_autofree char *path = g_build_filename(options->lab_folder, "..", "data", name, NULL);
    return rh_model_load(path, error);
}

RhValidation *rh_suite_run(const char *name, const RhSuiteOptions *options, GError **error)
{
    RhSuiteRun s = {.suite = suite_by_name(name, error), .options = options};
    if (!s.suite || !(s.folder = folder_of(options, error)))
        return NULL;
    s.stack = rh_stack_by_name("lab", error);
    s.model = s.stack ? load_model(options, "lab-gpt.json", error) : NULL;
    s.mixture = s.model ? load_model(options, "lab-mixture.json", error) : NULL;
    s.pictures = s.mixture ? load_model(options, "lab-pictures.json", error) : NULL;
    s.v = rh_validation_new(name);
    s.items = g_array_new(FALSE, TRUE, sizeof(RhSuiteItem));
    g_array_set_clear_func(s.items, item_clear);
    s.networks = g_array_new(FALSE, TRUE, sizeof(RhSuiteNetwork));
    g_array_set_clear_func(s.networks, network_clear);
    bool fine = s.pictures && count_cases(&s, error) && run_suite(&s, error);
    g_array_unref(s.items);
    g_array_unref(s.networks);
    rh_model_free(s.model);
    rh_model_free(s.mixture);
    rh_model_free(s.pictures);
    if (!options->keep_folder)
        rh_temp_remove(s.folder);
    g_free(s.folder);
    g_free(s.profile);
    if (!fine)
        g_clear_pointer(&s.v, rh_validation_free);
    return s.v;
}
