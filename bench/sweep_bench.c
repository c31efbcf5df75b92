/* Overhead of a sweep: seconds of processors that keys, workers, journals and the table take for an item, beside the bar
 * of a millisecond; and, where the program is named, what `simulate` items take in a sweep beside the same ones each in
 * a process of its own.
 *
 *     build/bench/sweep_bench [build/rehearse [ITEMS]] */
#include <stdlib.h>

#include "bench/bench_job.h"
#include "sweep/item_workers.h"
#include "sweep/merged.h"
#include "sweep/study.h"

#define OVERHEAD_BAR_S 1e-3
#define ALONE_COUNT    50 /* items that are asked one by one */

static RhStudyOption any_option(const char *command, const char *option)
{
    (void)command, (void)option;
    return RH_STUDY_OPTION_VALUE;
}

static bool all_right(const char *command, char **words, GError **error)
{
    (void)command, (void)words, (void)error;
    return true;
}

typedef struct {
    const RhStudy *study;
    RhJournal *journal;
    char *answer; /* as large as that of `simulate` */
    int32_t next;
} Sweep;

static int32_t perform(int32_t number, void *user)
{
    const Sweep *s = user;
    const RhStudyItem *item = g_ptr_array_index(s->study->items, number);
    g_autofree char *line = rh_study_line(s->study, item);
    RhJournalEntry entry = {.key = item->key, .line = line, .answer = s->answer};
    return rh_journal_append(s->journal, &entry, NULL) ? 0 : 1;
}

static RhNextItemStatus next(int32_t *item, void *user)
{
    Sweep *s = user;
    *item = s->next;
    return s->next++ < (int32_t)s->study->items->len ? RH_NEXT_ITEM : RH_NEXT_NONE;
}

