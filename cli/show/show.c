/* rehearse show platforms|devices|workloads|strategies|stacks|recipes [NAME]: what there is, and what it
 * is. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text/nearest_names.h"
#include "cli/inputs/inputs_settings.h"
#include "cli/output/output_file.h"
#include "cli/parse/commands.h"
#include "cli/show/show_machine.h"
#include "cli/show/show_playground.h"
#include "cli/show/show_workload.h"
#include "platforms/devices/power.h"
#include "report/format.h"
#include "report/json/json_show.h"
#include "report/pictures/platform_picture.h"
#include "report/text_device.h"
#include "strategies/framework_rules.h"
#include "strategies/knobs.h"
#include "strategies/software_stack.h"
#include "workloads/precision_recipe.h"

static void print_json(const RhArguments *a, RhShowTopic topic, const GPtrArray *items)
{
    g_auto(GStrv) argv = rh_arguments_words(a->recorded);
    RhShown shown = {.version = RH_VERSION,
                     .argv = (const char *const *)argv,
                     .topic = topic,
                     .items = items,
                     .sequence = a->sequence};
    g_autofree char *json = rh_report_show_json(&shown);
    fputs(json, stdout);
}

/* --- platforms --- */

static bool list_platforms_json(const RhArguments *a, GError **error)
{
    g_autoptr(GPtrArray) items = g_ptr_array_new_with_free_func((GDestroyNotify)rh_platform_free);
    for (const char *const *name = rh_platform_names(); *name; name++) {
        RhPlatform *p = rh_platform_load(*name, error);
        if (!p)
            return false;
        g_ptr_array_add(items, p);
    }
    print_json(a, RH_SHOW_PLATFORMS, items);
    return true;
}

static bool list_platforms(GError **error)
{
    g_autoptr(GString) out = g_string_new(NULL);
    int indent = 12;
    for (const char *const *name = rh_platform_names(); *name; name++)
        indent = MAX(indent, (int)strlen(*name) + 1);
    for (const char *const *name = rh_platform_names(); *name; name++) {
        g_autoptr(RhPlatform) p = rh_platform_load(*name, error);
        if (!p)
            return false;
        g_autoptr(GString) tiers = g_string_new(NULL);
        for (int t = 0; t < p->tiers_count; t++)
            g_string_append_printf(tiers, "%s%s", t ? ", " : "", p->tiers[t].name);
        g_string_append_printf(out, "%-*s%d x %s per node; network: %s\n%*s", indent, *name,
                               p->gpus_per_node, p->device->name, tiers->str, indent, "");
        rh_text_wrap(out, p->description, indent, 79);
    }
    g_string_append(out,
                    "\nNAME:NODES sets the nodes; a cloud's name of an instance is a name, too\n"
                    "(p5.48xlarge:4); so is a file, or one line:\n"
                    "h100-sxm:8x4,ib:400Gb/s, of the devices that `show devices` lists\n"
                    "next: rehearse show platforms dgx-h100:4\n"
                    "      rehearse show devices\n");
    fputs(out->str, stdout);
    return true;
}

static bool show_platform(const RhArguments *a, const char *name, GError **error)
{
    g_autoptr(RhPlatform) p = rh_platform_load(name, error);
    if (!p)
        return false;
    for (guint i = 0; i < a->sets->len; i++) {
        g_auto(GStrv) parts = g_strsplit(g_ptr_array_index(a->sets, i), "=", 2);
        if (!parts[0] || !parts[1])
            return rh_fail(error, RH_ERROR_USAGE, "--set needs KEY=VALUE, \"%s\" given",
                           (const char *)g_ptr_array_index(a->sets, i));
        if (!rh_inputs_set_platform(p, parts[0], parts[1], error))
            return false;
    }
    if (!rh_power_of_host_agrees(p, error))
        return false;
    g_autofree char *svg = rh_platform_svg(p);
    for (guint i = 0; i < a->outputs->len; i++)
        if (!rh_output_write(g_ptr_array_index(a->outputs, i), svg, error))
            return false;
    if (a->json) {
        g_autoptr(GPtrArray) items = g_ptr_array_new();
        g_ptr_array_add(items, p);
        print_json(a, RH_SHOW_PLATFORMS, items);
        return true;
    }
    g_autofree char *text = rh_platform_text(p, a->verbosity > 0);
    fputs(text, stdout);
    return true;
}

