/* Manifests of Kubernetes that start a training: what their container runs, as the script that it
 * would be on a node. Kinds: PyTorchJob (kubeflow.org/v1: pytorchReplicaSpecs, whose operator tells
 * torchrun the sum of all replicas), TrainJob (trainer.kubeflow.org/v1alpha1: trainer.numNodes), and
 * Job (batch/v1: parallelism). */
#include <string.h>

#include "base/json/json_tree_builder.h"
#include "strategies/launch/readers.h"

#define PARTS_MOST 65536.0

typedef struct {
    const RhJson *doc;
    GString *script;
    size_t line;    /* of the script, where the next word stands */
    int64_t gpus;   /* of a container */
    bool contained; /* a container was read: others, such as side-cars, are passed over */
} Manifest;

static const RhJsonNode *member(const RhJsonNode *node, const char *key)
{
    return node && rh_json_kind(node) == RH_JSON_OBJECT ? rh_json_member(node, key) : NULL;
}

static int64_t number_at(const RhJsonNode *node, const char *key, RhJson *doc)
{
    const RhJsonNode *said = member(node, key);
    const char *text = said && rh_json_kind(said) == RH_JSON_TEXT ? rh_json_raw_text(said) : "";
    double value = said && rh_json_kind(said) == RH_JSON_NUMBER
                       ? rh_json_node_number(doc, said, -1e300, 1e300)
                       : g_ascii_strtod(text, NULL);
    return value >= 1 && value <= PARTS_MOST ? (int64_t)value : 0;
}

/* Goes on to the line of a node, so that places in the script are those of the manifest. */
static void go_to_line(Manifest *m, const RhJsonNode *node, const char *end)
{
    const RhJsonPlace *place = rh_json_place(m->doc, node);
    size_t line = m->line, column = 1;
    if (place)
        rh_json_line_of(m->doc, place->offset, &line, &column);
    for (; m->line < line; m->line++)
        g_string_append(m->script, end);
}

static void add_words(Manifest *m, const RhJsonNode *list)
{
    for (const RhJsonNode *n = rh_json_first(list); n; n = rh_json_next(n)) {
        if (rh_json_kind(n) != RH_JSON_TEXT)
            continue;
        const char *text = rh_json_raw_text(n);
        bool plain = text[strcspn(text, " \t\n'\"\\|&;<>()*?#")] == '\0';
        g_autofree char *word = plain ? g_strdup(text) : g_shell_quote(text);
        go_to_line(m, n, "\\\n");
        g_string_append_printf(m->script, "%s ", word);
    }
    g_string_append_c(m->script, '\n');
    m->line++;
}

/* The text behind "bash -c" of a list of words; NULL: it starts no shell. */
static const RhJsonNode *shell_text(const RhJsonNode *command, const RhJsonNode *args)
{
    const RhJsonNode *last = NULL;
    bool option = false;
    for (const RhJsonNode *n = command ? rh_json_first(command) : NULL; n; n = rh_json_next(n)) {
        const char *text = rh_json_kind(n) == RH_JSON_TEXT ? rh_json_raw_text(n) : "";
        last = option ? n : last;
        option = text[0] == '-' && text[1] != '-' && strchr(text, 'c');
    }
    return last ? last : option && args ? rh_json_first(args) : NULL;
}

static void add_environment(Manifest *m, const RhJsonNode *container)
{
    const RhJsonNode *list = member(container, "env");
    for (const RhJsonNode *n = list ? rh_json_first(list) : NULL; n; n = rh_json_next(n)) {
        const RhJsonNode *name = member(n, "name"), *value = member(n, "value");
        bool said = name && value && rh_json_kind(name) == RH_JSON_TEXT &&
                    rh_json_kind(value) == RH_JSON_TEXT;
        g_autofree char *quoted = said ? g_shell_quote(rh_json_raw_text(value)) : NULL;
        if (said)
            g_string_append_printf(m->script, "%s=%s; ", rh_json_raw_text(name), quoted);
    }
}

