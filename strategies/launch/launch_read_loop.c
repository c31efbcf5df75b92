/* Runs that a loop of a script makes of one command: "FILE#2" chooses the second. */
#include <string.h>

#include "base/error.h"
#include "strategies/launch/readers.h"

#define RUNS_MAX 32 /* of a loop that are compared */

static bool same_texts(const GPtrArray *a, const GPtrArray *b)
{
    bool same = a->len == b->len;
    for (guint i = 0; same && i < a->len; i++)
        same = strcmp(a->pdata[i], b->pdata[i]) == 0;
    return same;
}

/* Do two runs cost the same, as those of several seeds? */
static bool same_cost(const RhLaunchFile *a, const RhLaunchFile *b)
{
    return rh_layout_equal(&a->layout, &b->layout) && a->given == b->given &&
           a->global_batch == b->global_batch && a->sequence == b->sequence &&
           a->accumulation == b->accumulation && a->gpus == b->gpus && a->nodes == b->nodes &&
           a->gpus_of_node == b->gpus_of_node && g_strcmp0(a->workload, b->workload) == 0 &&
           g_strcmp0(a->dtype, b->dtype) == 0 && same_texts(a->sets, b->sets) &&
           same_texts(a->unknown, b->unknown);
}

/* Checks that all runs of a loop cost what the first one does. */
static bool check_runs(const char *path, const RhLaunchFile *file, const RhLaunchRuns *runs,
                       GError **error)
{
    for (guint i = 2; i <= MIN(runs->runs, RUNS_MAX); i++) {
        RhLaunchRuns its = {0};
        g_autoptr(RhLaunchFile) other = rh_launch_read_run(path, i, &its, NULL);
        g_free(its.place);
        if (!other || !same_cost(file, other))
            return rh_fail(error, RH_ERROR_INPUT,
                           "%s: a loop runs this command %u times, and run %u costs otherwise than "
                           "the first\nhelp: choose one: %s#1 to %s#%u",
                           runs->place ? runs->place : path, runs->runs, i, path, path, runs->runs);
    }
    return true;
}

RhLaunchFile *rh_launch_read(const char *path, GError **error)
{
    guint run = 0;
    RhLaunchRuns runs = {0};
    g_autofree char *name = rh_launch_file_of_run(path, &run);
    g_autoptr(RhLaunchFile) file = rh_launch_read_run(name, run, &runs, error);
    bool known = !file || run <= MAX(runs.runs, 1) ||
                 rh_fail(error, RH_ERROR_INPUT, "%s has one run, not %u", name, run);
    bool alike = !file || run > 0 || check_runs(name, file, &runs, error);
    g_free(runs.place);
    return known && alike ? g_steal_pointer(&file) : NULL;
}
