#include "cli/explain/explain_term.h"

#include <string.h>

#include "base/error.h"
#include "base/nearest_names.h"
#include "base/table.h"
#include "report/format.h"
#include "report/report.h"
#include "sim/collective/collective.h"
#include "strategies/train/layer_ops.h"

#define ROWS_MAX 8

/* --- finding a term --- */

static void collect_names(const RhCost *term, GPtrArray *names)
{
    g_ptr_array_add(names, (char *)term->name);
    for (guint i = 0; i < term->children->len; i++)
        collect_names(g_ptr_array_index(term->children, i), names);
}

/* A lane's name stands for what waiting on it is called; and words that people use besides. */
static const char *meaning_of(const char *word)
{
    static const char *const words[][2] = {
        {"pp", "pipeline bubble"}, {"zero", "data parallel"}, {"kernels", "compute"}};
    for (size_t i = 0; i < G_N_ELEMENTS(words); i++)
        if (strcmp(word, words[i][0]) == 0)
            return words[i][1];
    for (int lane = RH_LANE_COMPUTE + 1; lane < RH_LANE_LAST; lane++)
        if (strcmp(word, rh_lane_name(lane)) == 0)
            return rh_wait_name(rh_lane_wait(lane));
    return word;
}

/* A wait that costs nothing, since kernels hide all that would: it has no term yet. NULL where nothing of
 * the program could be waited for so. */
static const RhCost *find_hidden(RhCost *costs, const RhProgram *p, const char *meant)
{
    for (int w = 0; w < RH_WAIT_LAST; w++)
        for (guint i = 0; i < p->tasks->len && strstr(rh_wait_name((RhWait)w), meant); i++) {
            const RhTask *t = rh_program_task(p, (int32_t)i);
            if (t->kind == RH_TASK_COLLECTIVE && rh_lane_wait(t->lane) == (RhWait)w)
                return rh_cost_add(costs, rh_wait_name((RhWait)w), 0,
                                   "all of it hides behind kernels");
        }
    return NULL;
}

const RhCost *rh_explain_find(RhCost *costs, const RhProgram *p, const char *word, GError **error)
{
    g_autofree char *spelled = g_strdup(word);
    const RhCost *exact = rh_cost_find(costs, word);
    if (exact)
        return exact;
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    collect_names(costs, names);
    g_ptr_array_add(names, NULL);
    g_autofree char *small = g_ascii_strdown(g_strdelimit(spelled, "-_", ' '), -1);
    const char *meant = meaning_of(small);
    for (guint i = 0; *meant && i + 1 < names->len; i++) {
        g_autofree char *name = g_ascii_strdown(g_ptr_array_index(names, i), -1);
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

typedef struct {
    RhWait wait; /* a wait, or RH_WAIT_LAST for kernels of one phase */
    RhPhase phase;
} Subject;

static Subject subject_of(const char *name)
{
    for (int phase = 0; phase < RH_PHASE_LAST; phase++)
        if (strcmp(rh_phase_name((RhPhase)phase), name) == 0)
            return (Subject){RH_WAIT_LAST, (RhPhase)phase};
    for (int w = 0; w < RH_WAIT_LAST; w++)
        if (strcmp(rh_wait_name((RhWait)w), name) == 0)
            return (Subject){(RhWait)w, RH_PHASE_NONE};
    return (Subject){RH_WAIT_COMPUTE, RH_PHASE_NONE};
}

static bool task_belongs(const RhTask *t, Subject subject)
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
        return subject.wait == RH_WAIT_COPY;
    default:
        return false;
    }
}

/* The role with the most tasks of the subject stands for all. */
static int32_t busiest_role(const RhProgram *p, Subject subject)
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

typedef struct {
    const RhTask *first;
    int64_t count;
} Messages;

static bool same_message(const RhTask *a, const RhTask *b)
{
    return a->kind == b->kind && a->op == b->op && a->algo == b->algo && a->group == b->group &&
           a->bytes == b->bytes && a->volumes == b->volumes && a->peer_delta == b->peer_delta &&
           a->phase == b->phase;
}

