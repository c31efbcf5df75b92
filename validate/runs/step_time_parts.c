#include "validate/runs/step_time_parts.h"

#include <math.h>

#include "base/text/text_table.h"
#include "report/format.h"

static const char *const names[RH_PART_LAST] = {
    [RH_PART_GEMM] = "GEMM",
    [RH_PART_ATTENTION] = "attention",
    [RH_PART_MEMORY] = "memory-bound kernels",
    [RH_PART_COPY] = "copies",
    [RH_PART_ALL_REDUCE] = "all-reduce",
    [RH_PART_ALL_GATHER] = "all-gather",
    [RH_PART_REDUCE_SCATTER] = "reduce-scatter",
    [RH_PART_ALL_TO_ALL] = "all-to-all",
    [RH_PART_SEND_RECV] = "send and receive",
    [RH_PART_COLLECTIVE] = "other collectives",
};

const char *rh_step_part_name(RhStepPart part)
{
    return names[part];
}

/* --- a rehearsed step --- */

static RhStepPart part_of_kernel(RhKernelClass cls)
{
    return cls == RH_KERNEL_GEMM ? RH_PART_GEMM
           : cls == RH_KERNEL_ATTENTION || cls == RH_KERNEL_ATTENTION_BACKWARD ||
                   cls == RH_KERNEL_SCAN
               ? RH_PART_ATTENTION
               : RH_PART_MEMORY;
}

static RhStepPart part_of_task(const RhTask *task)
{
    static const RhStepPart ops[RH_OP_LAST] = {[RH_OP_ALL_REDUCE] = RH_PART_ALL_REDUCE,
                                               [RH_OP_ALL_GATHER] = RH_PART_ALL_GATHER,
                                               [RH_OP_REDUCE_SCATTER] = RH_PART_REDUCE_SCATTER,
                                               [RH_OP_ALL_TO_ALL] = RH_PART_ALL_TO_ALL,
                                               [RH_OP_SHIFT] = RH_PART_SEND_RECV};
    if (task->kind == RH_TASK_COPY)
        return RH_PART_COPY;
    if (task->kind == RH_TASK_SEND || task->kind == RH_TASK_RECV)
        return RH_PART_SEND_RECV;
    if (task->kind != RH_TASK_COLLECTIVE)
        return RH_PART_LAST;
    return ops[task->op] == RH_PART_GEMM ? RH_PART_COLLECTIVE : ops[task->op];
}

/* The performer that stands for a rank. */
static int32_t performer_of(const RhProgram *p, const RhRun *run, int32_t rank)
{
    g_autofree int32_t *roles = rh_program_role_of_rank(p);
    int32_t role = rank >= 0 && rank < p->ranks_count ? roles[rank] : roles[0], found = 0;
    for (guint i = 0; i < run->performers->len; i++) {
        const RhPerformer *one = &g_array_index(run->performers, RhPerformer, i);
        if (one->role == role && one->rank == rank)
            return (int32_t)i;
        if (one->role == role && g_array_index(run->performers, RhPerformer, found).role != role)
            found = (int32_t)i;
    }
    return found;
}

static void add_kernels(const RhProblem *c, const RhProgram *p, const RhPerformer *performer,
                        RhStepParts *out)
{
    int32_t kind = rh_platform_device_of(c->platform, rh_program_gpu(p, performer->rank));
    const RhDevice *device = rh_platform_device(c->platform, kind);
    const RhRole *role = rh_program_role(p, performer->role);
    for (int32_t i = 0; i < role->tasks_count; i++) {
        const RhTask *task = rh_program_task(p, role->tasks_first + i);
        if (task->kind != RH_TASK_KERNEL)
            continue;
        const RhBundle *bundle = &g_array_index(p->bundles, RhBundle, task->bundle);
        if (bundle->seconds >= 0)
            out->busy_s[RH_PART_MEMORY] += bundle->seconds;
        for (int32_t k = 0; k < bundle->count && bundle->seconds < 0; k++) {
            const RhKernel *kernel = &g_array_index(p->kernels, RhKernel, bundle->first + k);
            out->busy_s[part_of_kernel(kernel->cls)] += rh_kernel_time_s(device, kernel);
        }
    }
}

static void add_transfers(const RhProgram *p, const RhRun *run, int32_t performer, RhStepParts *out)
{
    for (guint i = 0; i < run->timeline->len; i++) {
        const RhTaskInterval *span = &g_array_index(run->timeline, RhTaskInterval, i);
        RhStepPart part = part_of_task(rh_program_task(p, span->task));
        if (span->performer == performer && part < RH_PART_LAST)
            out->busy_s[part] += span->t_end_s - span->t_start_s;
    }
}

