#include "cli/explain/explain_term.h"

#include "base/text/text_table.h"
#include "report/format.h"
#include "report/report.h"
#include "strategies/search/explain/cost_term_tasks.h"

#define ROWS_MAX 8

/* --- collectives and messages --- */

static void message_row(RhTable *table, const RhInputs *in, const RhProgram *p, int32_t role,
                        const RhTermMessage *m)
{
    const RhTask *t = m->first;
    RhUncontendedMessage a = rh_term_uncontended(p, in->platform, role, t);
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
    g_autofree char *why = rh_term_algorithm_reason(p, in->platform, role, t);
    if (t->kind != RH_TASK_COLLECTIVE)
        return;
    g_string_append_printf(out, "  why this algorithm for %s:\n    ", rh_op_name((RhOp)t->op));
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
        g_string_append_printf(out,
                               "  %-7s %s x efficiency %s, %s in training with %s; latency %s\n",
                               links[i].name, peak, efficiency, used, in->c.stack->name, latency);
    }
    g_string_append(out, "  m measured, f fitted, d data sheet, a assumed\n");
}

static void append_messages(GString *out, const RhInputs *in, const RhProgram *p,
                            RhTermTasks subject)
{
    int32_t index = rh_term_busiest_role(p, subject);
    const RhRole *role = rh_program_role(p, index);
    g_autoptr(GArray) all = rh_term_messages(p, role, subject);
    if (all->len == 0) {
        g_string_append(out, "\nno GPU of this layout sends anything for it\n");
        return;
    }
    g_string_append_printf(
        out, "\ncollectives of a GPU of %s in a step (sent: by each GPU; times on idle links)\n",
        (const char *)g_ptr_array_index(p->labels, (guint)role->label));
    g_autoptr(RhTable) table = rh_table_new("<<<>>>>>>");
    rh_table_rowf(table, "phase|collective|algorithm|ranks|size|sent|count|each|sum");
    for (guint i = 0; i < MIN(all->len, ROWS_MAX); i++)
        message_row(table, in, p, index, &g_array_index(all, RhTermMessage, i));
    rh_table_append(table, out, "  ");
    if (all->len > ROWS_MAX)
        g_string_append_printf(out, "  and %u other sizes\n", all->len - ROWS_MAX);
    const RhTask *largest = g_array_index(all, RhTermMessage, 0).first;
    for (guint i = 1; i < all->len; i++)
        if (g_array_index(all, RhTermMessage, i).first->bytes > largest->bytes)
            largest = g_array_index(all, RhTermMessage, i).first;
    g_string_append(out, "\nalgorithm and bandwidths\n");
    append_choice(out, in, p, role, largest);
    append_links(out, in);
}

/* --- kernels --- */

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

static void append_kernels(GString *out, const RhInputs *in, const RhProgram *p,
                           RhTermTasks subject, bool brief)
{
    const RhDevice *device = in->platform->device;
    const RhRole *role = rh_program_role(p, rh_term_busiest_role(p, subject));
    g_autoptr(GArray) all = rh_term_kernels(p, device, role, subject);
    if (all->len == 0)
        return;
    g_string_append_printf(out, "\nkernels of a GPU of %s in a step, longest first\n",
                           (const char *)g_ptr_array_index(p->labels, (guint)role->label));
    g_autoptr(RhTable) table = rh_table_new("<<>>>>");
    rh_table_rowf(table, "kernel|shape|count|each|sum|TFLOP/s");
    for (guint i = 0; i < MIN(all->len, ROWS_MAX); i++) {
        const RhTermKernel *k = &g_array_index(all, RhTermKernel, i);
        g_autofree char *shape = shape_text(&k->kernel);
        g_autofree char *each = rh_quantity_format(k->sum_s / (double)k->count, RH_QUANTITY_S, 3);
        g_autofree char *sum = rh_quantity_format(k->sum_s, RH_QUANTITY_S, 3);
        rh_table_rowf(table, "%s|%s|%" G_GINT64_FORMAT "|%s|%s|%.0f",
                      rh_kernel_class_name((RhKernelClass)k->kernel.cls), shape, k->count, each,
                      sum, k->kernel.flops * (double)k->count / k->sum_s / 1e12);
    }
    rh_table_append(table, out, "  ");
    g_autofree char *gap = rh_text_fact(&in->c.stack->kernel_gap_s, RH_QUANTITY_S);
    g_string_append_printf(out,
                           "  and %s between kernels (m measured, f fitted, d data sheet, "
                           "a assumed)\n",
                           gap);
    if (!brief) {
        g_string_append(out, "    ");
        rh_text_wrap(out, in->c.stack->kernel_gap_s.source, 4, 79);
    }
    const RhTermKernel *top = &g_array_index(all, RhTermKernel, 0);
    g_autoptr(RhCost) why = rh_kernel_explain(device, &top->kernel);
    g_string_append(out, "\nthe first kernel of this list\n");
    rh_report_tree(out, why, why->value_s, brief);
}

/* --- the bubble --- */

static void append_bubble(GString *out, const RhProblem *c, const RhLayout *l)
{
    const RhPipelineSchedule *schedule = rh_pipeline_of(l);
    int64_t m = rh_train_microbatches(c, l);
    double pass_s[RH_SLOT_PASSES];
    rh_layer_pass_times(c, l, pass_s);
    g_string_append_printf(
        out,
        "\nwith stages of equal work the pipeline bubble is, as a share of the work,\n"
        "  %s = %.1f %% (pp %d, vpp %d, micro-batches m %" G_GINT64_FORMAT
        "); the rest is imbalance\n",
        schedule->bubble, 100 * schedule->bubble_frac(l->pp, l->vpp, m, pass_s), l->pp, l->vpp, m);
    if (!schedule->splits_backward)
        return;
    g_autofree char *f = rh_quantity_format(pass_s[RH_SLOT_FORWARD], RH_QUANTITY_S, 3);
    g_autofree char *b = rh_quantity_format(pass_s[RH_SLOT_BACKWARD_DATA], RH_QUANTITY_S, 3);
    g_autofree char *w = rh_quantity_format(pass_s[RH_SLOT_BACKWARD_WEIGHT], RH_QUANTITY_S, 3);
    g_string_append_printf(
        out, "  time of a layer: forward F %s, backward for inputs B %s, for weights W %s\n", f, b,
        w);
}

void rh_explain_term(GString *out, const RhInputs *in, const RhRehearsal *r, const RhProgram *p,
                     const RhCost *term, bool brief)
{
    RhTermTasks subject = rh_term_tasks(term->name);
    g_autofree char *value = rh_quantity_format(term->value_s, RH_QUANTITY_S, 3);
    g_autofree char *whole = rh_quantity_format(r->step_time_s, RH_QUANTITY_S, 3);
    g_string_append_printf(out, "%s = %s of %s (%.1f %%)\n", term->name, value, whole,
                           100 * term->value_s / r->step_time_s);
    rh_report_tree(out, term, r->step_time_s, brief);
    bool kernels = subject.wait == RH_WAIT_COMPUTE || subject.wait == RH_WAIT_STRETCH ||
                   subject.wait == RH_WAIT_LAST;
    if (subject.wait == RH_WAIT_BUBBLE)
        append_bubble(out, &in->c, &r->layout);
    if (kernels)
        append_kernels(out, in, p, subject, brief);
    else
        append_messages(out, in, p, subject);
}
