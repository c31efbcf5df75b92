/* Keys of the format: pytorch/kineto libkineto/src/output_json.cpp ("traceEvents", "cat", "ts" and
 * "dur" in microseconds, "distributedInfo"); a step of torch.profiler's schedule is the annotation
 * "ProfilerStep#12" (torch/profiler/profiler.py), on the CPU and, where it launched kernels, also on
 * the GPU. */
#include "validate/runs/gpu_trace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json/json_stream_reader.h"
#include "base/text/gzip_file.h"
#include "validate/runs/gpu_trace_steps.h"
#include "validate/runs/kernel_names.h"

#define HEAD_BYTES ((gsize)1 << 16)
#define SPANS_MOST (40u << 20) /* kernels that are kept: 24 bytes each */
#define US_MOST    1e17        /* since 1970, in microseconds: the year 5138 */
#define WORD_MOST  256

bool rh_gpu_trace_begins(const char *head)
{
    const char *at = head;
    while (g_ascii_isspace(*at))
        at++;
    return *at == '{' &&
           (strstr(head, "\"traceEvents\"") ||
            (strstr(head, "\"schemaVersion\"") && strstr(head, "\"deviceProperties\"")));
}

bool rh_gpu_trace_is(const char *path)
{
    g_autofree char *head = rh_bytes_head(path, HEAD_BYTES);
    return head && rh_gpu_trace_begins(head);
}

/* --- events --- */

typedef struct {
    char name[WORD_MOST], category[32], collective[64], phase[8];
    double t_us, duration_us;
    int32_t device; /* -1: not said */
    int32_t line;
} Event;

typedef struct {
    RhJsonStream *s;
    RhGpuTrace *trace;
    RhRunLog *log;
} Reading;

static void keep_text(const RhJsonStream *s, char *out, size_t size)
{
    g_strlcpy(out, rh_json_stream_text(s), size);
}

/* Reads the object that follows, member by member: `take` gets each key and its value's first token. */
static bool read_members(Reading *r, void *user,
                         bool (*take)(Reading *r, const char *key, RhJsonToken token, void *user,
                                      GError **error),
                         GError **error)
{
    for (;;) {
        RhJsonToken token = rh_json_stream_next(r->s, error);
        if (token == RH_JSON_TOKEN_OBJECT_END)
            return true;
        if (token != RH_JSON_TOKEN_KEY)
            return false;
        g_autofree char *key = g_strdup(rh_json_stream_text(r->s));
        token = rh_json_stream_next(r->s, error);
        if (token == RH_JSON_TOKEN_ERROR || !take(r, key, token, user, error))
            return false;
    }
}

static bool take_argument(Reading *r, const char *key, RhJsonToken token, void *user,
                          GError **error)
{
    Event *e = user;
    if (token == RH_JSON_TOKEN_NUMBER && strcmp(key, "device") == 0) {
        double device = rh_json_stream_number(r->s);
        e->device = device >= 0 && device < 1024 ? (int32_t)device : -1;
    }
    if (token == RH_JSON_TOKEN_TEXT && strcmp(key, "Collective name") == 0)
        keep_text(r->s, e->collective, sizeof e->collective);
    return rh_json_stream_skip(r->s, token, error);
}

/* A number that must be one: of microseconds. */
static bool take_us(Reading *r, RhJsonToken token, double *out, GError **error)
{
    *out = token == RH_JSON_TOKEN_TEXT ? g_ascii_strtod(rh_json_stream_text(r->s), NULL)
                                       : rh_json_stream_number(r->s);
    if ((token == RH_JSON_TOKEN_NUMBER || token == RH_JSON_TOKEN_TEXT) && *out >= 0 &&
        *out < US_MOST)
        return true;
    return rh_json_stream_fail(r->s, error, "a time in microseconds must stand here");
}

static bool take_member(Reading *r, const char *key, RhJsonToken token, void *user, GError **error)
{
    Event *e = user;
    const struct {
        const char *key;
        char *out;
        size_t size;
    } texts[] = {{"name", e->name, sizeof e->name},
                 {"cat", e->category, sizeof e->category},
                 {"ph", e->phase, sizeof e->phase}};
    for (size_t i = 0; i < G_N_ELEMENTS(texts) && token == RH_JSON_TOKEN_TEXT; i++)
        if (strcmp(key, texts[i].key) == 0) {
            keep_text(r->s, texts[i].out, texts[i].size);
            return true;
        }
    if (strcmp(key, "ts") == 0)
        return take_us(r, token, &e->t_us, error);
    if (strcmp(key, "dur") == 0)
        return take_us(r, token, &e->duration_us, error);
    if (strcmp(key, "args") == 0 && token == RH_JSON_TOKEN_OBJECT)
        return read_members(r, e, take_argument, error);
    return rh_json_stream_skip(r->s, token, error);
}

