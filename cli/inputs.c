#include "cli/inputs.h"

#include <string.h>

#include "base/error.h"
#include "cli/job_keys.h"
#include "cli/names.h"
#include "cli/output.h"
#include "cli/result.h"
#include "cli/scenario.h"
#include "cli/terminal.h"
#include "platforms/facts.h"
#include "platforms/power.h"
#include "platforms/profile.h"
#include "strategies/knobs.h"
#include "strategies/stack_file.h"
#include "strategies/train/least.h"

/* --- --set --- */

/* Options and the words of one-line platforms, as keys. */
static const struct {
    const char *word, *key;
} aliases[] = {{"seq", "sequence"},
               {"global-batch", "global_batch"},
               {"batch", "global_batch"},
               {"ib", "nic.bandwidth"},
               {"eth", "nic.bandwidth"},
               {"roce", "nic.bandwidth"},
               {"nvlink", "nvlink.bandwidth"},
               {"nics", "nics_per_node"},
               {"price", "price_per_gpu_hour"}};

static const char *key_of_word(const char *word)
{
    for (size_t i = 0; i < G_N_ELEMENTS(aliases); i++)
        if (strcmp(aliases[i].word, word) == 0)
            return aliases[i].key;
    return word;
}

/* Those that begin so, as "lora.rank" below "lora."; NULL: none. The caller frees. */
static char *names_below(const char *prefix, const char *const *names)
{
    g_autoptr(GPtrArray) found = g_ptr_array_new();
    for (; *names; names++)
        if (g_str_has_prefix(*names, prefix))
            g_ptr_array_add(found, (void *)*names);
    g_ptr_array_add(found, NULL);
    return found->len > 1 ? g_strjoinv(", ", (char **)found->pdata) : NULL;
}

/* What the model says of a key that is nobody's, with the job's keys among its notes. */
static bool fail_with_job_keys(const GError *unknown, GError **error)
{
    g_autofree char *keys = g_strjoinv(", ", (char **)rh_job_keys());
    const char *help = strstr(unknown->message, "\nhelp: ");
    int facts = help ? (int)(help - unknown->message) : (int)strlen(unknown->message);
    return rh_fail(error, RH_ERROR_USAGE, "%.*s\nnote: of the job: %s%s", facts, unknown->message,
                   keys, help ? help : "");
}

/* A key of nobody's: what is near among the fields of all; one of a layout is said elsewhere. */
static bool fail_unknown_key(const RhInputs *in, const char *key, GError *unknown, GError **error)
{
    if (rh_knob_find(key, strlen(key))) {
        g_error_free(unknown);
        return rh_fail(
            error, RH_ERROR_USAGE,
            "--set %s: that is of a layout, --set changes the model, the platform and the job\n"
            "help: --fix %s=... of `rehearse plan`, -s of `rehearse simulate`, "
            "--what-if %s=... of `rehearse explain`",
            key, key, key);
    }
    g_auto(GStrv) platform = rh_platform_keys(in->hardware);
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (const char *const *name = rh_job_keys(); *name; name++)
        g_ptr_array_add(names, (void *)*name);
    for (size_t i = 0; i < G_N_ELEMENTS(aliases); i++)
        g_ptr_array_add(names, (void *)aliases[i].word);
    for (char **name = platform; *name; name++)
        g_ptr_array_add(names, *name);
    g_ptr_array_add(names, NULL);
    const char *const *known = (const char *const *)names->pdata;
    g_autofree char *below = g_strconcat(key, ".", NULL), *near = names_below(below, known);
    if (!near)
        near = rh_names_similar(key, known);
    g_autoptr(GError) of_model = unknown;
    if (!near || strstr(unknown->message, "\nhelp: "))
        return fail_with_job_keys(of_model, error);
    return rh_fail(error, RH_ERROR_USAGE,
                   "--set: neither the job, the platform nor the model has a \"%s\"\n"
                   "help: similar: %s",
                   key, near);
}

/* Whose field a key is: "model.", "platform." and "job." say it; else the platform's keys have a
 * dot or stand in this list, and the model has the rest. */
