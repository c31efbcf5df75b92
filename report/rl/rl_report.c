#include "report/rl/rl_report.h"

#include <math.h>

#include "base/table.h"
#include "report/capacity/capacity.h"
#include "report/format.h"
#include "report/serve/serve_words.h"

#define WAITS_SHOWN_FRAC 0.02

/* Seconds of a step in which the trainer works on it, weights aside. */
static double training_s(const RhRlEntry *e)
{
    return e->times.forward_s + e->times.update_s;
}

RhRlBinds rh_rl_binds(const RhRlEntry *e, double *frac)
{
    double servers_s = e->ahead == 0 ? e->step.batch_s : e->step.spent_s[RH_RL_WAITS];
    double sends_s = e->step.spent_s[RH_RL_SENDS] + e->step.spent_s[RH_RL_LOADS];
    double train_s = training_s(e);
    bool waits = e->ahead > 0 && servers_s > WAITS_SHOWN_FRAC * e->step.step_s;
    *frac = (waits ? servers_s : fmax(fmax(servers_s, sends_s), train_s)) / e->step.step_s;
    if (waits || (e->ahead == 0 && servers_s >= fmax(sends_s, train_s)))
        return RH_RL_BINDS_SERVERS;
    return sends_s > train_s ? RH_RL_BINDS_WEIGHTS : RH_RL_BINDS_TRAINER;
}

static char *seconds(double s)
{
    return rh_quantity_format(s, RH_QUANTITY_S, 3);
}

static void append_split(GString *out, const RhRlEntry *e)
{
    g_autofree char *layout = rh_layout_title(&e->trainer.layout),
                    *servers = rh_report_servers(&e->servers.deployment);
    int32_t batch = e->servers.deployment.pools[0].batch;
    g_autofree char *most =
        batch > 0 ? g_strdup_printf(", at most %d answers at once each", batch) : g_strdup("");
    g_autoptr(GString) line = g_string_new("  ");
    if (e->placement->shares_gpus)
        g_string_append_printf(line, "all %d GPUs train, then generate: ", e->trainer.gpus);
    else
        g_string_append_printf(line, "%d GPUs train, %d generate: ", e->trainer.gpus,
                               e->servers.gpus);
    g_string_append_printf(line, "training %s; servers %s (%s)%s", layout, servers,
                           e->servers.deployment.server, most);
    rh_text_wrap(out, line->str, 4, 79);
}

static void append_parts(GString *out, const RhRlEntry *e)
{
    g_autofree char *forward = seconds(e->times.forward_s), *update = seconds(e->times.update_s),
                    *sync = seconds(e->weights.sync_s), *load = seconds(e->times.to_train_s),
                    *waits = seconds(e->step.spent_s[RH_RL_WAITS]),
                    *batch = seconds(e->step.batch_s);
    g_autoptr(GString) line = g_string_new("  a step: ");
    if (e->step.batch_s > 0)
        g_string_append_printf(line, "answers %s%s, ", batch, e->ahead > 0 ? " (beside)" : "");
    g_string_append_printf(line, "passes forward %s, updates %s, weights to servers %s", forward,
                           update, sync);
    if (e->times.to_train_s > 0)
        g_string_append_printf(line, ", states from and to host memory 2 x %s", load);
    if (e->ahead > 0)
        g_string_append_printf(line, "; the trainer waits %s", waits);
    rh_text_wrap(out, line->str, 4, 79);
}

static void append_best(GString *out, const RhRlAnswer *a, const RhRlEntry *e)
{
    g_autofree char *step = rh_quantity_format(e->step.step_s, RH_QUANTITY_S, 3),
                    *per_hour = rh_text_number(3600 / e->step.step_s, 3),
                    *hours = rh_text_number(e->gpu_hours, 3);
    g_autoptr(GString) line = g_string_new(NULL);
    g_string_append_printf(line, "best: %s", e->placement->title);
    if (e->placement->streams)
        g_string_append_printf(line, ", at most %g step%s ahead", e->ahead,
                               e->ahead == 1 ? "" : "s");
    g_string_append_printf(line, ": %s a step, %s steps an hour, ", step, per_hour);
    if (e->usd > 0) {
        g_autofree char *usd = rh_report_money(e->usd);
        g_string_append_printf(line, "%s a step", usd);
    } else {
        g_string_append_printf(line, "%s GPU-hours a step", hours);
    }
    if (e->step.age_mean > 0)
        g_string_append_printf(line, "; answers begin %.1f updates before they are used (p99 %.0f)",
                               e->step.age_mean, e->step.age_p99);
    rh_text_wrap(out, line->str, 2, 79);
    append_split(out, e);
    append_parts(out, e);
    (void)a;
}

static void append_job(GString *out, const RhRlAnswer *a)
{
    const RhRlJob *job = a->options->job;
    const RhProblem *c = a->options->problem;
    const RhRlTokens *t = &a->plan->tokens;
    g_autofree char *prompt = rh_text_count((int64_t)round(t->prompt)),
                    *answer = rh_text_count((int64_t)round(t->answer)),
                    *longest = rh_text_count(t->longest);
    g_autoptr(GString) line = g_string_new(NULL);
    g_string_append_printf(line,
                           "job: %s on %d GPUs of %s, %s%s, %d prompts x %d samples of %s + %s "
                           "tokens (mean; longest %s), %" G_GINT64_FORMAT " update%s a step, %s, "
                           "trained by %s",
                           c->model->name, c->job.gpus, a->q->hardware->name, job->algorithm->name,
                           job->algorithm->reference && !job->reference ? " without a reference"
                                                                        : "",
                           job->prompts, job->samples, prompt, answer, longest, rh_rl_updates(job),
                           rh_rl_updates(job) == 1 ? "" : "s", c->job.recipe->name, c->stack->name);
    rh_text_wrap(out, line->str, 2, 79);
}

