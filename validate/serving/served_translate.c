#include "validate/serving/served_translate.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/interned_strings.h"
#include "base/text/decimal_parse.h"
#include "base/units.h"
#include "platforms/device_name_match.h"
#include "validate/cases/case_translation_state.h"

struct RhServedTranslator {
    RhCaseFacts *facts;
    GHashTable *models;    /* name -> RhModel*, both owned */
    GHashTable *platforms; /* text -> RhPlatform*, both owned */
};

typedef struct {
    RhServedTranslator *t;
    RhCaseTranslation way;
    RhServedCase *out;
} Way;

RhServedTranslator *rh_served_translator_new(GError **error)
{
    RhCaseFacts *facts = rh_case_facts_load(true, error);
    if (!facts)
        return NULL;
    RhServedTranslator *t = g_new0(RhServedTranslator, 1);
    t->facts = facts;
    t->models =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)rh_model_free);
    t->platforms =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)rh_platform_free);
    return t;
}

void rh_served_translator_free(RhServedTranslator *t)
{
    if (!t)
        return;
    rh_case_facts_free(t->facts);
    g_hash_table_destroy(t->models);
    g_hash_table_destroy(t->platforms);
    g_free(t);
}

RhCaseFacts *rh_served_translator_facts(RhServedTranslator *t)
{
    return t->facts;
}

/* --- model and machine --- */

static bool say_model(Way *w)
{
    GError *local = NULL;
    const char *name = rh_case_says(&w->way, RH_CASE_SAYS_MODEL),
               *text = rh_case_cell(&w->way, RH_CASE_MODEL);
    const char *bare = strrchr(text, '/');
    g_autofree char *lower = g_ascii_strdown(bare ? bare + 1 : text, -1);
    if (!name && g_strv_contains(rh_model_names(), lower))
        name = lower;
    if (!name)
        return rh_case_give_up(&w->way, "model %s: not in the catalogue", text);
    RhModel *model = g_hash_table_lookup(w->t->models, name);
    if (!model) {
        model = rh_model_load(name, &local);
        if (!model)
            return rh_case_give_up_with(&w->way, "model: ", local);
        g_hash_table_insert(w->t->models, g_strdup(name), model);
    }
    w->out->serving.model = model;
    const char *recipe = rh_case_says(&w->way, RH_CASE_SAYS_RECIPE);
    w->out->serving.recipe =
        rh_recipe_by_name(recipe ? recipe : rh_case_cell(&w->way, RH_CASE_PRECISION));
    return w->out->serving.recipe ||
           rh_case_give_up(&w->way, "precision %s: no recipe is known for it",
                           rh_case_cell(&w->way, RH_CASE_PRECISION));
}

/* Platform with nodes for so many GPUs, as "dgx-h200:1". Caller frees. */
static char *with_nodes(const char *platform, int32_t gpus)
{
    g_autoptr(RhPlatform) p = rh_platform_load(platform, NULL);
    g_auto(GStrv) parts = g_strsplit(platform, ":", 2);
    int32_t each = p ? p->gpus_per_node : 8;
    return g_strdup_printf("%s:%d", parts[0], (gpus + each - 1) / each);
}

/* Platform of the name that a tool or a vendor gives the GPU: "RTX4090", "p5.48xlarge". Caller
 * frees; NULL: the catalogue has none. */
static char *platform_of_name(const Way *w)
{
    const char *cell = rh_case_cell(&w->way, RH_CASE_GPU);
    int32_t gpus = (int32_t)MAX(w->way.row->whole[RH_CASE_GPUS], 1);
    const char *platform = rh_platform_of_name(cell),
               *device = rh_device_of_name(cell, false, NULL);
    if (platform)
        return with_nodes(platform, gpus);
    return device ? g_strdup_printf("%s:%dx%d", device, MIN(gpus, 8), (gpus + 7) / 8) : NULL;
}

