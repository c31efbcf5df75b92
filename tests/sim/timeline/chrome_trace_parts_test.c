/* The trace that Perfetto shows, parsed as JSON: passes, memory, messages, tracks. */
#include <gio/gio.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json/json.h"
#include "sim/memory_ledger.h"
#include "sim/timeline/timeline_file.h"
#include "strategies/search/rehearsals/rehearse.h"
#include "tests/kit/testkit.h"
#include "tests/kit/train_kit.h"

typedef struct {
    TrainKit k;
    RhProgram *program;
    RhRun *run;
    RhRehearsal *r;
    RhJson *doc;
    const RhJsonNode *events;
} Trace;

static char *unzipped(const char *path, gsize *length)
{
    g_autofree char *bytes = NULL;
    gsize size = 0;
    g_assert(g_file_get_contents(path, &bytes, &size, NULL));
    g_autoptr(GInputStream) raw = g_memory_input_stream_new_from_data(bytes, (gssize)size, NULL);
    g_autoptr(GZlibDecompressor) gunzip = g_zlib_decompressor_new(G_ZLIB_COMPRESSOR_FORMAT_GZIP);
    g_autoptr(GInputStream) stream = g_converter_input_stream_new(raw, G_CONVERTER(gunzip));
    g_autoptr(GOutputStream) out = g_memory_output_stream_new_resizable();
    g_assert(g_output_stream_splice(out, stream, G_OUTPUT_STREAM_SPLICE_CLOSE_TARGET, NULL, NULL) >
             0);
    *length = g_memory_output_stream_get_data_size(G_MEMORY_OUTPUT_STREAM(out));
    return g_memory_output_stream_steal_data(G_MEMORY_OUTPUT_STREAM(out));
}

