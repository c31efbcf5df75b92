#include "report/playground.h"

#include <math.h>

#include "base/json/json.h"
#include "report/page/page.h"

#define MIB 1048576.0

static void put_words(RhJsonWriter *w, const char *key, const char *const *words)
{
    rh_json_begin_array(w, key);
    for (; *words; words++)
        rh_json_put_string(w, NULL, *words);
    rh_json_end_array(w);
}

static void put_sliders(RhJsonWriter *w, const RhPlayground *p)
{
    rh_json_begin_array(w, "sliders");
    for (int32_t i = 0; i < p->axes_count; i++) {
        rh_json_begin_object(w, NULL);
        rh_json_put_string(w, "key", p->axes[i].key);
        rh_json_put_string(w, "label", p->labels[i]);
        put_words(w, "values", p->axes[i].values);
        rh_json_end_object(w);
    }
    rh_json_end_array(w);
}

/* Seconds to four digits, so that the page stays small. */
static double four_digits(double value)
{
    double unit = value > 0 ? pow(10, floor(log10(value)) - 3) : 1;
    return round(value / unit) * unit;
}

/* Puts the cells as one flat list, seven numbers each: place, milliseconds of the step, of kernels
 * and of the allowance for slow nodes, MFU in thousandths, MiB of the peak, 1 where it fits. */
static void put_grid(RhJsonWriter *w, const RhPlaygroundJob *grid)
{
    rh_json_begin_object(w, NULL);
    rh_json_put_int(w, "model", grid->model);
    rh_json_put_int(w, "cluster", grid->cluster);
    rh_json_put_int(w, "gpus", grid->gpus);
    const RhGridCell *first =
        grid->cells->len > 0 ? &g_array_index(grid->cells, RhGridCell, 0) : NULL;
    rh_json_put_number(w, "capacity_bytes", first ? first->capacity_bytes : 0);
    rh_json_begin_array(w, "cells");
    for (guint i = 0; i < grid->cells->len; i++) {
        const RhGridCell *c = &g_array_index(grid->cells, RhGridCell, i);
        rh_json_put_int(w, NULL, c->at);
        rh_json_put_number(w, NULL, four_digits(c->step_s * 1e3));
        rh_json_put_number(w, NULL, four_digits(c->compute_s * 1e3));
        rh_json_put_number(w, NULL, four_digits(c->slow_s * 1e3));
        rh_json_put_int(w, NULL, (int64_t)lround(c->mfu_frac * 1e3));
        rh_json_put_int(w, NULL, (int64_t)ceil(c->peak_bytes / MIB));
        rh_json_put_int(w, NULL, c->fits);
    }
    rh_json_end_array(w);
    rh_json_end_object(w);
}

char *rh_report_playground_json(const RhPlayground *p)
{
    g_autoptr(RhJsonWriter) w = rh_json_writer_new(false);
    rh_json_begin_object(w, NULL);
    rh_json_put_string(w, "schema", "rehearse.playground/1");
    rh_json_put_string(w, "version", p->version);
    put_words(w, "argv", p->argv);
    put_words(w, "models", p->models);
    put_words(w, "clusters", p->clusters);
    rh_json_begin_array(w, "gpus");
    for (int32_t i = 0; i < p->gpus_count; i++)
        rh_json_put_int(w, NULL, p->gpus[i]);
    rh_json_end_array(w);
    rh_json_put_int(w, "global_batch", p->global_batch);
    rh_json_put_int(w, "sequence", p->sequence);
    put_sliders(w, p);
    rh_json_begin_array(w, "grids");
    for (int32_t i = 0; i < p->jobs_count; i++)
        put_grid(w, &p->jobs[i]);
    rh_json_end_array(w);
    rh_json_end_object(w);
    return rh_json_writer_steal(w);
}

char *rh_report_playground_page(const RhPlayground *p, const char *answer)
{
    g_autofree char *json = rh_report_playground_json(p);
    RhPage page = {.command = "show", .answer = answer, .json = json, .of_playground = true};
    return rh_report_page(&page);
}
