/* Processes of a sweep that are killed at any time: nothing that was answered is lost, and a kill costs no more than the
 * item under way. */
#define _GNU_SOURCE /* memfd_create */
#include <errno.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sweep/item_workers.h"
#include "sweep/journal.h"
#include "tests/kit/testkit.h"

#define ITEMS      300
#define KILLS      RH_TRIES(1000, 100)
#define LONGEST_US 3000 /* of an item */

typedef struct {
    char *folder;
    RhJournal *journal;
    int begun; /* a file with a byte for each item that was begun */
    GArray *order;
    guint at;
} Sweep;

static char *key_of(int32_t item)
{
    return g_strdup_printf("%032x", item);
}

static bool append(const Sweep *s, int32_t item, int32_t status)
{
    g_autofree char *key = key_of(item);
    RhJournalEntry entry = {.key = key, .line = "x", .status = status, .answer = "{\"a\": 1}"};
    return rh_journal_append(s->journal, &entry, NULL);
}

static int32_t perform(int32_t item, void *user)
{
    const Sweep *s = user;
    bool noted = write(s->begun, "x", 1) == 1;
    g_usleep((gulong)(item * 7919 % LONGEST_US));
    return noted && append(s, item, 0) ? 0 : 1;
}

static RhNextItemStatus next(int32_t *item, void *user)
{
    Sweep *s = user;
    if (s->at >= s->order->len)
        return RH_NEXT_NONE;
    *item = g_array_index(s->order, int32_t, s->at++);
    return RH_NEXT_ITEM;
}

static bool ended(int32_t item, const RhItemOutcome *end, void *user)
{
    return !end->lost || append(user, item, end->status);
}

static void wait_on(void *user)
{
    (void)user;
}

static bool is_stopped(void *user)
{
    (void)user;
    return false;
}

/* Items that have an answer. */
static GHashTable *answered(const char *folder)
{
    g_autoptr(RhJournals) journals = rh_journals_load(folder, NULL);
    GHashTable *found = g_hash_table_new(NULL, NULL);
    CU_ASSERT_EQUAL(journals->torn_count, 0);
    for (int32_t i = 0; i < ITEMS; i++) {
        g_autofree char *key = key_of(i);
        const RhJournalRecord *record = rh_journals_find(journals, key);
        if (record && record->status == 0)
            g_hash_table_add(found, GINT_TO_POINTER(i));
    }
    return found;
}

/* Asks what has no answer, as a sweep that is resumed. */
static pid_t start_sweep(const Sweep *shared)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    Sweep s = *shared;
    g_autoptr(GHashTable) known = answered(s.folder);
    s.journal = rh_journal_new(s.folder);
    s.order = g_array_new(FALSE, FALSE, sizeof(int32_t));
    for (int32_t i = 0; i < ITEMS; i++)
        if (!g_hash_table_contains(known, GINT_TO_POINTER(i)))
            g_array_append_val(s.order, i);
    RhItemPool pool = {.jobs = 2,
                       .perform = perform,
                       .next = next,
                       .more_fd = -1,
                       .ended = ended,
                       .waiting = wait_on,
                       .stopped = is_stopped,
                       .user = &s};
    _exit(rh_item_pool_run(&pool, NULL) ? 0 : 1);
}

/* One of the sweep's workers; 0: it has none now. */
static pid_t any_worker(pid_t sweep)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/task/%d/children", sweep, sweep);
    g_autofree char *text = NULL;
    if (!g_file_get_contents(path, &text, NULL, NULL) || !*g_strstrip(text))
        return 0;
    g_auto(GStrv) pids = g_strsplit(text, " ", -1);
    return (pid_t)atoi(pids[g_random_int_range(0, (gint32)g_strv_length(pids))]);
}

static bool is_lost(GHashTable *before, GHashTable *after)
{
    GHashTableIter iter;
    void *item;
    g_hash_table_iter_init(&iter, before);
    while (g_hash_table_iter_next(&iter, &item, NULL))
        if (!g_hash_table_contains(after, item))
            return true;
    return false;
}

typedef struct {
    int32_t kills, of_workers, passes;
} Counts;

/* Kills processes of one sweep until it has ended. */
static void disturb(const Sweep *s, pid_t sweep, Counts *counts)
{
    for (bool alive = true; alive && counts->kills < KILLS;) {
        g_usleep((gulong)g_random_int_range(0, 4 * LONGEST_US));
        alive = waitpid(sweep, NULL, WNOHANG) == 0;
        bool parent = g_random_int_range(0, 5) == 0;
        pid_t victim = !alive ? 0 : parent ? sweep : any_worker(sweep);
        if (victim <= 0)
            continue;
        g_autoptr(GHashTable) before = answered(s->folder);
        counts->kills++;
        counts->of_workers += !parent;
        kill(victim, SIGKILL);
        g_autoptr(GHashTable) after = answered(s->folder);
        CU_ASSERT_FALSE(is_lost(before, after));
    }
}

static void remove_folder(const char *folder)
{
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    for (const char *name; dir && (name = g_dir_read_name(dir)) != NULL;) {
        g_autofree char *path = g_build_filename(folder, name, NULL);
        g_unlink(path);
    }
    g_rmdir(folder);
}

/* One study from its first item to its last. */
static void disturbed_study(Counts *counts)
{
    g_autofree char *folder = g_dir_make_tmp("rehearse-kills-XXXXXX", NULL);
    Sweep s = {.folder = folder, .begun = memfd_create("begun", MFD_CLOEXEC)};
    int32_t before = counts->of_workers;
    guint done = 0;
    while (done < ITEMS) {
        pid_t sweep = start_sweep(&s);
        counts->passes++;
        disturb(&s, sweep, counts);
        while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
            ; /* workers of a sweep that was killed end their items: they are this process's then */
        g_autoptr(GHashTable) known = answered(folder);
        done = g_hash_table_size(known);
    }
    off_t begun = lseek(s.begun, 0, SEEK_END);
    CU_ASSERT_TRUE(begun >= ITEMS && begun <= ITEMS + counts->of_workers - before);
    close(s.begun);
    remove_folder(folder);
}

static void a_kill_costs_no_more_than_the_item_under_way(void)
{
    Counts counts = {0};
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    g_random_set_seed(7);
    while (counts.kills < KILLS)
        disturbed_study(&counts);
    CU_ASSERT_TRUE(counts.of_workers > counts.kills / 2);
    printf("%d kills, %d of them of workers, in %d sweeps\n", counts.kills, counts.of_workers,
           counts.passes);
}

int main(void)
{
    return rh_test_main("item_kill", (RhTest[]){{"a_kill_costs_no_more_than_the_item_under_way",
                                                 a_kill_costs_no_more_than_the_item_under_way},
                                                {0}});
}