/* Two stages of 1F1B, four micro-batches, `steps` times. */
static Trace trace_of(int32_t steps)
{
    Trace t = {.k = train_kit("llama-3.2-1b", "h100-sxm:2x1", "megatron", 4, 1024)};
    RhLayout layout = train_layout(&t.k, "tp1,pp2,dp1,mb1,recompute=none");
    RhEngineOptions options = {.timeline = true, .steps = steps};
    GError *error = NULL;
    t.r = rh_rehearse(&t.k.c, &layout, &options, &t.program, &t.run, &error);
    g_assert_no_error(error);
    g_autofree char *folder = g_dir_make_tmp("rehearse-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "step.trace.json.gz", NULL);
    CU_ASSERT_TRUE_FATAL(rh_timeline_write(t.program, t.run, path, &error));
    g_assert_no_error(error);
    gsize length = 0;
    g_autofree char *text = unzipped(path, &length);
    t.doc = rh_json_parse(path, text, length, &error);
    g_assert_no_error(error);
    t.events = rh_json_array(t.doc, rh_json_root(t.doc), "traceEvents");
    remove(path);
    remove(folder);
    return t;
}

static void trace_clear(Trace *t)
{
    rh_json_free(t->doc);
    rh_run_free(t->run);
    rh_rehearsal_free(t->r);
    rh_program_free(t->program);
    train_kit_clear(&t->k);
}

static const char *text_at(const Trace *t, const RhJsonNode *event, const char *key)
{
    return rh_json_string_or(t->doc, event, key, "");
}

static int64_t number_at(const Trace *t, const RhJsonNode *event, const char *key)
{
    return rh_json_int_or(t->doc, event, key, 0, G_MAXINT32, -1);
}

#define FOR_EVENTS(event, t)                                                                       \
    for (const RhJsonNode *event = rh_json_first((t)->events); event; event = rh_json_next(event))

/* "F 0 B 0 ...": the passes of a GPU in the order of the file. */
static char *passes_of(const Trace *t, int64_t gpu)
{
    g_autoptr(GString) out = g_string_new(NULL);
    double t_last_us = -1;
    FOR_EVENTS(event, t)
    {
        if (strcmp(text_at(t, event, "cat"), "pass") != 0 || number_at(t, event, "pid") != gpu)
            continue;
        double t_us = rh_json_number(t->doc, event, "ts", 0, 1e15);
        CU_ASSERT_TRUE(t_us > t_last_us);
        t_last_us = t_us;
        g_string_append_printf(out, "%s%s", out->len ? " | " : "", text_at(t, event, "name"));
    }
    return g_string_free(g_steal_pointer(&out), FALSE);
}

static void the_schedule_is_seen_at_a_glance(void)
{
    Trace t = trace_of(1);
    g_autofree char *first = passes_of(&t, 0);
    g_autofree char *last = passes_of(&t, 1);
    CU_ASSERT_STRING_EQUAL(first, "F 0 | F 1 | B 0 | F 2 | B 1 | F 3 | B 2 | B 3 | optimizer");
    CU_ASSERT_STRING_EQUAL(last, "F 0 | B 0 | F 1 | B 1 | F 2 | B 2 | F 3 | B 3 | optimizer");
    trace_clear(&t);
}

static void a_slice_says_which_pass_and_what_shapes(void)
{
    Trace t = trace_of(1);
    int tasks = 0, forward = 0, backward = 0, shaped = 0;
    FOR_EVENTS(event, &t)
    {
        const RhJsonNode *args = rh_json_object_or_null(t.doc, event, "args");
        if (strcmp(text_at(&t, event, "ph"), "X") != 0 || !args || !rh_json_has(args, "task"))
            continue;
        const char *name = text_at(&t, event, "name");
        tasks++;
        forward += g_str_has_prefix(name, "layer F 3");
        backward += g_str_has_prefix(name, "layer B 3");
        if (strncmp(name, "layer F", 7) != 0)
            continue;
        CU_ASSERT_STRING_EQUAL(rh_json_string(t.doc, args, "label"), "layer");
        CU_ASSERT_TRUE(rh_json_number(t.doc, args, "flops", 0, 1e18) > 0);
        shaped += strstr(rh_json_string(t.doc, args, "kernels"), "gemm 1024x") != NULL;
    }
    CU_ASSERT_EQUAL(tasks, (int)t.run->timeline->len);
    CU_ASSERT_EQUAL(forward, t.k.model->layers_count);
    CU_ASSERT_EQUAL(backward, t.k.model->layers_count);
    CU_ASSERT_EQUAL(shaped, 4 * t.k.model->layers_count);
    trace_clear(&t);
}

/* The counter's highest value is the ledger's peak where tasks begin in program order; it ends
 * where it began, however many steps there are. */
static void the_memory_counter_peaks_as_the_ledger_does(void)
{
    for (int32_t steps = 1; steps <= 2; steps++) {
        Trace t = trace_of(steps);
        double peak = 0, first = -1, last = 0;
        FOR_EVENTS(event, &t)
        {
            if (strcmp(text_at(&t, event, "ph"), "C") != 0 || number_at(&t, event, "pid") != 0)
                continue;
            const RhJsonNode *args = rh_json_object(t.doc, event, "args");
            last = rh_json_number(t.doc, args, "GiB", -1e3, 1e6);
            first = first < 0 ? last : first;
            peak = fmax(peak, last);
        }
        RhLedger ledger = rh_ledger_walk(t.program, 0, RH_MEMORY_TIER_HBM);
        CU_ASSERT_TRUE(first > 0 && last <= peak);
        RH_CHECK_CLOSE(peak, ledger.peak_bytes / 1073741824.0, 2e-3);
        trace_clear(&t);
    }
}

static void every_message_is_an_arrow(void)
{
    for (int32_t steps = 1; steps <= 2; steps++) {
        Trace t = trace_of(steps);
        int sends = 0, starts = 0, ends = 0;
        for (guint i = 0; i < t.program->tasks->len; i++)
            sends += rh_program_task(t.program, (int32_t)i)->kind == RH_TASK_SEND;
        FOR_EVENTS(event, &t)
        {
            starts += strcmp(text_at(&t, event, "ph"), "s") == 0;
            ends += strcmp(text_at(&t, event, "ph"), "f") == 0;
        }
        CU_ASSERT_EQUAL(sends, 8); /* four forward, four backward */
        CU_ASSERT_EQUAL(starts, steps * sends);
        CU_ASSERT_EQUAL(ends, starts);
        trace_clear(&t);
    }
}

static void a_lane_that_ran_nothing_has_no_track(void)
{
    Trace t = trace_of(1);
    bool ran[2][RH_LANE_LAST] = {{false}};
    int tracks = 0, lanes = 0;
    for (guint i = 0; i < t.run->timeline->len; i++) {
        const RhTaskInterval *s = &g_array_index(t.run->timeline, RhTaskInterval, i);
        ran[s->performer][rh_program_task(t.program, s->task)->lane] = true;
    }
    for (int p = 0; p < 2; p++)
        for (int lane = 0; lane < RH_LANE_LAST; lane++)
            lanes += ran[p][lane];
    FOR_EVENTS(event, &t)
    tracks += strcmp(text_at(&t, event, "name"), "thread_name") == 0;
    CU_ASSERT_EQUAL(tracks, lanes + 2); /* and one of passes for each */
    CU_ASSERT_TRUE(lanes < 2 * (RH_LANE_LAST - 1));
    trace_clear(&t);
}

int main(void)
{
    return rh_test_main(
        "chrome_trace",
        (RhTest[]){
            {"the_schedule_is_seen_at_a_glance", the_schedule_is_seen_at_a_glance},
            {"a_slice_says_which_pass_and_what_shapes", a_slice_says_which_pass_and_what_shapes},
            {"the_memory_counter_peaks_as_the_ledger_does",
             the_memory_counter_peaks_as_the_ledger_does},
            {"every_message_is_an_arrow", every_message_is_an_arrow},
            {"a_lane_that_ran_nothing_has_no_track", a_lane_that_ran_nothing_has_no_track},
            {0}});
}
