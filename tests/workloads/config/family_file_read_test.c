/* Family files: what they may say, what is wrong with them and where, and the rules that fill in figures. */
#include <string.h>

#include "base/error.h"
#include "tests/kit/testkit.h"
#include "workloads/config/family_derived_fields.h"
#include "workloads/config/family_field_names.h"
#include "workloads/config/family_file_read.h"
#include "workloads/model.h"

#define WORDS "'norm': 'rms', 'positions': 'rotary', 'mixer': 'attention', 'ffn': 'ffn'"

static RhFamilyFile *parse(const char *text, GError **error)
{
    g_autofree char *json = g_strdelimit(g_strdup(text), "'", '"');
    g_autoptr(RhJson) doc = rh_json_parse("mine.json", json, strlen(json), error);
    return doc ? rh_family_file_read(doc, "mine", rh_family_find, error) : NULL;
}

static const RhField *field_of(const RhFamily *family, const char *key)
{
    for (const RhField *f = family->fields; f->type != RH_FIELD_NONE; f++)
        if (g_strcmp0(f->key, key) == 0)
            return f;
    return NULL;
}

static void check_refused(const char *text, const char *place, const char *expected)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhFamilyFile) file = parse(text, &error);
    CU_ASSERT_PTR_NULL(file);
    CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
    CU_ASSERT_TRUE(rh_test_says(error ? error->message : NULL, place));
    CU_ASSERT_TRUE(rh_test_says(error ? error->message : NULL, expected));
}

static void a_family_takes_over_what_it_does_not_state(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhFamilyFile) file = parse(
        "{'derives': 'llama', 'model_types': ['mine_text'], 'keys': {'head_dim': {'field': "
        "'attention.head_dim', 'default': 128}, 'mlp_bias': null, 'my_heads': 'attention.num_key_value_heads'}, "
        "'constants': {'attention.qk_norm': 1}}",
        &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    const RhFamily *mine = &file->families[0], *llama = rh_family_by_name("llama");
    CU_ASSERT_EQUAL(file->count, 2);
    CU_ASSERT_STRING_EQUAL(file->families[1].name, "mine_text");
    CU_ASSERT_PTR_EQUAL(mine->mixer, llama->mixer);
    CU_ASSERT_EQUAL(mine->norm, llama->norm);
    CU_ASSERT_EQUAL(field_of(mine, "head_dim")->otherwise, 128);
    CU_ASSERT_EQUAL(field_of(llama, "head_dim")->otherwise, 0);
    CU_ASSERT_PTR_NULL(field_of(mine, "mlp_bias"));
    CU_ASSERT_PTR_NULL(field_of(mine, "num_key_value_heads")); /* another key sets its field */
    CU_ASSERT_EQUAL(field_of(mine, "my_heads")->otherwise, RH_FIELD_REQUIRED);
    CU_ASSERT_PTR_NOT_NULL(field_of(mine, "hidden_size"));
}

static void mistakes_are_told_with_their_place(void)
{
    check_refused("{" WORDS ", 'keys': {'width': 'hiden_size'}}",
                  "mine.json:1:", "\"hidden_size\"");
    check_refused("{" WORDS ", 'keys': {'width': 3}}", "mine.json:1:", "which field it sets");
    check_refused("{" WORDS ",\n 'mixxer': 'attention'}", "mine.json:2:2", "mixxer");
    check_refused("{'norm': 'rms', 'mixer': 'atention', 'ffn': 'ffn'}", "mine.json:1:", "atention");
    check_refused("{'norm': 'max', 'mixer': 'attention', 'ffn': 'ffn'}", "mine.json:1:", "rms");
    check_refused("{'norm': 'rms'}", "mine.json:1:", "no \"mixer\" and \"ffn\"");
    check_refused("{'derives': 'lama'}", "mine.json:1:13", "lama");
    check_refused("{" WORDS ", 'constants': {'no_such': 1}}", "mine.json:1:", "no_such");
    check_refused("{" WORDS ", 'part_defaults': {'layers': 2}}", "mine.json:1:", "not a key");
    check_refused("{" WORDS ", 'other_layers': 'conv'}", "mine.json:1:", "no layer type \"conv\"");
    check_refused("{" WORDS ", 'layer_types': {'a': {'preceded_by': 'a'}}}",
                  "mine.json:1:", "preceded");
    check_refused("{" WORDS ", 'rules': ['hidden_size = 4 * hiddn']}", "mine.json:1:", "hiddn");
    check_refused("{" WORDS ", 'variants': [{'key': 'a'}]}", "mine.json:1:", "family");
}

