/* Writes how many servers each hour of a day wants. */
#include "base/garray_access.h"
#include "base/text/text_table.h"
#include "report/capacity/capacity.h"
#include "report/format.h"
#include "report/json/json_common.h"
#include "report/serve/serve.h"

#define HOUR_S 3600.0

/* Formats replicas of a part of the day: "4", of two pools "2 + 3" (prefill + decode). Caller frees. */
static char *replicas_text(const RhServeDay *day, const RhDayServers *servers)
{
    return day->deployment.pools_count > 1
               ? g_strdup_printf("%d + %d", servers->replicas[0], servers->replicas[1])
               : g_strdup_printf("%d", servers->replicas[0]);
}

static int32_t gpus_of(const RhServeDay *day, const RhDayServers *servers)
{
    int32_t gpus = 0;
    for (int32_t p = 0; p < day->deployment.pools_count; p++)
        gpus += servers->replicas[p] * rh_pool_gpus(&day->deployment.pools[p]);
    return gpus;
}

static void append_hours(GString *out, const RhServeDay *day)
{
    g_autoptr(RhTable) table = rh_table_new("<>>>");
    rh_table_rowf(table, "hours|req/s|%s|GPUs",
                  day->deployment.pools_count > 1 ? "prefill + decode replicas" : "replicas");
    for (guint i = 0; i < day->rates->len; i++) {
        const RhDayRate *part = RH_AT(day->rates, RhDayRate, i);
        const RhDayServers *needed = RH_AT(day->needed, RhDayServers, i);
        g_autofree char *rate = rh_text_number(part->per_s, 3),
                        *replicas = replicas_text(day, needed);
        rh_table_rowf(table, "  %g to %g|%s|%s|%d", part->from_s / HOUR_S, part->to_s / HOUR_S,
                      rate, replicas, gpus_of(day, needed));
    }
    rh_table_append(table, out, "");
}

/* Appends what a day costs, where a GPU-hour's price is known. */
static void append_cost(GString *out, const RhServeDay *day, const RhFact *price)
{
    double usd = day->gpu_hours * price->value, tokens = day->output_tokens_count;
    if (price->value <= 0)
        return;
    g_autofree char *line = g_strdup_printf(
        "cost of the day: $%.3g at $%.4g a GPU-hour, $%.3g per million output tokens ($%.3g per "
        "million input and output tokens)",
        usd, price->value, 1e6 * usd / tokens, 1e6 * usd / (tokens + day->input_tokens_count));
    rh_text_wrap(out, line, 2, 79);
}

void rh_report_serve_day(GString *out, const RhServeDay *day, const RhFact *price)
{
    g_autofree char *hours = rh_text_number(day->gpu_hours, 3),
                    *flat = rh_text_number(day->gpu_hours_flat, 3),
                    *start = rh_report_duration(day->start_s),
                    *text = rh_deployment_format(&day->deployment);
    RhDayServers all = {{day->deployment.pools[0].replicas, day->deployment.pools[1].replicas}};
    g_autofree char *most = replicas_text(day, &all);
    double saved_frac = 1 - day->gpu_hours / day->gpu_hours_flat;
    g_autofree char *line =
        saved_frac > 0
            ? g_strdup_printf("day: %s GPU-hours with as many servers as each hour wants, %s with "
                              "%s all the time (%.0f %% fewer): %s; replicas start %d times a day, "
                              "%s before they are needed, which is counted",
                              hours, flat, most, 100 * saved_frac, text, day->starts, start)
            : g_strdup_printf("day: %s GPU-hours with %s all the time, as no hour wants fewer: %s",
                              hours, most, text);
    rh_text_wrap(out, line, 2, 79);
    append_cost(out, day, price);
    append_hours(out, day);
}

void rh_put_serve_day(RhJsonWriter *w, const RhServeDay *day, const RhFact *price)
{
    g_autofree char *text = rh_deployment_format(&day->deployment);
    rh_json_begin_object(w, "day");
    rh_json_put_string(w, "deployment", text);
    rh_json_put_number(w, "gpu_hours", day->gpu_hours);
    rh_json_put_number(w, "flat_gpu_hours", day->gpu_hours_flat);
    rh_json_put_number(w, "requests_count", day->requests_count);
    rh_json_put_number(w, "input_tokens_count", day->input_tokens_count);
    rh_json_put_number(w, "output_tokens_count", day->output_tokens_count);
    rh_put_or_null(w, "cost_usd", day->gpu_hours * price->value, price->value > 0);
    rh_json_put_number(w, "start_s", day->start_s);
    rh_json_put_int(w, "starts_count", day->starts);
    rh_json_begin_array(w, "hours");
    for (guint i = 0; i < day->rates->len; i++) {
        const RhDayRate *part = RH_AT(day->rates, RhDayRate, i);
        const RhDayServers *needed = RH_AT(day->needed, RhDayServers, i);
        rh_json_begin_object(w, NULL);
        rh_json_put_number(w, "from_s", part->from_s);
        rh_json_put_number(w, "request_rate_per_s", part->per_s);
        rh_json_put_int(w, "replicas_count", needed->replicas[0] + needed->replicas[1]);
        if (day->deployment.pools_count > 1)
            rh_json_put_int(w, "prefill_replicas_count", needed->replicas[0]);
        rh_json_put_int(w, "gpus_count", gpus_of(day, needed));
        rh_json_end_object(w);
    }
    rh_json_end_array(w);
    rh_json_end_object(w);
}
