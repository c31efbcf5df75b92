/* Performs a suite's programs for real, in the lab or without one. */
#include <glib/gstdio.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "validate/suites/deadlock_compare.h"
#include "validate/suites/emulated_network_run.h"
#include "validate/suites/performed_vs_rehearsed.h"
#include "validate/suites/suite_private.h"

#define NOISY_FRAC    0.10 /* a case with a larger spread is measured once more, */
#define NOISY_TIMES   5    /* by so many times the steps: single steps may take a fifth longer */
#define STEP_LIMIT_S  30
#define DEAD_LAUNCH_S 20 /* mpirun does not always notice that a host is gone */
#define DEAD_LIMIT_S  4  /* for a step that a link's failure ends */

/* --- real runs --- */

/* Processor seconds of all processes, of our children, and in total. */
typedef struct {
    double busy_s, own_s, all_s;
} Load;

/* Returns the processor time of all processes from the root control group, which is exact; 0
 * without one. */
static double accounted_s(void)
{
    g_autofree char *nanoseconds = NULL;
    g_autofree char *lines = NULL;
    double microseconds = 0;
    if (g_file_get_contents("/sys/fs/cgroup/cpuacct/cpuacct.usage", &nanoseconds, NULL, NULL))
        return 1e-9 * g_ascii_strtod(nanoseconds, NULL);
    if (g_file_get_contents("/sys/fs/cgroup/cpu.stat", &lines, NULL, NULL))
        sscanf(lines, "usage_usec %lf", &microseconds);
    return 1e-6 * microseconds;
}

/* Current load. The ticks in /proc/stat miss processes that sleep often, as idle ranks do, so they
 * are the second choice. */
static Load load_now(void)
{
    g_autofree char *text = NULL;
    struct rusage own;
    double tick_s = 1.0 / (double)sysconf(_SC_CLK_TCK), columns[3] = {0};
    getrusage(RUSAGE_CHILDREN, &own);
    if (g_file_get_contents("/proc/stat", &text, NULL, NULL)) /* user, nice, system */
        sscanf(text, "cpu %lf %lf %lf", &columns[0], &columns[1], &columns[2]);
    double busy_s = accounted_s();
    if (busy_s <= 0)
        busy_s = tick_s * (columns[0] + columns[1] + columns[2]);
    return (Load){busy_s,
                  (double)(own.ru_utime.tv_sec + own.ru_stime.tv_sec) +
                      1e-6 * (double)(own.ru_utime.tv_usec + own.ru_stime.tv_usec),
                  1e-6 * (double)g_get_monotonic_time() * g_get_num_processors()};
}

/* Appends the performer and its options; programs follow. */
static void performer_words(const RhSuiteRun *s, GPtrArray *argv, const RhPlatform *platform,
                            const char *folder, int32_t runs, int32_t step_limit_s)
{
    g_ptr_array_add(argv, g_strdup(s->options->perform));
    g_ptr_array_add(argv, g_strdup_printf("--platform=%s", platform->name));
    g_ptr_array_add(argv, g_strdup_printf("--output=%s", folder));
    g_ptr_array_add(argv, g_strdup_printf("--runs=%d", runs));
    g_ptr_array_add(argv, g_strdup_printf("--timeout=%d", step_limit_s));
}

/* Performs the items in one launch, each `times` as many steps as asked for; results are files of
 * `folder`. `flag`: NULL, or one more for the performer. */
static bool launch_items(RhSuiteRun *s, const GPtrArray *items, const RhPlatform *platform,
                         int32_t times, const char *folder, const char *flag, GError **error)
{
    g_autoptr(GPtrArray) argv = g_ptr_array_new_with_free_func(g_free);
    g_autofree char *output = NULL;
    bool fatal = flag && g_str_has_prefix(flag, "--event");
    int32_t limit_s = fatal ? DEAD_LAUNCH_S : 60 + 10 * times * (int32_t)items->len;
    performer_words(s, argv, platform, folder, times * s->options->runs,
                    fatal ? DEAD_LIMIT_S : STEP_LIMIT_S);
    if (flag)
        g_ptr_array_add(argv, g_strdup(flag));
    for (guint i = 0; i < items->len; i++)
        g_ptr_array_add(argv, rh_suite_path(s, g_ptr_array_index(items, i), ".program.json"));
    g_ptr_array_add(argv, NULL);
    s->v->launches_count++;
    Load before = load_now();
    bool ran = rh_lab_run(s->options->lab_folder, platform, limit_s, 0,
                          (const char *const *)argv->pdata, &output, error);
    Load after = load_now();
    s->other_s += fmax(0, after.busy_s - before.busy_s - (after.own_s - before.own_s));
    s->all_s += after.all_s - before.all_s;
    return ran;
}

