/* rehearse explain: where does a number come from, why not another layout, what would change it? */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/explain_memory.h"
#include "cli/explain_replan.h"
#include "cli/explain_sensitivity.h"
#include "cli/explain_term.h"
#include "cli/output.h"
#include "cli/pictures.h"
#include "cli/result.h"
#include "cli/terminal.h"
#include "report/answers.h"
#include "report/format.h"
#include "report/json_facts.h"
#include "report/report.h"
#include "strategies/framework_rules.h"
#include "strategies/knobs.h"

#define SAME_FRAC 1e-6 /* less is not said in seconds */

/* The result's plan, performed again from its recorded inputs. */
typedef struct {
    const RhArguments *a;
    RhResult *result;
    const RhResultPlan *plan;
    int64_t rank;
    RhInputs *in;
    RhProgram *program;
    RhRun *run; /* with its timeline, where it is to be drawn; else NULL */
    RhRehearsal *r;
    /* the answer; what the question does not ask for stays NULL */
    const RhCost *term;
    RhMemoryAnswer *memory;
    RhLayout layout; /* the other's */
    RhRehearsal *other;
    int64_t other_gpus;
    bool other_safe;     /* as --risk and --limit ask, after the change */
    RhRehearsal *winner; /* what would win, after a change of an input */
    bool replanned;
    GArray *effects; /* RhSensitivity */
    GArray *rivals;  /* RhRival, with these */
    char *illegal;   /* why there is no other, or a winner stands in its place */
    char *refused; /* why the stack's framework does not run the other, which is then not offered */
    GString *out;
} Explanation;

static bool open_result(Explanation *e, GError **error)
{
    g_autofree char *path = NULL;
    RhAgain again = {0};
    bool fine =
        rh_result_split(g_ptr_array_index(e->a->operands, 0), &path, &e->rank, error) &&
        rh_result_perform(path, e->rank, rh_pictures_need_timeline(e->a->outputs), &again, error);
    e->result = again.result;
    e->plan = again.plan;
    e->in = again.in;
    e->program = again.program;
    e->run = again.run;
    e->r = again.r;
    return fine;
}

static void close_result(Explanation *e)
{
    rh_rehearsal_free(e->other);
    rh_rehearsal_free(e->winner);
    rh_memory_answer_free(e->memory);
    g_clear_pointer(&e->effects, g_array_unref);
    g_clear_pointer(&e->rivals, g_array_unref);
    g_free(e->illegal);
    g_free(e->refused);
    rh_rehearsal_free(e->r);
    rh_program_free(e->program);
    rh_run_free(e->run);
    rh_inputs_free(e->in);
    rh_result_free(e->result);
    g_string_free(e->out, TRUE);
}

static void append_tree(Explanation *e)
{
    g_autofree char *title = rh_layout_title(&e->r->layout);
    g_autofree char *step = rh_quantity_format(e->r->step_time_s, RH_QUANTITY_S, 4);
    g_string_append_printf(e->out, "%s/step: #%" G_GINT64_FORMAT " %s\n", step, e->rank, title);
    rh_report_tree(e->out, e->r->costs, e->r->step_time_s);
    g_autofree char *closed = rh_quantity_format(e->r->bound_closed_s, RH_QUANTITY_S, 4);
    g_autofree char *segment = rh_quantity_format(e->r->bound_segment_s, RH_QUANTITY_S, 4);
    g_string_append_printf(e->out, "lower bounds: closed form %s, segment graph %s\n", closed,
                           segment);
    rh_report_sources(e->out, &e->in->question);
    g_autofree char *path = rh_text_path(e->result->path);
    g_string_append_printf(
        e->out, "next: rehearse explain %s#%" G_GINT64_FORMAT " --term compute\n", path, e->rank);
}

static void append_beyond(GString *out, const char *verb, double a, double b, const char *what)
{
    if (a > 0 && b > 0 && fabs(a / b - 1) >= 0.0005)
        g_string_append_printf(out, ", %s %.1f %% %s%s", verb, 100 * fabs(a / b - 1),
                               a > b ? "more" : "less", what);
}

/* Prices and powers change no step, and are what was asked for then. */
static void append_as_long(Explanation *e, const char *name_a, const RhRehearsal *a,
                           const char *name_b, const RhRehearsal *b)
{
    bool exactly = fabs(a->step_time_s - b->step_time_s) < 1e-9 * b->step_time_s;
    g_string_append_printf(e->out, "%s takes %sas long as %s", name_a, exactly ? "exactly " : "",
                           name_b);
    append_beyond(e->out, "costs", a->cost_usd, b->cost_usd, "");
    append_beyond(e->out, "takes", a->energy.total_j, b->energy.total_j, " energy");
    g_string_append_c(e->out, '\n');
}

