#include "sim/engine/jitter_expected_delay.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>
#include <math.h>
#include <string.h>

/* Moments of the maximum of n: integral of x^k d(F(x)^n). The midpoint rule with these points is
 * exact to 1e-6, far below the accuracy of the correction. */
static void moments_of_max(int32_t n, double *mean, double *square)
{
    double step = 1e-3;
    *mean = *square = 0;
    for (double x = -8; x < 8; x += step) {
        double middle = x + step / 2;
        double share = step * n * pow(gsl_cdf_ugaussian_P(middle), n - 1) *
                       exp(-middle * middle / 2) / sqrt(2 * G_PI);
        *mean += middle * share;
        *square += middle * middle * share;
    }
}

double rh_jitter_expected_max(int32_t n)
{
    double mean = 0, square = 1;
    if (n > 1)
        moments_of_max(n, &mean, &square);
    return mean;
}

double rh_jitter_variance_of_max(int32_t n)
{
    double mean = 0, square = 1;
    if (n > 1)
        moments_of_max(n, &mean, &square);
    return square - mean * mean;
}

/* Part of a variance that ranks share within the groups in `groups` (a bit each): part 0, shared
 * with none, is each rank's own. */
typedef struct {
    uint64_t groups;
    double variance_s2;
} Part;

enum { PARTS = 4 };

typedef struct {
    Part parts[PARTS];
} Spread;

/* Normally distributed end of a task, over the ranks. */
typedef struct {
    double mean_s;
    Spread spread;
} End;

typedef struct {
    Spread *spread;          /* per task: of its end; while it runs, of its start */
    int32_t *lane_before;    /* per task: the one before it on its lane; -1: none */
    int32_t *compute_before; /* per task: the last task of the compute lane that it waits for, or
                              * itself */
    double *t_reached_s;     /* per task: SEND, RECV */
    bool *awaited;       /* per task: no kernel runs between its predecessors and its successors */
    double *owed_s;      /* per task: how much later it ends than the simulated run shows */
    double expected_max; /* over the role's ranks */
} Role;

struct RhJitter {
    const RhProgram *program;
    const RhRoleTable *tables;
    double jitter_frac;
    Role *roles;
    double **t_end_s; /* per actor and task; allocated when the actor first starts one */
    int32_t actors_count;
    double *expected_max, *variance_of_max; /* per group */
    uint64_t *inside;                       /* per group: groups whose ranks are all inside one
                                             * instance of it */
};

/* --- spreads --- */

static double *part_of(Spread *s, uint64_t groups)
{
    Part *free_part = NULL;
    for (int k = 0; k < PARTS; k++) {
        if (s->parts[k].groups == groups)
            return &s->parts[k].variance_s2;
        if (!free_part && k > 0 && s->parts[k].groups == 0)
            free_part = &s->parts[k];
    }
    if (free_part)
        free_part->groups = groups;
    else /* more kinds than seen in practice count as shared by all */
        (free_part = &s->parts[PARTS - 1])->groups |= groups;
    return &free_part->variance_s2;
}

static double variance_s2(const Spread *s)
{
    double sum_s2 = 0;
    for (int k = 0; k < PARTS; k++)
        sum_s2 += s->parts[k].variance_s2;
    return sum_s2;
}

/* Variance between members of the group: shared parts delay none of them. */
static double variance_within_s2(const Spread *s, uint64_t group)
{
    double sum_s2 = 0;
    for (int k = 0; k < PARTS; k++)
        if (!(s->parts[k].groups & group))
            sum_s2 += s->parts[k].variance_s2;
    return sum_s2;
}

/* Spread after a collective, when all continue after the slowest member: its variance, now
 * shared. */
static Spread spread_after_collective(const RhJitter *j, const Spread *s, int32_t group,
                                      uint64_t bit)
{
    Spread after = {0};
    for (int k = 0; k < PARTS; k++) {
        const Part *part = &s->parts[k];
        if (part->variance_s2 <= 0)
            continue;
        if (part->groups & bit)
            *part_of(&after, part->groups) += part->variance_s2;
        else
            *part_of(&after, part->groups | j->inside[group]) +=
                part->variance_s2 * j->variance_of_max[group];
    }
    return after;
}

