/* Steps of many micro-batches, told by rehearsals of few. Once a schedule has filled its stages it repeats itself: each
 * further round of micro-batches adds the same seconds. So a step of m micro-batches takes what one of two rounds takes
 * and, for every micro-batch more, its share of what a third round adds. Measured over layouts of a 70B model on 64
 * GPUs, 256 micro-batches: within 1e-8 of the whole rehearsal (steady_test holds drawn layouts to it). What becomes a row
 * of the answer is rehearsed whole all the same, and must agree. */
#include <math.h>

#include "strategies/search/funnel.h"
#include "strategies/search/screen.h"
#include "strategies/train/train.h"

/* A smaller step is rehearsed as quickly. */
#define TASKS_LEAST 3e4
/* The whole must have so many times the micro-batches of both parts. */
#define PARTS_LEAST 2
#define BATCH       8
/* What is told is taken to be so much lower: no row is ruled out by less. */
#define ALLOWANCE_FRAC 1e-3
/* Told and rehearsed steps that are farther apart leave nothing proved. */
#define AGREEMENT_FRAC 1.5e-3

typedef struct {
    RhLayout layout;
    int64_t microbatches;
} Note;

/* Micro-batches of the first part, and how many the second has more. */
typedef struct {
    int64_t first, round;
} Parts;

static Parts parts_of(const RhCase *c, const RhLayout *l)
{
    const RhPipelineSchedule *schedule = rh_pipeline_of(l);
    int64_t round = (int64_t)l->pp * (schedule->crosses ? 2 : 1);
    return (Parts){MAX(2, schedule->rounds_least) * round + rh_train_microbatches(c, l) % round,
                   round};
}

static RhProgram *build_part(const void *data, void *user, GError **error)
{
    const Note *note = data;
    RhCase part = *(const RhCase *)user;
    part.job.global_batch = note->microbatches * note->layout.dp * (int64_t)note->layout.microbatch;
    return rh_train_build(&part, &note->layout, error);
}

RhApart *rh_funnel_steady_apart_new(const RhCase *c, RhAloneTimes *alone, RhFoldedTable *folded)
{
    return rh_apart_new(build_part, sizeof(Note), c->platform, alone, folded, (void *)(uintptr_t)c);
}

bool rh_funnel_repeats(RhFunnel *f, const RhLayout *l)
{
    Parts parts = parts_of(f->c, l);
    int64_t both = 2 * parts.first + parts.round;
    return f->o->whole && !rh_funnel_by_estimate(f) && !f->o->exhaustive && !f->o->seen &&
           rh_train_microbatches(f->c, l) >= PARTS_LEAST * both &&
           rh_screen_tasks(f->screen, l) >= TASKS_LEAST;
}

void rh_funnel_join_steady(RhFunnel *f, const RhCandidate *c)
{
    RhEngineOptions options = rh_funnel_rehearsal_options(f, (double)INFINITY);
    RhLayout l = rh_funnel_layout(f, c->layout);
    Parts parts = parts_of(f->c, &l);
    rh_screen_end_fold(f->screen, &l);
    for (int i = 0; i < 2; i++) {
        Note note = {l, parts.first + i * parts.round};
        rh_apart_begin(f->steady_apart, rh_funnel_jobs(f), &note, &options);
    }
    g_array_append_val(f->steady, *c);
    if (f->steady->len == BATCH)
        rh_funnel_tell_steady(f);
}

/* The step, or NAN: time or memory did not allow for the parts, or they were too short to repeat themselves. */
static double told_s(const RhFunnel *f, const RhLayout *l, const RhRun *first, const RhRun *second,
                     double bound_s)
{
    Parts parts = parts_of(f->c, l);
    if (!first || !second)
        return (double)NAN;
    int64_t more = rh_train_microbatches(f->c, l) - parts.first - parts.round;
    double round_s = second->step_time_s - first->step_time_s;
    double step_s = second->step_time_s + (double)more / (double)parts.round * round_s;
    return step_s >= bound_s ? (1 - ALLOWANCE_FRAC) * step_s : (double)NAN;
}

static void tell(RhFunnel *f, RhCandidate c, const RhRun *first, const RhRun *second)
{
    RhLayout l = rh_funnel_layout(f, c.layout);
    double step_s = told_s(f, &l, first, second, c.key);
    c.kind = isnan(step_s) ? RH_KEY_WHOLE : RH_KEY_STEADY;
    c.key = fmax(c.key, isnan(step_s) ? 0 : step_s);
    f->plan->steady_count += !isnan(step_s);
    rh_heap_push(f->race->heap, c);
}

void rh_funnel_tell_steady(RhFunnel *f)
{
    guint n = f->steady->len;
    g_autofree Note *notes = g_new(Note, 2 * n + 1);
    g_autofree RhRun **runs = g_new0(RhRun *, 2 * n + 1);
    g_autofree GError **errors = g_new0(GError *, 2 * n + 1);
    RhEngineOptions options = rh_funnel_rehearsal_options(f, (double)INFINITY);
    for (guint i = 0; i < 2 * n; i++) {
        RhLayout l = rh_funnel_layout(f, g_array_index(f->steady, RhCandidate, i / 2).layout);
        Parts parts = parts_of(f->c, &l);
        notes[i] = (Note){l, parts.first + i % 2 * parts.round};
    }
    if (n > 0)
        rh_apart_run(f->steady_apart, (int32_t)(2 * n), rh_funnel_jobs(f), notes, &options, runs,
                     errors, NULL, NULL);
    for (guint i = 0; i < n; i++)
        tell(f, g_array_index(f->steady, RhCandidate, i), runs[2 * i], runs[2 * i + 1]);
    for (guint i = 0; i < 2 * n; i++) {
        rh_run_free(runs[i]);
        g_clear_error(&errors[i]);
    }
    g_array_set_size(f->steady, 0);
}

void rh_funnel_judge_steady(RhFunnel *f, const RhRun *run, double told_s)
{
    if (isnan(told_s) || run->left)
        return;
    double apart = fabs(told_s / run->step_time_s - 1);
    f->plan->steady_apart_frac = fmax(f->plan->steady_apart_frac, apart);
    f->plan->steady_disagrees |= apart > AGREEMENT_FRAC;
}
