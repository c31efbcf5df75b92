#include "strategies/serve/service/autoscaling.h"

#include <math.h>

#include "base/error.h"
#include "base/garray_access.h"

#define TARGET                                                                                     \
    2 /* requests per replica: Ray Serve's default since 2.32 (docs.ray.io, advanced autoscaling) */

typedef enum { AWAY, STARTS, SERVES, EMPTIES } State;

/* Inputs of a policy. */
typedef struct {
    double outstanding; /* requests in the pool, waiting ones too: the mean of the latest samples */
    int32_t replicas;   /* running or starting */
    double target;      /* requests per replica */
} PoolLoad;

/* Delays in seconds: between samples, over which loads are averaged, before replicas are added,
 * removed. */
typedef struct {
    double look_s, mean_s, up_s, down_s;
    int32_t (*wanted)(const PoolLoad *load);
} Scaler;

struct RhScaling {
    const Scaler *scaler;
    RhReplica *const *replicas;
    RhPool pool;
    double start_s;
    State *states;
    double *t_since_s; /* start of each replica's life */
    GPtrArray *serving;
    GArray *places; /* int32_t: replicas of the pool */
    GArray *loads;  /* double: the latest samples */
    int32_t looks_above, looks_below;
    RhScaled scaled;
};

/* --- policies --- */

static int32_t by_outstanding(const PoolLoad *load)
{
    return (int32_t)fmin(ceil(load->outstanding / load->target - 1e-9), 1 << 20);
}

const char *const rh_scaler_names[] = {"off", "ongoing", NULL};

/* Policies in the order of their names: all replicas run all the time; or so many that each has
 * `target` requests, as in Ray Serve. Its defaults (docs.ray.io, serve/api, AutoscalingConfig):
 * metrics_interval_s, look_back_period_s, upscale_delay_s, downscale_delay_s;
 * target_ongoing_requests is the deployment's. */
static const Scaler rows[] = {{0}, {10, 30, 30, 600, by_outstanding}};

/* --- replicas --- */

static void list_serving(RhScaling *s)
{
    g_ptr_array_set_size(s->serving, 0);
    g_array_set_size(s->places, 0);
    for (int32_t i = 0; i < s->pool.replicas; i++)
        if (s->states[i] == SERVES) {
            g_ptr_array_add(s->serving, s->replicas[i]);
            g_array_append_val(s->places, i);
        }
}

static int32_t count_replicas(const RhScaling *s, State first, State last)
{
    int32_t n = 0;
    for (int32_t i = 0; i < s->pool.replicas; i++)
        n += s->states[i] >= first && s->states[i] <= last;
    return n;
}

bool rh_scaling_check(const RhPool *pool, GError **error)
{
    if (pool->scale > 0 && pool->least > pool->replicas)
        return rh_fail(error, RH_ERROR_USAGE, "least=%d: there are %d replicas at most",
                       pool->least, pool->replicas);
    if (pool->scale == 0 && (pool->least > 1 || pool->target > 0))
        return rh_fail(error, RH_ERROR_USAGE,
                       "%s=%d: all replicas are there all the time\nhelp: scale=ongoing",
                       pool->least > 1 ? "least" : "target",
                       pool->least > 1 ? pool->least : pool->target);
    return true;
}

RhScaling *rh_scaling_new(RhReplica *const *replicas, const RhPool *pool, double start_s)
{
    RhScaling *s = g_new0(RhScaling, 1);
    s->scaler = &rows[pool->scale];
    s->replicas = replicas;
    s->pool = *pool;
    s->start_s = start_s;
    s->states = g_new0(State, pool->replicas);
    s->t_since_s = g_new0(double, pool->replicas);
    s->serving = g_ptr_array_new();
    s->places = g_array_new(FALSE, FALSE, sizeof(int32_t));
    s->loads = g_array_new(FALSE, FALSE, sizeof(double));
    int32_t there = pool->scale > 0 ? MIN(pool->least, pool->replicas) : pool->replicas;
    for (int32_t i = 0; i < there; i++)
        s->states[i] = SERVES;
    list_serving(s);
    s->scaled.most = (int32_t)s->serving->len;
    return s;
}

void rh_scaling_free(RhScaling *s)
{
    if (!s)
        return;
    g_free(s->states);
    g_free(s->t_since_s);
    g_ptr_array_unref(s->serving);
    g_array_unref(s->places);
    g_array_unref(s->loads);
    g_free(s);
}

