#include "report/traffic.h"

#include <math.h>

#include "sim/collective/collective_benchmark.h"

typedef enum { POINT_TO_POINT, COLLECTIVE, COPY, KINDS } Kind;
static const char *const kind_names[KINDS] = {"point-to-point", "collective", "copy"};

/* Bytes that a member sends in the mean, by what the operation needs; a tree's differ from rank to rank. */
static double collective_bytes(const RhProgram *p, const RhTask *task)
{
    int32_t members = g_array_index(p->groups, RhGroup, task->group).size;
    double mean_frac = task->op == RH_OP_BROADCAST ? (double)(members - 1) / members
                       : task->op == RH_OP_BARRIER ? 0
                                                   : rh_collective_bus_factor(task->op, members);
    return members > 1 ? mean_frac * task->bytes : 0;
}

/* Kind and bytes of what a task sends; KINDS: nothing. */
static Kind sent(const RhProgram *p, const RhTask *task, double *bytes)
{
    *bytes = task->bytes;
    if (task->kind == RH_TASK_COLLECTIVE)
        *bytes = collective_bytes(p, task);
    return task->kind == RH_TASK_COLLECTIVE
               ? (task->op == RH_OP_SHIFT ? POINT_TO_POINT : COLLECTIVE)
           : task->kind == RH_TASK_SEND                                ? POINT_TO_POINT
           : task->kind == RH_TASK_COPY && !rh_task_is_host_work(task) ? COPY
                                                                       : KINDS;
}

/* Adds bytes to the bins that an interval covers, by its share in each. */
static void spread(double bins[RH_LINK_BINS], double bin_s, const RhTaskInterval *at, double bytes)
{
    double lasts_s = at->t_end_s - at->t_start_s;
    int first = CLAMP((int)(at->t_start_s / bin_s), 0, RH_LINK_BINS - 1),
        last = CLAMP((int)(at->t_end_s / bin_s), first, RH_LINK_BINS - 1);
    for (int i = first; i <= last; i++) {
        double begin_s = i == first ? at->t_start_s : i * bin_s,
               end_s = i == last ? at->t_end_s : (i + 1) * bin_s;
        bins[i] += lasts_s > 0 ? bytes * (end_s - begin_s) / lasts_s : i == first ? bytes : 0;
    }
}

/* Appends the bins of one row of the table that are not empty. */
static void append_bins(GString *out, const char *head, const double bins[RH_LINK_BINS],
                        double bin_s)
{
    char begin[G_ASCII_DTOSTR_BUF_SIZE], end[G_ASCII_DTOSTR_BUF_SIZE],
        bytes[G_ASCII_DTOSTR_BUF_SIZE];
    for (int i = 0; i < RH_LINK_BINS; i++)
        if (bins[i] > 0)
            g_string_append_printf(out, "%s,%s,%s,%s\n", head,
                                   g_ascii_formatd(begin, sizeof begin, "%.9g", i * bin_s),
                                   g_ascii_formatd(end, sizeof end, "%.9g", (i + 1) * bin_s),
                                   g_ascii_formatd(bytes, sizeof bytes, "%.9g", bins[i]));
}

/* Links know the bytes of one step. */
static void append_links(GString *out, const RhRun *run, int32_t steps, double bin_s)
{
    guint series = run->link_loads->len / RH_LINK_BINS;
    for (guint l = 0; l < series && l < run->links->len; l++) {
        const RhLinkUse *link = &g_array_index(run->links, RhLinkUse, l);
        const double *loads = &g_array_index(run->link_loads, double, l *RH_LINK_BINS);
        double sum = 0, bins[RH_LINK_BINS];
        for (int i = 0; i < RH_LINK_BINS; i++)
            sum += loads[i];
        for (int i = 0; i < RH_LINK_BINS; i++)
            bins[i] = sum > 0 ? steps * link->bytes * loads[i] / sum : 0;
        g_autofree char *head = g_strdup_printf("link,%s,,all", link->name);
        append_bins(out, head, bins, bin_s);
    }
}

static void append_ranks(GString *out, const RhProgram *p, const RhRun *run, double bin_s)
{
    guint performers = run->performers->len;
    g_autofree double *bins = g_new0(double, (gsize)performers *KINDS *RH_LINK_BINS);
    for (guint i = 0; i < run->timeline->len; i++) {
        const RhTaskInterval *at = &g_array_index(run->timeline, RhTaskInterval, i);
        double bytes = 0;
        Kind kind = sent(p, &g_array_index(p->tasks, RhTask, at->task), &bytes);
        if (kind != KINDS && bytes > 0)
            spread(&bins[((gsize)at->performer * KINDS + kind) * RH_LINK_BINS], bin_s, at, bytes);
    }
    for (guint i = 0; i < performers; i++)
        for (int kind = 0; kind < KINDS; kind++) {
            const RhPerformer *of = &g_array_index(run->performers, RhPerformer, i);
            g_autofree char *head =
                g_strdup_printf("rank,%d,%d,%s", of->rank, of->ranks_count, kind_names[kind]);
            append_bins(out, head, &bins[((gsize)i * KINDS + (gsize)kind) * RH_LINK_BINS], bin_s);
        }
}

char *rh_report_traffic_csv(const RhProgram *program, const RhRun *run, int32_t steps)
{
    GString *out = g_string_new("what,name,ranks,kind,begin_s,end_s,bytes\n");
    double end_s = 0;
    for (guint i = 0; i < run->timeline->len; i++)
        end_s = fmax(end_s, g_array_index(run->timeline, RhTaskInterval, i).t_end_s);
    if (end_s > 0) {
        append_links(out, run, steps, end_s / RH_LINK_BINS);
        append_ranks(out, program, run, end_s / RH_LINK_BINS);
    }
    return g_string_free(out, FALSE);
}
