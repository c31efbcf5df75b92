#include "validate/perform/step_results.h"

#include <mpi.h>
#include <string.h>

#include "base/json/json.h"

void rh_results_clear(RhResults *all)
{
    for (int i = 0; i < all->count; i++)
        g_array_unref(all->steps[i].spans);
    *all = (RhResults){0};
}

/* Insertion sort: there are few, and equals keep their order. */
static void sort_by_disturbance(RhResults *all)
{
    for (int i = 1; i < all->count; i++) {
        RhPerformedStep step = all->steps[i];
        int k = i;
        for (; k > 0 && all->steps[k - 1].stolen_frac > MAX(step.stolen_frac, RH_CALM_FRAC); k--)
            all->steps[k] = all->steps[k - 1];
        all->steps[k] = step;
    }
}

void rh_results_keep(RhResults *all, int wanted)
{
    sort_by_disturbance(all);
    for (; all->count > wanted; all->repeated_count++)
        g_array_unref(all->steps[--all->count].spans);
}

int rh_results_median(const RhResults *all)
{
    for (int i = 0; i < all->count; i++) {
        int below = 0;
        for (int k = 0; k < all->count; k++)
            below += all->steps[k].step_s < all->steps[i].step_s ||
                     (all->steps[k].step_s == all->steps[i].step_s && k < i);
        if (below == (all->count - 1) / 2)
            return i;
    }
    return 0;
}

char *rh_results_text(const RhResults *all, const char *program, const char *platform, int ranks)
{
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    double stolen_frac = 0;
    MPI_Get_library_version(library, &length);
    library[strcspn(library, ",\n")] = '\0';
    g_strdelimit(library, "\t", ' ');
    g_autoptr(RhJsonWriter) w = rh_json_writer_new(true);
    rh_json_begin_object(w, NULL);
    rh_json_put_string(w, "schema", "rehearse.perform/1");
    rh_json_put_string(w, "program", program);
    rh_json_put_string(w, "platform", platform);
    rh_json_put_string(w, "mpi", library);
    rh_json_put_int(w, "ranks_count", ranks);
    rh_json_begin_array(w, "steps_s");
    for (int i = 0; i < all->count; i++) {
        rh_json_put_number(w, NULL, all->steps[i].step_s);
        stolen_frac += all->steps[i].stolen_frac / all->count;
    }
    rh_json_end_array(w);
    if (all->count > 0)
        rh_json_put_number(w, "step_time_s", all->steps[rh_results_median(all)].step_s);
    rh_json_put_int(w, "repeated_count", all->repeated_count);
    rh_json_put_number(w, "stolen_frac", stolen_frac);
    rh_json_put_int(w, "checked_count", all->check.checked_count);
    rh_json_put_int(w, "wrong_count", all->check.wrong_count);
    rh_json_end_object(w);
    return rh_json_writer_steal(w);
}