/* "#1 against X: 3.4 s (5.1 %) faster", then the table of terms. */
static void append_versus(Explanation *e, const char *name_a, const RhRehearsal *a,
                          const char *name_b, const RhRehearsal *b)
{
    double less_s = b->step_time_s - a->step_time_s;
    g_autofree char *size = rh_quantity_format(fabs(less_s), RH_QUANTITY_S, 3);
    if (fabs(less_s) < SAME_FRAC * b->step_time_s)
        append_as_long(e, name_a, a, name_b, b);
    else
        g_string_append_printf(e->out, "%s is %s (%.1f %%) %s than %s\n", name_a, size,
                               100 * fabs(less_s) / b->step_time_s,
                               less_s >= 0 ? "faster" : "slower", name_b);
    rh_report_versus(e->out, name_a, a, name_b, b);
    bool resized = a->memory_capacity_bytes != b->memory_capacity_bytes;
    g_autofree char *of =
        resized ? g_strdup_printf(" of %.1f", a->memory_capacity_bytes / RH_GIB_BYTES) : NULL;
    g_string_append_printf(
        e->out, "  memory: %.1f%s GiB against %.1f of %.1f\n", a->memory.peak_bytes / RH_GIB_BYTES,
        of ? of : "", b->memory.peak_bytes / RH_GIB_BYTES, b->memory_capacity_bytes / RH_GIB_BYTES);
}

static bool find_rank(Explanation *e, GError **error)
{
    const RhResultPlan *plan = rh_result_plan(e->result, e->a->versus, error);
    if (!plan)
        return false;
    e->layout = plan->r.layout;
    e->other = rh_result_rehearse(e->in, &e->layout, e->result->seed, NULL, NULL, error);
    return e->other != NULL;
}

/* "  #1: tp2 pp1 ...", wrapped. */
static void append_layout(Explanation *e, const char *name, const RhLayout *layout,
                          const char *more)
{
    g_autofree char *title = rh_layout_title(layout);
    g_autofree char *line = g_strdup_printf("%s: %s%s", name, title, more);
    g_string_append(e->out, "  ");
    rh_text_wrap(e->out, line, 4, 79);
}

static void append_rank(Explanation *e)
{
    g_autofree char *a = g_strdup_printf("#%" G_GINT64_FORMAT, e->rank);
    g_autofree char *b = g_strdup_printf("#%" G_GINT64_FORMAT, e->a->versus);
    append_versus(e, a, e->r, b, e->other);
    append_layout(e, a, &e->r->layout, "");
    append_layout(e, b, &e->other->layout, "");
}

/* Is the change one of the layout's keys ("tp=4", "tp4")? */
static bool is_layout_key(const char *text)
{
    return rh_knob_find(text, strcspn(text, "=0123456789")) != NULL;
}

/* Why a layout does not win: illegal, not run by the framework, too large, or slower. Each is an answer. */
static bool find_why_not(Explanation *e, GError **error)
{
    g_autoptr(GError) illegal = NULL;
    e->layout = rh_train_default(&e->in->c);
    if (!rh_layout_parse(e->a->why_not, &e->layout, error))
        return false;
    if (!rh_inputs_settle_layout(e->in, &e->layout, &illegal)) {
        e->illegal = g_strdup(illegal->message);
        return true;
    }
    e->refused = rh_framework_refused(&e->in->c, &e->layout);
    e->other = rh_result_rehearse(e->in, &e->layout, e->result->seed, NULL, NULL, error);
    return e->other != NULL;
}

