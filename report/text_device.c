#include "report/text_device.h"

#include <string.h>

#include "base/json/json.h"
#include "base/text/text_table.h"
#include "platforms/platform_constants.h"
#include "report/format.h"

#define COLUMNS    79
#define NAME_SHORT 26 /* characters of a name, of which two fit into a line with their values */

static const RhFact *fact_at(const RhDevice *d, const RhFactRow *row)
{
    return (const RhFact *)(const void *)((const char *)d + row->offset);
}

static bool is_said(const RhFact *fact)
{
    return fact->tag != RH_TAG_NONE;
}

static bool is_fitted(const RhDevice *d)
{
    return d->curves.gemm_peak_frac[RH_DTYPE_BF16].tag != RH_TAG_ASSUMED;
}

static char *value_text(const RhFact *fact, RhQuantity kind)
{
    return is_said(fact) ? rh_quantity_format(fact->value, kind, 3) : g_strdup("-");
}

char *rh_devices_text(const GPtrArray *devices)
{
    g_autoptr(RhTable) table = rh_table_new("<<>>>>><");
    GString *out = g_string_new(NULL);
    rh_table_rowf(table, "device|generation|bf16|fp8|memory|bandwidth|power|fit");
    for (guint i = 0; i < devices->len; i++) {
        const RhDevice *d = g_ptr_array_index(devices, i);
        const RhFact *peaks = d->peak_flops_per_s;
        bool half = peaks[RH_DTYPE_FP16].value > peaks[RH_DTYPE_BF16].value;
        g_autofree char *peak =
            value_text(&peaks[half ? RH_DTYPE_FP16 : RH_DTYPE_BF16], RH_QUANTITY_FLOPS_PER_S);
        g_autofree char *fp8 = value_text(&peaks[RH_DTYPE_FP8], RH_QUANTITY_FLOPS_PER_S);
        g_autofree char *memory = value_text(&d->hbm_bytes, RH_QUANTITY_BYTES);
        g_autofree char *rate = value_text(&d->hbm_bytes_per_s, RH_QUANTITY_BYTES_PER_S);
        g_autofree char *power = value_text(&d->power_w, RH_QUANTITY_W);
        char *cut[] = {peak, fp8};
        for (size_t k = 0; k < G_N_ELEMENTS(cut); k++)
            if (strstr(cut[k], "FLOP/s"))
                *strstr(cut[k], "FLOP/s") = '\0';
        rh_table_rowf(table, "%s|%s|%s|%s|%s|%s|%s|%s", d->name,
                      d->generation ? d->generation : "-", peak, fp8, memory, rate, power,
                      is_fitted(d) ? "yes" : "no");
    }
    rh_table_append(table, out, "");
    g_string_append(out,
                    "\nbf16, fp8: dense peak, FLOP/s (of fp16 where that is higher than of bf16)\n"
                    "fit: how kernels reach the peaks was fitted to this device, or else (no) is\n"
                    "assumed from its generation\n"
                    "next: rehearse show devices h100-sxm\n"
                    "      rehearse show devices h100-sxm --template >my-gpu.json\n"
                    "      rehearse plan ... -p \"my-gpu.json:8x4,ib:400Gb/s\"\n");
    return g_string_free(out, FALSE);
}

/* Appends facts by their keys in a file, two per line where their names are short. */
static void append_rows(const RhDevice *d, GString *out, bool constants)
{
    bool short_names = true;
    g_autoptr(GPtrArray) cells = g_ptr_array_new_with_free_func(g_free);
    size_t count = 0;
    const RhFactRow *rows = rh_facts(&count);
    for (size_t i = 0; i < count; i++)
        if (rows[i].device && rh_facts_of_generation(&rows[i]) == constants &&
            is_said(fact_at(d, &rows[i]))) {
            short_names &= strlen(rows[i].place) <= NAME_SHORT;
            g_ptr_array_add(cells, g_strdup(rows[i].place));
            g_ptr_array_add(cells, rh_text_fact(fact_at(d, &rows[i]), rows[i].kind));
        }
    while (cells->len % 4 != 0)
        g_ptr_array_add(cells, g_strdup(""));
    g_autoptr(RhTable) table = rh_table_new(short_names ? "<><>" : "<>");
    char **c = (char **)cells->pdata;
    for (guint i = 0; i < cells->len; i += short_names ? 4 : 2)
        if (short_names)
            rh_table_rowf(table, "%s|%s|%s|%s", c[i], c[i + 1], c[i + 2], c[i + 3]);
        else if (*c[i])
            rh_table_rowf(table, "%s|%s", c[i], c[i + 1]);
    rh_table_append(table, out, "");
}

