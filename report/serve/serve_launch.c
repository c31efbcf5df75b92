/* Formats the command with which a server runs a deployment. Flags are those of the projects' own
 * parsers: strategies/data/serving-flags.txt, docs/guide/serving-flags.md. */
#include <string.h>

#include "report/format.h"
#include "report/serve/serve.h"
#include "workloads/hub.h"
#include "workloads/recipe.h"

#define RECIPES_MAX 4

/* Flag with which a server quantises 16-bit weights when it loads them. */
typedef struct {
    const char *recipe, *word;
} Quantized;

typedef struct {
    const char *server, *command;
    const char *title;             /* the project, and the commit whose parser has the words */
    const char *tp, *pp, *dp, *ep; /* followed by the degree; NULL: the server has no such flag */
    const char *ep_switch;         /* in place of a degree */
    /* switch for groups of attention inside the tensor degree, which counts all their ranks, as
     * batch and chunk count those of all groups; servers without this switch have flags per
     * group */
    const char *dp_switch;
    const char *dp_line; /* of a configuration file: each tensor rank is a group */
    const char *config;  /* followed by that file */
    const char *batch, *chunk;
    const char *chunked;                              /* switch; NULL: prompts are cut by default */
    const char *cache_fp8, *forgets, *longest_prefix; /* switches; NULL: the server has none */
    const char *blocks;
    const char *memory;                   /* followed by a fraction */
    const char *roles[RH_POOLS_MAX];      /* of two pools: reads prompts, makes tokens */
    const char *role_lines[RH_POOLS_MAX]; /* the same in a configuration file */
    const char *router;                   /* before two pools: a comment */
    Quantized quantized[RECIPES_MAX];
} Words;

static const Words all[] = {
    {.server = "vllm",
     .command = "vllm serve",
     .title = "vLLM 99d7eb5d",
     .tp = "--tensor-parallel-size",
     .pp = "--pipeline-parallel-size",
     .dp = "--data-parallel-size",
     .ep_switch = "--enable-expert-parallel",
     .batch = "--max-num-seqs",
     .chunk = "--max-num-batched-tokens",
     .cache_fp8 = "--kv-cache-dtype fp8",
     .forgets = "--no-enable-prefix-caching",
     .blocks = "--num-gpu-blocks-override",
     .memory = "--gpu-memory-utilization",
     .roles = {"--kv-transfer-config "
               "'{\"kv_connector\":\"NixlConnector\",\"kv_role\":\"kv_producer\"}'",
               "--kv-transfer-config "
               "'{\"kv_connector\":\"NixlConnector\",\"kv_role\":\"kv_consumer\"}'"},
     .router = "a proxy sends prompts to the first and takes answers from the second pool, like "
               "tests/v1/kv_connector/nixl_integration/toy_proxy_server.py of the project",
     .quantized = {{"fp8", "--quantization fp8"}}},
    {.server = "sglang",
     .command = "python -m sglang.launch_server --model-path",
     .title = "SGLang 001067ff",
     .tp = "--tp-size",
     .pp = "--pp-size",
     .dp = "--dp-size",
     .ep = "--ep-size",
     .dp_switch = "--enable-dp-attention",
     .batch = "--max-running-requests",
     .chunk = "--chunked-prefill-size",
     .cache_fp8 = "--kv-cache-dtype fp8_e4m3",
     .forgets = "--disable-radix-cache",
     .longest_prefix = "--schedule-policy lpm",
     .blocks = "--max-total-tokens", /* blocks of one token */
     .memory = "--mem-fraction-static",
     .roles = {"--disaggregation-mode prefill", "--disaggregation-mode decode"},
     .router = "a router sends prompts to the first and takes answers from the second pool: "
               "sglang_router.launch_router of the project, with the addresses of both",
     .quantized = {{"fp8", "--quantization fp8"}, {"mxfp8", "--quantization mxfp8"}}},
    {.server = "trtllm",
     .command = "trtllm-serve",
     .title = "TensorRT-LLM 00209af1",
     .tp = "--tp_size",
     .pp = "--pp_size",
     .ep = "--ep_size",
     .dp_line = "enable_attention_dp: true",
     .config = "--config",
     .batch = "--max_batch_size",
     .chunk = "--max_num_tokens",
     .chunked = "--enable_chunked_prefill",
     .memory = "--free_gpu_memory_fraction",
     .role_lines = {"disable_overlap_scheduler: true\ncache_transceiver_config:\n"
                    "  backend: DEFAULT\n",
                    "cache_transceiver_config:\n  backend: DEFAULT\n"},
     .router = "in front of both pools: `trtllm-serve disaggregated -c disagg.yaml`, a file with "
               "context_servers and generation_servers, num_instances and urls of each"},
};

static void add_number(GString *out, const char *word, int32_t value, int32_t silent)
{
    if (word && value != silent)
        g_string_append_printf(out, " \\\n    %s %d", word, value);
}

static void add_switch(GString *out, const char *word, bool on)
{
    if (word && on)
        g_string_append_printf(out, " \\\n    %s", word);
}

/* Are the groups of attention set by a configuration file? */
static bool is_configured(const Words *w, const RhPool *pool)
{
    return pool->dp > 1 && pool->tp == 1 && w->dp_line;
}

/* Appends the pool's configuration file, where it needs one; returns its name or NULL. */
static const char *append_config(GString *out, const Words *w, const RhDeployment *d, int32_t p)
{
    static const char *const names[] = {"context.yaml", "generation.yaml"};
    const char *groups = is_configured(w, &d->pools[p]) ? w->dp_line : NULL;
    const char *role = d->pools_count > 1 ? w->role_lines[p] : NULL;
    const char *name = role ? names[p] : "attention-dp.yaml";
    if (!groups && !role)
        return NULL;
    g_string_append_printf(out, "cat >%s <<'END'\n%s%s%sEND\n", name, groups ? groups : "",
                           groups ? "\n" : "", role ? role : "");
    return name;
}

