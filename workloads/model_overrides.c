/* Applies settings KEY=VALUE to a model. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/text/decimal_parse.h"
#include "base/text/nearest_names.h"
#include "base/units.h"
#include "workloads/model_private.h"

static const RhField *find_key(const RhField *fields, const char *key)
{
    for (const RhField *f = fields; f->type != RH_FIELD_NONE; f++)
        if (f->key != NULL && g_str_equal(f->key, key))
            return f;
    return NULL;
}

static bool fail_unknown_key(const RhModel *m, const char *key, GError **error)
{
    g_autoptr(GPtrArray) keys = g_ptr_array_new();
    bool pictures = rh_model_sees_pictures(m);
    const RhField *known = pictures ? rh_family_by_name(m->family)->fields : rh_set_fields;
    if (pictures)
        g_ptr_array_add(keys, (void *)"layers");
    for (const RhField *f = known; f->type != RH_FIELD_NONE; f++)
        if (f->key != NULL)
            g_ptr_array_add(keys, (void *)f->key);
    g_ptr_array_add(keys, NULL);
    g_autofree char *all = g_strjoinv(", ", (char **)keys->pdata);
    const char *near = rh_near_name(key, (const char *const *)keys->pdata);
    g_autofree char *help =
        near == NULL ? NULL : g_strdup_printf("\nhelp: a similar key exists: %s", near);
    return rh_fail(error, RH_ERROR_USAGE, "unknown key \"%s\" of model %s\nnote: known: %s%s", key,
                   m->name, all, help != NULL ? help : "");
}

static bool parse_ratio(const RhField *field, const char *key, const char *text, int64_t *value,
                        GError **error)
{
    double number = 0, low = (double)field->low / 1000, high = (double)field->high / 1000;
    if (!rh_number_parse(text, &number) || number < low || number > high)
        return rh_fail(error, RH_ERROR_USAGE, "%s=%s: not a number from %g to %g", key, text, low,
                       high);
    *value = llround(1000 * number);
    return true;
}

static bool parse_value(const RhField *field, const char *key, const char *text, int64_t *value,
                        GError **error)
{
    if (field->type == RH_FIELD_RATIO)
        return parse_ratio(field, key, text, value, error);
    bool yes = g_str_equal(text, "true") || g_str_equal(text, "on");
    bool no = g_str_equal(text, "false") || g_str_equal(text, "off");
    if (field->type != RH_FIELD_SIZE && (yes || no)) {
        *value = yes;
        return true;
    }
    double rate;
    if (field->type == RH_FIELD_RATE && rh_share_parse(text, &rate, NULL)) {
        *value = rate > 0;
        return true;
    }
    if (field->type == RH_FIELD_SIZE &&
        rh_integer_parse(text, field->low, field->high, value, NULL))
        return true;
    if (field->type == RH_FIELD_SIZE)
        return rh_fail(error, RH_ERROR_USAGE,
                       "%s=%s: not a whole number from %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT,
                       key, text, field->low, field->high);
    return rh_fail(error, RH_ERROR_USAGE, "%s=%s: neither on nor off%s", key, text,
                   field->type == RH_FIELD_RATE ? ", nor a share from 0 to 1" : "");
}

/* Clears the sizes that are derived from a changed one, so that they are derived again. */
static void forget_derived(size_t changed, RhConfig *c)
{
    bool of_hidden = changed == offsetof(RhConfig, hidden_size);
    bool of_heads = changed == offsetof(RhConfig, attention.num_attention_heads);
    bool derived_head = c->attention.num_attention_heads * c->attention.head_dim == c->hidden_size;
    bool derived_ffn = !c->mlp.gated && c->intermediate_size == 4 * c->hidden_size;
    if (derived_head && (of_hidden || of_heads))
        c->attention.head_dim = 0;
    if (c->attention.num_key_value_heads == c->attention.num_attention_heads && of_heads)
        c->attention.num_key_value_heads = 0;
    if (derived_ffn && of_hidden)
        c->intermediate_size = 0;
}

static void add_to_hash(RhModel *m, const char *key, const char *value)
{
    g_autofree char *old = m->hash;
    g_autofree char *text = g_strdup_printf("%s\n%s=%s", old != NULL ? old : "", key, value);
    m->hash = g_compute_checksum_for_string(G_CHECKSUM_SHA256, text, -1);
}

static bool is_said_by_layer(const RhModel *m, size_t offset)
{
    for (int32_t i = 0; i < m->plans_count; i++)
        for (int32_t j = 0; j < m->plans[i].figures_count; j++)
            if (m->plans[i].figures[j].offset == offset)
                return true;
    return false;
}

