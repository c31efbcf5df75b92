#include <math.h>

#include "report/json/json_common.h"
#include "report/warnings.h"
#include "strategies/knobs.h"
#include "strategies/stage_layer_lists.h"

void rh_put_or_null(RhJsonWriter *w, const char *key, double value, bool known)
{
    if (known && isfinite(value))
        rh_json_put_number(w, key, value);
    else
        rh_json_put_null(w, key);
}

void rh_put_known(RhJsonWriter *w, const char *key, double value)
{
    rh_put_or_null(w, key, value, value != 0);
}

void rh_put_words(RhJsonWriter *w, const char *key, const char *const *words)
{
    rh_json_begin_array(w, key);
    for (; words && *words; words++)
        rh_json_put_string(w, NULL, *words);
    rh_json_end_array(w);
}

static void put_input(RhJsonWriter *w, const char *key, const char *spec, const char *name,
                      const char *hash)
{
    rh_json_begin_object(w, key);
    if (spec)
        rh_json_put_string(w, "spec", spec);
    rh_json_put_string(w, "name", name);
    rh_json_put_string(w, "sha256", hash);
    rh_json_end_object(w);
}

void rh_put_hardware(RhJsonWriter *w, const RhQuestion *q)
{
    put_input(w, "workload", q->workload_spec, q->c->model->name, q->c->model->hash);
    put_input(w, "platform", q->platform_spec, q->hardware->name, q->hardware->hash);
    put_input(w, "device", NULL, q->hardware->device->name, q->hardware->device->hash);
    if (q->hardware->profile)
        rh_json_put_string(w, "profile", q->hardware->profile);
}

static void put_inputs(RhJsonWriter *w, const RhQuestion *q)
{
    const RhProblem *c = q->c;
    rh_json_begin_object(w, "inputs");
    rh_put_hardware(w, q);
    rh_json_put_string(w, "stack", c->stack->name);
    rh_json_put_int(w, "global_batch", c->job.global_batch);
    rh_json_put_int(w, "sequence_tokens", c->job.sequence);
    rh_json_put_int(w, "gpus_count", rh_job_gpus(&c->job));
    rh_json_put_string(w, "dtype", c->job.recipe->name);
    rh_put_words(w, "sets", q->sets);
    rh_json_put_int(w, "seed", q->seed);
    rh_json_end_object(w);
}

void rh_put_head(RhJsonWriter *w, const char *schema, const RhQuestion *q)
{
    rh_json_put_string(w, "schema", schema);
    rh_json_put_string(w, "version", q->version);
    rh_put_words(w, "argv", q->argv);
    put_inputs(w, q);
}

static void put_layers(RhJsonWriter *w, const char *key, const RhKnob *knob, const RhLayout *l)
{
    const int16_t *layers = rh_stage_lists_of(knob, l);
    rh_json_begin_array(w, key);
    for (int32_t i = 0; i < rh_knob_value(knob, l); i++)
        rh_json_put_int(w, NULL, layers[i]);
    rh_json_end_array(w);
}

static void put_name(RhJsonWriter *w, const char *key, const RhKnob *knob, int32_t value)
{
    g_autofree char *text = rh_knob_value_text(knob, value);
    rh_json_put_string(w, key, text);
}

void rh_put_layout(RhJsonWriter *w, const char *key, const RhLayout *l)
{
    rh_json_begin_object(w, key);
    for (const RhKnob *knob = rh_knobs; knob->key; knob++) {
        const char *name = rh_knob_json_key(knob);
        int32_t value = rh_knob_value(knob, l);
        if (rh_knob_is_silent(knob, l))
            continue;
        if (knob->list)
            put_layers(w, name, knob, l);
        else if (rh_knob_is_switch(knob))
            rh_json_put_bool(w, name, value != 0);
        else if (knob->names)
            put_name(w, name, knob, value);
        else
            rh_json_put_int(w, name, value);
    }
    rh_json_end_object(w);
}

void rh_put_cost(RhJsonWriter *w, const char *key, const RhCost *cost)
{
    rh_json_begin_object(w, key);
    rh_json_put_string(w, "name", cost->name);
    rh_json_put_number(w, "value_s", cost->value_s);
    rh_json_put_string(w, "source", cost->source);
    rh_json_begin_array(w, "children");
    for (guint i = 0; i < cost->children->len; i++)
        rh_put_cost(w, NULL, g_ptr_array_index(cost->children, i));
    rh_json_end_array(w);
    rh_json_end_object(w);
}

/* Writes the error bar of the step, and the odds that the memory suffices. */
static void put_trust(RhJsonWriter *w, const RhRehearsal *r)
{
    g_autofree char *error = rh_report_error(r);
    g_autofree char *odds = rh_report_odds(r);
    rh_put_known(w, "error_frac", rh_report_error_frac(r));
    rh_json_put_string(w, "error_of", error);
    if (r->odds)
        rh_json_put_number(w, "odds_frac", 1 - r->risk_frac);
    else
        rh_json_put_null(w, "odds_frac");
    rh_json_put_string(w, "odds_of", odds);
}

void rh_put_memory(RhJsonWriter *w, const char *key, const double bytes[RH_MEMORY_LAST])
{
    rh_json_begin_array(w, key);
    for (int use = RH_MEMORY_NONE + 1; use < RH_MEMORY_LAST; use++) {
        rh_json_begin_object(w, NULL);
        rh_json_put_string(w, "name", rh_memory_name((RhMemoryUse)use));
        rh_json_put_number(w, "value_bytes", bytes[use]);
        rh_json_end_object(w);
    }
    rh_json_end_array(w);
}

