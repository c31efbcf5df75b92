#include "report/next_command.h"

#include <string.h>

#include "report/format.h"

char *rh_report_nodes_words(const char *spec, int32_t nodes)
{
    const char *colon = strchr(spec, ':');
    if (strchr(spec, ',') || (colon && strchr(colon, 'x')))
        return g_strdup_printf("--set nodes=%d", nodes);
    g_autofree char *said = g_strndup(spec, colon ? (gsize)(colon - spec) : strlen(spec));
    g_autofree char *name = rh_text_path(said);
    return g_strdup_printf("-p %s:%d", name, nodes);
}

/* Is a setting said otherwise? Nodes are by a name's own number, and prices are not for plans. */
static bool is_said(const char *set, const char *platform)
{
    return (g_str_has_prefix(set, "nodes=") && !strpbrk(platform, ".:/")) ||
           g_str_has_prefix(set, "price_per_gpu_hour=");
}

void rh_report_next_plan(GString *out, const RhNextPlan *n)
{
    const RhQuestion *q = n->q;
    g_autoptr(GPtrArray) words = g_ptr_array_new_with_free_func(g_free);
    g_autofree char *workload = rh_text_path(q->workload_spec),
                    *platform = rh_text_path(n->platform), *stack = rh_text_path(q->c->stack->spec);
    g_ptr_array_add(words, g_strdup_printf("-w %s", workload));
    bool named = n->nodes && g_str_has_prefix(n->nodes, "-p ");
    g_ptr_array_add(words, named ? g_strdup(n->nodes) : g_strdup_printf("-p %s", platform));
    if (n->nodes && !named)
        g_ptr_array_add(words, g_strdup(n->nodes));
    g_ptr_array_add(words, g_strdup_printf("--gpus %d", n->gpus));
    g_ptr_array_add(words, g_strdup_printf("--global-batch %" G_GINT64_FORMAT, n->global_batch));
    if (!rh_model_sees_pictures(q->c->model))
        g_ptr_array_add(words, g_strdup_printf("--seq %" G_GINT64_FORMAT, n->sequence));
    if (q->c->job.recipe != &rh_recipe_bf16)
        g_ptr_array_add(words, g_strdup_printf("--dtype %s", q->c->job.recipe->name));
    g_ptr_array_add(words, g_strdup_printf("--stack %s", stack));
    for (const char *const *set = q->sets; set && *set; set++)
        if (!is_said(*set, n->platform)) {
            g_autofree char *word = rh_text_path(*set);
            g_ptr_array_add(words, g_strdup_printf("--set %s", word));
        }
    if (n->layout)
        g_ptr_array_add(words, g_strdup_printf("-s %s", n->layout));
    g_ptr_array_add(words, NULL);
    g_string_append_printf(out, "next: rehearse %s", n->command);
    rh_text_command(out, (const char *const *)words->pdata);
    g_string_append_c(out, '\n');
}