static bool ended(int32_t item, const RhItemOutcome *end, void *user)
{
    (void)item, (void)user;
    g_assert(end->status == 0);
    return true;
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

/* Prints what a stage took an item since *t_last_s. */
static double tell(const char *what, int32_t items, double *t_last_s)
{
    double t_now_s = bench_used_s(RUSAGE_SELF) + bench_used_s(RUSAGE_CHILDREN);
    double each_s = (t_now_s - *t_last_s) / items;
    printf("  %-30s %7.3f ms an item\n", what, 1e3 * each_s);
    *t_last_s = t_now_s;
    return each_s;
}

static void write_text(const char *path, const char *text)
{
    GError *error = NULL;
    bool fine = g_file_set_contents(path, text, -1, &error);
    g_assert_no_error(error);
    g_assert(fine);
}

static RhStudy *load(const char *path)
{
    static const char *const commands[] = {"simulate", NULL};
    RhStudyRules rules = {
        .commands = commands, .option = any_option, .check = all_right, .version = "1"};
    GError *error = NULL;
    RhStudy *study = rh_study_load(path, &rules, &error);
    g_assert_no_error(error);
    return study;
}

/* An answer with as many bytes as that of `simulate` has, of which few become columns. */
static char *answer_text(void)
{
    GString *out =
        g_string_new("{\"schema\":\"rehearse.run/1\",\"step_time_s\":1.25,\"fits\":true");
    for (int32_t i = 0; i < 180; i++)
        g_string_append_printf(out, ",\"figure_%d\":{\"value_s\":%d.125}", i, i);
    return g_string_free(g_string_append_c(out, '}'), FALSE);
}

static void measure_overhead(const char *folder)
{
    g_autofree char *path = g_build_filename(folder, "empty.json", NULL),
                    *journals_path = g_build_filename(folder, "empty.sweep", NULL);
    write_text(path,
               "{\"schema\": \"rehearse.study/1\", \"command\": \"simulate\",\n"
               " \"options\": {\"workload\": \"llama-3.1-8b\", \"strategy\": \"tp{tp},pp{pp}\"},\n"
               " \"axes\": [{\"tp\": {\"from\": 1, \"to\": 100, \"plus\": 1}},\n"
               "          {\"pp\": {\"from\": 1, \"to\": 100, \"plus\": 1}}]}\n");
    static const char *const columns[] = {"step_time_s", "fits", NULL};
    RhMergeRules rules = {.columns = columns};
    GError *error = NULL;
    double t_last_s = bench_used_s(RUSAGE_SELF) + bench_used_s(RUSAGE_CHILDREN);
    g_autoptr(RhStudy) study = load(path);
    int32_t items = (int32_t)study->items->len;
    printf("%d items that compute nothing, each with an answer as of `simulate`:\n", items);
    double sum_s = tell("combinations and their keys", items, &t_last_s);
    g_autoptr(RhJournal) journal = rh_journal_new(journals_path);
    g_autofree char *answer = answer_text();
    Sweep sweep = {study, journal, answer, 0};
    RhItemPool pool = {.jobs = 2,
                       .perform = perform,
                       .next = next,
                       .more_fd = -1,
                       .ended = ended,
                       .waiting = wait_on,
                       .stopped = is_stopped,
                       .user = &sweep};
    bool fine = rh_item_pool_run(&pool, &error);
    g_assert_no_error(error);
    g_assert(fine);
    sum_s += tell("workers and journals", items, &t_last_s);
    g_autoptr(RhJournals) journals = rh_journals_load(journals_path, &error);
    sum_s += tell("journals read (--resume)", items, &t_last_s);
    g_autoptr(RhMerged) merged = rh_merged_new(study, journals, &rules, &error);
    g_assert_no_error(error);
    g_assert(merged->absent_count == 0);
    g_autofree char *csv = rh_merged_csv(merged);
    g_assert(*csv);
    sum_s += tell("table", items, &t_last_s);
    printf("  in all %.3f ms an item, %.2f of the bar of %g ms\n", 1e3 * sum_s,
           sum_s / OVERHEAD_BAR_S, 1e3 * OVERHEAD_BAR_S);
}

/* --- the program itself --- */

static void run_program(char **words)
{
    int status = 0;
    GError *error = NULL;
    bool fine = g_spawn_sync(NULL, words, NULL, G_SPAWN_STDOUT_TO_DEV_NULL, NULL, NULL, NULL, NULL,
                             &status, &error);
    g_assert_no_error(error);
    g_assert(fine && status == 0);
}

/* A study of `simulate` with some `items` questions of small and large jobs. */
static int32_t write_study(const char *path, int32_t items)
{
    int32_t batches = MAX(items / 1000, 1);
    g_autofree char *text = g_strdup_printf(
        "{\"schema\": \"rehearse.study/1\", \"command\": \"simulate\",\n"
        " \"options\": {\"strategy\": \"tp{tp},pp{pp},mb1\"},\n"
        " \"axes\": [{\"global-batch\": {\"from\": 64, \"to\": %d, \"plus\": 32}},\n"
        "   {\"workload\": [\"llama-3.1-8b\", \"llama-2-7b\", \"llama-2-13b\", \"qwen3-8b\", \"mistral-7b\"]},\n"
        "   {\"platform\": [\"dgx-h100:4\", \"dgx-h200:4\", \"dgx-a100:4\", \"dgx-b200:4\", \"dgx-h100:8\"]},\n"
        "   {\"seq\": [\"4k\", \"8k\"]}, {\"tp\": [1, 2, 4, 8]}, {\"pp\": [1, 2, 4, 8, 16]}]}\n",
        64 + 32 * (batches - 1));
    write_text(path, text);
    return 1000 * batches;
}

/* Seconds of processors that some of the study's questions take, each in a process of its own. */
static double alone_s(const char *program, const RhStudy *study)
{
    double t_begin_s = bench_used_s(RUSAGE_CHILDREN);
    for (int32_t i = 0; i < ALONE_COUNT; i++) {
        const RhStudyItem *item =
            g_ptr_array_index(study->items, (guint)(i * (int32_t)study->items->len / ALONE_COUNT));
        g_autoptr(GPtrArray) words = g_ptr_array_new();
        g_ptr_array_add(words, (char *)program);
        g_ptr_array_add(words, (char *)"simulate");
        for (char **word = item->words; *word; word++)
            g_ptr_array_add(words, *word);
        g_ptr_array_add(words, (char *)"--json");
        g_ptr_array_add(words, NULL);
        g_spawn_sync(NULL, (char **)words->pdata, NULL,
                     G_SPAWN_STDOUT_TO_DEV_NULL | G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL, NULL,
                     NULL, NULL, NULL);
    }
    return (bench_used_s(RUSAGE_CHILDREN) - t_begin_s) / ALONE_COUNT;
}

static void measure_program(const char *program, const char *folder, int32_t wanted)
{
    g_autofree char *path = g_build_filename(folder, "simulate.json", NULL);
    int32_t items = write_study(path, wanted);
    char *words[] = {(char *)program, (char *)"sweep", path, (char *)"-j",
                     (char *)"2",     (char *)"-q",    NULL};
    double t_begin_s = bench_used_s(RUSAGE_CHILDREN);
    run_program(words);
    double each_s = (bench_used_s(RUSAGE_CHILDREN) - t_begin_s) / items;
    g_autoptr(RhStudy) study = load(path);
    double one_s = alone_s(program, study);
    printf("%d items of `simulate`, seconds of processors:\n"
           "  in a sweep %.1f ms an item, %.0f items a second on two cores; 10,000 in %.0f s "
           "(bar 300)\n"
           "  each in a process of its own %.1f ms, %.2f times as much\n",
           items, 1e3 * each_s, 2 / each_s, 5000 * each_s, 1e3 * one_s, one_s / each_s);
}

int main(int argc, char **argv)
{
    g_autofree char *folder = g_dir_make_tmp("sweep-bench-XXXXXX", NULL);
    g_assert(folder);
    measure_overhead(folder);
    if (argc > 1)
        measure_program(argv[1], folder, argc > 2 ? atoi(argv[2]) : 1000);
    char *words[] = {(char *)"/bin/rm", (char *)"-rf", folder, NULL};
    run_program(words);
    return 0;
}
