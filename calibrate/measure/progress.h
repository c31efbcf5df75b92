#pragma once
/* One line that says how far a run is and how long it still takes. */
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    size_t done, total;
    double elapsed_s, budget_s;
    const char *now; /* what is measured */
} RkProgress;

/* Remaining time: by the pace so far, never more than the budget leaves. */
double rk_progress_remaining_s(const RkProgress *progress);

/* "[#####.....]  51 %  612/1200  1:32 left  gemm bf16" into `out`. */
void rk_progress_line(const RkProgress *progress, char *out, size_t size);

#ifdef __cplusplus
}
#endif
