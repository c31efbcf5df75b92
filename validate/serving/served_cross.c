#include "validate/serving/served_cross.h"

#include <math.h>
#include <string.h>

#include "sim/engine/workers/process_pool.h"
#include "strategies/serve/scheduler.h"
#include "validate/serving/served_constants.h"

#define ROWS_LEAST    8
#define ROWS_OF_GROUP 8   /* of one group in a fit, spread evenly over its rows */
#define ROWS_MOST     40  /* of a fit */
#define REQUESTS_MOST 640 /* of a row in a fit: longer ones tell no more of the host */
#define MOVES         6   /* of a descent, at each of its step sizes */

/* The constants of one server for one group. */
typedef struct {
    const char *group;      /* interned */
    const RhServer *server; /* as its file has it */
    GPtrArray *rows;        /* const RhServedRun*, borrowed: rows of other groups to fit to */
    RhServer *fitted;       /* owned; NULL: nobody tells them */
} Refit;

struct RhServedCross {
    RhServedTranslator *t; /* borrowed, as all but groups, shipped, and refits */
    RhCaseFacts *facts;
    GHashTable *originals;
    const RhCasesOptions *options;
    RhDeadline deadline;
    GArray *runs;
    GArray *shipped;   /* RhServedRun: the runs by all rules */
    GPtrArray *groups; /* const char*, interned, in order of appearance */
    GPtrArray *refits; /* Refit*, owned */
    int32_t withheld_count, kept_count, done;
};

static RhServedRun *run_at(const GArray *runs, guint i)
{
    return &g_array_index(runs, RhServedRun, i);
}

/* --- groups --- */

static const char *group_of(const RhServedCross *x, const RhServedRun *run)
{
    if (run->why)
        return NULL;
    RhCrossRun of = {.model = run->c.serving.model->name,
                     .device = run->c.serving.platform->device->name,
                     .software = run->c.serving.server->name,
                     .source = run->row->text[RH_CASE_SOURCE]};
    return rh_cross_group_name(x->options->cross, &of);
}

/* Names groups by what is known without rules that were chosen on rows, which hide some. */
static void name_groups(RhServedCross *x)
{
    for (guint k = 0; k < rh_case_facts_count(x->facts); k++)
        rh_case_facts_set_withheld(x->facts, k, rh_case_facts_chosen(x->facts, k));
    for (guint i = 0; i < x->runs->len; i++) {
        RhServedRun *run = run_at(x->runs, i);
        rh_served_run_translate(x->t, x->originals, run);
        run->cross_group = run_at(x->shipped, i)->cross_group = group_of(x, run);
        if (run->cross_group && !g_ptr_array_find(x->groups, run->cross_group, NULL))
            g_ptr_array_add(x->groups, (void *)run->cross_group);
    }
    rh_case_facts_withhold(x->facts, NULL);
}

/* Rows of a group (const RhCaseRow*). */
static GPtrArray *rows_of(const RhServedCross *x, const char *group)
{
    GPtrArray *rows = g_ptr_array_new();
    for (guint i = 0; i < x->runs->len; i++)
        if (run_at(x->runs, i)->cross_group == group)
            g_ptr_array_add(rows, (void *)run_at(x->runs, i)->row);
    return rows;
}

/* --- which rules to keep --- */

static double loss_of(const RhServedRun *run)
{
    const double measured[RH_SERVED_METRICS] = {[RH_SERVED_TPOT] = run->row->tpot_s,
                                                [RH_SERVED_TTFT] = run->row->ttft_s,
                                                [RH_SERVED_RATE] = run->row->tokens_per_s},
                 predicted[RH_SERVED_METRICS] = {[RH_SERVED_TPOT] = run->p.tpot_s,
                                                 [RH_SERVED_TTFT] = run->p.ttft_s,
                                                 [RH_SERVED_RATE] = run->p.tokens_per_s};
    return rh_served_row_loss(measured, predicted);
}

/* A chosen rule beside the lack of it: losses of the runs that it applies to. */
typedef struct {
    GArray *with, *without; /* RhServedRun; of equal length and order */
} Trial;

static void trial_clear(void *data)
{
    Trial *trial = data;
    g_array_unref(trial->with);
    g_array_unref(trial->without);
}

static GArray *new_runs(void)
{
    GArray *runs = g_array_new(FALSE, TRUE, sizeof(RhServedRun));
    g_array_set_clear_func(runs, rh_served_run_clear);
    return runs;
}

