/* rehearse check FILE...: reads files the way the other commands would, and says how they were
 * understood. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text/text_input.h"
#include "base/text/toml.h"
#include "base/text/yaml.h"
#include "cli/check_hub_files.h"
#include "cli/check_requests.h"
#include "cli/check_tool_output.h"
#include "cli/check_unsupported_files.h"
#include "cli/inputs/launch_input.h"
#include "cli/inputs/result_file.h"
#include "cli/output/terminal.h"
#include "cli/parse/commands.h"
#include "cli/serve/launched_service.h"
#include "platforms/profile.h"
#include "report/format.h"
#include "sim/import/imported_trace.h"
#include "strategies/serve/service/vector_index.h"
#include "validate/cases/cases_table.h"

/* Reads the file and appends its notes; NULL in `error` when it is fine. */
typedef bool (*CheckFunc)(const char *path, GString *notes, GError **error);

/* Adds a note about quantized weights: their effect, and the option for it. */
static void note_stored(GString *notes, const RhModel *m)
{
    if (m->stored_as == NULL)
        return;
    g_string_append_printf(notes, "note: its weights are stored as \"%s\"", m->stored_as);
    if (m->stored_recipe != NULL)
        g_string_append_printf(notes, ": --dtype %s says so; without it they are in 16 bits\n",
                               m->stored_recipe);
    else
        g_string_append(notes, ", which no recipe is: bytes are those of --dtype, or 16 bits\n");
}

/* Adds which parts of a multimodal model are not counted. */
static void note_parts(const char *path, GString *notes)
{
    bool is_folder = g_file_test(path, G_FILE_TEST_IS_DIR);
    g_autofree char *file =
        is_folder ? g_build_filename(path, "config.json", NULL) : g_strdup(path);
    g_autoptr(RhJson) doc = rh_json_load(file, NULL);
    if (doc)
        rh_hub_note_parts(rh_json_root(doc), notes);
}

static bool check_model(const char *path, GString *notes, GError **error)
{
    g_autoptr(RhModel) m = rh_model_load(path, error);
    if (!m)
        return false;
    const RhLayerKind *k = rh_model_attention_kind(m);
    g_autofree char *params = rh_text_count(rh_model_params(m));
    g_string_append_printf(notes, "workload, family %s, %s parameters\n", m->family, params);
    if (rh_model_sees_pictures(m)) {
        g_string_append_printf(
            notes, "note: %d layers on pictures of %d x %d x %d, %" G_GINT64_FORMAT " classes\n",
            m->layers_count, m->picture.height, m->picture.width, m->picture.channels, m->vocab);
        return true;
    }
    g_string_append_printf(notes,
                           "note: %d layers, hidden %" G_GINT64_FORMAT ", %d heads of %d (%d "
                           "key-value), ffn %" G_GINT64_FORMAT ", vocabulary %" G_GINT64_FORMAT
                           "\n",
                           m->layers_count, m->hidden, k->heads, k->head_size, k->kv_heads,
                           rh_model_ffn_kind(m)->ffn_width, m->vocab);
    note_stored(notes, m);
    note_parts(path, notes);
    return true;
}

static void note_fact(GString *notes, const char *name, const RhFact *fact, RhQuantity kind,
                      const char *unit)
{
    g_autofree char *value = rh_quantity_format(fact->value, kind, 3);
    g_string_append_printf(notes, "note: %s read as %s%s (%s)\n", name, value, unit,
                           rh_tag_name(fact->tag));
}

