#include "validate/served_translate.h"

#include <string.h>

#include "base/error.h"
#include "base/units.h"
#include "validate/cases_way.h"

struct RhServedTranslator {
    RhCaseFacts *facts;
    GHashTable *models;    /* name -> RhModel*, both owned */
    GHashTable *platforms; /* text -> RhPlatform*, both owned */
};

typedef struct {
    RhServedTranslator *t;
    RhCaseWay way;
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

static bool say_platform(Way *w)
{
    GError *local = NULL;
    const char *said = rh_case_says(&w->way, RH_CASE_SAYS_PLATFORM),
               *set = rh_case_says(&w->way, RH_CASE_SAYS_SET);
    g_autofree char *own = g_ascii_strdown(rh_case_cell(&w->way, RH_CASE_GPU), -1);
    g_autofree char *nodes = NULL;
    if (!said && g_strv_contains(rh_device_names(), own))
        said = nodes = g_strdup_printf("%s:8x%" G_GINT64_FORMAT, own,
                                       MAX((w->way.row->whole[RH_CASE_GPUS] + 7) / 8, 1));
    if (!said && g_strv_contains(rh_platform_names(), own))
        said = own;
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
    w->out->serving.server = name ? rh_server_by_name(name) : NULL;
    return w->out->serving.server || rh_case_give_up(&w->way, "no server is known for it%s%s",
                                                     name ? ": " : "", name ? name : "");
}

static bool say_deployment(Way *w)
{
    GError *local = NULL;
    const char *more = rh_case_says(&w->way, RH_CASE_SAYS_DEPLOYMENT);
    int64_t tp = w->way.row->whole[RH_CASE_TP], pp = w->way.row->whole[RH_CASE_PP],
            ep = w->way.row->whole[RH_CASE_EP], dp = w->way.row->whole[RH_CASE_DP];
    if (tp == 0)
        return rh_case_give_up(&w->way, "tp is not given");
    g_autofree char *text =
        g_strdup_printf("server=%s,tp%" G_GINT64_FORMAT ",pp%" G_GINT64_FORMAT
                        ",ep%" G_GINT64_FORMAT ",dp%" G_GINT64_FORMAT "%s%s",
                        rh_case_says(&w->way, RH_CASE_SAYS_SERVER), tp, MAX(pp, 1), MAX(ep, 1),
                        MAX(dp, 1), more ? "," : "", more ? more : "");
    w->out->deployment = rh_deployment_default();
    if (!rh_deployment_parse(text, &w->out->deployment, &local))
        return rh_case_give_up_with(&w->way, "deployment: ", local);
    g_autofree char *canonical = rh_deployment_format(&w->out->deployment);
    w->out->strategy = g_intern_string(canonical);
    return true;
}

/* --- the client --- */

typedef struct {
    double waves, count, spread, stagger_s, turnaround_s;
    bool queued;
} Words;

static bool read_words(Way *w, Words *words)
{
    GError *local = NULL;
    const char *said = rh_case_says(&w->way, RH_CASE_SAYS_CLIENT);
    if (!said)
        return rh_case_give_up(&w->way, "how requests come is not known");
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
                    {"turnaround", &words->turnaround_s, RH_QUANTITY_S}};
        bool known = strcmp(items[i], "queued") == 0;
        words->queued |= known;
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

/* Tables give means, too: "327.4". */
static bool say_length(Way *w, RhCaseColumn column, int64_t *tokens)
{
    const char *text = rh_case_cell(&w->way, column);
    char *end;
    double length = g_ascii_strtod(text, &end);
    if (end == text || *end || !(length >= 1 && length <= LENGTH_MOST))
        return rh_case_give_up(&w->way, "%s \"%s\": no length", rh_case_column_name(column), text);
    *tokens = (int64_t)(length + 0.5);
    return true;
}

static bool say_client(Way *w)
{
    Words words = {.spread = 1, .turnaround_s = 1e-3};
    int64_t isl, osl;
    int32_t at_once =
        (int32_t)CLAMP(g_ascii_strtoll(rh_case_cell(&w->way, RH_CASE_AT_ONCE), NULL, 10), 0, 65536);
    if (!read_words(w, &words) || !say_length(w, RH_CASE_ISL, &isl) ||
        !say_length(w, RH_CASE_OSL, &osl))
        return false;
    if (at_once == 0 && !words.queued)
        return rh_case_give_up(&w->way, "batch_or_concurrency is not given");
    double count = words.count > 0 ? words.count : words.waves * at_once;
    if (!(count >= 1 && count <= 1e6))
        return rh_case_give_up(&w->way, "client: neither waves nor count");
    w->out->plan =
        (RhRequestsPlan){.arrival = RH_ARRIVAL_BURST,
                         .count = (int32_t)count,
                         .input = {(int32_t)MAX((double)isl * words.spread, 1), (int32_t)isl},
                         .output = {(int32_t)MAX((double)osl * words.spread, 1), (int32_t)osl},
                         .seed = SEED};
    w->out->client = (RhClient){.at_once = words.queued ? 0 : at_once,
                                .turnaround_s = words.turnaround_s,
                                .stagger_s = words.stagger_s};
    return true;
}

static void say_where(Way *w)
{
    const char *table = rh_case_says(&w->way, RH_CASE_SAYS_TABLE);
    w->out->table = table; /* else it is of its own kind */
    w->out->fitted = rh_case_says(&w->way, RH_CASE_SAYS_FITTED);
    w->out->standing = rh_case_standing(&w->way);
}

static char *translate(RhServedTranslator *t, const RhCaseRow *row, bool asked, RhServedCase *out)
{
    RhCaseSaid said = rh_case_facts_say(t->facts, row);
    Way w = {.t = t, .way = {row, &said, NULL}, .out = out};
    *out = (RhServedCase){0};
    say_where(&w);
    bool fine = !said.says[RH_CASE_SAYS_SKIP] ||
                rh_case_give_up(&w.way, "%s", said.says[RH_CASE_SAYS_SKIP]);
    fine = fine && say_model(&w) && say_server(&w) && say_platform(&w) && say_deployment(&w) &&
           (!asked || say_client(&w));
    if (fine)
        out->stands_in = rh_case_stands_in(&w.way);
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
