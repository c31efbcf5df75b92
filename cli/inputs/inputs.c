#include "cli/inputs/inputs.h"
#include "cli/capacity/prices.h"

#include <string.h>

#include "base/error.h"
#include "cli/inputs/fault_scenario.h"
#include "cli/inputs/inputs_settings.h"
#include "cli/inputs/launch_input.h"
#include "cli/output/launch_files.h"
#include "cli/output/terminal.h"
#include "cli/parse/commands.h"
#include "platforms/devices/power.h"
#include "platforms/platform_constants.h"
#include "platforms/profile.h"
#include "report/format.h"
#include "report/next_command.h"
#include "sim/collective/library_choice.h"
#include "workloads/config/hf_hub.h"

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
    if (!in->hardware ||
        (in->hardware->library && !rh_library_check_names(in->hardware->library, error)))
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
    g_autofree char *help = rh_report_nodes_words(in->platform_spec, nodes);
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
    return rh_fail(error, RH_ERROR_USAGE,
                   "%s needs --seq S\nnote: --seq  " RH_SEQUENCE_ABOUT
                   "\nhelp: `rehearse %s --help` has examples",
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

static bool load_parts(RhInputs *in, const RhInputsSpec *spec, GError **error)
{
    if (spec->stack && !load_stack(in, spec->stack, error))
        return false;
    in->model = spec->workload ? rh_model_load(spec->workload, error) : NULL;
    if ((spec->workload && !in->model) || !load_platform(in, spec, error))
        return false;
    if (!spec->stack && !load_stack(in, default_stack(in->hardware), error))
        return false;
    if (!rh_recipe_by_name(spec->dtype))
        return rh_fail(error, RH_ERROR_INPUT, "dtype \"%s\" is not one of %s", spec->dtype,
                       RH_RECIPE_CHOICES);
    return !spec->workload || check_sequence(in->model, spec, error);
}

/* Applies the settings that failed one by one: model sizes all at once, with their joint error; for
 * others the error of the first. */
static bool apply_rest(RhInputs *in, const RhInputsSpec *spec, const GArray *rest, GError **error)
{
    int first = g_array_index(rest, int, 0);
    const char *origin = spec->origins ? spec->origins[first] : "";
    g_autoptr(GError) apart = NULL;
    if (rest->len > 1 && in->model && rh_inputs_apply_together(in, rest, &apart))
        return true;
    if (apart)
        g_propagate_error(error, g_steal_pointer(&apart));
    else if (rh_inputs_apply_set(in, in->sets[first], error))
        return true;
    rh_scenario_blame(origin, error);
    return false;
}

/* In their order; what is not possible yet after the others, as sizes that must divide each other. */
static bool apply_each(RhInputs *in, const RhInputsSpec *spec, GError **error)
{
    g_autoptr(GArray) rest = g_array_new(FALSE, FALSE, sizeof(int));
    for (int i = 0; in->sets[i]; i++)
        g_array_append_val(rest, i);
    for (guint before = 0; rest->len != before;) {
        before = rest->len;
        for (guint i = 0; i < rest->len;) {
            int which = g_array_index(rest, int, i);
            if (rh_inputs_apply_set(in, in->sets[which], NULL))
                g_array_remove_index(rest, i);
            else
                i++;
        }
    }
    return rest->len == 0 || apply_rest(in, spec, rest, error);
}

static bool apply_sets(RhInputs *in, const RhInputsSpec *spec, GError **error)
{
    if (!apply_each(in, spec, error))
        return false;
    if (!rh_power_of_host_agrees(in->hardware, error)) {
        g_prefix_error(error, "--set: ");
        return false;
    }
    if (in->model && rh_model_sees_pictures(in->model) && in->c.job.sequence != 1)
        return rh_fail(error, RH_ERROR_USAGE, "--set sequence: a sample of %s is one picture",
                       in->model->name);
    return true;
}

/* Halves the samples of preference training; a reward model gets its head. */
static bool apply_preference(RhInputs *in, GError **error)
{
    RhJob *job = &in->c.job;
    if (job->preference == RH_PREFERENCE_NONE || !in->model)
        return true;
    if (!rh_preference_halve(&job->documents, job->sequence, error)) {
        g_prefix_error(error, "--set ");
        return false;
    }
    return job->preference != RH_PREFERENCE_REWARD || rh_model_score(in->model, error);
}

RhInputs *rh_inputs_load(const RhInputsSpec *spec, GError **error)
{
    g_autoptr(RhInputs) in = g_new0(RhInputs, 1);
    keep_asked(in, spec);
    if (!load_parts(in, spec, error))
        return NULL;
    in->c.job = (RhJob){.global_batch = spec->global_batch,
                        .sequence = MAX(spec->sequence, 1),
                        .gpus = (int32_t)spec->gpus,
                        .recipe = rh_recipe_by_name(spec->dtype)};
    g_autoptr(RhPlatform) before = rh_platform_copy(in->hardware);
    if (!apply_sets(in, spec, error))
        return NULL;
    if (!apply_preference(in, error))
        return NULL;
    rh_documents_settle(&in->c.job.documents, in->c.job.sequence, (uint64_t)spec->seed);
    if (!spec->silent)
        rh_inputs_warn_ignored(in, before);
    if (in->c.job.gpus == 0)
        in->c.job.gpus = rh_platform_gpus(in->hardware);
    if (!check_gpus(in, error) || !rh_platform_can_share(in->hardware, &in->c.job.clients, error) ||
        !rh_loader_check(&in->c.job.loader, in->hardware, error))
        return NULL;
    in->platform = rh_stack_platform(in->c.stack, in->hardware);
    rh_platform_share(in->platform, &in->c.job.clients);
    in->c.job.gpus *= MAX(in->c.job.clients.count, 1);
    in->c.model = in->model;
    in->c.platform = in->platform;
    fill_question(in, spec);
    return g_steal_pointer(&in);
}

/* --- the command line --- */

/* Settings of --profile, --set and --scenario in this order, their positions in files or "", and
 * the recorded words. Each NULL-terminated. */
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
    g_autoptr(GPtrArray) priced = rh_prices_sets(a, a->platform);
    for (guint i = a->sets->len; i < priced->len; i++) /* those of --price and --pue */
        if (!g_ptr_array_find_with_equal_func(sets, priced->pdata[i], g_str_equal, NULL))
            g_ptr_array_add(sets, g_strdup(priced->pdata[i]));
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
    return g_strdup(rh_inputs_key(word));
}

