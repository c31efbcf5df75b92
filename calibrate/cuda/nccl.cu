/* Collectives of NCCL over all visible GPUs, driven from one process; with one GPU, only the cost
 * of a call. Bytes are counted as in nccl-tests: the larger of the two buffers of a rank. */
#include "calibrate/cuda/kernel_case.h"

#if __has_include(<nccl.h>)

#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>

#include "calibrate/cuda/vendor_libraries.h"

#define GPUS_MAX 16
#define CALLS    4 /* back to back in one repetition */

typedef struct {
    decltype(&ncclGetVersion) version;
    decltype(&ncclCommInitAll) init_all;
    decltype(&ncclAllReduce) all_reduce;
    decltype(&ncclReduceScatter) reduce_scatter;
    decltype(&ncclAllGather) all_gather;
    decltype(&ncclSend) send;
    decltype(&ncclRecv) recv;
    decltype(&ncclGroupStart) group_start;
    decltype(&ncclGroupEnd) group_end;
    bool ready;
    int gpus; /* of the communicators below; 0: none yet */
    ncclComm_t comms[GPUS_MAX];
    cudaStream_t streams[GPUS_MAX];
} Nccl;

/* Buffers of one sample on every GPU. */
typedef struct {
    int gpus;
    char *in[GPUS_MAX], *out[GPUS_MAX];
} Plan;

static bool load(Nccl *n)
{
    static const char *const NAMES[] = {"libnccl.so.2", NULL};
    void *l = rk_library_open(NAMES);
    return RK_SYMBOL(l, n, version, "ncclGetVersion") &&
           RK_SYMBOL(l, n, init_all, "ncclCommInitAll") &&
           RK_SYMBOL(l, n, all_reduce, "ncclAllReduce") &&
           RK_SYMBOL(l, n, reduce_scatter, "ncclReduceScatter") &&
           RK_SYMBOL(l, n, all_gather, "ncclAllGather") && RK_SYMBOL(l, n, send, "ncclSend") &&
           RK_SYMBOL(l, n, recv, "ncclRecv") && RK_SYMBOL(l, n, group_start, "ncclGroupStart") &&
           RK_SYMBOL(l, n, group_end, "ncclGroupEnd");
}

static Nccl *library(void)
{
    static Nccl nccl;
    static bool tried;
    if (!tried)
        nccl.ready = load(&nccl);
    tried = true;
    return nccl.ready ? &nccl : NULL;
}

void rk_nccl_version(char *out, size_t size)
{
    Nccl *nccl = library();
    int version = 0;
    if (nccl != NULL && nccl->version(&version) == ncclSuccess)
        rk_version_text((size_t)version, 10000, out, size);
    else
        snprintf(out, size, "absent");
}

/* Makes the communicators, which live as long as the process: making them takes seconds. */
static bool connect(const RkGpu *gpu, Nccl *nccl, int gpus, RkError *why)
{
    int devices[GPUS_MAX];
    if (nccl->gpus > 0)
        return nccl->gpus == gpus || rk_fail(why, "one number of GPUs a run");
    for (int i = 0; i < gpus; i++)
        devices[i] = (gpu->index + i) % gpus;
    if (gpus == 1)
        devices[0] = gpu->index;
    if (nccl->init_all(nccl->comms, gpus, devices) != ncclSuccess)
        return rk_fail(why, "NCCL makes no communicator over %d GPUs", gpus);
    bool ok = true;
    for (int i = 0; ok && i < gpus; i++)
        ok = cudaSetDevice(devices[i]) == cudaSuccess &&
             cudaStreamCreateWithFlags(&nccl->streams[i], cudaStreamNonBlocking) == cudaSuccess;
    cudaSetDevice(gpu->index);
    nccl->gpus = ok ? gpus : 0;
    return ok || rk_fail(why, "no stream on another GPU");
}

static int device_of(const RkGpu *gpu, const Plan *plan, int i)
{
    return plan->gpus == 1 ? gpu->index : (gpu->index + i) % plan->gpus;
}

static void free_plan(Plan *plan)
{
    for (int i = 0; i < plan->gpus; i++) {
        cudaFree(plan->in[i]);
        cudaFree(plan->out[i]);
    }
    free(plan);
}

static bool prepare(RkGpu *gpu, RkCase *c, RkError *why)
{
    Nccl *nccl = library();
    int gpus = (int)c->sample.batch;
    if (nccl == NULL)
        return rk_fail(why, "libnccl.so.2 is not on this machine");
    if (gpus > GPUS_MAX || c->sample.n % (2 * gpus) != 0)
        return rk_fail(why, "%d GPUs do not share %lld bytes", gpus, (long long)c->sample.n);
    if (!connect(gpu, nccl, gpus, why))
        return false;
    Plan *plan = (Plan *)calloc(1, sizeof *plan);
    if (plan == NULL)
        return rk_fail(why, "no memory");
    plan->gpus = gpus;
    bool ok = true;
    for (int i = 0; ok && i < gpus; i++)
        ok = cudaSetDevice(device_of(gpu, plan, i)) == cudaSuccess &&
             cudaMalloc((void **)&plan->in[i], (size_t)c->sample.n) == cudaSuccess &&
             cudaMalloc((void **)&plan->out[i], (size_t)c->sample.n) == cudaSuccess &&
             cudaMemset(plan->in[i], 0, (size_t)c->sample.n) == cudaSuccess;
    cudaSetDevice(gpu->index);
    if (!ok) {
        cudaGetLastError();
        free_plan(plan);
        return rk_fail(why, "no memory on another GPU");
    }
    char version[32];
    rk_nccl_version(version, sizeof version);
    snprintf(c->library, sizeof c->library, "nccl %s", version);
    c->plan = plan;
    return true;
}

