/* Describes the error bars of a service. */
#include "report/format.h"
#include "report/serve/serve_words.h"

/* Text of a fraction: "13 %", "4.2 %". */
static char *percent(double frac)
{
    return g_strdup_printf("%.*f %%", frac < 0.095 ? 1 : 0, 100 * frac);
}

static char *words_of(const RhServedBar *bar)
{
    g_autofree char *ttft = percent(bar->ttft_frac), *tpot = percent(bar->tpot_frac);
    return g_strdup_printf(
        "mean TTFT ±%s, mean TPOT ±%s: about %.0f %% of published means, of %d pairs of "
        "LLM and GPU, were within it (%s%s%s%s); percentiles were not compared with measurements",
        ttft, tpot, 100 * RH_RECORD_SHARE, bar->groups, bar->kind ? bar->kind : "all", " models",
        bar->experts_untabled ? " whose experts no table times" : "",
        bar->apart     ? ", separate pools"
        : bar->starved ? ", KV cache full"
                       : "");
}

char *rh_report_widest(const RhSloAllowance *a)
{
    g_autofree char *ttft = percent(a->ttft_frac), *tpot = percent(a->tpot_frac);
    return g_strdup_printf("the widest error bar of %s models on any device, TTFT ±%s, TPOT ±%s",
                           a->widest_of, ttft, tpot);
}

void rh_report_served_trust(GString *out, const RhServeErrorBars *trust)
{
    if (!trust)
        return;
    g_autofree char *line =
        trust->bar ? words_of(trust->bar) : g_strdup_printf("unknown: %s", trust->why_not);
    g_autofree char *labelled = g_strconcat("model error: ", line, NULL);
    rh_text_wrap(out, labelled, 2, 79);
}

void rh_put_served_trust(RhJsonWriter *w, const RhServeErrorBars *trust)
{
    if (!trust) {
        rh_json_put_null(w, "error_bar");
        return;
    }
    const RhServedBar *bar = trust->bar;
    rh_json_begin_object(w, "error_bar");
    if (bar) {
        rh_json_put_number(w, "ttft_frac", bar->ttft_frac);
        rh_json_put_number(w, "tpot_frac", bar->tpot_frac);
        rh_json_put_int(w, "rows_count", bar->rows);
        rh_json_put_int(w, "groups_count", bar->groups);
    } else {
        rh_json_put_null(w, "ttft_frac");
        rh_json_put_null(w, "tpot_frac");
    }
    rh_json_put_string(w, "why_not", trust->why_not);
    rh_json_end_object(w);
}

void rh_put_allowance(RhJsonWriter *w, const RhSloAllowance *allowance)
{
    rh_json_put_number(w, "ttft_allowance_frac", allowance->ttft_frac);
    rh_json_put_number(w, "tpot_allowance_frac", allowance->tpot_frac);
    rh_json_put_string(w, "allowance_widest_of", allowance->widest_of);
}
