/* What training frameworks print of their iterations, as patterns of single figures:
 *
 *     iteration 43/ 100 | ... | elapsed time per iteration (ms): 5444.9 |      Megatron-LM
 *     step:  4  loss:  7.6  memory: 66.91GiB(37.51%)  tps: 10,050              torchtitan
 *     RunningAvgSamplesPerSec=158.3, CurrSamplesPerSec=159.6, MaxMemAllocated=2.6GB   DeepSpeed
 *     train_step_timing in s: 5.33                                             NeMo, Lightning
 *     {'train_runtime': 61.0, 'train_steps_per_second': 0.32}, 1.23s/it        Hugging Face
 *     Train throughput/batches_per_sec: 0.31                                   llm-foundry
 *
 * Lines of several ranks about one iteration count once. */
#include "validate/runs/training_log.h"

#include <gsl/gsl_statistics.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/garray_access.h"

#define FIELDS_MOST  12
#define SECONDS_MOST 1e5
#define MOST_SAID    1e18
#define BARS_LEAST   4
#define MIB          1048576.0
#define GIB          1073741824.0

/* What a figure says. Times and rates of iterations come first: the first of a row that the text
 * has is its measure. */
typedef enum {
    FIELD_NONE,
    FIELD_STEP_S,     /* seconds of a step */
    FIELD_STEPS,      /* steps a second */
    FIELD_SAMPLES,    /* samples a second, of the whole job */
    FIELD_GPU_TOKENS, /* tokens a second and GPU */
    FIELD_TOKENS,     /* tokens a second, of the whole job */
    FIELD_SUMMARY,    /* steps a second, of the whole run */
    FIELD_ITERATION,
    FIELD_ALLOCATED, /* memory */
    FIELD_RESERVED,
    FIELD_SAID, /* and an RhRunFigureKind */
} FieldKind;

typedef struct {
    FieldKind kind;
    const char *pattern; /* one group: the number */
    double unit;
} Field;

typedef struct {
    const char *name;
    Field fields[FIELDS_MOST];
} Framework;

/* A progress bar of tqdm over steps: not of loading, evaluating, downloading or tokenizing. */
#define BAR                                                                                        \
    "^(?!.*(?:[Ee]val|[Ll]oad|[Vv]alid|[Tt]est))"                                                  \
    "(?:[^%\\n]*?(?:[Tt]rain|[Ee]poch|[Ss]tep|[Ii]ter|[Ll]oss)[^%\\n]*?|\\s*)\\d+%\\|.*?"
#define NUM "(-?[0-9][0-9.,]*(?:[eE][-+]?\\d+)?[KMG]?)"

/* A line of the arguments that a program prints at its start: "  seq_length ........ 4096". */
#define ARGUMENT(name) "(?:^|\\s)" name " ?\\.{3,} *" NUM "\\s*$"

/* Memory of llm-foundry is in GB, and was in bytes. */
#define BYTES_LEAST 1e6

