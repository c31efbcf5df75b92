#include "cli/inputs/launch_input.h"

#include <string.h>

#include "base/error.h"
#include "cli/output/terminal.h"
#include "platforms/platform.h"
#include "report/format.h"
#include "strategies/knobs.h"
#include "strategies/software_stack.h"

static void add_words(GPtrArray *words, const char *name, char *value)
{
    if (!value)
        return;
    g_ptr_array_add(words, g_strdup(name));
    g_ptr_array_add(words, value);
}

static void add_number(GPtrArray *words, const char *name, int64_t value)
{
    if (value > 0)
        add_words(words, name, g_strdup_printf("%" G_GINT64_FORMAT, value));
}

/* Number of GPUs of the job: as given, as the file says, or all of the platform; 0: not known. */
static int64_t gpus_of(const RhArguments *a, const RhLaunchFile *f)
{
    int64_t said = a->gpus > 0 ? a->gpus : rh_launch_file_gpus(f);
    if (said > 0 || !a->platform)
        return said;
    g_autoptr(RhPlatform) platform = rh_platform_load(a->platform, NULL);
    return platform ? rh_platform_gpus(platform) : 0;
}

/* Does a word of "tp8,pp4" or "tp=8" set the knob of a key? */
static bool is_set(const char *strategy, const char *key)
{
    g_auto(GStrv) parts = g_strsplit(strategy ? strategy : "", ",", -1);
    size_t length = strlen(key);
    for (char **part = parts; *part; part++)
        if (strncmp(*part, key, length) == 0 &&
            ((*part)[length] == '=' || g_ascii_isdigit((*part)[length])))
            return true;
    return false;
}

/* Joins the file's layout with the words of -s, which go before it. Caller frees. */
static char *joined_layout(const char *given, const RhLaunchFile *f)
{
    g_autofree char *said = rh_launch_file_layout(f);
    g_auto(GStrv) parts = g_strsplit(said, ",", -1);
    g_autoptr(GString) out = g_string_new(given ? given : "");
    bool is_file = given && (strchr(given, '#') || g_file_test(given, G_FILE_TEST_EXISTS));
    for (char **part = parts; *part && !is_file; part++) {
        g_autofree char *key = g_strndup(*part, strcspn(*part, "="));
        if (!is_set(given, key))
            g_string_append_printf(out, "%s%s", out->len > 0 ? "," : "", *part);
    }
    return g_string_free(g_steal_pointer(&out), FALSE);
}

/* Has the user set this key, "lora.rank=8"? */
static bool has_set(const RhArguments *a, const char *set)
{
    size_t length = strcspn(set, "=") + 1;
    const char *dot = g_str_has_prefix(set, "model.") ? set + strlen("model.") : set;
    for (guint i = 0; i < a->sets->len; i++) {
        const char *own = g_ptr_array_index(a->sets, i);
        if (strncmp(own, set, length) == 0 || strncmp(own, dot, strcspn(dot, "=") + 1) == 0)
            return true;
    }
    return false;
}

static bool is_of_model(const char *set)
{
    return g_str_has_prefix(set, "model.");
}

char **rh_launch_input_words(RhArguments *a, GError **error)
{
    RhLaunchFile *f = rh_launch_read(a->launch, error);
    a->launch_file = f;
    if (!f)
        return NULL;
    g_autoptr(GPtrArray) words = g_ptr_array_new();
    add_words(words, "--workload", g_strdup(f->workload));
    add_number(words, "--gpus", rh_launch_file_gpus(f));
    add_number(words, "--global-batch", rh_launch_file_batch(f, gpus_of(a, f)));
    add_number(words, "--seq", f->sequence);
    add_words(words, "--dtype", g_strdup(f->dtype));
    add_words(words, "--stack", g_strdup(f->stack));
    for (guint i = 0; i < f->sets->len; i++) {
        const char *set = g_ptr_array_index(f->sets, i);
        if (!has_set(a, set) && !(a->workload && is_of_model(set)))
            add_words(words, "--set", g_strdup(set));
    }
    add_words(words, "--strategy", joined_layout(a->strategy, f));
    g_ptr_array_add(words, NULL);
    return (char **)g_ptr_array_free(g_steal_pointer(&words), FALSE);
}

