/* Performs the rules of families: parsed once to be checked and once for every model. */
#include "workloads/config/family_derived_fields.h"

#include <glib.h>
#include <string.h>

#include "base/text/expression.h"
#include "workloads/config/family_field_names.h"

static int64_t *field_named(const char *name, RhConfig *config)
{
    const RhConfigField *field = rh_config_field_named(name);
    return field ? (int64_t *)(void *)((char *)config + field->offset) : NULL;
}

static bool field_value(const char *name, const void *user, int64_t *value)
{
    const RhConfigField *field = rh_config_field_named(name);
    if (field != NULL)
        *value = *(const int64_t *)(const void *)((const char *)user + field->offset);
    return field != NULL;
}

/* Applies one rule to `config`. Returns the problem, or NULL; the caller frees. */
static char *perform(const char *rule, RhConfig *config)
{
    RhExpressionNames names = {.value = field_value, .user = config, .unknown = "no known field"};
    const char *end = strchr(rule, '=');
    g_autofree char *name = g_strstrip(end ? g_strndup(rule, (gsize)(end - rule)) : g_strdup(rule));
    int64_t *field = field_named(name, config);
    if (field == NULL)
        return g_strdup_printf("no known field at \"%s\"", rule);
    return end ? rh_expression_value(end + 1, &names, field) : g_strdup("no \"=\" at its end");
}

char *rh_rule_problem(const char *rule)
{
    RhConfig scratch = {0};
    return perform(rule, &scratch);
}

void rh_rules_apply(const char *const *rules, RhConfig *config)
{
    for (; rules != NULL && *rules != NULL; rules++) {
        char *problem = perform(*rules, config);
        g_assert(problem == NULL); /* rules were checked when the family was read */
    }
}
