#include "validate/cases/cases_word_rules.h"

#include <string.h>

#include "base/catalogue_folders.h"
#include "base/error.h"
#include "base/interned_strings.h"

typedef struct {
    RhCaseColumn column;
    GPtrArray *patterns; /* GPatternSpec* */
} Condition;

typedef struct {
    GArray *conditions; /* Condition */
    GArray *chosen_on;  /* Condition; NULL: read in a source, not chosen on rows */
    bool withheld;
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
    Rule *rule = data;
    g_array_unref(rule->conditions);
    g_clear_pointer(&rule->chosen_on, g_array_unref);
}

static GPatternSpec *pattern_of(const char *text)
{
    g_autofree char *lower = g_ascii_strdown(text, -1);
    return g_pattern_spec_new(lower);
}

/* --- reading --- */

static void read_condition(RhJson *doc, const RhJsonNode *member, GArray *conditions)
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
    g_array_append_val(conditions, c);
}

static GArray *read_conditions(RhJson *doc, const RhJsonNode *object)
{
    GArray *conditions = g_array_new(FALSE, FALSE, sizeof(Condition));
    g_array_set_clear_func(conditions, condition_clear);
    for (const RhJsonNode *n = object ? rh_json_first(object) : NULL; n; n = rh_json_next(n))
        read_condition(doc, n, conditions);
    return conditions;
}

/* Reads the rows that a rule was chosen on: NULL where it was read in a source. */
static GArray *read_chosen_on(RhJson *doc, const RhJsonNode *node, GArray *conditions)
{
    const RhJsonNode *member = rh_json_member(node, "chosen_on");
    if (!member)
        return NULL;
    if (rh_json_kind(member) == RH_JSON_OBJECT)
        return read_conditions(doc, rh_json_object(doc, node, "chosen_on"));
    const char *word = rh_json_string(doc, node, "chosen_on");
    if (g_strcmp0(word, "these rows") != 0)
        rh_json_problem(doc, member, NULL,
                        "\"chosen_on\" is \"these rows\", or conditions as those of \"when\"");
    return g_array_ref(conditions);
}

static bool names(const GArray *conditions, RhCaseColumn column)
{
    for (guint i = 0; i < conditions->len; i++)
        if (g_array_index(conditions, Condition, i).column == column)
            return true;
    return false;
}

/* Is a rule so narrow that it must say where it comes from: does it name a model, a GPU and a
 * concurrency? */
static bool is_narrow(const Rule *rule)
{
    return names(rule->conditions, RH_CASE_MODEL) && names(rule->conditions, RH_CASE_GPU) &&
           names(rule->conditions, RH_CASE_AT_ONCE);
}

/* Does a source name a file at a commit, or a paper? */
static bool is_public(const char *source)
{
    return source && g_regex_match_simple("\\b[0-9a-f]{7,40}\\b|arXiv|the same", source, 0, 0);
}