/* --- what is said of it --- */

static void hint(const char *format, ...) G_GNUC_PRINTF(1, 2);
static void hint(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *text = g_strdup_vprintf(format, args);
    va_end(args);
    rh_terminal_hint(text);
}

void rh_launch_input_tell(const RhArguments *a)
{
    const RhLaunchFile *f = a->launch_file;
    if (!f)
        return;
    hint("note: %s is %s:%s", a->launch, f->about, a->launch_words);
    for (guint i = 0; a->verbosity > 0 && i < f->used->len; i++)
        hint("note: read: %s", (const char *)g_ptr_array_index(f->used, i));
    for (guint i = 0; i < f->notes->len; i++)
        hint("note: %s: %s", a->launch, (const char *)g_ptr_array_index(f->notes, i));
    for (guint i = 0; i < f->outside->len; i++)
        hint("warning: %s: %s is set outside the file: it is taken as not said", a->launch,
             (const char *)g_ptr_array_index(f->outside, i));
    for (guint i = 0; i < f->unknown->len; i++)
        hint("warning: %s: %s: its effect on cost is unknown", a->launch,
             (const char *)g_ptr_array_index(f->unknown, i));
}

/* "64 GPUs (8 nodes of 8)", "" where it is not said. */
static void about_gpus(GString *out, const RhLaunchFile *f)
{
    int64_t gpus = rh_launch_file_gpus(f);
    if (gpus > 0)
        g_string_append_printf(out, "%" G_GINT64_FORMAT " GPUs", gpus);
    if (gpus > 0 && f->nodes > 0 && f->gpus_of_node > 0)
        g_string_append_printf(out, " (%" G_GINT64_FORMAT " node%s of %" G_GINT64_FORMAT ")",
                               f->nodes, f->nodes == 1 ? "" : "s", f->gpus_of_node);
}

char *rh_launch_input_about(const RhLaunchFile *f, const char *path)
{
    g_autoptr(GString) out = g_string_new(f->about);
    g_autofree char *layout = rh_launch_file_layout(f);
    g_autofree char *quoted = rh_text_path(path);
    g_string_append(out, ": ");
    about_gpus(out, f);
    g_string_append_printf(out, "%s%s\n", rh_launch_file_gpus(f) > 0 ? ", " : "", layout);
    g_string_append_printf(out, "note: %s", f->workload ? f->workload : "no model is said");
    if (f->global_batch > 0)
        g_string_append_printf(out, ", %" G_GINT64_FORMAT " samples a step", f->global_batch);
    if (f->sequence > 0)
        g_string_append_printf(out, " of %" G_GINT64_FORMAT " tokens", f->sequence);
    g_string_append_printf(out, ", %s, stack %s\n", f->dtype ? f->dtype : "bf16", f->stack);
    for (guint i = 0; i < f->notes->len; i++)
        g_string_append_printf(out, "note: %s\n", (const char *)g_ptr_array_index(f->notes, i));
    for (guint i = 0; i < f->outside->len; i++)
        g_string_append_printf(out, "note: %s is set outside the file\n",
                               (const char *)g_ptr_array_index(f->outside, i));
    for (guint i = 0; i < f->unknown->len; i++)
        g_string_append_printf(out, "note: %s: its effect on cost is unknown\n",
                               (const char *)g_ptr_array_index(f->unknown, i));
    g_string_append_printf(out, "note: `rehearse simulate --from %s%s%s -p PLATFORM` takes it\n",
                           quoted, f->workload ? "" : " -w MODEL",
                           f->sequence > 0 ? "" : " --seq S");
    return g_string_free(g_steal_pointer(&out), FALSE);
}