/* Serves the runs that rule k applies to, with it and without it. */
static Trial try_rule(RhServedCross *x, guint k)
{
    Trial trial = {new_runs(), new_runs()};
    for (guint i = 0; rh_case_facts_chosen(x->facts, k) && i < x->runs->len; i++) {
        RhServedRun with = {.row = run_at(x->runs, i)->row,
                            .cross_group = run_at(x->runs, i)->cross_group},
                    without = with;
        if (!with.cross_group || !rh_case_facts_applies(x->facts, k, with.row))
            continue;
        rh_served_run_translate(x->t, x->originals, &with);
        rh_case_facts_set_withheld(x->facts, k, true);
        rh_served_run_translate(x->t, x->originals, &without);
        rh_case_facts_set_withheld(x->facts, k, false);
        g_array_append_val(trial.with, with);
        g_array_append_val(trial.without, without);
    }
    rh_served_runs_predict(trial.with, x->options, x->deadline);
    rh_served_runs_predict(trial.without, x->options, x->deadline);
    return trial;
}

/* Does the rule lessen the mean loss of the groups other than this one? No group: it does not. */
static bool helps_others(const RhServedCross *x, const Trial *trial, const char *group)
{
    double gain = 0;
    for (guint f = 0; f < x->groups->len; f++) {
        const char *other = g_ptr_array_index(x->groups, f);
        double sum = 0;
        int32_t count = 0;
        for (guint i = 0; other != group && i < trial->with->len; i++) {
            const RhServedRun *with = run_at(trial->with, i), *without = run_at(trial->without, i);
            if (with->cross_group != other || with->why || without->why)
                continue;
            sum += loss_of(without) - loss_of(with);
            count++;
        }
        gain += count > 0 ? sum / count : 0;
    }
    return gain > 0;
}

static void translate_group(RhServedCross *x, const GArray *trials, const char *group)
{
    g_autoptr(GPtrArray) rows = rows_of(x, group);
    rh_case_facts_withhold(x->facts, rows);
    for (guint k = 0; k < rh_case_facts_count(x->facts); k++) {
        if (!rh_case_facts_withheld(x->facts, k))
            continue;
        bool keep = helps_others(x, &g_array_index(trials, Trial, k), group);
        rh_case_facts_set_withheld(x->facts, k, !keep);
        x->kept_count += keep;
        x->withheld_count += !keep;
    }
    for (guint i = 0; i < x->runs->len; i++)
        if (run_at(x->runs, i)->cross_group == group)
            rh_served_run_translate(x->t, x->originals, run_at(x->runs, i));
    rh_case_facts_withhold(x->facts, NULL);
}

static void translate_groups(RhServedCross *x)
{
    g_autoptr(GArray) trials = g_array_new(FALSE, FALSE, sizeof(Trial));
    g_array_set_clear_func(trials, trial_clear);
    for (guint k = 0; k < rh_case_facts_count(x->facts); k++) {
        Trial trial = try_rule(x, k);
        g_array_append_val(trials, trial);
    }
    for (guint f = 0; f < x->groups->len; f++)
        translate_group(x, trials, g_ptr_array_index(x->groups, f));
}

/* --- constants --- */

/* Do two servers have a constant that was fitted to the same rows? */
static bool share_a_fit(const RhServer *a, const RhServer *b)
{
    for (size_t k = 0; k < rh_served_constant_kinds_count(); k++) {
        const RhFact *p = rh_served_constant((RhServer *)a, k),
                     *q = rh_served_constant((RhServer *)b, k);
        if (p->tag == RH_TAG_FITTED && q->tag == RH_TAG_FITTED && p->source == q->source)
            return true;
    }
    return a == b;
}

/* Were constants of this server fitted to rows of the group? */
static bool was_fitted_to(const RhServedCross *x, const RhServer *server, const char *group)
{
    for (guint i = 0; i < x->shipped->len; i++) {
        const RhServedRun *run = run_at(x->shipped, i);
        if (run->cross_group == group && !run->why && run->c.fitted &&
            share_a_fit(run->c.serving.server, server))
            return true;
    }
    return false;
}

/* Are two servers versions of one engine, with one scheduler? */
static bool is_of_engine(const RhServer *a, const RhServer *b)
{
    size_t length = strcspn(a->name, "-");
    return a->scheduler == b->scheduler && length == strcspn(b->name, "-") &&
           strncmp(a->name, b->name, length) == 0;
}