static bool check_platform(const char *path, GString *notes, GError **error)
{
    g_autoptr(RhPlatform) p = rh_platform_load(path, error);
    if (!p)
        return false;
    g_autofree char *devices = rh_platform_devices_text(p);
    g_string_append_printf(notes, "platform %s, %d node%s of %d %s\n", p->name, p->nodes_count,
                           p->nodes_count == 1 ? "" : "s", p->gpus_per_node, devices);
    note_fact(notes, "nvlink.bandwidth", &p->nvlink_bytes_per_s, RH_QUANTITY_BYTES_PER_S,
              " per GPU and direction");
    g_autofree char *nics = g_strdup_printf(" = %.3g Gb/s per NIC, %d NICs per node",
                                            p->nic_bytes_per_s.value * 8 / 1e9, p->nics_per_node);
    note_fact(notes, "nic.bandwidth", &p->nic_bytes_per_s, RH_QUANTITY_BYTES_PER_S, nics);
    for (int t = 0; t < p->tiers_count; t++)
        note_fact(notes, p->tiers[t].name, &p->tiers[t].hop_latency_s, RH_QUANTITY_S,
                  " more for each hop");
    return true;
}

static bool check_device(const char *path, GString *notes, GError **error)
{
    g_autoptr(RhDevice) d = rh_device_load(path, error);
    if (!d)
        return false;
    g_string_append_printf(notes, "device %s, %d SMs\n", d->name, d->sms_count);
    note_fact(notes, "bf16 peak", &d->peak_flops_per_s[RH_DTYPE_BF16], RH_QUANTITY_FLOPS_PER_S, "");
    note_fact(notes, "memory", &d->hbm_bytes, RH_QUANTITY_BYTES, "");
    note_fact(notes, "memory bandwidth", &d->hbm_bytes_per_s, RH_QUANTITY_BYTES_PER_S, "");
    return true;
}

static bool check_index(const char *path, GString *notes, GError **error)
{
    g_autofree RhVectorIndex *index = rh_vector_index_load(path, error);
    if (!index)
        return false;
    g_autofree char *search =
        rh_quantity_format(rh_vector_index_search_s(index, 1, 1), RH_QUANTITY_S, 3);
    g_autofree char *rate = rh_text_number(rh_vector_index_most_per_s(index), 3);
    g_string_append_printf(notes,
                           "index %s, %" G_GINT64_FORMAT " vectors; a search of all hops %s by "
                           "itself, %s/s by %d thread%s\n",
                           index->name, index->vectors, search, rate, index->threads,
                           index->threads == 1 ? "" : "s");
    for (int32_t i = 0; i < index->tiers_count; i++) {
        g_autofree char *bytes =
            rh_quantity_format(rh_vector_index_tier_bytes(index, i), RH_QUANTITY_BYTES, 3);
        g_autofree char *stored = g_strdup_printf(" in a read; %s lie there", bytes);
        note_fact(notes, index->tiers[i].name, &index->tiers[i].latency_s, RH_QUANTITY_S, stored);
    }
    return true;
}

static bool check_result(const char *path, GString *notes, GError **error)
{
    g_autoptr(RhResult) r = rh_result_load(path, error);
    if (!r)
        return false;
    g_string_append_printf(notes, "result of %s, %u layout%s for %s on %s\n",
                           r->is_plan ? "plan" : "simulate", r->plans->len,
                           r->plans->len == 1 ? "" : "s", r->workload, r->platform);
    return true;
}

static bool check_program(const char *path, GString *notes, GError **error)
{
    g_autoptr(RhJson) doc = rh_json_load(path, error);
    g_autoptr(RhProgram) p = doc ? rh_program_from_json(doc, error) : NULL;
    if (!p)
        return false;
    g_string_append_printf(notes, "program of %d ranks in %u roles, %u tasks\n", p->ranks_count,
                           p->roles->len, p->tasks->len);
    return true;
}

/* Is it a rank's Chakra trace in JSON: an array of objects whose types end in "_NODE"? */
static bool is_chakra(RhJson *doc)
{
    const RhJsonNode *root = rh_json_root(doc);
    const RhJsonNode *first = rh_json_kind(root) == RH_JSON_ARRAY ? rh_json_first(root) : NULL;
    return first && rh_json_kind(first) == RH_JSON_OBJECT &&
           g_str_has_suffix(rh_json_string_or(doc, first, "type", ""), "_NODE");
}