static void append_why_not(Explanation *e)
{
    const RhRehearsal *r = e->other;
    if (!r) {
        g_string_append_printf(e->out, "%s is not legal here: %s\n", e->a->why_not, e->illegal);
        return;
    }
    g_autofree char *title = rh_layout_title(&e->layout);
    if (e->refused) {
        g_autofree char *line = g_strdup_printf("%s is not offered: %s", title, e->refused);
        rh_text_wrap(e->out, line, 4, 79);
    }
    if (!r->fits && r->memory.peak_bytes <= r->memory_capacity_bytes)
        g_string_append_printf(e->out, "%s does not fit: %.1f GiB in the memory of a host\n", title,
                               r->memory.host_bytes / RH_GIB_BYTES);
    else if (!r->fits)
        g_string_append_printf(e->out,
                               "%s does not fit: %.1f GiB on stage %d, %.1f more than there is\n",
                               title, r->memory.peak_bytes / RH_GIB_BYTES, r->memory.stage,
                               (r->memory.peak_bytes - r->memory_capacity_bytes) / RH_GIB_BYTES);
    g_autofree char *a = g_strdup_printf("#%" G_GINT64_FORMAT, e->rank);
    append_versus(e, a, e->r, r->fits ? "it" : "it (if it fitted)", r);
    append_layout(e, "it", &e->layout, "");
    g_string_append_printf(e->out, "  its lower bound: %.4g s closed form, %.4g s segment graph\n",
                           r->bound_closed_s, r->bound_segment_s);
}

/* More nodes, or other ones, without a word on the job's GPUs. */
static bool changes_size(const GPtrArray *sets)
{
    bool size = false, gpus = false;
    for (guint i = 0; i < sets->len; i++) {
        const char *set = g_ptr_array_index(sets, i);
        set += g_str_has_prefix(set, "platform.") ? strlen("platform.") : 0;
        size |= g_str_has_prefix(set, "nodes=") || g_str_has_prefix(set, "gpus_per_node=");
        gpus |= g_str_has_prefix(set, "gpus=") || g_str_has_prefix(set, "job.gpus=");
    }
    return size && !gpus;
}

/* "stack=torchtitan": another name in the question's place, which is loaded anew. False: no such word. */
static bool change_name(RhResult *question, const char *text)
{
    const struct {
        const char *key;
        char **name;
    } names[] = {{"stack=", &question->stack},
                 {"platform=", &question->platform},
                 {"workload=", &question->workload}};
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
        if (g_str_has_prefix(text, names[i].key)) {
            g_free(*names[i].name);
            *names[i].name = g_strdup(text + strlen(names[i].key));
            return true;
        }
    return false;
}

/* What wins now; with --replan it takes the place of the changed layout. */
static bool find_winner(Explanation *e, const RhInputs *in, GError **error)
{
    if (!rh_explain_replan(in, e->result, e->a->replanned, &e->winner, error))
        return false;
    if (!e->a->replanned)
        return true;
    if (!e->winner)
        return rh_fail(
            error, RH_ERROR_NO_ANSWER, "--replan: no layout fits after the change%s",
            e->result->is_plan ? "\nnote: --fix, --limit and --risk are those of the plan" : "");
    rh_rehearsal_free(e->other);
    e->other = g_steal_pointer(&e->winner);
    e->layout = e->other->layout;
    e->replanned = true;
    return true;
}

/* The layout has no place in the changed question: what wins there stands for it. */
static bool find_instead(Explanation *e, const RhInputs *in, const char *why, GError **error)
{
    e->illegal = g_strndup(why, strcspn(why, "\n"));
    if (!rh_train_job_legal(&in->c, error)) /* no layout mends that */
        return false;
    if (!rh_explain_replan(in, e->result, e->a->replanned, &e->other, error))
        return false;
    if (!e->other)
        return rh_fail(
            error, RH_ERROR_NO_ANSWER,
            "after the change the layout is not legal (%s), and no other fits%s", e->illegal,
            e->result->is_plan ? "\nnote: --fix, --limit and --risk are those of the plan" : "");
    e->layout = e->other->layout;
    e->other_gpus = in->c.job.gpus;
    e->replanned = true;
    return true;
}

/* How many bytes of a change name its key. */
static size_t key_length(const char *text)
{
    const RhKnob *knob = rh_knob_find(text, strcspn(text, "=0123456789"));
    return knob ? strlen(knob->key) : strcspn(text, "=");
}

/* Which of two values of a key holds would be anybody's guess. */
static bool check_once(const GPtrArray *changes, GError **error)
{
    for (guint i = 0; i < changes->len; i++)
        for (guint k = 0; k < i; k++) {
            const char *first = g_ptr_array_index(changes, k),
                       *second = g_ptr_array_index(changes, i);
            size_t length = key_length(second);
            if (length == key_length(first) && strncmp(first, second, length) == 0)
                return rh_fail(error, RH_ERROR_USAGE,
                               "--what-if changes %.*s twice: %s and %s\nhelp: one of them; each "
                               "of both is a question of its own",
                               (int)length, second, first, second);
        }
    return true;
}

