#include "sim/run.h"

#include <string.h>

RhRun *rh_run_new(void)
{
    RhRun *run = g_new0(RhRun, 1);
    run->performers = g_array_new(FALSE, FALSE, sizeof(RhPerformer));
    run->timeline = g_array_new(FALSE, FALSE, sizeof(RhSpanOfTime));
    run->links = g_array_new(FALSE, FALSE, sizeof(RhLinkUse));
    return run;
}

void rh_run_free(RhRun *run)
{
    if (!run)
        return;
    for (uint32_t i = 0; i < run->links->len; i++)
        g_free(g_array_index(run->links, RhLinkUse, i).name);
    g_array_unref(run->performers);
    g_array_unref(run->timeline);
    g_array_unref(run->links);
    g_free(run->approximate_why);
    g_free(run);
}

const char *rh_wait_name(RhWait wait)
{
    static const char *const names[RH_WAIT_LAST] = {
        [RH_WAIT_COMPUTE] = "compute",
        [RH_WAIT_STRETCH] = "SMs held by communication",
        [RH_WAIT_TP] = "tensor parallel",
        [RH_WAIT_CP] = "context parallel",
        [RH_WAIT_EP] = "expert parallel",
        [RH_WAIT_DP] = "data parallel",
        [RH_WAIT_PIPELINE_TRANSFER] = "pipeline transfer",
        [RH_WAIT_BUBBLE] = "pipeline bubble",
        [RH_WAIT_COPY] = "host copy",
        [RH_WAIT_END] = "end of step",
    };
    return (int)wait >= 0 && wait < RH_WAIT_LAST ? names[wait] : "none";
}

/* Both ends are the same program: fields go as they lie in memory. */
static void put(GByteArray *out, const void *data, size_t length)
{
    g_byte_array_append(out, data, (guint)length);
}

static void put_array(GByteArray *out, const GArray *array, size_t element)
{
    put(out, &array->len, sizeof array->len);
    put(out, array->data, element * array->len);
}

static void put_text(GByteArray *out, const char *text)
{
    uint32_t length = text ? (uint32_t)strlen(text) : G_MAXUINT32;
    put(out, &length, sizeof length);
    if (text)
        put(out, text, length);
}

GByteArray *rh_run_pack(const RhRun *run)
{
    GByteArray *out = g_byte_array_new();
    put(out, &run->step_time_s, sizeof run->step_time_s);
    put(out, &run->jitter_correction_s, sizeof run->jitter_correction_s);
    put(out, &run->events_count, sizeof run->events_count);
    put(out, &run->bytes_total, sizeof run->bytes_total);
    put(out, &run->bytes_as_flows, sizeof run->bytes_as_flows);
    put(out, &run->approximate, sizeof run->approximate);
    put_text(out, run->approximate_why);
    put_array(out, run->performers, sizeof(RhPerformer));
    put_array(out, run->timeline, sizeof(RhSpanOfTime));
    put(out, &run->links->len, sizeof run->links->len);
    for (uint32_t i = 0; i < run->links->len; i++) {
        const RhLinkUse *use = &g_array_index(run->links, RhLinkUse, i);
        put(out, &use->busy_frac, sizeof use->busy_frac);
        put(out, &use->bytes, sizeof use->bytes);
        put_text(out, use->name);
    }
    return out;
}

typedef struct {
    const uint8_t *at, *end;
    bool whole;
} Reader;

static void take(Reader *in, void *data, size_t length)
{
    if ((size_t)(in->end - in->at) < length) {
        in->whole = false;
        memset(data, 0, length);
        return;
    }
    memcpy(data, in->at, length);
    in->at += length;
}

static void take_array(Reader *in, GArray *array, size_t element)
{
    uint32_t count;
    take(in, &count, sizeof count);
    if ((size_t)(in->end - in->at) / element < count) {
        in->whole = false;
        return;
    }
    g_array_append_vals(array, in->at, count);
    in->at += element * count;
}

static char *take_text(Reader *in)
{
    uint32_t length;
    take(in, &length, sizeof length);
    if (length == G_MAXUINT32 || (size_t)(in->end - in->at) < length) {
        in->whole = in->whole && length == G_MAXUINT32;
        return NULL;
    }
    char *text = g_strndup((const char *)in->at, length);
    in->at += length;
    return text;
}

RhRun *rh_run_unpack(const uint8_t *bytes, size_t length)
{
    g_autoptr(RhRun) run = rh_run_new();
    Reader in = {bytes, bytes + length, true};
    take(&in, &run->step_time_s, sizeof run->step_time_s);
    take(&in, &run->jitter_correction_s, sizeof run->jitter_correction_s);
    take(&in, &run->events_count, sizeof run->events_count);
    take(&in, &run->bytes_total, sizeof run->bytes_total);
    take(&in, &run->bytes_as_flows, sizeof run->bytes_as_flows);
    take(&in, &run->approximate, sizeof run->approximate);
    run->approximate_why = take_text(&in);
    take_array(&in, run->performers, sizeof(RhPerformer));
    take_array(&in, run->timeline, sizeof(RhSpanOfTime));
    uint32_t links;
    take(&in, &links, sizeof links);
    for (uint32_t i = 0; i < links && in.whole; i++) {
        RhLinkUse use = {0};
        take(&in, &use.busy_frac, sizeof use.busy_frac);
        take(&in, &use.bytes, sizeof use.bytes);
        use.name = take_text(&in);
        g_array_append_val(run->links, use);
    }
    return in.whole && in.at == in.end ? g_steal_pointer(&run) : NULL;
}
