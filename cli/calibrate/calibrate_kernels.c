#include "cli/calibrate/calibrate_kernels.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/child_process.h"
#include "base/error.h"
#include "base/find_companion_program.h"
#include "base/text/text_input.h"
#include "base/text/text_table.h"
#include "calibrate/kernels/cpu_device_file.h"
#include "calibrate/kernels/kernels_fit.h"
#include "calibrate/kernels/raw_samples_device.h"
#include "calibrate/links/measured.h"
#include "calibrate/stacks/published_steps.h"
#include "cli/calibrate/fit_tables.h"
#include "cli/output/output_file.h"
#include "cli/output/terminal.h"
#include "report/format.h"
#include "validate/cases/cases_table.h"

#define PROGRAM "rehearse-kernels"

/* Exit statuses of the program besides 0: see its --help. */
enum { STATUS_STOPPED_EARLY = 1, STATUS_NO_GPU = 4 };

/* Returns the kind of a table; anything unknown is taken as ping-pong, whose reader then reports
 * the error. */
static RhCalibrateKind kind_of_cases(const char *path)
{
    RhCaseKind kind;
    if (!rh_case_table_peek(path, &kind))
        return RH_CALIBRATE_PINGS;
    return kind == RH_CASE_SERVING     ? RH_CALIBRATE_SERVED
           : kind == RH_CASE_EXCHANGES ? RH_CALIBRATE_EXCHANGES
                                       : RH_CALIBRATE_PINGS;
}

RhCalibrateKind rh_calibrate_kind(const char *path, GError **error)
{
    g_autofree char *text = rh_text_load(path, error);
    return !text                      ? RH_CALIBRATE_NONE
           : rh_raw_begins(text)      ? RH_CALIBRATE_KERNELS
           : rh_steps_begin(text)     ? RH_CALIBRATE_STEPS
           : rh_measured_begins(text) ? RH_CALIBRATE_LINKS
                                      : kind_of_cases(path);
}

/* --- measuring --- */

char *rh_kernels_program(void)
{
    return rh_companion_program(PROGRAM, "REHEARSE_KERNELS");
}

char *rh_kernels_cpu_program(void)
{
    return rh_companion_program(PROGRAM "-cpu", "REHEARSE_KERNELS_CPU");
}

bool rh_calibrate_is_processor(const RhArguments *a)
{
    return g_strcmp0(a->device, "cpu") == 0;
}

/* "allreduce" is what a user says; the program measures all of NCCL. */
static char *classes_of(const char *list)
{
    g_auto(GStrv) words = g_strsplit(list, ",", -1);
    for (char **word = words; *word; word++)
        if (strcmp(*word, "allreduce") == 0) {
            g_free(*word);
            *word = g_strdup("nccl");
        }
    return g_strjoinv(",", words);
}

/* plan.json -> plan.raw.csv, or the .csv that -o names. */
static char *raw_path_of(const RhArguments *a, GError **error)
{
    const char *csv = rh_outputs_find(a->outputs, RH_OUTPUT_CSV);
    const char *json = rh_outputs_find(a->outputs, RH_OUTPUT_JSON);
    if (csv)
        return g_strdup(csv);
    if (json)
        return g_strdup_printf("%.*s.raw.csv", (int)(strlen(json) - strlen(".json")), json);
    rh_fail(error, RH_ERROR_USAGE,
            "calibrate --run measures for minutes and needs a place for the result\nhelp: -o "
            "gpu.json; the raw samples are left in gpu.raw.csv");
    return NULL;
}

static int judge_status(int status, bool processor, const char *raw_path, GError **error)
{
    if (!WIFEXITED(status)) {
        rh_fail(error, RH_ERROR_IO,
                PROGRAM " was ended by signal %d\nnote: what it measured until then is in %s",
                WTERMSIG(status), raw_path);
        return 3;
    }
    switch (WEXITSTATUS(status)) {
    case 0:
        return 0;
    case STATUS_STOPPED_EARLY:
        rh_terminal_hint("note: the measurement stopped early; what was measured is fitted");
        return 0;
    case STATUS_NO_GPU:
        if (processor) {
            rh_fail(error, RH_ERROR_NO_ANSWER,
                    "nothing was measured: OpenBLAS is not here\nhelp: install libopenblas0");
            return 1;
        }
        rh_fail(error, RH_ERROR_NO_ANSWER,
                "nothing was measured: there is no GPU here that CUDA can use\n"
                "help: run it on the machine with the GPU, or fit samples of it with --from "
                "RAW.csv");
        return 1;
    default:
        rh_fail(error, RH_ERROR_IO, PROGRAM " ended with status %d", WEXITSTATUS(status));
        return 3;
    }
}

