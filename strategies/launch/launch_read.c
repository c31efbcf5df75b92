#include "strategies/launch/launch_read.h"

#include <string.h>

#include "base/error.h"
#include "base/json/json_internal.h"
#include "base/text/text_input.h"
#include "base/text/toml.h"
#include "base/text/yaml.h"
#include "strategies/launch/hf_trainer.h"
#include "strategies/launch/readers.h"

#define BYTES_MAX (8u * 1024 * 1024)
#define FILES_MAX 4 /* that name one another */

/* --- trees --- */

static RhJson *parse_tree(RhLaunchFormat format, const char *name, const char *text, GError **error)
{
    size_t length = strlen(text);
    return format == RH_LAUNCH_JSON   ? rh_json_parse(name, text, length, error)
           : format == RH_LAUNCH_TOML ? rh_toml_parse(name, text, length, error)
                                      : rh_yaml_parse(name, text, length, error);
}

/* Lays the arguments of Megatron-LM's own tests out as flags. */
static void strip_arguments(RhLaunchSettings *s)
{
    static const char *const groups[] = {"MODEL_ARGS.--", "ENV_VARS."};
    for (guint i = 0; i < s->rows->len; i++) {
        RhLaunchSetting *row = &g_array_index(s->rows, RhLaunchSetting, i);
        if (g_str_has_prefix(row->name, groups[0])) {
            char *name = g_strdup(row->name + strlen(groups[0]));
            g_free(row->name);
            row->name = name;
            if (strcmp(row->text, "false") == 0)
                row->said = false;
        } else {
            row->said = false;
        }
    }
}

/* Adds a tree's settings and returns its kind; NULL: it is of none. */
static const RhLaunchKind *add_tree(RhLaunchSettings *s, RhLaunchFormat format, RhJson *doc)
{
    const RhJsonNode *root = rh_json_root(doc);
    rh_launch_settings_add_tree(s, doc, root, "");
    const RhLaunchKind *kind = rh_launch_kind_of_tree(format, s);
    if (kind && kind->framework == &rh_framework_megatron)
        strip_arguments(s);
    return kind;
}

/* --- commands --- */

typedef struct {
    RhLaunchReading *reading;
    const char *path;
    const RhShell *shell;
    const RhLaunchKind *kind;
    GError **error;
    int files; /* that were read so far */
} Search;

/* Returns the text of a file that a script names: of its own here-document, or beside it. NULL: it
 * is not there. Caller frees. */
static char *named_file(const Search *s, const char *file)
{
    g_autofree char *base = g_path_get_basename(file);
    for (guint i = 0; i < s->shell->commands->len; i++) {
        const RhShellCommand *c = s->shell->commands->pdata[i];
        g_autofree char *output = c->output ? g_path_get_basename(c->output) : NULL;
        if (c->input && output && strcmp(output, base) == 0)
            return g_strdup(c->input);
    }
    g_autofree char *folder = g_path_get_dirname(s->path);
    g_autofree char *beside =
        g_path_is_absolute(file) ? g_strdup(file) : g_build_filename(folder, file, NULL);
    char *text = g_file_test(beside, G_FILE_TEST_IS_REGULAR) ? rh_text_load(beside, NULL) : NULL;
    if (text)
        g_ptr_array_add(s->reading->files, g_steal_pointer(&beside));
    return text;
}

/* Reads a configuration that a command names. */
static bool read_named(Search *s, const char *file)
{
    if (++s->files > FILES_MAX) {
        rh_launch_tell(s->reading, "%s is not read: its command names more than %d files", file,
                       FILES_MAX);
        return true;
    }
    g_autofree char *text = named_file(s, file);
    RhLaunchFormat format = text ? rh_launch_format_of(file, text) : RH_LAUNCH_NONE;
    g_autofree char *base = g_path_get_basename(file);
    if (!text && strcmp(base, "base.yml") == 0) /* MaxText's defaults */
        return true;
    if (!text) {
        rh_launch_tell(s->reading,
                       "the file %s that it names is not here: what it says is not read", file);
        return true;
    }
    if (format == RH_LAUNCH_NONE || format == RH_LAUNCH_COMMAND || format == RH_LAUNCH_PYTHON)
        return true;
    g_autofree char *name = g_strdup_printf("%s of %s", file, s->path);
    RhJson *doc = parse_tree(format, name, text, s->error);
    if (doc)
        rh_launch_settings_add_tree(s->reading->settings, doc, rh_json_root(doc), "");
    return doc != NULL;
}

