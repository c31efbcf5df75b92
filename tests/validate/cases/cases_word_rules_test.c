/* Rules of published tables: which are withheld, and which must say where they come from. */
#include <string.h>

#include "tests/kit/testkit.h"
#include "validate/cases/cases_word_rules.h"

#define COLUMNS "source,model,gpu,isl,osl,batch_or_concurrency,tp,precision,ttft_ms,tpot_ms,note\n"

static RhCaseFacts *load(GError **error)
{
    return rh_case_facts_load(true, error);
}

static RhCaseTable *rows_of(const char *text)
{
    g_autofree char *whole = g_strconcat(COLUMNS, text, NULL);
    RhCaseTable *table = rh_case_table_parse("t.csv", whole, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(table);
    return table;
}

static const char *said(const RhCaseFacts *facts, const RhCaseRow *row, RhCaseAspect aspect)
{
    RhCaseValues values = rh_case_facts_say(facts, row);
    const char *text = values.says[aspect];
    rh_case_said_clear(&values);
    return text;
}

/* The shipped rules: one that was chosen on rows is withheld from groups that hold such rows, and
 * comes back. */
static void chosen_rules_are_withheld(void)
{
    g_autoptr(RhCaseFacts) facts = load(NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(facts);
    g_autoptr(RhCaseTable) table = rows_of(
        "aiconfigurator x,Qwen/Qwen3-32B,h100_sxm,1024,128,8,2,fp8,10,10,agg; sglang 0.5.8\n"
        "elsewhere,Qwen/Qwen3-32B,h100_sxm,1024,128,8,2,fp8,10,10,agg; sglang 0.5.8\n");
    const RhCaseRow *own = &g_array_index(table->rows, RhCaseRow, 0),
                    *other = &g_array_index(table->rows, RhCaseRow, 1);
    g_autoptr(GPtrArray) group = g_ptr_array_new();
    const char *whole = said(facts, own, RH_CASE_SAYS_DEPLOYMENT);
    CU_ASSERT_STRING_EQUAL(whole ? whole : "", "memory=80");
    g_ptr_array_add(group, (void *)other);
    rh_case_facts_withhold(facts, group);
    CU_ASSERT_PTR_NOT_NULL(said(facts, own, RH_CASE_SAYS_DEPLOYMENT));
    g_ptr_array_add(group, (void *)own);
    rh_case_facts_withhold(facts, group);
    CU_ASSERT_PTR_NULL(said(facts, own, RH_CASE_SAYS_DEPLOYMENT));
    CU_ASSERT_PTR_NOT_NULL(said(facts, own, RH_CASE_SAYS_MODEL)); /* a name is no choice */
    rh_case_facts_withhold(facts, NULL);
    CU_ASSERT_PTR_NOT_NULL(said(facts, own, RH_CASE_SAYS_DEPLOYMENT));
    guint chosen = 0;
    for (guint k = 0; k < rh_case_facts_count(facts); k++)
        chosen += rh_case_facts_chosen(facts, k);
    CU_ASSERT_TRUE(chosen > 0 && chosen < rh_case_facts_count(facts) / 4);
}

/* What a training row says of its stack, recipe, platform, layout and overlap no rule says; an empty
 * cell says nothing. FSDP2 is full sharding. */
static void rows_say_their_own_stack(void)
{
    g_autoptr(RhCaseFacts) facts = rh_case_facts_load(false, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(facts);
    g_autoptr(RhCaseTable) table = rh_case_table_parse(
        "t.csv",
        "source,model,gpu,gpus,seq,global_batch,zero,measured_iteration_s,stack,recipe,platform,"
        "layout,overlap\n"
        "me,llama3-8b,H100,8,8192,8,fsdp2,1,torchtitan,fp8-current,grand-teton,etp1 sp=on,on\n"
        "me,llama3-8b,H100,8,8192,8,1,1,,,,,\n",
        NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(table);
    const RhCaseRow *own = &g_array_index(table->rows, RhCaseRow, 0),
                    *bare = &g_array_index(table->rows, RhCaseRow, 1);
    CU_ASSERT_STRING_EQUAL(said(facts, own, RH_CASE_SAYS_STACK), "torchtitan");
    CU_ASSERT_STRING_EQUAL(said(facts, own, RH_CASE_SAYS_RECIPE), "fp8-current");
    CU_ASSERT_STRING_EQUAL(said(facts, own, RH_CASE_SAYS_PLATFORM), "grand-teton");
    CU_ASSERT_STRING_EQUAL(said(facts, own, RH_CASE_SAYS_LAYOUT), "etp1,sp=on");
    CU_ASSERT_STRING_EQUAL(said(facts, own, RH_CASE_SAYS_OVERLAP), "on");
    CU_ASSERT_STRING_EQUAL(said(facts, own, RH_CASE_SAYS_ZERO), "3");
    CU_ASSERT_STRING_EQUAL(said(facts, bare, RH_CASE_SAYS_STACK), "megatron");
    CU_ASSERT_PTR_NULL(said(facts, bare, RH_CASE_SAYS_OVERLAP));
}

/* Returns what is wrong with a rule; NULL: nothing. Caller frees. */
static char *problem_of(const char *rule)
{
    g_autofree char *text = g_strdup_printf("{\"rules\": [%s]}", rule);
    g_autoptr(GError) error = NULL;
    g_autoptr(RhCaseFacts) facts = rh_case_facts_parse("t.json", text, &error);
    return facts ? NULL : g_strdup(error->message);
}

static void narrow_rules_say_where_they_come_from(void)
{
#define NARROW                                                                                     \
    "{\"when\": {\"model\": \"m\", \"gpu\": \"g\", \"batch_or_concurrency\": \"8\"}, "             \
    "\"deployment\": \"batch=8\", "
    g_autofree char *bare = problem_of(NARROW "\"source\": \"the rows themselves\"}");
    CU_ASSERT_TRUE(bare && strstr(bare, "\"chosen_on\""));
    g_autofree char *chosen =
        problem_of(NARROW "\"chosen_on\": \"these rows\", \"source\": \"the rows themselves\"}");
    CU_ASSERT_PTR_NULL(chosen);
    g_autofree char *public =
        problem_of(NARROW "\"source\": \"github.com/a/b 6a5dad463, run.sh\"}");
    CU_ASSERT_PTR_NULL(public);
    g_autofree char *elsewhere =
        problem_of(NARROW "\"chosen_on\": {\"model\": \"n\"}, \"source\": \"the rows of n\"}");
    CU_ASSERT_PTR_NULL(elsewhere);
    g_autofree char *word =
        problem_of(NARROW "\"chosen_on\": \"some\", \"source\": \"the rows themselves\"}");
    CU_ASSERT_TRUE(word && strstr(word, "these rows"));
    g_autofree char *wide = problem_of(
        "{\"when\": {\"model\": \"m\"}, \"deployment\": \"batch=8\", \"source\": \"its maker\"}");
    CU_ASSERT_PTR_NULL(wide);
}

int main(void)
{
    static const RhTest tests[] = {
        {"rows_say_their_own_stack", rows_say_their_own_stack},
        {"chosen_rules_are_withheld", chosen_rules_are_withheld},
        {"narrow_rules_say_where_they_come_from", narrow_rules_say_where_they_come_from},
        {NULL, NULL},
    };
    return rh_test_main("cases_facts", tests);
}