static bool is_platform_key(const char *key)
{
    static const char *const plain[] = {
        "nodes", "gpus_per_node", "nics_per_node", "price_per_gpu_hour", "pue", NULL};
    return strchr(key, '.') || g_strv_contains(plain, key);
}

bool rh_inputs_set_platform(RhPlatform *platform, const char *key, const char *value,
                            GError **error)
{
    if (rh_platform_set(platform, key, value, error))
        return true;
    g_prefix_error(error, "--set ");
    return false;
}

static bool set_stack(RhInputs *in, const char *key, const char *value, GError **error)
{
    if (!in->stack)
        in->stack = g_memdup2(in->c.stack, sizeof *in->stack);
    in->c.stack = in->stack;
    if (rh_stack_set(in->stack, key, value, error))
        return true;
    g_prefix_error(error, "--set: ");
    return false;
}

/* --profile FILE is --set profile=FILE, so that results record it like any other change. */
static bool apply_set(RhInputs *in, const char *text, GError **error)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text || !equals[1])
        return rh_fail(error, RH_ERROR_USAGE,
                       "--set needs KEY=VALUE, \"%s\" given\nhelp: for example --set layers=4, "
                       "--set nic.bandwidth=200Gb/s",
                       text);
    g_autofree char *word = g_strndup(text, (gsize)(equals - text));
    const char *key = key_of_word(word), *value = equals + 1;
    bool known = false;
    if (in->model && g_str_has_prefix(key, "model."))
        return rh_model_set(in->model, key + strlen("model."), value, error);
    if (g_str_has_prefix(key, "stack."))
        return set_stack(in, key + strlen("stack."), value, error);
    if (g_str_has_prefix(key, "platform."))
        return rh_inputs_set_platform(in->hardware, key + strlen("platform."), value, error);
    bool profile = strcmp(key, "profile") == 0;
    bool others = g_str_has_prefix(key, "model.") || g_str_has_prefix(key, "job.");
    if (!in->model && (others || (!profile && !is_platform_key(key))))
        return rh_fail(error, RH_ERROR_USAGE,
                       "--set %s: with --program there is neither model nor job\nnote: keys are "
                       "those of the platform",
                       key);
    if (profile)
        return rh_platform_apply_profile(in->hardware, value, error);
    const char *job_key = g_str_has_prefix(key, "job.") ? key + strlen("job.") : key;
    if (!rh_job_set(&in->c.job, job_key, value, &known, error))
        return false;
    if (known)
        return true;
    if (job_key != key) {
        g_autofree char *keys = g_strjoinv(", ", (char **)rh_job_keys());
        return rh_fail(error, RH_ERROR_USAGE, "--set: no \"%s\" in a job\nnote: %s", job_key, keys);
    }
    if (is_platform_key(key))
        return rh_inputs_set_platform(in->hardware, key, value, error);
    GError *local = NULL;
    if (rh_model_set(in->model, key, value, &local))
        return true;
    if (!g_str_has_prefix(local->message, "unknown key"))
        return g_propagate_error(error, local), false;
    return fail_unknown_key(in, key, local, error);
}

const char *rh_inputs_ignored(const RhInputs *in, const char *key)
{
    return rh_stack_ignores(in->c.stack, in->hardware, key);
}

/* Facts that were changed, and change nothing. */
static void warn_of_ignored(const RhInputs *in, const RhPlatform *before)
{
    size_t count = 0;
    const RhFactRow *rows = rh_facts(&count);
    for (size_t i = 0; i < count; i++) {
        const RhFact *was = rh_facts_seen(before, &rows[i]),
                     *is = rh_facts_seen(in->hardware, &rows[i]);
        const char *why = was->value == is->value && was->source == is->source
                              ? NULL
                              : rh_inputs_ignored(in, rows[i].key);
        g_autofree char *line =
            why ? g_strdup_printf("warning: %s is not used: %s", rows[i].key, why) : NULL;
        if (line)
            rh_terminal_hint(line);
    }
}

/* --- loading --- */