int rh_calibrate_measure(const RhArguments *a, char **raw_path, GError **error)
{
    int status = 0;
    g_autofree char *raw = raw_path_of(a, error);
    if (!raw)
        return 2;
    bool processor = rh_calibrate_is_processor(a);
    g_autofree char *program = processor ? rh_kernels_cpu_program() : rh_kernels_program();
    if (!program && processor) {
        rh_fail(error, RH_ERROR_NO_ANSWER,
                PROGRAM "-cpu is neither beside rehearse nor on the path\nhelp: cmake --build "
                        "build builds both");
        return 1;
    }
    if (!program) {
        rh_fail(error, RH_ERROR_NO_ANSWER,
                PROGRAM " is neither beside rehearse nor on the path\nnote: it is built where the "
                        "CUDA toolkit (nvcc) is\nhelp: install the toolkit, then cmake --preset "
                        "release && cmake --build build");
        return 1;
    }
    g_autofree char *classes = classes_of(a->measure);
    const char *argv[8] = {program, "-o", raw};
    size_t count = 3;
    if (strcmp(classes, "all") != 0 && strcmp(classes, "kernels") != 0) {
        argv[count++] = "--run";
        argv[count++] = classes;
    }
    if (a->budget) {
        argv[count++] = "--budget";
        argv[count++] = a->budget;
    }
    g_autoptr(GError) local = NULL;
    if (!rh_child_run(argv, rh_terminal_left_s(a->timeout_s), NULL, NULL, &status, &local)) {
        if (g_error_matches(local, RH_ERROR, RH_ERROR_NO_ANSWER))
            rh_fail(error, RH_ERROR_NO_ANSWER,
                    "no answer within --timeout: " PROGRAM
                    " was ended\nnote: what it measured until "
                    "then is in %s, for --from",
                    raw);
        else
            g_propagate_error(error, g_steal_pointer(&local));
        return 3;
    }
    int end = judge_status(status, processor, raw, error);
    if (end == 0)
        *raw_path = g_steal_pointer(&raw);
    return end;
}

/* --- the report --- */

static void append_classes(GString *out, const RhKernelsFit *fit)
{
    g_autoptr(RhTable) table = rh_fit_errors_new(false);
    for (guint i = 0; i < fit->classes->len; i++) {
        const RhFitClass *c = &g_array_index(fit->classes, RhFitClass, i);
        rh_fit_errors_add(table, c->name, NULL,
                          (const RhFitFigures *[2]){&c->fitted, &c->held_out});
    }
    rh_fit_errors_append(table, out, false);
    for (guint i = 0; i < fit->classes->len; i++) {
        const RhFitClass *c = &g_array_index(fit->classes, RhFitClass, i);
        const RhFitFigures *shown = c->held_out.count ? &c->held_out : &c->fitted;
        if (strstr(c->name, ", form") || !shown->worst)
            continue;
        g_autofree char *line = g_strdup_printf("worst of %s: %+.0f %%, %s", c->name,
                                                100 * shown->worst_frac, shown->worst);
        rh_text_wrap(out, line, 4, 79);
    }
}

static void append_facts(GString *out, const RhKernelsFit *fit)
{
    g_autoptr(RhTable) table = rh_fit_constants_new(false);
    for (guint i = 0; i < fit->facts->len; i++) {
        const RhFittedFact *f = &g_array_index(fit->facts, RhFittedFact, i);
        g_autofree char *value = rh_fitted_value_text(f, f->fact.value),
                        *low = rh_fitted_value_text(f, f->fact.low),
                        *high = rh_fitted_value_text(f, f->fact.high);
        bool known = f->fact.low != 0 || f->fact.high != 0;
        rh_fit_constants_add(table, f->key, NULL, value, known ? low : NULL, high,
                             f->on_bound ? RH_FIT_ON_BOUND : NULL);
    }
    rh_table_append(table, out, "");
}