static const Framework frameworks[] = {
    {"Megatron-LM",
     {{FIELD_STEP_S, "elapsed time per iteration \\(ms\\): *" NUM, 1e-3},
      {FIELD_STEP_S, "elapsed time per iteration \\(s\\): *" NUM, 1},
      {FIELD_ITERATION, "\\biteration +(\\d+)/", 1},
      {FIELD_SAID + RH_SAID_BATCH, "global batch size: *(\\d+)", 1},
      {FIELD_SAID + RH_SAID_FLOPS, "TFLOP/s/GPU\\): *" NUM, 1e12},
      {FIELD_SAID + RH_SAID_SEQUENCE, ARGUMENT("seq_length"), 1},
      {FIELD_SAID + RH_SAID_GPUS, ARGUMENT("world_size"), 1},
      {FIELD_SAID + RH_SAID_LAYERS, ARGUMENT("num_layers"), 1},
      {FIELD_SAID + RH_SAID_HIDDEN, ARGUMENT("hidden_size"), 1},
      {FIELD_RESERVED, "max reserved: *" NUM, MIB},
      {FIELD_ALLOCATED, "max allocated: *" NUM, MIB}}},
    {"NeMo",
     {{FIELD_STEP_S, "train_step_timing in s *[=:] *" NUM, 1},
      {FIELD_ITERATION, "(?:iteration|global_step) *[=:]? *(\\d+)", 1},
      {FIELD_SAID + RH_SAID_BATCH, "global_batch_size *[=:] *(\\d+)", 1}}},
    {"NeMo AutoModel",
     {{FIELD_GPU_TOKENS, "\\btps [0-9.,]+\\(" NUM "/gpu\\)", 1},
      {FIELD_ITERATION, "\\bstep (\\d+) \\|", 1},
      {FIELD_ALLOCATED, "\\bmem " NUM " GiB", GIB}}},
    {"torchtitan",
     {{FIELD_GPU_TOKENS, "\\bstep: *\\d+ .*\\b(?:tps|wps): *" NUM, 1},
      {FIELD_ITERATION, "\\bstep: *(\\d+)", 1},
      {FIELD_SAID + RH_SAID_BATCH, "\\bglobal batch size:? " NUM, 1},
      {FIELD_SAID + RH_SAID_SEQUENCE, "\\bsequence length:? " NUM, 1},
      {FIELD_SAID + RH_SAID_PARAMETERS, "\\bsize: *" NUM " total parameters", 1},
      {FIELD_SAID + RH_SAID_FLOPS, "\\btflops: *" NUM, 1e12},
      {FIELD_RESERVED, "\\bmemory: *" NUM " *GiB", GIB}}},
    {"DeepSpeed",
     {{FIELD_SAMPLES, "(?:Curr|(?<![A-Za-z]))SamplesPerSec=" NUM, 1},
      {FIELD_ITERATION, "(?:global_step=|stop\\] \\d+/)(\\d+)", 1},
      {FIELD_SAID + RH_SAID_BATCH, ARGUMENT("train_batch_size"), 1},
      {FIELD_SAID + RH_SAID_GPUS, ARGUMENT("world_size"), 1},
      {FIELD_ALLOCATED, "MaxMemAllocated=" NUM " *GB", GIB}}},
    {"llm-foundry",
     {{FIELD_STEPS, "throughput/batches_per_sec: *" NUM, 1},
      {FIELD_GPU_TOKENS, "throughput/device/tokens_per_sec: *" NUM, 1},
      {FIELD_TOKENS, "throughput/tokens_per_sec: *" NUM, 1},
      {FIELD_ITERATION, "\\[batch=(\\d+)/", 1},
      {FIELD_SAID + RH_SAID_FLOPS, "throughput/device/flops_per_sec: *" NUM, 1},
      {FIELD_RESERVED, "memory/(?:peak_)?reserved_mem: *" NUM, 1e9},
      {FIELD_ALLOCATED, "memory/peak_allocated_mem: *" NUM, 1e9}}},
    {"MaxText",
     {{FIELD_STEP_S, "completed step: *\\d+, seconds: *" NUM, 1},
      {FIELD_ITERATION, "completed step: *(\\d+)", 1},
      {FIELD_SAID + RH_SAID_FLOPS, "TFLOP/s/device: *" NUM, 1e12},
      {FIELD_SAID + RH_SAID_PARAMETERS, "number parameters: *" NUM " billion", 1e9}}},
    {"nanotron",
     {{FIELD_STEP_S, "time_per_iteration_ms: *" NUM, 1e-3},
      {FIELD_ITERATION, "iteration: *(\\d+)", 1},
      {FIELD_SAID + RH_SAID_FLOPS, "\\bmodel_tflops_per_gpu: *" NUM, 1e12},
      {FIELD_SAID + RH_SAID_BATCH, "global_batch_size: *(\\d+)(?![.0-9]*[KM])", 1},
      {FIELD_RESERVED, "cuda_max_memory_reserved: *" NUM, 1}}},
    {"fms-fsdp",
     {{FIELD_GPU_TOKENS, "token per gpu per sec: *" NUM, 1},
      {FIELD_ITERATION, "\\bstep: *(\\d+)", 1},
      {FIELD_RESERVED, "reserved memory: *" NUM, 1},
      {FIELD_ALLOCATED, "allocated memory: *" NUM, 1}}},
    {"nanoGPT or LitGPT",
     {{FIELD_STEP_S, "iter time: *" NUM " *ms", 1e-3},
      {FIELD_STEP_S, "iter \\d+: loss [0-9.]+, time " NUM "ms", 1e-3},
      {FIELD_ITERATION, "iter (\\d+)", 1}}},
    {"Hugging Face Trainer or another progress bar",
     {{FIELD_STEP_S, BAR "[, ]" NUM "s/it", 1},
      {FIELD_STEPS, BAR "[, ]" NUM "it/s", 1},
      {FIELD_SUMMARY, "train_steps_per_second'?\\s*[=:] *'?" NUM, 1},
      {FIELD_ITERATION, "\\| *(\\d+)/\\d+ \\[", 1},
      {FIELD_SAID + RH_SAID_BATCH, "Total train batch size [^=\\n]*= *" NUM, 1},
      {FIELD_ALLOCATED, "memory/max_(?:mem_allocated|alloc)[^:]*: *'?" NUM, GIB},
      {FIELD_ALLOCATED, "Max CUDA memory allocated was " NUM " *GB", GIB},
      {FIELD_RESERVED, "Max CUDA memory reserved was " NUM " *GB", GIB}}},
};

