#include "calibrate/fit/custom_allreduce_curve.h"

#include <math.h>
#include <string.h>

#include "base/garray_access.h"
#include "base/interned_strings.h"

static gint by_bytes(gconstpointer a, gconstpointer b)
{
    const RhTableSample *x = *(const RhTableSample *const *)a,
                        *y = *(const RhTableSample *const *)b;
    double left = x->kernel.bytes, right = y->kernel.bytes;
    return left < right ? -1 : left > right;
}

/* Rows of so many ranks in all tables, by size. */
static GPtrArray *rows_of(const GPtrArray *tables, int64_t ranks)
{
    GPtrArray *rows = g_ptr_array_new();
    for (guint i = 0; i < tables->len; i++) {
        const RhKernelTables *t = g_ptr_array_index(tables, i);
        for (guint k = 0; k < t->rows->len; k++) {
            RhTableSample *row = &g_array_index(t->rows, RhTableSample, k);
            if (row->role == RH_TABLED_REDUCE && row->kernel.batch == ranks)
                g_ptr_array_add(rows, row);
        }
    }
    g_ptr_array_sort(rows, by_bytes);
    return rows;
}

/* Makes times ascend with bytes, because a smaller message can always be padded to a larger one. */
static void ascend(RhPeerCurve *c)
{
    for (int i = c->count - 2; i >= 0; i--)
        c->seconds[i] = fmin(c->seconds[i], c->seconds[i + 1]);
}

static bool curve_of(const GPtrArray *rows, int64_t ranks, RhPeerCurve *c)
{
    *c = (RhPeerCurve){.ranks = (int32_t)ranks};
    for (guint i = 0; i < rows->len; i++) {
        const RhTableSample *row = g_ptr_array_index(rows, i);
        bool again = c->count > 0 && c->bytes[c->count - 1] == row->kernel.bytes;
        if (again) {
            c->seconds[c->count - 1] = fmin(c->seconds[c->count - 1], row->seconds);
        } else if (c->count < RH_PEER_KNOTS_MAX) {
            c->bytes[c->count] = row->kernel.bytes;
            c->seconds[c->count++] = row->seconds;
        }
    }
    ascend(c);
    return c->count >= 2;
}

/* Evaluates a curve through every second knot by predicting the others. */
static void judge(const RhPeerCurve *c, GArray *errors)
{
    RhPeerCurve half = {.ranks = c->ranks};
    for (int i = 0; i < c->count; i += 2) {
        half.bytes[half.count] = c->bytes[i];
        half.seconds[half.count++] = c->seconds[i];
    }
    for (int i = 1; i + 1 < c->count; i += 2) {
        double off = rh_peer_curve_s(&half, c->bytes[i]) / c->seconds[i] - 1;
        g_array_append_val(errors, off);
    }
}

/* The engine's own file, which comes first. */
static const RhKernelTables *first_table(const GPtrArray *tables)
{
    for (guint i = 0; i < tables->len; i++) {
        const RhKernelTables *t = g_ptr_array_index(tables, i);
        for (guint k = 0; k < t->rows->len; k++)
            if (g_array_index(t->rows, RhTableSample, k).role == RH_TABLED_REDUCE)
                return t;
    }
    return NULL;
}

bool rh_fit_peers(const GPtrArray *tables, const char *date, RhPeerReduce *peers,
                  RhFitFigures *held_out)
{
    static const int64_t ranks[RH_PEER_CURVES_MAX] = {2, 4, 8, 16};
    const RhKernelTables *first = first_table(tables);
    g_autoptr(GArray) errors = g_array_new(FALSE, FALSE, sizeof(double));
    *peers = (RhPeerReduce){0};
    *held_out = (RhFitFigures){0};
    for (int i = 0; first && i < RH_PEER_CURVES_MAX; i++) {
        g_autoptr(GPtrArray) rows = rows_of(tables, ranks[i]);
        RhPeerCurve *c = &peers->curves[peers->curves_count];
        if (!curve_of(rows, ranks[i], c))
            continue;
        judge(c, errors);
        peers->curves_count++;
    }
    if (peers->curves_count == 0)
        return false;
    g_autofree char *source =
        g_strdup_printf("%s: %s, %s", first->name, first->device, first->library);
    rh_fit_figures_of(RH_ELEMENTS(errors, double), errors->len, held_out);
    peers->source = rh_intern(source);
    peers->date = date;
    peers->error_mean_frac = held_out->mean_frac;
    return true;
}
