#include "sim/timeline/timeline_diff.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>
#include <math.h>

static const RhTimelineEvent *event_at(const GArray *events, guint i)
{
    return &g_array_index(events, RhTimelineEvent, i);
}

static gpointer key_of(const RhTimelineEvent *e)
{
    return GSIZE_TO_POINTER((gsize)(uint32_t)e->gpu << 32 | (uint32_t)e->task);
}

static double end_time_s(const GArray *events)
{
    double end_s = 0;
    for (guint i = 0; i < events->len; i++)
        end_s = fmax(end_s, event_at(events, i)->t_end_s);
    return end_s;
}

static RhTimelineDiffRow *row_of(RhTimelineDiff *o, const RhTimelineEvent *e)
{
    for (guint i = 0; i < o->rows->len; i++) {
        RhTimelineDiffRow *row = &g_array_index(o->rows, RhTimelineDiffRow, i);
        if (row->lane == e->lane && row->name == e->name) /* interned */
            return row;
    }
    RhTimelineDiffRow row = {.name = e->name, .lane = e->lane};
    g_array_append_val(o->rows, row);
    return &g_array_index(o->rows, RhTimelineDiffRow, o->rows->len - 1);
}

static void add_pair(RhTimelineDiff *o, const RhTimelineEvent *a, const RhTimelineEvent *b)
{
    RhTimelineDiffRow *row = row_of(o, a);
    row->count++;
    row->a_duration_s += a->t_end_s - a->t_start_s;
    row->b_duration_s += b->t_end_s - b->t_start_s;
    row->late_s += b->t_start_s - a->t_start_s;
    bool off = fabs(b->t_start_s - a->t_start_s) > RH_OVERLAY_PARTED * o->a_end_s;
    if (off && (!o->parted || a->t_start_s < o->a_part.t_start_s)) {
        o->parted = true;
        o->a_part = *a;
        o->b_part = *b;
    }
}

static int longest_first(const void *left, const void *right)
{
    const RhTimelineDiffRow *x = left, *y = right;
    return x->a_duration_s < y->a_duration_s ? 1 : x->a_duration_s > y->a_duration_s ? -1 : 0;
}

static void finish_rows(RhTimelineDiff *o)
{
    g_array_sort(o->rows, longest_first); /* sorted while they are still sums */
    for (guint i = 0; i < o->rows->len; i++) {
        RhTimelineDiffRow *row = &g_array_index(o->rows, RhTimelineDiffRow, i);
        row->a_duration_s /= row->count;
        row->b_duration_s /= row->count;
        row->late_s /= row->count;
    }
}

RhTimelineDiff *rh_timeline_diff_new(const GArray *a, const GArray *b)
{
    RhTimelineDiff *o = g_new0(RhTimelineDiff, 1);
    g_autoptr(GHashTable) of_task = g_hash_table_new(g_direct_hash, g_direct_equal);
    g_autofree double *off_s = g_new(double, a->len + 1);
    o->rows = g_array_new(FALSE, FALSE, sizeof(RhTimelineDiffRow));
    o->a_end_s = end_time_s(a);
    o->b_end_s = end_time_s(b);
    for (guint i = 0; i < b->len; i++)
        g_hash_table_insert(of_task, key_of(event_at(b, i)), (void *)event_at(b, i));
    for (guint i = 0; i < a->len; i++) {
        const RhTimelineEvent *e = event_at(a, i);
        const RhTimelineEvent *other = g_hash_table_lookup(of_task, key_of(e));
        if (!other) {
            o->a_only_count++;
            continue;
        }
        off_s[o->common_count++] = fabs(other->t_start_s - e->t_start_s);
        add_pair(o, e, other);
    }
    o->b_only_count = (int32_t)b->len - o->common_count;
    size_t count = (size_t)o->common_count;
    gsl_sort(off_s, 1, count);
    if (count > 0)
        o->median_start_error_s = gsl_stats_median_from_sorted_data(off_s, 1, count);
    finish_rows(o);
    return o;
}

void rh_timeline_diff_free(RhTimelineDiff *overlay)
{
    if (!overlay)
        return;
    g_array_unref(overlay->rows);
    g_free(overlay);
}
