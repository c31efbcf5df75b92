#include "cli/program_run.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "cli/check_unsupported_files.h"
#include "cli/inputs/inputs.h"
#include "cli/output/output_file.h"
#include "cli/output/program_and_trace_files.h"
#include "cli/output/terminal.h"
#include "cli/unused_settings.h"
#include "report/json/json_facts.h"
#include "report/page/page.h"
#include "report/program_run_report.h"
#include "sim/engine/workers/isolated_run.h"
#include "sim/import/imported_trace.h"
#include "sim/uncontended_critical_path.h"

/* Contents of the file: a program, or a trace that becomes one on a platform. */
typedef struct {
    RhProgram *program;
    RhImportedTrace *trace; /* NULL: our own */
    char *hash;
} Loaded;

static void loaded_clear(Loaded *l)
{
    rh_program_free(l->program);
    rh_imported_trace_free(l->trace);
    g_free(l->hash);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Loaded, loaded_clear)

static bool is_our_own(const char *path)
{
    return g_str_has_suffix(path, ".program.json");
}

static bool load(const RhArguments *a, Loaded *l, GError **error)
{
    if (!is_our_own(a->program)) {
        l->trace = rh_imported_trace_load(a->program, (int32_t)a->gpus, error);
        l->hash = l->trace ? g_strdup(l->trace->hash) : NULL;
        if (!l->trace)
            rh_other_file_tell(a->program, error);
        return l->trace != NULL;
    }
    g_autoptr(RhJson) doc = rh_json_load(a->program, error);
    l->program = doc ? rh_program_from_json(doc, error) : NULL;
    l->hash = l->program ? g_strdup(rh_json_hash(doc)) : NULL;
    return l->program != NULL;
}

static int32_t ranks_of(const Loaded *l)
{
    return l->program ? l->program->ranks_count : MAX(l->trace->ranks_count, l->trace->alike_count);
}

static bool check_ranks(const RhArguments *a, const Loaded *l, GError **error)
{
    if (a->gpus == 0 || a->gpus == ranks_of(l))
        return true;
    return rh_fail(error, RH_ERROR_USAGE,
                   "--gpus %" G_GINT64_FORMAT ": %s has %d ranks\nnote: a trace of one rank can be "
                   "performed by many",
                   a->gpus, a->program, ranks_of(l));
}

static bool check_places(const RhProgram *p, const RhPlatform *platform, GError **error)
{
    for (int32_t r = 0; r < p->ranks_count; r++)
        if (rh_program_gpu(p, r) >= rh_platform_gpus(platform))
            return rh_fail(error, RH_ERROR_INPUT, "rank %d is on GPU %d; %s has %d", r,
                           rh_program_gpu(p, r), platform->name, rh_platform_gpus(platform));
    return true;
}

static char *page_of(const RhArguments *a, const RhProgramAnswer *answer)
{
    RhReportStyle plain = {.steps = (int)a->steps};
    g_autofree char *text = rh_report_program_text(answer, &plain);
    g_autofree char *json = rh_report_program_json(answer);
    g_autofree char *facts = rh_report_platform_facts_json(answer->hardware);
    RhPage page = {.command = "simulate --program", .answer = text, .json = json, .facts = facts};
    return rh_report_page(&page);
}

static bool write_files(const RhArguments *a, const RhInputs *in, const RhProgramAnswer *answer,
                        GError **error)
{
    for (guint i = 0; i < a->outputs->len; i++) {
        const char *path = g_ptr_array_index(a->outputs, i);
        RhOutput kind = rh_output_kind(path);
        g_autofree char *text = kind == RH_OUTPUT_JSON   ? rh_report_program_json(answer)
                                : kind == RH_OUTPUT_HTML ? page_of(a, answer)
                                                         : NULL;
        if (text && !rh_output_write(path, text, error))
            return false;
    }
    if (a->trace && !rh_layout_files_trace(a->trace, answer->program, answer->run, error))
        return false;
    return rh_layout_files_write(a->outputs, in, answer->program, answer->run, error);
}

static void print(const RhArguments *a, const RhProgramAnswer *answer)
{
    RhReportStyle style = {
        .colored = rh_terminal_colored(), .verbosity = (int)a->verbosity, .steps = (int)a->steps};
    g_autofree char *text =
        a->json ? rh_report_program_json(answer) : rh_report_program_text(answer, &style);
    fputs(text, stdout);
}

