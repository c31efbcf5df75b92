#include "validate/serving/served_refit.h"

#include <math.h>
#include <string.h>

#include "sim/engine/workers/process_pool.h"
#include "strategies/serve/scheduler.h"
#include "validate/serving/served_constants.h"

#define ROWS_LEAST    8
#define ROWS_OF_GROUP 8   /* of one group in a fit, spread evenly over its rows */
#define ROWS_MOST     40  /* of a fit */
#define REQUESTS_MOST 640 /* of a row in a fit: longer ones tell no more of the host */
#define MOVES         6   /* of a descent, at each of its step sizes */

/* The constants of one server for one group. */
typedef struct {
    const char *group;      /* interned */
    const RhServer *server; /* as its file has it */
    GPtrArray *rows;        /* const RhServedRun*, borrowed: rows of other groups to fit to */
    RhServer *fitted;       /* owned; NULL: nobody tells them */
} Refit;

struct RhServedRefits {
    const GArray *shipped;   /* borrowed, as all but refits */
    const GPtrArray *groups; /* const char* */
    const RhCasesOptions *options;
    RhDeadline deadline;
    GPtrArray *refits; /* Refit*, owned */
    guint first;       /* of those that are not done */
    int32_t done;
};

static const RhServedRun *run_at(const GArray *runs, guint i)
{
    return &g_array_index(runs, RhServedRun, i);
}

/* Do two servers have a constant that was fitted to the same rows? */
static bool share_a_fit(const RhServer *a, const RhServer *b)
{
    for (size_t k = 0; k < rh_served_constant_kinds_count(); k++) {
        const RhFact *p = rh_served_constant((RhServer *)a, k),
                     *q = rh_served_constant((RhServer *)b, k);
        if (p->tag == RH_TAG_FITTED && q->tag == RH_TAG_FITTED && p->source == q->source)
            return true;
    }
    return a == b;
}

/* Were constants of this server fitted to rows of the group? */
static bool was_fitted_to(const RhServedRefits *x, const RhServer *server, const char *group)
{
    for (guint i = 0; i < x->shipped->len; i++) {
        const RhServedRun *run = run_at(x->shipped, i);
        if (run->cross_group == group && !run->why && run->c.fitted &&
            share_a_fit(run->c.serving.server, server))
            return true;
    }
    return false;
}

/* Are two servers versions of one engine, with one scheduler? */
static bool is_of_engine(const RhServer *a, const RhServer *b)
{
    size_t length = strcspn(a->name, "-");
    return a->scheduler == b->scheduler && length == strcspn(b->name, "-") &&
           strncmp(a->name, b->name, length) == 0;
}

/* Returns up to ROWS_OF_GROUP measured rows of one group (const RhServedRun*). Caller unrefs. */
static GPtrArray *sample_group(const RhServedRefits *x, const char *group, const RhServer *server,
                               bool engine)
{
    g_autoptr(GPtrArray) all = g_ptr_array_new();
    for (guint i = 0; i < x->shipped->len; i++) {
        const RhServedRun *run = run_at(x->shipped, i);
        if (run->cross_group != group || run->why || run->c.standing != RH_STANDING_MEASURED ||
            !run->c.speculation_known || run->c.plan.count > REQUESTS_MOST)
            continue;
        const RhServer *own = run->c.serving.server;
        if (engine ? is_of_engine(own, server) : own == server)
            g_ptr_array_add(all, (void *)run);
    }
    GPtrArray *rows = g_ptr_array_new();
    guint count = MIN(all->len, ROWS_OF_GROUP);
    for (guint i = 0; i < count; i++)
        g_ptr_array_add(rows, all->pdata[(guint)((i + 0.5) * all->len / count)]);
    return rows;
}

/* Appends up to ROWS_MOST rows of the groups, one of each in turn, so that all groups speak. */
static void take_in_turn(const GPtrArray *samples, GPtrArray *rows)
{
    for (guint i = 0; i < ROWS_OF_GROUP; i++)
        for (guint f = 0; f < samples->len && rows->len < ROWS_MOST; f++) {
            const GPtrArray *sample = samples->pdata[f];
            if (i < sample->len)
                g_ptr_array_add(rows, sample->pdata[i]);
        }
}

