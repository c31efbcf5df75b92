/* What plan recommends beside what the makers of well-known models ran: jobs of bench/planner-cases.csv and those of
 * validate/data/published-runs.csv whose layouts their makers tuned. A row of a Markdown table for each
 * job: the published layout as it is simulated, the first row of the default plan of the same stack, and their ratio.
 * Arguments: parts of sources or models to be asked; none: all. */
#include <math.h>
#include <string.h>

#include "base/catalogue_folders.h"
#include "bench/bench_job.h"
#include "strategies/search/memory_budget.h"
#include "validate/cases/cases_translate.h"

#define OWN_CASES    "bench/planner-cases.csv"
#define PUBLISHED    "validate/data/published-runs.csv"
#define QUICKER_FRAC 0.01 /* a published layout that is quicker by more counts against the plan */
#define PLAN_S       120  /* of one plan, at most */

/* Of the published runs those of tables that their makers tuned, row by row; MosaicML's sweep one kind of layout, and
 * SimuMax's check a simulator. */
static const char *const tuned[] = {"Megatron-Bridge", "NVIDIA dgxc-benchmarking", "Megatron-Core",
                                    "torchtitan"};

typedef struct {
    const RhCaseRow *row;
    RhTranslated said;
    char *why; /* owned: why it cannot be said; NULL */
} Job;

typedef struct {
    int32_t jobs, refused, unranked, slower, agree, quicker, unplanned;
} Counts;

static bool is_wanted(const RhCaseRow *row, char **words)
{
    bool some = !*words;
    for (; *words; words++)
        some |= rh_case_wanted(row, *words);
    return some;
}

static bool is_tuned(const RhCaseRow *row)
{
    for (size_t i = 0; i < G_N_ELEMENTS(tuned); i++)
        if (g_str_has_prefix(row->text[RH_CASE_SOURCE], tuned[i]))
            return true;
    return false;
}

/* One job, of which more than one layout may have been measured. */
static char *question_of(const Job *job)
{
    const RhProblem *c = &job->said.c;
    return job->why ? g_strdup_printf("%s:%d", job->row->file, job->row->line)
                    : g_strdup_printf("%s|%s|%s|%s|%d|%" G_GINT64_FORMAT "|%" G_GINT64_FORMAT "|%d",
                                      job->row->text[RH_CASE_MODEL], c->platform->name,
                                      c->stack->name, c->job.recipe->name, c->job.gpus,
                                      c->job.global_batch, c->job.sequence, c->job.lora.rank);
}

/* The table's jobs, of each the run that was quickest. */
static void add_jobs(RhTranslator *t, const RhCaseTable *table, bool own, char **words,
                     GPtrArray *jobs, GHashTable *by_question)
{
    for (guint i = 0; i < table->rows->len; i++) {
        const RhCaseRow *row = &g_array_index(table->rows, RhCaseRow, i);
        if (!(own || is_tuned(row)) || !is_wanted(row, words))
            continue;
        Job *job = g_new0(Job, 1);
        job->row = row;
        job->why = rh_translate(t, row, &job->said);
        char *question = question_of(job);
        Job *other = g_hash_table_lookup(by_question, question);
        if (!other) {
            g_ptr_array_add(jobs, job);
            g_hash_table_insert(by_question, question, job);
            continue;
        }
        g_free(question);
        if (job->said.measured_s < other->said.measured_s) {
            Job swapped = *other;
            *other = *job;
            *job = swapped;
        }
        rh_translated_clear(&job->said);
        g_free(job);
    }
}

static void job_free(void *data)
{
    Job *job = data;
    rh_translated_clear(&job->said);
    g_free(job->why);
    g_free(job);
}

static double step_s(const RhProblem *c, const RhLayout *l)
{
    RhEngineOptions options = {0};
    g_autoptr(RhRehearsal) r = rh_rehearse(c, l, &options, NULL, NULL, NULL);
    return r ? r->step_time_s : (double)INFINITY;
}

/* The published layout and its step; of an unstated micro-batch the quickest of 1, 2, 4, 8 that fits. */
static double published_s(const Job *job, RhLayout *out)
{
    const RhProblem *c = &job->said.c;
    double best_s = (double)INFINITY;
    *out = job->said.layout;
    if (out->microbatch > 0)
        return step_s(c, out);
    for (int32_t mb = 1; mb <= 8; mb *= 2) {
        RhLayout l = job->said.layout;
        l.microbatch = mb;
        l = rh_train_canonical(c, &l);
        double s = rh_train_legal(c, &l, NULL) &&
                           rh_train_memory(c, &l).peak_bytes <= rh_train_memory_capacity(c)
                       ? step_s(c, &l)
                       : (double)INFINITY;
        if (s < best_s || out->microbatch == 0)
            *out = l;
        best_s = fmin(best_s, s);
    }
    return isinf(best_s) ? step_s(c, out) : best_s;
}

