#include "cli/output/output_file.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/json/json.h"
#include "base/text/gzip_file.h"
#include "cli/hard_timeout.h"
#include "sim/engine/workers/multi_machine_pool.h"
#include "strategies/launch/launch_read.h"

/* Longer endings first: ".program.json" is also a ".json". */
static const struct {
    const char *ending;
    RhOutput kind;
} endings[] = {
    {".program.json", RH_OUTPUT_PROGRAM},
    {".trace.json.gz", RH_OUTPUT_TRACE},
    {"gantt.svg", RH_OUTPUT_GANTT},
    {"memory.svg", RH_OUTPUT_MEMORY},
    {"pareto.svg", RH_OUTPUT_PARETO},
    {".json", RH_OUTPUT_JSON},
    {".jsonl", RH_OUTPUT_JSON_LINES},
    {"traffic.csv", RH_OUTPUT_TRAFFIC},
    {".csv", RH_OUTPUT_CSV},
    {".md", RH_OUTPUT_MARKDOWN},
    {".svg", RH_OUTPUT_SVG},
    {".html", RH_OUTPUT_HTML},
    {".sqlite", RH_OUTPUT_SQLITE},
    {".goal", RH_OUTPUT_GOAL},
};

RhOutput rh_output_kind(const char *path)
{
    for (size_t i = 0; i < G_N_ELEMENTS(endings); i++)
        if (g_str_has_suffix(path, endings[i].ending))
            return endings[i].kind;
    return RH_OUTPUT_NONE;
}

static bool is_among(const RhOutput *kinds, RhOutput kind)
{
    for (; *kinds; kinds++)
        if (*kinds == kind)
            return true;
    return false;
}

static bool fail_ending(const char *path, const RhOutput *kinds, GError **error)
{
    g_autoptr(GString) list = g_string_new(NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(endings); i++)
        if (is_among(kinds, endings[i].kind))
            g_string_append_printf(list, " %s", endings[i].ending);
    return rh_fail(error, RH_ERROR_USAGE,
                   "-o %s: this command writes no file of that ending\nnote: endings:%s", path,
                   list->str);
}

bool rh_output_check_folder(const char *path, GError **error)
{
    g_autofree char *folder = g_path_get_dirname(path);
    if (g_file_test(path, G_FILE_TEST_IS_DIR))
        return rh_fail(error, RH_ERROR_IO, "%s cannot be written: it is a folder", path);
    if (g_access(folder, W_OK | X_OK) != 0)
        return rh_fail(error, RH_ERROR_IO, "%s cannot be written: folder %s: %s", path, folder,
                       g_strerror(errno));
    return true;
}

void rh_output_answered(void)
{
    fflush(stdout);
    rh_hard_timeout_end();
}

bool rh_outputs_check(const GPtrArray *paths, const RhOutput *kinds, GError **error)
{
    for (guint i = 0; i < paths->len; i++) {
        const char *path = g_ptr_array_index(paths, i);
        RhOutput kind = rh_output_kind(path);
        bool picture = g_str_has_suffix(path, ".svg") && is_among(kinds, RH_OUTPUT_SVG);
        if (!kind || (!is_among(kinds, kind) && !picture)) /* of one picture any name will do */
            return fail_ending(path, kinds, error);
        if (!rh_output_check_folder(path, error))
            return false;
    }
    return true;
}

/* The file that an input names, without "#RANK"; a folder's config.json. Caller frees. */
static char *file_of_input(const char *spec)
{
    g_autofree char *path = g_strndup(spec, strcspn(spec, "#"));
    return g_file_test(path, G_FILE_TEST_IS_DIR) ? g_build_filename(path, "config.json", NULL)
                                                 : g_steal_pointer(&path);
}

static bool same_file(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino &&
           S_ISREG(x.st_mode);
}

static bool spares(const char *output, const char *input, GError **error)
{
    g_autofree char *file = input ? file_of_input(input) : NULL;
    if (!file || !same_file(output, file))
        return true;
    return rh_fail(error, RH_ERROR_USAGE,
                   "-o %s would overwrite an input of this command\nhelp: another name", output);
}