void rh_put_links(RhJsonWriter *w, const GArray *links)
{
    rh_json_begin_array(w, "links");
    for (guint i = 0; links && i < links->len; i++) {
        const RhLinkUse *use = &g_array_index(links, RhLinkUse, i);
        rh_json_begin_object(w, NULL);
        rh_json_put_string(w, "name", use->name);
        rh_json_put_number(w, "busy_frac", use->busy_frac);
        rh_json_put_number(w, "bytes", use->bytes);
        rh_json_end_object(w);
    }
    rh_json_end_array(w);
}

/* Writes the parts of a step's energy; null where power is unknown. */
static void put_energy(RhJsonWriter *w, const RhRehearsal *r)
{
    const RhEnergy *e = &r->energy;
    if (e->total_j <= 0) {
        rh_json_put_null(w, "energy");
        return;
    }
    rh_json_begin_object(w, "energy");
    for (int state = 0; state < RH_POWER_LAST; state++) {
        g_autofree char *key =
            g_strdup_printf("gpu_%s_j", rh_power_state_name((RhPowerState)state));
        rh_json_put_number(w, key, e->device_j[state]);
    }
    rh_put_known(w, "nic_j", e->nic_j);
    rh_put_known(w, "host_j", e->host_j);
    rh_put_known(w, "switches_j", e->switches_j);
    rh_put_known(w, "building_j", e->building_j);
    rh_json_put_number(w, "node_w", r->node_w);
    rh_json_end_object(w);
}

void rh_put_rehearsal(RhJsonWriter *w, const RhRehearsal *r)
{
    rh_put_layout(w, "layout", &r->layout);
    rh_json_put_number(w, "step_time_s", r->step_time_s);
    rh_json_put_number(w, rh_report_rate_key(r->pictures), r->tokens_per_s_per_gpu);
    rh_json_put_number(w, "model_flops_per_s_per_gpu", r->model_flops_per_s_per_gpu);
    rh_json_put_number(w, "mfu_frac", r->mfu_frac);
    rh_json_put_string(w, "mfu_peak", rh_dtype_name(r->mfu_dtype));
    rh_put_known(w, "mfu_bf16_frac", r->mfu_bf16_frac);
    rh_json_put_number(w, "hfu_frac", r->hfu_frac);
    if (r->tells_busy)
        rh_json_put_number(w, "gpu_busy_frac", r->busy_frac);
    rh_json_put_number(w, "memory_peak_bytes", r->memory.peak_bytes);
    rh_json_put_int(w, "memory_peak_stage", r->memory.stage);
    rh_json_put_string(w, "memory_peak_when", r->memory_when);
    rh_json_put_number(w, "memory_capacity_bytes", r->memory_capacity_bytes);
    if (r->memory.host_bytes > 0)
        rh_json_put_number(w, "memory_host_bytes", r->memory.host_bytes);
    if (r->memory.nvme_bytes > 0)
        rh_json_put_number(w, "memory_nvme_bytes", r->memory.nvme_bytes);
    rh_json_put_bool(w, "fits", r->fits);
    put_trust(w, r);
    rh_put_known(w, "energy_j", r->energy.total_j);
    put_energy(w, r);
    rh_put_known(w, "cost_usd", r->cost_usd);
    rh_json_put_int(w, "events_count", r->events_count);
    rh_put_known(w, "bound_closed_s", r->bound_closed_s);
    rh_put_known(w, "bound_segment_s", r->bound_segment_s);
    rh_json_put_number(w, "communication_bytes", r->bytes_total);
    rh_json_put_number(w, "communication_flows_bytes", r->bytes_as_flows);
    rh_json_put_string(w, "approximate", r->approximate ? r->approximate_why : NULL);
    if (r->costs)
        rh_put_cost(w, "costs", r->costs);
    else
        rh_json_put_null(w, "costs");
    rh_put_memory(w, "memory", r->memory.at_peak_bytes);
    rh_put_links(w, r->links);
}

void rh_put_warnings(RhJsonWriter *w, const GPtrArray *watches)
{
    rh_json_begin_array(w, "watch");
    for (guint i = 0; i < watches->len; i++) {
        const RhWarning *watch = g_ptr_array_index(watches, i);
        rh_json_begin_object(w, NULL);
        rh_json_put_string(w, "kind", watch->kind);
        rh_json_put_string(w, "text", watch->text);
        rh_json_end_object(w);
    }
    rh_json_end_array(w);
}

char *rh_report_run_json(const RhQuestion *q, const RhRehearsal *r)
{
    g_autoptr(RhJsonWriter) w = rh_json_writer_new(true);
    rh_json_begin_object(w, NULL);
    rh_put_head(w, "rehearse.simulate/1", q);
    rh_put_rehearsal(w, r);
    g_autoptr(GPtrArray) watches = rh_report_run_warnings(q, r);
    rh_put_warnings(w, watches);
    rh_put_known(w, "memory_safe_bytes", q->safe_bytes);
    rh_json_end_object(w);
    return rh_json_writer_steal(w);
}

char *rh_report_run_unanswered_json(const RhQuestion *q, const RhLayout *layout, bool timed_out,
                                    const char *why)
{
    g_autoptr(RhJsonWriter) w = rh_json_writer_new(true);
    rh_json_begin_object(w, NULL);
    rh_put_head(w, "rehearse.simulate/1", q);
    rh_put_layout(w, "layout", layout);
    rh_json_put_null(w, "step_time_s");
    rh_json_put_bool(w, "timed_out", timed_out);
    rh_json_put_string(w, "reason", why);
    rh_json_end_object(w);
    return rh_json_writer_steal(w);
}
