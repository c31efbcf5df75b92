/* Plans many cells: each in a process of its own, as many at once as there are jobs. */
#include <math.h>

#include "base/deadline.h"
#include "base/error.h"
#include "base/serialize.h"
#include "sim/engine/workers/process_pool.h"
#include "strategies/search/capacity/capacity.h"

typedef struct {
    const RhCapacityQuestion *asked;
    const RhCapacityTarget *goal;
    RhDeadline deadline;
    const int32_t *order; /* of cells, by layer: the slowest first */
    RhCapacityCell *out;
    GError **errors; /* per cell */
    int32_t count, done;
} Cells;

static bool plan_one(const Cells *cells, const RhCapacityQuestion *asked,
                     const RhCapacityTarget *goal, RhCapacityCell *out, GError **error)
{
    RhCapacityTarget own = *goal;
    if (goal->timeout_s > 0)
        own.timeout_s = fmax(rh_deadline_left_s(cells->deadline), 1e-3);
    return rh_capacity_plan(asked, &own, out, error);
}

/* --- serialization --- */

static GByteArray *pack_cell(const RhCapacityCell *cell)
{
    GByteArray *out = g_byte_array_new();
    rh_pack(out, cell, sizeof *cell);
    rh_pack_text(out, cell->why);
    if (cell->r)
        rh_rehearsal_pack(out, cell->r);
    return out;
}

static bool unpack_cell(const GByteArray *bytes, const RhProblem *c, RhCapacityCell *cell)
{
    RhUnpack in = {bytes->data, bytes->data + bytes->len, true};
    rh_unpack(&in, cell, sizeof *cell);
    int64_t batch = cell->c.job.global_batch;
    bool planned = cell->r; /* the plan's own */
    cell->c = *c;
    cell->c.job.global_batch = batch;
    cell->why = rh_unpack_text(&in);
    cell->r = planned && in.whole ? rh_rehearsal_unpack(&in, &cell->c) : NULL;
    return in.whole && (cell->r || !planned);
}

static GByteArray *perform(int32_t item, void *user, GError **error)
{
    const Cells *cells = user;
    RhCapacityTarget goal = *cells->goal;
    int32_t at_once = MIN(goal.jobs, cells->count);
    goal.jobs = (goal.jobs + at_once - 1) / at_once;
    goal.progress = NULL; /* the calling process reports */
    RhCapacityCell cell;
    if (!plan_one(cells, &cells->asked[cells->order[item]], &goal, &cell, error))
        return NULL;
    return pack_cell(&cell); /* the cell ends with the child */
}

static void report_progress(void *user)
{
    const Cells *cells = user;
    if (cells->goal->progress)
        cells->goal->progress("plan", cells->done, cells->count, 0, NULL);
}

static void take_answer(int32_t item, const GByteArray *bytes, const GError *error, void *user)
{
    Cells *cells = user;
    int32_t i = cells->order[item];
    if (error)
        cells->errors[i] = g_error_copy(error);
    else if (!unpack_cell(bytes, cells->asked[i].c, &cells->out[i]))
        rh_fail(&cells->errors[i], RH_ERROR_INTERNAL, "the answer of a plan broke off");
    cells->done++;
    report_progress(cells);
}

/* --- all cells --- */

typedef struct {
    const RhCapacityQuestion *asked;
    double middle_gpus;
} Ends;

/* Distance from the middle of the sizes, as a ratio of at least 1. */
static double off_middle(const Ends *ends, int32_t i)
{
    double ratio = ends->asked[i].c->job.gpus / ends->middle_gpus;
    return fmax(ratio, 1 / ratio);
}

/* Orders cells with the slowest first. Few GPUs have many micro-batches to simulate, many GPUs many
 * ranks; those of the middle come last, so that the last to end are short. Equals keep their
 * order. */
static gint ends_first(gconstpointer a, gconstpointer b, gpointer user)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    double off_x = off_middle(user, x), off_y = off_middle(user, y);
    return off_x > off_y ? -1 : off_x < off_y ? 1 : (x > y) - (x < y);
}

void rh_capacity_order(const RhCapacityQuestion *asked, int32_t count, int32_t *order)
{
    int32_t least = G_MAXINT32, most = 0;
    for (int32_t i = 0; i < count; i++) {
        order[i] = i;
        least = MIN(least, asked[i].c->job.gpus);
        most = MAX(most, asked[i].c->job.gpus);
    }
    Ends ends = {asked, sqrt((double)least * most)};
    g_qsort_with_data(order, count, sizeof *order, ends_first, &ends);
}

static void plan_cell(Cells *cells)
{
    g_autofree int32_t *order = g_new(int32_t, cells->count);
    rh_capacity_order(cells->asked, cells->count, order);
    cells->order = order;
    RhProcessPool workers = {.count = cells->count,
                             .jobs = MIN(cells->goal->jobs, cells->count),
                             .perform = perform,
                             .answer = take_answer,
                             .waiting = report_progress,
                             .of_ranks = true,
                             .user = cells};
    rh_process_pool_run(&workers);
}

bool rh_capacity_plan_all(const RhCapacityQuestion *asked, int32_t count,
                          const RhCapacityTarget *goal, RhCapacityCell *out, GError **error)
{
    RhCapacityTarget settled = *goal;
    g_autofree GError **errors = g_new0(GError *, count + 1);
    settled.jobs = goal->jobs > 0 ? goal->jobs : (int32_t)g_get_num_processors();
    Cells cells = {.asked = asked,
                   .goal = &settled,
                   .deadline = rh_deadline_in(goal->timeout_s),
                   .out = out,
                   .errors = errors,
                   .count = count};
    for (int32_t i = 0; i < count; i++)
        out[i] = (RhCapacityCell){0};
    if (count == 1)
        return plan_one(&cells, &asked[0], &settled, &out[0], error);
    if (count > 1)
        plan_cell(&cells);
    GError *first = NULL;
    for (int32_t i = 0; i < count; i++)
        if (first)
            g_clear_error(&errors[i]);
        else
            first = errors[i];
    if (!first)
        return true;
    for (int32_t i = 0; i < count; i++)
        rh_capacity_cell_clear(&out[i]);
    g_propagate_error(error, first);
    return false;
}
