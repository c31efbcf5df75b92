#include "sim/timeline/timeline_index.h"

static void index_performers(RhTaskIntervals *x)
{
    for (int32_t i = (int32_t)x->run->performers->len - 1; i >= 0; i--) {
        const RhPerformer *performer = rh_task_intervals_performer(x, i);
        int32_t tasks = rh_task_intervals_role(x, i)->tasks_count;
        x->of_role[performer->role] = i;
        g_hash_table_insert(x->of_rank, GINT_TO_POINTER(performer->rank), GINT_TO_POINTER(i + 1));
        x->first[i] = g_new(int32_t, tasks + 1);
        for (int32_t k = 0; k <= tasks; k++)
            x->first[i][k] = -1;
        x->spans[i] = g_array_new(FALSE, FALSE, sizeof(int32_t));
    }
}

RhTaskIntervals *rh_task_intervals_new(const RhProgram *p, const RhRun *run)
{
    RhTaskIntervals *x = g_new0(RhTaskIntervals, 1);
    *x = (RhTaskIntervals){.p = p,
                           .run = run,
                           .first = g_new0(int32_t *, run->performers->len + 1),
                           .next = g_new(int32_t, run->timeline->len + 1),
                           .spans = g_new0(GArray *, run->performers->len + 1),
                           .of_role = g_new(int32_t, p->roles->len + 1),
                           .of_rank = g_hash_table_new(NULL, NULL)};
    for (guint i = 0; i < p->roles->len; i++)
        x->of_role[i] = -1;
    index_performers(x);
    for (int32_t i = (int32_t)run->timeline->len - 1; i >= 0; i--) {
        const RhTaskInterval *span = rh_task_intervals_at(x, i);
        int32_t *first =
            &x->first[span->performer]
                     [span->task - rh_task_intervals_role(x, span->performer)->tasks_first];
        x->next[i] = *first;
        *first = i;
    }
    for (int32_t i = 0; i < (int32_t)run->timeline->len; i++)
        g_array_append_val(x->spans[rh_task_intervals_at(x, i)->performer], i);
    return x;
}

void rh_task_intervals_free(RhTaskIntervals *x)
{
    if (!x)
        return;
    for (guint i = 0; i < x->run->performers->len; i++) {
        g_free(x->first[i]);
        g_array_unref(x->spans[i]);
    }
    g_hash_table_unref(x->of_rank);
    g_free(x->first);
    g_free(x->next);
    g_free(x->spans);
    g_free(x->of_role);
    g_free(x);
}

int32_t rh_task_intervals_peer(const RhTaskIntervals *x, int32_t performer, const RhTask *message)
{
    int32_t rank = rh_task_intervals_performer(x, performer)->rank + message->peer_delta;
    int32_t found = GPOINTER_TO_INT(g_hash_table_lookup(x->of_rank, GINT_TO_POINTER(rank)));
    return found ? found - 1 : x->of_role[rh_program_task(x->p, message->peer_task)->role];
}

const char *rh_task_intervals_role_name(const RhTaskIntervals *x, int32_t performer)
{
    int32_t label = rh_task_intervals_role(x, performer)->label;
    return label >= 0 && label < (int32_t)x->p->labels->len
               ? g_ptr_array_index(x->p->labels, (guint)label)
               : "rank";
}
