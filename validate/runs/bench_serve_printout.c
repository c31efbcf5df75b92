#include "validate/runs/bench_serve_printout.h"

#include <string.h>

#include "base/json/json.h"

/* Lines of the printed result and the members of the file that the same benchmark writes. */
static const struct {
    const char *line, *key;
} lines[] = {{"Successful requests:", "completed"},
             {"Maximum request concurrency:", "max_concurrency"},
             {"Max request concurrency:", "max_concurrency"},
             {"Total input tokens:", "total_input_tokens"},
             {"Total generated tokens:", "total_output_tokens"},
             {"Request throughput (req/s):", "request_throughput"},
             {"Output token throughput (tok/s):", "output_throughput"},
             {"Mean E2E Latency (ms):", "mean_e2el_ms"},
             {"Mean E2EL (ms):", "mean_e2el_ms"},
             {"Mean TTFT (ms):", "mean_ttft_ms"},
             {"Median TTFT (ms):", "median_ttft_ms"},
             {"P99 TTFT (ms):", "p99_ttft_ms"},
             {"Mean TPOT (ms):", "mean_tpot_ms"},
             {"Median TPOT (ms):", "median_tpot_ms"},
             {"P99 TPOT (ms):", "p99_tpot_ms"}};

bool rh_service_table_is(const char *head)
{
    return strstr(head, "Serving Benchmark Result") != NULL;
}

static void put_line(RhJsonWriter *w, const char *text)
{
    for (size_t i = 0; i < G_N_ELEMENTS(lines); i++) {
        const char *at = strstr(text, lines[i].line);
        char *end = NULL;
        double value = at ? g_ascii_strtod(at + strlen(lines[i].line), &end) : 0;
        if (at && end != at + strlen(lines[i].line))
            rh_json_put_number(w, lines[i].key, value);
    }
    const char *rate = strstr(text, "Traffic request rate:");
    const char *value = rate ? rate + strlen("Traffic request rate:") : "";
    value += strspn(value, " \t");
    if (rate && g_str_has_prefix(value, "inf"))
        rh_json_put_string(w, "request_rate", "inf");
    else if (rate && g_ascii_strtod(value, NULL) > 0)
        rh_json_put_number(w, "request_rate", g_ascii_strtod(value, NULL));
}

char *rh_service_table_json(const char *text)
{
    const char *table = strstr(text, "Serving Benchmark Result");
    const char *second = strstr(table + 1, "Serving Benchmark Result");
    g_autofree char *one = second ? g_strndup(table, (gsize)(second - table)) : g_strdup(table);
    g_auto(GStrv) each = g_strsplit(one, "\n", -1);
    g_autoptr(RhJsonWriter) w = rh_json_writer_new(false);
    rh_json_begin_object(w, NULL);
    for (char **line = each; *line; line++)
        put_line(w, *line);
    rh_json_end_object(w);
    return rh_json_writer_steal(w);
}