static GPtrArray *rows_to_fit(const RhServedRefits *x, const Refit *refit)
{
    GPtrArray *rows = g_ptr_array_new();
    for (int engine = 0; engine < 2 && rows->len < ROWS_LEAST; engine++) {
        g_autoptr(GPtrArray) samples =
            g_ptr_array_new_with_free_func((GDestroyNotify)g_ptr_array_unref);
        g_ptr_array_set_size(rows, 0);
        for (guint f = 0; f < x->groups->len; f++)
            if (g_ptr_array_index(x->groups, f) != (gconstpointer)refit->group)
                g_ptr_array_add(samples, sample_group(x, g_ptr_array_index(x->groups, f),
                                                      refit->server, engine));
        take_in_turn(samples, rows);
    }
    return rows;
}

static Refit *refit_of(const RhServedRefits *x, const char *group, const RhServer *server)
{
    for (guint i = 0; i < x->refits->len; i++) {
        Refit *refit = x->refits->pdata[i];
        if (refit->group == group && refit->server == server)
            return refit;
    }
    return NULL;
}

static void refit_free(void *data)
{
    Refit *refit = data;
    g_ptr_array_unref(refit->rows);
    g_free(refit->fitted);
    g_free(refit);
}

void rh_served_refits_need(RhServedRefits *x, const char *group, const RhServer *server)
{
    if (refit_of(x, group, server) || !was_fitted_to(x, server, group))
        return;
    Refit *refit = g_new0(Refit, 1);
    *refit = (Refit){.group = group, .server = server};
    refit->rows = rows_to_fit(x, refit);
    g_ptr_array_add(x->refits, refit);
}

/* Returns the rows of a fit, each group weighing the same. */
static GPtrArray *served_rows(const Refit *refit)
{
    GPtrArray *rows = g_ptr_array_new_with_free_func((GDestroyNotify)rh_served_row_free);
    for (guint i = 0; i < refit->rows->len; i++) {
        const RhServedRun *run = refit->rows->pdata[i];
        RhServedCase c = run->c;
        int32_t alike = 0;
        c.stands_in = NULL;
        for (guint k = 0; k < refit->rows->len; k++)
            alike += ((const RhServedRun *)refit->rows->pdata[k])->cross_group == run->cross_group;
        RhServedRow *row = rh_served_row_new(&c, run->row);
        if (!row)
            continue;
        row->weight = 1.0 / alike;
        g_ptr_array_add(rows, row);
    }
    return rows;
}

typedef struct {
    const GPtrArray *rows;
    const size_t *kind_of;
    int32_t count;
    RhDeadline deadline;
} Descent;

static double descent_loss(const RhDescentKnob *knobs, void *user)
{
    const Descent *d = user;
    if (rh_deadline_passed(d->deadline))
        return 0;
    rh_served_set_constants(d->rows, knobs, d->kind_of, d->count);
    return rh_served_loss(d->rows);
}

/* Keeps the knobs of constants that are fits, and sets them to where descents begin. */
static int32_t keep_fitted(RhServer *server, RhDescentKnob *knobs, size_t *kind_of, int32_t count)
{
    int32_t kept = 0;
    for (int32_t k = 0; k < count; k++) {
        if (rh_served_constant(server, kind_of[k])->tag != RH_TAG_FITTED)
            continue;
        kind_of[kept] = kind_of[k];
        knobs[kept] = knobs[k];
        knobs[kept++].value = rh_served_constant_kinds[kind_of[k]].begin;
    }
    return kept;
}

/* Fits in a child process; the answer is the constants by kind, 0 where no row tells one. */
static GByteArray *perform_refit(int32_t item, void *user, GError **error)
{
    (void)error;
    const RhServedRefits *x = user;
    const Refit *refit = x->refits->pdata[x->first + (guint)item];
    RhServer server = *refit->server;
    RhDescentKnob knobs[RH_SERVED_CONSTANTS_MAX];
    size_t kind_of[RH_SERVED_CONSTANTS_MAX];
    double values[RH_SERVED_CONSTANTS_MAX] = {0};
    g_autoptr(GPtrArray) rows = served_rows(refit);
    int32_t count = rh_served_knobs(rows, &server, knobs, kind_of);
    count = keep_fitted(&server, knobs, kind_of, count);
    Descent descent = {rows, kind_of, count, x->deadline};
    rh_descend(knobs, count, MOVES, descent_loss, &descent);
    for (int32_t k = 0; k < count; k++)
        values[kind_of[k]] = knobs[k].value;
    return g_byte_array_append(g_byte_array_new(), (const guint8 *)values, sizeof values);
}