/* A trace that another program made: GOAL, Chakra. */
static bool check_trace(const char *path, GString *notes, GError **error)
{
    g_autoptr(RhImportedTrace) trace = rh_imported_trace_load(path, 1, error);
    if (!trace)
        return false;
    g_string_append_printf(notes, "trace of %s: %d rank%s, %u operation%s\n", trace->format,
                           trace->ranks_count, trace->ranks_count == 1 ? "" : "s", trace->ops->len,
                           trace->ops->len == 1 ? "" : "s");
    if (trace->untimed > 0)
        g_string_append_printf(notes,
                               "note: %" G_GINT64_FORMAT " of them compute without a duration\n",
                               trace->untimed);
    g_string_append_printf(notes, "note: rehearse simulate --program %s -p PLATFORM performs it\n",
                           path);
    return true;
}

/* Answers that no command but `report` reads, and a key that each has. */
static const struct {
    const char *schema, *of, *key;
} answers[] = {{"rehearse.serve/1", "serve-plan or serve-simulate", "inputs"},
               {"rehearse.capacity/1", "capacity", "cells"},
               {"rehearse.capacity-service/1", "capacity", "cells"},
               {"rehearse.beside/1", "simulate --beside", "jobs"},
               {"rehearse.program-run/1", "simulate --program", "step_time_s"},
               {"rehearse.explain/1", "explain", "layout"},
               {"rehearse.compare/1", "compare", "terms"},
               {"rehearse.validate/1", "validate", "cases"},
               {"rehearse.stack-fit/1", "calibrate --stack", "constants"},
               {"rehearse.server-fit/1", "calibrate --server", "constants"},
               {"rehearse.show/1", "show", "items"},
               {"rehearse.collective/1", "collective", "sizes"},
               {"rehearse.exchange-fit/1", "calibrate --from", "ways"},
               {"rehearse.perform/1", "validate --suite", "steps_s"},
               {"rehearse.run/1", "run", "inputs"},
               {"rehearse.run-changes/1", "explain", "changes"},
               {"rehearse.rl-plan/1", "rl-plan", "inputs"},
               {"rehearse.record/1", "validate --record", "bars"},
               {"rehearse.version/1", "--version", "schemas"},
               {"rehearse.check/1", "check", "files"}};

static bool is_answer(const char *schema)
{
    for (size_t i = 0; i < G_N_ELEMENTS(answers); i++)
        if (strcmp(answers[i].schema, schema) == 0)
            return true;
    return false;
}

static bool check_answer(const char *path, GString *notes, GError **error)
{
    g_autoptr(RhJson) doc = rh_json_load(path, error);
    if (!doc)
        return false;
    const RhJsonNode *root = rh_json_root(doc);
    size_t i = 0;
    while (strcmp(answers[i].schema, rh_json_string_or(doc, root, "schema", "")) != 0)
        i++;
    if (!rh_json_has(root, answers[i].key))
        return rh_fail(error, RH_ERROR_INPUT, "%s: \"%s\" is missing, which each %s has", path,
                       answers[i].key, answers[i].schema);
    g_autoptr(GString) asked = g_string_new(NULL);
    const RhJsonNode *words = rh_json_has(root, "argv") ? rh_json_array(doc, root, "argv") : NULL;
    for (const RhJsonNode *n = words ? rh_json_first(words) : NULL; n; n = rh_json_next(n))
        g_string_append_printf(asked, " %s", rh_json_node_string(doc, n));
    g_string_append_printf(notes, "answer of %s, %s\n", answers[i].of, answers[i].schema);
    if (asked->len > 0)
        g_string_append_printf(notes, "note: asked with: rehearse%s\n", asked->str);
    rh_json_consume_all(doc, root);
    return rh_json_finish(doc, error);
}