static void append_correction(GString *out, const RhKernelsFit *fit)
{
    const RhCorrectionTrial *t = &fit->correction;
    if (t->without_frac <= 0)
        return;
    g_autofree char *line =
        g_strdup_printf("correction by shape: %s; mean error of held-out shapes %.1f %% without, "
                        "%.1f %% with it",
                        t->kept ? "used (rows named \"form\": without it)" : "not used",
                        100 * t->without_frac, 100 * t->with_frac);
    rh_text_wrap(out, line, 4, 79);
}

static void append_surfaces(GString *out, const RhSurfacesFit *fit)
{
    g_autoptr(RhTable) table = rh_fit_errors_new(false);
    for (guint i = 0; i < fit->classes->len; i++) {
        const RhSurfaceClass *c = &g_array_index(fit->classes, RhSurfaceClass, i);
        rh_fit_errors_add(table, c->name, NULL,
                          (const RhFitFigures *[2]){&c->fitted, &c->held_out});
    }
    rh_fit_errors_append(table, out, false);
    rh_fit_append_notes(out, fit->notes);
}

static char *report_of(const RhKernelsFit *fit, const char *saved)
{
    GString *out = g_string_new(NULL);
    g_autofree char *head = g_strdup_printf("fitted: %u constants of %s to %s", fit->facts->len,
                                            fit->device->name, fit->source);
    rh_text_wrap(out, head, 2, 79);
    append_facts(out, fit);
    append_classes(out, fit);
    append_correction(out, fit);
    rh_fit_append_notes(out, fit->notes);
    rh_fit_append_next(out, saved);
    return g_string_free(out, FALSE);
}

/* --- the fit --- */

static GPtrArray *load_raws(const GPtrArray *paths, GError **error)
{
    g_autoptr(GPtrArray) raws = g_ptr_array_new_with_free_func((GDestroyNotify)rh_raw_free);
    for (guint i = 0; i < paths->len; i++) {
        RhRaw *raw = rh_raw_load(g_ptr_array_index(paths, i), error);
        if (!raw)
            return NULL;
        g_ptr_array_add(raws, raw);
    }
    return g_steal_pointer(&raws);
}

/* Writes the processor that was measured as a device beside the profile: host.json ->
 * host.device.json. */
static RhDevice *processor_of(const RhArguments *a, const RhRaw *raw, GError **error)
{
    const char *profile = rh_outputs_find(a->outputs, RH_OUTPUT_JSON);
    g_autofree char *text = rh_host_device_text(raw, error);
    g_autofree char *path = g_strdup_printf(
        "%.*s.device.json", (int)(profile ? strlen(profile) - strlen(".json") : strlen("host")),
        profile ? profile : "host");
    if (!text)
        rh_error_help(error, "measure all classes, or for longer: --budget 5m");
    return text && rh_output_write(path, text, error) ? rh_device_load(path, error) : NULL;
}

static RhDevice *device_of(const RhArguments *a, const RhRaw *raw, GError **error)
{
    if (rh_calibrate_is_processor(a))
        return processor_of(a, raw, error);
    const char *name = a->device ? a->device : rh_kernels_fit_device_name(raw, error);
    if (!name)
        rh_error_help(error, "--device NAME, or a file of your own: --device gpu.json");
    return name ? rh_device_load(name, error) : NULL;
}

static bool write_profile(const RhArguments *a, const char *text, GError **error)
{
    for (guint i = 0; i < a->outputs->len; i++) {
        const char *path = g_ptr_array_index(a->outputs, i);
        if (rh_output_kind(path) == RH_OUTPUT_JSON && !rh_output_write(path, text, error))
            return false;
    }
    return true;
}