static void read_result(RhSuiteRun *s, RhSuiteItem *item, const char *why_missing)
{
    RhValidationCase *c = rh_suite_case(s, item);
    g_autofree char *json = rh_suite_path(s, item, ".json");
    g_autofree char *trace = rh_suite_path(s, item, ".run.json.gz");
    g_autoptr(GError) error = NULL;
    RhPerformedResult result;
    g_clear_pointer(&c->skipped, g_free);
    g_autofree char *stuck = rh_deadlock_collect(s->folder, item->name, item->program->ranks_count);
    if (stuck) {
        rh_suite_skip(c, "the real run did not end: %s", stuck);
        return;
    }
    if (!g_file_test(json, G_FILE_TEST_EXISTS)) {
        rh_suite_skip(c, "not performed: %s", why_missing ? why_missing : "no result was written");
        return;
    }
    if (!rh_performed_load(json, &result, &error)) {
        rh_suite_skip(c, "%s", error->message);
        return;
    }
    s->repeated_count += result.repeated_count;
    item->stolen_frac = result.stolen_frac;
    c->measured = result.step_time_s;
    c->spread_frac = result.spread_frac;
    if (result.wrong_count > 0)
        rh_suite_skip(
            c, "the real run moved wrong data: %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT " words",
            result.wrong_count, result.checked_count);
    else if (rh_suite_disturbed(item))
        rh_suite_skip(c,
                      "disturbed: a hypervisor took %.0f %% of the processors in its calmest steps",
                      100 * result.stolen_frac);
    else if (!rh_performed_start_error(trace, item->program, item->run, c->measured,
                                       &c->start_error_frac, &error))
        rh_suite_skip(c, "%s", error->message);
    if (!s->v->made_on) {
        struct utsname machine;
        uname(&machine);
        s->v->made_on = g_strdup_printf("%s, Linux %s, %u processors", result.library,
                                        machine.release, g_get_num_processors());
    }
    rh_performed_result_clear(&result);
}

/* Performs items, and repeats once the rest of a launch that ended early. */
static void perform_items(RhSuiteRun *s, const GPtrArray *items, const RhPlatform *platform,
                          int32_t times)
{
    for (int attempt = 0; attempt < 2; attempt++) {
        g_autoptr(GPtrArray) left = g_ptr_array_new();
        g_autoptr(GError) error = NULL;
        for (guint i = 0; i < items->len; i++) {
            const RhSuiteItem *item = g_ptr_array_index(items, i);
            g_autofree char *json = rh_suite_path(s, item, ".json");
            if (attempt == 0)
                g_unlink(json);
            if (!g_file_test(json, G_FILE_TEST_EXISTS))
                g_ptr_array_add(left, (RhSuiteItem *)item);
        }
        if (left->len == 0)
            break;
        launch_items(s, left, platform, times, s->folder, NULL, &error);
        for (guint i = 0; i < left->len; i++)
            read_result(s, g_ptr_array_index(left, i), error ? error->message : NULL);
    }
}

/* Performs the collectives of a network once more, with the MPI library's own algorithms. */
static void perform_library(RhSuiteRun *s, const GPtrArray *all, const RhPlatform *platform)
{
    g_autoptr(GPtrArray) collectives = g_ptr_array_new();
    g_autoptr(GError) error = NULL;
    g_autofree char *folder = g_build_filename(s->folder, "library", NULL);
    for (guint i = 0; i < all->len; i++) {
        const RhSuiteItem *item = g_ptr_array_index(all, i);
        if (g_str_has_suffix(item->row->group, "collective"))
            g_ptr_array_add(collectives, (RhSuiteItem *)item);
    }
    if (collectives->len == 0)
        return;
    g_mkdir_with_parents(folder, 0777);
    if (!launch_items(s, collectives, platform, 1, folder, "--library", &error))
        g_ptr_array_add(s->v->notes, g_strdup_printf("MPI's own collectives: %s", error->message));
    for (guint i = 0; i < collectives->len; i++) {
        const RhSuiteItem *item = g_ptr_array_index(collectives, i);
        g_autofree char *file = g_strconcat(item->name, ".json", NULL);
        g_autofree char *path = g_build_filename(folder, file, NULL);
        RhPerformedResult result;
        if (!rh_performed_load(path, &result, NULL))
            continue;
        if (result.wrong_count == 0)
            rh_suite_case(s, item)->library_s = result.step_time_s;
        rh_performed_result_clear(&result);
    }
}

/* Event of the first link that fails: "cut r3" for "link.nic/node3/0/tx=dies@0.3s" on a star. */
static char *event_of(const RhSuiteRun *s, const char *change)
{
    int node = 0;
    const char *when = strstr(change, "dies@");
    sscanf(change, "link.nic/node%d", &node);
    g_autofree char *cut = g_build_filename(s->options->lab_folder, "cut", NULL);
    g_autofree char *quoted = g_shell_quote(cut);
    return g_strdup_printf("--event=%g:%s r%d", g_ascii_strtod(when + strlen("dies@"), NULL),
                           quoted, node);
}