/* Checks that nothing is given twice, by --set and its own option or by two --set. */
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

/* Prints a hint about a stack on a TCP network to which it was not fitted. */
static void hint_stack(const RhArguments *a, const RhInputs *in)
{
    if (in->hardware->messages.sender == RH_SHARING_NONE)
        return;
    bool own = rh_fact_is_users(&in->hardware->nic_efficiency_frac);
    double nic = own ? 0 : in->c.stack->nic_training_frac.value;
    g_autofree char *line =
        !rh_launch_files_stack(a)
            ? g_strdup_printf("note: ranks of %s talk by TCP: stack %s, no framework",
                              in->hardware->name, in->c.stack->name)
        : nic > 0 ? g_strdup_printf("warning: stack %s takes the links of %s at %.0f %% of their "
                                    "rate, fitted to GPU clusters; --stack bare leaves them",
                                    in->c.stack->name, in->hardware->name, 100 * nic)
                  : NULL;
    if (line)
        rh_terminal_hint(line);
}

/* Makes the specification common to all questions; returns false when something is given twice. */
static bool spec_of(const RhArguments *a, Words *words, RhInputsSpec *spec, GError **error)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    g_ptr_array_add(names, (gpointer)a->platform);
    if (a->platforms->len == 0 && !rh_prices_check(a->prices, names, error))
        return false;
    if (!words_of(a, words, error) || !check_sets(a, (const char *const *)words->sets, error))
        return false;
    *spec = (RhInputsSpec){.workload = a->workload,
                           .platform = a->platform,
                           .stack = rh_launch_files_stack(a),
                           .dtype = a->dtype,
                           .global_batch = a->global_batch,
                           .sequence = a->sequence,
                           .gpus = a->gpus,
                           .seed = a->seed,
                           .sets = (const char *const *)words->sets,
                           .origins = (const char *const *)words->origins,
                           .argv = (const char *const *)words->argv};
    return true;
}

RhInputs *rh_inputs_of(const RhArguments *a, GError **error)
{
    g_auto(Words) words = {0};
    RhInputsSpec spec;
    RhInputs *in = spec_of(a, &words, &spec, error) ? rh_inputs_load(&spec, error) : NULL;
    if (in)
        rh_launch_input_tell(a);
    if (in)
        hint_stack(a, in);
    return in;
}

/* Puts the catalogue's profile of such links before the settings, unless some are given. */
static bool prefer_fitted_links(const RhArguments *a, Words *w, GError **error)
{
    if (a->profile && rh_profile_has_links(a->profile))
        return true;
    g_autoptr(RhPlatform) p = rh_platform_load(a->platform, error);
    const char *profile = p ? rh_platform_links_profile(p) : NULL;
    if (!profile)
        return p != NULL;
    g_autoptr(GStrvBuilder) sets = g_strv_builder_new(), origins = g_strv_builder_new();
    g_autofree char *set = g_strconcat("profile=", profile, NULL);
    g_strv_builder_add(sets, set);
    g_strv_builder_add(origins, "");
    g_strv_builder_addv(sets, (const char **)w->sets);
    g_strv_builder_addv(origins, (const char **)w->origins);
    g_strfreev(w->sets);
    g_strfreev(w->origins);
    w->sets = g_strv_builder_end(sets);
    w->origins = g_strv_builder_end(origins);
    return true;
}

RhInputs *rh_inputs_of_program(const RhArguments *a, int32_t ranks, bool fitted, GError **error)
{
    g_auto(Words) words = {0};
    RhInputsSpec spec;
    if (!spec_of(a, &words, &spec, error) ||
        (fitted && !a->stack && !prefer_fitted_links(a, &words, error)))
        return NULL;
    spec.sets = (const char *const *)words.sets;
    spec.origins = (const char *const *)words.origins;
    spec.workload = NULL;
    spec.stack = a->stack ? a->stack : "bare";
    spec.global_batch = spec.sequence = 0;
    spec.gpus = ranks;
    return rh_inputs_load(&spec, error);
}

/* Prints a hint where a name of the hub means weights in a narrower format than is served. */
static void hint_stored(const RhArguments *a, const RhInputs *in)
{
    const char *stored = in->model ? in->model->stored_recipe : NULL;
    if (!stored || !rh_hub_is_id(a->workload) || rh_arguments_given(a, "--dtype"))
        return;
    g_autofree char *line = g_strdup_printf("note: weights of %s are stored in %s: --dtype %s",
                                            a->workload, stored, stored);
    rh_terminal_hint(line);
}

/* One sample of one token: what a job of training must say, and nothing here reads. */
RhInputs *rh_inputs_of_service(const RhArguments *a, GError **error)
{
    g_auto(Words) words = {0};
    RhInputsSpec spec;
    if (!spec_of(a, &words, &spec, error))
        return NULL;
    spec.stack = "bare";
    spec.global_batch = spec.sequence = 1;
    RhInputs *in = rh_inputs_load(&spec, error);
    if (in)
        hint_stored(a, in);
    return in;
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
