#include "report/rl/rl_plan_report.h"

#include <math.h>

#include "base/text/text_table.h"
#include "report/capacity/capacity.h"
#include "report/format.h"
#include "report/serve/serve_words.h"
#include "strategies/rl/emitters/emitters.h"
#include "strategies/rl/placements/placements.h"

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

/* Share of the time in which some answer is being made. */
static double serving_frac(const RhRlStep *step)
{
    double busy_s = 0, from_s = step->t_begin_s;
    bool busy = false;
    for (guint i = 0; step->levels && i < step->levels->len; i++) {
        const RhRlLevel *level = &g_array_index(step->levels, RhRlLevel, i);
        double to_s = fmin(fmax(level->t_s, step->t_begin_s), step->t_end_s);
        busy_s += busy ? to_s - from_s : 0;
        from_s = to_s;
        busy = level->answered > 0;
    }
    busy_s += busy ? step->t_end_s - from_s : 0;
    return busy_s / fmax(step->t_end_s - step->t_begin_s, 1e-9);
}

static void append_split(GString *out, const RhRlEntry *e)
{
    g_autofree char *layout = rh_layout_title(&e->trainer.layout),
                    *servers = rh_report_servers(&e->servers.deployment),
                    *peak = rh_text_number(rh_text_gib(e->trainer.peak_bytes), 3),
                    *has = rh_text_number(rh_text_gib(e->trainer.capacity_bytes), 3);
    int32_t batch = e->servers.deployment.pools[0].batch;
    g_autofree char *most = batch > 0 ? g_strdup_printf(", max batch %d", batch) : g_strdup("");
    g_autofree char *beside =
        e->models_bytes > 0 && e->models_copy_s <= 0
            ? g_strdup_printf(" and %.3g for the other models", e->models_bytes / RH_GIB_BYTES)
            : NULL;
    g_autofree char *train =
        g_strdup_printf("  training on %s%d GPUs: %s, %s of %s GiB per GPU%s",
                        e->placement->shares_gpus ? "all " : "", e->trainer.gpus, layout, peak, has,
                        beside ? beside : "");
    rh_text_wrap(out, train, 4, 79);
    g_autofree char *generate =
        g_strdup_printf("  generation on %s%d GPUs: %s (%s)%s, at work %.0f %% of the time",
                        e->placement->shares_gpus ? "the same " : "", e->servers.gpus, servers,
                        e->servers.deployment.server, most, 100 * serving_frac(&e->step));
    rh_text_wrap(out, generate, 4, 79);
}

/* Names the models whose log-probabilities forward passes compute: "old policy and reference". */
static char *passes_text(const RhRlJob *job)
{
    bool reference = job->algorithm->reference && job->reference;
    if (job->algorithm->trained > 1)
        return g_strdup_printf("%d: log-probabilities, values and rewards", rh_rl_forwards(job));
    return g_strdup_printf("log-probabilities of %s%s%s", job->served_log_probs ? "" : "the policy",
                           !job->served_log_probs && reference ? " and " : "",
                           reference ? "the reference" : "");
}

static void append_parts(GString *out, const RhRlAnswer *a, const RhRlEntry *e)
{
    g_autofree char *forward = seconds(e->times.forward_s), *update = seconds(e->times.update_s),
                    *sync = seconds(e->weights.sync_s), *load = seconds(e->states_copy_s),
                    *models = seconds(e->models_copy_s),
                    *waits = seconds(e->step.spent_s[RH_RL_WAITS]),
                    *batch = seconds(e->step.batch_s), *passes = passes_text(a->options->job);
    g_autoptr(GString) line = g_string_new("  a step of the trainer: ");
    if (e->step.batch_s > 0)
        g_string_append_printf(line, "%s %s, ",
                               e->ahead > 0 ? "(generation beside it" : "generation", batch);
    if (e->step.batch_s > 0 && e->ahead > 0)
        g_string_insert(line, (gssize)line->len - 2, ")");
    if (e->times.forward_s > 0)
        g_string_append_printf(line, "forward passes %s (%s), ", forward, passes);
    g_string_append_printf(line, "updates %s, weights to servers %s", update, sync);
    if (e->models_copy_s > 0)
        g_string_append_printf(line, ", other models from host memory %s", models);
    if (e->states_copy_s > 0)
        g_string_append_printf(line, ", optimizer states from and to host memory 2 x %s", load);
    if (e->ahead > 0)
        g_string_append_printf(line, ", waiting for answers %s", waits);
    rh_text_wrap(out, line->str, 4, 79);
    if (a->verbosity < 1)
        return;
    g_autofree char *weights =
        g_strdup_printf("  weights: %s; %s", e->transport->about, e->transport->source);
    rh_text_wrap(out, weights, 4, 79);
}

