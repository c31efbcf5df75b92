#include "cli/multi_job/job_file.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/json/json.h"

#define STEPS_MAX   1000
#define START_MAX_S 86400

/* --- nodes --- */

static bool add_node(int64_t node, int32_t nodes_count, bool *taken, GArray *out, GError **error)
{
    int32_t number = (int32_t)node;
    if (node >= nodes_count)
        return rh_fail(error, RH_ERROR_USAGE, "node %" G_GINT64_FORMAT " of %d: they are 0 to %d",
                       node, nodes_count, nodes_count - 1);
    if (taken[node])
        return rh_fail(error, RH_ERROR_USAGE, "node %d stands there twice", number);
    taken[node] = true;
    g_array_append_val(out, number);
    return true;
}

bool rh_nodes_parse(const char *text, int32_t nodes_count, int32_t **nodes, int32_t *count,
                    GError **error)
{
    g_auto(GStrv) parts = g_strsplit(text, ",", -1);
    g_autofree bool *taken = g_new0(bool, nodes_count + 1);
    g_autoptr(GArray) out = g_array_new(FALSE, FALSE, sizeof(int32_t));
    for (char **part = parts; *part; part++) {
        g_auto(GStrv) ends = g_strsplit(*part, "-", 2);
        int64_t first, last;
        if (!ends[0] || !rh_integer_parse(ends[0], 0, G_MAXINT32, &first, NULL) ||
            !rh_integer_parse(ends[1] ? ends[1] : ends[0], 0, G_MAXINT32, &last, NULL) ||
            last < first)
            return rh_fail(error, RH_ERROR_USAGE, "\"%s\" is not a list of nodes, like 0-3,8",
                           text);
        for (int64_t node = first; node <= last; node++)
            if (!add_node(node, nodes_count, taken, out, error))
                return false;
    }
    if (out->len == 0)
        return rh_fail(error, RH_ERROR_USAGE, "a list of nodes is empty");
    *count = (int32_t)out->len;
    *nodes = (int32_t *)(void *)g_array_free(g_steal_pointer(&out), FALSE);
    return true;
}

/* --- the file --- */

double rh_job_file_start_s(RhJson *doc)
{
    double start_s = rh_json_quantity_or(doc, rh_json_root(doc), "start", RH_QUANTITY_S, 0);
    if (start_s > START_MAX_S)
        rh_json_problem_of(
            doc, rh_json_root(doc), "start",
            g_error_new(RH_ERROR, RH_ERROR_INPUT,
                        "more than a day later: until then the first job is simulated "
                        "step by step"));
    return fmin(start_s, START_MAX_S);
}

static void read_nodes(RhJson *doc, const char *text, const RhPlatform *platform, RhJobFile *job)
{
    GError *local = NULL;
    if (!*text)
        return; /* missing: told already */
    if (!rh_nodes_parse(text, platform->nodes_count, &job->nodes, &job->nodes_count, &local))
        rh_json_problem_of(doc, rh_json_root(doc), "nodes", local);
    job->c.job.gpus = job->nodes_count * platform->gpus_per_node;
}

static void read_dtype(RhJson *doc, const char *name, RhJobFile *job)
{
    const RhRecipe *recipe = rh_recipe_by_name(name);
    if (recipe)
        job->c.job.recipe = recipe; /* else the job's beside it: a layout is read with some */
    else
        rh_json_problem_of(doc, rh_json_root(doc), "dtype",
                           g_error_new(RH_ERROR, RH_ERROR_INPUT, "\"%s\" is not one of %s", name,
                                       RH_RECIPE_CHOICES));
}

/* A picture is a sample; others have tokens. */
static void settle_sequence(RhJson *doc, RhJobFile *job)
{
    bool pictures = job->model && rh_model_sees_pictures(job->model);
    if (pictures && job->c.job.sequence > 1)
        rh_json_problem_of(doc, rh_json_root(doc), "sequence",
                           g_error_new(RH_ERROR, RH_ERROR_INPUT,
                                       "a sample of %s is one picture, leave it out",
                                       job->model->name));
    if (!pictures && job->c.job.sequence == 0)
        rh_json_int(doc, rh_json_root(doc), "sequence", 1, 1 << 28); /* says that it is missing */
    job->c.job.sequence = MAX(job->c.job.sequence, 1);
}

/* Model and layout: what needs the rest of the file. `layout`: NULL where that is wrong. */
static void settle(RhJson *doc, const char *layout, RhJobFile *job)
{
    GError *local = NULL;
    job->model = rh_model_load(job->workload, &local);
    settle_sequence(doc, job);
    if (!job->model) {
        rh_json_problem_of(doc, rh_json_root(doc), "workload", local);
        return;
    }
    job->c.model = job->model;
    RhInputs in = {.c = job->c};
    if (layout && job->nodes && !rh_inputs_layout(&in, layout, &job->layout, &local))
        rh_json_problem_of(doc, rh_json_root(doc), "layout", local);
}

RhJson *rh_job_file_open(const char *path, GError **error)
{
    g_autoptr(RhJson) doc = rh_json_load_described(path, "job or service", error);
    if (doc && rh_json_kind(rh_json_root(doc)) != RH_JSON_OBJECT) {
        rh_json_problem(doc, rh_json_root(doc), "one file for each",
                        "a job or service is an object of keys: {\"workload\": ...}");
        rh_json_consume_all(doc, rh_json_root(doc));
        rh_json_refuse(doc, error);
        return NULL;
    }
    return g_steal_pointer(&doc);
}

char *rh_job_file_name(RhJson *doc, const char *path)
{
    if (rh_json_has(rh_json_root(doc), "name"))
        return g_strdup(rh_json_word(doc, rh_json_root(doc), "name"));
    g_autofree char *base = g_path_get_basename(path);
    if (g_str_has_suffix(base, ".json"))
        base[strlen(base) - strlen(".json")] = '\0';
    return g_steal_pointer(&base);
}

RhJobFile *rh_job_file_load(const char *path, const RhInputs *fabric, GError **error)
{
    g_autoptr(RhJson) doc = rh_job_file_open(path, error);
    if (!doc)
        return NULL;
    g_autoptr(RhJobFile) job = g_new0(RhJobFile, 1);
    const RhJsonNode *root = rh_json_root(doc);
    job->c = fabric->c;
    job->name = rh_job_file_name(doc, path);
    job->workload = g_strdup(rh_json_word(doc, root, "workload"));
    guint told = rh_json_problems_count(doc);
    job->c.job.global_batch = rh_json_int(doc, root, "global_batch", 1, 1 << 28);
    bool batch = told == rh_json_problems_count(doc);
    job->c.job.sequence = rh_json_int_or(doc, root, "sequence", 1, 1 << 28, 0);
    job->t_start_s = rh_job_file_start_s(doc);
    job->steps = (int32_t)rh_json_int_or(doc, root, "steps", 1, STEPS_MAX, 1);
    read_dtype(doc, rh_json_string_or(doc, root, "dtype", "bf16"), job);
    read_nodes(doc, rh_json_word(doc, root, "nodes"), fabric->c.platform, job);
    const char *layout = rh_json_word(doc, root, "layout");
    if (*job->workload && *layout)
        settle(doc, batch ? layout : NULL, job);
    else
        settle_sequence(doc, job);
    return rh_json_finish(doc, error) ? g_steal_pointer(&job) : NULL;
}

void rh_job_file_free(RhJobFile *job)
{
    if (!job)
        return;
    g_free(job->name);
    g_free(job->workload);
    rh_model_free(job->model);
    g_free(job->nodes);
    g_free(job);
}
