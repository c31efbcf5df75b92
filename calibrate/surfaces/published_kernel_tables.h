#pragma once
/* Published tables of single kernels of serving engines: what surfaces (platforms/devices/time_surface.h) are
 * fitted to. Which one a file is, its columns tell; aiconfigurator's are known. Knows the formats;
 * refuses to know any model. */
#include "platforms/devices/time_surface.h"

typedef enum {
    RH_TABLED_KERNEL,
    RH_TABLED_SCALE,  /* finds the scale of a GEMM's left operand, m x k */
    RH_TABLED_CAST,   /* casts it by its scale */
    RH_TABLED_REDUCE, /* sums `kernel.bytes` of each of `kernel.batch` ranks of a node */
} RhTableRole;

typedef struct {
    RhTableRole role;
    RhSurfaceKind kind;  /* of KERNEL; others NONE */
    const char *format;  /* interned, RhSurface.format */
    const char *source;  /* interned: the kernel's name in the table */
    const char *library; /* EXPERTS, interned: whose kernels these are, "cutlass"; "" unknown */
    bool casts_inside;
    bool spread; /* EXPERTS: over several ranks, of which one was timed */
    RhKernel kernel;
    double seconds;
    int32_t line;
} RhTableSample;

typedef struct {
    char *name;                     /* of the file */
    const char *device, *framework; /* interned; framework "TRTLLM" */
    const char *library;            /* interned, "TRTLLM 1.3.0rc20" */
    GArray *rows;                   /* RhTableSample */
    int32_t unknown_count;          /* rows of kernels that no surface is for */
    GPtrArray *unknown;             /* interned names of them, each once */
} RhKernelTables;

/* RH_ERROR_IO; RH_ERROR_INPUT with file:line:col. Plain or gzipped CSV. */
RhKernelTables *rh_tables_load(const char *path, GError **error) G_GNUC_WARN_UNUSED_RESULT;
RhKernelTables *rh_tables_parse(const char *name, const char *text,
                                GError **error) G_GNUC_WARN_UNUSED_RESULT;
void rh_tables_free(RhKernelTables *tables);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhKernelTables, rh_tables_free)