/* Appends what generation throws away. */
static void append_dropped(GString *out, const RhRlAnswer *a, const RhRlEntry *e)
{
    const RhRlJob *job = a->options->job;
    if (job->begun_frac <= 1 && job->useful_frac >= 1)
        return;
    g_autofree char *line = g_strdup_printf(
        "  prompts a step: %.0f begun, %d trained on, %.0f dropped (all rewards alike, or others were "
        "there first)",
        e->step.begun, job->prompts, e->step.dropped);
    rh_text_wrap(out, line, 4, 79);
}

/* Appends what failures of servers cost the best placement. */
static void append_failing(GString *out, const RhRlAnswer *a)
{
    const RhRlFailures *f = &a->plan->failing;
    if (f->steps == 0)
        return;
    g_autofree char *with = seconds(f->step_s), *without = seconds(f->unharmed_s);
    g_autofree char *line = g_strdup_printf(
        "  with a failure of each server every %.3g h: %s a step in the mean of %d, %s without; answers under "
        "way are begun again elsewhere",
        a->options->failures->mtbf_s / 3600, with, f->steps, without);
    rh_text_wrap(out, line, 4, 79);
}

/* Appends how old answers are. At most prompts x (ahead + 1) are under way, which by Little's law
 * bounds their mean. */
static void append_staleness(GString *out, const RhRlEntry *e)
{
    if (e->step.age_mean <= 0)
        return;
    g_autoptr(GString) line = g_string_new("  staleness: ");
    g_string_append_printf(line,
                           "mean %.1f, p99 %.0f updates of the weights between the start of an "
                           "answer and its use",
                           e->step.age_mean, e->step.age_p99);
    if (e->placement->streams && e->step.age_p99 > e->ahead)
        g_string_append_printf(
            line, "; about as many as steps may be ahead (%g); long answers are staler", e->ahead);
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
        g_string_append_printf(line, ", %g step%s ahead", e->ahead, e->ahead == 1 ? "" : "s");
    g_string_append_printf(line, ": %s a step, %s steps an hour, ", step, per_hour);
    if (e->usd > 0) {
        g_autofree char *usd = rh_report_money(e->usd);
        g_string_append_printf(line, "%s a step", usd);
    } else {
        g_string_append_printf(line, "%s GPU-hours a step", hours);
    }
    rh_text_wrap(out, line->str, 2, 79);
    append_split(out, e);
    append_parts(out, a, e);
    append_dropped(out, a, e);
    append_staleness(out, e);
    append_failing(out, a);
}

/* Says the turns of an answer; NULL: it has one. */
static char *tools_text(const RhRlAnswer *a)
{
    const RhRlJob *job = a->options->job;
    g_autofree char *tokens = rh_text_count((int64_t)round(a->plan->tokens.tools));
    return job->turns > 1
               ? g_strdup_printf(
                     "; %d turns of an answer, %g s and in all %s tokens of tools between",
                     job->turns, job->tool_s, tokens)
               : NULL;
}

