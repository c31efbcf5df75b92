#include "report/sweep/study_compare.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/text/text_table.h"

typedef struct {
    const RhMerged *a, *b;
    GArray *axes_a, *axes_b; /* int32_t: common axes in both */
    GArray *rows_a, *rows_b; /* int32_t: questions in both, side by side */
} Pairing;

static const RhMergedCell *cell_at(const RhMerged *m, int32_t row, int32_t column)
{
    return (const RhMergedCell *)g_ptr_array_index(m->rows, row) + column;
}

/* "gpus=8 seq=4096" of the common axes; caller frees. */
static char *values_of(const RhMerged *m, const GArray *axes, int32_t row)
{
    GString *out = g_string_new(NULL);
    for (guint i = 0; i < axes->len; i++) {
        int32_t axis = g_array_index(axes, int32_t, i);
        const char *text = cell_at(m, row, axis)->text;
        g_string_append_printf(out, "%s%s=%s", i > 0 ? " " : "",
                               (const char *)g_ptr_array_index(m->names, axis), text ? text : "");
    }
    return g_string_free(out, FALSE);
}

static void find_axes(Pairing *p)
{
    for (int32_t i = 0; i < p->a->axes_count; i++) {
        int32_t other = rh_merged_column(p->b, g_ptr_array_index(p->a->names, i));
        if (other < 0 || other >= p->b->axes_count)
            continue;
        g_array_append_val(p->axes_a, i);
        g_array_append_val(p->axes_b, other);
    }
}

static bool index_rows(const RhMerged *m, const GArray *axes, const char *path, GHashTable *rows,
                       GError **error)
{
    for (int32_t r = 0; r < (int32_t)m->rows->len; r++) {
        char *values = values_of(m, axes, r);
        if (g_hash_table_contains(rows, values)) {
            rh_fail(error, RH_ERROR_INPUT,
                    "%s asks %s more than once: its other axes are not in both studies", path,
                    *values ? values : "everything");
            g_free(values);
            return false;
        }
        g_hash_table_insert(rows, values, GINT_TO_POINTER(r));
    }
    return true;
}

static bool pair_rows(Pairing *p, const char *path_a, const char *path_b, GError **error)
{
    g_autoptr(GHashTable) in_a = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autoptr(GHashTable) in_b = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    if (!index_rows(p->a, p->axes_a, path_a, in_a, error) ||
        !index_rows(p->b, p->axes_b, path_b, in_b, error))
        return false;
    for (int32_t r = 0; r < (int32_t)p->a->rows->len; r++) {
        void *other;
        g_autofree char *values = values_of(p->a, p->axes_a, r);
        if (!g_hash_table_lookup_extended(in_b, values, NULL, &other))
            continue;
        int32_t row = GPOINTER_TO_INT(other);
        g_array_append_val(p->rows_a, r);
        g_array_append_val(p->rows_b, row);
    }
    if (p->rows_a->len == 0)
        return rh_fail(error, RH_ERROR_INPUT, "%s and %s have no question in common", path_a,
                       path_b);
    return true;
}

/* The numbers of one pair; false: one side has none, or none above 0. */
static bool numbers_of(const Pairing *p, guint pair, int32_t column_a, int32_t column_b, double *a,
                       double *b)
{
    const RhMergedCell *x = cell_at(p->a, g_array_index(p->rows_a, int32_t, pair), column_a);
    const RhMergedCell *y = cell_at(p->b, g_array_index(p->rows_b, int32_t, pair), column_b);
    if (x->kind != RH_CELL_NUMBER || y->kind != RH_CELL_NUMBER)
        return false;
    *a = g_ascii_strtod(x->text, NULL);
    *b = g_ascii_strtod(y->text, NULL);
    return *a > 0 && *b > 0;
}

/* Ratios of a figure, B over A. */
typedef struct {
    double mean_log, low, high;
    int32_t at_low, at_high, count; /* rows of A */
} Ratios;

static Ratios ratios_of(const Pairing *p, int32_t column_a, int32_t column_b)
{
    Ratios r = {.low = HUGE_VAL, .high = -HUGE_VAL};
    for (guint i = 0; i < p->rows_a->len; i++) {
        double a, b;
        if (!numbers_of(p, i, column_a, column_b, &a, &b))
            continue;
        r.mean_log += log(b / a);
        r.count++;
        if (b / a < r.low) {
            r.low = b / a;
            r.at_low = g_array_index(p->rows_a, int32_t, i);
        }
        if (b / a > r.high) {
            r.high = b / a;
            r.at_high = g_array_index(p->rows_a, int32_t, i);
        }
    }
    r.mean_log /= MAX(r.count, 1);
    return r;
}