static bool platforms(const RhArguments *a, const char *name, GError **error)
{
    return name      ? show_platform(a, name, error)
           : a->json ? list_platforms_json(a, error)
                     : list_platforms(error);
}

/* --- devices --- */

static GPtrArray *load_devices(const char *name, GError **error)
{
    g_autoptr(GPtrArray) items = g_ptr_array_new_with_free_func((GDestroyNotify)rh_device_free);
    const char *const one[] = {name, NULL};
    for (const char *const *n = name ? one : rh_device_names(); *n; n++) {
        RhDevice *d = rh_device_load(*n, error);
        if (!d)
            return NULL;
        g_ptr_array_add(items, d);
    }
    return g_steal_pointer(&items);
}

static bool devices(const RhArguments *a, const char *name, GError **error)
{
    g_autoptr(GPtrArray) items = load_devices(name, error);
    if (!items)
        return false;
    if (a->json) {
        print_json(a, RH_SHOW_DEVICES, items);
        return true;
    }
    g_autofree char *text = !name ? rh_devices_text(items)
                            : a->templated
                                ? rh_device_template(g_ptr_array_index(items, 0))
                                : rh_device_text(g_ptr_array_index(items, 0), a->verbosity > 0);
    fputs(text, stdout);
    return true;
}

/* --- strategies --- */

/* Appends the words that the knob takes, where its description leaves several of them out. */
static void append_words(GString *line, const RhKnob *knob)
{
    g_autoptr(GString) words = g_string_new(NULL);
    int32_t unsaid = 0, count = knob->names ? (int32_t)g_strv_length((char **)knob->names) : 0;
    /* values below 0 and behind the names are lists and sets, as layers and modules to recompute */
    for (int32_t i = MAX(knob->low, 0); !knob->words && i <= MIN(knob->high, count - 1); i++) {
        const char *word = knob->names[i];
        unsaid += !strstr(knob->about, word) && !strstr(knob->example, word);
        g_string_append_printf(words, "%s%s", words->len ? ", " : "", word);
    }
    if (unsaid > 1)
        g_string_append_printf(line, "; words: %s", words->str);
}

/* Every knob of a layout, and what keys left out mean; caller frees. */
static char *strategies_text(void)
{
    g_autoptr(GString) out =
        g_string_new("A strategy (layout) says how a job is divided over the GPUs. Its keys are\n"
                     "separated by commas: tp8,pp16,mb1\n\n");
    for (const RhKnob *knob = rh_knobs; knob->key; knob++) {
        g_string_append_printf(out, "  %-22s ", knob->example);
        g_autoptr(GString) line = g_string_new(knob->about);
        append_words(line, knob);
        rh_text_wrap(out, line->str, 25, 79);
    }
    RhLayout layout = rh_layout_default();
    g_autofree char *text = rh_layout_format(&layout);
    g_auto(GStrv) keys = g_strsplit(text, ",", -1);
    g_autofree char *spaced = g_strjoinv(", ", keys);
    g_string_append(out, "\ndefaults: ");
    rh_text_wrap(out, spaced, 10, 79);
    return g_string_free(g_steal_pointer(&out), FALSE);
}

static bool strategies(const RhArguments *a, const char *name, GError **error)
{
    RhLayout layout = rh_layout_default();
    if (name && !rh_layout_parse(name, &layout, error))
        return false;
    if (a->json) {
        g_autoptr(GPtrArray) items = g_ptr_array_new();
        g_ptr_array_add(items, &layout);
        print_json(a, RH_SHOW_STRATEGIES, items);
        return true;
    }
    if (name) {
        g_autofree char *title = rh_layout_title(&layout);
        g_autofree char *full = rh_layout_format(&layout);
        printf("%s\n%s\n%s", title, full,
               layout.dp == 0 ? "dp is left out: as many replicas as the GPUs allow\n" : "");
        return true;
    }
    g_autofree char *list = strategies_text();
    fputs(list, stdout);
    puts("next: rehearse help simulate");
    return true;
}

/* --- stacks --- */