/* Flag of the quantization: "--quantization fp8"; NULL: none. */
static const char *quantized(const Words *w, const char *recipe)
{
    for (int i = 0; i < RECIPES_MAX && w->quantized[i].recipe; i++)
        if (strcmp(w->quantized[i].recipe, recipe) == 0)
            return w->quantized[i].word;
    return NULL;
}

static void append_pool(GString *out, const Words *w, const RhLaunchedModel *model,
                        const RhDeployment *d, int32_t p)
{
    const RhPool *pool = &d->pools[p];
    bool configured = is_configured(w, pool), switched = pool->dp > 1 && w->dp_switch;
    int32_t apart = switched ? 1 : pool->dp;
    const char *config = append_config(out, w, d, p), *narrow = quantized(w, model->recipe);
    g_autofree char *hub = rh_hub_id(model->name); /* a server does not know the names of the
                                                    * catalogue */
    g_autofree char *files = rh_text_path(hub ? hub : model->name);
    g_string_append_printf(out, "%s %s", w->command, files);
    if (config)
        g_string_append_printf(out, " \\\n    %s %s", w->config, config);
    add_switch(out, narrow, true);
    add_number(out, w->tp, pool->tp * (switched || configured ? pool->dp : 1), 1);
    add_number(out, w->pp, pool->pp, 1);
    add_number(out, w->dp, pool->dp, 1);
    add_switch(out, w->dp_switch, switched);
    add_number(out, w->ep, pool->ep, 1);
    add_switch(out, w->ep_switch, pool->ep > 1);
    add_number(out, w->batch, (pool->batch + apart - 1) / apart, 0);
    add_number(out, w->chunk, (pool->chunk + apart - 1) / apart, 0);
    add_switch(out, w->chunked, true);
    add_switch(out, w->cache_fp8, pool->cache == RH_CACHE_FP8);
    add_switch(out, w->forgets, pool->prefix == RH_PREFIX_OFF);
    add_switch(out, w->longest_prefix, pool->order == RH_WAITING_LPM);
    add_number(out, w->blocks, pool->blocks, 0);
    if (pool->memory > 0)
        g_string_append_printf(out, " \\\n    %s %d.%02d", w->memory, pool->memory / 100,
                               pool->memory % 100);
    add_switch(out, w->roles[p], d->pools_count > 1);
    g_string_append_c(out, '\n');
}

/* Returns a part of the deployment that the flags cannot express. */
static const char *inexpressible(const Words *w, const RhDeployment *d)
{
    for (int32_t p = 0; p < d->pools_count; p++) {
        if (d->pools[p].dp > 1 && !w->dp && !is_configured(w, &d->pools[p]))
            return "this server has no option for attention groups of several tensor ranks each";
        if (d->pools[p].cache == RH_CACHE_FP8 && !w->cache_fp8)
            return "the cache's format goes into the server's configuration file";
        if (d->pools[p].scale > 0)
            return "who adds and removes replicas is not the server";
        if (d->pools[p].weights != RH_WEIGHTS_GPU)
            return "where weights lie is the server's own configuration";
        if (d->pools[p].stream > 0 || d->pools[p].receive > 0 || d->pools[p].graphs > 0 ||
            d->pools[p].captured > 0 || d->pools[p].experts > 0 || d->pools[p].balance > 0 ||
            d->pools[p].wait > 0)
            return "messages, graphs, whose experts and which prompts wait are flags of the server's "
                   "own version";
        if (d->pools[p].draft > 0)
            return "who guesses tokens, and how many, is the server's own configuration";
        if ((d->pools[p].prefix == RH_PREFIX_OFF && !w->forgets) ||
            (d->pools[p].order == RH_WAITING_LPM && !w->longest_prefix) ||
            (d->pools[p].blocks > 0 && !w->blocks) || d->pools[p].host > 0 || d->pools[p].nvme > 0)
            return "what the cache holds and remembers goes into the server's configuration file";
    }
    return d->pools_count > 1 ? w->router : NULL;
}

/* Appends the assumption about the model's files; nothing for 16-bit formats. */
static void append_format(GString *out, const Words *w, const char *recipe)
{
    if (quantized(w, recipe))
        g_string_append_printf(out,
                               "# the server makes weights of 16 bits %s; files that hold them so "
                               "say it themselves\n",
                               recipe);
    else if (strcmp(recipe, rh_recipe_bf16.name) != 0)
        g_string_append_printf(out,
                               "# the model's files hold its weights in %s already, and say so "
                               "themselves\n",
                               recipe);
}

char *rh_report_serve_launch(const RhDeployment *d, const RhLaunchedModel *model)
{
    const Words *w = NULL;
    for (size_t i = 0; i < G_N_ELEMENTS(all); i++)
        if (strcmp(all[i].server, d->server) == 0)
            w = &all[i];
    if (!w)
        return NULL;
    GString *out = g_string_new(NULL);
    for (int32_t p = 0; p < d->pools_count; p++) {
        const char *role = d->pools_count == 1 ? "" : p == 0 ? " for prefill" : " for decode";
        int32_t count = d->pools[p].replicas;
        g_string_append_printf(out, "# %d server%s%s%s (options as of %s):\n", count,
                               count == 1 ? "" : "s", role, count == 1 ? "" : ", each with",
                               w->title);
        append_pool(out, w, model, d, p);
    }
    append_format(out, w, model->recipe);
    const char *missing = inexpressible(w, d);
    if (missing)
        g_string_append_printf(out, "# %s\n", missing);
    return g_string_free(out, FALSE);
}
