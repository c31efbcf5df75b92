#include "calibrate/kernels/raw_table_row.h"

#include <math.h>

#include "base/interned_strings.h"
#include "calibrate/kernels/csv_columns.h"

bool rh_raw_take(const RhRawReading *r, const char *column, double low, double *out)
{
    return rh_csv_take(r->csv, r->row, column, low, RH_TABLE_SIDE_MOST, out, r->error);
}

bool rh_raw_take_whole(const RhRawReading *r, const char *column, double low, double *out)
{
    if (!rh_raw_take(r, column, low, out))
        return false;
    return floor(*out) == *out || rh_csv_fail(r->csv, r->row, rh_csv_column(r->csv, column),
                                              "is not a whole number", r->error);
}

void rh_raw_leave_out(const RhRawReading *r, const char *name)
{
    const char *interned = rh_intern(name);
    r->out->unknown_count++;
    if (!g_ptr_array_find(r->out->unknown, interned, NULL))
        g_ptr_array_add(r->out->unknown, (void *)(uintptr_t)interned);
}

void rh_raw_add(const RhRawReading *r, const char *name, const RhKernel *k, double seconds)
{
    RhRawRow row = {.name = rh_intern(name),
                    .kernel = *k,
                    .seconds = seconds,
                    .repetitions = 1,
                    .line = r->row->line};
    g_array_append_val(r->out->rows, row);
}

RhKernel rh_raw_gemm(RhDtype dtype, double m, double n, double k)
{
    return (RhKernel){.cls = RH_KERNEL_GEMM,
                      .dtype = (uint8_t)dtype,
                      .batch = 1,
                      .m = (int64_t)m,
                      .n = (int64_t)n,
                      .k = (int64_t)k,
                      .bytes = rh_dtype_bytes(dtype) * (m * k + k * n + m * n)};
}
