#include "strategies/search/explain/cost_term_tasks.h"

#include <string.h>

#include "base/error.h"
#include "base/text/nearest_names.h"
#include "sim/collective/collective.h"

/* --- finding a term --- */

static void collect_names(const RhCost *term, GPtrArray *names)
{
    g_ptr_array_add(names, (char *)term->name);
    for (guint i = 0; i < term->children->len; i++)
        collect_names(g_ptr_array_index(term->children, i), names);
}

/* Lower case, with spaces in place of hyphens and underscores. Caller frees. */
static char *plain_words(const char *name)
{
    g_autofree char *spelled = g_strdelimit(g_strdup(name), "-_", ' ');
    return g_ascii_strdown(spelled, -1);
}

/* Translates a lane's name, or another common word, into the name of a term. Caller frees. */
static char *meaning_of(const char *word)
{
    static const char *const words[][2] = {{"pp", "waiting for pipeline stages"},
                                           {"bubble", "waiting for pipeline stages"},
                                           {"pipeline bubble", "waiting for pipeline stages"},
                                           {"zero", "data parallel"},
                                           {"kernels", "compute"}};
    for (size_t i = 0; i < G_N_ELEMENTS(words); i++)
        if (strcmp(word, words[i][0]) == 0)
            return g_strdup(words[i][1]);
    for (int lane = RH_LANE_COMPUTE + 1; lane < RH_LANE_LAST; lane++)
        if (strcmp(word, rh_lane_name(lane)) == 0)
            return plain_words(rh_wait_name(rh_lane_wait(lane)));
    return g_strdup(word);
}

static bool has_collective(const RhProgram *p, RhWait wait)
{
    for (guint i = 0; i < p->tasks->len; i++) {
        const RhTask *t = rh_program_task(p, (int32_t)i);
        if (t->kind == RH_TASK_COLLECTIVE && rh_lane_wait(t->lane) == wait)
            return true;
    }
    return false;
}

/* Adds the term of communication that is fully hidden behind kernels. Returns NULL if the program
 * has no such communication. */
static const RhCost *find_hidden(RhCost *costs, const RhProgram *p, const char *meant)
{
    for (int w = 0; w < RH_WAIT_LAST; w++) {
        g_autofree char *name = plain_words(rh_wait_name((RhWait)w));
        if (strstr(name, meant) && has_collective(p, (RhWait)w))
            return rh_cost_add(costs, rh_wait_name((RhWait)w), 0,
                               "all of it is hidden behind kernels");
    }
    return NULL;
}

const RhCost *rh_term_find(RhCost *costs, const RhProgram *p, const char *word, GError **error)
{
    const RhCost *exact = rh_cost_find(costs, word);
    if (exact)
        return exact;
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    collect_names(costs, names);
    g_ptr_array_add(names, NULL);
    g_autofree char *small = plain_words(word), *meant = meaning_of(small);
    for (guint i = 0; *meant && i + 1 < names->len; i++) {
        g_autofree char *name = plain_words(g_ptr_array_index(names, i));
        if (strstr(name, meant))
            return rh_cost_find(costs, g_ptr_array_index(names, i));
    }
    const RhCost *hidden = *meant ? find_hidden(costs, p, meant) : NULL;
    if (hidden)
        return hidden;
    const char *near = rh_near_name(word, (const char *const *)names->pdata);
    g_autofree char *list = g_strjoinv(", ", (char **)names->pdata);
    rh_fail(error, RH_ERROR_USAGE, "there is no term \"%s\"\nnote: terms: %s, memory%s%s", word,
            list, near ? "\nhelp: a term with a similar name exists: " : "", near ? near : "");
    return NULL;
}

/* --- which tasks a term is made of --- */