/* Appends up to ROWS_OF_GROUP measured rows of one other group. */
static void sample_group(const RhServedCross *x, const char *group, const RhServer *server,
                         bool engine, GPtrArray *rows)
{
    g_autoptr(GPtrArray) all = g_ptr_array_new();
    for (guint i = 0; i < x->shipped->len; i++) {
        const RhServedRun *run = run_at(x->shipped, i);
        if (run->cross_group != group || run->why || run->c.standing != RH_STANDING_MEASURED ||
            run->c.plan.count > REQUESTS_MOST)
            continue;
        const RhServer *own = run->c.serving.server;
        if (engine ? is_of_engine(own, server) : own == server)
            g_ptr_array_add(all, (void *)run);
    }
    guint count = MIN(all->len, ROWS_OF_GROUP);
    for (guint i = 0; i < count && rows->len < ROWS_MOST; i++)
        g_ptr_array_add(rows, all->pdata[(guint)((i + 0.5) * all->len / count)]);
}

static GPtrArray *rows_to_fit(const RhServedCross *x, const Refit *refit)
{
    GPtrArray *rows = g_ptr_array_new();
    for (int engine = 0; engine < 2 && rows->len < ROWS_LEAST; engine++) {
        g_ptr_array_set_size(rows, 0);
        for (guint f = 0; f < x->groups->len; f++)
            if (g_ptr_array_index(x->groups, f) != (gconstpointer)refit->group)
                sample_group(x, g_ptr_array_index(x->groups, f), refit->server, engine, rows);
    }
    return rows;
}

static Refit *refit_of(const RhServedCross *x, const char *group, const RhServer *server)
{
    for (guint i = 0; i < x->refits->len; i++) {
        Refit *refit = x->refits->pdata[i];
        if (refit->group == group && refit->server == server)
            return refit;
    }
    return NULL;
}

static void refit_free(void *data)
{
    Refit *refit = data;
    g_ptr_array_unref(refit->rows);
    g_free(refit->fitted);
    g_free(refit);
}

static void list_refits(RhServedCross *x)
{
    for (guint i = 0; i < x->runs->len; i++) {
        const RhServedRun *run = run_at(x->runs, i);
        if (!run->cross_group || run->why)
            continue;
        const RhServer *server = run->c.serving.server;
        if (refit_of(x, run->cross_group, server) || !was_fitted_to(x, server, run->cross_group))
            continue;
        Refit *refit = g_new0(Refit, 1);
        *refit = (Refit){.group = run->cross_group, .server = server};
        refit->rows = rows_to_fit(x, refit);
        g_ptr_array_add(x->refits, refit);
    }
}

/* Returns the rows of a fit, each group weighing the same. */
static GPtrArray *served_rows(const Refit *refit)
{
    GPtrArray *rows = g_ptr_array_new_with_free_func((GDestroyNotify)rh_served_row_free);
    for (guint i = 0; i < refit->rows->len; i++) {
        const RhServedRun *run = refit->rows->pdata[i];
        RhServedCase c = run->c;
        int32_t alike = 0;
        c.stands_in = NULL;
        for (guint k = 0; k < refit->rows->len; k++)
            alike += ((const RhServedRun *)refit->rows->pdata[k])->cross_group == run->cross_group;
        RhServedRow *row = rh_served_row_new(&c, run->row);
        if (!row)
            continue;
        row->weight = 1.0 / alike;
        g_ptr_array_add(rows, row);
    }
    return rows;
}

typedef struct {
    const GPtrArray *rows;
    const size_t *kind_of;
    int32_t count;
    RhDeadline deadline;
} Descent;

static double descent_loss(const RhDescentKnob *knobs, void *user)
{
    const Descent *d = user;
    if (rh_deadline_passed(d->deadline))
        return 0;
    rh_served_set_constants(d->rows, knobs, d->kind_of, d->count);
    return rh_served_loss(d->rows);
}

/* Keeps the knobs of constants that are fits, and sets them to where descents begin. */
static int32_t keep_fitted(RhServer *server, RhDescentKnob *knobs, size_t *kind_of, int32_t count)
{
    int32_t kept = 0;
    for (int32_t k = 0; k < count; k++) {
        if (rh_served_constant(server, kind_of[k])->tag != RH_TAG_FITTED)
            continue;
        kind_of[kept] = kind_of[k];
        knobs[kept] = knobs[k];
        knobs[kept++].value = rh_served_constant_kinds[kind_of[k]].begin;
    }
    return kept;
}