/* Patterns of a framework, compiled. */
typedef struct {
    const Framework *framework;
    GRegex *forms[FIELDS_MOST];
} Forms;

static void forms_clear(Forms *forms)
{
    for (int i = 0; i < FIELDS_MOST; i++)
        g_clear_pointer(&forms->forms[i], g_regex_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Forms, forms_clear)

static Forms forms_of(const Framework *framework)
{
    Forms forms = {.framework = framework};
    for (int i = 0; i < FIELDS_MOST && framework->fields[i].pattern; i++)
        forms.forms[i] = g_regex_new(framework->fields[i].pattern,
                                     G_REGEX_OPTIMIZE | G_REGEX_RAW | G_REGEX_MULTILINE, 0, NULL);
    return forms;
}

static bool is_measure(FieldKind kind)
{
    return kind >= FIELD_STEP_S && kind <= FIELD_SUMMARY;
}

/* Which figure of the framework the text has as its measure; -1: none. */
static int measure_of(const Forms *forms, const char *text)
{
    for (int i = 0; i < FIELDS_MOST && forms->forms[i]; i++)
        if (is_measure(forms->framework->fields[i].kind) &&
            g_regex_match(forms->forms[i], text, 0, NULL))
            return i;
    return -1;
}

/* --- numbers --- */

/* Reads the number of a pattern in a line: "10,050", "1.2K", "5361,6". A comma before three digits
 * parts thousands, any other is a decimal one. false: the line has none. */
static bool number_of(const GRegex *form, const char *line, double unit, double *out)
{
    g_autoptr(GMatchInfo) match = NULL;
    if (!form || !g_regex_match(form, line, 0, &match))
        return false;
    g_autofree char *text = g_match_info_fetch(match, 1);
    char *to = text;
    for (const char *at = text; *at; at++)
        if (*at != ',')
            *to++ = *at;
        else if (strspn(at + 1, "0123456789") != 3)
            *to++ = '.';
    *to = '\0';
    char *end = NULL;
    double value = g_ascii_strtod(text, &end);
    double scale = *end == 'K' ? 1e3 : *end == 'M' ? 1e6 : *end == 'G' ? 1e9 : 1;
    *out = value * scale * unit;
    return end != text && isfinite(*out);
}

/* --- lines --- */

typedef struct {
    RhRunLog *out;
    const Forms *forms;
    GArray *flops;     /* double: model FLOP/s of a GPU, of each line */
    int measure;       /* index of its pattern */
    int64_t iteration; /* of the latest line that says one; -1 */
} Reading;

static RhRunMeasure unit_of(FieldKind kind)
{
    return kind == FIELD_SAMPLES      ? RH_RUN_SAMPLE
           : kind == FIELD_TOKENS     ? RH_RUN_TOKEN
           : kind == FIELD_GPU_TOKENS ? RH_RUN_GPU_TOKEN
                                      : RH_RUN_STEP;
}

/* Adds a figure; further lines about the same iteration change its mean. */
static void add_sample(Reading *r, double seconds, int32_t line)
{
    GArray *samples = r->out->samples;
    RhRunSample *last =
        samples->len > 0 ? &g_array_index(samples, RhRunSample, samples->len - 1) : NULL;
    if (last && r->iteration >= 0 && last->iteration == r->iteration) {
        last->seconds = (last->seconds * last->lines + seconds) / (last->lines + 1);
        last->lines++;
        return;
    }
    RhRunSample sample = {seconds, r->iteration, line, 1};
    g_array_append_val(samples, sample);
}

static bool refuse_line(const Reading *r, const char *what, const char *text, int32_t line,
                        GError **error)
{
    return rh_fail(error, RH_ERROR_INPUT,
                   "%s:%d:1: \"%.60s\" %s\nhelp: correct the line, or delete it", r->out->name,
                   line, text, what);
}

static bool take_measure(Reading *r, const Field *field, double value, const char *text,
                         int32_t line, GError **error)
{
    bool time = field->kind == FIELD_STEP_S;
    double seconds = time ? value : 1 / value;
    if (!(value > 0) || !(seconds > 0 && seconds < SECONDS_MOST))
        return value == 0 || refuse_line(r, "is no time of an iteration", text, line, error);
    r->out->summary = field->kind == FIELD_SUMMARY;
    add_sample(r, seconds, line);
    return true;
}

static void take_memory(RhRunLog *log, FieldKind kind, double bytes)
{
    bool reserved = kind == FIELD_RESERVED;
    if (reserved && !log->memory_reserved)
        log->memory_bytes = 0;
    if (reserved == log->memory_reserved || reserved) {
        log->memory_reserved = reserved;
        log->memory_bytes = MAX(log->memory_bytes, bytes);
    }
}

static void take_said(Reading *r, RhRunFigureKind kind, double value, int32_t line)
{
    RhRunFigure *said = &r->out->said[kind];
    if (!(value >= 1 && value < MOST_SAID))
        return;
    if (kind == RH_SAID_FLOPS)
        g_array_append_val(r->flops, value);
    if (said->value == 0)
        *said = (RhRunFigure){value, line};
}

static bool read_line(Reading *r, const char *text, int32_t line, GError **error)
{
    const Framework *f = r->forms->framework;
    double value = 0;
    for (int i = 0; i < FIELDS_MOST && r->forms->forms[i]; i++)
        if (f->fields[i].kind == FIELD_ITERATION &&
            number_of(r->forms->forms[i], text, 1, &value) && value < 1e15)
            r->iteration = (int64_t)value;
    for (int i = 0; i < FIELDS_MOST && r->forms->forms[i]; i++) {
        const Field *field = &f->fields[i];
        if (!number_of(r->forms->forms[i], text, field->unit, &value))
            continue;
        if (value < 0)
            return refuse_line(r, "says a negative figure", text, line, error);
        if (field->kind >= FIELD_SAID)
            take_said(r, (RhRunFigureKind)(field->kind - FIELD_SAID), value, line);
        if (field->kind == FIELD_ALLOCATED || field->kind == FIELD_RESERVED)
            take_memory(r->out, field->kind,
                        field->unit == 1e9 && value > 1e9 * BYTES_LEAST ? value / 1e9 : value);
        bool same = unit_of(field->kind) == unit_of(f->fields[r->measure].kind) &&
                    (field->kind == FIELD_SUMMARY) == (f->fields[r->measure].kind == FIELD_SUMMARY);
        if (is_measure(field->kind) && same && !take_measure(r, field, value, text, line, error))
            return false;
    }
    return true;
}

static bool read_lines(const Forms *forms, int measure, RhRunLog *out, const char *text,
                       GError **error)
{
    g_autoptr(GArray) flops = g_array_new(FALSE, FALSE, sizeof(double));
    Reading r = {out, forms, flops, measure, -1};
    out->unit = unit_of(forms->framework->fields[measure].kind);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (int32_t i = 0; lines[i]; i++)
        if (!read_line(&r, lines[i], i + 1, error))
            return false;
    if (flops->len > 0)
        out->said[RH_SAID_FLOPS].value =
            gsl_stats_median(RH_ELEMENTS(flops, double), 1, flops->len);
    return true;
}

/* The mean over the whole run, where the text has it; -1: it has none. */
static int summary_of(const Forms *forms, const char *text)
{
    for (int i = 0; i < FIELDS_MOST && forms->forms[i]; i++)
        if (forms->framework->fields[i].kind == FIELD_SUMMARY &&
            g_regex_match(forms->forms[i], text, 0, NULL))
            return i;
    return -1;
}

static bool read_framework(const Framework *framework, RhRunLog *out, const char *text,
                           GError **error)
{
    g_auto(Forms) forms = forms_of(framework);
    int measure = measure_of(&forms, text), summary = summary_of(&forms, text);
    if (measure < 0)
        return rh_fail(error, RH_ERROR_INPUT, "%s: no time of an iteration stands in it",
                       out->name);
    if (!read_lines(&forms, measure, out, text, error))
        return false;
    if (summary >= 0 && summary != measure && out->samples->len < BARS_LEAST) {
        g_array_set_size(out->samples, 0); /* few bars, which may be of other loops */
        if (!read_lines(&forms, summary, out, text, error))
            return false;
    }
    return out->samples->len > 0 ||
           rh_fail(error, RH_ERROR_INPUT, "%s: all times of iterations in it are 0", out->name);
}

static bool recognises(const Framework *framework, const char *text)
{
    g_auto(Forms) forms = forms_of(framework);
    return measure_of(&forms, text) >= 0;
}

/* The functions of each row; a row of the table is of the framework with this index. */
#define ROW(i)                                                                                     \
    static bool recognises_##i(const char *text)                                                   \
    {                                                                                              \
        return recognises(&frameworks[i], text);                                                   \
    }                                                                                              \
    static bool read_##i(RhRunLog *out, const char *text, GError **error)                          \
    {                                                                                              \
        return read_framework(&frameworks[i], out, text, error);                                   \
    }
ROW(0)
ROW(1)
ROW(2)
ROW(3)
ROW(4)
ROW(5)
ROW(6)
ROW(7)
ROW(8)
ROW(9)
ROW(10)
#undef ROW

const RhRunLogReader rh_training_logs[] = {
    {"Megatron-LM", recognises_0, read_0},
    {"NeMo", recognises_1, read_1},
    {"NeMo AutoModel", recognises_2, read_2},
    {"torchtitan", recognises_3, read_3},
    {"DeepSpeed", recognises_4, read_4},
    {"llm-foundry", recognises_5, read_5},
    {"MaxText", recognises_6, read_6},
    {"nanotron", recognises_7, read_7},
    {"fms-fsdp", recognises_8, read_8},
    {"nanoGPT or LitGPT", recognises_9, read_9},
    {"Hugging Face Trainer or another progress bar", recognises_10, read_10},
    {0}};
G_STATIC_ASSERT(G_N_ELEMENTS(frameworks) + 1 == G_N_ELEMENTS(rh_training_logs));

char *rh_training_logs_names(void)
{
    GString *text = g_string_new(NULL);
    for (size_t i = 0; rh_training_logs[i].name; i++)
        g_string_append_printf(text, "%s%s",
                               !i                             ? ""
                               : rh_training_logs[i + 1].name ? ", "
                                                              : " and ",
                               rh_training_logs[i].name);
    return g_string_free(text, FALSE);
}
