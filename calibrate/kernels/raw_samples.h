#pragma once
/* Raw samples of one machine's kernels, as `rehearse-kernels` writes them
 * (docs/theory/calibration.md):
 *
 *   # rehearse.raw/1
 *   # device=NVIDIA H200
 *   # sms=132
 *   kernel,dtype,batch,m,n,k,heads,kv_heads,causal,bytes,flops,library,repetitions,seconds,...
 *
 * A file that was cut is good up to its last whole line. Kernels and number formats that this
 * version does not know are counted and left out. Knows the format; refuses to know any model. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "calibrate/measure/kernel_sample.h"
#include "platforms/devices/kernel.h"

#define RH_RAW_FIRST_LINE "# rehearse.raw/1"

typedef struct {
    RkClass cls;           /* RK_CLASS_NONE: of a kernel that no program here measures */
    const char *name;      /* interned, as in the file */
    const char *library;   /* interned: who runs the kernel, "cublasLt 13.0.1"; "own": below */
    RhKernel kernel;       /* shape, bytes and flops; its class, where a device model has it */
    double seconds;        /* median of the repetitions */
    double low_s, high_s;  /* 95 % interval of the median; both 0: unknown */
    double sm_hz, power_w; /* while it ran; 0: unknown */
    int64_t repetitions;
    int32_t line;
} RhRawRow;

typedef struct {
    char *name;                                   /* of the file */
    const char *device, *date, *library_versions; /* interned; "" when unknown */
    int32_t sms_count;                            /* 0: unknown */
    double hbm_bytes, clock_most_hz;              /* 0: unknown */
    GArray *rows;                                 /* RhRawRow */
    GPtrArray *unknown;                           /* interned names left out, each once */
    int32_t unknown_count;                        /* rows left out for them */
    bool cut; /* the last line was not whole, or complete=yes is missing */
} RhRaw;

/* RH_ERROR_IO; RH_ERROR_INPUT with FILE:LINE:CELL. */
RhRaw *rh_raw_load(const char *path, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Parses raw samples from text; `name` is used in messages. */
RhRaw *rh_raw_parse(const char *name, const char *text, GError **error) G_GNUC_WARN_UNUSED_RESULT;
void rh_raw_free(RhRaw *raw);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhRaw, rh_raw_free)

/* Does this text begin as raw samples do, or as a published table that can be read as such
 * (raw_tables.h)? */
bool rh_raw_begins(const char *text);
/* Is this attention by the program's own kernel, which stands in where cuDNN is missing? Its times
 * say nothing about what frameworks run. */
bool rh_raw_is_stand_in(const RhRawRow *row);
/* Clock of the row over the most that its GPU may reach; 0: unknown. */
double rh_raw_clock_frac(const RhRaw *raw, const RhRawRow *row);
/* "gemm bf16 m=4096 n=4096 k=4096 (line 12)". Caller frees. */
char *rh_raw_describe(const RhRawRow *row);
