#include "report/plan_with_jobs_report.h"

#include <math.h>

#include "base/garray_access.h"
#include "base/text/text_table.h"
#include "report/format.h"
#include "report/json/json_common.h"
#include "report/multi_job.h"

#define AVOIDED_FRAC 1e-3 /* of the step: a smaller cost counts as none */
#define NODES_WIDTH  14   /* in tables */

static uint32_t jobs_count(const RhColocatedJobTrial *t)
{
    return t->met->jobs->len + (t->met->service_beside != NULL);
}

/* Largest cost to one of the other jobs. */
static double theirs_frac(const RhColocatedJobTrial *t)
{
    double most = 0;
    for (uint32_t j = 1; j < jobs_count(t); j++)
        most = fmax(most, rh_colocated_job_cost_frac(t, j));
    return most;
}

/* Names of the others: "a and b"; caller frees. */
static char *names_text(const RhColocatedJobPlan *b)
{
    return g_strjoinv(" and ", b->names);
}

static void append_head(GString *out, const RhPlan *plan, const RhColocatedJobTrial *t)
{
    const RhRehearsal *r = g_ptr_array_index(plan->entries, t->entry);
    g_autofree char *names = names_text(plan->beside), *title = rh_layout_title(&r->layout);
    g_autofree char *alone = rh_quantity_format(rh_colocated_job_alone_s(t), RH_QUANTITY_S, 4);
    g_autofree char *beside = rh_quantity_format(rh_colocated_job_step_s(t), RH_QUANTITY_S, 4);
    g_autofree char *nodes = rh_report_nodes(t->nodes, t->nodes_count);
    g_autofree char *whose = t->entry == 0
                                 ? g_strdup("#1, the best alone, too")
                                 : g_strdup_printf("#%u wins there, not #1", t->entry + 1);
    if (plan->beside->alone_rank > (int32_t)t->entry + 1) {
        g_autofree char *bare = g_steal_pointer(&whose);
        whose =
            g_strdup_printf("%s; alone %d others are faster", bare, plan->beside->alone_rank - 1);
    }
    g_autofree char *text =
        g_strdup_printf("%s/step, %s alone (%+.1f %%), on nodes %s, %s: %s", beside, alone,
                        100 * rh_colocated_job_cost_frac(t, 0), nodes, t->about, whose);
    g_string_append_printf(out, "best beside %s: %s\n      ", names, title);
    rh_text_wrap(out, text, 6, 79);
}

static void append_shared_links(GString *out, const RhColocatedJobTrial *t)
{
    const GArray *links = t->met->links;
    if (links->len == 0) {
        g_string_append(out, "      they meet on no link there\n");
        return;
    }
    g_autoptr(GString) text = g_string_new("they meet on ");
    for (guint i = 0; i < MIN(links->len, 2); i++) {
        const RhSessionLink *link = RH_AT(links, RhSessionLink, i);
        g_autofree char *rate = rh_quantity_format(link->bytes_per_s, RH_QUANTITY_BYTES_PER_S, 3);
        g_string_append_printf(text, "%s%s", i ? ", " : "", link->name);
        if (link->alike > 1)
            g_string_append_printf(text, " and %d alike", link->alike - 1);
        g_string_append_printf(text, " (%s)", rate);
    }
    if (links->len > 2)
        g_string_append_printf(text, " and %u kinds more", links->len - 2);
    g_string_append(out, "      ");
    rh_text_wrap(out, text->str, 6, 79);
}

static void append_avoiding(GString *out, const RhColocatedJobPlan *b)
{
    const RhColocatedJobTrial *first = RH_AT(b->layouts, RhColocatedJobTrial, 0),
                              *best = rh_colocated_job_best_place(b);
    g_autofree char *nodes = rh_report_nodes(best->nodes, best->nodes_count);
    g_autofree char *step = rh_quantity_format(rh_colocated_job_step_s(best), RH_QUANTITY_S, 4);
    double cost = rh_colocated_job_cost_frac(best, 0),
           saved = 1 - rh_colocated_job_step_s(best) / rh_colocated_job_step_s(first);
    g_autofree char *text = NULL;
    if (fabs(rh_colocated_job_cost_frac(first, 0)) < AVOIDED_FRAC && saved < AVOIDED_FRAC)
        text = g_strdup("avoided: it costs nothing there");
    else if (saved < AVOIDED_FRAC)
        text = g_strdup(b->places->len ? "not avoided: no placement below is faster"
                                       : "not avoided: no other placement is to be had");
    else
        text =
            g_strdup_printf("%s on nodes %s, %s: #%u, %s/step, %.1f %% less, %+.1f %% over alone",
                            cost < AVOIDED_FRAC ? "avoided" : "avoided best", nodes, best->about,
                            best->entry + 1, step, 100 * saved, 100 * cost);
    rh_text_wrap(out, text, 9, 79);
}

/* Nodes as text, shortened where it is long. */
static char *short_nodes(const RhColocatedJobTrial *t)
{
    g_autofree char *all = rh_report_nodes(t->nodes, t->nodes_count);
    if (strlen(all) <= NODES_WIDTH)
        return g_steal_pointer(&all);
    all[NODES_WIDTH - 2] = '\0';
    return g_strconcat(all, "..", NULL);
}

