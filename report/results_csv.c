/* Formats results as CSV (RFC 4180, '.' as the decimal point in every locale). */
#include "report/report.h"
#include "strategies/knobs.h"

const char *rh_report_unit(bool pictures)
{
    return pictures ? "samples" : "tok";
}

const char *rh_report_rate_key(bool pictures)
{
    return pictures ? "samples_per_s_per_gpu" : "tokens_per_s_per_gpu";
}

/* Is the knob a column? A quiet one is where some row has a value to show. */
static bool is_column(const RhKnob *knob, RhRehearsal *const *rows, guint count)
{
    bool said = !knob->quiet;
    for (guint i = 0; i < count && !said; i++)
        said = !rh_knob_is_silent(knob, &rows[i]->layout);
    return said && !knob->list;
}

static void append_number(GString *out, double value)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    g_string_append_printf(out, ",%s", g_ascii_formatd(text, sizeof text, "%.9g", value));
}

static void append_figures(GString *out, const RhRehearsal *r)
{
    append_number(out, r->step_time_s);
    append_number(out, r->tokens_per_s_per_gpu);
    append_number(out, r->model_flops_per_s_per_gpu);
    append_number(out, r->mfu_frac);
    append_number(out, r->hfu_frac);
    append_number(out, r->memory.peak_bytes);
    append_number(out, r->memory_capacity_bytes);
    g_string_append(out, r->fits ? ",true" : ",false");
    append_number(out, rh_report_bubble_frac(r));
    append_number(out, rh_report_exposed_frac(r));
    g_string_append_c(out, '\n');
}

static char *csv_of(RhRehearsal *const *rows, guint count)
{
    GString *out = g_string_new("rank");
    for (const RhKnob *knob = rh_knobs; knob->key; knob++)
        if (is_column(knob, rows, count))
            g_string_append_printf(out, ",%s", rh_knob_json_key(knob));
    g_string_append_printf(out, ",step_time_s,%s",
                           rh_report_rate_key(count > 0 && rows[0]->pictures));
    g_string_append(
        out,
        ",model_flops_per_s_per_gpu,mfu_frac,hfu_frac,memory_peak_bytes,memory_capacity_bytes,fits,bubble_frac,"
        "exposed_communication_frac\n");
    for (guint i = 0; i < count; i++) {
        g_string_append_printf(out, "%u", i + 1);
        for (const RhKnob *knob = rh_knobs; knob->key; knob++) {
            if (!is_column(knob, rows, count))
                continue;
            int32_t value = rh_knob_value(knob, &rows[i]->layout);
            g_autofree char *text = rh_knob_value_text(knob, value);
            g_string_append_printf(out, ",%s", text);
        }
        append_figures(out, rows[i]);
    }
    return g_string_free(out, FALSE);
}

char *rh_report_plan_csv(const RhPlan *plan)
{
    return csv_of((RhRehearsal *const *)plan->entries->pdata, plan->entries->len);
}

char *rh_report_run_csv(const RhRehearsal *r)
{
    RhRehearsal *const row = (RhRehearsal *)r;
    return csv_of(&row, 1);
}
