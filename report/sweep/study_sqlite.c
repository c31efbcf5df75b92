#include "report/sweep/study_sqlite.h"

#include "base/error.h"

#ifdef RH_WITH_SQLITE
#include <sqlite3.h>
#include <string.h>

typedef struct {
    sqlite3 *db;
    sqlite3_stmt *statement;
} Database;

static void database_clear(Database *d)
{
    sqlite3_finalize(d->statement);
    sqlite3_close(d->db);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Database, database_clear)

static bool fail(const Database *d, GError **error)
{
    return rh_fail(error, RH_ERROR_INPUT, "the database could not be made: %s",
                   sqlite3_errmsg(d->db));
}

static bool execute(const Database *d, const char *sql, GError **error)
{
    return sqlite3_exec(d->db, sql, NULL, NULL, NULL) == SQLITE_OK || fail(d, error);
}

static void append_name(GString *sql, const char *name)
{
    g_string_append(sql, ", \"");
    for (; *name; name++) {
        if (*name == '"')
            g_string_append_c(sql, '"');
        g_string_append_c(sql, *name);
    }
    g_string_append_c(sql, '"');
}

/* Appends the columns' names, of which SQL makes no difference between upper and lower case. */
static void append_names(GString *sql, const RhMerged *m)
{
    g_autoptr(GHashTable) taken = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_hash_table_add(taken, g_strdup("item"));
    g_hash_table_add(taken, g_strdup("command"));
    for (guint i = 0; i < m->names->len; i++) {
        g_autofree char *name = g_strdup(g_ptr_array_index(m->names, i));
        while (!g_hash_table_add(taken, g_ascii_strdown(name, -1))) {
            char *longer = g_strconcat(name, "_", NULL);
            g_free(name);
            name = longer;
        }
        append_name(sql, name);
    }
}

static bool prepare(Database *d, const char *sql, GError **error)
{
    sqlite3_finalize(d->statement);
    d->statement = NULL;
    return sqlite3_prepare_v2(d->db, sql, -1, &d->statement, NULL) == SQLITE_OK || fail(d, error);
}

static void bind_text(const Database *d, int place, const char *text)
{
    sqlite3_bind_text(d->statement, place, text, -1, SQLITE_STATIC);
}

static void bind_cell(const Database *d, int place, const RhMergedCell *cell)
{
    switch (cell->kind) {
    case RH_CELL_EMPTY:
        sqlite3_bind_null(d->statement, place);
        break;
    case RH_CELL_NUMBER:
        if (strpbrk(cell->text, ".eEnN"))
            sqlite3_bind_double(d->statement, place, g_ascii_strtod(cell->text, NULL));
        else
            sqlite3_bind_int64(d->statement, place, g_ascii_strtoll(cell->text, NULL, 10));
        break;
    case RH_CELL_TEXT:
        bind_text(d, place, cell->text);
        break;
    case RH_CELL_FLAG:
        sqlite3_bind_int(d->statement, place, strcmp(cell->text, "true") == 0);
        break;
    }
}

/* Performs the statement with what is bound. */
static bool step(const Database *d, GError **error)
{
    bool fine = sqlite3_step(d->statement) == SQLITE_DONE;
    return (fine && sqlite3_reset(d->statement) == SQLITE_OK) || fail(d, error);
}

static bool make_tables(Database *d, const RhMerged *m, GError **error)
{
    g_autoptr(GString) sql =
        g_string_new("CREATE TABLE answers (item INTEGER PRIMARY KEY, command TEXT");
    append_names(sql, m);
    g_string_append(sql,
                    ");\nCREATE TABLE study (path TEXT, about TEXT, command TEXT, version TEXT, "
                    "questions INTEGER, failed INTEGER, absent INTEGER);");
    return execute(d, sql->str, error);
}

static bool add_study(Database *d, const RhStudy *study, const RhMerged *m, const char *version,
                      GError **error)
{
    if (!prepare(d, "INSERT INTO study VALUES (?, ?, ?, ?, ?, ?, ?)", error))
        return false;
    bind_text(d, 1, study->path);
    bind_text(d, 2, study->about);
    bind_text(d, 3, study->command);
    bind_text(d, 4, version);
    sqlite3_bind_int64(d->statement, 5, study->items->len);
    sqlite3_bind_int64(d->statement, 6, m->failed_count);
    sqlite3_bind_int64(d->statement, 7, m->absent_count);
    return step(d, error);
}

static bool add_rows(Database *d, const RhStudy *study, const RhMerged *m, GError **error)
{
    g_autoptr(GString) sql = g_string_new("INSERT INTO answers VALUES (?, ?");
    for (guint i = 0; i < m->names->len; i++)
        g_string_append(sql, ", ?");
    g_string_append_c(sql, ')');
    if (!prepare(d, sql->str, error))
        return false;
    for (guint r = 0; r < m->rows->len; r++) {
        int32_t item = g_array_index(m->items, int32_t, r);
        g_autofree char *line = rh_study_line(study, g_ptr_array_index(study->items, item));
        sqlite3_bind_int64(d->statement, 1, item + 1);
        bind_text(d, 2, line);
        for (guint i = 0; i < m->names->len; i++)
            bind_cell(d, (int)i + 3, (const RhMergedCell *)g_ptr_array_index(m->rows, r) + i);
        if (!step(d, error))
            return false;
    }
    return true;
}

GBytes *rh_report_study_sqlite(const RhStudy *study, const RhMerged *merged, const char *version,
                               GError **error)
{
    g_auto(Database) d = {NULL, NULL};
    sqlite3_int64 length = 0;
    if (sqlite3_open(":memory:", &d.db) != SQLITE_OK) {
        rh_fail(error, RH_ERROR_REFUSED, "SQLite: %s", d.db ? sqlite3_errmsg(d.db) : "no memory");
        return NULL;
    }
    int most = sqlite3_limit(d.db, SQLITE_LIMIT_COLUMN, -1);
    if ((int)merged->names->len + 2 > most) {
        rh_fail(error, RH_ERROR_INPUT,
                "%u columns are more than a table of SQLite takes (%d)\nhelp: \"columns\" of the "
                "study names those that are wanted",
                merged->names->len, most - 2);
        return NULL;
    }
    if (!execute(&d, "BEGIN", error) || !make_tables(&d, merged, error) ||
        !add_study(&d, study, merged, version, error) || !add_rows(&d, study, merged, error) ||
        !execute(&d, "COMMIT", error))
        return NULL;
    unsigned char *bytes = sqlite3_serialize(d.db, "main", &length, 0);
    GBytes *copy = bytes ? g_bytes_new(bytes, (gsize)length) : NULL;
    sqlite3_free(bytes);
    if (!copy)
        rh_fail(error, RH_ERROR_REFUSED, "SQLite: no memory for the database");
    return copy;
}
#else
GBytes *rh_report_study_sqlite(const RhStudy *study, const RhMerged *merged, const char *version,
                               GError **error)
{
    (void)study, (void)merged, (void)version;
    rh_fail(error, RH_ERROR_REFUSED,
            "this program was built without SQLite\nhelp: install libsqlite3-dev and build again, "
            "or write .csv");
    return NULL;
}
#endif