static void append_row(RhTable *table, const RhRlEntry *e, guint number)
{
    g_autofree char *servers = rh_report_servers(&e->servers.deployment),
                    *step = rh_text_number(e->step.step_s, 3),
                    *train = rh_text_number(training_s(e), 3),
                    *sync = rh_text_number(
                        e->step.spent_s[RH_RL_SENDS] + e->step.spent_s[RH_RL_LOADS], 2),
                    *waits = rh_text_number(e->step.spent_s[RH_RL_WAITS], 3),
                    *ahead =
                        e->placement->shares_gpus ? g_strdup("-") : g_strdup_printf("%g", e->ahead);
    g_autofree char *split = e->placement->shares_gpus
                                 ? g_strdup_printf("%d", e->trainer.gpus)
                                 : g_strdup_printf("%d:%d", e->trainer.gpus, e->servers.gpus);
    rh_table_rowf(table, "%u%s|%s|%s|%s|%s|%s|%s|%s|%s|%.1f", number, e->pareto ? "*" : "",
                  e->placement->name, ahead, split, servers, step, train, sync, waits,
                  e->step.age_mean);
}

/* The best of each placement and steps ahead first, then others. */
static GArray *shown_rows(const RhRlAnswer *a)
{
    const GArray *entries = a->plan->entries;
    GArray *out = g_array_new(FALSE, FALSE, sizeof(guint));
    for (guint pass = 0; pass < 2; pass++)
        for (guint i = 0; i < entries->len; i++) {
            const RhRlEntry *e = &g_array_index(entries, RhRlEntry, i);
            bool first = true;
            for (guint k = 0; k < i; k++) {
                const RhRlEntry *o = &g_array_index(entries, RhRlEntry, k);
                first &= o->placement != e->placement || o->ahead != e->ahead;
            }
            if (first == (pass == 0) && out->len < (guint)a->options->top)
                g_array_append_val(out, i);
        }
    return out;
}

static void append_table(GString *out, const RhRlAnswer *a)
{
    g_autoptr(RhTable) table = rh_table_new("<<>><>>>>>");
    g_autoptr(GArray) rows = shown_rows(a);
    rh_table_rowf(table, "#|placement|ahead|train:gen|servers|step s|train|weights|wait|age");
    for (guint i = 0; i < rows->len; i++)
        append_row(table,
                   &g_array_index(a->plan->entries, RhRlEntry, g_array_index(rows, guint, i)),
                   i + 1);
    rh_table_append(table, out, "");
    g_string_append(out, "  train: passes forward and updates; wait: the trainer, for answers; *: "
                         "no row\n  is both quicker and fresher\n");
}

static void append_binds(GString *out, const RhRlEntry *e)
{
    static const char *const names[][2] = {
        [RH_RL_BINDS_SERVERS] = {"generation", "more GPUs that generate, or answers with a "
                                               "shorter tail"},
        [RH_RL_BINDS_TRAINER] = {"training", "more GPUs that train"},
        [RH_RL_BINDS_WEIGHTS] = {"moving weights and states", "another --transport, or GPUs apart"},
    };
    double frac = 0;
    RhRlBinds binds = rh_rl_binds(e, &frac);
    g_autofree char *line =
        binds == RH_RL_BINDS_SERVERS && e->ahead > 0
            ? g_strdup_printf("binds: generation: the trainer waits for answers in %.0f %% of the "
                              "step; what would help: %s",
                              100 * frac, names[binds][1])
            : g_strdup_printf("binds: %s takes %.0f %% of the step; what would help: %s",
                              names[binds][0], 100 * frac, names[binds][1]);
    rh_text_wrap(out, line, 2, 79);
}

static void append_search(GString *out, const RhRlAnswer *a)
{
    const RhRlPlan *plan = a->plan;
    g_autoptr(GString) line = g_string_new(NULL);
    g_string_append_printf(line,
                           "searched: %" G_GINT64_FORMAT " candidates of %" G_GINT64_FORMAT
                           " trainers and %" G_GINT64_FORMAT " deployments; %" G_GINT64_FORMAT
                           " simulated, %" G_GINT64_FORMAT
                           " cannot be quicker than the best of their placement by their bounds",
                           plan->candidates_count, plan->trainers_count, plan->servers_count,
                           plan->simulated_count, plan->bounded_count);
    if (plan->timed_out)
        g_string_append(line, "; stopped by --timeout, so that others may be quicker");
    rh_text_wrap(out, line->str, 2, 79);
    rh_text_wrap(out,
                 "no measured error bar: the parts (training step, server) have bars of their own, "
                 "a whole step of this kind has not been judged (docs/theory/rl.md has the runs it "
                 "was compared with)",
                 2, 79);
}

char *rh_report_rl_text(const RhRlAnswer *a)
{
    GString *out = g_string_new(NULL);
    if (a->plan->entries->len > 0) {
        const RhRlEntry *best = &g_array_index(a->plan->entries, RhRlEntry, 0);
        append_best(out, a, best);
        append_job(out, a);
        g_string_append_c(out, '\n');
        append_table(out, a);
        g_string_append_c(out, '\n');
        append_binds(out, best);
    } else {
        g_string_append(out, "no step was simulated in time\n");
        append_job(out, a);
    }
    append_search(out, a);
    return g_string_free(out, FALSE);
}