static double difference_s2(Spread a, Spread b)
{
    double sum_s2 = 0;
    for (int k = 0; k < PARTS; k++) {
        double *other_s2 = part_of(&b, a.parts[k].groups);
        sum_s2 += fabs(a.parts[k].variance_s2 - *other_s2);
        *other_s2 = 0;
    }
    return sum_s2 + variance_s2(&b);
}

static void blend_spread(Spread *to, const Spread *s, double share)
{
    for (int k = 1; k < PARTS; k++)
        if (s->parts[k].variance_s2 > 0)
            *part_of(to, s->parts[k].groups) += share * s->parts[k].variance_s2;
}

/* The later of two ends (Clark, Operations Research 9, 1961). Their covariance is the variance of
 * the parts that both share. */
static End later_end(const End *a, const End *b)
{
    double apart_s = sqrt(difference_s2(a->spread, b->spread));
    double gap_s = a->mean_s - b->mean_s;
    if (fabs(gap_s) >= 4 * apart_s)
        return gap_s >= 0 ? *a : *b;
    double alpha = gap_s / apart_s;
    double share = gsl_cdf_ugaussian_P(alpha), density = gsl_ran_ugaussian_pdf(alpha);
    double above_s = gap_s * share + apart_s * density; /* mean of b */
    double square_s2 = (gap_s * gap_s + variance_s2(&a->spread)) * share +
                       variance_s2(&b->spread) * (1 - share) + gap_s * apart_s * density;
    End end = {.mean_s = b->mean_s + above_s};
    blend_spread(&end.spread, &a->spread, share);
    blend_spread(&end.spread, &b->spread, 1 - share);
    end.spread.parts[0].variance_s2 =
        MAX(0, square_s2 - above_s * above_s - variance_s2(&end.spread));
    return end;
}

/* --- tasks --- */

/* Predecessor k of a task, local to the role: the explicit ones, then the one on its lane; -1:
 * none. */
static int32_t predecessor(const RhJitter *j, int32_t role, int32_t task, int32_t k)
{
    int32_t first = j->tables[role].tasks_first;
    const RhTask *t = rh_program_task(j->program, first + task);
    if (k == t->preds_count)
        return j->roles[role].lane_before[task];
    return g_array_index(j->program->preds, int32_t, t->preds_first + k) - first;
}

static const RhTask *task_of(const RhJitter *j, int32_t role, int32_t task)
{
    return rh_program_task(j->program, j->tables[role].tasks_first + task);
}

/* Does another predecessor itself wait for this one, so that it can be ignored? */
static bool passed(const RhJitter *j, int32_t role, int32_t task, int32_t pred)
{
    if (task_of(j, role, pred)->lane != RH_LANE_COMPUTE)
        return false;
    for (int32_t k = 0; k <= task_of(j, role, task)->preds_count; k++) {
        int32_t other = predecessor(j, role, task, k);
        if (other >= 0 && other != pred && j->roles[role].compute_before[other] >= pred)
            return true;
    }
    return false;
}

/* End of the last predecessor, for each rank by itself. */
static End ready_alone(const RhJitter *j, const double *t_end_s, int32_t role, int32_t task)
{
    End ready = {.mean_s = -HUGE_VAL};
    for (int32_t k = 0; k <= task_of(j, role, task)->preds_count; k++) {
        int32_t pred = predecessor(j, role, task, k);
        if (pred < 0 || passed(j, role, task, pred))
            continue;
        End end = {t_end_s[pred], j->roles[role].spread[pred]};
        ready = ready.mean_s > -HUGE_VAL ? later_end(&ready, &end) : end;
    }
    return ready;
}

