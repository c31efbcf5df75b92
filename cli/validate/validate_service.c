#include "cli/validate/validate_service.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/interned_strings.h"
#include "base/text/text_table.h"
#include "cli/output/output_file.h"
#include "cli/output/terminal.h"
#include "cli/serve/serve_simulate_inputs.h"
#include "report/format.h"
#include "report/validation/evaluation_published_runs.h"
#include "strategies/search/services/serve_error_bars.h"
#include "strategies/serve/results/service_metrics.h"
#include "validate/runs/benchmark_plausibility.h"
#include "validate/runs/finding_texts.h"
#include "validate/runs/service_result.h"

#define HEAD_BYTES   65536
#define COUNT_MOST   4000 /* requests are simulated: more tell no more of means */
#define COUNT_SILENT 1000 /* where the file does not say how many there were */

bool rh_validate_is_service(const char *path)
{
    FILE *file = g_file_test(path, G_FILE_TEST_IS_REGULAR) && !g_str_has_suffix(path, ".csv")
                     ? fopen(path, "rbe")
                     : NULL;
    if (!file)
        return false;
    g_autofree char *head = g_malloc0(HEAD_BYTES + 1);
    head[fread(head, 1, HEAD_BYTES, file)] = 0;
    fclose(file);
    return rh_service_figures_are(head);
}

/* --- the question --- */

/* Fills in what the file says of the requests and the model. The texts are kept for ever. */
static bool fill_words(const RhServiceResultFile *f, RhArguments *w, GError **error)
{
    if (f->input_tokens < 1 || f->output_tokens < 1)
        return rh_fail(error, RH_ERROR_INPUT, "%s does not say the lengths of its requests",
                       w->cases);
    if (f->concurrency == 0 && f->rate_per_s <= 0)
        return rh_fail(error, RH_ERROR_INPUT,
                       "%s says neither how many clients there were nor the rate of requests",
                       w->cases);
    g_autofree char *lengths =
        g_strdup_printf("in=%.0f,out=%.0f", f->input_tokens, f->output_tokens);
    g_autofree char *rate = isfinite(f->rate_per_s) && f->rate_per_s > 0 && f->concurrency == 0
                                ? g_strdup_printf("%.9g/s", f->rate_per_s)
                                : NULL;
    w->lengths = rh_intern(lengths);
    w->rate = rate ? rh_intern(rate) : NULL;
    w->arrivals = f->concurrency == 0 && isinf(f->rate_per_s) ? "burst" : NULL;
    w->concurrency = f->concurrency;
    w->count = f->count > 0 ? MIN(f->count, COUNT_MOST) : COUNT_SILENT;
    w->turnaround_s = 1e-3;
    if (!w->workload && f->model)
        w->workload = rh_intern(f->model);
    return true;
}

static bool check_words(const RhArguments *a, const RhServiceResultFile *f, GError **error)
{
    if (a->platform && (a->strategy || a->froms->len > 0))
        return true;
    return rh_fail(
        error, RH_ERROR_USAGE,
        "%s is a result of %s, which says how fast a server was, not what ran\nhelp: say the "
        "run: -p PLATFORM, and --from serve.sh or -s tp4",
        a->cases, f->format);
}

/* --- the answer --- */

static double predicted(const RhServiceMetrics *o, int metric)
{
    const RhServedSpread *ttft = &o->metrics[RH_METRIC_TTFT], *tpot = &o->metrics[RH_METRIC_TPOT];
    const double values[RH_RESULT_LAST] = {ttft->mean.value, ttft->p50.value,      ttft->p99.value,
                                           tpot->mean.value, tpot->p50.value,      tpot->p99.value,
                                           o->tokens_per_s,  o->request_rate_per_s};
    return values[metric];
}

static bool is_time(int metric)
{
    return metric < RH_RESULT_TOKENS_PER_S;
}

static double bar_of(const RhServeErrorBars *trust, int metric)
{
    if (!trust->bar || !is_time(metric))
        return 0;
    return metric < RH_RESULT_TPOT_MEAN ? trust->bar->ttft_frac : trust->bar->tpot_frac;
}

