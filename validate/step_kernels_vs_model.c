#include "validate/step_kernels_vs_model.h"

#include <glib/gstdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/child_process.h"
#include "base/cleanup_supervisor.h"
#include "base/error.h"
#include "base/interned_strings.h"
#include "base/json/json.h"
#include "calibrate/kernels/kernels_fit.h"
#include "platforms/profile.h"
#include "validate/step_kernel_lists.h"
#include "validate/suites/thresholds.h"

#define LIST_BUDGET "45s" /* of one list: half for its kernels alone, half for all of it */

typedef struct {
    const RhStepOptions *options;
    RhPlatform *platform; /* whose device predicts; loaded with the first samples */
    RhValidation *v;
    GHashTable *seen; /* texts of kernels that are cases already; a shape is evaluated once */
    int32_t done, total;
} Loop;

static const char *group_of(const RhListedKernel *l)
{
    return l->grouped ? "grouped gemm" : rh_kernel_class_name((RhKernelClass)l->kernel.cls);
}

static double predicted_s(const Loop *loop, const RhListedKernel *l)
{
    return rh_kernel_time_s(loop->platform->device, &l->kernel);
}

/* Loads the platform that is asked for, or the device that these samples are of, with its profile. */
static bool load_platform(Loop *loop, const RhRaw *raw, GError **error)
{
    const RhStepOptions *o = loop->options;
    if (loop->platform)
        return true;
    const char *device = o->platform ? NULL : rh_kernels_fit_device_name(raw, error);
    if (!o->platform && !device)
        return false;
    g_autofree char *spec = o->platform ? g_strdup(o->platform) : g_strdup_printf("%s:1x1", device);
    loop->platform = rh_platform_load(spec, error);
    return loop->platform &&
           (!o->profile || rh_platform_apply_profile(loop->platform, o->profile, error));
}

/* --- samples of a list --- */

static bool is_row_of(const RhRawRow *row, const RhListedKernel *l)
{
    const RhKernel *a = &row->kernel, *b = &l->kernel;
    if ((l->grouped && row->cls != RK_GROUPED_GEMM) || rh_raw_is_stand_in(row))
        return false;
    int64_t m = l->grouped ? b->m * b->batch : b->m;
    return (l->grouped || (a->cls == b->cls && a->layout == b->layout)) && a->dtype == b->dtype &&
           a->batch == b->batch && a->m == m && a->n == b->n && a->k == b->k &&
           a->heads == b->heads && a->kv_heads == b->kv_heads && a->causal == b->causal &&
           a->bytes == b->bytes;
}

static const RhRawRow *find_row(const RhRaw *raw, const RhListedKernel *l)
{
    for (guint i = 0; i < raw->rows->len; i++) {
        const RhRawRow *row = &g_array_index(raw->rows, RhRawRow, i);
        if (is_row_of(row, l))
            return row;
    }
    return NULL;
}

static const RhRawRow *find_whole(const RhRaw *raw, const char *name)
{
    for (guint i = 0; i < raw->rows->len; i++) {
        const RhRawRow *row = &g_array_index(raw->rows, RhRawRow, i);
        if (strcmp(row->name, name) == 0)
            return row;
    }
    return NULL;
}

/* --- cases --- */

static RhValidationCase *add_case(Loop *loop, char *id, const char *group, const char *source)
{
    RhValidationCase c = {.id = id,
                          .group = group,
                          .source = rh_intern(source),
                          .metric = "seconds",
                          .start_error_frac = -1};
    g_array_append_val(loop->v->cases, c);
    return &g_array_index(loop->v->cases, RhValidationCase, loop->v->cases->len - 1);
}

static void measured_as(RhValidationCase *c, const RhRawRow *row, double predicted)
{
    c->predicted = predicted;
    c->measured = row->seconds;
    c->spread_frac = row->seconds > 0 ? (row->high_s - row->low_s) / row->seconds : 0;
}

static void add_kernels(Loop *loop, const char *name, const GArray *list, const RhRaw *raw)
{
    for (guint i = 0; i < list->len; i++) {
        const RhListedKernel *l = &g_array_index(list, RhListedKernel, i);
        const RhRawRow *row = find_row(raw, l);
        char *text = row ? rh_raw_describe(row) : NULL;
        if (!text || g_hash_table_contains(loop->seen, text)) {
            g_free(text);
            continue;
        }
        g_hash_table_add(loop->seen, text);
        measured_as(
            add_case(loop, g_strdup_printf("%s in %s", text, name), group_of(l), raw->device), row,
            predicted_s(loop, l));
    }
}

static bool has_stand_in(const RhRaw *raw)
{
    for (guint i = 0; i < raw->rows->len; i++)
        if (rh_raw_is_stand_in(&g_array_index(raw->rows, RhRawRow, i)))
            return true;
    return false;
}