/* Appends a fact; with its source where that is wanted. */
static void append_fact(GString *out, const char *name, const RhFact *fact, RhQuantity kind,
                        bool sources)
{
    g_autofree char *value = rh_quantity_format(fact->value, kind, 3);
    g_string_append_printf(out, "  %-34s %10s  %s\n", name, value, rh_tag_name(fact->tag));
    if (!sources)
        return;
    g_string_append(out, "      ");
    rh_text_wrap(out, fact->source, 6, 79);
}

/* Appends the framework that runs a stack, its version, and what it refuses. */
static void append_framework(GString *out, const RhStack *s, bool sources)
{
    const RhFrameworkRules *rules = rh_framework_rules(s->framework, NULL);
    if (!rules)
        return;
    g_autofree char *head = g_strdup_printf("framework: %s (%s)", rules->title, rules->project);
    rh_text_wrap(out, head, 2, 79);
    g_string_append(out, "layouts that it does not run, and plans leave out:\n");
    for (int32_t i = 0; i < rules->rules_count; i++) {
        const RhFrameworkRule *rule = &rules->rules[i];
        g_auto(GStrv) terms = g_strsplit(rule->when, ",", -1);
        g_autofree char *when = g_strjoinv(", ", terms);
        g_autofree char *line =
            sources ? g_strdup_printf("%s: it %s (%s)", when, rule->why, rule->where)
                    : g_strdup_printf("%s: it %s", when, rule->why);
        g_string_append(out, "  ");
        rh_text_wrap(out, line, 4, 79);
    }
}

/* Appends the facts of the kernel forms that the stack uses. */
static void append_passes(GString *out, const RhStack *s, bool sources)
{
    const RhPasses *t = &s->passes;
    append_fact(out, "norm, bytes moved per element",
                s->fused_norms ? &t->norm_bytes : &t->eager_norm_bytes, RH_QUANTITY_COUNT, sources);
    append_fact(out, "norm backward, bytes over forward", &t->backward_excess, RH_QUANTITY_COUNT,
                sources);
    if (s->flash_attention)
        return;
    if (!s->fused_softmax)
        append_fact(out, "softmax, bytes moved per element", &t->eager_softmax_bytes,
                    RH_QUANTITY_COUNT, sources);
    append_fact(out, "backward of softmax, bytes/element",
                s->fused_softmax ? &t->softmax_backward_bytes : &t->eager_softmax_backward_bytes,
                RH_QUANTITY_COUNT, sources);
}

/* Appends the rule by which buckets of gradients are closed. */
static void append_buckets(GString *out, const RhStack *s, bool sources)
{
    const RhFact *bytes = &s->bucket_bytes, *first = &s->first_bucket_bytes;
    bool params = bytes->value <= 0;
    append_fact(out, params ? "gradient bucket, parameters" : "gradient bucket",
                params ? &s->bucket_params : bytes, params ? RH_QUANTITY_COUNT : RH_QUANTITY_BYTES,
                sources);
    if (params && s->bucket_params_per_replica.value > 0)
        append_fact(out, "but at least, times dp", &s->bucket_params_per_replica, RH_QUANTITY_COUNT,
                    sources);
    if (!params && first->value > 0)
        append_fact(out, "first one of a backward", first, RH_QUANTITY_BYTES, sources);
    if (s->bucket_cycle_s.value > 0)
        append_fact(out, "or what is ready after", &s->bucket_cycle_s, RH_QUANTITY_S, sources);
    if (s->buckets.value > 0)
        append_fact(out, "gradient buckets held at once", &s->buckets, RH_QUANTITY_COUNT, sources);
}