static char *value_text(double value, int metric)
{
    return is_time(metric) ? rh_quantity_format(value, RH_QUANTITY_S, 3) : rh_text_number(value, 3);
}

/* The evaluation's row of a metric that was measured. */
static void add_row(RhEvaluation *e, const RhServiceResultFile *f, const RhInputs *in,
                    const char *how, int metric, double value)
{
    RhEvaluatedRun row = {.id = g_strdup_printf("%s:1", e->file),
                          .line = 1,
                          .source = f->format,
                          .table = f->format,
                          .model = in->model->name,
                          .device = in->hardware->device->name,
                          .family = in->model->family,
                          .strategy = rh_intern(how),
                          .platform = rh_intern(in->platform_spec),
                          .metric = rh_service_figure_name(metric),
                          .measured_s = f->measured[metric],
                          .predicted_s = value};
    g_array_append_val(e->rows, row);
}

static char *table_text(const RhServiceResultFile *f, const RhServiceMetrics *o,
                        const RhServeErrorBars *trust)
{
    GString *out = g_string_new(NULL);
    g_autoptr(RhTable) t = rh_table_new("<>>>>");
    rh_table_rowf(t, "|measured|predicted|error|model error");
    for (int m = 0; m < RH_RESULT_LAST; m++) {
        double measured = f->measured[m], value = predicted(o, m), bar = bar_of(trust, m);
        if (measured <= 0 || !isfinite(value))
            continue;
        g_autofree char *left = value_text(measured, m), *right = value_text(value, m);
        g_autofree char *range = bar > 0 ? g_strdup_printf("±%.0f %%", 100 * bar) : g_strdup("");
        rh_table_rowf(t, "%s|%s|%s|%+.1f %%|%s", rh_service_figure_name(m), left, right,
                      100 * (value / measured - 1), range);
    }
    rh_table_append(t, out, "");
    return g_string_free(out, FALSE);
}

/* The measured service beside its prediction. Borrows. */
typedef struct {
    const RhServiceResultFile *f;
    const RhInputs *in;
    const RhServiceMetrics *o;
    const RhServeErrorBars *trust;
    const char *deployment;
    const RhServeRequests *asked;
    const GPtrArray *findings;
} Answer;

static char *text_of(const Answer *w)
{
    g_autofree char *table = table_text(w->f, w->o, w->trust);
    g_autofree char *line =
        g_strdup_printf("run: %s; %s on %s, %s; %s, %s", w->f->format, w->in->model->name,
                        w->in->platform_spec, w->deployment, w->asked->spec, w->asked->arrivals);
    GString *out = g_string_new(table);
    rh_text_wrap(out, line, 5, 79);
    if (w->in->hardware->profile) {
        g_autofree char *profile = g_strconcat("profile: ", w->in->hardware->profile, NULL);
        rh_text_wrap(out, profile, 2, 79);
    }
    if (!w->trust->bar)
        g_string_append_printf(out, "model error: unknown: %s\n", w->trust->why_not);
    rh_findings_append(out, w->findings);
    return g_string_free(out, FALSE);
}

static int show(const RhArguments *a, const Answer *w, GError **error)
{
    const RhServiceResultFile *f = w->f;
    g_autoptr(RhEvaluation) e = rh_evaluation_new(a->cases);
    for (int m = 0; m < RH_RESULT_LAST; m++)
        if (f->measured[m] > 0 && isfinite(predicted(w->o, m)))
            add_row(e, f, w->in, w->deployment, m, predicted(w->o, m));
    g_autoptr(GPtrArray) missed = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; i < e->rows->len && rh_arguments_given(a, "--tolerance"); i++) {
        const RhEvaluatedRun *row = &g_array_index(e->rows, RhEvaluatedRun, i);
        double off = fabs(rh_evaluation_error_frac(row));
        if (off > a->tolerance_frac)
            g_ptr_array_add(missed,
                            g_strdup_printf("the error of %s is %.1f %%, more than %.1f %%",
                                            row->metric, 100 * off, 100 * a->tolerance_frac));
    }
    g_autofree char *text = text_of(w);
    if (!a->json)
        fputs(text, stdout);
    for (guint i = 0; i < missed->len && !a->json; i++)
        printf("missed: %s\n", (const char *)missed->pdata[i]);
    for (guint i = 0; i < w->findings->len; i++)
        g_ptr_array_add(missed, g_strdup(w->findings->pdata[i]));
    g_autofree char *json = rh_report_evaluation_json(e, missed);
    if (a->json)
        fputs(json, stdout);
    rh_output_answered();
    for (guint i = 0; i < a->outputs->len; i++)
        if (!rh_output_write(a->outputs->pdata[i], json, error))
            return 3;
    return missed->len > 0 ? 1 : 0;
}