static void read_rule(RhJson *doc, const RhJsonNode *node, GArray *rules)
{
    Rule rule = {.conditions = read_conditions(doc, rh_json_object(doc, node, "when")),
                 .silent = true};
    rule.chosen_on = read_chosen_on(doc, node, rule.conditions);
    for (int i = 0; i < RH_CASE_SAYS_LAST; i++) {
        rule.says[i] = rh_json_string_or(doc, node, keys[i], NULL);
        rule.silent &= rule.says[i] == NULL;
    }
    rule.stands_in = rh_json_string_or(doc, node, "stands_in", NULL);
    if (rule.silent && !rule.stands_in)
        rh_json_problem(doc, node, NULL, "this rule says nothing");
    const char *source = rh_json_string(doc, node, "source");
    if (!rule.chosen_on && is_narrow(&rule) && !is_public(source))
        rh_json_problem(
            doc, node, NULL,
            "a rule that names a model, a GPU and a concurrency needs \"chosen_on\", or "
            "a file at a commit as its source");
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

RhCaseFacts *rh_case_facts_parse(const char *name, const char *text, GError **error)
{
    g_autoptr(RhJson) doc = rh_json_parse(name, text, strlen(text), error);
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

static bool applies(const GArray *conditions, char *const *lower)
{
    for (guint i = 0; i < conditions->len; i++)
        if (!matches(&g_array_index(conditions, Condition, i), lower))
            return false;
    return true;
}

static void lower_case(const RhCaseRow *row, char *lower[RH_CASE_COLUMNS_LAST])
{
    for (int i = 0; i < RH_CASE_COLUMNS_LAST; i++)
        lower[i] = g_ascii_strdown(row->text[i], -1);
}

static void lower_clear(char *lower[RH_CASE_COLUMNS_LAST])
{
    for (int i = 0; i < RH_CASE_COLUMNS_LAST; i++)
        g_free(lower[i]);
}

static Rule *rule_at(const RhCaseFacts *facts, guint i)
{
    return &g_array_index(facts->rules, Rule, i);
}

void rh_case_facts_withhold(RhCaseFacts *facts, const GPtrArray *rows)
{
    char *lower[RH_CASE_COLUMNS_LAST];
    for (guint k = 0; k < facts->rules->len; k++)
        rule_at(facts, k)->withheld = false;
    for (guint i = 0; rows && i < rows->len; i++) {
        lower_case(g_ptr_array_index(rows, i), lower);
        for (guint k = 0; k < facts->rules->len; k++) {
            Rule *rule = rule_at(facts, k);
            rule->withheld |= rule->chosen_on && applies(rule->chosen_on, lower);
        }
        lower_clear(lower);
    }
}

guint rh_case_facts_count(const RhCaseFacts *facts)
{
    return facts->rules->len;
}

bool rh_case_facts_withheld(const RhCaseFacts *facts, guint rule)
{
    return rule_at(facts, rule)->withheld;
}

void rh_case_facts_set_withheld(RhCaseFacts *facts, guint rule, bool withheld)
{
    rule_at(facts, rule)->withheld = withheld;
}

bool rh_case_facts_chosen(const RhCaseFacts *facts, guint rule)
{
    return rule_at(facts, rule)->chosen_on != NULL;
}

bool rh_case_facts_applies(const RhCaseFacts *facts, guint rule, const RhCaseRow *row)
{
    char *lower[RH_CASE_COLUMNS_LAST];
    lower_case(row, lower);
    bool does = applies(rule_at(facts, rule)->conditions, lower);
    lower_clear(lower);
    return does;
}

/* Columns in which a row says an aspect itself: rules do not say it. */
static const struct {
    RhCaseColumn column;
    RhCaseAspect aspect;
} said_by_rows[] = {{RH_CASE_STACK, RH_CASE_SAYS_STACK},
                    {RH_CASE_RECIPE, RH_CASE_SAYS_RECIPE},
                    {RH_CASE_PLATFORM, RH_CASE_SAYS_PLATFORM},
                    {RH_CASE_LAYOUT, RH_CASE_SAYS_LAYOUT},
                    {RH_CASE_OVERLAP, RH_CASE_SAYS_OVERLAP}};

RhCaseValues rh_case_facts_say(const RhCaseFacts *facts, const RhCaseRow *row)
{
    RhCaseValues said = {.stands_in = g_ptr_array_new()};
    for (size_t i = 0; i < G_N_ELEMENTS(said_by_rows); i++) {
        g_autofree char *text = g_strdup(row->text[said_by_rows[i].column]);
        if (text && said_by_rows[i].aspect == RH_CASE_SAYS_LAYOUT)
            g_strdelimit(g_strstrip(text), " ", ',');
        if (text && *text)
            said.says[said_by_rows[i].aspect] = rh_intern(text);
    }
    char *lower[RH_CASE_COLUMNS_LAST];
    lower_case(row, lower);
    for (guint k = 0; k < facts->rules->len; k++) {
        const Rule *rule = &g_array_index(facts->rules, Rule, k);
        bool counts = rule->silent;
        if (rule->withheld || !applies(rule->conditions, lower))
            continue;
        for (int i = 0; i < RH_CASE_SAYS_LAST; i++)
            if (rule->says[i] && !said.says[i]) {
                said.says[i] = rule->says[i];
                counts = true;
            }
        if (counts && rule->stands_in)
            g_ptr_array_add(said.stands_in, (void *)rule->stands_in);
    }
    lower_clear(lower);
    return said;
}

void rh_case_said_clear(RhCaseValues *said)
{
    g_clear_pointer(&said->stands_in, g_ptr_array_unref);
}