/* Each change is a name or a key of an input, or a key of a layout. */
static bool find_what_if(Explanation *e, GError **error)
{
    g_autoptr(GPtrArray) sets = g_ptr_array_new();
    bool named = false, moved = false;
    e->layout = e->r->layout;
    for (guint i = 0; i < e->a->what_ifs->len; i++) {
        char *text = g_ptr_array_index(e->a->what_ifs, i);
        if (change_name(e->result, text)) {
            named = true;
            moved |= g_str_has_prefix(text, "platform=");
        } else if (!is_layout_key(text))
            g_ptr_array_add(sets, text);
        else if (!rh_train_change(&e->in->c, &e->layout, text, error))
            return false;
    }
    /* A job over the whole platform stays one when the platform grows; a bare name of the catalogue has as many
     * nodes as the job needs. */
    bool whole = e->in->c.job.gpus == rh_platform_gpus(e->in->hardware);
    bool sized = moved && !g_strv_contains(rh_platform_names(), e->result->platform);
    if (whole && (sized || changes_size(sets)))
        e->result->gpus = 0;
    g_autoptr(RhInputs) in = rh_result_inputs(e->result, sets, NULL, error);
    if (!in)
        return false;
    if (in->c.job.gpus != e->in->c.job.gpus)
        e->layout.dp = 0;
    g_autoptr(GError) illegal = NULL;
    if (!rh_inputs_settle_layout(in, &e->layout, &illegal)) {
        if (sets->len > 0 || named)
            return find_instead(e, in, illegal->message, error);
        g_propagate_error(error, g_steal_pointer(&illegal));
        rh_error_help(error, "keys may change together: --what-if tp=8 --what-if pp=2; --fix tp=8 "
                             "of `rehearse plan` looks for the best with them");
        return false;
    }
    e->other = rh_result_rehearse(in, &e->layout, e->result->seed, NULL, NULL, error);
    e->other_gpus = in->c.job.gpus;
    e->other_safe = e->other && e->other->fits &&
                    e->other->memory.peak_bytes <= rh_explain_room(e->result, &in->c).ranked_bytes;
    /* The winner of the question as it was is the first of its plan. */
    bool known = sets->len == 0 && !named && e->result->is_plan && !e->a->replanned;
    return e->other && (known || find_winner(e, in, error));
}

/* Steps of other sizes, and what does not show in seconds: prices, powers. */
static void append_token(const Explanation *e)
{
    RhComparedSide changed = {.r = e->other, .gpus = e->other_gpus},
                   before = {.r = e->r, .gpus = e->in->c.job.gpus};
    g_autofree char *line = rh_report_token_shares(&changed, &before, "");
    if (line) {
        g_autofree char *whole = g_strconcat("  changed takes ", line, NULL);
        rh_text_wrap(e->out, whole, 4,
                     75); /* the two spaces before it, and the four it is not in yet */
    }
    bool priced = e->other->cost_usd > 0, was_priced = e->r->cost_usd > 0;
    if (priced != was_priced)
        g_string_append_printf(e->out, "  a step costs %.4g USD %s; %s no price is known\n",
                               priced ? e->other->cost_usd : e->r->cost_usd,
                               priced ? "changed" : "before", priced ? "before" : "changed");
}

/* Why the layout as it was is not what stands here. */
static void append_instead(Explanation *e)
{
    if (!e->illegal)
        return;
    g_autofree char *text = g_strdup_printf(
        "the layout of #%" G_GINT64_FORMAT " is not legal after the change: %s; in its place what "
        "wins then (%s)",
        e->rank, e->illegal,
        e->a->replanned ? "searched in full" : "a quick search; --replan searches in full");
    rh_text_wrap(e->out, text, 2, 79);
}

/* Of a layout's change alone: is it better than the plan's first? */
static void append_first(const Explanation *e)
{
    const RhResultPlan *first = &g_array_index(e->result->plans, RhResultPlan, 0);
    RhObjective o = e->result->objective;
    g_autofree char *worth = rh_report_worth(o, &first->r);
    bool better =
        e->other_safe && rh_objective_value(o, e->other) < rh_objective_value(o, &first->r);
    g_string_append_printf(e->out, "#%" G_GINT64_FORMAT " of the plan %s: %s\n", first->rank,
                           better ? "is behind that" : "wins as before", worth);
}