static void report_progress(void *user)
{
    const RhServedRefits *x = user;
    if (x->options->progress)
        x->options->progress("fitting constants without a group", x->done, (int32_t)x->refits->len,
                             x->options->user);
}

/* Sets what else was fitted, and is not fitted again, to what the server has that this one derives from: bytes of
 * logits, and tokens of a message. */
static void withhold_others(RhServer *server)
{
    const RhServer *base = server->derives ? rh_server_by_name(server->derives, NULL) : NULL;
    if (!base)
        return;
    if (server->logit_bytes.tag == RH_TAG_FITTED)
        server->logit_bytes = base->logit_bytes;
    server->stream_tokens = base->stream_tokens;
}

static void take_refit(int32_t item, const GByteArray *bytes, const GError *error, void *user)
{
    (void)error;
    RhServedRefits *x = user;
    Refit *refit = x->refits->pdata[x->first + (guint)item];
    double values[RH_SERVED_CONSTANTS_MAX];
    x->done++;
    report_progress(x);
    if (!bytes || bytes->len != sizeof values || refit->rows->len < ROWS_LEAST)
        return;
    memcpy(values, bytes->data, sizeof values);
    refit->fitted = g_new(RhServer, 1);
    *refit->fitted = *refit->server;
    for (size_t k = 0; k < rh_served_constant_kinds_count(); k++)
        if (rh_served_constant(refit->fitted, k)->tag == RH_TAG_FITTED)
            rh_served_constant(refit->fitted, k)->value = values[k];
    withhold_others(refit->fitted);
}

void rh_served_refits_perform(RhServedRefits *x)
{
    bool timed = x->options->timeout_s > 0;
    rh_process_pool_run(
        &(RhProcessPool){.count = (int32_t)(x->refits->len - x->first),
                         .jobs = MAX(x->options->jobs, 1),
                         .timeout_s = timed ? fmax(rh_deadline_left_s(x->deadline), 1e-3) : 0,
                         .perform = perform_refit,
                         .answer = take_refit,
                         .waiting = report_progress,
                         .user = x});
    x->first = x->refits->len;
}

bool rh_served_refits_changes(const RhServedRefits *x, const char *group, const RhServer *server)
{
    return refit_of(x, group, server) != NULL;
}

char *rh_served_refits_place(const RhServedRefits *x, const char *group, RhServedCase *c)
{
    const Refit *refit = refit_of(x, group, c->serving.server);
    if (refit && refit->fitted)
        c->serving.server = refit->fitted;
    return !refit || refit->fitted
               ? NULL
               : g_strdup_printf("no other group has %d rows of %s or of its engine to fit its "
                                 "constants to",
                                 ROWS_LEAST, refit->server->name);
}

void rh_served_refits_count(const RhServedRefits *x, int32_t *told, int32_t *untold)
{
    *told = 0;
    for (guint i = 0; i < x->refits->len; i++)
        *told += ((const Refit *)x->refits->pdata[i])->fitted != NULL;
    *untold = (int32_t)x->refits->len - *told;
}

RhServedRefits *rh_served_refits_new(const GArray *shipped, const GPtrArray *groups,
                                     const RhCasesOptions *options, RhDeadline deadline)
{
    RhServedRefits *x = g_new0(RhServedRefits, 1);
    *x = (RhServedRefits){.shipped = shipped,
                          .groups = groups,
                          .options = options,
                          .deadline = deadline,
                          .refits = g_ptr_array_new_with_free_func(refit_free)};
    return x;
}

void rh_served_refits_free(RhServedRefits *x)
{
    if (!x)
        return;
    g_ptr_array_unref(x->refits);
    g_free(x);
}