RhTermTasks rh_term_tasks(const char *name)
{
    for (int phase = 0; phase < RH_PHASE_LAST; phase++)
        if (strcmp(rh_phase_name((RhPhase)phase), name) == 0)
            return (RhTermTasks){RH_WAIT_LAST, (RhPhase)phase};
    for (int w = 0; w < RH_WAIT_LAST; w++)
        if (strcmp(rh_wait_name((RhWait)w), name) == 0)
            return (RhTermTasks){(RhWait)w, RH_PHASE_NONE};
    return (RhTermTasks){RH_WAIT_COMPUTE, RH_PHASE_NONE};
}

static bool task_belongs(const RhTask *t, RhTermTasks subject)
{
    switch (t->kind) {
    case RH_TASK_COLLECTIVE:
        return rh_lane_wait(t->lane) == subject.wait;
    case RH_TASK_SEND:
        return subject.wait == RH_WAIT_PIPELINE_TRANSFER || subject.wait == RH_WAIT_BUBBLE;
    case RH_TASK_KERNEL:
        return subject.wait == RH_WAIT_COMPUTE || subject.wait == RH_WAIT_STRETCH ||
               (subject.wait == RH_WAIT_LAST && t->phase == subject.phase);
    case RH_TASK_COPY:
        return subject.wait == rh_copy_wait(t);
    default:
        return false;
    }
}

int32_t rh_term_busiest_role(const RhProgram *p, RhTermTasks subject)
{
    int32_t best = 0;
    int64_t most = -1;
    for (guint i = 0; i < p->roles->len; i++) {
        const RhRole *role = rh_program_role(p, (int32_t)i);
        int64_t count = 0;
        for (int32_t k = 0; k < role->tasks_count; k++)
            count += task_belongs(rh_program_task(p, role->tasks_first + k), subject);
        if (count > most) {
            most = count;
            best = (int32_t)i;
        }
    }
    return best;
}

/* --- collectives and messages --- */

static bool same_message(const RhTask *a, const RhTask *b)
{
    return a->kind == b->kind && a->op == b->op && a->algo == b->algo && a->group == b->group &&
           a->bytes == b->bytes && a->volumes == b->volumes && a->peer_delta == b->peer_delta &&
           a->phase == b->phase;
}

GArray *rh_term_messages(const RhProgram *p, const RhRole *role, RhTermTasks subject)
{
    GArray *out = g_array_new(FALSE, FALSE, sizeof(RhTermMessage));
    for (int32_t k = 0; k < role->tasks_count; k++) {
        const RhTask *t = rh_program_task(p, role->tasks_first + k);
        if (!task_belongs(t, subject))
            continue;
        guint i = 0;
        while (i < out->len && !same_message(g_array_index(out, RhTermMessage, i).first, t))
            i++;
        if (i == out->len) {
            RhTermMessage m = {t, 0};
            g_array_append_val(out, m);
        }
        g_array_index(out, RhTermMessage, i).count++;
    }
    return out;
}

static int32_t *nodes_of_group(const RhProgram *p, const RhPlatform *platform, const RhRole *role,
                               int32_t group)
{
    const RhGroup *g = rh_program_group(p, group);
    int32_t *nodes = g_new(int32_t, g->size);
    rh_group_members(g, rh_role_rank(role, 0), nodes);
    for (int32_t i = 0; i < g->size; i++)
        nodes[i] = rh_platform_node_of(platform, rh_program_gpu(p, nodes[i]));
    return nodes;
}

char *rh_term_algorithm_reason(const RhProgram *p, const RhPlatform *platform, const RhRole *role,
                               const RhTask *t)
{
    char *why = NULL;
    if (t->kind != RH_TASK_COLLECTIVE)
        return NULL;
    g_autofree int32_t *nodes = nodes_of_group(p, platform, role, t->group);
    rh_collective_choose_routed((RhOp)t->op, rh_program_group(p, t->group)->size, nodes, t->bytes,
                                rh_task_routing(p, t), platform, &why);
    return why;
}