/* Tells a figure's ratios, or its name among those that are the same. */
static void compare_column(const Pairing *p, int32_t column_a, RhTable *table, GString *same)
{
    const char *name = g_ptr_array_index(p->a->names, column_a);
    int32_t column_b = rh_merged_column(p->b, name);
    if (column_b < p->b->axes_count + 2)
        return;
    Ratios r = ratios_of(p, column_a, column_b);
    if (r.count == 0)
        return;
    if (r.low == 1 && r.high == 1) {
        g_string_append_printf(same, "%s%s", same->len > 0 ? ", " : "", name);
        return;
    }
    g_autofree char *where_low = values_of(p->a, p->axes_a, r.at_low);
    g_autofree char *where_high = values_of(p->a, p->axes_a, r.at_high);
    rh_table_rowf(table, "%s|%.4g|%.4g|%s|%.4g|%s", name, exp(r.mean_log), r.low, where_low, r.high,
                  where_high);
}

/* A flag or a status as text, borrowed; NULL: the column is of neither. */
static const char *word_at(const RhMerged *m, const GArray *rows, guint pair, int32_t column)
{
    const RhMergedCell *cell = cell_at(m, g_array_index(rows, int32_t, pair), column);
    bool of_status = column == m->axes_count;
    return cell->kind == RH_CELL_FLAG || of_status ? cell->text : NULL;
}

/* Tells how often each flag, and whether there is an answer, differs, with the first such question. */
static void compare_words(const Pairing *p, int32_t column_a, GString *out)
{
    const char *name = g_ptr_array_index(p->a->names, column_a);
    int32_t column_b = rh_merged_column(p->b, name), count = 0;
    guint first = 0;
    for (guint i = 0; column_b >= 0 && i < p->rows_a->len; i++) {
        const char *a = word_at(p->a, p->rows_a, i, column_a),
                   *b = word_at(p->b, p->rows_b, i, column_b);
        if (!a || !b || strcmp(a, b) == 0)
            continue;
        first = count++ == 0 ? i : first;
    }
    if (count == 0)
        return;
    g_autofree char *where = values_of(p->a, p->axes_a, g_array_index(p->rows_a, int32_t, first));
    g_string_append_printf(out, "  %s differs in %d, first in %s: %s in A, %s in B\n", name, count,
                           where, word_at(p->a, p->rows_a, first, column_a),
                           word_at(p->b, p->rows_b, first, column_b));
}

char *rh_report_study_compare(const RhStudy *a, const RhMerged *of_a, const RhStudy *b,
                              const RhMerged *of_b, GError **error)
{
    g_autoptr(GArray) axes_a = g_array_new(FALSE, FALSE, sizeof(int32_t));
    g_autoptr(GArray) axes_b = g_array_new(FALSE, FALSE, sizeof(int32_t));
    g_autoptr(GArray) rows_a = g_array_new(FALSE, FALSE, sizeof(int32_t));
    g_autoptr(GArray) rows_b = g_array_new(FALSE, FALSE, sizeof(int32_t));
    Pairing p = {of_a, of_b, axes_a, axes_b, rows_a, rows_b};
    find_axes(&p);
    if (!pair_rows(&p, a->path, b->path, error))
        return NULL;
    GString *out = g_string_new(NULL);
    g_autoptr(RhTable) table = rh_table_new("<>><><");
    g_string_append_printf(out, "%u questions are in both, of %u in A (%s) and %u in B (%s)\n",
                           rows_a->len, of_a->rows->len, a->path, of_b->rows->len, b->path);
    rh_table_rowf(table, "B over A|mean|least|at|most|at");
    g_autoptr(GString) same = g_string_new(NULL);
    for (int32_t c = of_a->axes_count + 2; c < (int32_t)of_a->names->len; c++)
        compare_column(&p, c, table, same);
    rh_table_append(table, out, "  ");
    for (int32_t c = of_a->axes_count; c < (int32_t)of_a->names->len; c++)
        compare_words(&p, c, out);
    if (same->len > 0)
        g_string_append_printf(out, "  the same in both: %s\n", same->str);
    return g_string_free(out, FALSE);
}
