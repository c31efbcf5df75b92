/* Lists the deployments of a search, before anything is known of them. */
#include "strategies/search/services/serve_plan.h"
#include "strategies/serve/server_software.h"

/* Limits that servers are run with; 0: the server's default. */
static const int32_t batches[] = {16, 32, 64, 128, 256, 512, 1024};
static const int32_t chunks[] = {512, 1024, 2048, 4096, 8192, 16384};

/* For models that make no tokens: requests of a batch, and ms that it waits for them. */
static const int32_t once_batches[] = {1, 2, 4, 8, 16, 32, 64, 128};
static const int32_t windows[] = {0, 1, 2, 5, 10, 20, 50, 100};

/* Shares of the GPUs for prompts, in sixteenths. */
static const int32_t shares[] = {2, 4, 6, 8, 10, 12, 14};

typedef struct {
    const RhServing *serving;
    const char *server;
    const RhServePlanOptions *options;
    GArray *out;
} Space;

static bool is_free(int32_t given, int32_t value)
{
    return given == 0 || given == value;
}

/* Are the degrees of a server divisors of what they cut? */
static bool is_legal(const Space *s, const RhPool *pool)
{
    const RhModel *model = s->serving->model;
    const RhPool *fixed = s->options->fixed;
    bool experts = rh_model_experts_kind(model) != NULL;
    if (!is_free(fixed->tp, pool->tp) || !is_free(fixed->pp, pool->pp) ||
        !is_free(fixed->ep, pool->ep) || !is_free(fixed->dp, pool->dp))
        return false;
    if (pool->pp > model->layers_count || rh_pool_gpus(pool) > s->options->gpus)
        return false;
    /* beside groups of attention experts are spread: cut ones read and exchange more */
    return experts ? pool->ep > 1 || pool->dp == 1 : pool->ep == 1 && pool->dp == 1;
}

static void add_limits(const Space *s, RhDeployment d)
{
    const RhPool *fixed = s->options->fixed;
    for (guint b = 0; b < G_N_ELEMENTS(batches); b++)
        for (guint c = 0; c < G_N_ELEMENTS(chunks); c++) {
            for (int32_t p = 0; p < d.pools_count; p++) {
                d.pools[p].batch = fixed[p].batch > 0 ? fixed[p].batch : batches[b];
                d.pools[p].chunk = fixed[p].chunk > 0 ? fixed[p].chunk : chunks[c];
            }
            bool again = (fixed->batch > 0 && b > 0) || (fixed->chunk > 0 && c > 0);
            if (!again)
                g_array_append_val(s->out, d);
        }
}

static void add_windows(const Space *s, RhDeployment d)
{
    const RhPool *fixed = s->options->fixed;
    for (guint b = 0; b < G_N_ELEMENTS(once_batches); b++)
        for (guint w = 0; w < G_N_ELEMENTS(windows); w++) {
            d.pools[0].batch = fixed->batch > 0 ? fixed->batch : once_batches[b];
            d.pools[0].window = fixed->window > 0 ? fixed->window : windows[w];
            bool again = (fixed->batch > 0 && b > 0) || (fixed->window > 0 && w > 0);
            if (!again && (d.pools[0].batch > 1 || w == 0))
                g_array_append_val(s->out, d);
        }
}

static void add_colocated(const Space *s, const RhPool *pool)
{
    RhDeployment d = rh_deployment_default();
    d.server = s->server;
    d.pools[0] = *pool;
    d.pools[0].replicas = s->options->gpus / rh_pool_gpus(pool);
    (rh_model_makes_tokens(s->serving->model) ? add_limits : add_windows)(s, d);
}

/* Adds deployments with one degree for both pools, the GPUs divided in several ways. */
static void add_disaggregated(const Space *s, const RhPool *pool)
{
    int32_t all = s->options->gpus / rh_pool_gpus(pool), last = 0;
    for (guint i = 0; i < G_N_ELEMENTS(shares); i++) {
        int32_t prompts = all * shares[i] / 16;
        if (prompts == last || prompts == all)
            continue;
        if (s->options->rate_per_s > 0 && last > 0) /* the numbers of replicas are searched later */
            return;
        last = prompts;
        RhDeployment d = rh_deployment_default();
        d.server = s->server;
        d.pools_count = 2;
        d.pools[0] = d.pools[1] = *pool;
        d.pools[0].replicas = prompts;
        d.pools[1].replicas = all - prompts;
        add_limits(s, d);
    }
}

GArray *rh_serve_space(const RhServing *serving, const char *server,
                       const RhServePlanOptions *options)
{
    Space s = {serving, server, options, g_array_new(FALSE, FALSE, sizeof(RhDeployment))};
    int32_t most = options->gpus;
    for (int32_t mode = RH_SERVE_COLOCATED; mode <= RH_SERVE_DISAGGREGATED; mode++)
        for (int32_t tp = 1; tp <= most; tp *= 2)
            for (int32_t pp = 1; tp * pp <= most; pp *= 2)
                for (int32_t dp = 1; tp * pp * dp <= most; dp *= 2)
                    for (int32_t ep = 1; ep <= tp * dp; ep *= tp * dp > 1 ? tp * dp : 2) {
                        RhPool pool = options->fixed[0];
                        pool.tp = tp, pool.pp = pp, pool.ep = ep, pool.dp = dp;
                        if (!((int32_t)options->mode & mode) || !is_legal(&s, &pool))
                            continue;
                        (mode == RH_SERVE_COLOCATED ? add_colocated : add_disaggregated)(&s, &pool);
                    }
    return s.out;
}

bool rh_serve_same_kind(const RhDeployment *a, const RhDeployment *b)
{
    if (a->pools_count != b->pools_count)
        return false;
    for (int32_t p = 0; p < a->pools_count; p++) {
        const RhPool *x = &a->pools[p], *y = &b->pools[p];
        if (x->tp != y->tp || x->pp != y->pp || x->ep != y->ep || x->dp != y->dp ||
            x->replicas != y->replicas)
            return false;
    }
    return true;
}