static bool say_platform(Way *w)
{
    GError *local = NULL;
    const char *said = rh_case_says(&w->way, RH_CASE_SAYS_PLATFORM),
               *set = rh_case_says(&w->way, RH_CASE_SAYS_SET);
    g_autofree char *own = g_ascii_strdown(rh_case_cell(&w->way, RH_CASE_GPU), -1);
    g_autofree char *nodes = NULL, *spread = NULL, *named = NULL;
    if (!said && g_strv_contains(rh_device_names(), own))
        said = nodes = g_strdup_printf("%s:8x%" G_GINT64_FORMAT, own,
                                       MAX((w->way.row->whole[RH_CASE_GPUS] + 7) / 8, 1));
    if (!said && g_strv_contains(rh_platform_names(), own))
        said = own;
    if (!said)
        said = named = platform_of_name(w);
    if (said && w->out->deployment.pools_count > 1)
        said = spread = with_nodes(said, rh_deployment_gpus(&w->out->deployment));
    if (!said)
        return rh_case_give_up(&w->way, "gpu %s: not in the catalogue",
                               rh_case_cell(&w->way, RH_CASE_GPU));
    g_autofree char *key = g_strjoin(" ", said, set ? set : "", NULL);
    RhPlatform *platform = g_hash_table_lookup(w->t->platforms, key);
    if (!platform) {
        g_auto(GStrv) fact = g_strsplit(set ? set : "", "=", 2);
        platform = rh_platform_load(said, &local);
        if (platform && set && !rh_platform_set(platform, fact[0], fact[1], &local))
            g_clear_pointer(&platform, rh_platform_free);
        if (!platform)
            return rh_case_give_up_with(&w->way, "platform: ", local);
        g_hash_table_insert(w->t->platforms, g_steal_pointer(&key), platform);
    }
    w->out->serving.platform = platform;
    return true;
}

/* --- server and deployment --- */

static bool say_server(Way *w)
{
    const char *name = rh_case_says(&w->way, RH_CASE_SAYS_SERVER);
    GError *why = NULL;
    w->out->serving.server = name ? rh_server_by_name(name, &why) : NULL;
    if (why)
        return rh_case_give_up_with(&w->way, "", why);
    return name || rh_case_give_up(&w->way, "no server is known for it");
}

/* Workers and their degrees from a note, "P=1w tp8 pp1 adp1 moetp1 ep8 bs1". Caller frees; NULL:
 * not given. */
static char *workers_of(const char *note, const char *key)
{
    int workers, tp, pp, adp, moe_tp, ep;
    const char *at = strstr(note, key);
    if (!at || sscanf(at + strlen(key), "%dw tp%d pp%d adp%d moetp%d ep%d", &workers, &tp, &pp,
                      &adp, &moe_tp, &ep) != 6)
        return NULL;
    return g_strdup_printf("tp%d,pp%d,dp%d,ep%d,replicas=%d", tp, pp, adp, MAX(ep, 1), workers);
}

/* Does the text give the spread of experts, as "kv=fp8,ep8", which overrides the row's own
 * column? */
static bool says_spread(const char *more)
{
    g_auto(GStrv) words = g_strsplit(more ? more : "", ",", -1);
    bool says = false;
    for (int i = 0; words[i]; i++)
        says = says || (g_str_has_prefix(words[i], "ep") && g_ascii_isdigit(words[i][2]));
    return says;
}

static char *pool_of(const Way *w, const char *more)
{
    const RhCaseRow *row = w->way.row;
    const char *layout = rh_case_says(&w->way, RH_CASE_SAYS_LAYOUT); /* over the columns */
    if (layout)
        return g_strdup(layout);
    g_autofree char *spread =
        says_spread(more) ? g_strdup("")
                          : g_strdup_printf(",ep%" G_GINT64_FORMAT, MAX(row->whole[RH_CASE_EP], 1));
    return g_strdup_printf("tp%" G_GINT64_FORMAT ",pp%" G_GINT64_FORMAT "%s,dp%" G_GINT64_FORMAT,
                           row->whole[RH_CASE_TP], MAX(row->whole[RH_CASE_PP], 1), spread,
                           MAX(row->whole[RH_CASE_DP], 1));
}

