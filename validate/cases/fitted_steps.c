#include "validate/cases/fitted_steps.h"

#include <math.h>

#include "base/catalogue_folders.h"

#define SAME_TIME 1e-3 /* relative: published-steps.csv keeps four digits */

static char *fitted_key(const char *source, const RhModel *model, const RhJob *job,
                        const RhLayout *layout)
{
    g_autofree char *text = rh_layout_format(layout);
    return g_strdup_printf(
        "%s|%" G_GINT64_FORMAT "|%d|%" G_GINT64_FORMAT "|%" G_GINT64_FORMAT "|%s", source,
        rh_model_params(model), job->gpus, job->global_batch, job->sequence, text);
}

RhFittedSteps rh_fitted_steps_load(void)
{
    g_autofree char *path =
        g_build_filename(rh_data_dir(), "calibrate", "data", "published-steps.csv", NULL);
    RhFittedSteps f = {
        rh_steps_load(path, NULL),
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_ptr_array_unref)};
    for (guint i = 0; f.steps && i < f.steps->rows->len; i++) {
        const RhMeasuredStep *step = &g_array_index(f.steps->rows, RhMeasuredStep, i);
        if (!rh_step_takes_part(step))
            continue;
        char *key = fitted_key(step->source, step->model, &step->job, &step->layout);
        GPtrArray *same = g_hash_table_lookup(f.jobs, key);
        if (!same) {
            same = g_ptr_array_new();
            g_hash_table_insert(f.jobs, g_strdup(key), same);
        }
        g_ptr_array_add(same, (void *)step);
        g_free(key);
    }
    return f;
}

void rh_fitted_steps_clear(RhFittedSteps *f)
{
    g_hash_table_destroy(f->jobs);
    rh_steps_free(f->steps);
}

const RhMeasuredStep *rh_fitted_step(const RhFittedSteps *f, const RhTranslated *t)
{
    if (!t->steps || t->measured_s <= 0)
        return NULL;
    g_autofree char *key = fitted_key(t->steps, t->c.model, &t->c.job, &t->layout);
    const GPtrArray *same = g_hash_table_lookup(f->jobs, key);
    for (guint i = 0; same && i < same->len; i++) {
        const RhMeasuredStep *step = g_ptr_array_index(same, i);
        if (fabs(step->seconds / t->measured_s - 1) < SAME_TIME)
            return step;
    }
    return NULL;
}
