#include "cli/sweep/sweep_item.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/command_dispatch.h"
#include "cli/hard_timeout.h"
#include "cli/sweep/sweepable_commands.h"

/* The words of an item and those by which its answer is one JSON document; borrowed words, the array
 * is the caller's. */
static GPtrArray *words_of(const RhStudyItem *item)
{
    static const char *const own[] = {"--json", "--quiet", "--no-progress", "--jobs=1"};
    GPtrArray *words = g_ptr_array_new();
    for (char **word = item->words; *word; word++)
        g_ptr_array_add(words, *word);
    for (size_t i = 0; i < G_N_ELEMENTS(own); i++)
        g_ptr_array_add(words, (char *)own[i]);
    return words;
}

static void empty(FILE *stream)
{
    fflush(stream);
    rh_ignore_failure(ftruncate(fileno(stream), 0) == 0);
    lseek(fileno(stream), 0, SEEK_SET);
}

/* The status of a failure. Where memory, time or processes ran out, as process_pool.h says, another
 * try may succeed, so that is no answer as "nothing fits" is. */
static int status_of(const GError *error)
{
    bool passing = g_error_matches(error, RH_ERROR, RH_ERROR_REFUSED) ||
                   (g_error_matches(error, RH_ERROR, RH_ERROR_NO_ANSWER) &&
                    g_str_has_prefix(error->message, "no answer"));
    return passing ? RH_JOURNAL_PASSING : rh_exit_status(error);
}

static void tell(const GError *error)
{
    empty(stderr); /* of warnings */
    if (error)
        fprintf(stderr, "%s", error->message);
    fflush(stderr);
}

/* Returns the JSON document that was printed; NULL: none was. Caller frees. */
static char *printed(void)
{
    struct stat status;
    fflush(stdout);
    if (fstat(STDOUT_FILENO, &status) != 0 || status.st_size <= 0)
        return NULL;
    g_autofree char *text = g_malloc((size_t)status.st_size + 1);
    ssize_t length = pread(STDOUT_FILENO, text, (size_t)status.st_size, 0);
    if (length != status.st_size || text[0] != '{')
        return NULL;
    text[length] = '\0';
    return g_steal_pointer(&text);
}

int32_t rh_sweep_perform(const RhSweepWork *work, const RhStudyItem *item)
{
    const RhSweepCommand *row = rh_sweep_command_by_name(work->study->command);
    g_autoptr(GPtrArray) words = words_of(item);
    g_autoptr(GError) error = NULL, unwritten = NULL;
    gint64 t_start_us = g_get_monotonic_time();
    empty(stdout);
    int status = rh_run_command(row->command, (int)words->len, (char **)words->pdata, &error);
    if (error)
        status = status_of(error);
    rh_hard_timeout_end();
    g_autofree char *answer = error ? NULL : printed(), *line = rh_study_line(work->study, item);
    RhJournalEntry entry = {.key = item->key,
                            .line = line,
                            .status = status,
                            .seconds = 1e-6 * (double)(g_get_monotonic_time() - t_start_us),
                            .error = error ? error->message : NULL,
                            .answer = answer};
    bool written = rh_journal_append(work->journal, &entry, &unwritten);
    tell(written ? error : unwritten);
    return written ? status : RH_SWEEP_UNWRITTEN;
}