static bool is_configuration(const char *text)
{
    static const char *const endings[] = {".json", ".yaml", ".yml", ".toml"};
    for (size_t i = 0; i < G_N_ELEMENTS(endings); i++)
        if (g_str_has_suffix(text, endings[i]))
            return true;
    return false;
}

/* Returns the place of the program among a command's words: behind the launcher's. */
static guint program_at(const RhShellCommand *command)
{
    for (guint i = 0; i < command->words->len; i++) {
        const char *text = rh_shell_word(command, i)->text;
        const RhShellWord *next = rh_shell_word(command, i + 1);
        bool module = strcmp(text, "-m") == 0 && next && !g_str_has_prefix(next->text, "torch.");
        if (g_str_has_suffix(text, ".py") || module || strcmp(text, "llamafactory-cli") == 0 ||
            strcmp(text, "axolotl") == 0)
            return module ? i + 1 : i;
    }
    return 0;
}

/* Reads what a script writes for its program to read: Python, and the file of a model. */
static bool read_documents(Search *s)
{
    for (guint i = 0; i < s->shell->commands->len; i++) {
        const RhShellCommand *c = s->shell->commands->pdata[i];
        bool python = c->input && c->output && g_str_has_suffix(c->output, ".py") &&
                      !g_str_has_suffix(c->output, RH_TRAINER_FILE); /* has options alone */
        bool model = c->input && c->output && g_str_has_suffix(c->output, "config.json") &&
                     !g_str_has_suffix(c->output, "ds_config.json");
        g_autofree char *name =
            python || model ? g_strdup_printf("%s of %s", c->output, s->path) : NULL;
        if (python) {
            RhJson *doc = rh_json_new(name, c->input, strlen(c->input));
            rh_launch_settings_add_python(s->reading->settings, doc, c->input);
        } else if (model) {
            RhJson *doc = rh_json_parse(name, c->input, strlen(c->input), s->error);
            if (!doc)
                return false;
            rh_launch_settings_add_tree(s->reading->settings, doc, rh_json_root(doc), "");
        }
    }
    return true;
}

/* Reads the files that a command names, and then its flags, which go before them. */
static bool read_command(Search *s, const RhShellCommand *command)
{
    RhLaunchReading *r = s->reading;
    guint program = program_at(command);
    for (guint i = 0; i < command->words->len; i++) {
        const char *text = rh_shell_word(command, i)->text, *equals = strchr(text, '=');
        const char *file = equals ? equals + 1 : text;
        if (is_configuration(file) && strchr(file, '$') == NULL && !read_named(s, file))
            return false;
    }
    if (!read_documents(s))
        return false;
    const char *titan = g_hash_table_lookup(s->shell->variables, "CONFIG_FILE");
    if (titan && s->kind->framework == &rh_framework_torchtitan && is_configuration(titan) &&
        strchr(titan, '$') == NULL && !read_named(s, titan))
        return false;
    rh_launch_read_launcher(r, command, program > 0 ? program : 1);
    RhJson *doc = rh_json_new(s->path, s->shell->text, s->shell->length);
    r->command_row = r->settings->rows->len;
    bool pairs = s->kind->framework == &rh_framework_maxtext_read ||
                 s->kind->framework == &rh_framework_nemo_read;
    rh_launch_settings_add_words(r->settings, doc, command, program > 0 ? program + 1 : 1, pairs);
    return true;
}

static bool search_shell(Search *s, int depth);

/* Looks into `bash -c "torchrun ..."`; *found: it starts a launch. */
static bool search_inside(Search *s, const RhShellCommand *command, int depth, bool *found)
{
    for (guint i = 0; depth < 3 && i < command->words->len; i++) {
        const char *text = rh_shell_word(command, i)->text;
        if (!strchr(text, ' ') || !(strstr(text, "python") || strstr(text, "torchrun")))
            continue;
        g_autoptr(RhShell) inner = rh_shell_parse(s->path, text, strlen(text), NULL);
        Search below = *s;
        below.shell = inner;
        if (!inner)
            continue;
        if (!search_shell(&below, depth + 1))
            return false;
        s->kind = below.kind;
        *found = below.kind != NULL;
        if (*found)
            rh_launch_read_launcher(s->reading, command, i);
        if (*found)
            return true;
    }
    return true;
}