/* Returns the number of replicas that the text asks for; 1: it does not. */
static int64_t replicas_in(const char *more)
{
    const char *at = more ? strstr(more, "replicas=") : NULL;
    return at ? MAX(g_ascii_strtoll(at + strlen("replicas="), NULL, 10), 1) : 1;
}

/* Is the product of the degrees the row's number of GPUs, where it has both? */
static bool degrees_agree(Way *w, const char *more)
{
    const int64_t *has = w->way.row->whole;
    int64_t gpus = has[RH_CASE_GPUS] / replicas_in(more), tp = has[RH_CASE_TP],
            pp = MAX(has[RH_CASE_PP], 1), dp = MAX(has[RH_CASE_DP], 1);
    return gpus <= 0 || gpus == tp * pp * dp ||
           rh_case_give_up(&w->way,
                           "tp%" G_GINT64_FORMAT " x pp%" G_GINT64_FORMAT " x dp%" G_GINT64_FORMAT
                           " = %" G_GINT64_FORMAT " ranks, not %" G_GINT64_FORMAT " GPUs",
                           tp, pp, dp, tp * pp * dp, gpus);
}

/* Makes the text of the pools: of one for everything, or of two, whose workers are in the note. */
static bool say_pools(Way *w, const char *more, char *pools[RH_POOLS_MAX])
{
    const char *note = rh_case_cell(&w->way, RH_CASE_NOTE);
    if (!g_str_has_prefix(note, "DISAGG")) {
        bool said = rh_case_says(&w->way, RH_CASE_SAYS_LAYOUT) != NULL;
        if (!said && w->way.row->whole[RH_CASE_TP] <= 0)
            return rh_case_give_up(&w->way, "tp is not given");
        pools[0] = pool_of(w, more);
        return said || degrees_agree(w, more);
    }
    pools[0] = workers_of(note, "P=");
    pools[1] = workers_of(note, "D=");
    return (pools[0] && pools[1]) ||
           rh_case_give_up(&w->way, "disaggregated: how many workers there are is not given");
}

/* Text with a budget from "chunk=prompt+1500": a prompt, a token of each request, and so many more.
 * Caller frees. */
static char *with_budget(const Way *w, const char *more)
{
    static const char word[] = "chunk=prompt+";
    const char *at = more ? strstr(more, word) : NULL;
    if (!at)
        return g_strdup(more);
    int64_t room = g_ascii_strtoll(rh_case_cell(&w->way, RH_CASE_ISL), NULL, 10) +
                   g_ascii_strtoll(rh_case_cell(&w->way, RH_CASE_AT_ONCE), NULL, 10);
    char *rest;
    room += g_ascii_strtoll(at + strlen(word), &rest, 10);
    return g_strdup_printf("%.*schunk=%" G_GINT64_FORMAT "%s", (int)(at - more), more,
                           CLAMP(room, 1, INT32_MAX), rest);
}

#define CLIENTS "batch=clients"

/* Does the row have how many are at once, where the text asks for it? */
static bool limit_is_known(Way *w, const char *more)
{
    return !more || !strstr(more, CLIENTS) ||
           g_ascii_strtoll(rh_case_cell(&w->way, RH_CASE_AT_ONCE), NULL, 10) > 0 ||
           rh_case_give_up(&w->way, "batch_or_concurrency is not given");
}

/* Text with a limit of sequences from "batch=clients": as many as the row has at once. Caller frees.
 */