/* Without a word of the user's: fitted for GPUs' collectives, so not where ranks talk by TCP. */
static const char *default_stack(const RhPlatform *platform)
{
    return platform->messages.sender == RH_SHARING_NONE ? "megatron" : "bare";
}

static bool load_stack(RhInputs *in, const char *name, GError **error)
{
    in->c.stack = rh_stack_by_name(name, error);
    return in->c.stack != NULL;
}

/* A catalogue name without ":NODES" grows to the GPUs that are asked for. */
static bool load_platform(RhInputs *in, const RhInputsSpec *spec, GError **error)
{
    in->hardware = rh_platform_load(spec->platform, error);
    if (!in->hardware)
        return false;
    in->platform_spec = g_strdup(spec->platform);
    bool open_ended = !strchr(spec->platform, ':') && in->hardware->nodes_count == 1 &&
                      in->hardware->tiers_count > 0;
    if (!open_ended || spec->gpus <= rh_platform_gpus(in->hardware))
        return true;
    int64_t nodes = (spec->gpus + in->hardware->gpus_per_node - 1) / in->hardware->gpus_per_node;
    g_autofree char *number = g_strdup_printf("%" G_GINT64_FORMAT, nodes);
    g_free(in->platform_spec);
    in->platform_spec = g_strdup_printf("%s:%s", spec->platform, number);
    return rh_platform_set(in->hardware, "nodes", number, error);
}

static bool check_gpus(const RhInputs *in, GError **error)
{
    int32_t there = rh_platform_gpus(in->hardware), each = in->hardware->gpus_per_node;
    int32_t nodes = (in->c.job.gpus + each - 1) / each;
    if (in->c.job.gpus <= there)
        return true;
    const char *colon = strchr(in->platform_spec, ':');
    bool one_line = strchr(in->platform_spec, ',') || (colon && strchr(colon, 'x'));
    g_autofree char *name =
        g_strndup(in->platform_spec, colon ? (gsize)(colon - in->platform_spec) : G_MAXINT16);
    g_autofree char *help = one_line ? g_strdup_printf("--set nodes=%d", nodes)
                                     : g_strdup_printf("-p %s:%d", name, nodes);
    return rh_fail(error, RH_ERROR_USAGE, "%d GPUs are asked for, %s has %d\nhelp: %s",
                   in->c.job.gpus, in->platform_spec, there, help);
}

static void fill_question(RhInputs *in, const RhInputsSpec *spec)
{
    in->argv = g_strdupv((char **)spec->argv);
    in->question = (RhQuestion){.version = RH_VERSION,
                                .argv = (const char *const *)in->argv,
                                .c = &in->c,
                                .hardware = in->hardware,
                                .workload_spec = in->workload,
                                .platform_spec = in->platform_spec,
                                .sets = (const char *const *)in->sets,
                                .seed = spec->seed};
}

/* Samples of tokens have so many of them; a picture is one sample. */
static bool check_sequence(const RhModel *m, const RhInputsSpec *spec, GError **error)
{
    const char *command = spec->argv && spec->argv[0] ? spec->argv[0] : "this";
    if (rh_model_sees_pictures(m) && spec->sequence > 1)
        return rh_fail(error, RH_ERROR_USAGE,
                       "--seq: a sample of %s is one picture, no sequence of tokens\n"
                       "help: leave --seq out",
                       m->name);
    if (rh_model_sees_pictures(m) || spec->sequence > 0)
        return true;
    return rh_fail(
        error, RH_ERROR_USAGE,
        "%s needs --seq S\nnote: --seq  tokens of one sample; a picture is one\nhelp: `rehearse %s "
        "--help` has examples",
        command, command);
}

/* A copy that lives as long as the inputs; NULL of NULL. */
static const char *keep_word(RhInputs *in, const char *word)
{
    char *copy = g_strdup(word);
    if (copy)
        g_ptr_array_add(in->words, copy);
    return copy;
}

