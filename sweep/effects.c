#include "sweep/effects.h"

#include <math.h>

#define VARIANCE_LEAST 1e-20 /* of the square of the mean: less is rounding */

/* The number of a cell; false: it has none. */
static bool number_of(const RhMerged *m, guint row, int32_t column, double *value)
{
    const RhMergedCell *cell = (const RhMergedCell *)g_ptr_array_index(m->rows, row) + column;
    if (cell->kind != RH_CELL_NUMBER)
        return false;
    *value = g_ascii_strtod(cell->text, NULL);
    return true;
}

typedef struct {
    const char *value;
    double sum, count;
} Level;

/* Sums of the column by the axis' values, in the order in which these appear. */
static GArray *levels_of(const RhMerged *m, int32_t axis, int32_t column)
{
    GArray *levels = g_array_new(FALSE, FALSE, sizeof(Level));
    g_autoptr(GHashTable) known = g_hash_table_new(g_str_hash, g_str_equal);
    for (guint r = 0; r < m->rows->len; r++) {
        double number;
        const RhMergedCell *row = g_ptr_array_index(m->rows, r);
        const char *value = row[axis].text ? row[axis].text : "";
        if (!number_of(m, r, column, &number))
            continue;
        int32_t at = GPOINTER_TO_INT(g_hash_table_lookup(known, value)) - 1;
        if (at < 0) {
            Level level = {.value = value};
            at = (int32_t)levels->len;
            g_array_append_val(levels, level);
            g_hash_table_insert(known, (void *)value, GINT_TO_POINTER(at + 1));
        }
        g_array_index(levels, Level, at).sum += number;
        g_array_index(levels, Level, at).count++;
    }
    return levels;
}

static RhAxisEffect effect_of(const RhMerged *m, int32_t axis, int32_t column, double mean,
                              double squares)
{
    RhAxisEffect effect = {.axis = axis, .low = HUGE_VAL, .high = -HUGE_VAL};
    g_autoptr(GArray) levels = levels_of(m, axis, column);
    for (guint i = 0; i < levels->len; i++) {
        const Level *level = &g_array_index(levels, Level, i);
        double of_level = level->sum / level->count;
        effect.share_frac += level->count * (of_level - mean) * (of_level - mean) / squares;
        if (of_level < effect.low) {
            effect.low = of_level;
            effect.at_low = level->value;
        }
        if (of_level > effect.high) {
            effect.high = of_level;
            effect.at_high = level->value;
        }
    }
    return effect;
}

static int by_share(const void *a, const void *b)
{
    const RhAxisEffect *x = a, *y = b;
    return x->share_frac != y->share_frac ? (x->share_frac < y->share_frac ? 1 : -1)
                                          : x->axis - y->axis;
}

GArray *rh_axis_effects(const RhMerged *m, int32_t column)
{
    double sum = 0, count = 0, squares = 0, number;
    for (guint r = 0; r < m->rows->len; r++)
        if (number_of(m, r, column, &number)) {
            sum += number;
            count++;
        }
    double mean = count > 0 ? sum / count : 0;
    for (guint r = 0; r < m->rows->len; r++)
        if (number_of(m, r, column, &number))
            squares += (number - mean) * (number - mean);
    if (count < 2 || squares <= VARIANCE_LEAST * mean * mean * count)
        return NULL;
    GArray *effects = g_array_new(FALSE, FALSE, sizeof(RhAxisEffect));
    for (int32_t axis = 0; axis < m->axes_count; axis++) {
        RhAxisEffect effect = effect_of(m, axis, column, mean, squares);
        g_array_append_val(effects, effect);
    }
    g_array_sort(effects, by_share);
    return effects;
}
