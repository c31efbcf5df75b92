#include "strategies/serve/launch/deployment_from_commands.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/interned_strings.h"
#include "base/text/decimal_parse.h"
#include "base/text/text_input.h"
#include "base/units.h"
#include "strategies/serve/launch/server_commands_from_files.h"
#include "strategies/serve/server_software.h"
#include "workloads/config/hf_hub.h"
#include "workloads/precision_recipe.h"

/* What a command says that is no key of a deployment by itself. */
typedef struct {
    RhDeployment d;  /* one pool */
    bool groups;     /* --dp-size is the number of groups of attention inside the tensor degree */
    bool all_groups; /* each tensor rank is a group */
    bool all_experts, sends, frees_cache;
    int32_t dp, draft, drafter; /* dp 0: not said; drafter -1: not known */
    int32_t host_each, host_bytes_gib, tokens;
    const char *role, *recipe, *width; /* NULL: not said */
} Command;

static void note(RhLaunchedDeployment *l, const char *format, ...) G_GNUC_PRINTF(2, 3);
static void note(RhLaunchedDeployment *l, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_ptr_array_add(l->notes, g_strdup_vprintf(format, args));
    va_end(args);
}

/* --- values --- */

static bool fail_value(const RhServerSetting *s, const char *expected, GError **error)
{
    g_autofree char *plain = rh_text_plain(s->text ? s->text : "");
    return rh_fail(error, RH_ERROR_INPUT, "%s: %s cannot be \"%.80s\"\nhelp: %s", s->place, s->flag,
                   plain, expected);
}

/* Reads 32768, 32k (thousands), 32K (1,024) and the like. */
static bool read_tokens(const char *text, double *out)
{
    static const struct {
        char unit;
        double factor;
    } units[] = {{'k', 1e3},     {'K', 1024}, {'m', 1e6},
                 {'M', 1048576}, {'g', 1e9},  {'G', 1073741824.0}};
    size_t length = strlen(text);
    double factor = 1;
    for (size_t i = 0; length > 1 && i < G_N_ELEMENTS(units); i++)
        if (text[length - 1] == units[i].unit)
            factor = units[i].factor;
    g_autofree char *number = g_strndup(text, factor > 1 ? length - 1 : length);
    bool fine = rh_number_parse(number, out);
    *out *= factor;
    return fine;
}

/* The value of a key as a deployment says it; NULL with `error`, or without one where the setting
 * says nothing. Caller frees. */
static char *value_of(RhLaunchedDeployment *l, const RhEngineOption *flag, const RhServerSetting *s,
                      GError **error)
{
    double x = 0;
    const char *text = s->text ? s->text : "true", *means = NULL;
    bool yes = g_ascii_strcasecmp(text, "false") != 0 && strcmp(text, "0") != 0;
    switch (flag->kind) {
    case RH_ENGINE_FLAG_NUMBER:
    case RH_ENGINE_FLAG_TOKENS:
        if (strcmp(text, "auto") == 0 || strcmp(text, "null") == 0 || strcmp(text, "-1") == 0)
            return NULL;
        if (!s->text || !read_tokens(text, &x) || x != floor(x) || x < 0 || x > (1 << 30)) {
            fail_value(s, "a whole number", error);
            return NULL;
        }
        return g_strdup_printf("%.0f", x);
    case RH_ENGINE_FLAG_FRACTION:
        if (!s->text || !rh_number_parse(text, &x) || !(x > 0 && x <= 1)) {
            fail_value(s, "a number above 0, 1 at most", error);
            return NULL;
        }
        if (fabs(100 * x - round(100 * x)) > 1e-6)
            note(l, "%s %s is taken as %.0f %%", s->flag, text, round(100 * x));
        return g_strdup_printf("%.0f", round(100 * x));
    case RH_ENGINE_FLAG_SWITCH:
        return g_strdup(yes ? flag->on : flag->off);
    case RH_ENGINE_FLAG_NULL:
        return g_strdup(strcmp(text, "null") == 0 ? flag->on : NULL);
    case RH_ENGINE_FLAG_ALL:
        return g_strdup(yes ? "all" : NULL);
    case RH_ENGINE_FLAG_WORD:
        means = rh_engine_meaning(flag, text);
        if (!means)
            note(l, "%s %s: this word is not known, and its effect on cost is not either", s->flag,
                 text);
        return g_strdup(means && *means ? means : NULL);
    case RH_ENGINE_FLAG_IGNORED:
    case RH_ENGINE_FLAG_LAST:
        break;
    }
    return NULL;
}

