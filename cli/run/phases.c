#include "cli/run/phases.h"

#include "base/error.h"
#include "cli/run/run_options.h"
#include "report/report.h"
#include "workloads/model.h"

#define DROP_RATE 0.001 /* DeepSpeed's gamma, runtime/progressive_layer_drop.py */

/* Share of a step that is kernels of layers, and grows with them: not embeddings and logits, not communication. */
static double layers_frac(const RhPhaseQuestion *q)
{
    if (!q->rehearsal)
        return 1;
    const RhModel *m = q->in->c.model;
    double forward = rh_model_forward_flops_per_token(m, q->in->c.job.sequence);
    double logits = 2.0 * (double)m->hidden * (double)m->vocab / forward;
    return (rh_report_share(q->rehearsal, "forward") + rh_report_share(q->rehearsal, "backward")) *
           (1 - MIN(logits, 1));
}

/* The step of the job in another form, or with another layout. */
static bool rehearse_phase(const RhPhaseQuestion *q, const RhJob *job, const RhLayout *layout,
                           double *step_s, GError **error)
{
    RhProblem c = q->in->c;
    RhEngineOptions options = {.seed = q->seed, .steps = 1};
    c.job = *job;
    g_autoptr(RhRehearsal) r = rh_rehearse(&c, layout, &options, NULL, NULL, error);
    if (r)
        *step_s = r->step_time_s;
    return r != NULL;
}

/* The mean step where some steps sum gradients as they are, as in the warm-up of a codec, and some exchange
 * nothing, as between the rounds of 0/1 Adam. */
static bool mix_exchanges(const RhPhaseQuestion *q, const char *text, const RhPhaseWords *words,
                          RhJob job, double *step_s, GError **error)
{
    double whole_s = 0, silent_s = 0;
    if (words->whole_frac <= 0 && words->silent_frac <= 0)
        return true;
    if (!q->rehearsal || words->step_s > 0)
        return rh_fail(error, RH_ERROR_USAGE,
                       "--phase %s: whole= and silent= mix rehearsed steps, and this one is given\n"
                       "help: leave out step= and --step-time",
                       text);
    RhLayout whole = *q->layout;
    whole.codec = RH_CODEC_NONE;
    if (words->whole_frac > 0 && !rehearse_phase(q, &job, &whole, &whole_s, error))
        return false;
    job.accumulates = true;
    if (words->silent_frac > 0 && !rehearse_phase(q, &job, q->layout, &silent_s, error))
        return false;
    *step_s = (1 - words->whole_frac - words->silent_frac) * *step_s + words->whole_frac * whole_s +
              words->silent_frac * silent_s;
    return true;
}

static bool read_phase(const RhPhaseQuestion *q, const char *text, RhRunPhase *out, GError **error)
{
    RhPhaseWords words = {0};
    if (!rh_run_words_phase(text, &words, error))
        return false;
    RhJob job = q->in->c.job;
    bool own_job = words.batch > 0 || words.sequence > 0;
    if (words.batch > 0)
        job.global_batch = (int64_t)words.batch;
    if (words.sequence > 0)
        job.sequence = (int64_t)words.sequence;
    *out = (RhRunPhase){.tokens = words.tokens,
                        .step_tokens = (double)job.global_batch * (double)job.sequence,
                        .step_s = words.step_s > 0 ? words.step_s : q->step_s,
                        .keep_frac = 1};
    if (own_job && words.step_s <= 0 && !q->rehearsal)
        return rh_fail(error, RH_ERROR_USAGE,
                       "--phase %s: its step is another, and nothing says how long it is\n"
                       "help: step=3.1s; or leave out --step-time",
                       text);
    if (own_job && words.step_s <= 0 && !rehearse_phase(q, &job, q->layout, &out->step_s, error))
        return false;
    if (!mix_exchanges(q, text, &words, job, &out->step_s, error))
        return false;
    if (words.drop_frac > 0) {
        out->keep_frac =
            rh_layer_drop_keep_frac(words.drop_frac, DROP_RATE, out->tokens / out->step_tokens);
        out->step_s = rh_layer_drop_step_s(out->step_s, layers_frac(q), out->keep_frac);
    }
    return true;
}

bool rh_run_phases_read(const RhPhaseQuestion *q, GArray *out, double *work_s, GError **error)
{
    double left = q->tokens;
    for (guint i = 0; q->texts && i < q->texts->len; i++) {
        const char *text = g_ptr_array_index(q->texts, i);
        RhRunPhase phase;
        if (!read_phase(q, text, &phase, error))
            return false;
        left -= phase.tokens;
        if (left < -1e-9 * q->tokens)
            return rh_fail(error, RH_ERROR_USAGE,
                           "--phase %s: the phases have more tokens than --tokens", text);
        g_array_append_val(out, phase);
    }
    const RhJob *job = &q->in->c.job;
    RhRunPhase last = {.tokens = left,
                       .step_tokens = (double)job->global_batch * (double)job->sequence,
                       .step_s = q->step_s,
                       .keep_frac = 1};
    if (left > 1e-9 * q->tokens)
        g_array_append_val(out, last);
    *work_s = rh_run_phases_sum((RhRunPhase *)(void *)out->data, (int32_t)out->len);
    return true;
}
