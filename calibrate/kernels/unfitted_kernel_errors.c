#include "calibrate/kernels/unfitted_kernel_errors.h"

#include <math.h>

#include "base/garray_access.h"

typedef struct {
    const GPtrArray *raws;
    RhKernelsFit *fit;
    RhDeadline deadline;
} Work;

static void add_errors(const Work *w, const char *name, GArray *errors, const RhRawRow *worst)
{
    RhFitClass c = {.name = g_strdup(name), .predicted = true};
    if (errors->len == 0) {
        g_free(c.name);
        return;
    }
    rh_fit_figures_of(RH_ELEMENTS(errors, double), errors->len, &c.held_out);
    c.held_out.worst = rh_raw_describe(worst);
    g_array_append_val(w->fit->classes, c);
}

/* Seconds that the model predicts for a row; 0 when it predicts nothing. */
typedef double (*PredictFunc)(const Work *w, const RhRawRow *row);

static double predict_grouped(const Work *w, const RhRawRow *row)
{
    if (row->cls != RK_GROUPED_GEMM || row->kernel.batch < 1)
        return 0;
    RhKernel k = row->kernel;
    k.cls = RH_KERNEL_GEMM;
    k.m = MAX(k.m / k.batch, 1);
    return rh_kernel_time_s(w->fit->device, &k);
}

static const RhRawRow *gemm_alone(const Work *w, const RhKernel *k)
{
    for (guint i = 0; i < w->raws->len; i++) {
        const RhRaw *raw = g_ptr_array_index(w->raws, i);
        for (guint r = 0; r < raw->rows->len; r++) {
            const RhRawRow *row = &g_array_index(raw->rows, RhRawRow, r);
            bool alone = row->kernel.cls == RH_KERNEL_GEMM ||
                         (row->cls == RK_GEMM_BESIDE_COPY && row->kernel.heads == 0);
            if (alone && row->kernel.dtype == k->dtype && row->kernel.m == k->m &&
                row->kernel.n == k->n && row->kernel.k == k->k &&
                MAX(row->kernel.batch, 1) == MAX(k->batch, 1))
                return row;
        }
    }
    return NULL;
}

/* Predicts contention: a rehearsal runs kernels at (sms - held) / sms beside communication. It is
 * compared with the same GEMM's own time, so that the GEMM model's error does not count. */
static double predict_contention(const Work *w, const RhRawRow *row)
{
    double sms = w->fit->device->sms_count, held = row->kernel.heads;
    const RhRawRow *alone = NULL;
    if (row->cls == RK_GEMM_BESIDE_COPY && held > 0 && held < sms)
        alone = gemm_alone(w, &row->kernel);
    return alone ? alone->seconds * sms / (sms - held) : 0;
}

static void predict(const Work *w, const char *name, PredictFunc seconds_of)
{
    g_autoptr(GArray) errors = g_array_new(FALSE, FALSE, sizeof(double));
    const RhRawRow *worst = NULL;
    double worst_frac = -1;
    for (guint i = 0; i < w->raws->len; i++) {
        const RhRaw *raw = g_ptr_array_index(w->raws, i);
        for (guint k = 0; k < raw->rows->len; k++) {
            const RhRawRow *row = &g_array_index(raw->rows, RhRawRow, k);
            double seconds = rh_deadline_passed(w->deadline) ? 0 : seconds_of(w, row);
            if (seconds <= 0)
                continue;
            double off = seconds / row->seconds - 1;
            g_array_append_val(errors, off);
            if (fabs(off) > worst_frac) {
                worst_frac = fabs(off);
                worst = row;
            }
        }
    }
    add_errors(w, name, errors, worst);
}

void rh_kernels_predict(RhKernelsFit *fit, const GPtrArray *raws, RhDeadline deadline)
{
    Work w = {raws, fit, deadline};
    predict(&w, "grouped gemm", predict_grouped);
    predict(&w, "gemm beside SMs held", predict_contention);
}
