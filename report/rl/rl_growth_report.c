/* Formats what becomes of placements while answers grow. */
#include "base/text/text_table.h"
#include "report/format.h"
#include "report/rl/rl_plan_report.h"
#include "report/serve/serve_words.h"

#define HOUR_S 3600.0

/* Hours of all steps with the best entry of a point; "does not fit". Caller frees. */
static char *hours(const RhRlGrowth *g, int point)
{
    return g->run_s[point] > 0 ? rh_text_number(g->run_s[point] / HOUR_S, 3)
                               : g_strdup("does not fit");
}

static char *step_with(double step_s)
{
    return step_s > 0 ? rh_text_number(step_s, 3) : g_strdup("does not fit");
}

static void append_point(RhTable *table, const RhRlGrowth *g, int point)
{
    static const char *const names[RH_RL_GROWTH_POINTS] = {"first", "middle", "last"};
    const RhRlEntry *e = rh_rl_growth_entry(g, point);
    const RhRlGrowthPoint *p = &g->points[point];
    g_autofree char *tokens = rh_text_count((int64_t)(p->answer_tokens + 0.5)),
                    *split = rh_report_rl_split(e), *ahead = rh_report_rl_ahead(e),
                    *servers = rh_report_servers(&e->servers.deployment),
                    *best = step_with(p->step_s[point]), *first = step_with(p->step_s[0]),
                    *run = hours(g, point);
    rh_table_rowf(table, "%s|%s|%s|%s|%s|%s|%s|%s|%s", names[point], tokens, e->placement->name,
                  ahead, split, servers, best, first, run);
}

void rh_report_rl_growth(GString *out, const RhRlGrowth *g)
{
    g_autoptr(RhTable) table = rh_table_new("<><<><>>>");
    g_autofree char *first = hours(g, 0), *best = g->best >= 0 ? hours(g, g->best) : NULL;
    g_autoptr(GString) line = g_string_new(NULL);
    g_string_append_printf(line, "growth: %" G_GINT64_FORMAT " steps whose answers grow take %s%s",
                           g->spec.steps, first, g->run_s[0] > 0 ? " h with #1" : " with #1");
    if (g->best > 0)
        g_string_append_printf(line, ", and %s h with the best of the %s step", best,
                               g->best == 1 ? "middle" : "last");
    else if (g->best == 0)
        g_string_append(line, "; none of the placements below takes less");
    rh_text_wrap(out, line->str, 2, 79);
    rh_table_rowf(table,
                  "step|answer|best placement|ahead|train:gen|servers|step s|#1 s|run h with it");
    for (int i = 0; i < RH_RL_GROWTH_POINTS; i++)
        append_point(table, g, i);
    rh_table_append(table, out, "  ");
    rh_text_wrap(out,
                 "  answer: mean tokens; #1 s: a step with the best placement, split and "
                 "servers of the first step, in the training layout that is the best here; the run "
                 "by Simpson's rule over the three",
                 2, 79);
}

void rh_put_rl_growth(RhJsonWriter *w, const RhRlGrowth *g)
{
    rh_json_begin_object(w, "growth");
    rh_json_put_int(w, "steps_count", g->spec.steps);
    rh_json_put_int(w, "best_index", g->best);
    rh_json_begin_array(w, "points");
    for (int i = 0; i < RH_RL_GROWTH_POINTS; i++) {
        const RhRlEntry *e = rh_rl_growth_entry(g, i);
        g_autofree char *layout = rh_layout_format(&e->trainer.layout),
                        *deployment = rh_deployment_format(&e->servers.deployment);
        rh_json_begin_object(w, NULL);
        rh_json_put_number(w, "answer_tokens_mean", g->points[i].answer_tokens);
        rh_json_put_string(w, "placement", e->placement->name);
        rh_json_put_number(w, "ahead_count", e->ahead);
        rh_json_put_int(w, "train_gpus_count", e->trainer.gpus);
        rh_json_put_string(w, "layout", layout);
        rh_json_put_string(w, "deployment", deployment);
        rh_json_begin_array(w, "step_s_with_best_of");
        for (int k = 0; k < RH_RL_GROWTH_POINTS; k++)
            rh_json_put_number(w, NULL, g->points[i].step_s[k]);
        rh_json_end_array(w);
        rh_json_put_number(w, "run_s", g->run_s[i]);
        rh_json_end_object(w);
    }
    rh_json_end_array(w);
    rh_json_end_object(w);
}
