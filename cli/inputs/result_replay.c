/* Asks the question of a result again: its inputs loaded, its layout performed. */
#include "cli/inputs/result_file.h"

#include <math.h>

#include "base/error.h"
#include "cli/output/terminal.h"
#include "strategies/train/train.h"

#define DIGITS_FRAC 1e-6 /* of a step: the file has nine digits */

RhInputs *rh_result_inputs(const RhResult *r, const GPtrArray *more_sets, bool *changed,
                           GError **error)
{
    g_autoptr(GStrvBuilder) words = g_strv_builder_new();
    g_strv_builder_addv(words, (const char **)r->sets);
    for (guint i = 0; more_sets && i < more_sets->len; i++)
        g_strv_builder_add(words, g_ptr_array_index(more_sets, i));
    g_auto(GStrv) sets = g_strv_builder_end(words);
    g_autofree char *workload = rh_result_input_file(r, r->workload);
    g_autofree char *platform = rh_result_input_file(r, r->platform);
    RhInputsSpec spec = {.workload = workload,
                         .platform = platform,
                         .stack = r->stack,
                         .dtype = r->dtype,
                         .global_batch = r->global_batch,
                         .sequence = r->sequence,
                         .gpus = r->gpus,
                         .seed = r->seed,
                         .sets = (const char *const *)sets,
                         .argv = (const char *const *)r->argv};
    RhInputs *in = rh_inputs_load(&spec, error);
    if (in && changed)
        *changed = g_strcmp0(in->model->hash, r->workload_hash) != 0 ||
                   g_strcmp0(in->hardware->hash, r->platform_hash) != 0;
    return in;
}

bool rh_result_perform(const char *path, int64_t rank, bool drawn, RhReplay *out, GError **error)
{
    bool changed = false;
    out->result = rh_result_load(path, error);
    out->plan = out->result ? rh_result_plan(out->result, rank, error) : NULL;
    out->in = out->plan ? rh_result_inputs(out->result, NULL, &changed, error) : NULL;
    if (!out->in)
        return false;
    if (changed)
        rh_terminal_hint("warning: an input changed since this result was written");
    RhLayout settled = out->plan->r.layout;
    GError *why = NULL;
    g_autofree char *spec = g_strdup_printf("%s#%" G_GINT64_FORMAT, path, rank);
    if (!rh_train_settle_layout(&out->in->c, &settled, &why))
        return rh_result_refuse(spec, why, error);
    out->r = rh_rehearse_settled(&out->in->c, &out->plan->r.layout, out->result->seed,
                                 &out->program, drawn ? &out->run : NULL, error);
    if (!out->r)
        return false;
    double recorded_s = out->plan->r.step_time_s, now_s = out->r->step_time_s;
    if (fabs(now_s - recorded_s) > DIGITS_FRAC * now_s) {
        g_autofree char *line =
            g_strdup_printf("note: recorded %.6g s, performed now %.6g s (--quick, --jitter or "
                            "another version)",
                            recorded_s, now_s);
        rh_terminal_hint(line);
    }
    return true;
}

void rh_replay_clear(RhReplay *again)
{
    rh_rehearsal_free(again->r);
    rh_run_free(again->run);
    rh_program_free(again->program);
    rh_inputs_free(again->in);
    rh_result_free(again->result);
}
