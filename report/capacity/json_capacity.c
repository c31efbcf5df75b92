/* Writes rehearse.capacity/1 and rehearse.capacity-service/1, whose common parts are written once. */
#include <string.h>

#include "platforms/platform_constants.h"
#include "report/capacity/capacity_service.h"
#include "report/capacity/capacity_words.h"
#include "report/json/json_common.h"
#include "report/serve/serve_words.h"

static const RhCapacityCell *cell_at(const RhCapacityAnswer *a, guint i)
{
    return &g_array_index(a->cells, RhCapacityCell, i);
}

void rh_put_price(RhJsonWriter *w, const RhPlatform *hardware)
{
    const RhFact *price = &hardware->price_usd_per_gpu_hour;
    if (price->value <= 0) {
        rh_json_put_null(w, "price");
        return;
    }
    rh_json_begin_object(w, "price");
    rh_json_put_number(w, "usd_per_gpu_hour", price->value);
    rh_json_put_string(w, "tag", rh_tag_name(price->tag));
    rh_json_put_string(w, "source", price->source);
    rh_json_put_string(w, "date", *price->date ? price->date : NULL);
    rh_json_put_int(w, "months_behind", rh_report_price_months(hardware));
    rh_json_put_bool(w, "old", rh_report_price_months(hardware) > RH_PRICE_MONTHS);
    rh_json_end_object(w);
}

/* Writes what the user asked for, and what was read for it. */
static void put_input(RhJsonWriter *w, const char *spec, const char *name, const char *hash)
{
    rh_json_put_string(w, "spec", spec);
    rh_json_put_string(w, "name", name);
    rh_json_put_string(w, "sha256", hash);
}

/* Begins the answer, and its inputs with the workload. */
static void begin_answer(RhJsonWriter *w, const char *schema, const RhQuestion *q)
{
    rh_json_begin_object(w, NULL);
    rh_json_put_string(w, "schema", schema);
    rh_json_put_string(w, "version", q->version);
    rh_put_words(w, "argv", q->argv);
    rh_json_begin_object(w, "inputs");
    rh_json_begin_object(w, "workload");
    put_input(w, q->workload_spec, q->c->model->name, q->c->model->hash);
    rh_json_end_object(w);
}

static void begin_platform(RhJsonWriter *w, const char *spec, const RhPlatform *hardware)
{
    rh_json_begin_object(w, NULL);
    put_input(w, spec, hardware->name, hardware->hash);
    rh_json_put_string(w, "device", hardware->device->name);
}

static void begin_cell(RhJsonWriter *w, const char *platform, int64_t gpus, int32_t asked)
{
    rh_json_begin_object(w, NULL);
    rh_json_put_string(w, "platform", platform);
    rh_json_put_int(w, "gpus_count", gpus);
    rh_json_put_int(w, "gpus_asked_count", asked);
}

/* Writes the number of the best cell, and begins the list of all. */
static void begin_cells(RhJsonWriter *w, int32_t best)
{
    if (best >= 0)
        rh_json_put_int(w, "best", best + 1);
    else
        rh_json_put_null(w, "best");
    rh_json_begin_array(w, "cells");
}

/* --- training --- */

/* Writes the platforms, whose cells are consecutive. */
static void put_platforms(RhJsonWriter *w, const RhCapacityAnswer *a)
{
    rh_json_begin_array(w, "platforms");
    for (guint i = 0; i < a->cells->len; i++) {
        const RhQuestion *q = a->questions[i];
        if (i > 0 && strcmp(cell_at(a, i - 1)->platform, cell_at(a, i)->platform) == 0)
            continue;
        begin_platform(w, cell_at(a, i)->platform, q->hardware);
        rh_json_put_string(w, "stack", q->c->stack->name);
        rh_put_price(w, q->hardware);
        rh_json_end_object(w);
    }
    rh_json_end_array(w);
}

static void put_inputs(RhJsonWriter *w, const RhCapacityAnswer *a)
{
    const RhQuestion *q = a->questions[0];
    begin_answer(w, "rehearse.capacity/1", q);
    put_platforms(w, a);
    rh_json_put_int(w, "sequence_tokens", q->c->job.sequence);
    rh_json_put_string(w, "dtype",
                       rh_capacity_dtypes_vary(a->cells) ? NULL : q->c->job.recipe->name);
    rh_json_put_int(w, "seed", q->seed);
    rh_json_end_object(w);
}

