#include "report/plan/launch_vs_plan.h"

void rh_launched_beside_free(RhLaunchedBeside *b)
{
    if (!b)
        return;
    rh_rehearsal_free(b->theirs);
    rh_rehearsal_free(b->one);
    g_clear_pointer(&b->one_changes, g_ptr_array_unref);
    g_clear_pointer(&b->best_changes, g_ptr_array_unref);
    g_free(b);
}

static void put_run(RhJsonWriter *w, const RhRehearsal *r)
{
    g_autofree char *text = rh_layout_format(&r->layout);
    rh_json_put_string(w, "strategy", text);
    rh_json_put_number(w, "step_time_s", r->step_time_s);
    rh_json_put_number(w, "memory_peak_bytes", r->memory.peak_bytes);
    rh_json_put_number(w, "memory_capacity_bytes", r->memory_capacity_bytes);
    rh_json_put_bool(w, "fits", r->fits);
}

static void put_changes(RhJsonWriter *w, const char *key, const GPtrArray *changes)
{
    rh_json_begin_array(w, key);
    for (guint i = 0; changes && i < changes->len; i++)
        rh_json_put_string(w, NULL, g_ptr_array_index(changes, i));
    rh_json_end_array(w);
}

void rh_put_launched(RhJsonWriter *w, const RhLaunchedBeside *b)
{
    if (!b)
        return;
    rh_json_begin_object(w, "launched");
    put_run(w, b->theirs);
    if (b->one) {
        rh_json_begin_object(w, "one_change");
        put_run(w, b->one);
        put_changes(w, "settings", b->one_changes);
        rh_json_end_object(w);
    } else {
        rh_json_put_null(w, "one_change");
    }
    put_changes(w, "best_settings", b->best_changes);
    rh_json_end_object(w);
}