static void keep_asked(RhInputs *in, const RhInputsSpec *spec)
{
    static const char *const none[] = {NULL};
    in->words = g_ptr_array_new_with_free_func(g_free);
    in->workload = g_strdup(spec->workload);
    in->sets = g_strdupv((char **)(spec->sets ? spec->sets : none));
    in->asked = *spec;
    in->asked.workload = in->workload;
    in->asked.platform = keep_word(in, spec->platform);
    in->asked.dtype = keep_word(in, spec->dtype);
    in->asked.stack = keep_word(in, spec->stack);
    in->asked.sets = (const char *const *)in->sets;
    in->asked.origins = in->asked.argv = NULL;
}

RhInputs *rh_inputs_without(const RhInputs *inputs, int set, GError **error)
{
    g_autoptr(GPtrArray) sets = g_ptr_array_new();
    for (int i = 0; inputs->sets[i]; i++)
        if (i != set)
            g_ptr_array_add(sets, inputs->sets[i]);
    g_ptr_array_add(sets, NULL);
    RhInputsSpec spec = inputs->asked;
    spec.sets = (const char *const *)sets->pdata;
    spec.silent = true;
    return rh_inputs_load(&spec, error);
}

RhInputs *rh_inputs_load(const RhInputsSpec *spec, GError **error)
{
    g_autoptr(RhInputs) in = g_new0(RhInputs, 1);
    keep_asked(in, spec);
    if (spec->stack && !load_stack(in, spec->stack, error))
        return NULL;
    in->model = spec->workload ? rh_names_model(spec->workload, error) : NULL;
    if ((spec->workload && !in->model) || !load_platform(in, spec, error))
        return NULL;
    if (!spec->stack && !load_stack(in, default_stack(in->hardware), error))
        return NULL;
    if (!rh_recipe_by_name(spec->dtype)) {
        rh_fail(error, RH_ERROR_INPUT, "dtype \"%s\" is none of %s", spec->dtype,
                RH_RECIPE_CHOICES);
        return NULL;
    }
    if (spec->workload && !check_sequence(in->model, spec, error))
        return NULL;
    in->c.job = (RhJob){.global_batch = spec->global_batch,
                        .sequence = MAX(spec->sequence, 1),
                        .gpus = (int32_t)spec->gpus,
                        .recipe = rh_recipe_by_name(spec->dtype)};
    g_autoptr(RhPlatform) before = rh_platform_copy(in->hardware);
    for (int i = 0; in->sets[i]; i++)
        if (!apply_set(in, in->sets[i], error)) {
            rh_scenario_blame(spec->origins ? spec->origins[i] : "", error);
            return NULL;
        }
    if (!rh_power_of_host_agrees(in->hardware, error)) {
        g_prefix_error(error, "--set: ");
        return NULL;
    }
    if (in->model && rh_model_sees_pictures(in->model) && in->c.job.sequence != 1) {
        rh_fail(error, RH_ERROR_USAGE, "--set sequence: a sample of %s is one picture",
                in->model->name);
        return NULL;
    }
    rh_documents_settle(&in->c.job.documents, in->c.job.sequence, (uint64_t)spec->seed);
    if (!spec->silent)
        warn_of_ignored(in, before);
    if (in->c.job.gpus == 0)
        in->c.job.gpus = rh_platform_gpus(in->hardware);
    if (!check_gpus(in, error))
        return NULL;
    in->platform = rh_stack_platform(in->c.stack, in->hardware);
    in->c.model = in->model;
    in->c.platform = in->platform;
    fill_question(in, spec);
    return g_steal_pointer(&in);
}

/* What --profile, --set and --scenario say, in this order, as settings; where each stands in a file, or ""; and the
 * recorded words. Each NULL-ended. */
typedef struct {
    GStrv sets, origins, argv;
} Words;

static void words_clear(Words *w)
{
    g_strfreev(w->sets);
    g_strfreev(w->origins);
    g_strfreev(w->argv);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Words, words_clear)