RhStepParts rh_step_parts_of_run(const RhProblem *c, const RhProgram *p, const RhRun *run,
                                 int32_t rank)
{
    RhStepParts out = {.step_s = run->step_time_s};
    int32_t which = performer_of(p, run, rank);
    const RhPerformer *performer = &g_array_index(run->performers, RhPerformer, which);
    add_kernels(c, p, performer, &out);
    add_transfers(p, run, which, &out);
    double kernels_s = 0;
    for (int part = 0; part < RH_PART_COPY; part++)
        kernels_s += out.busy_s[part];
    kernels_s = fmin(kernels_s, performer->wait_s[RH_WAIT_COMPUTE]);
    out.idle_s = performer->wait_s[RH_WAIT_COMPUTE] - kernels_s + performer->wait_s[RH_WAIT_HOST];
    out.compute_s = kernels_s + performer->wait_s[RH_WAIT_STRETCH];
    out.copies_s = performer->wait_s[RH_WAIT_COPY];
    out.exposed_s = fmax(out.step_s - out.compute_s - out.copies_s - out.idle_s, 0);
    return out;
}

/* --- beside each other --- */

typedef struct {
    const char *name;
    double measured_s, predicted_s;
} Row;

static void append_row(RhTable *table, const Row *row)
{
    double off = row->measured_s - row->predicted_s;
    g_autofree char *measured = rh_quantity_format(row->measured_s, RH_QUANTITY_S, 4),
                    *predicted = rh_quantity_format(row->predicted_s, RH_QUANTITY_S, 4),
                    *difference = rh_quantity_format(fabs(off), RH_QUANTITY_S, 3);
    if (row->measured_s > 0 || row->predicted_s > 0)
        rh_table_rowf(table, "%s|%s|%s|%s%s", row->name, measured, predicted, off < 0 ? "-" : "+",
                      difference);
}

static Row row_of(RhStepPart part, const RhStepParts *m, const RhStepParts *p)
{
    return (Row){names[part], m->busy_s[part], p->busy_s[part]};
}

/* Appends which row of a step differs most, in the direction of the step. */
static void append_most(GString *out, const Row *rows, int count, const Row *step)
{
    double off = step->measured_s - step->predicted_s;
    const Row *most = &rows[0];
    for (int i = 1; i < count; i++)
        if ((rows[i].measured_s - rows[i].predicted_s) * off >
            (most->measured_s - most->predicted_s) * off)
            most = &rows[i];
    g_autofree char *part = rh_quantity_format(fabs(most->measured_s - most->predicted_s),
                                               RH_QUANTITY_S, 3),
                    *all = rh_quantity_format(fabs(off), RH_QUANTITY_S, 3);
    g_autofree char *line = g_strdup_printf(
        "largest difference: %s, %s%s (the step: %s%s)", most->name,
        most->measured_s < most->predicted_s ? "-" : "+", part, off < 0 ? "-" : "+", all);
    rh_text_wrap(out, line, 2, 79);
}

void rh_step_parts_append(GString *out, const RhStepParts *m, const RhStepParts *p)
{
    const Row rows[] = {row_of(RH_PART_GEMM, m, p),
                        row_of(RH_PART_ATTENTION, m, p),
                        row_of(RH_PART_MEMORY, m, p),
                        {"exposed communication, with waits", m->exposed_s, p->exposed_s},
                        {"exposed copies", m->copies_s, p->copies_s},
                        {"gaps: nothing runs", m->idle_s, p->idle_s}},
              step = {"step", m->step_s, p->step_s};
    g_autoptr(RhTable) table = rh_table_new("<>>>"), hidden = rh_table_new("<>>>");
    rh_table_rowf(table, "where the step goes|measured|predicted|difference");
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        append_row(table, &rows[i]);
    append_row(table, &step);
    rh_table_append(table, out, "");
    rh_table_rowf(hidden, "beside that, hidden or not|measured|predicted|difference");
    for (int part = RH_PART_COPY; part < RH_PART_LAST; part++) {
        Row row = row_of((RhStepPart)part, m, p);
        append_row(hidden, &row);
    }
    rh_table_append(hidden, out, "");
    append_most(out, rows, G_N_ELEMENTS(rows), &step);
}
