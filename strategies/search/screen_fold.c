#include "strategies/search/screen_fold.h"

struct RhFoldAhead {
    GThread *thread;
    GBytes *key;
    const RhScreen *screen;
    RhFoldTask task;
};

static void task_clear(RhFoldTask *task)
{
    rh_quotient_free(task->quotient);
    rh_fold_free(task->fold);
    rh_traffic_free(task->traffic);
    rh_program_free(task->program); /* its traffic's, too */
    g_free(task->distance);
    *task = (RhFoldTask){0};
}

void rh_fold_task_run(const RhScreen *screen, RhFoldTask *task)
{
    RhDistances distances = {task->stages, task->distance};
    task->traffic = rh_traffic_new(task->program, screen->c->platform, false, screen->alone,
                                   task->deadline, NULL);
    if (task->traffic)
        task->fold = rh_fold_ranks(task->traffic, task->deadline);
    if (!task->fold || rh_deadline_passed(task->deadline))
        return;
    if (task->fold->steps) {
        task->hops = rh_hops_of_merged(&distances, task->traffic, task->fold);
        return;
    }
    task->quotient = rh_quotient_new(task->traffic, task->fold);
    task->hops = rh_hops_of_quotient(&distances, task->traffic, task->quotient);
}

/* --- for rehearsals --- */

static void open_clear(RhOpenFold *open)
{
    rh_fold_free(open->fold);
    rh_traffic_free(open->traffic);
    rh_program_free(open->program);
    *open = (RhOpenFold){0};
}

static void hand_on(RhScreen *screen, RhProgram *program, RhTraffic *traffic, RhFold *fold,
                    RhQuotient *quotient)
{
    rh_folded_add(screen->folded, (RhFolded){program, traffic, fold, quotient});
}

/* What collectives of merged ranks put on links decides nothing here: their fold stays open, as most of these layouts
 * are not rehearsed. */
RhHop *rh_fold_task_take(RhScreen *screen, RhFoldTask *task)
{
    RhHop *hops = task->hops;
    if (hops && task->quotient) {
        hand_on(screen, g_steal_pointer(&task->program), g_steal_pointer(&task->traffic),
                g_steal_pointer(&task->fold), g_steal_pointer(&task->quotient));
    } else if (hops) {
        open_clear(&screen->open);
        screen->open = (RhOpenFold){hops, g_steal_pointer(&task->program),
                                    g_steal_pointer(&task->traffic), g_steal_pointer(&task->fold)};
    }
    task_clear(task);
    return hops;
}

void rh_screen_end_fold(RhScreen *screen, const RhLayout *l)
{
    RhOpenFold *open = &screen->open;
    bool tables_differ = screen->c != screen->asked;
    if (!open->hops || tables_differ || rh_screen_messages(screen, l) != open->hops)
        return;
    rh_fold_end(open->fold);
    RhQuotient *quotient = rh_quotient_new(open->traffic, open->fold);
    hand_on(screen, g_steal_pointer(&open->program), g_steal_pointer(&open->traffic),
            g_steal_pointer(&open->fold), quotient);
    open_clear(open);
}

void rh_screen_forget_fold(RhScreen *screen)
{
    open_clear(&screen->open);
    rh_fold_ahead_forget(screen);
}

/* --- beside the search --- */

static void *run_ahead(void *user)
{
    RhFoldAhead *ahead = user;
    rh_fold_task_run(ahead->screen, &ahead->task);
    return NULL;
}

bool rh_fold_ahead_runs(const RhScreen *screen)
{
    return screen->ahead != NULL;
}

void rh_fold_ahead_begin(RhScreen *screen, GBytes *key, RhFoldTask task)
{
    g_return_if_fail(!screen->ahead);
    RhFoldAhead *ahead = g_new(RhFoldAhead, 1);
    *ahead = (RhFoldAhead){.key = g_bytes_ref(key), .screen = screen, .task = task};
    ahead->thread = g_thread_try_new("fold", run_ahead, ahead, NULL);
    screen->ahead = ahead;
    if (!ahead->thread) /* the machine lends none: it is folded when it is asked for */
        rh_fold_ahead_forget(screen);
}

static RhFoldTask end(RhScreen *screen)
{
    RhFoldAhead *ahead = g_steal_pointer(&screen->ahead);
    if (ahead->thread)
        g_thread_join(ahead->thread);
    RhFoldTask task = ahead->task;
    g_bytes_unref(ahead->key);
    g_free(ahead);
    return task;
}

bool rh_fold_ahead_end(RhScreen *screen, GBytes *key, RhFoldTask *task)
{
    if (!screen->ahead || !g_bytes_equal(screen->ahead->key, key))
        return false;
    *task = end(screen);
    if (!task->hops) /* cut short by its own deadline */
        task_clear(task);
    return task->hops != NULL;
}

void rh_fold_ahead_wait(RhScreen *screen)
{
    if (screen->ahead && screen->ahead->thread)
        g_thread_join(g_steal_pointer(&screen->ahead->thread));
}

void rh_fold_ahead_forget(RhScreen *screen)
{
    if (!screen->ahead)
        return;
    RhFoldTask task = end(screen);
    g_free(task.hops);
    task_clear(&task);
}
