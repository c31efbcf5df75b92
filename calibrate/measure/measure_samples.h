#pragma once
/* A run: samples are measured one after another within a budget, with progress on standard error,
 * and written as they come. What a device is and how it is timed is the caller's (RkDevice). */
#include "calibrate/measure/error_message.h"
#include "calibrate/measure/options.h"
#include "calibrate/measure/sample_files.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum { RK_EXIT_OK, RK_EXIT_PARTIAL, RK_EXIT_CHECK, RK_EXIT_INPUT, RK_EXIT_DEVICE } RkExit;

typedef enum {
    RK_MEASURED,
    RK_LEFT_OUT, /* this device cannot run the sample: `why` says so; others go on */
    RK_BROKEN,   /* nothing more can be measured */
} RkOutcome;

typedef struct {
    void *self; /* passed to the functions */
    RkRawHead head;

    /* Times one shape within about `budget_s` seconds; fills all of `row` but its sample. */
    RkOutcome (*measure)(void *self, const RkSample *shape, double budget_s, RkRawRow *row,
                         RkError *why);

    /* Times a whole list run one kernel after another, about `budget_s` seconds for each way that
     * the device has of it, and hands each to rk_run_whole. False with the reason. */
    bool (*measure_whole)(void *self, const RkList *list, double budget_s, FILE *out, RkError *why);
} RkDevice;

/* Returns the seconds of a monotonic clock. */
double rk_now_s(void);

/* Ctrl-C and a polite kill end a run after the sample in hand. */
void rk_stop_on_signals(void);
bool rk_is_stopped(void);

/* Model name of the host's processor; "" when unknown. */
void rk_host_cpu(char *out, size_t size);
/* Today, as "2026-11-30T12:00:00Z". */
void rk_date(char *out, size_t size);

/* Measures the samples in their order. */
RkExit rk_run_samples(const RkDevice *device, const RkOptions *options, const RkSamples *samples,
                      FILE *out);
/* Measures the kernels of a list, each distinct one once, and the list as a whole; half of the
 * budget is for the whole. */
RkExit rk_run_list(const RkDevice *device, const RkOptions *options, const RkList *list, FILE *out);
/* Writes the row of a whole list that runs `kernel` ("sequence"); false when it cannot. */
bool rk_run_whole(const RkList *list, const char *kernel, RkRawRow row, FILE *out);

/* Returns the first line of a list with the same kernel as `line`. */
size_t rk_list_first_like(const RkList *list, size_t line);

#ifdef __cplusplus
}
#endif
