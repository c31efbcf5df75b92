#include "strategies/search/rehearsals/rehearsal_queue.h"

#include "base/garray_access.h"

typedef struct {
    RhProblem c;
    RhRehearsalNote rehearsal;
} Note;

typedef struct {
    RhRun *run;
    GError *error;
} Answer;

struct RhRehearsalQueue {
    RhIsolatedRuns *apart; /* of Note */
    int32_t jobs;
    GArray *notes, *options; /* Note, RhEngineOptions: of those that were not waited for */
    GArray *answers;         /* Answer, of the others */
};

static RhProgram *build(const void *note, void *user, GError **error)
{
    (void)user;
    Note n = *(const Note *)note;
    return rh_rehearsal_build(&n.rehearsal, &n.c, error);
}

static void answer_clear(void *data)
{
    Answer *a = data;
    rh_run_free(a->run);
    g_clear_error(&a->error);
}

RhRehearsalQueue *rh_rehearsal_queue_new(const RhPlatform *platform, RhUncontendedTimes *alone,
                                         RhFoldedTable *folded, int32_t jobs)
{
    RhRehearsalQueue *queue = g_new(RhRehearsalQueue, 1);
    *queue = (RhRehearsalQueue){
        .apart = rh_isolated_run_new(build, sizeof(Note), platform, alone, folded, NULL),
        .jobs = jobs,
        .notes = g_array_new(FALSE, FALSE, sizeof(Note)),
        .options = g_array_new(FALSE, FALSE, sizeof(RhEngineOptions)),
        .answers = g_array_new(FALSE, TRUE, sizeof(Answer))};
    g_array_set_clear_func(queue->answers, answer_clear);
    return queue;
}

void rh_rehearsal_queue_free(RhRehearsalQueue *queue)
{
    if (!queue)
        return;
    rh_isolated_run_free(queue->apart);
    g_array_unref(queue->notes);
    g_array_unref(queue->options);
    g_array_unref(queue->answers);
    g_free(queue);
}

int32_t rh_rehearsal_queue_add(RhRehearsalQueue *queue, const RhProblem *c,
                               const RhRehearsalNote *note, const RhEngineOptions *options)
{
    Note n = {*c, *note};
    g_array_append_val(queue->notes, n);
    g_array_append_val(queue->options, *options);
    rh_isolated_run_begin(queue->apart, queue->jobs, &n, options);
    return (int32_t)(queue->answers->len + queue->notes->len) - 1;
}

void rh_rehearsal_queue_wait(RhRehearsalQueue *queue)
{
    guint count = queue->notes->len, known = queue->answers->len;
    if (count == 0)
        return;
    g_autofree RhRun **runs = g_new0(RhRun *, count);
    g_autofree GError **errors = g_new0(GError *, count);
    rh_isolated_run_batch(
        queue->apart, &(RhIsolatedBatch){.count = (int32_t)count,
                                         .jobs = queue->jobs,
                                         .notes = queue->notes->data,
                                         .options = RH_ELEMENTS(queue->options, RhEngineOptions),
                                         .options_each = true,
                                         .out = runs,
                                         .errors = errors});
    g_array_set_size(queue->answers, known + count);
    for (guint i = 0; i < count; i++)
        g_array_index(queue->answers, Answer, known + i) = (Answer){runs[i], errors[i]};
    g_array_set_size(queue->notes, 0);
    g_array_set_size(queue->options, 0);
}

RhRun *rh_rehearsal_queue_take(RhRehearsalQueue *queue, int32_t number, GError **error)
{
    Answer *a = &g_array_index(queue->answers, Answer, number);
    if (a->error)
        g_propagate_error(error, g_steal_pointer(&a->error));
    return g_steal_pointer(&a->run);
}
