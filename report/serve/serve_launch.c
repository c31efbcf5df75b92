/* Formats the command with which a server runs a deployment, by the rows that read such commands
 * (strategies/serve/engines). Flags are those of the projects' own parsers:
 * strategies/data/serving-flags.txt, docs/guide/serving-flags.md. */
#include <string.h>

#include "report/format.h"
#include "report/serve/serve.h"
#include "strategies/serve/launch/serving_engine.h"
#include "workloads/config/hf_hub.h"
#include "workloads/precision_recipe.h"

static void add_word(GString *out, const char *flag, const char *word)
{
    g_string_append_printf(out, " \\\n    %s%s%s", flag, word ? " " : "", word ? word : "");
}

/* The flag that is printed for a key; NULL: the server has none. */
static const char *flag_of(const RhEngine *e, const char *key)
{
    const RhEngineOption *flag = rh_engine_printed(e, key);
    return flag ? flag->names[0] : NULL;
}

static void add_number(GString *out, const RhEngine *e, const char *key, int32_t value,
                       int32_t silent)
{
    const char *flag = flag_of(e, key);
    if (!flag || value == silent)
        return;
    g_autofree char *number = g_strdup_printf("%d", value);
    add_word(out, flag, number);
}

/* "--flag", or "--no-flag" for what it says when it is negated; NULL: the server cannot say it. The
 * caller frees. */
static char *switch_of(const RhEngine *e, const char *key, const char *means)
{
    const RhEngineOption *flag = rh_engine_printed(e, key);
    if (!flag)
        return NULL;
    const char *word = flag->kind == RH_ENGINE_FLAG_WORD ? rh_engine_word(flag, means) : NULL;
    return word                               ? g_strdup_printf("%s %s", flag->names[0], word)
           : g_strcmp0(flag->on, means) == 0  ? g_strdup(flag->names[0])
           : g_strcmp0(flag->off, means) == 0 ? g_strdup_printf("--no-%s", flag->names[0] + 2)
                                              : NULL;
}

static void add_switch(GString *out, const RhEngine *e, const char *key, const char *means, bool on)
{
    g_autofree char *text = on ? switch_of(e, key, means) : NULL;
    if (text)
        add_word(out, text, NULL);
}

/* Are the groups of attention set by a configuration file? */
static bool is_configured(const RhEngine *e, const RhPool *pool)
{
    return pool->dp > 1 && pool->tp == 1 && e->dp_line;
}

/* Appends the pool's configuration file, where it needs one; returns its name or NULL. */
static const char *append_config(GString *out, const RhEngine *w, const RhDeployment *d, int32_t p)
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

/* Flag of the quantization: "--quantization fp8"; NULL: none. Caller frees. */
static char *quantized(const RhEngine *e, const char *recipe)
{
    for (guint i = 0; i < e->flags->len; i++) {
        const RhEngineOption *flag = &g_array_index(e->flags, RhEngineOption, i);
        if (g_strv_contains(flag->both, recipe))
            return g_strdup_printf("%s %s", flag->names[0], rh_engine_word(flag, recipe));
    }
    return NULL;
}

/* Experts over all GPUs of a server, by a degree or by a switch. */
static void add_experts(GString *out, const RhEngine *e, const RhPool *pool)
{
    const RhEngineOption *flag = rh_engine_printed(e, "ep");
    if (flag && flag->kind == RH_ENGINE_FLAG_ALL && pool->ep > 1)
        add_word(out, flag->names[0], NULL);
    else if (flag && flag->kind != RH_ENGINE_FLAG_ALL)
        add_number(out, e, "ep", pool->ep, 1);
}

static void append_limits(GString *out, const RhEngine *e, const RhPool *pool, int32_t groups)
{
    const char *memory = flag_of(e, "memory");
    add_number(out, e, "batch", pool->batch * groups, 0);
    add_number(out, e, "chunk", pool->chunk * groups, 0);
    add_number(out, e, "max_model_len", pool->max_model_len, 0);
    for (guint i = 0; i < e->flags->len; i++) {
        const RhEngineOption *flag = &g_array_index(e->flags, RhEngineOption, i);
        if (flag->always)
            add_word(out, flag->names[0], NULL);
    }
    add_switch(out, e, "kv", "fp8", pool->cache == RH_CACHE_FP8);
    add_switch(out, e, "prefix", "off", pool->prefix == RH_PREFIX_OFF);
    add_switch(out, e, "prefix", "on", pool->prefix == RH_PREFIX_ON);
    add_switch(out, e, "order", "lpm", pool->order == RH_WAITING_LPM);
    add_number(out, e, "blocks", pool->blocks, 0);
    if (pool->memory > 0 && memory)
        g_string_append_printf(out, " \\\n    %s %d.%02d", memory, pool->memory / 100,
                               pool->memory % 100);
}

/* Limits of a deployment are of one group of attention; an engine whose groups are inside of its
 * tensor degree counts those of all. */
static void append_pool(GString *out, const RhEngine *e, const RhLaunchedModel *model,
                        const RhDeployment *d, int32_t p)
{
    const RhPool *pool = &d->pools[p];
    bool configured = is_configured(e, pool), switched = pool->dp > 1 && e->dp_switch;
    const char *config = append_config(out, e, d, p);
    g_autofree char *narrow = quantized(e, model->recipe);
    g_autofree char *hub = rh_hub_id(model->name); /* a server does not know the names of the
                                                    * catalogue */
    g_autofree char *files = rh_text_path(hub ? hub : model->name);
    g_string_append_printf(out, "%s %s", e->command, files);
    if (config)
        add_word(out, e->config, config);
    if (narrow)
        add_word(out, narrow, NULL);
    add_number(out, e, "tp", pool->tp * (switched || configured ? pool->dp : 1), 1);
    add_number(out, e, "pp", pool->pp, 1);
    add_number(out, e, "dp", pool->dp, 1);
    if (switched)
        add_word(out, e->dp_switch, NULL);
    add_experts(out, e, pool);
    append_limits(out, e, pool, switched ? pool->dp : 1);
    if (d->pools_count > 1 && e->roles[p])
        add_word(out, e->roles[p], NULL);
    g_string_append_c(out, '\n');
}

/* Returns a part of the deployment that the flags cannot express. */
static const char *inexpressible(const RhEngine *w, const RhDeployment *d)
{
    for (int32_t p = 0; p < d->pools_count; p++) {
        bool off = d->pools[p].prefix == RH_PREFIX_OFF, lpm = d->pools[p].order == RH_WAITING_LPM;
        if (d->pools[p].dp > 1 && !flag_of(w, "dp") && !is_configured(w, &d->pools[p]))
            return "this server has no option for attention groups of several tensor ranks each";
        if (d->pools[p].cache == RH_CACHE_FP8 && !flag_of(w, "kv"))
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
        if ((off && !flag_of(w, "prefix")) || (lpm && !flag_of(w, "order")) ||
            (d->pools[p].blocks > 0 && !flag_of(w, "blocks")) || d->pools[p].host > 0 ||
            d->pools[p].nvme > 0)
            return "what the cache holds and remembers goes into the server's configuration file";
    }
    return d->pools_count > 1 ? w->router : NULL;
}

/* Appends the assumption about the model's files; nothing for 16-bit formats. */
static void append_format(GString *out, const RhEngine *w, const char *recipe)
{
    g_autofree char *flag = quantized(w, recipe);
    if (flag)
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
    const RhEngine *w = g_strv_contains(rh_serving_engine_names(), d->server)
                            ? rh_serving_engine(d->server, NULL)
                            : NULL;
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