static void append_winner(const Explanation *e)
{
    const RhRehearsal *w = e->winner;
    if (e->replanned)
        return;
    if (!w) {
        if (e->result->is_plan && e->result->plans->len > 0)
            append_first(e);
        return;
    }
    RhObjective o = e->result->objective;
    double gain = 1 - rh_objective_value(o, w) / rh_objective_value(o, e->other);
    bool same = rh_layout_equal(&w->layout, &e->other->layout);
    if (e->other->fits && (same || (e->other_safe && gain < RH_EXPLAIN_TIE_FRAC))) {
        g_string_append(e->out, "no other layout was found that wins now (a quick search)\n");
        return;
    }
    g_autofree char *title = rh_layout_title(&w->layout);
    g_autofree char *worth = rh_report_worth(o, w);
    g_autofree char *line =
        g_strdup_printf("now wins: %s: %s, %.1f %% %s (a quick search; --replan searches in full)",
                        title, worth, 100 * fabs(gain), gain >= 0 ? "less" : "more");
    rh_text_wrap(e->out, line, 4, 79);
}

static void append_what_if(Explanation *e)
{
    append_instead(e);
    append_versus(e, e->replanned ? "planned anew" : "changed", e->other, "before", e->r);
    append_token(e);
    append_layout(e, "changed", &e->layout, e->other->fits ? "" : "; it does not fit in memory");
    if (e->other->fits && !e->other_safe && !e->replanned && e->other->band)
        g_string_append_printf(e->out, "  it may run out of memory: %.0f %% of runs as full do\n",
                               100 * rh_odds_failed_frac(e->other->band));
    append_winner(e);
}

static bool find_answer(Explanation *e, GError **error)
{
    const RhArguments *a = e->a;
    if (a->replanned && a->what_ifs->len == 0)
        return rh_fail(error, RH_ERROR_USAGE,
                       "--replan plans what --what-if changes\n"
                       "help: --what-if nodes=16 --replan");
    int questions =
        !!a->term + !!a->versus + !!a->why_not + (a->what_ifs->len > 0) + a->sensitivity;
    if (questions > 1)
        return rh_fail(error, RH_ERROR_USAGE,
                       "explain answers one of --term, --vs, --why-not, --what-if and "
                       "--sensitivity at a time");
    if (!check_once(a->what_ifs, error) || !open_result(e, error))
        return false;
    if (a->term && rh_explain_is_memory(a->term))
        return (e->memory = rh_explain_memory(e->in, e->r, e->program)) != NULL;
    if (a->term)
        return (e->term = rh_explain_find(e->r->costs, e->program, a->term, error)) != NULL;
    if (a->sensitivity)
        return (e->rivals = rh_explain_rivals(e->in, e->result, error)) &&
               (e->effects = rh_explain_sensitivity(e->result, e->plan, e->rivals, error));
    return a->versus              ? find_rank(e, error)
           : a->why_not           ? find_why_not(e, error)
           : a->what_ifs->len > 0 ? find_what_if(e, error)
                                  : true;
}

static void append_answer(Explanation *e)
{
    const RhArguments *a = e->a;
    if (e->memory)
        rh_explain_append_memory(e->out, e->in, e->r, e->memory);
    else if (a->term)
        rh_explain_term(e->out, e->in, e->r, e->program, e->term);
    else if (a->versus)
        append_rank(e);
    else if (a->why_not)
        append_why_not(e);
    else if (a->what_ifs->len > 0)
        append_what_if(e);
    else if (a->sensitivity)
        rh_explain_append_sensitivity(e->out, e->in, e->result->objective, e->effects, e->rivals);
    else
        append_tree(e);
}

static char *answer_json(const Explanation *e)
{
    g_auto(GStrv) argv = rh_arguments_words(e->a->recorded);
    g_auto(GStrv) changes = rh_arguments_words(e->a->what_ifs);
    RhQuestion q = e->in->question;
    q.argv = (const char *const *)argv;
    RhAnswer answer = {.rank = e->rank,
                       .r = e->r,
                       .recorded_s = e->plan->r.step_time_s,
                       .term = e->term,
                       .memory = e->memory,
                       .other = e->other,
                       .versus = e->a->versus,
                       .strategy = e->a->why_not,
                       .changes = (const char *const *)changes,
                       .winner = e->winner,
                       .effects = e->effects,
                       .objective = e->result->objective,
                       .rivals = e->rivals,
                       .replanned = e->replanned,
                       .illegal = e->illegal,
                       .refused = e->refused};
    return rh_report_explain_json(&q, &answer);
}