static void put_cell(RhJsonWriter *w, const RhCapacityAnswer *a, guint i)
{
    const RhCapacityCell *cell = cell_at(a, i);
    double frac = 0;
    begin_cell(w, cell->platform, cell->c.job.gpus, cell->asked);
    rh_json_put_string(w, "dtype", cell->c.job.recipe->name);
    rh_json_put_string(w, "reason", cell->why);
    if (!cell->r) {
        rh_json_put_null(w, "seconds");
        rh_json_put_bool(w, "meets", false);
        rh_json_end_object(w);
        return;
    }
    rh_json_put_int(w, "global_batch", cell->c.job.global_batch);
    rh_json_put_number(w, "tokens_count", cell->tokens);
    rh_json_put_number(w, "seconds", cell->seconds);
    rh_json_put_number(w, "goodput_frac", cell->goodput_frac);
    rh_put_known(w, "usd", cell->usd);
    rh_put_known(w, "electricity_usd", cell->electricity_usd);
    rh_json_put_number(w, "seconds_upper", rh_upper_end(cell->seconds, cell->allowed_frac));
    rh_put_known(w, "usd_upper", rh_upper_end(cell->usd, cell->allowed_frac));
    rh_put_known(w, "run_energy_j", cell->energy_j);
    rh_json_put_number(w, "gpu_hours", cell->seconds / 3600 * cell->c.job.gpus);
    rh_json_put_number(w, "efficiency_frac", cell->efficiency_frac);
    rh_json_put_string(w, "binds", rh_report_binds(cell->r, &frac));
    rh_json_put_number(w, "binds_frac", frac);
    rh_json_put_bool(w, "meets", cell->meets);
    rh_json_put_bool(w, "pareto", cell->pareto);
    rh_json_put_bool(w, "proved", cell->proved);
    rh_put_rehearsal(w, cell->r);
    rh_json_end_object(w);
}

static void put_left_out(RhJsonWriter *w, const RhCapacityAnswer *a)
{
    rh_json_begin_array(w, "left_out");
    for (guint i = 0; a->left_out && i < a->left_out->len; i++) {
        const RhCapacityLeftOut *size = &g_array_index(a->left_out, RhCapacityLeftOut, i);
        rh_json_begin_object(w, NULL);
        rh_json_put_string(w, "platform", size->platform);
        rh_json_put_int(w, "gpus_count", size->gpus);
        rh_json_put_string(w, "reason", size->why);
        rh_json_end_object(w);
    }
    rh_json_end_array(w);
}

char *rh_report_capacity_json(const RhCapacityAnswer *a)
{
    g_autoptr(RhJsonWriter) w = rh_json_writer_new(true);
    bool timed_out = false;
    for (guint i = 0; i < a->cells->len; i++)
        timed_out |= cell_at(a, i)->timed_out;
    put_inputs(w, a);
    int64_t least = 0, most = 0;
    rh_capacity_batches_asked(a->cells, &least, &most);
    rh_put_known(w, "tokens_count", a->goal->tokens);
    rh_put_known(w, "by_s", a->goal->by_s);
    rh_put_known(w, "budget_usd", a->goal->budget_usd);
    rh_put_known(w, "usd_per_kwh", a->goal->usd_per_kwh);
    rh_json_put_string(w, "error_bar", a->goal->as_predicted ? "none" : "keep");
    rh_json_put_int(w, "batch_least", least);
    rh_json_put_int(w, "batch_most", most);
    rh_json_put_number(w, "gap_frac", a->goal->gap_frac);
    rh_json_put_bool(w, "timed_out", timed_out);
    begin_cells(w, a->best);
    for (guint i = 0; i < a->cells->len; i++)
        put_cell(w, a, i);
    rh_json_end_array(w);
    put_left_out(w, a);
    rh_json_end_object(w);
    return rh_json_writer_steal(w);
}

/* --- serving --- */

static void put_offers(RhJsonWriter *w, const RhServiceCapacity *a)
{
    rh_json_begin_array(w, "platforms");
    for (guint i = 0; i < a->offers_count; i++) {
        const RhServicePlatform *o = &a->offers[i];
        const RhPlatform *hardware = a->questions[i]->hardware;
        begin_platform(w, o->platform, hardware);
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

static void put_service_inputs(RhJsonWriter *w, const RhServiceCapacity *a)
{
    const RhQuestion *q = a->question->q;
    begin_answer(w, "rehearse.capacity-service/1", q);
    put_offers(w, a);
    rh_json_put_string(w, "dtype", q->c->job.recipe->name);
    rh_put_requests(w, a->question);
    rh_json_put_int(w, "seed", q->seed);
    rh_json_end_object(w);
}

static void put_service_cell(RhJsonWriter *w, const RhServiceCapacity *a, const RhServiceCell *cell)
{
    const RhServeEntry *e = cell->entry;
    g_autofree char *binds = e ? rh_report_service_binds(e, &a->options->slos) : NULL;
    g_autofree char *text = e ? rh_deployment_format(&e->deployment) : NULL;
    begin_cell(w, cell->offer->platform, cell->gpus, cell->asked);
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
    put_service_inputs(w, a);
    rh_json_put_number(w, "rate_asked_per_s", a->options->rate_per_s);
    rh_json_put_int(w, "draws_count", a->options->drawn ? RH_SERVE_DRAWS : 0);
    rh_put_known(w, "by_s", a->goal->for_s);
    rh_put_known(w, "budget_usd", a->goal->budget_usd);
    begin_cells(w, a->best);
    for (guint i = 0; i < a->cells->len; i++)
        put_service_cell(w, a, &g_array_index(a->cells, RhServiceCell, i));
    rh_json_end_array(w);
    rh_json_end_object(w);
    return rh_json_writer_steal(w);
}