static char *with_limit(const Way *w, const char *more)
{
    g_auto(GStrv) parts = g_strsplit(more ? more : "", CLIENTS, -1);
    g_autofree char *batch = g_strconcat("batch=", rh_case_cell(&w->way, RH_CASE_AT_ONCE), NULL);
    return more ? g_strjoinv(batch, parts) : NULL;
}

/* Text of the pools from the row's columns or its note, and a rule's additions to either pool or
 * both. Caller frees; NULL: not given. */
static char *pools_of(Way *w)
{
    const char *own = rh_case_cell(&w->way, RH_CASE_DEPLOYMENT);
    const char *says = *own ? own : rh_case_says(&w->way, RH_CASE_SAYS_DEPLOYMENT);
    if (!limit_is_known(w, says))
        return NULL;
    g_autofree char *limited = with_limit(w, says);
    g_autofree char *more = with_budget(w, limited);
    char *pools[RH_POOLS_MAX] = {NULL};
    bool said = say_pools(w, more, pools);
    g_autoptr(GString) text = g_string_new(NULL);
    g_auto(GStrv) words = g_strsplit(more ? more : "", "/", RH_POOLS_MAX); /* of each, or of all */
    int many = (int)g_strv_length(words);
    for (int p = 0; said && p < RH_POOLS_MAX && pools[p]; p++)
        g_string_append_printf(text, "%s%s%s%s", p ? "/" : "", pools[p], many > 0 ? "," : "",
                               many > 0 ? words[MIN(p, many - 1)] : "");
    for (int p = 0; p < RH_POOLS_MAX; p++)
        g_free(pools[p]);
    return said ? g_string_free(g_steal_pointer(&text), FALSE) : NULL;
}

#define UNKNOWN "unknown"

/* Reads the pools' text with keys for the pool that makes tokens, the last. */
static bool parse_deployment(Way *w, const char *pools, const char *more, RhDeployment *out)
{
    GError *local = NULL;
    g_autofree char *text =
        g_strdup_printf("server=%s,%s%s%s", rh_case_says(&w->way, RH_CASE_SAYS_SERVER), pools,
                        *more ? "," : "", more);
    *out = rh_deployment_default();
    return rh_deployment_parse(text, out, &local) ||
           rh_case_give_up_with(&w->way, "deployment: ", local);
}

static bool say_deployment(Way *w)
{
    const char *whole = rh_case_says(&w->way, RH_CASE_SAYS_POOLS);
    g_autofree char *pools = whole ? g_strdup(whole) : pools_of(w);
    if (!pools)
        return false;
    const char *said = rh_case_says(&w->way, RH_CASE_SAYS_SPECULATION);
    const char *draft = said ? strstr(said, "draft=") : NULL;
    w->out->both = draft && g_str_has_prefix(said, UNKNOWN);
    if (!parse_deployment(w, pools, draft && !w->out->both ? draft : "", &w->out->deployment) ||
        (w->out->both && !parse_deployment(w, pools, draft, &w->out->guessing)))
        return false;
    g_autofree char *canonical = rh_deployment_format(&w->out->deployment);
    w->out->strategy = rh_intern(canonical);
    return true;
}

/* --- client --- */

typedef struct {
    double waves, count, spread, stagger_s, turnaround_s, seconds;
    bool queued, poisson;
    RhPromptLengths lengths;
} Words;

/* Reads a word without a number; *known tells whether it is one. */
static bool read_plain_word(const char *word, Words *words, bool *known, GError **error)
{
    *known = true;
    if (g_str_has_prefix(word, "lengths="))
        return rh_prompt_lengths_load(strchr(word, '=') + 1, &words->lengths, error);
    if (strcmp(word, "queued") == 0)
        words->queued = true;
    else if (strcmp(word, "poisson") == 0)
        words->poisson = true;
    else
        *known = false;
    return true;
}

