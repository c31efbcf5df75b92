#include "calibrate/kernels/cpu_device_file.h"

#include "base/error.h"
#include "base/json/json.h"
#include "base/units.h"

#define STREAM_BYTES_LEAST 16e6 /* shorter ones are start and end for the most part */

/* Best rates of a file's rows; 0: none. */
typedef struct {
    double flops_per_s, bytes_per_s;
} Rates;

static Rates best_rates(const RhRaw *raw)
{
    Rates best = {0};
    for (guint i = 0; i < raw->rows->len; i++) {
        const RhRawRow *row = &g_array_index(raw->rows, RhRawRow, i);
        const RhKernel *k = &row->kernel;
        if (k->cls == RH_KERNEL_GEMM)
            best.flops_per_s = MAX(best.flops_per_s, k->flops / row->seconds);
        else if (row->cls == RK_COPY_DEVICE && k->bytes >= STREAM_BYTES_LEAST)
            best.bytes_per_s = MAX(best.bytes_per_s, k->bytes / row->seconds);
    }
    return best;
}

static void put_fact(RhJsonWriter *w, const char *key, double value, RhQuantity kind,
                     const char *tag, const char *source, const RhRaw *raw)
{
    g_autofree char *text = rh_quantity_format(value, kind, 4);
    g_autofree char *month = g_strndup(raw->date, 7);
    rh_json_begin_object(w, key);
    rh_json_put_string(w, "value", text);
    rh_json_put_string(w, "tag", tag);
    rh_json_put_string(w, "source", source);
    rh_json_put_string(w, "date", month);
    rh_json_end_object(w);
}

char *rh_host_device_text(const RhRaw *raw, GError **error)
{
    Rates best = best_rates(raw);
    if (!(best.flops_per_s > 0 && best.bytes_per_s > 0)) {
        rh_fail(error, RH_ERROR_INPUT, "%s has no rows of %s, which a device of it needs",
                raw->name, best.flops_per_s > 0 ? "copy_device" : "gemm");
        return NULL;
    }
    g_autofree char *file = g_path_get_basename(raw->name);
    g_autofree char *product = g_strdup_printf("%s: the best product in single precision", file),
                    *stream = g_strdup_printf("%s: the best copy in memory", file),
                    *memory = g_strdup_printf("%s: memory of the machine", file);
    g_autoptr(RhJsonWriter) w = rh_json_writer_new(true);
    rh_json_begin_object(w, NULL);
    rh_json_put_string(w, "name", "this-host");
    rh_json_begin_array(w, "names");
    rh_json_put_string(w, NULL, raw->device);
    rh_json_end_array(w);
    rh_json_put_string(w, "generation", "cpu");
    rh_json_put_int(w, "sms", raw->sms_count);
    rh_json_begin_object(w, "peak");
    put_fact(w, "fp32", best.flops_per_s, RH_QUANTITY_FLOPS_PER_S, "measured", product, raw);
    put_fact(w, "bf16", best.flops_per_s, RH_QUANTITY_FLOPS_PER_S, "assumed",
             "no units for bf16: as fp32", raw);
    rh_json_end_object(w);
    put_fact(w, "hbm", raw->hbm_bytes, RH_QUANTITY_BYTES, "measured", memory, raw);
    put_fact(w, "hbm_bandwidth", best.bytes_per_s, RH_QUANTITY_BYTES_PER_S, "measured", stream,
             raw);
    rh_json_end_object(w);
    return rh_json_writer_steal(w);
}
