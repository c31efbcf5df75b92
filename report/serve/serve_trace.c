/* Formats a service as a Chrome trace (for Perfetto): a track for each replica with its iterations,
 * counters of its cache and its queue; and a track for each request. */
#include <math.h>

#include "base/error.h"
#include "report/serve/serve.h"

#define EVENTS_MAX     2000000
#define SERVERS_PID    1
#define REQUESTS_PID   2
#define WORK_EVENTS    2 /* a slice and a counter */
#define REQUEST_EVENTS 8

static void append_us(GString *out, const char *key, double s)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    g_string_append_printf(out, ",\"%s\":%s", key,
                           g_ascii_formatd(text, sizeof text, "%.3f", 1e6 * s));
}

static void append_process(GString *out, int pid, const char *name)
{
    g_string_append_printf(out,
                           "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%d,\"args\":{\"name\":"
                           "\"%s\"}},\n",
                           pid, name);
}

static void append_work(GString *out, const RhServiceWork *w)
{
    g_autoptr(GString) name = g_string_new(NULL);
    if (w->prompts > 0)
        g_string_append_printf(name, "read %d", w->prompt_tokens);
    if (w->continued > 0)
        g_string_append_printf(name, "%s%d tokens", name->len ? " + " : "", w->continued);
    if (w->iterations > 1)
        g_string_append_printf(name, ", %d times", w->iterations);
    g_string_append_printf(out, "{\"ph\":\"X\",\"name\":\"%s\",\"pid\":%d,\"tid\":%d", name->str,
                           SERVERS_PID, w->replica);
    append_us(out, "ts", w->t_begin_s);
    append_us(out, "dur", w->t_end_s - w->t_begin_s);
    g_string_append_printf(out,
                           ",\"args\":{\"iterations\":%d,\"prompts\":%d,\"prompt_tokens\":%d,"
                           "\"continued\":%d}},\n"
                           "{\"ph\":\"C\",\"name\":\"replica %d\",\"pid\":%d",
                           w->iterations, w->prompts, w->prompt_tokens, w->continued, w->replica,
                           SERVERS_PID);
    append_us(out, "ts", w->t_end_s);
    g_string_append_printf(out, ",\"args\":{\"cache blocks\":%d,\"waiting\":%d}},\n", w->blocks,
                           w->waiting);
}

static void append_span(GString *out, const char *name, int64_t request, double from_s, double to_s)
{
    const struct {
        char phase;
        double t_s;
    } ends[] = {{'b', from_s}, {'e', to_s}};
    for (size_t i = 0; i < G_N_ELEMENTS(ends); i++) {
        g_string_append_printf(out,
                               "{\"ph\":\"%c\",\"cat\":\"request\",\"id\":%" G_GINT64_FORMAT
                               ",\"name\":\"%s\",\"pid\":%d,\"tid\":0",
                               ends[i].phase, request, name, REQUESTS_PID);
        append_us(out, "ts", ends[i].t_s);
        g_string_append(out, "},\n");
    }
}

static void append_request(GString *out, int64_t number, const RhRequestRecord *s)
{
    if (s->outcome != RH_SERVED_DONE)
        return;
    g_autofree char *name = g_strdup_printf("%d in, %d out", s->input_tokens, s->output_tokens);
    append_span(out, name, number, s->t_arrive_s, s->t_end_s);
    append_span(out, "queue", number, s->t_arrive_s, s->t_admit_s);
    append_span(out, "prompt", number, s->t_admit_s, s->t_first_s);
    append_span(out, "tokens", number, s->t_first_s, s->t_end_s);
}

char *rh_report_serve_trace(const RhServiceResult *r, GError **error)
{
    int64_t events =
        WORK_EVENTS * (int64_t)r->works->len + REQUEST_EVENTS * (int64_t)r->served->len;
    if (events > EVENTS_MAX) {
        rh_fail(error, RH_ERROR_INPUT,
                "the timeline holds %" G_GINT64_FORMAT " events; at most %d can be written\n"
                "help: fewer requests (--count)",
                events, EVENTS_MAX);
        return NULL;
    }
    GString *out = g_string_new("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
    append_process(out, SERVERS_PID, "servers");
    append_process(out, REQUESTS_PID, "requests");
    for (guint i = 0; i < r->works->len; i++)
        append_work(out, &g_array_index(r->works, RhServiceWork, i));
    for (guint i = 0; i < r->served->len; i++)
        append_request(out, i, &g_array_index(r->served, RhRequestRecord, i));
    g_string_append(out, "{\"ph\":\"M\",\"name\":\"trace_end\",\"pid\":0}]}\n");
    return g_string_free(out, FALSE);
}
