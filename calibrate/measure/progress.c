#include "calibrate/measure/progress.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define BAR 20

double rk_progress_remaining_s(const RkProgress *p)
{
    double budget = fmax(0, p->budget_s - p->elapsed_s);
    if (p->done == 0)
        return budget;
    double pace = p->elapsed_s / (double)p->done;
    return fmin(budget, pace * (double)(p->total - p->done));
}

void rk_progress_line(const RkProgress *p, char *out, size_t size)
{
    char bar[BAR + 1];
    double part = p->total > 0 ? (double)p->done / (double)p->total : 1;
    double spent = p->budget_s > 0 ? fmin(1, p->elapsed_s / p->budget_s) : 0;
    part = fmax(part, p->done < p->total ? spent : 1); /* the budget may end before the samples */
    int filled = (int)(part * BAR);
    memset(bar, '#', BAR);
    memset(bar + filled, '.', (size_t)(BAR - filled));
    bar[BAR] = '\0';
    int left = (int)ceil(rk_progress_remaining_s(p));
    snprintf(out, size, "[%s] %3d %%  %zu/%zu  %d:%02d left  %s", bar, (int)(100 * part), p->done,
             p->total, left / 60, left % 60, p->now);
}
