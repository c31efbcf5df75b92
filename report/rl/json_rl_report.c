#include "report/json/json_common.h"
#include "report/rl/rl_plan_report.h"

static void put_trainer(RhJsonWriter *w, const RhRlTrainer *t)
{
    rh_json_begin_object(w, "trainer");
    rh_json_put_int(w, "gpus_count", t->gpus);
    rh_put_layout(w, "layout", &t->layout);
    rh_json_put_int(w, "packed_tokens", t->sequence);
    rh_json_put_int(w, "packed_count", t->batch);
    rh_json_put_number(w, "update_s", t->update_s);
    rh_json_put_number(w, "forward_s", t->forward_s);
    rh_json_put_number(w, "peak_bytes", t->peak_bytes);
    rh_put_known(w, "mfu_frac", t->mfu_frac);
    rh_json_end_object(w);
}

static void put_servers(RhJsonWriter *w, const RhRlServers *s)
{
    g_autofree char *text = rh_deployment_format(&s->deployment);
    rh_json_begin_object(w, "servers");
    rh_json_put_int(w, "gpus_count", s->gpus);
    rh_json_put_string(w, "deployment", text);
    rh_json_put_number(w, "bound_s", s->bound_s);
    rh_json_end_object(w);
}

/* Groups by age, to the oldest there is. */
static void put_ages(RhJsonWriter *w, const RhRlStep *s)
{
    int32_t last = RH_RL_AGES_MOST;
    while (last > 0 && s->ages[last] == 0)
        last--;
    rh_json_begin_array(w, "ages_count");
    for (int32_t age = 0; age <= last; age++)
        rh_json_put_int(w, NULL, s->ages[age]);
    rh_json_end_array(w);
}

static void put_entry(RhJsonWriter *w, const RhRlEntry *e)
{
    const RhRlStep *s = &e->step;
    rh_json_begin_object(w, NULL);
    rh_json_put_string(w, "placement", e->placement->name);
    rh_json_put_number(w, "ahead_count", e->ahead);
    put_trainer(w, &e->trainer);
    put_servers(w, &e->servers);
    rh_json_put_number(w, "step_s", s->step_s);
    rh_json_put_number(w, "bound_s", e->bound_s);
    rh_put_known(w, "batch_s", s->batch_s);
    rh_json_put_number(w, "forward_s", e->times.forward_s);
    rh_json_put_number(w, "updates_s", e->times.update_s);
    rh_json_put_number(w, "weights_gather_s", e->weights.gather_s);
    rh_json_put_number(w, "weights_handle_s", e->weights.handle_s);
    rh_json_put_number(w, "weights_send_s", e->weights.send_s);
    rh_json_put_number(w, "weights_sync_s", e->weights.sync_s);
    rh_json_put_number(w, "states_copy_s", e->states_copy_s);
    rh_json_put_number(w, "models_bytes", e->models_bytes);
    rh_json_put_number(w, "models_copy_s", e->models_copy_s);
    rh_json_put_number(w, "trainer_waits_s", s->spent_s[RH_RL_WAITS]);
    rh_json_put_number(w, "groups_begun_count", s->begun);
    rh_json_put_number(w, "groups_dropped_count", s->dropped);
    rh_json_put_number(w, "age_mean_count", s->age_mean);
    rh_json_put_number(w, "age_p99_count", s->age_p99);
    put_ages(w, s);
    rh_json_put_number(w, "under_way_mean_count", s->under_way_mean);
    rh_json_put_int(w, "under_way_most_count", s->under_way_most);
    rh_json_put_number(w, "under_way_s", s->under_way_s);
    rh_json_put_number(w, "gpu_hours", e->gpu_hours);
    rh_put_known(w, "cost_usd", e->usd);
    rh_json_put_bool(w, "pareto", e->pareto);
    rh_json_end_object(w);
}

static void put_job(RhJsonWriter *w, const RhRlAnswer *a)
{
    const RhRlJob *job = a->options->job;
    const RhRlTokens *t = &a->plan->tokens;
    rh_json_begin_object(w, "job");
    rh_json_put_string(w, "algorithm", job->algorithm->name);
    rh_json_put_bool(w, "reference", job->algorithm->reference && job->reference);
    rh_json_put_int(w, "prompts_count", job->prompts);
    rh_json_put_int(w, "samples_count", job->samples);
    rh_json_put_int(w, "updates_count", rh_rl_updates(job));
    rh_json_put_bool(w, "served_log_probs", job->served_log_probs);
    rh_json_put_int(w, "gpus_count", a->options->problem->job.gpus);
    rh_json_put_number(w, "prompt_tokens_mean", t->prompt);
    rh_json_put_number(w, "answer_tokens_mean", t->answer);
    rh_json_put_int(w, "longest_tokens", t->longest);
    rh_json_put_number(w, "reward_s", job->reward_s);
    rh_json_put_int(w, "turns_count", job->turns);
    rh_json_put_number(w, "tool_tokens_mean", t->tools);
    rh_json_end_object(w);
}

char *rh_report_rl_json(const RhRlAnswer *a)
{
    const RhRlPlan *plan = a->plan;
    g_autoptr(RhJsonWriter) w = rh_json_writer_new(true);
    rh_json_begin_object(w, NULL);
    rh_put_head(w, "rehearse.rl-plan/1", a->q);
    put_job(w, a);
    rh_json_begin_object(w, "search");
    rh_json_put_int(w, "candidates_count", plan->candidates_count);
    rh_json_put_int(w, "simulated_count", plan->simulated_count);
    rh_json_put_int(w, "bounded_count", plan->bounded_count);
    rh_json_put_bool(w, "timed_out", plan->timed_out);
    rh_json_end_object(w);
    rh_json_begin_object(w, "failing");
    rh_json_put_int(w, "steps_count", plan->failing.steps);
    rh_json_put_number(w, "step_s", plan->failing.step_s);
    rh_json_put_number(w, "unharmed_s", plan->failing.unharmed_s);
    rh_json_end_object(w);
    if (a->growth)
        rh_put_rl_growth(w, a->growth);
    else
        rh_json_put_null(w, "growth");
    rh_json_put_null(w, "error_frac");
    rh_json_begin_array(w, "entries");
    for (guint i = 0; i < plan->entries->len; i++)
        put_entry(w, &g_array_index(plan->entries, RhRlEntry, i));
    rh_json_end_array(w);
    rh_json_end_object(w);
    return rh_json_writer_steal(w);
}