static bool spares_all(const char *output, const GPtrArray *inputs, GError **error)
{
    for (guint i = 0; i < inputs->len; i++)
        if (!spares(output, g_ptr_array_index(inputs, i), error))
            return false;
    return true;
}

/* Lists of platforms part at their commas. */
static GPtrArray *inputs_of(const RhArguments *a)
{
    const char *single[] = {a->workload, a->platform, a->profile, a->strategy,
                            a->program,  a->requests, a->from,    a->cases};
    const GPtrArray *many[] = {a->froms, a->platforms, a->tables, a->besides, a->operands};
    GPtrArray *inputs = g_ptr_array_new_with_free_func(g_free);
    for (size_t i = 0; i < G_N_ELEMENTS(single); i++)
        g_ptr_array_add(inputs, g_strdup(single[i]));
    for (size_t i = 0; i < G_N_ELEMENTS(many); i++)
        for (guint k = 0; k < many[i]->len; k++) {
            g_auto(GStrv) parts = g_strsplit(g_ptr_array_index(many[i], k), ",", -1);
            g_ptr_array_add(inputs, g_strdup(g_ptr_array_index(many[i], k)));
            for (char **part = parts; *part && many[i] == a->platforms; part++)
                g_ptr_array_add(inputs, g_strdup(*part));
        }
    for (guint i = 0; a->launch_file && i < a->launch_file->files->len; i++)
        g_ptr_array_add(inputs, g_strdup(g_ptr_array_index(a->launch_file->files, i)));
    return inputs;
}

bool rh_outputs_spare_inputs(const RhArguments *a, GError **error)
{
    g_autoptr(GPtrArray) inputs = inputs_of(a);
    for (guint i = 0; i < a->outputs->len; i++)
        if (!spares_all(g_ptr_array_index(a->outputs, i), inputs, error))
            return false;
    return !a->trace || spares_all(a->trace, inputs, error);
}

const char *rh_outputs_find(const GPtrArray *paths, RhOutput kind)
{
    for (guint i = 0; i < paths->len; i++)
        if (rh_output_kind(g_ptr_array_index(paths, i)) == kind)
            return g_ptr_array_index(paths, i);
    return NULL;
}

sigset_t rh_output_hold_signals(void)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGALRM};
    sigset_t blocked, before;
    sigemptyset(&blocked);
    for (size_t i = 0; i < G_N_ELEMENTS(ends); i++)
        sigaddset(&blocked, ends[i]);
    sigprocmask(SIG_BLOCK, &blocked, &before);
    return before;
}

bool rh_output_write_bytes(const char *path, GBytes *bytes, GError **error)
{
    struct stat there;
    gsize length;
    const void *data = g_bytes_get_data(bytes, &length);
    rh_rank_pool_end(); /* a file is the first rank's to write */
    if (stat(path, &there) == 0 && !S_ISREG(there.st_mode)) /* a pipe may wait for its reader */
        return rh_file_write(path, data, length, error);
    sigset_t before = rh_output_hold_signals();
    bool fine = rh_file_write(path, data, length, error);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return fine;
}

bool rh_output_write(const char *path, const char *text, GError **error)
{
    gsize length = strlen(text);
    g_autoptr(GBytes) bytes = g_str_has_suffix(path, ".gz") ? rh_bytes_pack(text, length)
                                                            : g_bytes_new_static(text, length);
    return rh_output_write_bytes(path, bytes, error);
}

bool rh_outputs_write_page(const GPtrArray *paths, const RhPage *page, GError **error)
{
    for (guint i = 0; i < paths->len; i++) {
        const char *path = g_ptr_array_index(paths, i);
        g_autofree char *html =
            rh_output_kind(path) == RH_OUTPUT_HTML ? rh_report_page(page) : NULL;
        if (!rh_output_write(path, html ? html : page->json, error))
            return false;
    }
    return true;
}