/* Returns the run of a command that is asked for, of those that a loop makes of it. */
static const RhShellCommand *run_of(const Search *s, const RhShellCommand *command)
{
    RhLaunchReading *r = s->reading;
    const RhShellCommand *found = NULL;
    const RhShellWord *first = rh_shell_word(command, 0);
    for (guint i = 0; i < s->shell->commands->len; i++) {
        const RhShellCommand *c = s->shell->commands->pdata[i];
        const RhShellWord *word = rh_shell_word(c, 0);
        if (word && word->offset == first->offset && ++r->runs == MAX(r->run, 1))
            found = c;
    }
    if (!found)
        rh_fail(s->error, RH_ERROR_INPUT, "%s has %u run%s of its command, not %u", s->path,
                r->runs, r->runs == 1 ? "" : "s", r->run);
    return found;
}

/* Reads the last command that starts a training; those before it often prepare its data. */
static bool search_shell(Search *s, int depth)
{
    const RhShellCommand *best = NULL;
    for (guint i = 0; i < s->shell->commands->len; i++) {
        const RhShellCommand *command = s->shell->commands->pdata[i];
        const RhShellWord *first = rh_shell_word(command, 0);
        bool found = false, silent = first && (strcmp(first->text, "echo") == 0 ||
                                               strcmp(first->text, "export") == 0 ||
                                               strcmp(first->text, "pip") == 0);
        if (!silent && !search_inside(s, command, depth, &found))
            return false;
        if (found)
            return true;
        const RhLaunchKind *kind = silent ? NULL : rh_launch_kind_of_command(command);
        if (!kind || (best && best->words->len >= command->words->len))
            continue;
        best = command;
        s->kind = kind;
    }
    if (!best)
        return true;
    s->reading->framework = s->kind->framework;
    best = run_of(s, best);
    return best && read_command(s, best);
}

static bool read_script(Search *s, const char *text)
{
    g_autoptr(RhShell) shell = rh_shell_parse(s->path, text, strlen(text), s->error);
    if (!shell)
        return false;
    s->shell = shell;
    for (guint i = 0; i < shell->directives->len; i++) {
        const RhShellCommand *command = shell->directives->pdata[i];
        rh_launch_read_launcher(s->reading, command, command->words->len);
    }
    return search_shell(s, 0);
}

/* --- a file --- */

static RhLaunchReading *reading_new(void)
{
    RhLaunchReading *r = g_new0(RhLaunchReading, 1);
    GPtrArray **lists[] = {&r->sets, &r->notes, &r->used, &r->unknown, &r->outside, &r->files};
    for (size_t i = 0; i < G_N_ELEMENTS(lists); i++)
        *lists[i] = g_ptr_array_new_with_free_func(g_free);
    for (int i = 0; i < RH_SIZE_LAST; i++)
        r->sizes[i] = -1;
    for (int i = 0; i < RH_JOB_FIELD_LAST; i++)
        r->job[i] = -1;
    r->settings = rh_launch_settings_new();
    r->layout = rh_layout_default();
    return r;
}

static void reading_free(RhLaunchReading *r)
{
    GPtrArray *lists[] = {r->sets, r->notes, r->used, r->unknown, r->outside, r->files};
    for (size_t i = 0; i < G_N_ELEMENTS(lists); i++)
        if (lists[i])
            g_ptr_array_unref(lists[i]);
    for (size_t i = 0; i < G_N_ELEMENTS(r->texts); i++)
        g_free(r->texts[i]);
    g_free(r->model);
    rh_launch_settings_free(r->settings);
    g_free(r);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhLaunchReading, reading_free)

static int64_t said_or_0(int64_t value)
{
    return MAX(value, 0);
}

static int64_t ranks_of_replica(const RhLayout *l)
{
    return MAX(rh_launch_times(rh_launch_times(l->tp, l->pp), l->cp), 1);
}

/* Works out the number of all GPUs. torchrun, deepspeed and accelerate start one node unless they
 * are told of more. */
static void count_gpus(RhLaunchReading *r)
{
    int64_t *w = r->job;
    if (w[RH_JOB_FIELD_GPUS_OF_NODE] > 0 && w[RH_JOB_FIELD_NODES] <= 0 &&
        w[RH_JOB_FIELD_GPUS] <= 0 && !r->nodes_outside)
        w[RH_JOB_FIELD_NODES] = 1;
    if (w[RH_JOB_FIELD_GPUS_OF_NODE] > 0 && w[RH_JOB_FIELD_NODES] > 0)
        w[RH_JOB_FIELD_GPUS] =
            MAX(w[RH_JOB_FIELD_GPUS],
                rh_launch_times(w[RH_JOB_FIELD_NODES], w[RH_JOB_FIELD_GPUS_OF_NODE]));
}