static bool show_stack(const RhArguments *a, const char *name, GError **error)
{
    const RhStack *s = rh_stack_by_name(name, error);
    if (!s)
        return false;
    if (a->json) {
        g_autoptr(GPtrArray) items = g_ptr_array_new();
        g_ptr_array_add(items, (void *)s);
        print_json(a, RH_SHOW_STACKS, items);
        return true;
    }
    bool sources = a->verbosity > 0;
    g_autoptr(GString) out = g_string_new(NULL);
    g_string_printf(out, "%s: ", s->name);
    rh_text_wrap(out, s->about, (int)out->len, 79);
    if (s->attention_frac.value > 0)
        append_fact(out, "fused attention, of the device's rate", &s->attention_frac,
                    RH_QUANTITY_FRAC, sources);
    append_fact(out, "launch gap after a kernel", &s->kernel_gap_s, RH_QUANTITY_S, sources);
    append_fact(out, "NVLink in training, of its rate", &s->nvlink_training_frac, RH_QUANTITY_FRAC,
                sources);
    append_fact(out, "NIC in training, of its rate", &s->nic_training_frac, RH_QUANTITY_FRAC,
                sources);
    append_fact(out, "slow nodes, step per doubling", &s->straggler_frac, RH_QUANTITY_FRAC,
                sources);
    append_fact(out, "Adam, bytes moved per parameter", &s->optimizer_bytes, RH_QUANTITY_COUNT,
                sources);
    append_passes(out, s, sources);
    append_buckets(out, s, sources);
    append_fact(out, "memory of CUDA and NCCL", &s->reserve_bytes, RH_QUANTITY_BYTES, sources);
    if (!sources)
        g_string_append(out, "  -v: where each is from\n");
    append_framework(out, s, sources);
    fputs(out->str, stdout);
    return true;
}

static bool stacks(const RhArguments *a, const char *name, GError **error)
{
    if (name)
        return show_stack(a, name, error);
    g_autoptr(GPtrArray) items = g_ptr_array_new();
    int width = 0;
    for (const char *const *n = rh_stack_names(); *n; n++) {
        const RhStack *s = rh_stack_by_name(*n, error);
        if (!s)
            return false;
        g_ptr_array_add(items, (void *)s);
        width = MAX(width, (int)strlen(*n));
    }
    if (a->json) {
        print_json(a, RH_SHOW_STACKS, items);
        return true;
    }
    g_autoptr(GString) out = g_string_new(NULL);
    for (guint i = 0; i < items->len; i++) {
        const RhStack *s = g_ptr_array_index(items, i);
        g_string_append_printf(out, "%-*s  ", width, s->name);
        rh_text_wrap(out, s->about, width + 2, 79);
    }
    fputs(out->str, stdout);
    puts("next: rehearse show stacks megatron");
    return true;
}

/* --- recipes --- */

static void append_bytes(GString *out, const char *what, double bytes)
{
    g_string_append_printf(out, "  %-52s %5.4g B\n", what, bytes);
}

static bool show_recipe(const RhArguments *a, const char *name, GError **error)
{
    const RhRecipe *r = rh_recipe_by_name(name);
    if (!r)
        return rh_fail(error, RH_ERROR_USAGE,
                       "there is no recipe \"%s\"\nhelp: rehearse show recipes", name);
    if (a->json) {
        g_autoptr(GPtrArray) items = g_ptr_array_new();
        g_ptr_array_add(items, (void *)r);
        print_json(a, RH_SHOW_RECIPES, items);
        return true;
    }
    g_autoptr(GString) out = g_string_new(NULL);
    g_string_printf(out,
                    "%s: %s\n  linear layers multiply in %s, all else is %s; bytes per element:\n",
                    r->name, r->title, rh_dtype_name(r->linear), rh_dtype_name(r->dtype));
    append_bytes(out, "operand of a linear layer", r->operand_bytes);
    append_bytes(out, "kept of its input for the backward pass", r->kept_bytes);
    append_bytes(out, "moved by casting an input, or an output's gradient", r->cast_bytes);
    append_bytes(out, "moved by casting a weight, once a step", r->weight_cast_bytes);
    append_bytes(out, "copies of a weight, held beside it", r->weight_copy_bytes);
    append_bytes(out, "of a token on its way to experts", r->dispatch_bytes);
    if (r->weight_alone_bytes > 0)
        append_bytes(out,
                     r->experts_alone ? "of a weight of experts, which alone is narrow"
                                      : "of a weight, which alone is narrow",
                     r->weight_alone_bytes);
    if (r->depth_frac > 0)
        g_string_append_printf(out, "  products skip zeros: %g of their depth is multiplied\n",
                               r->depth_frac);
    g_string_append(out, "  source: ");
    rh_text_wrap(out, r->source, 10, 79);
    fputs(out->str, stdout);
    return true;
}

