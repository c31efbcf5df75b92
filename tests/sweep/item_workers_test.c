/* Workers that do many items: what crashes, is late or is killed costs its item alone. */
#include "sweep/item_workers.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "sweep/journal.h"
#include "tests/kit/testkit.h"

#define ITEMS 1200 /* more than a worker does before another takes its place */

enum { CRASHES = 100, SLEEPS, KILLED_ONCE, KILLED_ALWAYS, LEAVES };

typedef struct {
    int32_t next, stop_after;
    int32_t endings[ITEMS], status[ITEMS];
    char *errors[ITEMS];
    char flag[64]; /* a file that says whether KILLED_ONCE was killed */
} Run;

static int32_t perform(int32_t item, void *user)
{
    const Run *run = user;
    if (item == CRASHES)
        abort();
    if (item == SLEEPS)
        sleep(100);
    if (item == KILLED_ALWAYS)
        raise(SIGKILL);
    if (item == LEAVES)
        _exit(3);
    if (item == KILLED_ONCE && access(run->flag, F_OK) != 0 &&
        g_file_set_contents(run->flag, "", 0, NULL))
        raise(SIGKILL);
    return item % 2;
}

static RhNextItemStatus next(int32_t *item, void *user)
{
    Run *run = user;
    *item = run->next;
    return run->next++ < ITEMS ? RH_NEXT_ITEM : RH_NEXT_NONE;
}

static bool ended(int32_t item, const RhItemOutcome *end, void *user)
{
    Run *run = user;
    run->endings[item]++;
    run->status[item] = end->status;
    run->errors[item] = g_strdup(end->error);
    return true;
}

static void wait_on(void *user)
{
    (void)user;
}

static bool stopped(void *user)
{
    const Run *run = user;
    return run->stop_after > 0 && run->next > run->stop_after;
}

static void run_items(Run *run, int32_t jobs)
{
    RhItemPool pool = {.jobs = jobs,
                       .timeout_s = 1.5,
                       .perform = perform,
                       .next = next,
                       .more_fd = -1,
                       .ended = ended,
                       .waiting = wait_on,
                       .stopped = stopped,
                       .user = run};
    g_snprintf(run->flag, sizeof run->flag, "/tmp/item-pool-%d", getpid());
    CU_ASSERT_TRUE(rh_item_pool_run(&pool, NULL));
    unlink(run->flag);
}

static void clear(Run *run)
{
    for (int32_t i = 0; i < ITEMS; i++)
        g_free(run->errors[i]);
}

static void a_lost_worker_costs_its_item_alone(void)
{
    for (int32_t jobs = 1; jobs <= 3; jobs += 2) {
        Run run = {0};
        run_items(&run, jobs);
        for (int32_t i = 0; i < ITEMS; i++) {
            CU_ASSERT_EQUAL(run.endings[i], 1);
            if (i != CRASHES && i != SLEEPS && i != KILLED_ALWAYS && i != LEAVES)
                CU_ASSERT_TRUE(run.status[i] == i % 2 && !*run.errors[i]);
        }
        CU_ASSERT_EQUAL(run.status[CRASHES], RH_JOURNAL_KILLED + SIGABRT);
        CU_ASSERT_EQUAL(run.status[SLEEPS], RH_JOURNAL_LATE);
        CU_ASSERT_EQUAL(run.status[KILLED_ALWAYS], RH_JOURNAL_KILLED + SIGKILL);
        CU_ASSERT_EQUAL(run.status[LEAVES], 3);
        clear(&run);
    }
}

static void a_run_that_is_stopped_ends_what_it_began(void)
{
    Run run = {.stop_after = 50};
    run_items(&run, 2);
    for (int32_t i = 0; i < ITEMS; i++)
        CU_ASSERT_EQUAL(run.endings[i], i <= 50);
    clear(&run);
}

int main(void)
{
    return rh_test_main("item_pool", (RhTest[]){{"a_lost_worker_costs_its_item_alone",
                                                 a_lost_worker_costs_its_item_alone},
                                                {"a_run_that_is_stopped_ends_what_it_began",
                                                 a_run_that_is_stopped_ends_what_it_began},
                                                {0}});
}
