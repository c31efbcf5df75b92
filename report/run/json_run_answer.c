#include "report/json/json_common.h"
#include "report/run/run_answer.h"
#include "strategies/run/failure_rates.h"

static void put_spread(RhJsonWriter *w, const char *key, const RhRunSpread *s, double unit)
{
    rh_json_begin_object(w, key);
    rh_json_put_number(w, "mean", s->mean * unit);
    rh_json_put_number(w, "p10", s->p10 * unit);
    rh_json_put_number(w, "p50", s->p50 * unit);
    rh_json_put_number(w, "p90", s->p90 * unit);
    rh_json_end_object(w);
}

static void put_failures(RhJsonWriter *w, const RhRunAnswer *a)
{
    const RhTrainingRun *run = a->run;
    rh_json_begin_object(w, "failures");
    rh_put_or_null(w, "mtbf_s", run->mtbf_s, run->law != RH_LAW_TRACE);
    rh_json_put_string(w, "rates", run->rates->name);
    rh_json_put_string(w, "rates_about", a->rates_about);
    rh_json_begin_array(w, "components");
    for (int32_t i = 0; i < run->rates->components_count && a->rates_about; i++) {
        const RhFailureComponent *c = &run->rates->components[i];
        rh_json_begin_object(w, NULL);
        rh_json_put_string(w, "name", c->name);
        rh_json_put_number(w, "share_frac",
                           c->per_gpu_hour.value / rh_failure_rates_per_gpu_hour(run->rates));
        rh_json_put_int(w, "nodes_away_count", c->nodes_away);
        rh_json_put_number(w, "detection_s", rh_run_detection_s(run, i));
        rh_json_put_number(w, "diagnosis_s", rh_run_diagnosis_s(run, i));
        rh_json_put_number(w, "repair_s", rh_run_repair_s(run, i));
        rh_json_put_string(w, "source", c->per_gpu_hour.source);
        rh_json_end_object(w);
    }
    rh_json_end_array(w);
    put_spread(w, "count", &a->result->failures, 1);
    rh_json_put_number(w, "lost_each_s", a->result->lost_each_s);
    rh_json_put_number(w, "detection_s", run->detection_s);
    rh_json_put_number(w, "startup_s", run->startup_s);
    rh_json_put_string(w, "policy", run->policy->name);
    rh_json_put_int(w, "hot_spares_count", run->hot_spares);
    rh_json_put_int(w, "cold_spares_count", run->cold_spares);
    rh_json_end_object(w);
}

static void put_checkpoint(RhJsonWriter *w, const RhRunAnswer *a)
{
    const RhCheckpointTimes *c = &a->run->checkpoint;
    rh_json_begin_object(w, "checkpoint");
    rh_json_put_number(w, "every_s", a->result->every_s);
    rh_json_put_bool(w, "searched", c->every_s <= 0);
    rh_json_put_number(w, "young_s", a->result->young_s);
    rh_json_put_number(w, "daly_s", a->result->daly_s);
    rh_json_put_number(w, "write_s", c->write_s);
    rh_json_put_number(w, "drain_s", c->drain_s);
    rh_json_put_number(w, "slow_frac", c->slow_frac);
    rh_json_put_number(w, "read_s", c->read_s);
    rh_put_known(w, "drain_alone_s", c->drain_s / MAX(a->checkpoint->drain_times, 1));
    rh_put_known(w, "local_read_s", c->local_read_s);
    rh_put_known(w, "bytes", a->checkpoint->bytes);
    rh_put_known(w, "storage_bytes_per_s", a->checkpoint->storage.bytes_per_s.value);
    rh_json_put_string(w, "storage_source", a->checkpoint->storage.bytes_per_s.source);
    rh_json_end_object(w);
}

static void put_moves(RhJsonWriter *w, const RhLiveMigration *moves)
{
    if (moves->memory_bytes <= 0)
        return;
    RhMigrationTimes t = rh_live_migration(moves);
    rh_json_begin_object(w, "migration");
    rh_json_put_int(w, "rounds_count", t.rounds);
    rh_json_put_number(w, "sent_bytes", t.sent_bytes);
    rh_json_put_number(w, "moving_s", t.moving_s);
    rh_json_put_number(w, "stopped_s", t.stopped_s);
    rh_json_end_object(w);
}