static bool write_files(const Explanation *e, const char *json, GError **error)
{
    g_auto(RhPictures) pictures = {0};
    g_autofree char *facts = rh_report_facts_json(&e->in->question);
    RhPage page = {.command = "explain", .answer = e->out->str, .json = json, .facts = facts};
    if (e->run)
        rh_pictures_draw_run(&pictures, e->program, e->run, e->r->memory_capacity_bytes);
    for (guint i = 0; i < e->a->outputs->len; i++) {
        const char *path = g_ptr_array_index(e->a->outputs, i);
        g_autofree char *html =
            rh_output_kind(path) == RH_OUTPUT_HTML ? rh_pictures_page(&pictures, page) : NULL;
        if (!rh_output_write(path, html ? html : json, error))
            return false;
    }
    return true;
}

static int run(const RhArguments *a, GError **error)
{
    static const RhOutput kinds[] = {RH_OUTPUT_JSON, RH_OUTPUT_HTML, RH_OUTPUT_NONE};
    if (!rh_outputs_check(a->outputs, kinds, error))
        return 2;
    Explanation e = {.a = a, .out = g_string_new(NULL)};
    bool fine = find_answer(&e, error);
    if (fine) {
        append_answer(&e);
        g_autofree char *json = answer_json(&e);
        fputs(a->json ? json : e.out->str, stdout);
        rh_output_answered();
        fine = write_files(&e, json, error);
    }
    close_result(&e);
    return fine ? 0 : 3;
}

static const RhOption own[] = {
    RH_OPTION(term, "term", 0, RH_OPTION_TEXT, "TERM",
              "what one term is made of: messages or kernels, algorithm, constants; memory: "
              "of each stage, and what would lower it"),
    RH_OPTION(versus, "vs", 0, RH_OPTION_INTEGER, "RANK", "against another plan of the same file",
              .low = 1, .high = 1 << 20),
    RH_OPTION(
        why_not, "why-not", 0, RH_OPTION_TEXT, "STRATEGY",
        "why this layout does not win: illegal, not run by the framework, too large, or slower by "
        "what",
        .layout_keys = true),
    RH_OPTION(what_ifs, "what-if", 0, RH_OPTION_LIST, "KEY=VALUE",
              "the same with a layout key or an input changed, as nic.bandwidth=200Gb/s",
              .layout_keys = true),
    RH_OPTION(outputs, "output", 'o', RH_OPTION_LIST, "FILE",
              "also write the answer, as .json or .html", .neutral = true),
    RH_OPTION(replanned, "replan", 0, RH_OPTION_FLAG, NULL,
              "with --what-if: search the layouts again, and show the one that wins"),
    RH_OPTION(sensitivity, "sensitivity", 0, RH_OPTION_FLAG, NULL,
              "what 10 % more or less of each constant does to the step, who then wins, and "
              "from which value on another plan does"),
    RH_OPTION(json, "json", 0, RH_OPTION_FLAG, NULL,
              "one JSON document: the tree, the term, and the other layout's fields",
              .neutral = true),
    RH_OPTION(verbosity, "verbose", 'v', RH_OPTION_COUNT, NULL, "say more", .neutral = true),
    RH_OPTION(quiet, "quiet", 'q', RH_OPTION_FLAG, NULL, "no hints", .neutral = true),
    RH_OPTION(color, "color", 0, RH_OPTION_CHOICE, "WHEN", "colour the text",
              .choices = "auto|always|never", .otherwise = "auto", .neutral = true),
    {0}};
static const RhOption *const tables[] = {own, rh_options_help, NULL};

const RhCommand rh_command_explain = {
    .name = "explain",
    .operands = "RESULT[#RANK]",
    .operands_low = 1,
    .operands_high = 1,
    .summary = "where does this number come from, and what would change it?",
    .about = "RESULT is a JSON file written by `plan` or `simulate` with -o. Its inputs are\n"
             "loaded again and the layout is performed again, so the explanation comes from\n"
             "the very tree that ranked the plans. Without a question: the whole tree, every\n"
             "term with its share and where it comes from.\n",
    .examples = "rehearse explain plan.json#1\n"
                "rehearse explain plan.json#1 --term compute\n"
                "rehearse explain plan.json#1 --term memory\n"
                "rehearse explain plan.json#1 --vs 2\n"
                "rehearse explain plan.json --why-not tp2,pp4,mb1\n"
                "rehearse explain plan.json --what-if nic.bandwidth=200Gb/s\n"
                "rehearse explain plan.json --what-if nodes=16 --what-if global_batch=1024 \\\n"
                "    --replan",
    .tables = tables,
    .run = run,
};
