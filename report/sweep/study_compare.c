#include "report/sweep/study_compare.h"

#include <math.h>

#include "base/error.h"
#include "base/table.h"

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

static void compare_column(const Pairing *p, int32_t column_a, RhTable *table)
{
    const char *name = g_ptr_array_index(p->a->names, column_a);
    int32_t column_b = rh_merged_column(p->b, name), at_low = 0, at_high = 0, count = 0;
    double sum = 0, low = HUGE_VAL, high = -HUGE_VAL;
    if (column_b < p->b->axes_count + 2)
        return;
    for (guint i = 0; i < p->rows_a->len; i++) {
        double a, b;
        if (!numbers_of(p, i, column_a, column_b, &a, &b))
            continue;
        sum += log(b / a);
        count++;
        if (b / a < low) {
            low = b / a;
            at_low = g_array_index(p->rows_a, int32_t, i);
        }
        if (b / a > high) {
            high = b / a;
            at_high = g_array_index(p->rows_a, int32_t, i);
        }
    }
    if (count == 0)
        return;
    g_autofree char *where_low = values_of(p->a, p->axes_a, at_low);
    g_autofree char *where_high = values_of(p->a, p->axes_a, at_high);
    rh_table_rowf(table, "%s|%.4g|%.4g|%s|%.4g|%s", name, exp(sum / count), low, where_low, high,
                  where_high);
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
    for (int32_t c = of_a->axes_count + 2; c < (int32_t)of_a->names->len; c++)
        compare_column(&p, c, table);
    rh_table_append(table, out, "  ");
    return g_string_free(out, FALSE);
}