static void add_container(Manifest *m, RhJson *doc, const RhJsonNode *container)
{
    const RhJsonNode *command = member(container, "command"), *args = member(container, "args");
    const RhJsonNode *inner = shell_text(command, args);
    const RhJsonNode *own = member(container, "resources"),
                     *limits = member(own ? own : member(container, "resourcesPerNode"), "limits");
    if (m->contained || (!command && !args))
        return;
    m->contained = true;
    m->gpus = MAX(number_at(limits, "nvidia.com/gpu", doc), number_at(limits, "amd.com/gpu", doc));
    add_environment(m, container);
    if (inner && rh_json_kind(inner) == RH_JSON_TEXT) {
        const char *text = rh_json_raw_text(inner);
        go_to_line(m, inner, "\n");
        /* a block's text begins below its "|" */
        g_string_append_printf(m->script, "%s%s\n", strchr(text, '\n') ? "\n" : "", text);
        return;
    }
    if (command && rh_json_kind(command) == RH_JSON_ARRAY)
        add_words(m, command);
    if (command && args)
        g_string_truncate(m->script, m->script->len - 1); /* one command */
    m->line -= command && args ? 1 : 0;
    if (args && rh_json_kind(args) == RH_JSON_ARRAY)
        add_words(m, args);
}

static void find_containers(Manifest *m, RhJson *doc, const RhJsonNode *node)
{
    RhJsonKind kind = rh_json_kind(node);
    if (kind == RH_JSON_OBJECT && (rh_json_has(node, "command") || rh_json_has(node, "args")))
        add_container(m, doc, node);
    if (kind != RH_JSON_OBJECT && kind != RH_JSON_ARRAY)
        return;
    for (const RhJsonNode *n = rh_json_first(node); n; n = rh_json_next(n))
        find_containers(m, doc, n);
}

/* Nodes of a job: the sum of all replicas of a PyTorchJob, of which each has one at least. */
static int64_t nodes_of(RhJson *doc, const RhJsonNode *spec)
{
    const RhJsonNode *replicas = member(spec, "pytorchReplicaSpecs");
    int64_t nodes = 0;
    for (const RhJsonNode *n = replicas ? rh_json_first(replicas) : NULL; n; n = rh_json_next(n))
        nodes += MAX(number_at(n, "replicas", doc), 1);
    if (nodes == 0)
        nodes = MAX(number_at(member(spec, "trainer"), "numNodes", doc),
                    number_at(spec, "parallelism", doc));
    return nodes;
}

char *rh_launch_manifest_script(RhLaunchReading *r, RhJson *doc)
{
    static const char *const kinds[] = {"PyTorchJob", "TrainJob", "Job", NULL};
    const RhJsonNode *root = rh_json_root(doc), *kind = member(root, "kind"),
                     *spec = member(root, "spec");
    if (!kind || !spec || rh_json_kind(kind) != RH_JSON_TEXT ||
        !g_strv_contains(kinds, rh_json_raw_text(kind)))
        return NULL;
    Manifest m = {.doc = doc, .script = g_string_new(NULL), .line = 1};
    find_containers(&m, doc, spec);
    int64_t nodes = nodes_of(doc, spec);
    if (nodes > 0)
        r->job[RH_JOB_FIELD_NODES] = MAX(r->job[RH_JOB_FIELD_NODES], nodes);
    if (m.gpus > 0)
        r->job[RH_JOB_FIELD_GPUS_OF_NODE] = MAX(r->job[RH_JOB_FIELD_GPUS_OF_NODE], m.gpus);
    if (nodes > 0)
        g_ptr_array_add(r->used,
                        g_strdup_printf("%s of %" G_GINT64_FORMAT " node%s", rh_json_raw_text(kind),
                                        nodes, nodes == 1 ? "" : "s"));
    return g_string_free(m.script, FALSE);
}