/* Keys that are no key of a deployment: sets what they say of the command; false for others. */
static bool apply_own(Command *c, const char *key, const char *value)
{
    const struct {
        const char *key;
        bool *yes;
    } switches[] = {{"groups", &c->groups},
                    {"groups_of_all", &c->all_groups},
                    {"exchange", &c->sends},
                    {"capacity", &c->frees_cache}};
    const struct {
        const char *key;
        int32_t *number;
    } numbers[] = {{"dp", &c->dp},
                   {"draft", &c->draft},
                   {"drafter", &c->drafter},
                   {"host_each", &c->host_each},
                   {"tokens", &c->tokens}};
    const struct {
        const char *key, **word;
    } words[] = {{"role", &c->role}, {"recipe", &c->recipe}, {"width", &c->width}};
    for (size_t i = 0; i < G_N_ELEMENTS(switches); i++)
        if (strcmp(switches[i].key, key) == 0)
            return *switches[i].yes = true;
    for (size_t i = 0; i < G_N_ELEMENTS(numbers); i++)
        if (strcmp(numbers[i].key, key) == 0) {
            *numbers[i].number = atoi(value);
            return true;
        }
    for (size_t i = 0; i < G_N_ELEMENTS(words); i++)
        if (strcmp(words[i].key, key) == 0) {
            *words[i].word = rh_intern(value);
            return true;
        }
    if (strcmp(key, "host_bytes") == 0) {
        c->host_bytes_gib = (int32_t)ceil(g_ascii_strtod(value, NULL) / RH_GIB_BYTES);
        return true;
    }
    return *key == 0;
}

/* Applies a key of a deployment; an error names the place of the setting. */
static bool apply_key(Command *c, const char *key, const char *value, const RhServerSetting *s,
                      GError **error)
{
    RhDeployment one = c->d;
    g_autofree char *item = g_strdup_printf("%s=%s", key, value);
    GError *why = NULL;
    if (!rh_deployment_parse(item, &one, &why)) {
        rh_fail(error, RH_ERROR_INPUT, "%s: %s %s: %s", s->place, s->flag, s->text ? s->text : "",
                why->message);
        g_error_free(why);
        return false;
    }
    c->d = one;
    return true;
}

static bool is_known(const RhEngine *engine, const char *path)
{
    g_autofree char *top = g_strndup(path, strcspn(path, "."));
    return rh_engine_option_cost(engine, path) != RH_ENGINE_OPTION_UNKNOWN ||
           (strchr(path, '.') && rh_engine_option_cost(engine, top) == RH_ENGINE_OPTION_FREE) ||
           *path == 'O';
}

static bool read_setting(RhLaunchedDeployment *l, Command *c, const RhServerSetting *s,
                         GError **error)
{
    const RhEngineOption *flag = rh_engine_flag(l->engine, s->path);
    if (!flag && rh_engine_option_cost(l->engine, s->path) == RH_ENGINE_OPTION_UNMODELLED)
        note(l, "%s: its effect on cost is not modelled", s->flag);
    else if (!flag && !is_known(l->engine, s->path))
        note(l, "%s: not known of %s; its effect on cost is unknown", s->flag, l->engine->project);
    if (!flag)
        return true;
    if (s->text && (strchr(s->text, '$') || !*s->text)) {
        if (*flag->key)
            note(l, "%s %s: its value is not in the file%s%s%s", s->flag, s->text,
                 flag->prints ? "; -s " : "", flag->prints ? flag->key : "",
                 flag->prints ? "=... says it" : "");
        return true;
    }
    GError *local = NULL;
    g_autofree char *value = value_of(l, flag, s, &local);
    if (local) {
        g_propagate_error(error, local);
        return false;
    }
    if (!value)
        return true;
    if (flag->kind == RH_ENGINE_FLAG_ALL)
        c->all_experts = true;
    else if (!apply_own(c, flag->key, value))
        return apply_key(c, flag->key, value, s, error);
    return true;
}

/* --- commands --- */