static void say_job(const Job *job)
{
    const RhProblem *c = &job->said.c;
    printf("| %s %s, ", job->row->text[RH_CASE_SOURCE], job->row->text[RH_CASE_MODEL]);
    if (job->why)
        printf("%s GPUs | ", job->row->text[RH_CASE_GPUS]);
    else
        printf("%d GPUs of %s, batch %" G_GINT64_FORMAT ", %" G_GINT64_FORMAT " tokens, %s | %s",
               c->job.gpus, c->platform->name, c->job.global_batch, c->job.sequence,
               c->job.recipe->name, c->stack->name);
    fflush(stdout); /* a child that is forked next has a copy of what is not written yet */
}

/* How the published layout stands: does it fit, and as surely as rows must? */
static const char *standing_of(const RhProblem *c, const RhLayout *l, Counts *counts)
{
    double peak = rh_train_memory(c, l).peak_bytes;
    RhMemoryBudget room = rh_memory_budget(c, NULL, 0, RH_RISK_FRAC);
    counts->refused += peak > room.most_bytes;
    counts->unranked += peak > room.ranked_bytes && peak <= room.most_bytes;
    return peak > room.most_bytes     ? "does not fit"
           : peak > room.ranked_bytes ? "not ranked, too full"
                                      : "";
}

static void say_plan(const RhProblem *c, double published, Counts *counts)
{
    RhPlanOptions o = {.gap_frac = 0.002, .timeout_s = PLAN_S, .best_alone = true};
    g_autoptr(RhPlan) plan = rh_plan(c, &o, NULL);
    if (!plan || plan->entries->len == 0) {
        printf(" nothing | | |\n");
        counts->unplanned++;
        return;
    }
    const RhRehearsal *first = plan->entries->pdata[0];
    g_autofree char *title = rh_layout_title(&first->layout);
    double ratio = first->step_time_s / published;
    counts->slower += ratio > 1 + QUICKER_FRAC;
    counts->agree += fabs(ratio - 1) <= QUICKER_FRAC;
    counts->quicker += ratio < 1 - QUICKER_FRAC;
    printf(" %s%s | %.4g | %.3f |\n", title, plan->timed_out ? " (out of time)" : "",
           first->step_time_s, ratio);
}

static void run_job(const Job *job, Counts *counts)
{
    counts->jobs++;
    say_job(job);
    if (job->why) {
        counts->refused++;
        printf(" | refused: %s | | | | | |\n", job->why);
        return;
    }
    RhLayout l;
    double s = published_s(job, &l);
    g_autofree char *title = rh_layout_title(&l);
    const char *standing = standing_of(&job->said.c, &l, counts);
    printf(" | %s%s%s%s | %.4g | %.4g |", title, *standing ? " (" : "", standing,
           *standing ? ")" : "", job->said.measured_s / MAX(job->said.rounds, 1), s);
    fflush(stdout);
    say_plan(&job->said.c, s, counts);
    fflush(stdout);
}

static RhCaseTable *table_of(const char *path)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *found = g_build_filename(rh_data_dir(), path, NULL);
    RhCaseTable *table = rh_case_table_load(found, &error);
    if (!table)
        printf("%s\n", error->message);
    return table;
}

int main(int argc, char **argv)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhTranslator) t = rh_translator_new(&error);
    g_autoptr(RhCaseTable) own = table_of(OWN_CASES);
    g_autoptr(RhCaseTable) published = table_of(PUBLISHED);
    if (!t || !own || !published) {
        printf("%s\n", error ? error->message : "no cases");
        return 1;
    }
    g_autoptr(GPtrArray) jobs = g_ptr_array_new_with_free_func(job_free);
    g_autoptr(GHashTable) by_question =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    add_jobs(t, own, true, argv + MIN(argc, 1), jobs, by_question);
    add_jobs(t, published, false, argv + MIN(argc, 1), jobs, by_question);
    Counts n = {0};
    puts(
        "| job | stack | published layout | measured s | simulated s | first row of plan | s | ratio |\n"
        "|---|---|---|--:|--:|---|--:|--:|");
    fflush(stdout); /* a child that is forked next has a copy of what is not written yet */
    for (guint i = 0; i < jobs->len; i++)
        run_job(jobs->pdata[i], &n);
    printf(
        "\n%d jobs: plan agrees in %d (within %.0f %%), is quicker in %d, slower in %d, has nothing for %d\n",
        n.jobs, n.agree, 100 * QUICKER_FRAC, n.quicker, n.slower, n.unplanned);
    bench_line("published layouts refused though they ran", n.refused, "", "0");
    bench_line("published layouts too full to be ranked", n.unranked, "", "0");
    bench_line("published layouts more than 1 % quicker than row 1", n.slower, "", "0");
    return 0;
}
