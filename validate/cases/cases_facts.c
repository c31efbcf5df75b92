#include "validate/cases/cases_facts.h"

#include <string.h>

#include "base/catalogue_folders.h"
#include "base/error.h"

typedef struct {
    RhCaseColumn column;
    GPtrArray *patterns; /* GPatternSpec* */
} Condition;

typedef struct {
    GArray *conditions; /* Condition */
    const char *says[RH_CASE_SAYS_LAST];
    const char *stands_in; /* interned, or NULL */
    bool silent;           /* the only figure is the proxy */
} Rule;

struct RhCaseFacts {
    GArray *rules; /* Rule */
};

static const char *const keys[] = {
#define ASPECT_KEY(word, key) key,
    RH_CASE_ASPECTS(ASPECT_KEY)
#undef ASPECT_KEY
};

static void condition_clear(void *data)
{
    g_ptr_array_unref(((Condition *)data)->patterns);
}

static void rule_clear(void *data)
{
    g_array_unref(((Rule *)data)->conditions);
}

static GPatternSpec *pattern_of(const char *text)
{
    g_autofree char *lower = g_ascii_strdown(text, -1);
    return g_pattern_spec_new(lower);
}

/* --- reading --- */

static void read_condition(RhJson *doc, const RhJsonNode *member, Rule *rule)
{
    const char *name = rh_json_key(member);
    Condition c = {rh_case_column_by_name(name),
                   g_ptr_array_new_with_free_func((GDestroyNotify)g_pattern_spec_free)};
    rh_json_consume_all(doc, member);
    if (c.column == RH_CASE_COLUMNS_LAST)
        rh_json_problem_at_key(doc, member, NULL, "\"%s\" is not a column of a table of runs",
                               name);
    if (rh_json_kind(member) == RH_JSON_ARRAY)
        for (const RhJsonNode *n = rh_json_first(member); n; n = rh_json_next(n))
            g_ptr_array_add(c.patterns, pattern_of(rh_json_node_string(doc, n)));
    else
        g_ptr_array_add(c.patterns, pattern_of(rh_json_node_string(doc, member)));
    g_array_append_val(rule->conditions, c);
}

static void read_rule(RhJson *doc, const RhJsonNode *node, GArray *rules)
{
    Rule rule = {.conditions = g_array_new(FALSE, FALSE, sizeof(Condition)), .silent = true};
    const RhJsonNode *when = rh_json_object(doc, node, "when");
    g_array_set_clear_func(rule.conditions, condition_clear);
    for (const RhJsonNode *n = when ? rh_json_first(when) : NULL; n; n = rh_json_next(n))
        read_condition(doc, n, &rule);
    for (int i = 0; i < RH_CASE_SAYS_LAST; i++) {
        rule.says[i] = rh_json_string_or(doc, node, keys[i], NULL);
        rule.silent &= rule.says[i] == NULL;
    }
    rule.stands_in = rh_json_string_or(doc, node, "stands_in", NULL);
    if (rule.silent && !rule.stands_in)
        rh_json_problem(doc, node, NULL, "this rule says nothing");
    rh_json_string(doc, node, "source");
    g_array_append_val(rules, rule);
}

static RhCaseFacts *facts_of(RhJson *doc, GError **error)
{
    g_autoptr(RhCaseFacts) facts = g_new0(RhCaseFacts, 1);
    const RhJsonNode *rules = rh_json_array(doc, rh_json_root(doc), "rules");
    facts->rules = g_array_new(FALSE, TRUE, sizeof(Rule));
    g_array_set_clear_func(facts->rules, rule_clear);
    for (const RhJsonNode *n = rules ? rh_json_first(rules) : NULL; n; n = rh_json_next(n))
        read_rule(doc, n, facts->rules);
    return rh_json_finish(doc, error) ? g_steal_pointer(&facts) : NULL;
}

RhCaseFacts *rh_case_facts_load(bool serving, GError **error)
{
    g_autofree char *path = g_build_filename(rh_data_dir(), "validate", "data",
                                             serving ? "served.json" : "published.json", NULL);
    g_autoptr(RhJson) doc = rh_json_load(path, error);
    return doc ? facts_of(doc, error) : NULL;
}

void rh_case_facts_free(RhCaseFacts *facts)
{
    if (!facts)
        return;
    g_array_unref(facts->rules);
    g_free(facts);
}

/* --- asking --- */

static bool matches(const Condition *condition, char *const *lower)
{
    for (guint i = 0; i < condition->patterns->len; i++)
        if (g_pattern_spec_match_string(g_ptr_array_index(condition->patterns, i),
                                        lower[condition->column]))
            return true;
    return false;
}

static bool applies(const Rule *rule, char *const *lower)
{
    for (guint i = 0; i < rule->conditions->len; i++)
        if (!matches(&g_array_index(rule->conditions, Condition, i), lower))
            return false;
    return true;
}

RhCaseValues rh_case_facts_say(const RhCaseFacts *facts, const RhCaseRow *row)
{
    RhCaseValues said = {.stands_in = g_ptr_array_new()};
    char *lower[RH_CASE_COLUMNS_LAST];
    for (int i = 0; i < RH_CASE_COLUMNS_LAST; i++)
        lower[i] = g_ascii_strdown(row->text[i], -1);
    for (guint k = 0; k < facts->rules->len; k++) {
        const Rule *rule = &g_array_index(facts->rules, Rule, k);
        bool counts = rule->silent;
        if (!applies(rule, lower))
            continue;
        for (int i = 0; i < RH_CASE_SAYS_LAST; i++)
            if (rule->says[i] && !said.says[i]) {
                said.says[i] = rule->says[i];
                counts = true;
            }
        if (counts && rule->stands_in)
            g_ptr_array_add(said.stands_in, (void *)rule->stands_in);
    }
    for (int i = 0; i < RH_CASE_COLUMNS_LAST; i++)
        g_free(lower[i]);
    return said;
}

void rh_case_said_clear(RhCaseValues *said)
{
    g_clear_pointer(&said->stands_in, g_ptr_array_unref);
}
