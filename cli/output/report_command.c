/* rehearse report: an answer that was kept as JSON, as a page or as pictures. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/json/json.h"
#include "base/text/text_input.h"
#include "cli/inputs/result_file.h"
#include "cli/output/output_file.h"
#include "cli/output/pictures.h"
#include "cli/parse/commands.h"
#include "report/format.h"
#include "report/json/json_facts.h"
#include "report/report.h"

#define SCHEMA "rehearse."

/* An answer as its file has it. */
typedef struct {
    char *path, *text;
    char *schema, *command; /* "rehearse.plan/1", "plan" */
    GString *asked;         /* the words it was asked with; empty: not kept */
} Kept;

static void clear_kept(Kept *k)
{
    g_free(k->path);
    g_free(k->text);
    g_free(k->schema);
    g_free(k->command);
    if (k->asked)
        g_string_free(k->asked, TRUE);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Kept, clear_kept)

/* "rehearse.serve/1" -> "serve". Caller frees. */
static char *word_of(const char *schema)
{
    const char *word = schema + strlen(SCHEMA);
    return g_strndup(word, strcspn(word, "/"));
}

static bool load_kept(Kept *k, GError **error)
{
    k->text = rh_text_load(k->path, error);
    g_autoptr(RhJson) doc =
        k->text ? rh_json_parse(k->path, k->text, strlen(k->text), error) : NULL;
    if (!doc)
        return false;
    const RhJsonNode *root = rh_json_root(doc);
    k->schema = g_strdup(rh_json_string_or(doc, root, "schema", ""));
    if (!g_str_has_prefix(k->schema, SCHEMA))
        return rh_fail(error, RH_ERROR_INPUT,
                       "%s is not an answer of rehearse\nnote: its \"schema\" is \"%s\"\n"
                       "help: -o x.json of any command writes one",
                       k->path, k->schema);
    if (!rh_result_check_version(k->path, k->schema, error))
        return false;
    k->asked = g_string_new(NULL);
    const RhJsonNode *words = rh_json_has(root, "argv") ? rh_json_array(doc, root, "argv") : NULL;
    for (const RhJsonNode *n = words ? rh_json_first(words) : NULL; n; n = rh_json_next(n)) {
        const char *word = rh_json_node_string(doc, n);
        if (k->asked->len == 0)
            k->command = g_strdup(word);
        g_string_append_printf(k->asked, " %s", word);
    }
    if (!k->command)
        k->command = word_of(k->schema);
    rh_json_consume_all(doc, root);
    return rh_json_finish(doc, error);
}

/* --- plans and runs: the step is performed again, for its pictures --- */

/* The plans that a file ranks, a line each. */
static void append_ranks(GString *out, const RhResult *result, int64_t shown)
{
    for (guint i = 0; i < result->plans->len; i++) {
        const RhResultPlan *p = &g_array_index(result->plans, RhResultPlan, i);
        g_autofree char *title = rh_layout_title(&p->r.layout);
        g_autofree char *step = rh_quantity_format(p->r.step_time_s, RH_QUANTITY_S, 4);
        g_string_append_printf(out, "#%" G_GINT64_FORMAT " %s/step: %s%s\n", p->rank, step, title,
                               p->rank == shown ? " (below)" : "");
    }
    g_string_append_c(out, '\n');
}

static char *text_of_run(const RhReplay *g, int64_t rank)
{
    GString *out = g_string_new(NULL);
    RhReportStyle plain = {.steps = 1};
    if (g->result->is_plan)
        append_ranks(out, g->result, rank);
    g_autofree char *text = rh_report_run_text(&g->in->question, g->r, g->run, &plain);
    g_string_append(out, text);
    return g_string_free(out, FALSE);
}

/* --- any answer --- */

/* Others hold all that there is to show; the page's first line is what was asked. */
static char *text_of_kept(const Kept *k)
{
    return k->asked->len ? g_strdup_printf("rehearse%s\n", k->asked->str)
                         : g_strdup_printf("rehearse %s\n", k->command);
}

static bool is_step(const Kept *k)
{
    return g_str_equal(k->schema, "rehearse.plan/1") ||
           g_str_equal(k->schema, "rehearse.simulate/1");
}