/* Time at which the slowest member of the group is ready. */
static End ready_together(const RhJitter *j, const double *t_end_s, int32_t role, int32_t task)
{
    int32_t group = task_of(j, role, task)->group;
    uint64_t bit = 1ULL << MIN(group, 63);
    End ready = {.mean_s = -HUGE_VAL};
    for (int32_t k = 0; k <= task_of(j, role, task)->preds_count; k++) {
        int32_t pred = predecessor(j, role, task, k);
        if (pred < 0)
            continue;
        const Spread *spread = &j->roles[role].spread[pred];
        double mean_s =
            t_end_s[pred] + j->expected_max[group] * sqrt(variance_within_s2(spread, bit));
        if (mean_s > ready.mean_s)
            ready = (End){mean_s, *spread};
    }
    ready.spread = spread_after_collective(j, &ready.spread, group, bit);
    return ready;
}

double rh_jitter_late_s(RhJitter *j, int32_t actor, int32_t role, int32_t task, double t_s)
{
    const RhTask *t = task_of(j, role, task);
    if (!j->t_end_s[actor])
        j->t_end_s[actor] = g_new0(double, j->tables[role].tasks_count + 1);
    double *t_end_s = j->t_end_s[actor];
    bool meets = t->kind == RH_TASK_COLLECTIVE && rh_program_group(j->program, t->group)->size > 1;
    End ready =
        meets ? ready_together(j, t_end_s, role, task) : ready_alone(j, t_end_s, role, task);
    double late_s = MAX(0, ready.mean_s - t_s);
    double deviation_s =
        t->kind == RH_TASK_KERNEL ? j->jitter_frac * j->tables[role].duration_s[task] : 0;
    ready.spread.parts[0].variance_s2 += deviation_s * deviation_s;
    /* the kernel ends the step, which waits for its slowest rank */
    const int32_t *successors = &j->tables[role].successors_first[task];
    if (t->kind == RH_TASK_KERNEL && successors[0] == successors[1])
        late_s += j->roles[role].expected_max * sqrt(ready.spread.parts[0].variance_s2);
    j->roles[role].spread[task] = ready.spread;
    j->roles[role].t_reached_s[task] = t_s + late_s;
    /* The slowest rank finds the links as the mean one does: communication beside its kernels keeps
     * its time there, and the rest of the delay is owed to its successors. */
    bool owes = t->kind == RH_TASK_MARK || (meets && !j->roles[role].awaited[task]);
    j->roles[role].owed_s[task] = owes ? late_s : 0;
    return owes ? 0 : late_s;
}

void rh_jitter_end(RhJitter *j, int32_t actor, int32_t role, int32_t task, double t_s)
{
    const RhTask *t = task_of(j, role, task);
    Role *r = &j->roles[role];
    j->t_end_s[actor][task] = t_s + r->owed_s[task];
    if (t->peer_task < 0 || (t->kind != RH_TASK_SEND && t->kind != RH_TASK_RECV))
        return;
    int32_t other = rh_program_task(j->program, t->peer_task)->role;
    int32_t peer = t->peer_task - j->tables[other].tasks_first;
    if (j->roles[other].t_reached_s[peer] > r->t_reached_s[task])
        r->spread[task] = j->roles[other].spread[peer];
}

/* --- setting up --- */

/* Marks awaited tasks, from the last task to the first. */
static void find_awaited(RhJitter *j, int32_t role)
{
    Role *r = &j->roles[role];
    for (int32_t i = j->tables[role].tasks_count - 1; i >= 0; i--) {
        bool computes = task_of(j, role, i)->lane == RH_LANE_COMPUTE;
        int32_t last = computes ? r->lane_before[i] : r->compute_before[i];
        for (int32_t k = 0; k <= task_of(j, role, i)->preds_count; k++) {
            int32_t pred = predecessor(j, role, i, k);
            if (pred >= 0 && r->compute_before[pred] >= last && (computes || r->awaited[i]))
                r->awaited[pred] = true;
        }
    }
}