static GArray *messages_of(const RhProgram *p, const RhRole *role, Subject subject)
{
    GArray *out = g_array_new(FALSE, FALSE, sizeof(Messages));
    for (int32_t k = 0; k < role->tasks_count; k++) {
        const RhTask *t = rh_program_task(p, role->tasks_first + k);
        if (!task_belongs(t, subject))
            continue;
        guint i = 0;
        while (i < out->len && !same_message(g_array_index(out, Messages, i).first, t))
            i++;
        if (i == out->len) {
            Messages m = {t, 0};
            g_array_append_val(out, m);
        }
        g_array_index(out, Messages, i).count++;
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

/* A message on idle links, and what its busiest member puts on them. */
typedef struct {
    double each_s, wire_bytes;
} Alone;

static Alone alone(const RhProgram *p, const RhPlatform *platform, int32_t role_index,
                   const RhTask *t)
{
    if (t->kind == RH_TASK_SEND) {
        int32_t rank = rh_role_rank(rh_program_role(p, role_index), 0);
        int32_t src = rh_program_gpu(p, rank), dst = rh_program_gpu(p, rank + t->peer_delta);
        RhLink links[RH_ROUTE_MAX];
        int count = rh_platform_route(platform, src, dst, links);
        double slowest_s = 0;
        for (int i = 0; i < count; i++)
            slowest_s = MAX(slowest_s, t->bytes / rh_platform_link_bytes_per_s(platform, links[i]));
        return (Alone){rh_platform_route_latency_s(platform, src, dst) + slowest_s, t->bytes};
    }
    const RhRole *role = rh_program_role(p, role_index);
    g_autofree int32_t *gpus = rh_group_gpus(p, t->group, rh_role_rank(role, 0));
    g_autoptr(RhSchedule) schedule = rh_schedule_of_task(p, t, platform, gpus, NULL);
    if (schedule == NULL)
        return (Alone){0};
    return (Alone){rh_schedule_time_s(schedule, p, platform, t->group, role_index),
                   rh_schedule_wire_bytes(schedule)};
}

static void message_row(RhTable *table, const RhInputs *in, const RhProgram *p, int32_t role,
                        const Messages *m)
{
    const RhTask *t = m->first;
    Alone a = alone(p, in->platform, role, t);
    g_autofree char *size = rh_quantity_format(t->bytes, RH_QUANTITY_BYTES, 3);
    g_autofree char *wire = rh_quantity_format(a.wire_bytes, RH_QUANTITY_BYTES, 3);
    g_autofree char *each = rh_quantity_format(a.each_s, RH_QUANTITY_S, 3);
    g_autofree char *sum = rh_quantity_format(a.each_s * (double)m->count, RH_QUANTITY_S, 3);
    bool send = t->kind == RH_TASK_SEND;
    rh_table_rowf(table, "%s|%s|%s|%d|%s|%s|%" G_GINT64_FORMAT "|%s|%s", rh_phase_name(t->phase),
                  send ? "send" : rh_op_name((RhOp)t->op),
                  send ? "" : rh_algo_name((RhAlgo)t->algo),
                  send ? 2 : rh_program_group(p, t->group)->size, size, wire, m->count, each, sum);
}

static void append_choice(GString *out, const RhInputs *in, const RhProgram *p, const RhRole *role,
                          const RhTask *t)
{
    if (t->kind != RH_TASK_COLLECTIVE)
        return;
    g_autofree int32_t *nodes = nodes_of_group(p, in->platform, role, t->group);
    g_autofree char *why = NULL;
    rh_collective_choose_routed((RhOp)t->op, rh_program_group(p, t->group)->size, nodes, t->bytes,
                                rh_task_routing(p, t), in->platform, &why);
    g_string_append_printf(out, "  %s, which algorithm:\n    ", rh_op_name((RhOp)t->op));
    if (why)
        rh_text_wrap(out, why, 4, 79);
}

static void append_links(GString *out, const RhInputs *in)
{
    const RhPlatform *hardware = in->hardware, *seen = in->platform;
    const struct {
        const char *name;
        const RhFact *peak, *efficiency, *latency;
        double seen_frac;
    } links[] = {{"NVLink", &hardware->nvlink_bytes_per_s, &hardware->nvlink_efficiency_frac,
                  &hardware->nvlink_latency_s, seen->nvlink_efficiency_frac.value},
                 {"NIC", &hardware->nic_bytes_per_s, &hardware->nic_efficiency_frac,
                  &hardware->nic_latency_s, seen->nic_efficiency_frac.value}};
    for (size_t i = 0; i < G_N_ELEMENTS(links); i++) {
        g_autofree char *peak = rh_text_fact(links[i].peak, RH_QUANTITY_BYTES_PER_S);
        g_autofree char *efficiency = rh_text_fact(links[i].efficiency, RH_QUANTITY_FRAC);
        g_autofree char *latency = rh_text_fact(links[i].latency, RH_QUANTITY_S);
        g_autofree char *used = rh_quantity_format(links[i].peak->value * links[i].seen_frac,
                                                   RH_QUANTITY_BYTES_PER_S, 3);
        g_string_append_printf(out, "  %-7s %s x %s alone; %s with %s; %s a step\n", links[i].name,
                               peak, efficiency, used, in->c.stack->name, latency);
    }
}

static void append_messages(GString *out, const RhInputs *in, const RhProgram *p, Subject subject)
{
    int32_t index = busiest_role(p, subject);
    const RhRole *role = rh_program_role(p, index);
    g_autoptr(GArray) all = messages_of(p, role, subject);
    if (all->len == 0) {
        g_string_append(out, "\nno rank of this layout sends anything for this term\n");
        return;
    }
    g_string_append_printf(out, "\nwhat a rank of \"%s\" sends in a step (times with idle links)\n",
                           (const char *)g_ptr_array_index(p->labels, (guint)role->label));
    g_autoptr(RhTable) table = rh_table_new("<<<>>>>>>");
    rh_table_rowf(table, "phase|what|algorithm|ranks|bytes|wire|count|each|sum");
    for (guint i = 0; i < MIN(all->len, ROWS_MAX); i++)
        message_row(table, in, p, index, &g_array_index(all, Messages, i));
    rh_table_append(table, out, "  ");
    if (all->len > ROWS_MAX)
        g_string_append_printf(out, "  and %u more sizes\n", all->len - ROWS_MAX);
    const RhTask *largest = g_array_index(all, Messages, 0).first;
    for (guint i = 1; i < all->len; i++)
        if (g_array_index(all, Messages, i).first->bytes > largest->bytes)
            largest = g_array_index(all, Messages, i).first;
    g_string_append(out, "\nalgorithm and bandwidths\n");
    append_choice(out, in, p, role, largest);
    append_links(out, in);
}

/* --- kernels --- */

typedef struct {
    RhKernel kernel;
    int64_t count;
    double sum_s;
} Kernels;

static bool same_kernel(const RhKernel *a, const RhKernel *b)
{
    return a->cls == b->cls && a->dtype == b->dtype && a->batch == b->batch && a->m == b->m &&
           a->n == b->n && a->k == b->k && a->heads == b->heads && a->causal == b->causal &&
           a->bytes == b->bytes && a->flops == b->flops;
}

static int by_time(gconstpointer x, gconstpointer y)
{
    const Kernels *a = x, *b = y;
    return a->sum_s > b->sum_s ? -1 : a->sum_s < b->sum_s;
}

static void add_bundle(GArray *out, const RhProgram *p, const RhDevice *device, int32_t bundle)
{
    const RhBundle *b = &g_array_index(p->bundles, RhBundle, bundle);
    for (int32_t k = 0; k < b->count; k++) {
        const RhKernel *kernel = &g_array_index(p->kernels, RhKernel, b->first + k);
        guint i = 0;
        while (i < out->len && !same_kernel(&g_array_index(out, Kernels, i).kernel, kernel))
            i++;
        if (i == out->len) {
            Kernels entry = {*kernel, 0, 0};
            g_array_append_val(out, entry);
        }
        Kernels *entry = &g_array_index(out, Kernels, i);
        entry->count++;
        entry->sum_s += rh_kernel_time_s(device, kernel);
    }
}

static GArray *kernels_of(const RhProgram *p, const RhDevice *device, const RhRole *role,
                          Subject subject)
{
    GArray *out = g_array_new(FALSE, FALSE, sizeof(Kernels));
    for (int32_t k = 0; k < role->tasks_count; k++) {
        const RhTask *t = rh_program_task(p, role->tasks_first + k);
        if (t->kind == RH_TASK_KERNEL && task_belongs(t, subject) && t->bundle >= 0)
            add_bundle(out, p, device, t->bundle);
    }
    g_array_sort(out, by_time);
    return out;
}

static char *shape_text(const RhKernel *k)
{
    if (k->cls == RH_KERNEL_GEMM)
        return k->batch > 1 ? g_strdup_printf("%" G_GINT64_FORMAT " x %" G_GINT64_FORMAT
                                              " x %" G_GINT64_FORMAT " x %" G_GINT64_FORMAT,
                                              k->batch, k->m, k->n, k->k)
                            : g_strdup_printf("%" G_GINT64_FORMAT " x %" G_GINT64_FORMAT
                                              " x %" G_GINT64_FORMAT,
                                              k->m, k->n, k->k);
    if (k->cls == RH_KERNEL_ATTENTION || k->cls == RH_KERNEL_ATTENTION_BACKWARD)
        return g_strdup_printf("s %" G_GINT64_FORMAT ", %d heads of %" G_GINT64_FORMAT, k->m,
                               k->heads, k->k);
    return rh_quantity_format(k->bytes, RH_QUANTITY_BYTES, 3);
}

static void append_kernels(GString *out, const RhInputs *in, const RhProgram *p, Subject subject)
{
    const RhDevice *device = in->platform->device;
    const RhRole *role = rh_program_role(p, busiest_role(p, subject));
    g_autoptr(GArray) all = kernels_of(p, device, role, subject);
    if (all->len == 0)
        return;
    g_string_append_printf(out, "\nkernels of a rank of \"%s\" in a step, longest first\n",
                           (const char *)g_ptr_array_index(p->labels, (guint)role->label));
    g_autoptr(RhTable) table = rh_table_new("<<>>>>");
    rh_table_rowf(table, "kernel|shape|count|each|sum|TFLOP/s");
    for (guint i = 0; i < MIN(all->len, ROWS_MAX); i++) {
        const Kernels *k = &g_array_index(all, Kernels, i);
        g_autofree char *shape = shape_text(&k->kernel);
        g_autofree char *each = rh_quantity_format(k->sum_s / (double)k->count, RH_QUANTITY_S, 3);
        g_autofree char *sum = rh_quantity_format(k->sum_s, RH_QUANTITY_S, 3);
        rh_table_rowf(table, "%s|%s|%" G_GINT64_FORMAT "|%s|%s|%.0f",
                      rh_kernel_class_name((RhKernelClass)k->kernel.cls), shape, k->count, each,
                      sum, k->kernel.flops * (double)k->count / k->sum_s / 1e12);
    }
    rh_table_append(table, out, "  ");
    g_autofree char *gap = rh_text_fact(&in->c.stack->kernel_gap_s, RH_QUANTITY_S);
    g_string_append_printf(out, "  and %s after each kernel:\n    ", gap);
    rh_text_wrap(out, in->c.stack->kernel_gap_s.source, 4, 79);
    const Kernels *top = &g_array_index(all, Kernels, 0);
    g_autoptr(RhCost) why = rh_kernel_explain(device, &top->kernel);
    g_string_append(out, "\nthe first of them\n");
    rh_report_tree(out, why, why->value_s);
}

/* --- the bubble --- */

/* Seconds of a layer's kernels in each pass. */
static void layer_passes(const RhProblem *c, const RhLayout *l, double pass_s[RH_SLOT_PASSES])
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

static void append_bubble(GString *out, const RhProblem *c, const RhLayout *l)
{
    const RhPipelineSchedule *schedule = rh_pipeline_of(l);
    int64_t m = rh_train_microbatches(c, l);
    double pass_s[RH_SLOT_PASSES];
    layer_passes(c, l, pass_s);
    g_string_append_printf(out,
                           "\nwith equal stages the bubble over the work is\n"
                           "  %s = %.1f %% (pp %d, vpp %d, m %" G_GINT64_FORMAT ")\n",
                           schedule->bubble, 100 * schedule->bubble_frac(l->pp, l->vpp, m, pass_s),
                           l->pp, l->vpp, m);
    if (!schedule->splits_backward)
        return;
    g_autofree char *f = rh_quantity_format(pass_s[RH_SLOT_FORWARD], RH_QUANTITY_S, 3);
    g_autofree char *b = rh_quantity_format(pass_s[RH_SLOT_BACKWARD_DATA], RH_QUANTITY_S, 3);
    g_autofree char *w = rh_quantity_format(pass_s[RH_SLOT_BACKWARD_WEIGHT], RH_QUANTITY_S, 3);
    g_string_append_printf(
        out, "  of a layer, forward F %s, backward to inputs B %s, to weights W %s\n", f, b, w);
}

void rh_explain_term(GString *out, const RhInputs *in, const RhRehearsal *r, const RhProgram *p,
                     const RhCost *term)
{
    Subject subject = subject_of(term->name);
    g_autofree char *value = rh_quantity_format(term->value_s, RH_QUANTITY_S, 3);
    g_autofree char *whole = rh_quantity_format(r->step_time_s, RH_QUANTITY_S, 3);
    g_string_append_printf(out, "%s = %s of %s (%.1f %%)\n", term->name, value, whole,
                           100 * term->value_s / r->step_time_s);
    rh_report_tree(out, term, r->step_time_s);
    bool kernels = subject.wait == RH_WAIT_COMPUTE || subject.wait == RH_WAIT_STRETCH ||
                   subject.wait == RH_WAIT_LAST;
    if (subject.wait == RH_WAIT_BUBBLE)
        append_bubble(out, &in->c, &r->layout);
    if (kernels)
        append_kernels(out, in, p, subject);
    else
        append_messages(out, in, p, subject);
}