static bool words_of(const RhArguments *a, Words *w, GError **error)
{
    g_autoptr(GPtrArray) sets = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GPtrArray) origins = g_ptr_array_new_with_free_func(g_free);
    if (a->profile)
        g_ptr_array_add(sets, g_strconcat("profile=", a->profile, NULL));
    for (guint i = 0; i < a->sets->len; i++)
        g_ptr_array_add(sets, g_strdup(g_ptr_array_index(a->sets, i)));
    while (origins->len < sets->len)
        g_ptr_array_add(origins, g_strdup(""));
    bool read = rh_scenario_sets(a->scenarios, sets, origins, error);
    w->sets = rh_arguments_words(sets);
    w->origins = rh_arguments_words(origins);
    w->argv = rh_arguments_words(a->recorded);
    return read;
}

/* "job.gpus" and "gpus" are one field. */
static char *field_of_set(const char *set)
{
    static const char *const owners[] = {"job.", "model.", "platform."};
    for (size_t i = 0; i < G_N_ELEMENTS(owners); i++)
        if (g_str_has_prefix(set, owners[i]))
            set += strlen(owners[i]);
    g_autofree char *word = g_strndup(set, strcspn(set, "="));
    return g_strdup(key_of_word(word));
}

/* What the command line says twice, by --set and its own option or by two of --set. */
static bool check_sets(const RhArguments *a, const char *const *sets, GError **error)
{
    static const char *const options[][2] = {{"global_batch", "--global-batch"},
                                             {"sequence", "--seq"},
                                             {"gpus", "--gpus"},
                                             {"dtype", "--dtype"}};
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (int i = 0; sets[i]; i++) {
        g_autofree char *field = field_of_set(sets[i]);
        for (size_t k = 0; k < G_N_ELEMENTS(options); k++)
            if (strcmp(options[k][0], field) == 0 && rh_arguments_given(a, options[k][1]))
                return rh_fail(error, RH_ERROR_USAGE, "%s and --set %s say the same field twice",
                               options[k][1], sets[i]);
        if (!g_hash_table_add(seen, g_strdup(field)))
            return rh_fail(error, RH_ERROR_USAGE, "--set %s: %s is given twice", sets[i], field);
    }
    return true;
}

/* What the stack does to a network of TCP that it was not fitted to. */
static void hint_stack(const RhArguments *a, const RhInputs *in)
{
    if (in->hardware->messages.sender == RH_SHARING_NONE)
        return;
    bool own = rh_fact_is_users(&in->hardware->nic_efficiency_frac);
    double nic = own ? 0 : in->c.stack->nic_training_frac.value;
    g_autofree char *line =
        !a->stack ? g_strdup_printf("note: ranks of %s talk by TCP: stack %s, no framework",
                                    in->hardware->name, in->c.stack->name)
        : nic > 0 ? g_strdup_printf("warning: stack %s takes the links of %s at %.0f %% of their "
                                    "rate, fitted to GPU clusters; --stack bare leaves them",
                                    in->c.stack->name, in->hardware->name, 100 * nic)
                  : NULL;
    if (line)
        rh_terminal_hint(line);
}

RhInputs *rh_inputs_of(const RhArguments *a, GError **error)
{
    g_auto(Words) words = {0};
    if (!words_of(a, &words, error) || !check_sets(a, (const char *const *)words.sets, error))
        return NULL;
    RhInputsSpec spec = {.workload = a->workload,
                         .platform = a->platform,
                         .stack = a->stack,
                         .dtype = a->dtype,
                         .global_batch = a->global_batch,
                         .sequence = a->sequence,
                         .gpus = a->gpus,
                         .seed = a->seed,
                         .sets = (const char *const *)words.sets,
                         .origins = (const char *const *)words.origins,
                         .argv = (const char *const *)words.argv};
    RhInputs *in = rh_inputs_load(&spec, error);
    if (in)
        hint_stack(a, in);
    return in;
}

RhInputs *rh_inputs_of_program(const RhArguments *a, int32_t ranks, GError **error)
{
    g_auto(Words) words = {0};
    if (!words_of(a, &words, error) || !check_sets(a, (const char *const *)words.sets, error))
        return NULL;
    RhInputsSpec spec = {.platform = a->platform,
                         .stack = a->stack ? a->stack : "bare",
                         .dtype = a->dtype,
                         .gpus = ranks,
                         .seed = a->seed,
                         .sets = (const char *const *)words.sets,
                         .origins = (const char *const *)words.origins,
                         .argv = (const char *const *)words.argv};
    return rh_inputs_load(&spec, error);
}