/* Warns of a result and a launch that cannot be of one run. */
static void warn_of_others(const RhArguments *a, const RhServiceResultFile *f,
                           const RhLaunchedDeployment *launch)
{
    if (f->model && launch && launch->model && !a->workload &&
        g_ascii_strcasecmp(f->model, launch->model) != 0) {
        g_autofree char *line = g_strdup_printf(
            "warning: %s is of %s, and the launch starts %s: the first is predicted (-w says which)",
            a->cases, f->model, launch->model);
        rh_terminal_hint(line);
    }
    if (f->count > 0 && f->count < f->concurrency) {
        g_autofree char *line = g_strdup_printf(
            "warning: %" G_GINT64_FORMAT " requests of up to %d clients: most clients had none, "
            "so that rates do not compare",
            (gint64)f->count, (int)f->concurrency);
        rh_terminal_hint(line);
    }
}

static int predict(const RhArguments *a, const RhServiceResultFile *f, RhDeployment *deployment,
                   RhLaunchedDeployment *launch, GError **error)
{
    g_auto(RhServedInputs) inputs = {0};
    if (!rh_served_inputs_load(a, launch, deployment, &inputs, error))
        return 3;
    RhInputs *in = inputs.in;
    RhServeRequests *asked = inputs.asked;
    const RhServing *serving = &inputs.serving;
    g_autoptr(RhService) service = rh_service_new(serving, deployment, error);
    if (!service)
        rh_service_room(serving, deployment, error);
    asked->client.timeout_s = rh_terminal_left_s(a->timeout_s);
    g_autoptr(RhServiceResult) result =
        service ? rh_service_run(service, asked->list, &asked->client, error) : NULL;
    if (!result)
        return 3;
    RhServiceMetrics outcome = rh_service_metrics(result, &asked->slos);
    g_auto(RhServeErrorBars) trust =
        rh_serve_error_bars(serving, deployment, rh_preempted_count(result));
    g_autofree char *text = rh_deployment_format(deployment);
    g_autoptr(GPtrArray) findings = rh_service_findings(
        f, in->model, serving->recipe, in->hardware->device, rh_deployment_gpus(deployment));
    Answer answer = {f, in, &outcome, &trust, text, asked, findings};
    return show(a, &answer, error);
}

int rh_validate_service(const RhArguments *a, GError **error)
{
    static const RhOutput kinds[] = {RH_OUTPUT_JSON, RH_OUTPUT_NONE};
    if (!rh_outputs_check(a->outputs, kinds, error))
        return 2;
    g_autoptr(RhServiceResultFile) f = rh_service_figures_load(a->cases, error);
    if (!f)
        return 3;
    if (!check_words(a, f, error))
        return 2;
    RhArguments asked = *a, words;
    g_autoptr(RhLaunchedDeployment) launch = NULL;
    asked.from = a->froms->len > 0 ? a->froms->pdata[0] : NULL;
    if (!fill_words(f, &asked, error) || !rh_launched_service_read(&asked, &words, &launch, error))
        return 3;
    if (f->inferred) {
        g_autofree char *line = g_strdup_printf(
            "note: %s does not say how many clients there were: %d, as its rate and its "
            "mean latency have it (Little's law)",
            a->cases, f->concurrency);
        rh_terminal_hint(line);
    }
    warn_of_others(a, f, launch);
    RhDeployment deployment = launch ? launch->deployment : rh_deployment_default();
    if (a->strategy && !rh_deployment_parse(a->strategy, &deployment, error))
        return 2;
    return predict(&words, f, &deployment, launch, error);
}