static bool read_words(Way *w, Words *words)
{
    GError *local = NULL;
    const char *said = rh_case_says(&w->way, RH_CASE_SAYS_CLIENT);
    if (!said)
        return rh_case_give_up(&w->way, "how requests come is unknown");
    g_auto(GStrv) items = g_strsplit(said, ",", -1);
    for (int i = 0; items[i]; i++) {
        g_auto(GStrv) pair = g_strsplit(items[i], "=", 2);
        const struct {
            const char *key;
            double *into;
            RhQuantity kind;
        } keys[] = {{"waves", &words->waves, RH_QUANTITY_COUNT},
                    {"count", &words->count, RH_QUANTITY_COUNT},
                    {"spread", &words->spread, RH_QUANTITY_COUNT},
                    {"stagger", &words->stagger_s, RH_QUANTITY_S},
                    {"seconds", &words->seconds, RH_QUANTITY_COUNT},
                    {"turnaround", &words->turnaround_s, RH_QUANTITY_S}};
        bool known;
        if (!read_plain_word(items[i], words, &known, &local))
            return rh_case_give_up_with(&w->way, "client: ", local);
        for (size_t k = 0; !known && k < G_N_ELEMENTS(keys); k++)
            if (strcmp(keys[k].key, pair[0]) == 0) {
                if (!rh_quantity_parse(pair[1] ? pair[1] : "", keys[k].kind, keys[k].into, &local))
                    return rh_case_give_up_with(&w->way, "client: ", local);
                known = true;
            }
        if (!known)
            return rh_case_give_up(&w->way, "client: unknown word \"%s\"", items[i]);
    }
    return true;
}

#define SEED        1
#define LENGTH_MOST 1e8

/* Reads a length, which may be a mean: "327.4". */
static bool say_length(Way *w, RhCaseColumn column, int64_t *tokens)
{
    const char *text = rh_case_cell(&w->way, column);
    double length = 0;
    if (!rh_number_parse(text, &length) || length < 1 || length > LENGTH_MOST)
        return rh_case_give_up(&w->way, "%s \"%s\": no length", rh_case_column_name(column), text);
    *tokens = (int64_t)(length + 0.5);
    return true;
}

/* Returns the number of requests by the client's words; 0: they do not tell it. */
static double requests_count(const Way *w, const Words *words, int32_t at_once)
{
    if (words->count > 0)
        return words->count;
    return words->seconds > 0 ? words->seconds * w->way.row->rps : words->waves * at_once;
}

static RhLengthRange range_of(const RhPromptLengths *lengths, const double *quantiles)
{
    return (RhLengthRange){(int32_t)MAX(quantiles[0], 1), (int32_t)quantiles[lengths->count - 1]};
}

/* Says the lengths: those of a data set, or those of the row's columns. */
static bool say_lengths(Way *w, Words *words, RhRequestsPlan *plan)
{
    RhPromptLengths *l = &w->out->lengths;
    int64_t isl, osl;
    double mean;
    if (words->lengths.count > 0) {
        *l = words->lengths;
        if (rh_number_parse(rh_case_cell(&w->way, RH_CASE_OSL), &mean) && mean >= 1)
            rh_prompt_lengths_stretch(l, mean);
        plan->input = range_of(l, l->input);
        plan->output = range_of(l, l->output);
        return true;
    }
    if (!say_length(w, RH_CASE_ISL, &isl) || !say_length(w, RH_CASE_OSL, &osl))
        return false;
    plan->input = (RhLengthRange){(int32_t)MAX((double)isl * words->spread, 1), (int32_t)isl};
    plan->output = (RhLengthRange){(int32_t)MAX((double)osl * words->spread, 1), (int32_t)osl};
    return true;
}

