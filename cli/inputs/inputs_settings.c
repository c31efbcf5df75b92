#include "cli/inputs/inputs_settings.h"

#include <string.h>

#include "base/error.h"
#include "base/text/nearest_names.h"
#include "cli/capacity/prices.h"
#include "cli/inputs/job_keys.h"
#include "cli/output/terminal.h"
#include "platforms/platform_constants.h"
#include "platforms/profile.h"
#include "sim/collective/library_choice.h"
#include "strategies/knobs.h"
#include "strategies/software_stack_file.h"

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

const char *rh_inputs_key(const char *word)
{
    for (size_t i = 0; i < G_N_ELEMENTS(aliases); i++)
        if (strcmp(aliases[i].word, word) == 0)
            return aliases[i].key;
    return word;
}

/* Returns the names with a prefix, such as "lora.rank" for "lora."; NULL: none. Caller frees. */
static char *names_below(const char *prefix, const char *const *names)
{
    g_autoptr(GPtrArray) found = g_ptr_array_new();
    for (; *names; names++)
        if (g_str_has_prefix(*names, prefix))
            g_ptr_array_add(found, (void *)*names);
    g_ptr_array_add(found, NULL);
    return found->len > 1 ? g_strjoinv(", ", (char **)found->pdata) : NULL;
}

/* "device.*, nic.*, nodes": groups of keys stand for their members. Caller frees. */
static char *key_groups(const char *const *keys)
{
    g_autoptr(GPtrArray) groups = g_ptr_array_new_with_free_func(g_free);
    for (; *keys; keys++) {
        const char *dot = strchr(*keys, '.');
        g_autofree char *group =
            dot ? g_strdup_printf("%.*s.*", (int)(dot - *keys), *keys) : g_strdup(*keys);
        if (!g_ptr_array_find_with_equal_func(groups, group, g_str_equal, NULL))
            g_ptr_array_add(groups, g_steal_pointer(&group));
    }
    g_ptr_array_add(groups, NULL);
    return g_strjoinv(", ", (char **)groups->pdata);
}

/* Sets the model's error about an unknown key, with the keys of the job and of the platform in its
 * notes. */
static bool fail_with_all_keys(const GError *unknown, const char *const *platform, GError **error)
{
    g_autofree char *keys = g_strjoinv(", ", (char **)rh_job_keys());
    g_autofree char *groups = key_groups(platform);
    const char *help = strstr(unknown->message, "\nhelp: ");
    int facts = help ? (int)(help - unknown->message) : (int)strlen(unknown->message);
    return rh_fail(error, RH_ERROR_USAGE, "%.*s\nnote: of the job: %s\nnote: of the platform: %s%s",
                   facts, unknown->message, keys, groups, help ? help : "");
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
        near = rh_near_names(key, known, 3);
    g_autoptr(GError) of_model = unknown;
    if (!near || strstr(unknown->message, "\nhelp: "))
        return fail_with_all_keys(of_model, (const char *const *)platform, error);
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
        "nodes", "gpus_per_node", "nics_per_node", "price_per_gpu_hour", "pue", "library", NULL};
    return strchr(key, '.') || g_strv_contains(plain, key);
}

bool rh_inputs_set_platform(RhPlatform *platform, const char *key, const char *value,
                            GError **error)
{
    bool price = strcmp(key, "price_per_gpu_hour") == 0;
    bool library = strcmp(key, "library") == 0;
    if ((price ? rh_prices_set(platform, key, value, error)
               : rh_platform_set(platform, key, value, error)) &&
        (!library || rh_library_check_names(platform->library, error)))
        return true;
    g_prefix_error(error, "--set ");
    return false;
}

static bool set_stack(RhInputs *in, const char *key, const char *value, GError **error)
{
    if (!in->stack)
        in->stack = g_memdup2(in->c.stack, sizeof *in->stack);
    in->c.stack = in->stack;
    if (rh_stack_choose(in->stack, key, value, error))
        return true;
    g_prefix_error(error, "--set: ");
    return false;
}

bool rh_inputs_apply_set(RhInputs *in, const char *text, GError **error)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text || !equals[1])
        return rh_fail(error, RH_ERROR_USAGE,
                       "--set needs KEY=VALUE, \"%s\" given\nhelp: for example --set layers=4, "
                       "--set nic.bandwidth=200Gb/s",
                       text);
    g_autofree char *word = g_strndup(text, (gsize)(equals - text));
    const char *key = rh_inputs_key(word), *value = equals + 1;
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

bool rh_inputs_apply_together(RhInputs *in, const GArray *which, GError **error)
{
    g_autofree RhModelSetting *settings = g_new0(RhModelSetting, which->len);
    g_autoptr(GPtrArray) words = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; i < which->len; i++) {
        const char *text = in->sets[g_array_index(which, int, i)], *equals = strchr(text, '=');
        if (!equals)
            return false;
        char *word = g_strndup(text, (gsize)(equals - text));
        g_ptr_array_add(words, word);
        const char *key = rh_inputs_key(word);
        bool said = g_str_has_prefix(key, "model.");
        settings[i] = (RhModelSetting){said ? key + strlen("model.") : key, equals + 1};
    }
    g_autoptr(GError) why = NULL;
    if (rh_model_set_together(in->model, settings, which->len, &why))
        return true;
    if (!g_str_has_prefix(why->message, "unknown key"))
        g_propagate_error(error, g_steal_pointer(&why));
    return false;
}

const char *rh_inputs_ignored(const RhInputs *in, const char *key)
{
    return rh_stack_ignores(in->c.stack, in->hardware, key);
}

void rh_inputs_warn_ignored(const RhInputs *in, const RhPlatform *before)
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

bool rh_inputs_alone_on_gpus(const RhInputs *in, const char *command, GError **error)
{
    return !rh_clients_share(&in->c.job.clients) ||
           rh_fail(error, RH_ERROR_USAGE,
                   "clients=%d: %s counts GPUs of one process each\n"
                   "help: `rehearse plan` and `rehearse simulate` share them",
                   in->c.job.clients.count, command);
}
