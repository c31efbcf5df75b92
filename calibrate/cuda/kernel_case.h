#pragma once
/* One kernel class and one prepared sample of it.
 *
 * A class is a file with one RkKernel in it and a row in kernel_table.cu. It names its operands,
 * launches itself on them, and knows the same result in double precision. */
#include "calibrate/cuda/clock_power_meter.h"
#include "calibrate/cuda/gpu.h"

#define RK_OPERANDS_MAX 12

typedef struct RkCase RkCase;

typedef struct {
    const char *library; /* "own" unless `prepare` writes another */

    /* Appends the buffers of one run with rk_case_operand, always in the same order. */
    void (*operands)(const RkSample *sample, RkCase *out);

    /* May be NULL. Makes a plan, or says why this device cannot run the sample. */
    bool (*prepare)(RkGpu *gpu, RkCase *c, RkError *why);

    /* Enqueues one run on the buffers given. */
    void (*launch)(const RkGpu *gpu, const RkCase *c, cudaStream_t stream, void *const *buffers);

    /* May be NULL: then events around launches tell the time. Seconds of one run; negative when it
     * failed. May set `during`. */
    double (*time_s)(const RkGpu *gpu, RkCase *c);

    /* May be NULL. Frees the plan. */
    void (*release)(RkCase *c);

    /* NULL where there is nothing to compare. Replaces outputs by what the inputs imply. */
    void (*reference)(const RkSample *sample, double *const *buffers);
    const RkSample *checks; /* shapes for `reference`; ends with class none */
} RkKernel;

struct RkCase {
    const RkKernel *kernel;
    RkSample sample;
    int operands_count;
    RkOperand operands[RK_OPERANDS_MAX];
    char *data[RK_OPERANDS_MAX]; /* as many times as there are rotations, one after the other */
    size_t stride[RK_OPERANDS_MAX];
    int rotations;
    char library[64];
    void *plan;
    size_t mark;      /* of the arena, before this case */
    uint64_t turn;    /* which rotation is next */
    RkReading during; /* clock and power while the GPU worked on it; 0: it was too short to tell */
};

/* Returns the kernel that measures a class, or NULL. */
const RkKernel *rk_kernel(RkClass cls);

/* Enumerates all kernels, a class's second choice after its first; NULL at the end. */
const RkKernel *rk_kernel_at(size_t index, RkClass *cls);

void rk_case_operand(RkCase *c, RkOperand operand);

/* Takes and fills memory and prepares the kernel. `rotations_max` 1 keeps one set of buffers; else
 * there are as many as exceed the L2 cache. What it took from the arena is given back by
 * rk_case_close, in reverse order of opening. */
bool rk_case_open(RkGpu *gpu, const RkSample *sample, int rotations_max, RkCase *out, RkError *why);

/* Opens a case with a kernel of the caller's choice. */
bool rk_case_open_with(RkGpu *gpu, const RkKernel *kernel, const RkSample *sample,
                       int rotations_max, RkCase *out, RkError *why);
void rk_case_close(RkGpu *gpu, RkCase *c);

/* Records that a library refused to enqueue a run: a launch returns nothing, and the time of
 * nothing is short. */
void rk_case_refuse(void);
/* Returns whether a run was refused since the last call. */
bool rk_case_was_refused(void);

/* Enqueues the next run, on the next set of buffers. */
void rk_case_launch(const RkGpu *gpu, RkCase *c, cudaStream_t stream);

/* Runs the class's checks. `worst`: the largest error found, in units of what the dtype allows. */
bool rk_kernel_check(RkGpu *gpu, const RkKernel *kernel, double *worst, RkError *why);
