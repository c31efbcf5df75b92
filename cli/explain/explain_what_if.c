/* A question with inputs or keys of the layout changed: what becomes of the step, and who wins then. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "cli/explain/explain_cost_change.h"
#include "cli/explain/explain_private.h"
#include "cli/output/terminal.h"
#include "report/format.h"
#include "report/json/explain_and_compare_json.h"
#include "report/plan/near_batches.h"
#include "report/report.h"
#include "strategies/knobs.h"
#include "strategies/train/train.h"

/* Is the change one of the layout's keys ("tp=4", "tp4")? */
static bool is_layout_key(const char *text)
{
    return rh_knob_find(text, strcspn(text, "=0123456789")) != NULL;
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

/* How many bytes of a change name its key. */
static size_t key_length(const char *text)
{
    const RhKnob *knob = rh_knob_find(text, strcspn(text, "=0123456789"));
    return knob ? strlen(knob->key) : strcspn(text, "=");
}

bool rh_explain_check_changes(const GPtrArray *changes, GError **error)
{
    for (guint i = 0; i < changes->len; i++) {
        const char *text = g_ptr_array_index(changes, i);
        if (!is_layout_key(text) && (*text == '=' || !strchr(text, '=')))
            return rh_fail(error, RH_ERROR_USAGE,
                           "--what-if \"%s\" is not KEY=VALUE\nhelp: --what-if "
                           "nic.bandwidth=200Gb/s, --what-if tp=4",
                           text);
    }
    for (guint i = 0; i < changes->len; i++)
        for (guint k = 0; k < i; k++) {
            const char *first = g_ptr_array_index(changes, k),
                       *second = g_ptr_array_index(changes, i);
            size_t length = key_length(second);
            if (length == key_length(first) && strncmp(first, second, length) == 0)
                return rh_fail(
                    error, RH_ERROR_USAGE,
                    "--what-if changes %.*s twice: %s and %s\nhelp: give one of them; ask "
                    "about each separately",
                    (int)length, second, first, second);
        }
    return true;
}

/* The changes as they apply: to names, to other inputs, and to the layout. */
typedef struct {
    GPtrArray *sets; /* of inputs that have no name; borrowed */
    bool named, moved;
    RhLayout layout;
} Changes;

static bool apply_changes(const RhExplanation *e, Changes *changes, GError **error)
{
    changes->layout = e->r->layout;
    for (guint i = 0; i < e->a->what_ifs->len; i++) {
        char *text = g_ptr_array_index(e->a->what_ifs, i);
        if (change_name(e->result, text)) {
            changes->named = true;
            changes->moved |= g_str_has_prefix(text, "platform=");
        } else if (!is_layout_key(text))
            g_ptr_array_add(changes->sets, text);
        else if (!rh_train_change(&e->in->c, &changes->layout, text, error))
            return false;
    }
    return true;
}

/* Loads the changed inputs. A job over the whole platform stays one when the platform grows; a bare
 * name of the catalogue has as many nodes as the job needs. */
static RhInputs *load_changed(const RhExplanation *e, const Changes *changes, GError **error)
{
    bool whole = rh_job_gpus(&e->in->c.job) == rh_platform_gpus(e->in->hardware);
    bool sized = changes->moved && !g_strv_contains(rh_platform_names(), e->result->platform);
    if (whole && (sized || changes_size(changes->sets)))
        e->result->gpus = 0;
    return rh_result_inputs(e->result, changes->sets, NULL, error);
}

static bool fail_empty(const RhExplanation *e, GError **error)
{
    const char *note =
        e->result->is_plan ? "\nnote: --fix, --limit and --risk of the plan apply" : "";
    if (e->what_if.illegal)
        return rh_fail(error, RH_ERROR_NO_ANSWER,
                       "after the change the layout is invalid (%s), and no other layout fits%s",
                       e->what_if.illegal, note);
    return rh_fail(error, RH_ERROR_NO_ANSWER, "--replan: no layout fits after the change%s", note);
}

bool rh_explain_find_what_if(RhExplanation *e, GError **error)
{
    g_autoptr(GPtrArray) sets = g_ptr_array_new();
    Changes changes = {.sets = sets};
    if (!apply_changes(e, &changes, error))
        return false;
    g_autoptr(RhInputs) in = load_changed(e, &changes, error);
    if (!in)
        return false;
    RhLayout settled = changes.layout;
    RhWhatIf question = {.before = &e->in->c,
                         .after = &in->c,
                         .layout = changes.layout,
                         .recorded = &e->recorded,
                         .inputs_changed = sets->len > 0 || changes.named,
                         .full = e->a->replanned};
    if (!question.inputs_changed && !rh_train_settle_layout(&in->c, &settled, error)) {
        rh_error_help(error, "several keys can change together: --what-if tp=8 --what-if pp=2; "
                             "`rehearse plan ... --fix tp=8` finds the best layout with tp=8");
        return false;
    }
    bool fine = rh_what_if(&question, &e->what_if, error);
    rh_terminal_progress_end();
    if (!fine)
        return false;
    e->other_job = in->c.job;
    return e->what_if.other || fail_empty(e, error);
}

/* Why the layout as it was is not what stands here. */
static void append_instead(RhExplanation *e)
{
    if (!e->what_if.illegal)
        return;
    g_autofree char *text = g_strdup_printf(
        "the layout of #%" G_GINT64_FORMAT " is invalid after the change: %s; shown instead: the "
        "best layout then (%s)",
        e->rank, e->what_if.illegal,
        e->a->replanned ? "searched in full" : "a quick search; --replan searches in full");
    rh_text_wrap(e->out, text, 2, 79);
}

/* Appends the comparison with the file's first plan (rounded to nine digits), for changes of the
 * layout only. */
static void append_first(const RhExplanation *e)
{
    const RhResultPlan *first = &g_array_index(e->result->plans, RhResultPlan, 0);
    RhObjective o = e->result->objective;
    g_autofree char *worth = rh_report_worth(o, &first->r);
    double gain = 1 - rh_objective_value(o, e->what_if.other) / rh_objective_value(o, &first->r);
    const char *stands = !e->what_if.safe || gain <= -RH_REPLAN_TIE_FRAC ? "is still the best"
                         : gain < RH_REPLAN_TIE_FRAC                     ? "is equally good"
                                                                         : "is now worse";
    g_string_append_printf(e->out, "#%" G_GINT64_FORMAT " of the plan %s: %s\n", first->rank,
                           stands, worth);
}

static void append_winner(const RhExplanation *e)
{
    const RhRehearsal *w = e->what_if.winner;
    if (e->what_if.replanned)
        return;
    if (!w) {
        if (e->result->is_plan && e->result->plans->len > 0)
            append_first(e);
        return;
    }
    RhObjective o = e->result->objective;
    double gain = 1 - rh_objective_value(o, w) / rh_objective_value(o, e->what_if.other);
    bool same = rh_layout_equal(&w->layout, &e->what_if.other->layout);
    if (e->what_if.other->fits && (same || (e->what_if.safe && gain < RH_REPLAN_TIE_FRAC))) {
        g_string_append(e->out, "still the best layout (a quick search)\n");
        return;
    }
    g_autofree char *title = rh_layout_title(&w->layout);
    g_autofree char *worth = rh_report_worth(o, w);
    g_autofree char *line =
        g_strdup_printf("best now: %s: %s, %.1f %% %s (a quick search; --replan searches in full)",
                        title, worth, 100 * fabs(gain), gain >= 0 ? "less" : "more");
    rh_text_wrap(e->out, line, 4, 79);
}

void rh_explain_append_what_if(RhExplanation *e)
{
    const char *name = e->what_if.replanned ? "re-planned" : "changed";
    RhComparedSide changed = {.r = e->what_if.other, .gpus = e->other_job.gpus},
                   before = {.r = e->r, .gpus = e->in->c.job.gpus};
    append_instead(e);
    rh_explain_append_sizes(e->out, name, &changed, &before);
    rh_explain_versus(e, name, e->what_if.other, "before", e->r, NULL);
    rh_explain_append_money(e->out, name, &changed, &before);
    rh_explain_layout(e, "changed", &e->what_if.layout,
                      e->what_if.other->fits ? "" : "; does not fit in memory");
    if (e->what_if.other->fits && !e->what_if.safe && !e->what_if.replanned &&
        e->what_if.other->odds)
        g_string_append_printf(e->out, "  it may run out of memory (%.0f %% likely)\n",
                               100 * e->what_if.other->risk_frac);
    append_winner(e);
    rh_report_near_batches(e->out, &e->other_job, e->what_if.near_batches);
}