static void steal_list(GPtrArray **to, GPtrArray **from)
{
    *to = g_steal_pointer(from);
}

static RhLaunchFile *file_of(RhLaunchReading *r, const char *about)
{
    RhLaunchFile *f = g_new0(RhLaunchFile, 1);
    const int64_t *w = r->job;
    *f = (RhLaunchFile){.framework = r->framework->name,
                        .about = g_strdup(about),
                        .workload = g_steal_pointer(&r->model),
                        .stack = r->stack ? r->stack : r->framework->name,
                        .dtype = r->dtype,
                        .global_batch = said_or_0(w[RH_JOB_FIELD_GLOBAL_BATCH]),
                        .sequence = said_or_0(w[RH_JOB_FIELD_SEQUENCE]),
                        .accumulation = said_or_0(w[RH_JOB_FIELD_ACCUMULATION]),
                        .nodes = said_or_0(w[RH_JOB_FIELD_NODES]),
                        .gpus_of_node = said_or_0(w[RH_JOB_FIELD_GPUS_OF_NODE]),
                        .gpus = said_or_0(w[RH_JOB_FIELD_GPUS]),
                        .layout = r->layout,
                        .given = r->given};
    steal_list(&f->sets, &r->sets);
    steal_list(&f->used, &r->used);
    steal_list(&f->unknown, &r->unknown);
    steal_list(&f->outside, &r->outside);
    steal_list(&f->notes, &r->notes);
    steal_list(&f->files, &r->files);
    return f;
}

static bool set_usual(RhLaunchReading *r, GError **error)
{
    uint64_t given = 0;
    return rh_layout_change(r->framework->usual, &r->layout, &given, error) &&
           (r->given |= given, true);
}

/* Reads a file into settings and finds its kind; NULL without an error: it is of none. */
static const RhLaunchKind *read_file(RhLaunchReading *r, const char *path, GError **error)
{
    g_autofree char *text = rh_text_load(path, error);
    RhLaunchFormat format = text ? rh_launch_format_of(path, text) : RH_LAUNCH_NONE;
    Search s = {.reading = r, .path = path, .error = error};
    if (format == RH_LAUNCH_NONE)
        return NULL;
    if (format == RH_LAUNCH_COMMAND)
        return read_script(&s, text) ? s.kind : NULL;
    if (format == RH_LAUNCH_PYTHON) {
        rh_launch_settings_add_python(r->settings, rh_json_new(path, text, strlen(text)), text);
        return rh_launch_kind_of_tree(format, r->settings);
    }
    RhJson *doc = parse_tree(format, path, text, error);
    g_autofree char *script =
        doc && format == RH_LAUNCH_YAML ? rh_launch_manifest_script(r, doc) : NULL;
    if (script) {
        rh_json_free(doc);
        return read_script(&s, script) ? s.kind : NULL;
    }
    return doc ? add_tree(r->settings, format, doc) : NULL;
}

static char *place_of(const RhLaunchReading *r)
{
    const GArray *rows = r->settings->rows;
    const RhLaunchSetting *s =
        r->command_row < rows->len ? &g_array_index(rows, RhLaunchSetting, r->command_row) : NULL;
    const RhJsonPlace *place = s ? rh_json_place(s->doc, s->node) : NULL;
    size_t line = 1, column = 1;
    if (place)
        rh_json_line_of(s->doc, place->offset, &line, &column);
    return place ? g_strdup_printf("%s:%zu:%zu", rh_json_name(s->doc), line, column) : NULL;
}

RhLaunchFile *rh_launch_read_run(const char *path, guint run, RhLaunchRuns *runs, GError **error)
{
    g_autoptr(RhLaunchReading) r = reading_new();
    GError *local = NULL;
    r->run = run;
    g_ptr_array_add(r->files, g_strdup(path));
    const RhLaunchKind *kind = read_file(r, path, &local);
    if (local) {
        g_propagate_error(error, local);
        return NULL;
    }
    if (!kind) {
        rh_fail(error, RH_ERROR_INPUT,
                "%s: no launch of a training that is known\n"
                "note: scripts and configurations of Megatron-LM, TorchTitan, DeepSpeed, NeMo, "
                "MaxText, axolotl and LLaMA-Factory are\n"
                "help: `rehearse check FILE` says what a file is",
                path);
        return NULL;
    }
    r->framework = kind->framework;
    if (!set_usual(r, error))
        return NULL;
    rh_launch_read_rows(r);
    count_gpus(r);
    if (r->framework->finish)
        r->framework->finish(r);
    rh_launch_find_workload(r);
    rh_launch_check_rules(r);
    *runs = (RhLaunchRuns){r->runs, place_of(r)};
    return rh_launch_settings_check(r->settings, error) ? file_of(r, kind->about) : NULL;
}