RhReplica *const *rh_scaling_serving(const RhScaling *s, int32_t *serving, const int32_t **places)
{
    *serving = (int32_t)s->serving->len;
    *places = RH_ELEMENTS(s->places, int32_t);
    return (RhReplica *const *)s->serving->pdata;
}

double rh_scaling_look_s(const RhScaling *s)
{
    return s->scaler->look_s;
}

static void go_away(RhScaling *s, int32_t i, double t_s)
{
    s->states[i] = AWAY;
    s->scaled.replica_s += t_s - s->t_since_s[i];
}

/* Adds replicas; one that is still draining returns at once. */
static void add_replicas(RhScaling *s, int32_t more, double t_s, GArray *starting)
{
    for (int32_t i = 0; more > 0 && i < s->pool.replicas; i++)
        if (s->states[i] == EMPTIES) {
            s->states[i] = SERVES;
            more--;
        }
    for (int32_t i = 0; more > 0 && i < s->pool.replicas; i++)
        if (s->states[i] == AWAY) {
            s->states[i] = STARTS;
            s->t_since_s[i] = t_s;
            s->scaled.starts++;
            g_array_append_val(starting, i);
            more--;
        }
}

/* Removes the replicas that were added last; one that is still starting is waited for. */
static void remove_replicas(RhScaling *s, int32_t fewer)
{
    for (int32_t i = s->pool.replicas - 1; fewer > 0 && i >= 0; i--)
        if (s->states[i] == SERVES) {
            s->states[i] = EMPTIES;
            fewer--;
        }
}

static double mean_load(RhScaling *s)
{
    double now = 0, sum = 0;
    for (int32_t i = 0; i < s->pool.replicas; i++)
        now += s->states[i] != AWAY ? rh_replica_outstanding(s->replicas[i]) : 0;
    g_array_append_val(s->loads, now);
    if (s->loads->len > (guint)(s->scaler->mean_s / s->scaler->look_s))
        g_array_remove_index(s->loads, 0);
    for (guint i = 0; i < s->loads->len; i++)
        sum += g_array_index(s->loads, double, i);
    return sum / s->loads->len;
}

void rh_scaling_look(RhScaling *s, double t_s, GArray *starting)
{
    for (int32_t i = 0; i < s->pool.replicas; i++)
        if (s->states[i] == EMPTIES && rh_replica_outstanding(s->replicas[i]) == 0)
            go_away(s, i, t_s);
    int32_t there = count_replicas(s, STARTS, SERVES);
    PoolLoad load = {mean_load(s), there, s->pool.target > 0 ? s->pool.target : TARGET};
    int32_t wanted = CLAMP(s->scaler->wanted(&load), s->pool.least, s->pool.replicas);
    s->looks_above = wanted > there ? s->looks_above + 1 : 0;
    s->looks_below = wanted < there ? s->looks_below + 1 : 0;
    if (s->looks_above * s->scaler->look_s >= s->scaler->up_s) {
        add_replicas(s, wanted - there, t_s, starting);
        s->looks_above = 0;
    }
    if (s->looks_below * s->scaler->look_s >= s->scaler->down_s) {
        remove_replicas(s, there - wanted);
        s->looks_below = 0;
    }
    list_serving(s);
    s->scaled.most = MAX(s->scaled.most, count_replicas(s, STARTS, EMPTIES));
}

void rh_scaling_started(RhScaling *s, int32_t place)
{
    s->states[place] = SERVES;
    list_serving(s);
}

bool rh_scaling_works(const RhScaling *s, int32_t place)
{
    return s->states[place] == SERVES || s->states[place] == EMPTIES;
}

bool rh_scaling_fail(RhScaling *s, int32_t place, double t_s)
{
    bool again = s->states[place] == SERVES;
    if (again)
        s->states[place] = STARTS;
    else
        go_away(s, place, t_s);
    list_serving(s);
    return again;
}

double rh_scaling_replica_s(const RhScaling *s, double t_s)
{
    double replica_s = s->scaled.replica_s;
    for (int32_t i = 0; i < s->pool.replicas; i++)
        replica_s += s->states[i] != AWAY ? t_s - s->t_since_s[i] : 0;
    return replica_s;
}

RhScaled rh_scaling_end(RhScaling *s, double t_s)
{
    for (int32_t i = 0; i < s->pool.replicas; i++)
        if (s->states[i] != AWAY)
            go_away(s, i, t_s);
    return s->scaled;
}