/* Fits in a child process; the answer is the constants by kind, 0 where no row tells one. */
static GByteArray *perform_refit(int32_t item, void *user, GError **error)
{
    (void)error;
    const RhServedCross *x = user;
    const Refit *refit = x->refits->pdata[item];
    RhServer server = *refit->server;
    RhDescentKnob knobs[RH_SERVED_CONSTANTS_MAX];
    size_t kind_of[RH_SERVED_CONSTANTS_MAX];
    double values[RH_SERVED_CONSTANTS_MAX] = {0};
    g_autoptr(GPtrArray) rows = served_rows(refit);
    int32_t count = rh_served_knobs(rows, &server, knobs, kind_of);
    count = keep_fitted(&server, knobs, kind_of, count);
    Descent descent = {rows, kind_of, count, x->deadline};
    rh_descend(knobs, count, MOVES, descent_loss, &descent);
    for (int32_t k = 0; k < count; k++)
        values[kind_of[k]] = knobs[k].value;
    return g_byte_array_append(g_byte_array_new(), (const guint8 *)values, sizeof values);
}

static void report_progress(void *user)
{
    const RhServedCross *x = user;
    if (x->options->progress)
        x->options->progress("fitting constants without a group", x->done, (int32_t)x->refits->len,
                             x->options->user);
}

static void take_refit(int32_t item, const GByteArray *bytes, const GError *error, void *user)
{
    (void)error;
    RhServedCross *x = user;
    Refit *refit = x->refits->pdata[item];
    double values[RH_SERVED_CONSTANTS_MAX];
    x->done++;
    report_progress(x);
    if (!bytes || bytes->len != sizeof values || refit->rows->len < ROWS_LEAST)
        return;
    memcpy(values, bytes->data, sizeof values);
    refit->fitted = g_new(RhServer, 1);
    *refit->fitted = *refit->server;
    for (size_t k = 0; k < rh_served_constant_kinds_count(); k++)
        if (rh_served_constant(refit->fitted, k)->tag == RH_TAG_FITTED)
            rh_served_constant(refit->fitted, k)->value = values[k];
}

/* Gives each run of a group that constants were fitted to the server without it. */
static void place_refits(RhServedCross *x)
{
    for (guint i = 0; i < x->runs->len; i++) {
        RhServedRun *run = run_at(x->runs, i);
        const Refit *refit = run->cross_group && !run->why
                                 ? refit_of(x, run->cross_group, run->c.serving.server)
                                 : NULL;
        if (!refit)
            continue;
        if (refit->fitted)
            run->c.serving.server = refit->fitted;
        else
            run->why = g_strdup_printf("no other group has %d rows of %s or of its engine to fit "
                                       "its constants to",
                                       ROWS_LEAST, refit->server->name);
    }
}

static void refit_all(RhServedCross *x)
{
    list_refits(x);
    bool timed = x->options->timeout_s > 0;
    rh_process_pool_run(
        &(RhProcessPool){.count = (int32_t)x->refits->len,
                         .jobs = MAX(x->options->jobs, 1),
                         .timeout_s = timed ? fmax(rh_deadline_left_s(x->deadline), 1e-3) : 0,
                         .perform = perform_refit,
                         .answer = take_refit,
                         .waiting = report_progress,
                         .user = x});
    place_refits(x);
}

/* --- all --- */

RhServedCross *rh_served_cross(GArray *runs, RhServedTranslator *t, GHashTable *originals,
                               const RhCasesOptions *options, RhDeadline deadline)
{
    RhServedCross *x = g_new0(RhServedCross, 1);
    *x = (RhServedCross){.t = t,
                         .facts = rh_served_translator_facts(t),
                         .originals = originals,
                         .options = options,
                         .deadline = deadline,
                         .runs = runs,
                         .shipped = new_runs(),
                         .groups = g_ptr_array_new(),
                         .refits = g_ptr_array_new_with_free_func(refit_free)};
    for (guint i = 0; i < runs->len; i++) {
        RhServedRun run = {.row = run_at(runs, i)->row};
        rh_served_run_translate(t, originals, &run);
        g_array_append_val(x->shipped, run);
    }
    name_groups(x);
    translate_groups(x);
    refit_all(x);
    return x;
}

void rh_served_cross_note(const RhServedCross *x, RhEvaluation *evaluation)
{
    guint told = 0;
    for (guint i = 0; i < x->refits->len; i++)
        told += ((const Refit *)x->refits->pdata[i])->fitted != NULL;
    g_ptr_array_add(
        evaluation->notes,
        g_strdup_printf("%u groups by %s; of rules chosen on a group %d were withheld "
                        "from it, and %d kept because they help other groups; constants "
                        "of %u servers were fitted without the group, %u could not be",
                        x->groups->len, rh_cross_by_name(x->options->cross), x->withheld_count,
                        x->kept_count, told, x->refits->len - told));
}

void rh_served_cross_free(RhServedCross *x)
{
    if (!x)
        return;
    g_array_unref(x->shipped);
    g_ptr_array_unref(x->groups);
    g_ptr_array_unref(x->refits);
    g_free(x);
}
