/* Tables of studies as databases: what SQL reads is what the table holds, in bytes that do not depend on who asked. */
#include "report/sweep/study_sqlite.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "tests/kit/testkit.h"
#ifdef RH_WITH_SQLITE
#include <sqlite3.h>
#endif

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

static RhStudy *load(const char *folder)
{
    static const char *const commands[] = {"simulate", NULL};
    RhStudyRules rules = {
        .commands = commands, .option = any_option, .check = all_right, .version = "1"};
    g_autofree char *path = g_build_filename(folder, "study.json", NULL);
    CU_ASSERT_TRUE(g_file_set_contents(
        path,
        "{\"schema\": \"rehearse.study/1\", \"command\": \"simulate\", \"about\": \"it's \\\"so\\\"\",\n"
        " \"axes\": [{\"tp\": [1, 2, 4]}, {\"seq\": [\"4k\", \"8k\"]}]}",
        -1, NULL));
    RhStudy *study = rh_study_load(path, &rules, NULL);
    g_unlink(path);
    return study;
}

/* Answers all items, from the first or from the last, in so many journals. */
static RhMerged *table(const RhStudy *study, const char *folder, bool backwards, int32_t journals)
{
    static const char *const columns[] = {"step_time_s", "Step_Time_S", "fits", "what", NULL};
    RhMergeRules rules = {.columns = columns};
    int32_t count = (int32_t)study->items->len;
    g_autofree char *sub = g_strdup_printf("%s/%d-%d", folder, backwards, journals);
    for (int32_t j = 0; j < journals; j++) {
        g_autoptr(RhJournal) journal = rh_journal_new(sub);
        for (int32_t i = j; i < count; i += journals) {
            int32_t item = backwards ? count - 1 - i : i;
            const RhStudyItem *one = g_ptr_array_index(study->items, item);
            g_autofree char *answer = g_strdup_printf(
                "{\"step_time_s\": %d.25, \"Step_Time_S\": 1702092520%d, \"fits\": %s, \"what\": \"a'b\\\"c\"}",
                item, item, item % 2 ? "true" : "false");
            RhJournalEntry entry = {.key = one->key,
                                    .line = "x",
                                    .status = item == 5 ? 1 : 0,
                                    .answer = item == 5 ? NULL : answer};
            CU_ASSERT_TRUE(rh_journal_append(journal, &entry, NULL));
        }
    }
    g_autoptr(RhJournals) read = rh_journals_load(sub, NULL);
    CU_ASSERT_EQUAL(read->files->len, (guint)journals);
    RhMerged *merged = rh_merged_new(study, read, &rules, NULL);
    g_autoptr(GDir) dir = g_dir_open(sub, 0, NULL);
    for (const char *name; (name = g_dir_read_name(dir)) != NULL;) {
        g_autofree char *path = g_build_filename(sub, name, NULL);
        g_unlink(path);
    }
    g_rmdir(sub);
    return merged;
}

#ifdef RH_WITH_SQLITE
/* The answer to a question of one figure. */
static double asked(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    bool fine = sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK &&
                sqlite3_step(statement) == SQLITE_ROW;
    double value = fine ? sqlite3_column_double(statement, 0) : (double)NAN;
    sqlite3_finalize(statement);
    return value;
}

static void check_content(GBytes *bytes)
{
    sqlite3 *db = NULL;
    gsize length;
    const void *data = g_bytes_get_data(bytes, &length);
    unsigned char *copy = sqlite3_malloc64(length);
    memcpy(copy, data, length);
    CU_ASSERT_EQUAL_FATAL(sqlite3_open(":memory:", &db), SQLITE_OK);
    CU_ASSERT_EQUAL_FATAL(sqlite3_deserialize(db, "main", copy, (sqlite3_int64)length,
                                              (sqlite3_int64)length,
                                              SQLITE_DESERIALIZE_FREEONCLOSE),
                          SQLITE_OK);
    CU_ASSERT_EQUAL(asked(db, "SELECT count(*) FROM answers"), 6);
    CU_ASSERT_EQUAL(asked(db, "SELECT sum(step_time_s) FROM answers WHERE status = 0"), 11.25);
    CU_ASSERT_EQUAL(asked(db, "SELECT sum(Step_Time_S_) FROM answers"), 85104626010);
    CU_ASSERT_EQUAL(
        asked(db, "SELECT count(*) FROM answers WHERE typeof(Step_Time_S_) = 'integer'"), 5);
    CU_ASSERT_EQUAL(asked(db, "SELECT count(*) FROM answers WHERE fits AND what = 'a''b\"c'"), 2);
    CU_ASSERT_EQUAL(asked(db, "SELECT sum(tp) FROM answers WHERE seq = '4k'"), 7);
    CU_ASSERT_EQUAL(asked(db, "SELECT item FROM answers WHERE step_time_s IS NULL"), 6);
    CU_ASSERT_EQUAL(asked(db, "SELECT count(*) FROM answers WHERE command LIKE "
                              "'rehearse simulate --tp=_ --seq=_k'"),
                    6);
    CU_ASSERT_EQUAL(asked(db, "SELECT questions - absent FROM study WHERE about = 'it''s \"so\"'"),
                    6);
    sqlite3_close(db);
}
#endif

static void a_database_holds_the_table(void)
{
    g_autofree char *folder = g_dir_make_tmp("rehearse-sqlite-XXXXXX", NULL);
    g_autoptr(RhStudy) study = load(folder);
    g_autoptr(RhMerged) one = table(study, folder, false, 1), three = table(study, folder, true, 3);
    g_autoptr(GError) error = NULL;
    g_autoptr(GBytes) a = rh_report_study_sqlite(study, one, "1", &error),
                      b = a ? rh_report_study_sqlite(study, three, "1", NULL) : NULL;
    g_rmdir(folder);
#ifdef RH_WITH_SQLITE
    CU_ASSERT_TRUE_FATAL(a && b);
    CU_ASSERT_TRUE(g_bytes_equal(a, b));
    check_content(a);
#else
    CU_ASSERT_TRUE(!a && !b && rh_test_says(error->message, "libsqlite3-dev"));
#endif
}

int main(void)
{
    return rh_test_main(
        "study_sqlite",
        (RhTest[]){{"a_database_holds_the_table", a_database_holds_the_table}, {0}});
}