static void every_file_of_the_catalogue_is_right(void)
{
    g_autofree char *folder =
        g_build_filename(g_getenv("REHEARSE_DATA"), "workloads", "families", NULL);
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(dir);
    for (const char *file; (file = g_dir_read_name(dir)) != NULL;) {
        g_autofree char *name = g_strndup(file, strlen(file) - strlen(".json"));
        g_autoptr(GError) error = NULL;
        CU_ASSERT_PTR_NOT_NULL(rh_family_find(name, &error));
        if (error != NULL)
            g_printerr("  %s\n", error->message);
    }
    CU_ASSERT_TRUE(g_strv_length((char **)rh_family_names()) > 300);
    for (const RhFamily *const *f = rh_families(); f[1] != NULL; f++) /* and no type is two's */
        CU_ASSERT_TRUE(strcmp(f[0]->name, f[1]->name) < 0);
}

/* The value of an expression, for a hidden size of 48, five heads and an intermediate size of 0. */
static int64_t value_of(const char *expression)
{
    g_autofree char *rule = g_strdup_printf("vocab_size = %s", expression), *problem = NULL;
    const char *rules[] = {rule, NULL};
    RhConfig c = {.hidden_size = 48, .attention.num_attention_heads = 5};
    problem = rh_rule_problem(rule);
    CU_ASSERT_PTR_NULL_FATAL(problem);
    rh_rules_apply(rules, &c);
    return c.vocab_size;
}

static void rules_are_read_as_c_reads_them(void)
{
    static const struct {
        const char *expression;
        int64_t value;
    } rows[] = {
        {"1 + 2 * 3 - 4", 3},
        {"(1 + 2) * 3", 9},
        {"hidden_size / attention.num_attention_heads", 9},
        {"hidden_size % attention.num_attention_heads", 3},
        {"-7 / 2", -3},
        {"2 - 3 - 4", -5},
        {"hidden_size / intermediate_size", 0}, /* nothing is divided by zero */
        {"intermediate_size == 0 ? 4 * hidden_size : intermediate_size", 192},
        {"intermediate_size > 0 ? 1 : attention.num_attention_heads >= 5 ? 2 : 3", 2},
        {"!intermediate_size && attention.num_attention_heads != 4", 1},
        {"intermediate_size || attention.num_attention_heads < 5", 0},
        {"1 || 0 && 0", 1},
        {"max(min(hidden_size, 12), attention.num_attention_heads)", 12},
        {"9000000000000000000 * 2", G_MAXINT64},
        {"-9000000000000000000 - 9000000000000000000", G_MININT64},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        CU_ASSERT_EQUAL(value_of(rows[i].expression), rows[i].value);
}

static void what_is_no_rule_is_told(void)
{
    static const struct {
        const char *rule, *problem;
    } rows[] = {
        {"hidden_size", "no \"=\""},
        {"nothing = 1", "no known field"},
        {"hidden_size = ", "no known field"},
        {"hidden_size = (1 + 2", "no \")\""},
        {"hidden_size = 1 2", "more than an expression"},
        {"hidden_size = max(1)", "no \",\""},
        {"hidden_size = intermediate_size ? 1", "no \":\""},
        {"hidden_size = ((((((((((((((((((((((((((((((((((((1))))))))))))))))))))))))))))))))))))",
         "levels"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *problem = rh_rule_problem(rows[i].rule);
        CU_ASSERT_TRUE(rh_test_says(problem, rows[i].problem));
    }
}

static void names_of_fields_are_sorted(void)
{
    for (const char *const *name = rh_config_field_names(); *name != NULL; name++) {
        CU_ASSERT_PTR_NOT_NULL(rh_config_field_named(*name));
        if (name[1] != NULL)
            CU_ASSERT_TRUE(strcmp(name[0], name[1]) < 0);
    }
}

int main(void)
{
    return rh_test_main(
        "family_read",
        (RhTest[]){{"a_family_takes_over_what_it_does_not_state",
                    a_family_takes_over_what_it_does_not_state},
                   {"mistakes_are_told_with_their_place", mistakes_are_told_with_their_place},
                   {"every_file_of_the_catalogue_is_right", every_file_of_the_catalogue_is_right},
                   {"rules_are_read_as_c_reads_them", rules_are_read_as_c_reads_them},
                   {"what_is_no_rule_is_told", what_is_no_rule_is_told},
                   {"names_of_fields_are_sorted", names_of_fields_are_sorted},
                   {0}});
}