/* --- words that change nothing --- */

typedef struct {
    const Loaded *loaded;
    RhEngineOptions options;
} Idle;

/* The path through it by itself, then the rehearsal; what a platform makes of somebody's program is part of both. */
static GArray *figures_of(const RhInputs *in, bool cheap, const void *user)
{
    const Idle *idle = user;
    RhImportedTrace *trace = idle->loaded->trace;
    g_autoptr(RhProgram) own = trace ? rh_imported_trace_program(trace, in->platform, NULL) : NULL;
    const RhProgram *p = trace ? own : idle->loaded->program;
    double seconds = 0;
    if (!p || !check_places(p, in->platform, NULL) ||
        (cheap && !rh_critical_path_s(p, in->platform, &seconds, NULL)))
        return NULL;
    g_autoptr(RhRun) run =
        cheap ? NULL : rh_rehearse_isolated(p, in->platform, &idle->options, NULL);
    if (!cheap && !run)
        return NULL;
    GArray *out = g_array_new(FALSE, FALSE, sizeof(double));
    seconds = run ? run->step_time_s : seconds;
    g_array_append_val(out, seconds);
    return out;
}

static void tell_idle_words(const RhArguments *a, const RhInputs *in, const Loaded *l,
                            const RhEngineOptions *options)
{
    Idle idle = {l, *options};
    idle.options.timeline = false;
    idle.options.timeout_s = rh_terminal_left_s(a->timeout_s);
    rh_unused_settings_tell(a, &(RhUnusedAnswer){in, &idle}, 1, figures_of);
}

static int answer(const RhArguments *a, const RhInputs *in, Loaded *l, GError **error)
{
    RhEngineOptions options = {.unfolded = a->unfolded,
                               .timeline = a->trace || rh_layout_files_need_timeline(a->outputs),
                               .jitter_frac = a->jitter_frac,
                               .seed = (uint64_t)a->seed,
                               .steps = (int32_t)a->steps,
                               .timeout_s = rh_terminal_left_s(a->timeout_s)};
    if (!l->program)
        l->program = rh_imported_trace_program(l->trace, in->platform, error);
    RhProgramAnswer found = {.version = in->question.version,
                             .argv = in->question.argv,
                             .spec = a->program,
                             .format = l->trace ? l->trace->format : "program",
                             .hash = l->hash,
                             .program = l->program,
                             .hardware = in->hardware,
                             .platform_spec = in->platform_spec,
                             .stack = in->c.stack->name,
                             .sets = in->question.sets,
                             .seed = a->seed,
                             .left_out = l->trace ? l->trace->left_out : 0,
                             .untimed = l->trace ? l->trace->untimed : 0,
                             .queued = l->trace ? l->trace->queued : 0};
    if (!l->program || !check_places(l->program, in->platform, error) ||
        !rh_critical_path_s(l->program, in->platform, &found.path_s, error))
        return 3;
    rh_terminal_progress("rehearsing", 1, 1, 0, NULL);
    g_autoptr(RhRun) run = rh_rehearse_isolated(l->program, in->platform, &options, error);
    rh_terminal_progress_end();
    found.run = run;
    if (!run)
        return 3;
    print(a, &found);
    rh_output_answered();
    tell_idle_words(a, in, l, &options);
    return write_files(a, in, &found, error) ? 0 : 3;
}

int rh_program_run(const RhArguments *a, GError **error)
{
    static const RhOutput kinds[] = {RH_OUTPUT_JSON, RH_OUTPUT_HTML,  RH_OUTPUT_PROGRAM,
                                     RH_OUTPUT_GOAL, RH_OUTPUT_TRACE, RH_OUTPUT_NONE};
    g_auto(Loaded) l = {0};
    if (!rh_outputs_check(a->outputs, kinds, error))
        return 2;
    if (!load(a, &l, error) || !check_ranks(a, &l, error))
        return 3;
    /* GOAL has no collectives, and ours is of a question with its own links */
    bool fitted = l.trace && g_str_equal(l.trace->format, "Chakra");
    g_autoptr(RhInputs) in = rh_inputs_of_program(a, ranks_of(&l), fitted, error);
    return in ? answer(a, in, &l, error) : 3;
}