/* Degrees: what counts groups of attention differs from engine to engine. */
static void settle_degrees(RhLaunchedDeployment *l, Command *c)
{
    RhPool *pool = &c->d.pools[0];
    int32_t dp = MAX(c->dp, 1);
    bool inside = l->engine->dp_switch != NULL; /* groups are inside the tensor degree */
    if (c->all_groups) {
        pool->dp = pool->tp;
        pool->tp = 1;
    } else if (inside && c->groups && pool->tp % dp == 0) {
        pool->dp = dp;
        pool->tp /= dp;
        pool->batch = (pool->batch + dp - 1) / dp;
        pool->chunk = (pool->chunk + dp - 1) / dp;
    } else if (inside) {
        pool->replicas = dp;
    } else {
        pool->dp = dp;
    }
    if (c->all_experts || (c->sends && inside))
        pool->ep = pool->tp * pool->dp;
}

static void settle_rest(RhLaunchedDeployment *l, Command *c)
{
    RhPool *pool = &c->d.pools[0];
    c->d.server = rh_intern(rh_engine_server(l->engine, l->version));
    if (c->sends && strcmp(c->d.server, "sglang") == 0)
        c->d.server = rh_intern("sglang-deepep");
    if (c->frees_cache && g_strv_contains(rh_server_names(), "trtllm-max-util"))
        c->d.server = rh_intern("trtllm-max-util");
    const RhServer *server = rh_server_by_name(c->d.server, NULL);
    if (c->tokens > 0 && server)
        pool->blocks = c->tokens / server->block_tokens;
    int32_t ranks = rh_pool_gpus(pool);
    if (c->host_each > 0)
        pool->host = c->host_each * ranks;
    if (c->host_bytes_gib > 0)
        pool->host = c->host_bytes_gib * ranks;
    if (c->draft > 0)
        note(
            l,
            "speculative decoding of %d tokens is left out, as the share of right guesses is not in "
            "the file: -s draft=%d,drafter=%d,accept=70 counts it, with what was measured for 70",
            c->draft, c->draft, MAX(c->drafter, 0));
}

static bool read_command(RhLaunchedDeployment *l, const RhServerCommand *said, Command *c,
                         GError **error)
{
    *c = (Command){.d = rh_deployment_default(), .drafter = 1};
    for (guint i = 0; i < said->settings->len; i++)
        if (!read_setting(l, c, said->settings->pdata[i], error))
            return false;
    if (said->config)
        note(l, "%s cannot be read from here: its settings are not counted", said->config);
    settle_degrees(l, c);
    settle_rest(l, c);
    c->d.pools[0].replicas *= MAX(said->replicas, 1);
    return true;
}

static void settle_model(RhLaunchedDeployment *l, const Command *c, const RhServerCommand *said)
{
    if (said->model && !strchr(said->model, '$'))
        l->model = g_strdup(said->model);
    RhHubModel hub =
        l->model && rh_hub_is_id(l->model) ? rh_hub_look_up(l->model) : (RhHubModel){0};
    l->recipe = c->recipe ? c->recipe : hub.recipe;
    if (!l->recipe || strcmp(l->recipe, rh_recipe_bf16.name) == 0)
        l->recipe = c->width;
}

/* What a command says of its role: "prefill", "decode"; NULL: nothing. */
static const char *role_of(const RhServerCommand *c)
{
    for (guint k = 0; k < c->settings->len; k++) {
        const RhServerSetting *s = c->settings->pdata[k];
        const RhEngineOption *flag = rh_engine_flag(c->engine, s->path);
        bool is_role = flag && strcmp(flag->key, "role") == 0;
        const char *means = !is_role                            ? NULL
                            : flag->kind == RH_ENGINE_FLAG_WORD ? rh_engine_meaning(flag, s->text)
                            : g_strcmp0(s->text, "false") != 0  ? flag->on
                                                                : NULL;
        if (means)
            return means;
    }
    return c->role;
}

/* The commands of two pools, by their roles; false: there are none such. */
static bool find_pools(const GPtrArray *commands, guint pair[2])
{
    static const char *const roles[] = {"prefill", "decode"};
    bool found[2] = {false, false};
    for (guint i = 0; i < commands->len; i++)
        for (int p = 0; p < 2; p++)
            if (!found[p] && g_strcmp0(role_of(commands->pdata[i]), roles[p]) == 0) {
                found[p] = true;
                pair[p] = i;
            }
    return found[0] && found[1] &&
           ((const RhServerCommand *)commands->pdata[pair[0]])->engine ==
               ((const RhServerCommand *)commands->pdata[pair[1]])->engine;
}