/* Facts of links fit any platform, those of a device one that has it. */
static RhPlatform *platform_for(const char *path, GError **error)
{
    g_autoptr(RhJson) doc = rh_json_load(path, error);
    const char *device = doc ? rh_profile_device(doc) : "";
    bool known = *device && g_strv_contains(rh_device_names(), device);
    g_autofree char *spec = known ? g_strconcat(device, ":1x1", NULL) : g_strdup("lab-star");
    RhPlatform *p = doc ? rh_platform_load(spec, error) : NULL;
    if (p && *device && !known) /* of a device file that we do not have */
        p->device->name = device;
    return p;
}

static bool check_profile(const char *path, GString *notes, GError **error)
{
    g_autoptr(RhPlatform) p = platform_for(path, error);
    if (!p || !rh_platform_apply_profile(p, path, error))
        return false;
    const RhDeviceCurves *c = &p->device->curves;
    g_string_append_printf(notes, "profile %s\n", p->profile);
    note_fact(notes, "nic.latency", &p->nic_latency_s, RH_QUANTITY_S, "");
    note_fact(notes, "device.gemm.bf16", &c->gemm_peak_frac[RH_DTYPE_BF16], RH_QUANTITY_FRAC, "");
    note_fact(notes, "device.attention", &c->attention_peak_frac, RH_QUANTITY_FRAC, "");
    return true;
}

static bool check_layout(const char *path, GString *notes, GError **error)
{
    RhLayout layout = rh_layout_default();
    if (!rh_layout_load(path, &layout, error))
        return false;
    g_autofree char *title = rh_layout_title(&layout);
    g_string_append_printf(notes, "strategy: %s\n", title);
    return true;
}

/* A key that only one kind of file has. */
static const struct {
    const char *key, *schema; /* schema NULL: the key alone tells */
    CheckFunc check;
} kinds[] = {
    {"schema", "rehearse.plan/1", check_result},
    {"schema", "rehearse.simulate/1", check_result},
    {"schema", "rehearse.program/1", check_program},
    {"schema", "rehearse.profile/1", check_profile},
    {"model_type", NULL, check_model},
    {"architectures", NULL, check_model},
    {"n_layers", NULL, check_model},
    {"gpus_per_node", NULL, check_platform},
    {"derives", NULL, check_platform},
    {"nics_per_node", NULL, check_platform},
    {"nvlink", NULL, check_platform},
    {"vectors", NULL, check_index},
    {"sms", NULL, check_device},
    {"hbm", NULL, check_device},
    {"curves", NULL, check_device},
};

static CheckFunc kind_of(RhJson *doc)
{
    const RhJsonNode *root = rh_json_root(doc);
    if (is_answer(rh_json_string_or(doc, root, "schema", "")))
        return check_answer;
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        if (!rh_json_has(root, kinds[i].key))
            continue;
        if (!kinds[i].schema ||
            strcmp(rh_json_string_or(doc, root, kinds[i].key, ""), kinds[i].schema) == 0)
            return kinds[i].check;
    }
    return NULL;
}

/* Text without braces that is no .json, and begins with a word that may be a key, is a layout. */
static bool looks_like_layout(const char *path)
{
    g_autofree char *text = g_str_has_suffix(path, ".json") ? NULL : rh_text_load(path, NULL);
    if (!text || strchr(text, '{'))
        return false;
    const char *first = text;
    while (*first == '#' || g_ascii_isspace(*first)) /* comments, and empty lines */
        first += *first == '#' ? strcspn(first, "\n") : 1;
    size_t length = strcspn(first, ",=\n ");
    return length > 0 && strspn(first, "abcdefghijklmnopqrstuvwxyz0123456789") == length &&
           first[length] != ' ';
}