static bool recipes(const RhArguments *a, const char *name, GError **error)
{
    if (name)
        return show_recipe(a, name, error);
    if (a->json) {
        g_autoptr(GPtrArray) items = g_ptr_array_new();
        for (const RhRecipe *const *r = rh_recipes(); *r; r++)
            g_ptr_array_add(items, (void *)*r);
        print_json(a, RH_SHOW_RECIPES, items);
        return true;
    }
    for (const RhRecipe *const *r = rh_recipes(); *r; r++)
        printf("%-13s %s\n", (*r)->name, (*r)->title);
    puts("next: rehearse show recipes fp8; then plan or simulate with --dtype fp8");
    return true;
}

/* --- the command --- */

static bool workloads(const RhArguments *a, const char *name, GError **error)
{
    if (!a->json)
        return rh_show_workloads(a, name, error);
    g_autoptr(GPtrArray) items = rh_show_workloads_items(a, name, error);
    if (!items)
        return false;
    print_json(a, RH_SHOW_WORKLOADS, items);
    return true;
}

static const struct {
    const char *name;
    bool (*show)(const RhArguments *a, const char *name, GError **error);
    bool draws;
} topics[] = {{"platforms", platforms, true},  {"devices", devices, false},
              {"workloads", workloads, false}, {"strategies", strategies, false},
              {"stacks", stacks, false},       {"recipes", recipes, false}};

static bool check_outputs(const RhArguments *a, bool draws, const char *name, GError **error)
{
    static const RhOutput svg[] = {RH_OUTPUT_SVG, RH_OUTPUT_NONE};
    if (a->outputs->len > 0 && (!draws || !name))
        return rh_fail(error, RH_ERROR_USAGE,
                       "-o: only `show platforms NAME` draws a picture, as .svg");
    return rh_outputs_check(a->outputs, svg, error);
}

/* "devices", or "device" of one. */
static bool is_topic(const char *name, const char *word)
{
    size_t length = strlen(word);
    return g_str_has_prefix(name, word) && strlen(name) - length <= 1 &&
           g_str_has_suffix(name, "s");
}

static bool check_template(const RhArguments *a, const char *topic, const char *name,
                           GError **error)
{
    if (a->templated && (!is_topic("devices", topic) || !name || a->json))
        return rh_fail(error, RH_ERROR_USAGE, "--template: `show devices NAME` alone prints one");
    return true;
}

/* Names of files go with --from-machine alone, of platforms. */
static bool check_words(const RhArguments *a, const char *topic, GError **error)
{
    if (a->from_machine && !is_topic("platforms", topic))
        return rh_fail(error, RH_ERROR_USAGE, "--from-machine goes with `show platforms`");
    if (a->operands->len > 2 && !a->from_machine)
        return rh_fail(error, RH_ERROR_USAGE,
                       "show: \"%s\" is one word too many\nnote: usage: rehearse show TOPIC [NAME] "
                       "[options]",
                       (const char *)g_ptr_array_index(a->operands, 2));
    return true;
}

static int from_machine(const RhArguments *a, GError **error)
{
    static const RhOutput kinds[] = {RH_OUTPUT_JSON, RH_OUTPUT_NONE};
    if (!rh_outputs_check(a->outputs, kinds, error))
        return 2;
    return rh_show_machine(a, error) ? 0 : 3;
}

static int run(const RhArguments *a, GError **error)
{
    const char *topic = g_ptr_array_index(a->operands, 0);
    if (!check_words(a, topic, error))
        return 2;
    if (a->from_machine)
        return from_machine(a, error);
    if (strcmp(topic, "playground") == 0)
        return rh_show_playground(a, error)                                 ? 0
               : error && g_error_matches(*error, RH_ERROR, RH_ERROR_USAGE) ? 2
                                                                            : 3;
    const char *name = a->operands->len > 1 ? g_ptr_array_index(a->operands, 1) : NULL;
    const char *names[G_N_ELEMENTS(topics) + 1] = {NULL};
    for (size_t i = 0; i < G_N_ELEMENTS(topics); i++) {
        names[i] = topics[i].name;
        if (!is_topic(topics[i].name, topic))
            continue;
        if (!check_template(a, topic, name, error) ||
            !check_outputs(a, topics[i].draws, name, error))
            return 2;
        return topics[i].show(a, name, error) ? 0 : 3;
    }
    const char *near = rh_near_name(topic, names);
    rh_fail(error, RH_ERROR_USAGE,
            "there is nothing called \"%s\" to show\nnote: platforms, devices, workloads, "
            "strategies, stacks, recipes, playground%s%s",
            topic, near ? "\nhelp: a similar name exists: " : "", near ? near : "");
    return 2;
}