RhUncontendedMessage rh_term_uncontended(const RhProgram *p, const RhPlatform *platform,
                                         int32_t role_index, const RhTask *t)
{
    if (t->kind == RH_TASK_SEND) {
        int32_t rank = rh_role_rank(rh_program_role(p, role_index), 0);
        int32_t src = rh_program_gpu(p, rank), dst = rh_program_gpu(p, rank + t->peer_delta);
        RhLink links[RH_ROUTE_MAX];
        int count = rh_platform_route(platform, src, dst, links);
        double slowest_s = 0;
        for (int i = 0; i < count; i++)
            slowest_s = MAX(slowest_s, t->bytes / rh_platform_link_bytes_per_s(platform, links[i]));
        return (RhUncontendedMessage){rh_platform_route_latency_s(platform, src, dst) + slowest_s,
                                      t->bytes};
    }
    const RhRole *role = rh_program_role(p, role_index);
    g_autofree int32_t *gpus = rh_group_gpus(p, t->group, rh_role_rank(role, 0));
    g_autoptr(RhSchedule) schedule = rh_schedule_of_task(p, t, platform, gpus, NULL);
    if (schedule == NULL)
        return (RhUncontendedMessage){0};
    return (RhUncontendedMessage){rh_schedule_time_s(schedule, p, platform, t->group, role_index),
                                  rh_schedule_wire_bytes(schedule)};
}

/* --- kernels --- */

static bool same_kernel(const RhKernel *a, const RhKernel *b)
{
    return a->cls == b->cls && a->dtype == b->dtype && a->batch == b->batch && a->m == b->m &&
           a->n == b->n && a->k == b->k && a->heads == b->heads && a->causal == b->causal &&
           a->bytes == b->bytes && a->flops == b->flops;
}

static int by_time(gconstpointer x, gconstpointer y)
{
    const RhTermKernel *a = x, *b = y;
    return a->sum_s > b->sum_s ? -1 : a->sum_s < b->sum_s;
}

static void add_bundle(GArray *out, const RhProgram *p, const RhDevice *device, int32_t bundle)
{
    const RhBundle *b = &g_array_index(p->bundles, RhBundle, bundle);
    for (int32_t k = 0; k < b->count; k++) {
        const RhKernel *kernel = &g_array_index(p->kernels, RhKernel, b->first + k);
        guint i = 0;
        while (i < out->len && !same_kernel(&g_array_index(out, RhTermKernel, i).kernel, kernel))
            i++;
        if (i == out->len) {
            RhTermKernel entry = {*kernel, 0, 0};
            g_array_append_val(out, entry);
        }
        RhTermKernel *entry = &g_array_index(out, RhTermKernel, i);
        entry->count++;
        entry->sum_s += rh_kernel_time_s(device, kernel);
    }
}

GArray *rh_term_kernels(const RhProgram *p, const RhDevice *device, const RhRole *role,
                        RhTermTasks subject)
{
    GArray *out = g_array_new(FALSE, FALSE, sizeof(RhTermKernel));
    for (int32_t k = 0; k < role->tasks_count; k++) {
        const RhTask *t = rh_program_task(p, role->tasks_first + k);
        if (t->kind == RH_TASK_KERNEL && task_belongs(t, subject) && t->bundle >= 0)
            add_bundle(out, p, device, t->bundle);
    }
    g_array_sort(out, by_time);
    return out;
}

void rh_layer_pass_times(const RhProblem *c, const RhLayout *l, double pass_s[RH_SLOT_PASSES])
{
    g_autoptr(RhModelCost) model_cost = rh_model_cost_new(c, l);
    g_autoptr(RhLayerOps) items = rh_layer_ops_new(l, model_cost);
    for (int pass = 0; pass < RH_SLOT_PASSES; pass++) {
        const GArray *tasks = items->pass[rh_op_kind_of_layer(c->model, 0, true)][pass].tasks;
        pass_s[pass] = 0;
        for (guint i = 0; tasks && i < tasks->len; i++) {
            const RhLayerOp *task = &g_array_index(tasks, RhLayerOp, i);
            for (int k = 0; k < RH_PARTS_MAX && task->parts[k]; k++)
                pass_s[pass] += task->parts[k]->seconds;
        }
    }
}