static void release(RkCase *c)
{
    free_plan((Plan *)c->plan);
}

static bool exchange(const Nccl *nccl, const Plan *plan, int rank, size_t elements)
{
    size_t part = elements / (size_t)plan->gpus;
    bool ok = true;
    for (int peer = 0; peer < plan->gpus; peer++)
        ok = ok &&
             nccl->send(plan->in[rank] + 2 * part * (size_t)peer, part, ncclBfloat16, peer,
                        nccl->comms[rank], nccl->streams[rank]) == ncclSuccess &&
             nccl->recv(plan->out[rank] + 2 * part * (size_t)peer, part, ncclBfloat16, peer,
                        nccl->comms[rank], nccl->streams[rank]) == ncclSuccess;
    return ok;
}

static bool shift(const Nccl *nccl, const Plan *plan, int rank, size_t elements)
{
    int next = (rank + 1) % plan->gpus, last = (rank + plan->gpus - 1) % plan->gpus;
    return nccl->send(plan->in[rank], elements, ncclBfloat16, next, nccl->comms[rank],
                      nccl->streams[rank]) == ncclSuccess &&
           nccl->recv(plan->out[rank], elements, ncclBfloat16, last, nccl->comms[rank],
                      nccl->streams[rank]) == ncclSuccess;
}

static bool call_of(const Nccl *n, const Plan *plan, const RkSample *s, int rank)
{
    size_t elements = (size_t)s->n / 2, part = elements / (size_t)plan->gpus;
    switch ((int)s->cls) {
    case RK_NCCL_ALL_REDUCE:
        return n->all_reduce(plan->in[rank], plan->out[rank], elements, ncclBfloat16, ncclSum,
                             n->comms[rank], n->streams[rank]) == ncclSuccess;
    case RK_NCCL_REDUCE_SCATTER:
        return n->reduce_scatter(plan->in[rank], plan->out[rank], part, ncclBfloat16, ncclSum,
                                 n->comms[rank], n->streams[rank]) == ncclSuccess;
    case RK_NCCL_ALL_GATHER:
        return n->all_gather(plan->in[rank], plan->out[rank], part, ncclBfloat16, n->comms[rank],
                             n->streams[rank]) == ncclSuccess;
    case RK_NCCL_ALL_TO_ALL:
        return exchange(n, plan, rank, elements);
    case RK_NCCL_SEND_RECV:
        return shift(n, plan, rank, elements);
    default:
        return false;
    }
}

static bool call_all(const Nccl *nccl, const Plan *plan, const RkSample *s)
{
    bool ok = nccl->group_start() == ncclSuccess;
    for (int rank = 0; ok && rank < plan->gpus; rank++)
        ok = call_of(nccl, plan, s, rank);
    return nccl->group_end() == ncclSuccess && ok;
}

static bool settle(const RkGpu *gpu, const Nccl *nccl, const Plan *plan)
{
    bool ok = true;
    for (int i = 0; i < plan->gpus; i++)
        ok = cudaSetDevice(device_of(gpu, plan, i)) == cudaSuccess &&
             cudaStreamSynchronize(nccl->streams[i]) == cudaSuccess && ok;
    return cudaSetDevice(gpu->index) == cudaSuccess && ok;
}

/* Times calls. Rank 0 is the measured GPU; its stream ends when all have taken part. */
static double time_calls(const RkGpu *gpu, RkCase *c)
{
    const Plan *plan = (const Plan *)c->plan;
    const Nccl *nccl = library();
    float milliseconds = -1;
    bool ok = call_all(nccl, plan, &c->sample) && settle(gpu, nccl, plan);
    cudaEventRecord(gpu->begin, nccl->streams[0]);
    for (int i = 0; ok && i < CALLS; i++)
        ok = call_all(nccl, plan, &c->sample);
    cudaEventRecord(gpu->end, nccl->streams[0]);
    if (!settle(gpu, nccl, plan) || !ok ||
        cudaEventElapsedTime(&milliseconds, gpu->begin, gpu->end) != cudaSuccess)
        return -1;
    return 1e-3 * (double)milliseconds / CALLS;
}

#else

#include <stdio.h>

#include "calibrate/cuda/vendor_libraries.h"

void rk_nccl_version(char *out, size_t size)
{
    snprintf(out, size, "absent");
}

static bool prepare(RkGpu *, RkCase *, RkError *why)
{
    return rk_fail(why, "built without nccl.h");
}

static void release(RkCase *)
{
}

static double time_calls(const RkGpu *, RkCase *)
{
    return -1;
}

#endif

static void launch(const RkGpu *, const RkCase *, cudaStream_t, void *const *)
{
}

extern const RkKernel RK_KERNEL_NCCL = {"nccl",     NULL,    prepare, launch,
                                        time_calls, release, NULL,    NULL};