/* One sample of one token: what a job of training must say, and nothing here reads. */
RhInputs *rh_inputs_of_service(const RhArguments *a, GError **error)
{
    g_auto(Words) words = {0};
    if (!words_of(a, &words, error) || !check_sets(a, (const char *const *)words.sets, error))
        return NULL;
    RhInputsSpec spec = {.workload = a->workload,
                         .platform = a->platform,
                         .stack = "bare",
                         .dtype = a->dtype,
                         .global_batch = 1,
                         .sequence = 1,
                         .gpus = a->gpus,
                         .seed = a->seed,
                         .sets = (const char *const *)words.sets,
                         .origins = (const char *const *)words.origins,
                         .argv = (const char *const *)words.argv};
    return rh_inputs_load(&spec, error);
}

void rh_inputs_free(RhInputs *in)
{
    if (!in)
        return;
    rh_model_free(in->model);
    rh_platform_free(in->hardware);
    rh_platform_free(in->platform);
    g_free(in->stack);
    g_strfreev(in->sets);
    g_strfreev(in->argv);
    g_ptr_array_unref(in->words);
    g_free(in->workload);
    g_free(in->platform_spec);
    g_free(in);
}

/* --- layouts --- */

/* Degrees whose product no machine has; products below stay far inside 32 bits. */
static bool check_ranks(const RhLayout *l, GError **error)
{
    double ranks = (double)l->tp * l->pp * l->cp * MAX(l->dp, 1);
    if (ranks <= 1 << 24)
        return true;
    return rh_fail(error, RH_ERROR_USAGE, "tp%d x pp%d x cp%d x dp%d are %.0f ranks", l->tp, l->pp,
                   l->cp, MAX(l->dp, 1), ranks);
}

bool rh_inputs_fits_some_machine(const RhInputs *in, const RhLayout *layout, GError **error)
{
    RhLayout l = *layout;
    RhCase fitting = in->c;
    rh_train_complete(&in->c, &l);
    if (layout->dp == 0) {
        l.dp = MIN(l.dp, rh_train_least_replicas(&l));
        fitting.job.global_batch *= l.dp; /* nobody said that so many divide it */
    }
    if (!check_ranks(&l, error))
        return false;
    fitting.job.gpus = l.tp * l.pp * l.cp * l.dp;
    return rh_train_legal(&fitting, &l, error);
}

bool rh_inputs_settle_layout(const RhInputs *in, RhLayout *layout, GError **error)
{
    RhLayout l = *layout;
    if (!check_ranks(&l, error))
        return false;
    if (l.tp == 1)
        l.sequence_parallel = false;
    if (l.dp == 0 && !rh_inputs_fits_some_machine(in, &l, error))
        return false;
    rh_train_complete(&in->c, &l);
    if (!rh_train_legal(&in->c, &l, error))
        return false;
    *layout = rh_train_canonical(&in->c, &l);
    rh_train_settle(&in->c, layout);
    return true;
}

bool rh_inputs_layout(const RhInputs *in, const char *strategy, RhLayout *out, GError **error)
{
    RhLayout layout = rh_train_default(&in->c);
    bool is_result = strchr(strategy, '#') || g_str_has_suffix(strategy, ".json");
    bool is_file = !is_result && g_file_test(strategy, G_FILE_TEST_IS_REGULAR);
    if (is_result ? !rh_result_layout(strategy, &layout, error)
        : is_file ? !rh_layout_load(strategy, &layout, error)
                  : !rh_layout_parse(strategy, &layout, error))
        return false;
    GError *why = NULL;
    if (!rh_inputs_settle_layout(in, &layout, &why)) {
        if (!is_result && !is_file)
            g_propagate_error(error, why);
        return is_result ? rh_result_refuse(strategy, why, error)
                         : is_file && rh_layout_refuse(strategy, why, error);
    }
    *out = layout;
    return true;
}
