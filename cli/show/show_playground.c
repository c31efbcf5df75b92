#include "cli/show/show_playground.h"

#include <stdio.h>

#include "base/error.h"
#include "cli/inputs/inputs.h"
#include "cli/output/output_file.h"
#include "cli/output/terminal.h"
#include "report/playground.h"

/* Jobs of the page: every model on every cluster with every number of GPUs. */
static const char *const models[] = {"llama-3.2-1b",   "llama-3.1-8b",  "llama-3.1-70b",
                                     "llama-3.1-405b", "qwen3-30b-a3b", NULL};
static const char *const clusters[] = {"dgx-a100", "dgx-h100", "dgx-b200", "gb200-nvl72", NULL};
static const int32_t gpus[] = {8, 64, 256, 1024};
#define BATCH    1024
#define SEQUENCE 4096

static const char *const widths[] = {"1", "2", "4", "8", NULL},
                         *const contexts[] = {"1", "2", NULL}, *const experts[] = {"1", "8", NULL},
                         *const zeros[] = {"1", "3", NULL},
                         *const microbatches[] = {"1", "2", "4", NULL},
                         *const recomputes[] = {"none", "full", NULL};
static const RhLayoutAxis axes[] = {
    {"tp", widths},  {"pp", widths},       {"cp", contexts},          {"ep", experts},
    {"zero", zeros}, {"mb", microbatches}, {"recompute=", recomputes}};
static const char *const labels[G_N_ELEMENTS(axes)] = {"tensor parallelism",
                                                       "pipeline stages",
                                                       "context parallelism",
                                                       "expert parallelism",
                                                       "ZeRO",
                                                       "sequences of a micro-batch",
                                                       "recomputed layers"};

static GArray *cells_of(const char *model, const char *cluster, int32_t count, GError **error)
{
    RhInputsSpec spec = {.workload = model,
                         .platform = cluster,
                         .dtype = "bf16",
                         .global_batch = BATCH,
                         .sequence = SEQUENCE,
                         .gpus = count,
                         .silent = true};
    g_autoptr(RhInputs) in = rh_inputs_load(&spec, error);
    return in ? rh_layout_grid(&in->c, axes, G_N_ELEMENTS(axes)) : NULL;
}

static void clear_grid(void *grid)
{
    g_array_unref((GArray *)(void *)((RhPlaygroundJob *)grid)->cells);
}

static GArray *all_grids(GError **error)
{
    g_autoptr(GArray) grids = g_array_new(FALSE, FALSE, sizeof(RhPlaygroundJob));
    g_array_set_clear_func(grids, clear_grid);
    for (int32_t m = 0; models[m]; m++)
        for (int32_t k = 0; clusters[k]; k++)
            for (int32_t g = 0; g < (int32_t)G_N_ELEMENTS(gpus); g++) {
                RhPlaygroundJob grid = {m, k, g, cells_of(models[m], clusters[k], gpus[g], error)};
                if (!grid.cells)
                    return NULL;
                g_array_append_val(grids, grid);
            }
    return g_steal_pointer(&grids);
}

static int64_t layouts_of(const GArray *grids)
{
    int64_t count = 0;
    for (guint i = 0; i < grids->len; i++)
        count += g_array_index(grids, RhPlaygroundJob, i).cells->len;
    return count;
}

static bool write_page(const RhArguments *a, const GArray *grids, GError **error)
{
    g_auto(GStrv) argv = rh_arguments_words(a->recorded);
    RhPlayground p = {.version = RH_VERSION,
                      .argv = (const char *const *)argv,
                      .models = models,
                      .clusters = clusters,
                      .gpus = gpus,
                      .gpus_count = G_N_ELEMENTS(gpus),
                      .global_batch = BATCH,
                      .sequence = SEQUENCE,
                      .axes = axes,
                      .labels = labels,
                      .axes_count = G_N_ELEMENTS(axes),
                      .jobs = (const RhPlaygroundJob *)(void *)grids->data,
                      .jobs_count = (int32_t)grids->len};
    g_autofree char *answer = g_strdup_printf(
        "%" G_GINT64_FORMAT " layouts of %d models on %d clusters, %d sequences of %d tokens a "
        "step in bf16: lower bounds of steps, and the memory that they take\n",
        layouts_of(grids), (int)G_N_ELEMENTS(models) - 1, (int)G_N_ELEMENTS(clusters) - 1, BATCH,
        SEQUENCE);
    g_autofree char *page = rh_report_playground_page(&p, answer);
    for (guint i = 0; i < a->outputs->len; i++)
        if (!rh_output_write(g_ptr_array_index(a->outputs, i), page, error))
            return false;
    fputs(answer, stdout);
    rh_output_answered();
    return true;
}

bool rh_show_playground(const RhArguments *a, GError **error)
{
    static const RhOutput html[] = {RH_OUTPUT_HTML, RH_OUTPUT_NONE};
    if (a->outputs->len == 0)
        return rh_fail(error, RH_ERROR_USAGE,
                       "show playground: the page needs a file\nhelp: -o play.html");
    if (!rh_outputs_check(a->outputs, html, error))
        return false;
    g_autoptr(GArray) grids = all_grids(error);
    return grids && write_page(a, grids, error);
}
