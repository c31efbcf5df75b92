#include "strategies/serve/results/service_history.h"

#include <math.h>

#define BINS        RH_SERVICE_HISTORY_BINS
#define FIRST_BIN_S (1.0 / 1024) /* width to begin with */

RhServiceHistory *rh_service_history_new(int32_t replicas)
{
    RhServiceHistory *h = g_new0(RhServiceHistory, 1);
    h->bin_s = FIRST_BIN_S;
    h->replicas = replicas;
    h->levels = g_new0(RhServiceLevel, replicas);
    h->since_s = g_new0(double, replicas);
    return h;
}

void rh_service_history_free(RhServiceHistory *h)
{
    if (!h)
        return;
    g_free(h->levels);
    g_free(h->since_s);
    g_free(h);
}

static RhServiceBin average_bins(const RhServiceBin *a, const RhServiceBin *b)
{
    return (RhServiceBin){.waiting_s = a->waiting_s + b->waiting_s,
                          .running_s = a->running_s + b->running_s,
                          .cached_s = a->cached_s + b->cached_s,
                          .cached_most_frac = fmax(a->cached_most_frac, b->cached_most_frac),
                          .there_s = a->there_s + b->there_s};
}

static void widen(RhServiceHistory *h)
{
    for (int32_t i = 0; i < BINS; i++)
        h->bins[i] =
            i < BINS / 2 ? average_bins(&h->bins[2 * i], &h->bins[2 * i + 1]) : (RhServiceBin){0};
    h->bin_s *= 2;
    h->bins_count = (h->bins_count + 1) / 2;
}

/* Adds levels of `each` per second from one time to another; the cache's fill changes linearly to
 * `cached_frac`. */
static void add_levels(RhServiceHistory *h, double from_s, double to_s, const RhServiceBin *each,
                       double cached_frac)
{
    double rise = to_s > from_s ? (cached_frac - each->cached_s) / (to_s - from_s) : 0;
    while (to_s > BINS * h->bin_s)
        widen(h);
    h->t_end_s = fmax(h->t_end_s, to_s);
    int32_t first = MIN((int32_t)(from_s / h->bin_s), BINS - 1);
    for (int32_t i = first; i < BINS && (i == first || i * h->bin_s < to_s); i++) {
        RhServiceBin *bin = &h->bins[i];
        double a_s = fmax(from_s, i * h->bin_s), b_s = fmin(to_s, (i + 1) * h->bin_s),
               there_s = fmax(b_s - a_s, 0);
        double cached_a = each->cached_s + rise * (a_s - from_s),
               cached_b = each->cached_s + rise * (b_s - from_s);
        bin->waiting_s += each->waiting_s * there_s;
        bin->running_s += each->running_s * there_s;
        bin->there_s += each->there_s * there_s;
        bin->cached_s += (cached_a + cached_b) / 2 * there_s;
        bin->cached_most_frac = fmax(bin->cached_most_frac, fmax(cached_a, cached_b));
        h->bins_count = MAX(h->bins_count, i + 1);
    }
}

void rh_service_history_ramp(RhServiceHistory *h, int32_t replica, double t_s, double cached_frac)
{
    RhServiceLevel *level = &h->levels[replica];
    RhServiceBin each = {
        .waiting_s = level->waiting, .running_s = level->running, .cached_s = level->cached_frac};
    add_levels(h, h->since_s[replica], t_s, &each, cached_frac);
    level->cached_frac = cached_frac;
    h->since_s[replica] = t_s;
}

void rh_service_history_level(RhServiceHistory *h, int32_t replica, double t_s,
                              const RhServiceLevel *level)
{
    rh_service_history_ramp(h, replica, t_s, h->levels[replica].cached_frac);
    h->levels[replica] = *level;
}

void rh_service_history_there(RhServiceHistory *h, double t_s, int32_t replicas)
{
    RhServiceBin each = {.there_s = h->there};
    add_levels(h, h->there_since_s, t_s, &each, 0);
    h->there = replicas;
    h->there_since_s = t_s;
}

void rh_service_history_end(RhServiceHistory *h, double t_s)
{
    for (int32_t i = 0; i < h->replicas; i++)
        rh_service_history_level(h, i, fmax(t_s, h->since_s[i]), &h->levels[i]);
    rh_service_history_there(h, fmax(t_s, h->there_since_s), (int32_t)h->there);
}
