#include "strategies/launch/launch.h"

#include <string.h>

#include "base/error.h"
#include "base/units.h"
#include "strategies/framework_rules.h"
#include "strategies/launch/framework.h"
#include "strategies/train/block_cost.h"

#define ADDRESS(name) &rh_framework_##name,
static const RhFramework *const frameworks[] = {RH_FRAMEWORKS(ADDRESS)};

/* Checks that the framework has options for all features of the model; names the first one
 * missing. */
static bool check_features(const RhFramework *f, const RhProblem *c, GError **error)
{
    static const struct {
        RhFeature feature;
        const char *what;
    } features[] = {
        {RH_FEATURE_ENCODER, "layers that look at an encoder's tokens"},
        {RH_FEATURE_SHARED, "narrow tables, and of layers that share parameters"},
        {RH_FEATURE_BESIDE, "embeddings of layers, or of keys that these share"},
        {RH_FEATURE_KINDS, "layers of several kinds"},
        {RH_FEATURE_LATENT | RH_FEATURE_MIXER | RH_FEATURE_WINDOW, "its attention"},
        {RH_FEATURE_NORMS, "norms behind its blocks"},
        {RH_FEATURE_FRONT, "what stands before its first layer"},
        {RH_FEATURE_FFN, "its feed-forward layers"},
        {RH_FEATURE_EXPERTS, "experts with biases, in a latent, or shared ones behind a gate"}};
    uint32_t unsaid = rh_model_features(c->model) & ~f->features;
    for (size_t i = 0; i < G_N_ELEMENTS(features); i++)
        if (unsaid & (uint32_t)features[i].feature)
            return rh_launch_fail_model(f, c, features[i].what, error);
    return true;
}

static const RhLaunchOption *word_of(const RhFramework *f, const RhKnob *knob)
{
    for (int32_t i = 0; i < f->words_count; i++)
        if (strcmp(f->words[i].key, knob->key) == 0)
            return &f->words[i];
    return NULL;
}

static bool write_knob(RhLaunchText *t, const RhFramework *f, const RhKnob *knob, GError **error)
{
    const RhLaunchOption *word = word_of(f, knob);
    int32_t value = rh_knob_value(knob, t->layout);
    if (!word)
        return value == knob->otherwise || rh_launch_fail_knob(f, knob, value, error);
    if (word->write)
        return word->write(t, error);
    if (word->values && (value >= word->values_count || !word->values[value]))
        return rh_launch_fail_knob(f, knob, value, error);
    if (word->values && *word->values[value])
        rh_launch_write(t, "%s", word->values[value]);
    if (word->flag)
        rh_launch_write(t, "%s %d", word->flag, value);
    return true;
}

/* Notes the memory that is held while the model is built, and checks that the host has it. */
static bool note_start(RhLaunchText *t, const RhFramework *f, GError **error)
{
    const RhLaunchStart *s = f->starts;
    if (t->c->job.frozen)
        return true;
    while (s->how && (s->zero_most < t->layout->zero || (s->adapts && t->c->job.lora.rank == 0)))
        s++;
    if (!s->how)
        return true;
    int32_t ranks = MIN(t->c->job.gpus, t->c->platform->gpus_per_node);
    double bytes =
        (double)s->host_bytes * (double)rh_model_params(t->c->model) * (s->once ? 1 : ranks);
    const char *who = s->once ? "one rank of each node" : "each rank";
    double there = t->c->platform->host_bytes.value;
    g_autofree char *needed = rh_quantity_format(bytes, RH_QUANTITY_BYTES, 3);
    g_autofree char *has = rh_quantity_format(there, RH_QUANTITY_BYTES, 3);
    if (there > 0 && bytes > there)
        return rh_fail(error, RH_ERROR_USAGE,
                       "%s at its start: %s %s (%s); %d ranks need %s of a host that has %s\n"
                       "help: `zero=3`, whose weights are shared out while they are made",
                       f->title, who, s->how, s->where, ranks, needed, has);
    if (bytes > 0)
        rh_launch_note(t, "while it starts, %s %s, which needs %s of a node's host memory (%s)",
                       who, s->how, needed, s->where);
    else
        rh_launch_note(t, "while it starts, %s %s, which needs no more memory than a step (%s)",
                       who, s->how, s->where);
    return true;
}

/* Checks formats of which no framework here is told. */
static bool check_formats(const RhFramework *f, const RhProblem *c, GError **error)
{
    if (rh_weight_bytes(c) < RH_MASTER_BYTES && c->job.no_masters)
        return rh_fail(error, RH_ERROR_USAGE,
                       "%s: how training without master weights is told of it is not supported\n"
                       "help: plan without a launch, or without masters=none",
                       f->title);
    if (c->job.preference != RH_PREFERENCE_NONE)
        return rh_fail(error, RH_ERROR_USAGE,
                       "%s: how pairs of sequences are told of it is not supported\n"
                       "help: plan without a launch, or without preference",
                       f->title);
    if (c->job.frozen && !(f->holds_nf4 && g_str_has_prefix(c->job.frozen->name, "nf4")))
        return rh_fail(error, RH_ERROR_USAGE,
                       "%s: how frozen weights in %s are told of it is not supported\n"
                       "help: launch PEFT, with `lora.base=nf4`, or plan without a launch",
                       f->title, c->job.frozen->name);
    return true;
}

