#include "validate/perform/compute.h"

#include <string.h>

struct RhCompute {
    const RhWorker *worker;
    void *state; /* the worker's, owned */
    GThread *thread;
    GMutex lock;
    GCond changed;
    int32_t bundle; /* current bundle; -1: none */
    bool done, ending;
    double t_end_s;
};

const RhWorker *rh_worker_by_name(const char *name)
{
    static const RhWorker *const workers[] = {&RH_WORKER_BLAS, &RH_WORKER_CUDA};
    for (size_t i = 0; i < G_N_ELEMENTS(workers); i++)
        if (strcmp(workers[i]->name, name) == 0)
            return workers[i];
    return NULL;
}

static gpointer run_kernels(gpointer data)
{
    RhCompute *x = data;
    g_mutex_lock(&x->lock);
    while (!x->ending) {
        if (x->bundle < 0 || x->done) {
            g_cond_wait(&x->changed, &x->lock);
            continue;
        }
        g_mutex_unlock(&x->lock);
        double t_end_s = x->worker->run(x->state, x->bundle);
        g_mutex_lock(&x->lock);
        x->t_end_s = t_end_s;
        x->done = true;
    }
    g_mutex_unlock(&x->lock);
    return NULL;
}

void rh_compute_start(RhCompute *x, int32_t bundle)
{
    g_mutex_lock(&x->lock);
    x->bundle = bundle;
    x->done = false;
    g_cond_signal(&x->changed);
    g_mutex_unlock(&x->lock);
}

bool rh_compute_poll(RhCompute *x, double *t_end_s)
{
    g_mutex_lock(&x->lock);
    bool over = x->bundle >= 0 && x->done;
    if (over) {
        *t_end_s = x->t_end_s;
        x->bundle = -1;
    }
    g_mutex_unlock(&x->lock);
    return over;
}

RhCompute *rh_compute_new(const RhWorker *worker, const RhProgram *p, int place, GError **error)
{
    void *state = worker->open(p, place, error);
    if (!state)
        return NULL;
    RhCompute *x = g_new0(RhCompute, 1);
    x->worker = worker;
    x->state = state;
    x->bundle = -1;
    g_mutex_init(&x->lock);
    g_cond_init(&x->changed);
    x->thread = g_thread_new("compute", run_kernels, x);
    return x;
}

void rh_compute_free(RhCompute *x)
{
    if (!x)
        return;
    g_mutex_lock(&x->lock);
    x->ending = true;
    g_cond_signal(&x->changed);
    g_mutex_unlock(&x->lock);
    g_thread_join(x->thread);
    g_mutex_clear(&x->lock);
    g_cond_clear(&x->changed);
    x->worker->close(x->state);
    g_free(x);
}