/* The field that a key of --set names; NULL and an error where it may not be set. */
static const RhField *field_of(const RhModel *m, const RhFamily *family, const char *key,
                               const char *value, GError **error)
{
    bool common = !rh_model_sees_pictures(m) || g_str_equal(key, "layers");
    const RhField *field = common ? find_key(rh_set_fields, key) : NULL;
    if (field == NULL)
        field = find_key(family->fields, key);
    if (field == NULL)
        return fail_unknown_key(m, key, error), NULL;
    if (is_said_by_layer(m, field->offset))
        return rh_fail(error, RH_ERROR_USAGE, "%s=%s: the file of %s says it layer by layer", key,
                       value, m->name),
               NULL;
    return field;
}

/* Text of the settings, as "hidden=5120, heads=40". Caller frees. */
static char *pairs_text(const RhModelSetting *settings, size_t count)
{
    GString *text = g_string_new(NULL);
    for (size_t i = 0; i < count; i++)
        g_string_append_printf(text, "%s%s=%s", i ? ", " : "", settings[i].key, settings[i].value);
    return g_string_free(text, FALSE);
}

/* Writes all settings into `c`, and derives the other figures. */
static bool lay_over(const RhModel *m, RhConfig *c, const RhModelSetting *settings, size_t count,
                     GError **error)
{
    const RhFamily *family = rh_family_by_name(m->family);
    g_autofree const RhField **fields = g_new0(const RhField *, count);
    g_autofree int64_t *said = g_new0(int64_t, count);
    g_autofree char *all = pairs_text(settings, count);
    for (size_t i = 0; i < count; i++) {
        fields[i] = field_of(m, family, settings[i].key, settings[i].value, error);
        if (!fields[i])
            return false;
        forget_derived(fields[i]->offset, c);
    }
    for (size_t i = 0; i < count; i++) {
        if (!parse_value(fields[i], settings[i].key, settings[i].value, &said[i], error))
            return false;
        *rh_config_field(c, fields[i]) = said[i];
        if (m->config->window.size == 0 && fields[i]->offset == offsetof(RhConfig, window.size))
            c->window.first_layer = 0; /* a first window is used in every layer */
    }
    g_autoptr(GArray) problems = rh_config_resolve(family, c, rh_set_fields);
    if (problems->len > 0) {
        const RhShapeProblem *p = &g_array_index(problems, RhShapeProblem, 0);
        return rh_fail(error, RH_ERROR_USAGE, "%s: %s\nhelp: %s", all, p->text, p->help);
    }
    for (size_t i = 0; i < count; i++)
        if (*rh_config_field(c, fields[i]) != said[i])
            return rh_fail(
                error, RH_ERROR_USAGE,
                "%s=%s: in the family %s it follows from other figures, as %" G_GINT64_FORMAT,
                settings[i].key, settings[i].value, m->family, *rh_config_field(c, fields[i]));
    return true;
}

bool rh_model_set_together(RhModel *m, const RhModelSetting *settings, size_t count, GError **error)
{
    g_return_val_if_fail(m != NULL && settings != NULL && count > 0, false);
    RhConfig c = *m->config, before = *m->config;
    if (!lay_over(m, &c, settings, count, error))
        return false;
    rh_model_set_sizes(m, &c);
    RhLayersProblem problem = {0};
    g_autoptr(GError) beyond = NULL;
    if (!rh_model_set_layers(m, &c, m->plans, m->plans_count, &problem) ||
        !rh_model_countable(m, &beyond)) {
        g_autofree char *why = beyond ? g_strdup(beyond->message) : problem.text;
        g_autofree char *all = pairs_text(settings, count);
        problem.layer = beyond ? -1 : problem.layer;
        RhLayersProblem none = {0};
        rh_model_set_sizes(m, &before);
        rh_model_set_layers(m, &before, m->plans, m->plans_count, &none);
        return problem.layer < 0 ? rh_fail(error, RH_ERROR_USAGE, "%s: %s", all, why)
                                 : rh_fail(error, RH_ERROR_USAGE, "%s: layer %d, %s", all,
                                           problem.layer + 1, why);
    }
    for (size_t i = 0; i < count; i++)
        add_to_hash(m, settings[i].key, settings[i].value);
    return true;
}

bool rh_model_set(RhModel *m, const char *key, const char *value, GError **error)
{
    g_return_val_if_fail(m != NULL && key != NULL && value != NULL, false);
    return rh_model_set_together(m, &(RhModelSetting){key, value}, 1, error);
}