static bool say_client(Way *w)
{
    Words words = {.spread = 1, .turnaround_s = 1e-3};
    int32_t at_once =
        (int32_t)CLAMP(g_ascii_strtoll(rh_case_cell(&w->way, RH_CASE_AT_ONCE), NULL, 10), 0, 65536);
    if (!read_words(w, &words))
        return false;
    bool open = words.queued || words.poisson;
    double count = requests_count(w, &words, at_once), rate = w->way.row->rps;
    RhRequestsPlan plan = {.arrival = words.poisson ? RH_ARRIVAL_POISSON : RH_ARRIVAL_BURST,
                           .rate_per_s = words.poisson ? rate : 0,
                           .seed = SEED};
    if (!say_lengths(w, &words, &plan))
        return false;
    if (words.poisson && rate <= 0)
        return rh_case_give_up(&w->way, "rps is not given");
    if (at_once == 0 && !open)
        return rh_case_give_up(&w->way, "batch_or_concurrency is not given");
    if (!(count >= 1 && count <= 1e6))
        return rh_case_give_up(&w->way, "client: neither waves nor count");
    plan.count = (int32_t)count;
    w->out->plan = plan;
    if (words.poisson && w->way.row->rate_in_limits_per_s > 0) {
        w->out->ttft_limit_s = w->way.row->ttft_limit_s;
        w->out->tpot_limit_s = w->way.row->tpot_limit_s;
    }
    w->out->client = (RhClient){.at_once = open ? 0 : at_once,
                                .turnaround_s = words.turnaround_s,
                                .stagger_s = words.stagger_s};
    return true;
}

RhRequests *rh_served_requests(const RhServedCase *c)
{
    RhRequests *requests = rh_requests_draw(&c->plan);
    if (c->lengths.count > 0)
        rh_prompt_lengths_draw(&c->lengths, c->plan.seed, requests);
    return requests;
}

static void say_where(Way *w)
{
    const char *table = rh_case_says(&w->way, RH_CASE_SAYS_TABLE);
    w->out->table = table; /* otherwise it is of its own kind */
    w->out->fitted = rh_case_says(&w->way, RH_CASE_SAYS_FITTED);
    w->out->standing = rh_case_standing(&w->way);
}

static void say_known(Way *w)
{
    const RhCaseValues *said = w->way.said;
    RhServedCase *out = w->out;
    const char *pools = said->says[RH_CASE_SAYS_POOLS]; /* flags, or workers alone */
    out->flags_known = said->says[RH_CASE_SAYS_DEPLOYMENT] || (pools && strstr(pools, "chunk=")) ||
                       *rh_case_cell(&w->way, RH_CASE_DEPLOYMENT);
    out->version_known = g_strcmp0(said->says[RH_CASE_SAYS_VERSION], "unknown") != 0;
    out->speculation_known = !said->says[RH_CASE_SAYS_SPECULATION] ||
                             strcmp(said->says[RH_CASE_SAYS_SPECULATION], "none") == 0;
}

static char *translate(RhServedTranslator *t, const RhCaseRow *row, bool asked, RhServedCase *out)
{
    RhCaseValues said = rh_case_facts_say(t->facts, row);
    Way w = {.t = t, .way = {row, &said, NULL}, .out = out};
    *out = (RhServedCase){0};
    say_where(&w);
    bool fine = !said.says[RH_CASE_SAYS_SKIP] ||
                rh_case_give_up(&w.way, "%s", said.says[RH_CASE_SAYS_SKIP]);
    fine = fine && say_model(&w) && say_server(&w) && say_deployment(&w) && say_platform(&w) &&
           (!asked || say_client(&w));
    if (fine) {
        say_known(&w);
        out->stands_in = rh_case_stands_in(&w.way);
    }
    rh_case_said_clear(&said);
    return w.way.why;
}

char *rh_served_translate(RhServedTranslator *t, const RhCaseRow *row, RhServedCase *out)
{
    return translate(t, row, true, out);
}

char *rh_served_translate_idle(RhServedTranslator *t, const RhCaseRow *row, RhServedCase *out)
{
    return translate(t, row, false, out);
}

void rh_served_case_clear(RhServedCase *c)
{
    g_clear_pointer(&c->stands_in, g_free);
}