const char *rh_launch_kind_of(const char *path)
{
    guint run = 0;
    g_autofree char *name = rh_launch_file_of_run(path, &run);
    g_autoptr(RhLaunchReading) r = reading_new();
    const RhLaunchKind *kind =
        g_file_test(name, G_FILE_TEST_IS_REGULAR) ? read_file(r, name, NULL) : NULL;
    return kind ? kind->about : NULL;
}

void rh_launch_file_free(RhLaunchFile *f)
{
    if (!f)
        return;
    GPtrArray *lists[] = {f->sets, f->used, f->unknown, f->outside, f->notes, f->files};
    for (size_t i = 0; i < G_N_ELEMENTS(lists); i++)
        g_ptr_array_unref(lists[i]);
    g_free(f->about);
    g_free(f->workload);
    g_free(f);
}

/* --- what follows from it --- */

char *rh_launch_file_layout(const RhLaunchFile *f)
{
    g_autoptr(GString) out = g_string_new(NULL);
    for (const RhKnob *knob = rh_knobs; knob->key; knob++) {
        g_autofree char *text =
            f->given >> (knob - rh_knobs) & 1 ? rh_knob_text(knob, &f->layout) : NULL;
        if (text)
            g_string_append_printf(out, "%s%s=%s", out->len > 0 ? "," : "", knob->key, text);
    }
    return g_string_free(g_steal_pointer(&out), FALSE);
}

int64_t rh_launch_file_batch(const RhLaunchFile *f, int64_t gpus)
{
    int64_t replicas = gpus / ranks_of_replica(&f->layout);
    return f->global_batch > 0 ? f->global_batch
           : f->accumulation > 0
               ? rh_launch_times(rh_launch_times(replicas, f->accumulation), f->layout.microbatch)
               : 0;
}

int64_t rh_launch_file_gpus(const RhLaunchFile *f)
{
    int64_t each = rh_launch_times(f->accumulation, f->layout.microbatch);
    if (f->gpus > 0)
        return f->gpus;
    return f->global_batch > 0 && each > 0 && f->global_batch % each == 0
               ? rh_launch_times(f->global_batch / each, ranks_of_replica(&f->layout))
               : 0;
}

/* --- what differs between two launches --- */

/* Returns all settings of a launch that is written here. */
static RhLaunchReading *settings_of(const RhLaunch *launch)
{
    g_autoptr(RhLaunchReading) r = reading_new();
    g_autofree char *script = rh_launch_script(launch, RH_LAUNCHER_SHELL);
    Search s = {.reading = r, .path = launch->title};
    if (!read_script(&s, script)) /* is never: it was written here */
        return NULL;
    return g_steal_pointer(&r);
}

static void add_change(GPtrArray *changes, const char *name, const char *from, const char *to)
{
    if (g_strcmp0(from, to) != 0)
        g_ptr_array_add(changes, g_strdup_printf("%s %s -> %s", name,
                                                 !from   ? "not given"
                                                 : *from ? from
                                                         : "given",
                                                 !to   ? "leave out"
                                                 : *to ? to
                                                       : "give"));
}

/* Adds settings of `a` that stand otherwise in `b`, each once. */
static void compare(const RhLaunchReading *a, const RhLaunchReading *b, bool missing,
                    GPtrArray *changes)
{
    const GArray *rows = a->settings->rows;
    for (guint i = 0; i < rows->len; i++) {
        const RhLaunchSetting *row = &g_array_index(rows, RhLaunchSetting, i);
        const RhLaunchSetting *other = rh_launch_setting_of(b->settings, row->name);
        if (!*row->name || rh_launch_setting_of(a->settings, row->name) != row)
            continue;
        if (missing && !other)
            add_change(changes, row->name, NULL, row->text);
        else if (!missing)
            add_change(changes, row->name, row->text, other ? other->text : NULL);
    }
}

GPtrArray *rh_launch_changes(const RhLaunch *from, const RhLaunch *to)
{
    GPtrArray *changes = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(RhLaunchReading) a = settings_of(from);
    g_autoptr(RhLaunchReading) b = settings_of(to);
    if (!a || !b)
        return changes;
    compare(a, b, false, changes);
    compare(b, a, true, changes);
    return changes;
}