/* Performs a run that a link's failure ends: it must not hang, and must report what each rank waits
 * for. */
static void perform_death(RhSuiteRun *s, const RhSuiteItem *item, const RhPlatform *platform)
{
    RhValidationCase *c = rh_suite_case(s, item);
    g_autofree char *event = event_of(s, item->row->change);
    g_autoptr(GPtrArray) one = g_ptr_array_new();
    g_autofree char *why = NULL;
    g_ptr_array_add(one, (RhSuiteItem *)item);
    launch_items(s, one, platform, 1, s->folder, event, NULL); /* it must fail */
    g_autofree char *performed =
        rh_deadlock_collect(s->folder, item->name, item->program->ranks_count);
    c->outcome = rh_deadlock_compare(item->stuck, performed, item->program->ranks_count, &why);
    if (!c->outcome)
        rh_suite_skip(c, "%s", why);
}

void rh_suite_perform(RhSuiteRun *s, guint network)
{
    g_autoptr(GPtrArray) all = g_ptr_array_new();
    g_autoptr(GPtrArray) noisy = g_ptr_array_new();
    for (guint i = 0; i < s->items->len; i++)
        if (rh_suite_item(s, i)->network == network && !rh_suite_dies(rh_suite_item(s, i)))
            g_ptr_array_add(all, rh_suite_item(s, i));
    const RhPlatform *platform = rh_suite_network(s, network)->platform;
    for (guint i = 0; i < s->items->len; i++)
        if (rh_suite_item(s, i)->network == network && rh_suite_dies(rh_suite_item(s, i)))
            perform_death(s, rh_suite_item(s, i), platform);
    perform_items(s, all, platform, 1);
    for (guint i = 0; i < all->len; i++) {
        const RhValidationCase *c = rh_suite_case(s, g_ptr_array_index(all, i));
        const RhSuiteItem *item = g_ptr_array_index(all, i);
        if (rh_suite_disturbed(item) || (!c->skipped && c->spread_frac > NOISY_FRAC))
            g_ptr_array_add(noisy, g_ptr_array_index(all, i));
    }
    perform_items(s, noisy, platform, NOISY_TIMES);
    if (s->options->controls)
        perform_library(s, all, platform);
    s->done += (int32_t)all->len;
}

/* --- without a lab --- */

/* Performs a network's programs through shared memory: their data is checked, while their times say
 * nothing of the network. Returns the number of checked words; -1 when they could not be
 * performed. */
static int64_t perform_locally(RhSuiteRun *s, guint network, int64_t *wrong)
{
    const RhSuiteNetwork *n = rh_suite_network(s, network);
    g_autoptr(GPtrArray) argv = g_ptr_array_new_with_free_func(g_free);
    g_autofree char *output = NULL;
    int64_t checked = 0;
    performer_words(s, argv, n->platform, s->folder, 1, STEP_LIMIT_S);
    for (guint i = 0; i < s->items->len; i++)
        if (rh_suite_item(s, i)->network == network)
            g_ptr_array_add(argv, rh_suite_path(s, rh_suite_item(s, i), ".program.json"));
    g_ptr_array_add(argv, NULL);
    if (!rh_local_run(rh_platform_gpus(n->platform), 60 + 10 * (int32_t)argv->len,
                      (const char *const *)argv->pdata, &output, NULL))
        return -1;
    for (guint i = 0; i < s->items->len; i++) {
        g_autofree char *json = rh_suite_path(s, rh_suite_item(s, i), ".json");
        RhPerformedResult result;
        if (rh_suite_item(s, i)->network != network || !rh_performed_load(json, &result, NULL))
            continue;
        checked += result.checked_count;
        *wrong += result.wrong_count;
        rh_performed_result_clear(&result);
    }
    return checked;
}

void rh_suite_fall_back(RhSuiteRun *s, const char *why)
{
    int64_t checked = 0, wrong = 0;
    for (guint i = 0; i < s->networks->len; i++) {
        rh_suite_tell(s, "performing without a lab");
        int64_t words = perform_locally(s, i, &wrong);
        checked = words < 0 || checked < 0 ? -1 : checked + words;
    }
    for (guint i = 0; i < s->v->cases->len; i++)
        rh_suite_skip(&g_array_index(s->v->cases, RhValidationCase, i), "%s", why);
    g_ptr_array_add(s->v->notes, g_strdup_printf("nothing was measured: %s", why));
    if (checked > 0)
        g_ptr_array_add(
            s->v->notes,
            g_strdup_printf("the programs were performed through shared memory: %" G_GINT64_FORMAT
                            " words checked, %" G_GINT64_FORMAT " wrong",
                            checked, wrong));
}
