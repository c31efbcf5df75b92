/* Writes rehearse.capacity-service/1. */
#include "report/capacity/capacity_service.h"
#include "report/json_common.h"
#include "report/serve/serve_words.h"

static void put_platforms(RhJsonWriter *w, const RhServiceCapacity *a)
{
    rh_json_begin_array(w, "platforms");
    for (guint i = 0; i < a->offers_count; i++) {
        const RhServiceOffer *o = &a->offers[i];
        const RhPlatform *hardware = a->questions[i]->hardware;
        rh_json_begin_object(w, NULL);
        rh_json_put_string(w, "spec", o->platform);
        rh_json_put_string(w, "name", hardware->name);
        rh_json_put_string(w, "sha256", hardware->hash);
        rh_json_put_string(w, "device", hardware->device->name);
        rh_put_price(w, hardware);
        rh_json_put_bool(w, "timed_out", o->plan && o->plan->timed_out);
        rh_json_put_string(w, "reason", o->why);
        if (o->plan)
            rh_put_serve_nearest(w, o->plan, &a->options->slos);
        else
            rh_json_put_null(w, "nearest");
        rh_json_end_object(w);
    }
    rh_json_end_array(w);
}

static void put_inputs(RhJsonWriter *w, const RhServiceCapacity *a)
{
    const RhQuestion *q = a->question->q;
    rh_json_begin_object(w, "inputs");
    rh_json_begin_object(w, "workload");
    rh_json_put_string(w, "spec", q->workload_spec);
    rh_json_put_string(w, "name", q->c->model->name);
    rh_json_put_string(w, "sha256", q->c->model->hash);
    rh_json_end_object(w);
    put_platforms(w, a);
    rh_json_put_string(w, "dtype", q->c->job.recipe->name);
    rh_put_requests(w, a->question);
    rh_json_put_int(w, "seed", q->seed);
    rh_json_end_object(w);
}

static void put_cell(RhJsonWriter *w, const RhServiceCapacity *a, const RhServiceCell *cell)
{
    const RhServeEntry *e = cell->entry;
    g_autofree char *binds = e ? rh_report_service_binds(e, &a->options->slos) : NULL;
    g_autofree char *text = e ? rh_deployment_format(&e->deployment) : NULL;
    rh_json_begin_object(w, NULL);
    rh_json_put_string(w, "platform", cell->offer->platform);
    rh_json_put_int(w, "gpus_count", cell->gpus);
    rh_json_put_int(w, "gpus_asked_count", cell->asked);
    rh_json_put_string(w, "reason", e ? NULL : rh_report_service_lacks(cell));
    rh_json_put_string(w, "deployment", text);
    rh_put_known(w, "usd_per_hour", cell->usd_per_h);
    rh_put_known(w, "usd_per_million", 1e6 * cell->usd_per_token);
    rh_put_known(w, "usd_per_million_in", 1e6 * cell->usd_per_token_in);
    rh_put_known(w, "usd_per_million_both", 1e6 * cell->usd_per_token_both);
    rh_put_known(w, "usd", cell->usd);
    rh_put_known(w, "answer_s", e ? rh_service_answer_s(e) : 0);
    rh_json_put_string(w, "binds", binds && *binds != '-' ? binds : NULL);
    rh_json_put_bool(w, "meets", cell->meets);
    rh_json_put_bool(w, "pareto", cell->pareto);
    if (e)
        rh_put_serve_entry(w, e, 0, &a->options->slos);
    else
        rh_json_put_null(w, "plan");
    rh_json_end_object(w);
}

char *rh_report_service_capacity_json(const RhServiceCapacity *a)
{
    g_autoptr(RhJsonWriter) w = rh_json_writer_new(true);
    const RhQuestion *q = a->question->q;
    rh_json_begin_object(w, NULL);
    rh_json_put_string(w, "schema", "rehearse.capacity-service/1");
    rh_json_put_string(w, "version", q->version);
    rh_put_words(w, "argv", q->argv);
    put_inputs(w, a);
    rh_json_put_number(w, "rate_asked_per_s", a->options->rate_per_s);
    rh_json_put_int(w, "draws_count", a->options->drawn ? RH_SERVE_DRAWS : 0);
    rh_put_known(w, "by_s", a->goal->for_s);
    rh_put_known(w, "budget_usd", a->goal->budget_usd);
    if (a->best >= 0)
        rh_json_put_int(w, "best", a->best + 1);
    else
        rh_json_put_null(w, "best");
    rh_json_begin_array(w, "cells");
    for (guint i = 0; i < a->cells->len; i++)
        put_cell(w, a, &g_array_index(a->cells, RhServiceCell, i));
    rh_json_end_array(w);
    rh_json_end_object(w);
    return rh_json_writer_steal(w);
}