static void add_trial(RhTable *table, const RhColocatedJobTrial *t)
{
    g_autofree char *alone = rh_quantity_format(rh_colocated_job_alone_s(t), RH_QUANTITY_S, 4);
    g_autofree char *beside = rh_quantity_format(rh_colocated_job_step_s(t), RH_QUANTITY_S, 4);
    g_autofree char *nodes = short_nodes(t);
    rh_table_rowf(table, "%u|%s|%s|%s|%s|%+.1f|%+.1f", t->entry + 1, nodes, t->about, alone, beside,
                  100 * rh_colocated_job_cost_frac(t, 0), 100 * theirs_frac(t));
}

static void append_table(GString *out, const RhColocatedJobPlan *b)
{
    g_autoptr(RhTable) table = rh_table_new("><<>>>>");
    rh_table_rowf(table, "#|nodes||alone|beside|cost %%|theirs %%");
    for (guint i = 0; i < b->layouts->len; i++)
        add_trial(table, RH_AT(b->layouts, RhColocatedJobTrial, i));
    for (guint i = 0; i < b->places->len; i++)
        add_trial(table, RH_AT(b->places, RhColocatedJobTrial, i));
    rh_table_append_within(table, out, " ", 79);
    g_string_append(out, "   theirs: what it costs them, the most\n");
    if (b->places->len == 0)
        g_string_append(out, b->all_taken
                                 ? "   no other placement: it stands on all nodes that are free\n"
                                 : "   no other placement: all are alike for the switches\n");
}

static void append_proof(GString *out, const RhColocatedJobPlan *b, double gap_frac)
{
    g_autofree char *gap = rh_text_number(100 * gap_frac, 2);
    g_autofree char *bound = rh_quantity_format(b->proof_bound_s, RH_QUANTITY_S, 4);
    g_autofree char *text =
        b->proved ? g_strdup_printf("proved there: no kind left can beat it beside them by more "
                                    "than %s %%, as a neighbour only slows",
                                    gap)
        : b->elsewhere
            ? g_strdup("not proved there: bounds are of a job on the first nodes, whose links are "
                       "others")
        : isfinite(b->proof_bound_s)
            ? g_strdup_printf("not proved there: a layout left out takes %s alone at least", bound)
            : g_strdup("not proved there: layouts are not all bounded");
    rh_text_wrap(out, text, 2, 79);
}

void rh_report_append_beside(GString *out, const RhPlan *plan, double gap_frac)
{
    const RhColocatedJobPlan *b = plan->beside;
    const RhColocatedJobTrial *first = RH_AT(b->layouts, RhColocatedJobTrial, 0);
    append_head(out, plan, first);
    append_shared_links(out, first);
    append_avoiding(out, b);
    append_table(out, b);
    append_proof(out, b, gap_frac);
    g_string_append_c(out, '\n');
}

/* --- JSON --- */

static void put_trial(RhJsonWriter *w, const RhColocatedJobPlan *b, const RhColocatedJobTrial *t)
{
    rh_json_begin_object(w, NULL);
    rh_json_put_int(w, "rank", t->entry + 1);
    rh_json_put_string(w, "place", t->about);
    rh_json_begin_array(w, "nodes");
    for (int32_t i = 0; i < t->nodes_count; i++)
        rh_json_put_int(w, NULL, t->nodes[i]);
    rh_json_end_array(w);
    rh_json_put_number(w, "alone_step_time_s", rh_colocated_job_alone_s(t));
    rh_json_put_number(w, "step_time_s", rh_colocated_job_step_s(t));
    rh_json_put_number(w, "slowdown_frac", rh_colocated_job_cost_frac(t, 0));
    rh_json_begin_array(w, "others");
    for (uint32_t j = 1; j < jobs_count(t); j++) {
        rh_json_begin_object(w, NULL);
        rh_json_put_string(w, "name", b->names[j - 1]);
        rh_json_put_number(w, "slowdown_frac", rh_colocated_job_cost_frac(t, j));
        rh_json_end_object(w);
    }
    rh_json_end_array(w);
    rh_json_begin_array(w, "links");
    for (guint i = 0; i < t->met->links->len; i++)
        rh_put_session_link(w, RH_AT(t->met->links, RhSessionLink, i), jobs_count(t));
    rh_json_end_array(w);
    rh_json_end_object(w);
}

static void put_trials(RhJsonWriter *w, const char *key, const RhColocatedJobPlan *b,
                       const GArray *trials)
{
    rh_json_begin_array(w, key);
    for (guint i = 0; i < trials->len; i++)
        put_trial(w, b, RH_AT(trials, RhColocatedJobTrial, i));
    rh_json_end_array(w);
}

void rh_put_plan_beside(RhJsonWriter *w, const RhPlan *plan)
{
    const RhColocatedJobPlan *b = plan->beside;
    if (!b)
        return;
    rh_json_begin_object(w, "beside");
    rh_put_words(w, "names", (const char *const *)b->names);
    rh_json_put_bool(w, "proved", b->proved);
    rh_json_put_int(w, "rehearsed_count", b->tried);
    rh_json_put_int(w, "alone_rank", b->alone_rank);
    rh_put_known(w, "proof_bound_s", b->proof_bound_s);
    put_trials(w, "layouts", b, b->layouts);
    put_trials(w, "places", b, b->places);
    rh_json_end_object(w);
}
