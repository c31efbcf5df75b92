#include "sweep/journal.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

#define ENDING     ".jsonl"
#define KEY_DIGITS 32
#define NAMES_MAX  100000 /* of files that one process and its forebears of the same number make */

struct RhJournal {
    char *folder, *path; /* path NULL: not made yet */
    int file;
    pid_t owner; /* a forked process makes a file of its own */
};

/* --- writing --- */

RhJournal *rh_journal_new(const char *folder)
{
    RhJournal *journal = g_new0(RhJournal, 1);
    journal->folder = g_strdup(folder);
    journal->file = -1;
    return journal;
}

void rh_journal_free(RhJournal *journal)
{
    if (!journal)
        return;
    if (journal->file >= 0)
        close(journal->file);
    g_free(journal->folder);
    g_free(journal->path);
    g_free(journal);
}

/* Makes the file: never one that is there, whose last line may be torn. */
static bool make_file(RhJournal *journal, GError **error)
{
    if (g_mkdir_with_parents(journal->folder, 0777) != 0)
        return rh_fail(error, RH_ERROR_IO, "%s: %s", journal->folder, g_strerror(errno));
    if (journal->file >= 0)
        close(journal->file);
    journal->owner = getpid();
    for (int i = 0; i < NAMES_MAX; i++) {
        g_autofree char *name = g_strdup_printf("%s-%d-%d" ENDING, g_get_host_name(), getpid(), i);
        g_free(journal->path);
        journal->path = g_build_filename(journal->folder, name, NULL);
        journal->file =
            g_open(journal->path, O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (journal->file >= 0)
            return true;
        if (errno != EEXIST)
            break;
    }
    return rh_fail(error, RH_ERROR_IO, "%s: %s", journal->path, g_strerror(errno));
}

static char *entry_text(const RhJournalEntry *entry)
{
    g_autoptr(RhJsonWriter) w = rh_json_writer_new(false);
    rh_json_begin_object(w, NULL);
    rh_json_put_string(w, "key", entry->key);
    rh_json_put_int(w, "status", entry->status);
    rh_json_put_number(w, "seconds", entry->seconds);
    rh_json_put_string(w, "error", entry->error);
    rh_json_put_string(w, "command", entry->line);
    rh_json_put_null(w, "answer");
    rh_json_end_object(w);
    char *text = rh_json_writer_steal(w);
    if (!entry->answer)
        return text;
    g_autofree char *head = text, *answer = g_strdup(entry->answer);
    cJSON_Minify(answer);
    head[strlen(head) - strlen("null}\n")] = '\0';
    return g_strconcat(head, answer, "}\n", NULL);
}

bool rh_journal_append(RhJournal *journal, const RhJournalEntry *entry, GError **error)
{
    g_return_val_if_fail(strlen(entry->key) == KEY_DIGITS, false);
    if ((journal->file < 0 || journal->owner != getpid()) && !make_file(journal, error))
        return false;
    g_autofree char *text = entry_text(entry);
    size_t length = strlen(text);
    for (const char *at = text; length > 0;) {
        ssize_t written = write(journal->file, at, length);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return rh_fail(error, RH_ERROR_IO, "%s: %s", journal->path, g_strerror(errno));
        at += written;
        length -= (size_t)written;
    }
    return true;
}

/* --- reading --- */

/* The head of a line, as rh_journal_append wrote it: its key and figures. */
static bool read_head(const char *line, size_t length, char key[KEY_DIGITS + 1], int32_t *status,
                      double *seconds)
{
    char head[128] = ""; /* as sscanf() and others look for an end, which the file has none of */
    memcpy(head, line, MIN(sizeof head - 1, length));
    int end = 0;
    char number[32];
    if (line[length - 1] != '}' ||
        sscanf(head, "{\"key\":\"%32[0-9a-f]\",\"status\":%d,\"seconds\":%31[-+.0-9e],%n", key,
               status, number, &end) != 3 ||
        end == 0)
        return false;
    *seconds = g_ascii_strtod(number, NULL);
    return strlen(key) == KEY_DIGITS;
}

bool rh_journal_is_failure(int32_t status)
{
    return status < 0 || status > 3;
}

static void take_line(RhJournals *journals, const char *line, size_t length)
{
    char key[KEY_DIGITS + 1];
    RhJournalRecord found = {.line = line, .length = length};
    if (length == 0 || !read_head(line, length, key, &found.status, &found.seconds)) {
        journals->torn_count++;
        return;
    }
    const RhJournalRecord *known = rh_journals_find(journals, key);
    if (known && !rh_journal_is_failure(known->status))
        return;
    g_hash_table_replace(journals->records, g_strdup(key), g_memdup2(&found, sizeof found));
}

static bool read_file(RhJournals *journals, const char *path, GError **error)
{
    g_autoptr(GError) local = NULL;
    GMappedFile *file = g_mapped_file_new(path, FALSE, &local);
    if (!file)
        return rh_fail(error, RH_ERROR_IO, "%s", local->message);
    g_ptr_array_add(journals->files, file);
    const char *at = g_mapped_file_get_contents(file);
    size_t left = g_mapped_file_get_length(file);
    while (left > 0) {
        const char *end = memchr(at, '\n', left);
        if (!end) {
            journals->torn_count++;
            break;
        }
        take_line(journals, at, (size_t)(end - at));
        left -= (size_t)(end + 1 - at);
        at = end + 1;
    }
    return true;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

RhJournals *rh_journals_load(const char *folder, GError **error)
{
    g_autoptr(RhJournals) journals = g_new0(RhJournals, 1);
    journals->records = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    journals->files = g_ptr_array_new_with_free_func((GDestroyNotify)g_mapped_file_unref);
    if (!g_file_test(folder, G_FILE_TEST_EXISTS))
        return g_steal_pointer(&journals);
    g_autoptr(GError) local = NULL;
    g_autoptr(GDir) dir = g_dir_open(folder, 0, &local);
    if (!dir) {
        rh_fail(error, RH_ERROR_IO, "%s", local->message);
        return NULL;
    }
    g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func(g_free);
    for (const char *name; (name = g_dir_read_name(dir)) != NULL;)
        if (g_str_has_suffix(name, ENDING))
            g_ptr_array_add(paths, g_build_filename(folder, name, NULL));
    g_ptr_array_sort(paths, by_name);
    for (guint i = 0; i < paths->len; i++)
        if (!read_file(journals, g_ptr_array_index(paths, i), error))
            return NULL;
    return g_steal_pointer(&journals);
}

void rh_journals_free(RhJournals *journals)
{
    if (!journals)
        return;
    g_hash_table_unref(journals->records);
    g_ptr_array_unref(journals->files);
    g_free(journals);
}

const RhJournalRecord *rh_journals_find(const RhJournals *journals, const char *key)
{
    return g_hash_table_lookup(journals->records, key);
}

RhJson *rh_journal_parse(const RhJournalRecord *record, GError **error)
{
    return rh_json_parse("journal", record->line, record->length, error);
}