static void put_phases(RhJsonWriter *w, const GArray *phases)
{
    rh_json_begin_array(w, "phases");
    for (guint i = 0; i < phases->len; i++) {
        const RhRunPhase *phase = &g_array_index(phases, RhRunPhase, i);
        rh_json_begin_object(w, NULL);
        rh_json_put_number(w, "tokens", phase->tokens);
        rh_json_put_number(w, "step_time_s", phase->step_s);
        rh_json_put_number(w, "steps_count", phase->steps);
        rh_json_put_number(w, "work_s", phase->work_s);
        rh_json_put_number(w, "keep_frac", phase->keep_frac);
        rh_json_end_object(w);
    }
    rh_json_end_array(w);
}

static void put_sizes(RhJsonWriter *w, const GArray *sizes)
{
    rh_json_begin_array(w, "sizes");
    for (guint i = 0; sizes && i < sizes->len; i++) {
        const RhElasticSize *size = &g_array_index(sizes, RhElasticSize, i);
        rh_json_begin_object(w, NULL);
        rh_json_put_int(w, "nodes_count", size->nodes);
        rh_json_put_number(w, "step_time_s", size->step_s);
        rh_put_layout(w, "layout", &size->layout);
        rh_json_end_object(w);
    }
    rh_json_end_array(w);
}

static void put_where(RhJsonWriter *w, const RhRunResult *r)
{
    rh_json_begin_array(w, "time");
    for (int i = 0; i < RH_RUN_TIMES_LAST; i++) {
        rh_json_begin_object(w, NULL);
        rh_json_put_string(w, "name", rh_run_time_name((RhRunTime)i));
        rh_json_put_number(w, "value_s", r->spent_s[i]);
        rh_json_end_object(w);
    }
    rh_json_end_array(w);
}

static void put_changes(RhJsonWriter *w, const GArray *changes)
{
    rh_json_begin_array(w, "would_pay");
    for (guint i = 0; i < changes->len; i++) {
        const RhRunChange *one = &g_array_index(changes, RhRunChange, i);
        rh_json_begin_object(w, NULL);
        rh_json_put_string(w, "change", one->change);
        rh_json_put_number(w, "goodput_frac", one->goodput_frac);
        rh_json_put_number(w, "ettr_frac", one->ettr_frac);
        rh_json_end_object(w);
    }
    rh_json_end_array(w);
}

char *rh_report_run_over_time_json(const RhRunAnswer *a)
{
    const RhRunResult *r = a->result;
    g_autoptr(RhJsonWriter) w = rh_json_writer_new(true);
    rh_json_begin_object(w, NULL);
    rh_put_head(w, "rehearse.run/1", a->q);
    if (a->layout)
        rh_put_layout(w, "layout", a->layout);
    rh_json_put_number(w, "tokens", a->tokens);
    rh_json_put_number(w, "steps_count", a->steps);
    rh_json_put_number(w, "step_time_s", a->step_s);
    rh_put_known(w, "error_frac", a->error_frac);
    rh_json_put_number(w, "work_s", a->run->work_s);
    put_spread(w, "time_s", &r->time_s, 1);
    rh_json_begin_array(w, "time_quantiles_s");
    for (int i = 0; i < RH_RUN_QUANTILES; i++)
        rh_json_put_number(w, NULL, r->times_s[i]);
    rh_json_end_array(w);
    rh_json_put_number(w, "goodput_frac", r->goodput_frac);
    rh_json_put_number(w, "ettr_frac", r->ettr_frac);
    put_spread(w, "ettr", &r->ettr, 1);
    rh_put_known(w, "closed_form_frac", r->exact_goodput_frac);
    rh_json_put_int(w, "replications_count", r->replications);
    rh_json_put_bool(w, "timed_out", r->timed_out || a->changes_cut);
    rh_json_put_number(w, "interval_frac", r->half_frac);
    rh_json_put_number(w, "gpu_hours", rh_run_answer_gpu_hours(a, r->time_s.mean));
    if (a->usd_per_gpu_hour > 0)
        put_spread(w, "usd", &r->time_s, rh_run_answer_usd(a, 1));
    else
        rh_json_put_null(w, "usd");
    put_phases(w, a->phases);
    put_sizes(w, a->sizes);
    put_where(w, r);
    put_failures(w, a);
    put_checkpoint(w, a);
    put_moves(w, &a->run->moves);
    put_changes(w, a->changes);
    rh_json_end_object(w);
    return rh_json_writer_steal(w);
}