static void append_sources(const RhDevice *d, GString *out)
{
    size_t count = 0;
    const RhFactRow *rows = rh_facts(&count);
    g_string_append(out, "\nsources\n");
    for (size_t i = 0; i < count; i++) {
        const RhFact *fact = fact_at(d, &rows[i]);
        if (!rows[i].device || !is_said(fact))
            continue;
        g_autofree char *line =
            g_strdup_printf("%s%s%s (%s)", fact->source, *fact->date ? ", " : "", fact->date,
                            rh_tag_name(fact->tag));
        g_string_append_printf(out, "  %s:\n    ", rows[i].place);
        rh_text_wrap(out, line, 4, COLUMNS);
    }
}

char *rh_device_text(const RhDevice *d, bool sources)
{
    GString *out = g_string_new(NULL);
    g_string_printf(out, "%s: %d SMs%s%s\n\n", d->name, d->sms_count,
                    d->generation ? ", generation " : "", d->generation ? d->generation : "");
    append_rows(d, out, false);
    g_string_append(out, "\nconstants of kernels; percentages are of the peak or of full power\n");
    append_rows(d, out, true);
    if (!is_fitted(d))
        g_string_append(
            out,
            "\nThese constants were not fitted to this device. Predicted in the same way, steps\n"
            "on A100 and B200 were off by 14 to 20 % in the median; other makes may be\n"
            "further off.\n");
    g_string_append(out, "\n--set device.KEY=VALUE changes one, for example device.hbm=90GiB\n"
                         "m measured, f fitted, d data sheet, a assumed");
    g_string_append(out, sources ? "\n" : "; -v names every source\n");
    if (sources)
        append_sources(d, out);
    return g_string_free(out, FALSE);
}

/* --- a template of a device file --- */

static void put_fact(RhJsonWriter *w, const char *key, const RhFact *fact, RhQuantity kind)
{
    g_autofree char *value = rh_quantity_format(fact->value, kind, 6);
    rh_json_begin_object(w, key);
    rh_json_put_string(w, "value", value);
    rh_json_put_string(w, "tag", rh_tag_name(fact->tag));
    rh_json_put_string(w, "source", fact->source);
    rh_json_put_string(w, "date", fact->date);
    rh_json_end_object(w);
}

static void put_datasheet(RhJsonWriter *w, const RhDevice *d, bool peaks)
{
    size_t count = 0;
    const RhFactRow *rows = rh_facts(&count);
    for (size_t i = 0; i < count; i++) {
        const char *dot = strchr(rows[i].place, '.');
        if (rows[i].device && !rh_facts_of_generation(&rows[i]) && (dot != NULL) == peaks &&
            is_said(fact_at(d, &rows[i])))
            put_fact(w, dot ? dot + 1 : rows[i].place, fact_at(d, &rows[i]), rows[i].kind);
    }
}

char *rh_device_template(const RhDevice *d)
{
    g_autoptr(RhJsonWriter) w = rh_json_writer_new(true);
    rh_json_begin_object(w, NULL);
    rh_json_put_string(w, "name", "my-gpu");
    if (d->generation)
        rh_json_put_string(w, "generation", d->generation);
    rh_json_put_int(w, "sms", d->sms_count);
    rh_json_begin_object(w, "peak");
    put_datasheet(w, d, true);
    rh_json_end_object(w);
    put_datasheet(w, d, false);
    rh_json_end_object(w);
    g_autofree char *body = rh_json_writer_steal(w);
    return g_strdup_printf(
        "// A GPU from its data sheet: %s, to be changed. FLOP/s are dense, not sparse.\n"
        "// Its kernels' constants (gemm, attention, memory, sustained_clock, kernel_floor) are\n"
        "// left out: they are its generation's, tagged assumed. \"power_limit\", a fact like\n"
        "// \"power\", lowers the clock.\n%s",
        d->name, body);
}
