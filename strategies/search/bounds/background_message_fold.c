#include "strategies/search/bounds/background_message_fold.h"

struct RhBackgroundFold {
    GThread *thread;
    GBytes *key;
    const RhBoundCache *cache;
    RhFoldTask task;
};

static void task_clear(RhFoldTask *task)
{
    rh_folded_network_free(task->quotient);
    rh_fold_free(task->fold);
    rh_traffic_free(task->traffic);
    rh_program_free(task->program); /* its traffic's, too */
    g_free(task->distance);
    *task = (RhFoldTask){0};
}

void rh_fold_task_run(const RhBoundCache *cache, RhFoldTask *task)
{
    RhMessageTimes distances = {task->stages, task->distance};
    task->traffic = rh_traffic_new(task->program, cache->c->platform, false, cache->alone,
                                   task->deadline, NULL);
    if (task->traffic)
        task->fold = rh_fold_ranks(task->traffic, task->deadline);
    if (!task->fold || rh_deadline_passed(task->deadline))
        return;
    if (task->fold->steps) {
        task->hops = rh_message_times_of_merged(&distances, task->traffic, task->fold);
        return;
    }
    task->quotient = rh_folded_network_new(task->traffic, task->fold);
    task->hops = rh_message_times_of_quotient(&distances, task->traffic, task->quotient);
}

/* --- for rehearsals --- */

static void open_clear(RhOpenFold *open)
{
    rh_fold_free(open->fold);
    rh_traffic_free(open->traffic);
    rh_program_free(open->program);
    *open = (RhOpenFold){0};
}

void rh_open_fold_forget(RhBoundCache *cache)
{
    open_clear(&cache->open);
}

static void hand_on(RhBoundCache *cache, RhProgram *program, RhTraffic *traffic, RhFold *fold,
                    RhFoldedNetwork *quotient)
{
    rh_fold_cache_add(cache->folded, (RhCachedFold){program, traffic, fold, quotient});
}

/* Takes the message times of a finished fold. The rates of merged ranks' collectives are left open: they decide
 * nothing here, and most of these layouts are not rehearsed. */
RhLinkCost *rh_fold_task_take(RhBoundCache *cache, RhFoldTask *task)
{
    RhLinkCost *hops = task->hops;
    if (hops && task->quotient) {
        hand_on(cache, g_steal_pointer(&task->program), g_steal_pointer(&task->traffic),
                g_steal_pointer(&task->fold), g_steal_pointer(&task->quotient));
    } else if (hops) {
        open_clear(&cache->open);
        cache->open = (RhOpenFold){hops, g_steal_pointer(&task->program),
                                   g_steal_pointer(&task->traffic), g_steal_pointer(&task->fold)};
    }
    task_clear(task);
    return hops;
}

void rh_bound_end_fold(RhBoundCache *cache, const RhLayout *l)
{
    RhOpenFold *open = &cache->open;
    bool tables_differ = cache->c != cache->asked;
    if (!open->hops || tables_differ || rh_stages_unequal(l) ||
        rh_bound_messages(cache, l) != open->hops)
        return;
    rh_fold_end(open->fold);
    RhFoldedNetwork *quotient = rh_folded_network_new(open->traffic, open->fold);
    hand_on(cache, g_steal_pointer(&open->program), g_steal_pointer(&open->traffic),
            g_steal_pointer(&open->fold), quotient);
    open_clear(open);
}

void rh_bound_forget_fold(RhBoundCache *cache)
{
    open_clear(&cache->open);
    rh_background_fold_forget(cache);
}

/* --- beside the search --- */

static void *run_ahead(void *user)
{
    RhBackgroundFold *ahead = user;
    rh_fold_task_run(ahead->cache, &ahead->task);
    return NULL;
}

bool rh_background_fold_runs(const RhBoundCache *cache)
{
    return cache->ahead != NULL;
}

void rh_background_fold_begin(RhBoundCache *cache, GBytes *key, RhFoldTask task)
{
    g_return_if_fail(!cache->ahead);
    RhBackgroundFold *ahead = g_new(RhBackgroundFold, 1);
    *ahead = (RhBackgroundFold){.key = g_bytes_ref(key), .cache = cache, .task = task};
    ahead->thread = g_thread_try_new("fold", run_ahead, ahead, NULL);
    cache->ahead = ahead;
    if (!ahead->thread) /* the machine lends none: it is folded when it is asked for */
        rh_background_fold_forget(cache);
}

static RhFoldTask end(RhBoundCache *cache)
{
    RhBackgroundFold *ahead = g_steal_pointer(&cache->ahead);
    if (ahead->thread)
        g_thread_join(ahead->thread);
    RhFoldTask task = ahead->task;
    g_bytes_unref(ahead->key);
    g_free(ahead);
    return task;
}

bool rh_background_fold_end(RhBoundCache *cache, GBytes *key, RhFoldTask *task)
{
    if (!cache->ahead || !g_bytes_equal(cache->ahead->key, key))
        return false;
    *task = end(cache);
    if (!task->hops) /* cut short by its own deadline */
        task_clear(task);
    return task->hops != NULL;
}

void rh_background_fold_wait(RhBoundCache *cache)
{
    if (cache->ahead && cache->ahead->thread)
        g_thread_join(g_steal_pointer(&cache->ahead->thread));
}

void rh_background_fold_forget(RhBoundCache *cache)
{
    if (!cache->ahead)
        return;
    RhFoldTask task = end(cache);
    g_free(task.hops);
    task_clear(&task);
}