static bool write_all(RhLaunchText *t, const RhFramework *f, GError **error)
{
    const RhFrameworkRules *rules = rh_framework_rules(f->name, error);
    if (!rules)
        return false;
    const RhFrameworkRule *broken = rh_framework_refusal(rules, t->c, t->layout);
    if (broken)
        return rh_framework_fail(rules, broken, "", error);
    if (!check_formats(f, t->c, error) || !f->check(t->c, t->layout, error))
        return false;
    if (!f->words && !rh_launch_write_rows(t, f, error))
        return false;
    for (const RhKnob *knob = rh_knobs; f->words && knob->key; knob++)
        if (!write_knob(t, f, knob, error))
            return false;
    if (!f->write_rest(t, error) || !note_start(t, f, error))
        return false;
    if (t->extras->preflight && f->starts_itself)
        return rh_fail(error, RH_ERROR_USAGE,
                       "--preflight measures with PyTorch, which %s does not use\n"
                       "help: leave --preflight out",
                       f->title);
    return !t->extras->preflight || rh_launch_preflight(t->c, t, error);
}

static const RhFramework *find_framework(const char *name, GError **error)
{
    for (size_t i = 0; i < G_N_ELEMENTS(frameworks); i++)
        if (strcmp(frameworks[i]->name, name) == 0)
            return frameworks[i];
    g_autofree char *names = g_strjoinv(", ", (char **)rh_launch_frameworks());
    rh_fail(error, RH_ERROR_USAGE,
            "no launch flags for \"%s\" in this version\nnote: frameworks: %s", name, names);
    return NULL;
}

/* Name of a job: "llama-3.1-8b" of any path. */
static char *job_name(const RhModel *model)
{
    g_autofree char *base = g_path_get_basename(model->name);
    return g_strdup(g_strcanon(base, G_CSET_a_2_z G_CSET_A_2_Z G_CSET_DIGITS ".-", '-'));
}

RhLaunch *rh_launch_new(const char *framework, const RhProblem *c, const RhLayout *layout,
                        GError **error)
{
    return rh_launch_new_with(framework, c, layout, NULL, error);
}

RhLaunch *rh_launch_new_with(const char *framework, const RhProblem *c, const RhLayout *layout,
                             const RhLaunchOptions *extras, GError **error)
{
    static const RhLaunchOptions none = {0};
    const RhFramework *f = find_framework(framework, error);
    if (!f)
        return NULL;
    int32_t gpus = c->job.gpus, most = c->platform->gpus_per_node;
    if (gpus > most && gpus % most != 0) {
        rh_fail(error, RH_ERROR_USAGE,
                "%d GPUs fill no whole nodes of %d: torchrun starts as many ranks on each\n"
                "help: `gpus=%d`",
                gpus, most, gpus / most * most);
        return NULL;
    }
    if (!check_features(f, c, error))
        return NULL;
    RhLaunchText t = {.c = c,
                      .layout = layout,
                      .extras = extras ? extras : &none,
                      .environment = g_string_new(NULL),
                      .files = g_string_new(NULL),
                      .flags = g_string_new(NULL),
                      .notes = g_string_new(NULL)};
    rh_launch_sizes_of(c->model, t.sizes);
    bool fine = write_all(&t, f, error);
    RhLaunch *launch = g_new0(RhLaunch, 1);
    *launch =
        (RhLaunch){.title = f->title,
                   .version = f->version,
                   .program = t.program ? t.program : f->program,
                   .preflight = t.extras->preflight ? g_strdup(RH_LAUNCH_PREFLIGHT_FILE) : NULL,
                   .starts_itself = f->starts_itself,
                   .nodes = MAX(1, gpus / most),
                   .gpus_of_node = MIN(gpus, most),
                   .name = job_name(c->model),
                   .environment = g_string_free(t.environment, FALSE),
                   .files = g_string_free(t.files, FALSE),
                   .flags = g_string_free(t.flags, FALSE),
                   .notes = g_string_free(t.notes, FALSE)};
    if (!fine)
        g_clear_pointer(&launch, rh_launch_free);
    return launch;
}

void rh_launch_free(RhLaunch *launch)
{
    if (!launch)
        return;
    g_free(launch->name);
    g_free(launch->environment);
    g_free(launch->files);
    g_free(launch->flags);
    g_free(launch->preflight);
    g_free(launch->notes);
    g_free(launch);
}

const char *const *rh_launch_frameworks(void)
{
    static const char *names[G_N_ELEMENTS(frameworks) + 1];
    for (size_t i = 0; i < G_N_ELEMENTS(frameworks); i++)
        names[i] = frameworks[i]->name;
    return names;
}