static bool read_commands(RhLaunchedDeployment *l, const GPtrArray *commands, int64_t which,
                          GError **error)
{
    guint pair[2] = {which > 0 ? (guint)which - 1 : 0, 0};
    bool two = which == 0 && find_pools(commands, pair);
    const RhServerCommand *first = commands->pdata[pair[0]];
    Command c = {0}, second = {0};
    l->engine = first->engine;
    l->version = g_strdup(first->version);
    if (!read_command(l, first, &c, error) ||
        (two && !read_command(l, commands->pdata[pair[1]], &second, error)))
        return false;
    l->deployment = c.d;
    if (two) {
        l->deployment.pools_count = 2;
        l->deployment.pools[1] = second.d.pools[0];
    } else if (commands->len > 1 && which == 0) {
        note(l, "the file starts %u servers, and the first is read: FILE#2 takes the second",
             commands->len);
    }
    settle_model(l, &c, first);
    if (!l->version)
        note(l, "its version is not said: taken as server=%s", l->deployment.server);
    return true;
}

/* --- files --- */

static RhLaunchedDeployment *of_commands(const char *name, const GPtrArray *commands, int64_t which,
                                         GError **error)
{
    g_autoptr(RhLaunchedDeployment) l = g_new0(RhLaunchedDeployment, 1);
    l->notes = g_ptr_array_new_with_free_func(g_free);
    l->servers = (int32_t)commands->len;
    if (which > commands->len) {
        rh_fail(error, RH_ERROR_INPUT,
                "%s starts %u server%s, and number %" G_GINT64_FORMAT " is asked for", name,
                commands->len, commands->len == 1 ? "" : "s", which);
        return NULL;
    }
    return read_commands(l, commands, which, error) ? g_steal_pointer(&l) : NULL;
}

RhLaunchedDeployment *rh_launched_deployment_parse(const char *name, const char *text,
                                                   GError **error)
{
    g_autoptr(GPtrArray) commands = rh_server_commands_parse(name, text, strlen(text), error);
    return commands ? of_commands(name, commands, 0, error) : NULL;
}

RhLaunchedDeployment *rh_launched_deployment_load(const char *path, GError **error)
{
    const char *hash = strrchr(path, '#');
    int64_t which = 0;
    bool numbered = hash && !g_file_test(path, G_FILE_TEST_EXISTS) &&
                    rh_integer_parse(hash + 1, 1, 1 << 20, &which, NULL);
    g_autofree char *file = numbered ? g_strndup(path, (gsize)(hash - path)) : g_strdup(path);
    g_autoptr(GPtrArray) commands = rh_server_commands_load(file, error);
    return commands ? of_commands(file, commands, numbered ? which : 0, error) : NULL;
}

void rh_launched_deployment_free(RhLaunchedDeployment *l)
{
    if (!l)
        return;
    g_free(l->model);
    g_free(l->version);
    g_ptr_array_unref(l->notes);
    g_free(l);
}

/* --- model and device --- */

static void settle_limits(RhLaunchedDeployment *l, RhPool *pool, const RhDevice *device)
{
    const RhEngineLimits *row = rh_engine_limits(l->engine, l->version, device);
    if (!row)
        return;
    g_autoptr(GString) said = g_string_new(NULL);
    int32_t chunk = pool->chunk > 0 ? pool->chunk : row->chunk;
    const struct {
        const char *key;
        int32_t *into, value;
    } limits[] = {{"batch", &pool->batch, chunk > 0 ? MIN(row->batch, chunk) : row->batch},
                  {"chunk", &pool->chunk, row->chunk},
                  {"memory", &pool->memory, row->memory}};
    for (size_t i = 0; i < G_N_ELEMENTS(limits); i++)
        if (*limits[i].into == 0 && limits[i].value > 0) {
            *limits[i].into = limits[i].value;
            g_string_append_printf(said, "%s%s=%d", said->len ? "," : "", limits[i].key,
                                   limits[i].value);
        }
    if (said->len > 0)
        note(l, "not said, so the engine's defaults: %s (%s)", said->str, row->source);
}

void rh_launched_deployment_settle(RhLaunchedDeployment *l, const RhModel *model,
                                   const RhDevice *device)
{
    bool mixture = rh_model_experts_kind(model) != NULL;
    for (int32_t p = 0; p < l->deployment.pools_count; p++) {
        RhPool *pool = &l->deployment.pools[p];
        if (!mixture && pool->dp > 1) {
            note(l, "%s has no experts to share: its %d groups are servers of their own",
                 model->name, pool->dp);
            pool->replicas *= pool->dp;
            pool->dp = 1;
        }
        if (!mixture)
            pool->ep = 1;
        settle_limits(l, pool, device);
    }
}