static void append_job(GString *out, const RhRlAnswer *a)
{
    const RhRlJob *job = a->options->job;
    const RhProblem *c = a->options->problem;
    const RhRlTokens *t = &a->plan->tokens;
    g_autofree char *prompt = rh_text_count((int64_t)round(t->prompt)),
                    *answer = rh_text_count((int64_t)round(t->answer)),
                    *longest = rh_text_count(t->longest);
    g_autofree char *tools = tools_text(a);
    g_autoptr(GString) line = g_string_new(NULL);
    g_string_append_printf(
        line,
        "job: %s on %d GPUs of %s, %s%s; a step: %d prompts x %d answers, "
        "%" G_GINT64_FORMAT " update%s; mean tokens: prompt %s, answer %s, the "
        "longest prompt with its answer %s%s; %s, framework %s",
        c->model->name, c->job.gpus, a->q->hardware->name, job->algorithm->name,
        job->algorithm->reference && !job->reference ? " without a reference" : "", job->prompts,
        job->samples, rh_rl_updates(job), rh_rl_updates(job) == 1 ? "" : "s", prompt, answer,
        longest, tools ? tools : "", c->job.recipe->name, c->stack->name);
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
                    *ahead = rh_report_rl_ahead(e), *split = rh_report_rl_split(e);
    rh_table_rowf(table, "%u%s|%s|%s|%s|%s|%s|%s|%s|%s|%.1f", number, e->pareto ? "*" : "",
                  e->placement->name, ahead, split, servers, step, train, sync, waits,
                  e->step.age_mean);
}

/* Are rows of one placement and steps ahead, and with `split` of one split of the GPUs? */
static bool alike(const RhRlEntry *a, const RhRlEntry *b, bool split)
{
    return a->placement == b->placement && a->ahead == b->ahead &&
           (!split || a->trainer.gpus == b->trainer.gpus);
}

static int by_place(const void *a, const void *b)
{
    guint p = *(const guint *)a, q = *(const guint *)b;
    return p < q ? -1 : p > q;
}

/* Rows shown, the quickest first: the best of each placement and steps ahead, then, where there is room, the best of
 * their other splits. */
static GArray *shown_rows(const RhRlAnswer *a)
{
    const GArray *entries = a->plan->entries;
    GArray *out = g_array_new(FALSE, FALSE, sizeof(guint));
    for (guint pass = 0; pass < 2; pass++)
        for (guint i = 0; i < entries->len; i++) {
            const RhRlEntry *e = &g_array_index(entries, RhRlEntry, i);
            bool first = true, first_split = true;
            for (guint k = 0; k < i; k++) {
                const RhRlEntry *o = &g_array_index(entries, RhRlEntry, k);
                first &= !alike(o, e, false);
                first_split &= !alike(o, e, true);
            }
            if ((pass == 0 ? first : first_split && !first) && out->len < (guint)a->options->top)
                g_array_append_val(out, i);
        }
    g_array_sort(out, by_place);
    return out;
}

/* Appends what the placements of the rows are. */
static void append_placements(GString *out, const RhRlAnswer *a, const GArray *rows)
{
    g_autoptr(GString) line = g_string_new("  placements: ");
    bool some = false;
    for (const RhRlPlacement *const *p = rh_rl_placements(); *p; p++)
        for (guint i = 0; i < rows->len; i++) {
            const RhRlEntry *e =
                &g_array_index(a->plan->entries, RhRlEntry, g_array_index(rows, guint, i));
            if (e->placement != *p)
                continue;
            g_string_append_printf(line, "%s%s: %s", some ? "; " : "", (*p)->name, (*p)->about);
            some = true;
            break;
        }
    rh_text_wrap(out, line->str, 4, 79);
}

static void append_table(GString *out, const RhRlAnswer *a)
{
    g_autoptr(RhTable) table = rh_table_new("<<>><>>>>>");
    g_autoptr(GArray) rows = shown_rows(a);
    rh_table_rowf(table, "#|placement|ahead|train:gen|servers|step s|train|weights|wait|stale");
    for (guint i = 0; i < rows->len; i++)
        append_row(table,
                   &g_array_index(a->plan->entries, RhRlEntry, g_array_index(rows, guint, i)),
                   i + 1);
    rh_table_append(table, out, "");
    rh_text_wrap(
        out,
        "  rows by step time: for each placement and ahead the fastest split of the GPUs, and the fastest other splits; "
        "* Pareto-optimal in step time and staleness; ahead: steps that generation may "
        "run ahead of training (0.5: by half a batch); train:gen: GPUs; the trainer's seconds: train (forward "
        "passes and updates), weights (to the servers, and models from host memory), wait (for answers); stale: mean "
        "staleness",
        2, 79);
    append_placements(out, a, rows);
}

