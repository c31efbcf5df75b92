#include "validate/suites/deadlock_compare.h"

#include <stdio.h>
#include <string.h>

/* Task by rank, from the lines of a text that have them; caller unrefs. */
static GHashTable *tasks_of(const char *text)
{
    GHashTable *task_of = g_hash_table_new(g_direct_hash, g_direct_equal);
    for (const char *at = strstr(text, "rank "); at; at = strstr(at + 1, "rank ")) {
        int rank, task;
        if (sscanf(at, "rank %d waits in task %d", &rank, &task) == 2)
            g_hash_table_insert(task_of, GINT_TO_POINTER(rank + 1), GINT_TO_POINTER(task + 1));
    }
    return task_of;
}

char *rh_deadlock_collect(const char *folder, const char *name, int32_t ranks_count)
{
    g_autoptr(GString) all = g_string_new(NULL);
    for (int32_t rank = 0; rank < ranks_count; rank++) {
        g_autofree char *file = g_strdup_printf("%s.stuck.%d", name, rank);
        g_autofree char *path = g_build_filename(folder, file, NULL);
        g_autofree char *text = NULL;
        if (g_file_get_contents(path, &text, NULL, NULL))
            g_string_append(all, text);
    }
    return all->len > 0 ? g_strdup(all->str) : NULL;
}

char *rh_deadlock_compare(const char *rehearsed, const char *performed, int32_t ranks_count,
                          char **why)
{
    *why = !rehearsed   ? g_strdup("the rehearsal ended")
           : !performed ? g_strdup("the real run did not tell who waits")
                        : NULL;
    if (*why)
        return NULL;
    g_autoptr(GHashTable) foreseen = tasks_of(rehearsed);
    g_autoptr(GHashTable) seen = tasks_of(performed);
    int32_t alike = 0;
    for (int32_t rank = 1; rank <= ranks_count; rank++)
        alike += g_hash_table_contains(seen, GINT_TO_POINTER(rank)) &&
                 g_hash_table_lookup(seen, GINT_TO_POINTER(rank)) ==
                     g_hash_table_lookup(foreseen, GINT_TO_POINTER(rank));
    return g_strdup_printf("both stop and tell who waits: %u ranks simulated, %u performed, %d of "
                           "them in the same task",
                           g_hash_table_size(foreseen), g_hash_table_size(seen), alike);
}