static void add_role(RhJitter *j, int32_t role)
{
    int32_t count = j->tables[role].tasks_count, last_on_lane[RH_LANES_MAX];
    Role *r = &j->roles[role];
    r->expected_max = rh_jitter_expected_max(rh_program_role(j->program, role)->ranks_count);
    r->spread = g_new0(Spread, count + 1);
    r->t_reached_s = g_new0(double, count + 1);
    r->awaited = g_new0(bool, count + 1);
    r->owed_s = g_new0(double, count + 1);
    r->lane_before = g_new(int32_t, count + 1);
    r->compute_before = g_new(int32_t, count + 1);
    memset(last_on_lane, 0xff, sizeof last_on_lane);
    for (int32_t i = 0; i < count; i++) {
        const RhTask *task = task_of(j, role, i);
        r->lane_before[i] = last_on_lane[task->lane];
        last_on_lane[task->lane] = i;
        r->compute_before[i] = task->lane == RH_LANE_COMPUTE ? i : -1;
        for (int32_t k = 0; k <= task->preds_count && r->compute_before[i] < i; k++) {
            int32_t pred = predecessor(j, role, i, k);
            if (pred >= 0 && pred < i)
                r->compute_before[i] = MAX(r->compute_before[i], r->compute_before[pred]);
        }
    }
    find_awaited(j, role);
}

/* Does the first instance of `inner` lie inside the first one of `outer`? */
static bool holds(const RhGroup *outer, const RhGroup *inner)
{
    if (inner->size > outer->size)
        return false;
    g_autofree int32_t *some = g_new(int32_t, inner->size + 1);
    g_autofree int32_t *all = g_new(int32_t, outer->size + 1);
    rh_group_members(inner, 0, some);
    rh_group_members(outer, 0, all);
    for (int32_t i = 0; i < inner->size; i++) {
        int32_t k = 0;
        while (k < outer->size && all[k] != some[i])
            k++;
        if (k == outer->size)
            return false;
    }
    return true;
}

static void list_inside_groups(RhJitter *j)
{
    int32_t count = (int32_t)j->program->groups->len;
    j->expected_max = g_new0(double, count + 1);
    j->variance_of_max = g_new0(double, count + 1);
    j->inside = g_new0(uint64_t, count + 1);
    for (int32_t g = 0; g < count; g++) {
        const RhGroup *group = rh_program_group(j->program, g);
        j->expected_max[g] = rh_jitter_expected_max(group->size);
        j->variance_of_max[g] = rh_jitter_variance_of_max(group->size);
        for (int32_t i = 0; i < count; i++)
            if (i == g || holds(group, rh_program_group(j->program, i)))
                j->inside[g] |= 1ULL << MIN(i, 63);
    }
}

RhJitter *rh_jitter_new(const RhProgram *p, const RhRoleTable *roles, double jitter_frac,
                        int32_t actors_count)
{
    RhJitter *j = g_new0(RhJitter, 1);
    *j = (RhJitter){.program = p,
                    .tables = roles,
                    .jitter_frac = jitter_frac,
                    .roles = g_new0(Role, p->roles->len + 1),
                    .t_end_s = g_new0(double *, actors_count + 1),
                    .actors_count = actors_count};
    list_inside_groups(j);
    for (uint32_t r = 0; r < p->roles->len; r++)
        add_role(j, (int32_t)r);
    return j;
}

void rh_jitter_free(RhJitter *j)
{
    if (!j)
        return;
    for (int32_t i = 0; i < j->actors_count; i++)
        g_free(j->t_end_s[i]);
    for (uint32_t r = 0; r < j->program->roles->len; r++) {
        Role *role = &j->roles[r];
        void *blocks[] = {role->spread,      role->lane_before, role->compute_before,
                          role->t_reached_s, role->awaited,     role->owed_s};
        for (size_t i = 0; i < G_N_ELEMENTS(blocks); i++)
            g_free(blocks[i]);
    }
    void *blocks[] = {j->roles, j->t_end_s, j->expected_max, j->variance_of_max, j->inside};
    for (size_t i = 0; i < G_N_ELEMENTS(blocks); i++)
        g_free(blocks[i]);
    g_free(j);
}
