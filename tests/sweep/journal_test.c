/* Journals: whole lines count, torn ones do not, and answers go before failures. */
#include "sweep/journal.h"

#include <glib/gstdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "tests/kit/testkit.h"

#define KEY_A "0123456789abcdef0123456789abcdef"
#define KEY_B "fedcba9876543210fedcba9876543210"

static char *folder_made(void)
{
    return g_dir_make_tmp("rehearse-journal-XXXXXX", NULL);
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

static void append(RhJournal *journal, const char *key, int32_t status, const char *answer)
{
    RhJournalEntry entry = {.key = key,
                            .line = "rehearse \"simulate\"\n",
                            .status = status,
                            .seconds = 0.25,
                            .error = status > 1 ? "it\nbroke" : NULL,
                            .answer = answer};
    CU_ASSERT_TRUE(rh_journal_append(journal, &entry, NULL));
}

static void entries_are_read_as_written(void)
{
    g_autofree char *folder = folder_made();
    g_autoptr(RhJournal) journal = rh_journal_new(folder);
    append(journal, KEY_A, 0, "{\n  \"step_time_s\": 1.5,\n  \"text\": \"a  b\"\n}\n");
    append(journal, KEY_B, 70, NULL);
    g_autoptr(RhJournals) journals = rh_journals_load(folder, NULL);
    const RhJournalRecord *a = rh_journals_find(journals, KEY_A),
                          *b = rh_journals_find(journals, KEY_B);
    CU_ASSERT_TRUE(a && b && journals->torn_count == 0);
    CU_ASSERT_TRUE(a->status == 0 && a->seconds == 0.25 && !rh_journal_is_failure(a->status));
    CU_ASSERT_TRUE(b->status == 70 && rh_journal_is_failure(b->status));
    g_autoptr(RhJson) doc = rh_journal_parse(a, NULL);
    const RhJsonNode *answer = rh_json_object(doc, rh_json_root(doc), "answer");
    CU_ASSERT_EQUAL(rh_json_number(doc, answer, "step_time_s", 0, 10), 1.5);
    CU_ASSERT_STRING_EQUAL(rh_json_string(doc, answer, "text"), "a  b");
    remove_folder(folder);
}

/* Wherever a line is cut, what stands before it counts, and it does not. */
static void a_torn_last_line_is_skipped(void)
{
    g_autofree char *folder = folder_made(), *path = NULL, *text = NULL;
    {
        g_autoptr(RhJournal) journal = rh_journal_new(folder);
        append(journal, KEY_A, 0, "{\"a\": 1}");
        append(journal, KEY_B, 0, "{\"b\": [1, {\"c\": 2}]}");
    }
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    path = g_build_filename(folder, g_dir_read_name(dir), NULL);
    gsize length;
    CU_ASSERT_TRUE(g_file_get_contents(path, &text, &length, NULL));
    gsize first = (gsize)(strchr(text, '\n') - text) + 1;
    for (gsize cut = 0; cut <= length; cut++) {
        CU_ASSERT_TRUE(g_file_set_contents(path, text, (gssize)cut, NULL));
        g_autoptr(RhJournals) journals = rh_journals_load(folder, NULL);
        CU_ASSERT_EQUAL(rh_journals_find(journals, KEY_A) != NULL, cut >= first);
        CU_ASSERT_EQUAL(rh_journals_find(journals, KEY_B) != NULL, cut == length);
        CU_ASSERT_EQUAL(journals->torn_count, cut != 0 && cut != first && cut != length);
    }
    remove_folder(folder);
}

/* A file that ends with its page has no byte behind it that might be read. */
static void a_file_may_fill_its_pages(void)
{
    g_autofree char *folder = folder_made(), *path = NULL, *text = NULL;
    {
        g_autoptr(RhJournal) journal = rh_journal_new(folder);
        append(journal, KEY_A, 0, "{\"a\": 1}");
    }
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    path = g_build_filename(folder, g_dir_read_name(dir), NULL);
    gsize length, page = (gsize)sysconf(_SC_PAGESIZE);
    CU_ASSERT_TRUE(g_file_get_contents(path, &text, &length, NULL));
    g_autoptr(GString) whole = g_string_new(text);
    while (whole->len < page - length)
        g_string_append_c(whole, '\n');
    g_string_append_len(whole, text, (gssize)(page - whole->len));
    CU_ASSERT_TRUE(g_file_set_contents(path, whole->str, (gssize)page, NULL));
    g_autoptr(RhJournals) journals = rh_journals_load(folder, NULL);
    CU_ASSERT_EQUAL(g_hash_table_size(journals->records), 1);
    remove_folder(folder);
}

static void an_answer_goes_before_a_failure(void)
{
    for (int order = 0; order < 2; order++) {
        g_autofree char *folder = folder_made();
        g_autoptr(RhJournal) journal = rh_journal_new(folder);
        append(journal, KEY_A, order ? 0 : 124, order ? "{}" : NULL);
        append(journal, KEY_A, order ? 124 : 0, order ? NULL : "{}");
        g_autoptr(RhJournals) journals = rh_journals_load(folder, NULL);
        CU_ASSERT_EQUAL(rh_journals_find(journals, KEY_A)->status, 0);
        remove_folder(folder);
    }
}

/* A forked process writes beside its parent, not into its file. */
static void processes_have_files_of_their_own(void)
{
    g_autofree char *folder = folder_made();
    g_autoptr(RhJournal) journal = rh_journal_new(folder);
    append(journal, KEY_A, 0, "{}");
    pid_t pid = fork();
    if (pid == 0) {
        append(journal, KEY_B, 0, "{}");
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    g_autoptr(RhJournals) journals = rh_journals_load(folder, NULL);
    CU_ASSERT_EQUAL(journals->files->len, 2);
    CU_ASSERT_EQUAL(g_hash_table_size(journals->records), 2);
    remove_folder(folder);
}

static void no_folder_holds_nothing(void)
{
    g_autoptr(RhJournals) journals = rh_journals_load("/nonexistent/study.sweep", NULL);
    CU_ASSERT_TRUE(journals && g_hash_table_size(journals->records) == 0);
    g_autoptr(RhJournal) journal = rh_journal_new("/proc/nowhere");
    g_autoptr(GError) error = NULL;
    RhJournalEntry entry = {.key = KEY_A, .line = "x"};
    CU_ASSERT_FALSE(rh_journal_append(journal, &entry, &error));
    CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_IO));
}

int main(void)
{
    return rh_test_main(
        "journal",
        (RhTest[]){{"entries_are_read_as_written", entries_are_read_as_written},
                   {"a_torn_last_line_is_skipped", a_torn_last_line_is_skipped},
                   {"a_file_may_fill_its_pages", a_file_may_fill_its_pages},
                   {"an_answer_goes_before_a_failure", an_answer_goes_before_a_failure},
                   {"processes_have_files_of_their_own", processes_have_files_of_their_own},
                   {"no_folder_holds_nothing", no_folder_holds_nothing},
                   {0}});
}
