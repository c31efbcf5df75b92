#include "cli/multi_job/service_file.h"

#include "base/error.h"
#include "base/json/json.h"
#include "cli/multi_job/job_file.h"

#define COUNT_MAX   (1 << 20)
#define AT_ONCE_MAX (1 << 20)

/* Keys that no job has: any of them identifies a service, so that one with a missing or misspelt
 * deployment is reported as such. */
static const char *const own_keys[] = {"deployment",  "requests",   "lengths", "rate", "arrivals",
                                       "concurrency", "turnaround", "count",   NULL};

bool rh_service_file_is(const char *path)
{
    g_autoptr(RhJson) doc = rh_json_load(path, NULL);
    const RhJsonNode *member = doc ? rh_json_first(rh_json_root(doc)) : NULL;
    while (member && !(rh_json_key(member) && g_strv_contains(own_keys, rh_json_key(member))))
        member = rh_json_next(member);
    return member != NULL;
}

/* The options of serve-simulate, from the file. */
static RhArguments read_requests(RhJson *doc, int64_t seed)
{
    const RhJsonNode *root = rh_json_root(doc);
    return (RhArguments){
        .requests = rh_json_string_or(doc, root, "requests", NULL),
        .lengths = rh_json_string_or(doc, root, "lengths", NULL),
        .rate = rh_json_string_or(doc, root, "rate", NULL),
        .arrivals = rh_json_string_or(doc, root, "arrivals", NULL),
        .concurrency = rh_json_int_or(doc, root, "concurrency", 1, AT_ONCE_MAX, 0),
        .turnaround_s = rh_json_quantity_or(doc, root, "turnaround", RH_QUANTITY_S, 1e-3),
        .count = rh_json_int_or(doc, root, "count", 1, COUNT_MAX, 0),
        .seed = rh_json_int_or(doc, root, "seed", 0, G_MAXINT32, seed),
    };
}

static void read_asked(RhJson *doc, int64_t seed, RhServiceFile *f)
{
    GError *local = NULL;
    RhArguments a = read_requests(doc, seed);
    if (!a.requests == !a.lengths)
        rh_json_problem(
            doc, rh_json_root(doc), NULL,
            "requests come from a trace (\"requests\") or are drawn (\"lengths\"): one of "
            "both is needed");
    else if (!(f->asked = rh_serve_requests_of(&a, false, &local)))
        rh_json_problem_of(doc, rh_json_root(doc), a.requests ? "requests" : "lengths", local);
}

static void read_deployment(RhJson *doc, const char *text, RhServiceFile *f)
{
    GError *local = NULL;
    RhDeployment *d = &f->background.deployment;
    *d = rh_deployment_default();
    if (!*text)
        return; /* missing: told already */
    if (!rh_deployment_parse(text, d, &local) || !(f->server = rh_server_load(d->server, &local))) {
        rh_json_problem_of(doc, rh_json_root(doc), "deployment", local);
        return;
    }
    f->deployment = rh_deployment_format(d);
}

static void read_load(RhJson *doc, RhServiceFile *f)
{
    GError *local = NULL;
    const char *load = rh_json_string_or(doc, rh_json_root(doc), "experts_load", "balanced");
    if (!rh_expert_load_parse(load, &f->load, &local))
        rh_json_problem_of(doc, rh_json_root(doc), "experts_load", local);
}

static void read_rest(RhJson *doc, const RhInputs *fabric, RhServiceFile *f)
{
    const RhJsonNode *root = rh_json_root(doc);
    GError *local = NULL;
    f->workload = g_strdup(rh_json_word(doc, root, "workload"));
    if (*f->workload && !(f->model = rh_model_load(f->workload, &local)))
        rh_json_problem_of(doc, rh_json_root(doc), "workload", local);
    f->background.t_start_s = rh_job_file_start_s(doc);
    const char *nodes = rh_json_word(doc, root, "nodes");
    GError *wrong = NULL;
    if (*nodes && !rh_nodes_parse(nodes, fabric->c.platform->nodes_count, &f->nodes,
                                  &f->background.nodes_count, &wrong))
        rh_json_problem_of(doc, rh_json_root(doc), "nodes", wrong);
    const char *dtype = rh_json_string_or(doc, root, "dtype", "bf16");
    f->background.serving = (RhServing){.model = f->model,
                                        .recipe = rh_recipe_by_name(dtype),
                                        .platform = fabric->hardware,
                                        .server = f->server,
                                        .load = &f->load};
    if (!f->background.serving.recipe)
        rh_json_problem_of(doc, rh_json_root(doc), "dtype",
                           g_error_new(RH_ERROR, RH_ERROR_INPUT, "\"%s\" is not one of %s", dtype,
                                       RH_RECIPE_CHOICES));
}

RhServiceFile *rh_service_file_load(const char *path, const RhInputs *fabric, int64_t seed,
                                    GError **error)
{
    g_autoptr(RhJson) doc = rh_job_file_open(path, error);
    if (!doc)
        return NULL;
    g_autoptr(RhServiceFile) f = g_new0(RhServiceFile, 1);
    const RhJsonNode *root = rh_json_root(doc);
    f->name = rh_job_file_name(doc, path);
    read_deployment(doc, rh_json_word(doc, root, "deployment"), f);
    read_rest(doc, fabric, f);
    read_load(doc, f);
    read_asked(doc, seed, f);
    if (!rh_json_finish(doc, error))
        return NULL;
    f->background.name = f->name;
    f->background.requests = f->asked->list;
    f->background.client = f->asked->client;
    f->background.fabric = fabric->c.platform;
    f->background.nodes = f->nodes;
    return rh_background_service_check(&f->background, error) ? g_steal_pointer(&f) : NULL;
}

void rh_service_file_free(RhServiceFile *f)
{
    if (!f)
        return;
    g_free(f->name);
    g_free(f->workload);
    g_free(f->deployment);
    rh_model_free(f->model);
    g_free(f->server);
    rh_serve_requests_free(f->asked);
    g_free(f->nodes);
    g_free(f);
}