static const RhOption own[] = {
    RH_OPTION(outputs, "output", 'o', RH_OPTION_LIST, "FILE",
              "write a platform's picture, as .svg; with --from-machine the platform, as "
              ".json; of playground the page, as .html",
              .neutral = true),
    RH_OPTION(sequence, "seq", 0, RH_OPTION_INTEGER, "S",
              "tokens of a sample, for the kernels of a workload (8,192, or as many as the "
              "model has positions)",
              .low = 1, .binary = true, .high = 1 << 28),
    RH_OPTION(templated, "template", 0, RH_OPTION_FLAG, NULL,
              "print a device as a file, from which to begin one's own", .neutral = true),
    RH_OPTION(from_machine, "from-machine", 0, RH_OPTION_FLAG, NULL,
              "platforms: make a platform from what nvidia-smi, lstopo and Slurm print, in "
              "files or on this machine"),
    RH_OPTION(sets, "set", 0, RH_OPTION_LIST, "KEY=VALUE",
              "change one constant, as --set of plan does"),
    RH_OPTION(json, "json", 0, RH_OPTION_FLAG, NULL, "one JSON document on stdout, nothing else",
              .neutral = true),
    RH_OPTION(verbosity, "verbose", 'v', RH_OPTION_COUNT, NULL, "also the source of every constant",
              .neutral = true),
    {0}};
static const RhOption *const tables[] = {own, rh_options_terminal, rh_options_help, NULL};

static const RhTopic words[] = {{"platforms", rh_platform_names},
                                {"devices", rh_device_names},
                                {"workloads", rh_model_names},
                                {"strategies", NULL},
                                {"stacks", rh_stack_names},
                                {"recipes", NULL},
                                {"playground", NULL},
                                {0}};

const RhCommand rh_command_show = {
    .name = "show",
    .topics = words,
    .operands = "TOPIC [NAME]",
    .operands_low = 1,
    .operands_high = 256, /* files of --from-machine */
    .summary = "the platforms, devices, workloads, strategies, ... there are",
    .about = "TOPIC: platforms, devices, workloads, strategies, stacks, recipes or playground.\n"
             "Without NAME: a list. With NAME: a platform as a picture (nodes, switches, NICs,\n"
             "rails and tiers, each number with the letter of its source), a device's data\n"
             "sheet and constants (--template: a file to describe your own GPU), a workload's\n"
             "parameters and operators, a strategy in words, a stack's constants, the formats\n"
             "of a recipe of number formats.\n\n"
             "`show platforms --from-machine [FILE...]` makes a platform file from what tools\n"
             "print about a machine: nvidia-smi --query-gpu=name,memory.total,power.limit\n"
             "--format=csv or nvidia-smi -q; nvidia-smi topo -m; lstopo --of xml; a Slurm list\n"
             "of nodes or an MPI hostfile. Without files this machine is queried. It derives\n"
             "from the nearest node of the catalogue; each figure names its source.\n\n"
             "`show playground -o play.html` writes a page on which model, cluster and layout\n"
             "are sliders: a lower bound of the step, where it goes, and memory, all computed\n"
             "beforehand.\n",
    .examples = "rehearse show platforms\nrehearse show platforms dgx-h100:4 -o cluster.svg\n"
                "rehearse show devices h100-sxm --template >my-gpu.json\n"
                "rehearse show workloads llama-3.1-70b --seq 8192\nrehearse show strategies\n"
                "rehearse show platforms --from-machine topo.txt gpus.csv nodes.txt -o my.json\n"
                "rehearse show playground -o play.html",
    .tables = tables,
    .run = run,
};