/* Pictures are of steps. */
static bool check_pictures(const RhArguments *a, const Kept *k, GError **error)
{
    for (guint i = 0; i < a->outputs->len && !is_step(k); i++)
        if (rh_output_kind(g_ptr_array_index(a->outputs, i)) != RH_OUTPUT_HTML)
            return rh_fail(error, RH_ERROR_USAGE,
                           "%s: a picture of a step, and %s is an answer of `rehearse %s`\n"
                           "help: -o x.html",
                           (const char *)g_ptr_array_index(a->outputs, i), k->path, k->command);
    return true;
}

/* Ranks are of plans; what is no plan is its own first. */
static bool check_rank(const Kept *k, int64_t rank, GError **error)
{
    if (rank == 1 || g_str_equal(k->schema, "rehearse.plan/1"))
        return true;
    return rh_fail(error, RH_ERROR_USAGE,
                   "%s#%" G_GINT64_FORMAT
                   ": an answer of `rehearse %s` has no ranks to choose from",
                   k->path, rank, k->command);
}

static bool write_page(const RhArguments *a, const Kept *k, const RhReplay *g, int64_t rank,
                       GError **error)
{
    g_auto(RhPictures) pictures = {0};
    g_autofree char *text = g->r ? text_of_run(g, rank) : text_of_kept(k);
    g_autofree char *facts = g->r ? rh_report_facts_json(&g->in->question) : NULL;
    RhPage page = {
        .command = k->command, .answer = text, .json = k->text, .facts = facts, .rank = rank};
    if (g->r)
        rh_pictures_draw_run(&pictures, g->program, g->run, g->r->memory_capacity_bytes);
    for (guint i = 0; i < a->outputs->len; i++) {
        const char *path = g_ptr_array_index(a->outputs, i);
        RhOutput kind = rh_output_kind(path);
        g_autofree char *whole = kind == RH_OUTPUT_HTML ? rh_pictures_page(&pictures, page)
                                                        : g_strdup(rh_pictures_of(&pictures, kind));
        if (!whole)
            return rh_fail(error, RH_ERROR_INTERNAL, "%s: there is no such picture", path);
        if (!rh_output_write(path, whole, error))
            return false;
    }
    return true;
}

static int run(const RhArguments *a, GError **error)
{
    static const RhOutput kinds[] = {RH_OUTPUT_HTML, RH_OUTPUT_GANTT, RH_OUTPUT_MEMORY,
                                     RH_OUTPUT_NONE};
    g_auto(Kept) kept = {0};
    g_auto(RhReplay) again = {0};
    int64_t rank = 1;
    if (a->outputs->len == 0) {
        rh_fail(error, RH_ERROR_USAGE, "report: nothing says where to\nhelp: -o x.html");
        return 2;
    }
    if (!rh_outputs_check(a->outputs, kinds, error) ||
        !rh_result_split(g_ptr_array_index(a->operands, 0), &kept.path, &rank, error))
        return 2;
    bool fine = load_kept(&kept, error) && check_rank(&kept, rank, error) &&
                check_pictures(a, &kept, error) &&
                (!is_step(&kept) || rh_result_perform(kept.path, rank, true, &again, error)) &&
                write_page(a, &kept, &again, rank, error);
    return fine ? 0 : 3;
}

static const RhOption own[] = {RH_OPTION(outputs, "output", 'o', RH_OPTION_LIST, "FILE",
                                         "x.html, or of a plan or a run gantt.svg and memory.svg",
                                         .neutral = true),
                               {0}};
static const RhOption *const tables[] = {own, rh_options_terminal, rh_options_help, NULL};

const RhCommand rh_command_report = {
    .name = "report",
    .operands = "RESULT[#RANK]",
    .operands_low = 1,
    .operands_high = 1,
    .summary = "a kept answer as a page, or its pictures",
    .about = "RESULT is a file that a command wrote with -o x.json. The page is the one of\n"
             "-o x.html: the figures of the file, sortable and searchable. For plans and\n"
             "runs the step is simulated again for its text and pictures, so its inputs must\n"
             "be present; other answers need only their file.\n",
    .examples = "rehearse report plan.json -o plan.html\n"
                "rehearse report plan.json#2 -o second-gantt.svg -o second-memory.svg\n"
                "rehearse report capacity.json -o capacity.html",
    .tables = tables,
    .run = run,
};