/* Keeps what is a kernel or a copy of a GPU, or a step. */
static bool take_event(Reading *r, const Event *e, GError **error)
{
    static const char *const kinds[] = {"kernel", "gpu_memcpy", "gpu_memset", "Memcpy", "Memset"};
    static const char step[] = "ProfilerStep#";
    bool runs = false;
    if (strcmp(e->phase, "X") != 0)
        return true;
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++)
        runs |= g_ascii_strcasecmp(e->category, kinds[i]) == 0;
    if (runs && r->trace->spans->len >= SPANS_MOST)
        return rh_json_stream_fail(r->s, error, "more than %u kernels\nhelp: profile fewer steps",
                                   SPANS_MOST);
    if (runs) {
        RhGpuInterval span = {e->t_us, e->t_us + e->duration_us, e->device,
                              (uint8_t)rh_kernel_name_part(e->name, e->category, e->collective)};
        g_array_append_val(r->trace->spans, span);
    } else if (g_str_has_prefix(e->name, step) && g_ascii_isdigit(e->name[sizeof step - 1])) {
        RhGpuTraceStep found = {g_ascii_strtoll(e->name + sizeof step - 1, NULL, 10), e->t_us,
                                e->t_us + e->duration_us, e->line,
                                strcmp(e->category, "gpu_user_annotation") == 0};
        g_array_append_val(r->trace->steps, found);
    }
    return true;
}

static bool read_events(Reading *r, GError **error)
{
    for (;;) {
        RhJsonToken token = rh_json_stream_next(r->s, error);
        if (token == RH_JSON_TOKEN_ARRAY_END)
            return true;
        if (token == RH_JSON_TOKEN_ERROR)
            return false;
        if (token != RH_JSON_TOKEN_OBJECT)
            return rh_json_stream_fail(r->s, error, "an event, {\"ph\": ...}, must stand here");
        Event e = {.device = -1, .line = (int32_t)MIN(rh_json_stream_line(r->s), G_MAXINT32)};
        if (!read_members(r, &e, take_member, error) || !take_event(r, &e, error))
            return false;
    }
}

/* --- the file --- */

static bool take_group(Reading *r, const char *key, RhJsonToken token, void *user, GError **error)
{
    (void)user;
    double value = token == RH_JSON_TOKEN_NUMBER ? rh_json_stream_number(r->s) : -1;
    if (strcmp(key, "world_size") == 0 && value >= 1 && value < (1 << 24))
        r->log->said[RH_SAID_GPUS] =
            (RhRunFigure){floor(value), (int32_t)MIN(rh_json_stream_line(r->s), G_MAXINT32)};
    if (strcmp(key, "rank") == 0 && value >= 0 && value < (1 << 24))
        r->log->rank = (int32_t)value;
    return rh_json_stream_skip(r->s, token, error);
}

static bool take_top(Reading *r, const char *key, RhJsonToken token, void *user, GError **error)
{
    (void)user;
    if (strcmp(key, "traceEvents") == 0 && token == RH_JSON_TOKEN_ARRAY)
        return read_events(r, error);
    if (strcmp(key, "distributedInfo") == 0 && token == RH_JSON_TOKEN_OBJECT)
        return read_members(r, NULL, take_group, error);
    return rh_json_stream_skip(r->s, token, error);
}

static bool read_file(Reading *r, GError **error)
{
    RhJsonToken token = rh_json_stream_next(r->s, error);
    if (token == RH_JSON_TOKEN_ERROR)
        return false;
    if (token != RH_JSON_TOKEN_OBJECT)
        return rh_json_stream_fail(r->s, error, "an object with \"traceEvents\" must stand here");
    return read_members(r, NULL, take_top, error) &&
           rh_json_stream_next(r->s, error) == RH_JSON_TOKEN_END;
}

static RhRunLog *read_trace(const char *name, RhJsonStream *stream, GError **error)
{
    g_autoptr(RhGpuTrace) trace = rh_gpu_trace_new();
    g_autoptr(RhRunLog) log = rh_run_log_new(name, RH_GPU_TRACE_NAME);
    Reading r = {stream, trace, log};
    log->unit = RH_RUN_STEP;
    if (!read_file(&r, error) || !rh_gpu_trace_settle(trace, log, error))
        return NULL;
    return g_steal_pointer(&log);
}

RhRunLog *rh_gpu_trace_load(const char *path, GError **error)
{
    g_autoptr(RhJsonStream) stream = rh_json_stream_open(path, error);
    return stream ? read_trace(path, stream, error) : NULL;
}

RhRunLog *rh_gpu_trace_parse(const char *name, const void *bytes, gsize length, GError **error)
{
    g_autoptr(RhJsonStream) stream = rh_json_stream_of(name, bytes, length);
    return read_trace(name, stream, error);
}