static bool fail_unknown(const char *path, GError **error)
{
    g_autofree char *text = rh_text_load(path, NULL);
    const char *other = text ? rh_other_file(text) : NULL;
    if (other)
        return rh_fail(error, RH_ERROR_INPUT, "%s: %s", path, other);
    return rh_fail(
        error, RH_ERROR_INPUT,
        "%s: not a kind of file that rehearse knows\nnote: a workload has \"model_type\", a "
        "platform \"gpus_per_node\" or \"derives\", a device \"sms\", an index \"vectors\"; an answer, a program or a "
        "profile one of our own as \"schema\"; a layout begins with a key, as tp8,pp2",
        path);
}

/* Tells of a table of measured runs; false: the file is none. */
static bool is_case_table(const char *path, GString *notes)
{
    static const char *const runs[] = {"training steps", "services", "KV caches", "exchanges"};
    g_autoptr(RhCaseTable) table =
        g_str_has_suffix(path, ".csv") ? rh_case_table_load(path, NULL) : NULL;
    if (!table)
        return false;
    g_string_append_printf(notes, "table of measured %s, %u rows\n", runs[table->kind],
                           table->rows->len);
    g_string_append_printf(notes, "note: rehearse validate --cases %s predicts them\n", path);
    return true;
}

/* Reads a text whose ending says that it is TOML or YAML; *is_tree: it is. */
static bool check_syntax(const char *path, bool *is_tree, GError **error)
{
    bool toml = g_str_has_suffix(path, ".toml");
    bool yaml = g_str_has_suffix(path, ".yaml") || g_str_has_suffix(path, ".yml");
    g_autoptr(RhJson) doc = toml   ? rh_toml_load(path, error)
                            : yaml ? rh_yaml_load(path, error)
                                   : NULL;
    *is_tree = doc != NULL;
    return doc || (!toml && !yaml);
}

static bool check_launch(const char *path, GString *notes, GError **error)
{
    g_autoptr(RhLaunchFile) file = rh_launch_read(path, error);
    g_autofree char *about = file ? rh_launch_input_about(file, path) : NULL;
    if (about)
        g_string_append(notes, about);
    return about != NULL;
}

static bool check_file(const char *path, GString *notes, GError **error)
{
    if (g_file_test(path, G_FILE_TEST_IS_DIR))
        return check_model(path, notes, error);
    bool known = false;
    if (!rh_check_output(path, notes, &known, error))
        return false;
    if (known)
        return true;
    if (!rh_check_service_result(path, notes, &known, error))
        return false;
    if (known)
        return true;
    if (rh_check_may_be_requests(path)) {
        if (!rh_check_requests(path, notes, &known, error))
            return false;
        if (known)
            return true;
    }
    if (is_case_table(path, notes))
        return true;
    if (rh_launch_kind_of(path))
        return check_launch(path, notes, error);
    if (rh_launched_service_is(path))
        return rh_launched_service_check(path, notes, error);
    bool tree = false;
    if (!check_syntax(path, &tree, error))
        return false;
    if (looks_like_layout(path))
        return check_layout(path, notes, error);
    if (g_str_has_suffix(path, ".et") || g_str_has_suffix(path, ".et.gz") ||
        g_str_has_suffix(path, ".goal") || g_str_has_suffix(path, ".goal.gz"))
        return check_trace(path, notes, error);
    g_autofree char *text = g_str_has_suffix(path, ".json") ? NULL : rh_text_load(path, NULL);
    if (tree || (text && !strchr(text, '{')))
        return fail_unknown(path, error);
    g_autoptr(RhJson) doc = rh_json_load(path, error);
    if (!doc)
        return false;
    if (is_chakra(doc))
        return check_trace(path, notes, error);
    CheckFunc check = kind_of(doc);
    if (check)
        return check(path, notes, error);
    RhHubFileFunc published = rh_hub_file_kind(rh_json_root(doc));
    if (published)
        return published(doc, notes, error);
    if (rh_json_has(rh_json_root(doc), "traceEvents"))
        return rh_fail(error, RH_ERROR_INPUT,
                       "%s: a trace of a profiler (Kineto, Chrome), which is not read\nhelp: "
                       "`rehearse simulate --program` takes Chakra traces; MLCommons' "
                       "chakra_trace_link and chakra_converter make one of it and of PyTorch's "
                       "execution trace",
                       path);
    return fail_unknown(path, error);
}