static void add_whole(Loop *loop, const char *name, const GArray *list, const RhRaw *raw,
                      const char *row_name, const char *how)
{
    const RhRawRow *row = find_whole(raw, row_name);
    double sum_s = 0;
    for (guint i = 0; i < list->len; i++) {
        const RhListedKernel *l = &g_array_index(list, RhListedKernel, i);
        sum_s += predicted_s(loop, l) * (double)l->count;
    }
    if (!row)
        return;
    RhValidationCase *c = add_case(loop, g_strconcat(name, how, NULL), "step", raw->device);
    if (has_stand_in(raw))
        c->skipped = g_strdup("its attention was run by a kernel that no framework runs");
    else
        measured_as(c, row, sum_s);
}

static bool add_step(Loop *loop, const char *name, const char *folder, GError **error)
{
    g_autofree char *file = g_strconcat(name, ".raw.csv", NULL);
    g_autofree char *path = g_build_filename(folder, file, NULL);
    g_autoptr(GArray) list = rh_step_list(name, error);
    if (!list)
        return false;
    if (!g_file_test(path, G_FILE_TEST_EXISTS)) {
        add_case(loop, g_strdup(name), "step", "")->skipped =
            g_strdup_printf("%s is not there", path);
        return true;
    }
    g_autoptr(RhRaw) raw = rh_raw_load(path, error);
    if (!raw || !load_platform(loop, raw, error))
        return false;
    if (!loop->v->made_on)
        loop->v->made_on = g_strdup_printf("%s, %s", raw->device, raw->library_versions);
    add_kernels(loop, name, list, raw);
    add_whole(loop, name, list, raw, "sequence", "");
    add_whole(loop, name, list, raw, "sequence_graph", ", as a graph");
    return true;
}

/* --- measuring --- */

static bool measure(Loop *loop, const char *name, const char *folder, GError **error)
{
    g_autofree char *list_file = g_strconcat(name, ".list.csv", NULL);
    g_autofree char *raw_file = g_strconcat(name, ".raw.csv", NULL);
    g_autofree char *list_path = g_build_filename(folder, list_file, NULL);
    g_autofree char *raw_path = g_build_filename(folder, raw_file, NULL);
    g_autoptr(GArray) list = rh_step_list(name, error);
    g_autofree char *text = list ? rh_kernel_list_text(list, error) : NULL;
    g_autofree char *said = NULL;
    int status = 0;
    if (!text || !rh_file_write(list_path, text, strlen(text), error))
        return false;
    const char *argv[] = {
        loop->options->kernels, "--list", list_path, "-o", raw_path, "--budget", LIST_BUDGET, NULL};
    if (!rh_child_run(argv, 0, NULL, &said, &status, error))
        return false;
    loop->v->launches_count++;
    if (status != 0)
        return rh_fail(error, RH_ERROR_NO_ANSWER, "%s ended with status %d: %.400s",
                       loop->options->kernels, WIFEXITED(status) ? WEXITSTATUS(status) : -1, said);
    return true;
}

/* --- whole run --- */

static bool is_selected(const RhStepOptions *o, const char *name)
{
    return rh_step_is_on_processor(name) == o->on_processor && (!o->only || strstr(name, o->only));
}

static bool run_step(Loop *loop, const char *folder, GError **error)
{
    const RhStepOptions *o = loop->options;
    for (const char *const *name = rh_step_names(); *name; name++)
        loop->total += is_selected(o, *name);
    if (loop->total == 0)
        return rh_fail(error, RH_ERROR_USAGE, "no step has \"%s\" in its name", o->only);
    for (const char *const *name = rh_step_names(); *name; name++) {
        if (!is_selected(o, *name))
            continue;
        if (o->progress)
            o->progress(*name, loop->done, loop->total, o->user);
        if ((!o->from && !measure(loop, *name, folder, error)) ||
            !add_step(loop, *name, folder, error))
            return false;
        loop->done++;
    }
    rh_thresholds_judge(loop->v);
    return true;
}

RhValidation *rh_step_validate(const RhStepOptions *o, GError **error)
{
    g_autofree char *made = NULL;
    Loop loop = {.options = o, .v = rh_validation_new("step")};
    loop.seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    if (!o->from)
        made = o->keep_folder ? g_strdup(o->keep_folder)
                              : rh_temp_folder("rehearse-step-XXXXXX", error);
    const char *folder = o->from ? o->from : made;
    bool fine = folder && (o->from || g_mkdir_with_parents(folder, 0777) == 0) &&
                run_step(&loop, folder, error);
    g_hash_table_unref(loop.seen);
    rh_platform_free(loop.platform);
    if (!o->from && !o->keep_folder)
        rh_temp_remove(made);
    if (!fine)
        g_clear_pointer(&loop.v, rh_validation_free);
    return loop.v;
}