static GPtrArray *load_tables(const GPtrArray *paths, GError **error)
{
    g_autoptr(GPtrArray) tables = g_ptr_array_new_with_free_func((GDestroyNotify)rh_tables_free);
    for (guint i = 0; i < paths->len; i++) {
        RhKernelTables *table = rh_tables_load(g_ptr_array_index(paths, i), error);
        if (!table)
            return NULL;
        g_ptr_array_add(tables, table);
    }
    return g_steal_pointer(&tables);
}

/* Files without an option of their own are those of --tables where there is no --from. Caller frees. */
static GPtrArray *tables_of(const RhArguments *a)
{
    GPtrArray *paths = g_ptr_array_new();
    g_ptr_array_extend(paths, a->tables, NULL, NULL);
    if (a->froms->len == 0)
        g_ptr_array_extend(paths, a->operands, NULL, NULL);
    return paths;
}

/* Surfaces of --tables; `fitted` is false when there are tables that cannot be fitted. */
static RhSurfacesFit *fit_tables(const RhArguments *a, const RhDevice *device, bool *fitted,
                                 GError **error)
{
    *fitted = true;
    if (a->tables->len == 0)
        return NULL;
    g_autoptr(GDateTime) now = g_date_time_new_now_utc();
    g_autofree char *month = g_date_time_format(now, "%Y-%m");
    g_autoptr(GPtrArray) paths = tables_of(a);
    g_autoptr(GPtrArray) tables = load_tables(paths, error);
    RhSurfacesFit *fit = tables ? rh_surfaces_fit(tables, device, a->holdout_frac, month,
                                                  rh_terminal_left_s(a->timeout_s), error)
                                : NULL;
    *fitted = fit != NULL;
    return fit;
}

static int finish(const RhArguments *a, const RhKernelsFit *fit, const RhDevice *device,
                  const RhSurfacesFit *surfaces, GError **error)
{
    const char *saved = rh_outputs_find(a->outputs, RH_OUTPUT_JSON);
    g_autofree char *profile = rh_kernels_fit_profile(fit, device->name, surfaces);
    if (!write_profile(a, profile, error))
        return 3;
    g_autoptr(GString) out = g_string_new(NULL);
    if (surfaces)
        append_surfaces(out, surfaces);
    g_autofree char *report = fit ? report_of(fit, saved) : NULL;
    g_string_append(out, report ? report : "");
    fputs(a->json ? profile : out->str, stdout);
    return 0;
}

int rh_calibrate_tables(const RhArguments *a, GError **error)
{
    bool fitted = false;
    if (!a->device) {
        rh_fail(error, RH_ERROR_USAGE,
                "calibrate --tables needs --device FILE|NAME\nhelp: -d h200-sxm");
        return 2;
    }
    g_autoptr(RhDevice) device = rh_device_load(a->device, error);
    if (!device)
        return 3;
    rh_terminal_progress("fitting", 0, 1, 0, NULL);
    g_autoptr(RhSurfacesFit) surfaces = fit_tables(a, device, &fitted, error);
    rh_terminal_progress_end();
    return fitted ? finish(a, NULL, device, surfaces, error) : 3;
}

int rh_calibrate_kernels(const RhArguments *a, const GPtrArray *paths, GError **error)
{
    g_autoptr(GDateTime) now = g_date_time_new_now_utc();
    g_autofree char *today = g_date_time_format(now, "%Y-%m-%d");
    g_autoptr(GPtrArray) raws = load_raws(paths, error);
    if (!raws)
        return 3;
    g_autoptr(RhDevice) device = device_of(a, g_ptr_array_index(raws, 0), error);
    if (!device)
        return 3;
    if (!rh_kernels_files_check(raws, device, error)) {
        rh_error_help(error, "--device with the device measured, or a file that describes it");
        return 3;
    }
    rh_terminal_progress("fitting", 0, 1, 0, NULL);
    g_autoptr(RhKernelsFit) fit = rh_kernels_fit(raws, device, a->holdout_frac, today,
                                                 rh_terminal_left_s(a->timeout_s), error);
    bool fitted = false;
    g_autoptr(RhSurfacesFit) surfaces = fit ? fit_tables(a, device, &fitted, error) : NULL;
    rh_terminal_progress_end();
    return fitted ? finish(a, fit, device, surfaces, error) : 3;
}