/* The first line says what it is, the others begin with "note: ". */
static void put_file(RhJsonWriter *w, const char *path, const char *notes, const char *problem)
{
    g_auto(GStrv) lines = g_strsplit(notes, "\n", -1);
    rh_json_begin_object(w, NULL);
    rh_json_put_string(w, "path", path);
    rh_json_put_bool(w, "right", problem == NULL);
    rh_json_put_string(w, "about", problem ? NULL : lines[0]);
    rh_json_begin_array(w, "notes");
    for (char **line = problem ? NULL : lines + 1; line && *line; line++)
        if (**line)
            rh_json_put_string(w, NULL, *line + (g_str_has_prefix(*line, "note: ") ? 6 : 0));
    rh_json_end_array(w);
    rh_json_put_string(w, "problem", problem);
    rh_json_end_object(w);
}

static int run_json(const RhArguments *a)
{
    guint wrong = 0;
    g_autoptr(RhJsonWriter) w = rh_json_writer_new(true);
    rh_json_begin_object(w, NULL);
    rh_json_put_string(w, "schema", "rehearse.check/1");
    rh_json_begin_array(w, "files");
    for (guint i = 0; i < a->operands->len; i++) {
        const char *path = g_ptr_array_index(a->operands, i);
        g_autoptr(GString) notes = g_string_new(NULL);
        g_autoptr(GError) problem = NULL;
        bool right = check_file(path, notes, &problem);
        put_file(w, path, notes->str, right ? NULL : problem->message);
        wrong += !right;
    }
    rh_json_end_array(w);
    rh_json_put_int(w, "wrong_count", wrong);
    rh_json_end_object(w);
    g_autofree char *text = rh_json_writer_steal(w);
    fputs(text, stdout);
    return wrong > 0 ? 3 : 0;
}

static int run(const RhArguments *a, GError **error)
{
    guint wrong = 0;
    (void)error;
    if (a->json)
        return run_json(a);
    for (guint i = 0; i < a->operands->len; i++) {
        const char *path = g_ptr_array_index(a->operands, i);
        g_autoptr(GString) notes = g_string_new(NULL);
        g_autoptr(GError) problem = NULL;
        if (check_file(path, notes, &problem)) {
            printf("%s: %s", path, notes->str);
            continue;
        }
        fflush(stdout);
        rh_terminal_error(problem->message);
        wrong++;
    }
    if (wrong > 0)
        printf("%u of %u file%s wrong\n", wrong, a->operands->len,
               a->operands->len == 1 ? " is" : "s are");
    return wrong > 0 ? 3 : 0;
}

static const RhOption own[] = {
    RH_OPTION(json, "json", 0, RH_OPTION_FLAG, NULL, "one JSON document on stdout, nothing else",
              .neutral = true),
    RH_OPTION(color, "color", 0, RH_OPTION_CHOICE, "WHEN", "color of the text",
              .choices = "auto|always|never", .otherwise = "auto", .neutral = true),
    {0}};
static const RhOption *const tables[] = {own, rh_options_terminal, rh_options_help, NULL};

const RhCommand rh_command_check = {
    .name = "check",
    .operands = "FILE...",
    .operands_low = 1,
    .operands_high = 1 << 20,
    .summary = "are these files right, and how are they understood?",
    .about = "Tells workloads, platforms, devices, strategies, programs and answers apart by\n"
             "what is in them, reads each as the other commands would, and prints the\n"
             "quantities as understood. All problems of all files are reported at once.\n",
    .examples = "rehearse check my-model/config.json my-cluster.json\nrehearse check plan.json",
    .tables = tables,
    .run = run,
};