static void append_binds(GString *out, const RhRlAnswer *a, const RhRlEntry *e)
{
    double frac = 0;
    RhRlBinds binds = rh_rl_binds(e, &frac);
    const char *more = a->plan->split_gpus > 0 || e->placement->shares_gpus
                           ? "more GPUs (--gpus)"
                           : "another split (leave out --train-gpus)";
    g_autoptr(GString) line = g_string_new("bottleneck: ");
    if (binds == RH_RL_BINDS_SERVERS)
        g_string_append_printf(
            line,
            "generation, %s %.0f %% of the step; what would help: %s, or shorter answers (max= in --lengths)",
            e->ahead > 0 ? "for which the trainer waits" : "which takes", 100 * frac, more);
    else if (binds == RH_RL_BINDS_TRAINER)
        g_string_append_printf(line,
                               "training, which takes %.0f %% of the step; what would help: %s",
                               100 * frac, more);
    else
        g_string_append_printf(line,
                               "moving weights and optimizer states, %.0f %% of the step; what "
                               "would help: --transport pipelined, or separate GPUs",
                               100 * frac);
    rh_text_wrap(out, line->str, 2, 79);
}

static void append_search(GString *out, const RhRlAnswer *a)
{
    const RhRlPlan *plan = a->plan;
    g_autoptr(GString) line = g_string_new(NULL);
    g_string_append_printf(line,
                           "searched: %" G_GINT64_FORMAT
                           " combination%s of placement, split and servers, %" G_GINT64_FORMAT
                           " simulated, %" G_GINT64_FORMAT " excluded by lower bounds",
                           plan->candidates_count, plan->candidates_count == 1 ? "" : "s",
                           plan->simulated_count, plan->bounded_count);
    if (plan->split_gpus > 0)
        g_string_append_printf(line,
                               "; splits of the GPUs in steps of %d (--train-gpus N for another)",
                               plan->split_gpus);
    if (plan->timed_out)
        g_string_append(line, "; stopped by --timeout, so that others may be faster");
    rh_text_wrap(out, line->str, 2, 79);
}

static void append_error(GString *out, const RhRlEntry *e)
{
    g_autoptr(GString) line = g_string_new("error bar: unknown for a whole step");
    if (e && e->trainer.error_frac > 0)
        g_string_append_printf(line, "; of the training part alone ±%.2g %%",
                               100 * e->trainer.error_frac);
    g_string_append(line, " (docs/theory/rl.md: the runs it was compared with)");
    rh_text_wrap(out, line->str, 2, 79);
}

static void append_next(GString *out, const RhRlAnswer *a, const RhRlEntry *best)
{
    int32_t node = a->options->hardware->gpus_per_node;
    bool shares = best->placement->shares_gpus;
    bool emitted = shares || (best->ahead > 0 && rh_rl_nodes_even(best->trainer.gpus, node) &&
                              rh_rl_nodes_even(best->servers.gpus, node));
    g_autofree char *line = g_strdup_printf(
        "next: add %s-o rl.html for a timeline of #1",
        emitted ? "--emit verl (nemo-rl, areal, openrlhf) for its configuration or " : "");
    rh_text_wrap(out, line, 2, 79);
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
        if (a->growth)
            rh_report_rl_growth(out, a->growth);
        append_binds(out, a, best);
        append_search(out, a);
        append_error(out, best);
        append_next(out, a, best);
    } else {
        g_string_append(out, "no step was simulated in time\n");
        append_job(out, a);
        append_search(out, a);
    }
    return g_string_free(out, FALSE);
}
