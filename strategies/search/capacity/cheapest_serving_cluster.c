#include "strategies/search/capacity/cheapest_serving_cluster.h"

#include <math.h>

#define HOUR_S 3600.0

static RhServiceCell *cell_at(const GArray *cells, guint i)
{
    return &g_array_index(cells, RhServiceCell, i);
}

int32_t rh_service_rented(int64_t asked, int32_t gpus_per_node)
{
    int64_t nodes = (asked + gpus_per_node - 1) / gpus_per_node;
    return (int32_t)(asked < gpus_per_node ? asked : nodes * gpus_per_node);
}

double rh_service_answer_s(const RhServeEntry *entry)
{
    return entry->outcome.metrics[RH_METRIC_E2E].mean.value;
}

/* Entry with the highest rate on so many GPUs; of equals the first. */
static const RhServeEntry *quickest(const RhServePlan *plan, int32_t gpus)
{
    const RhServeEntry *best = NULL;
    for (guint i = 0; plan && i < plan->entries->len; i++) {
        const RhServeEntry *e = &g_array_index(plan->entries, RhServeEntry, i);
        if (e->gpus <= gpus && (!best || rh_service_answer_s(e) < rh_service_answer_s(best)))
            best = e;
    }
    return best;
}

static void add_cell(const RhServicePlatform *offer, int32_t asked, int32_t gpus, GArray *cells)
{
    const RhServeEntry *e = quickest(offer->plan, gpus);
    RhServiceCell cell = {.offer = offer, .asked = asked, .gpus = gpus, .entry = e};
    if (e) {
        const RhServiceMetrics *o = &e->outcome;
        double made_per_s = o->once ? o->request_rate_per_s : o->tokens_per_s;
        cell.usd_per_h = gpus * offer->usd_per_gpu_h;
        cell.usd_per_token = made_per_s > 0 ? cell.usd_per_h / HOUR_S / made_per_s : 0;
        if (isfinite(o->cost_usd_per_token_in)) { /* of its own GPUs alone */
            cell.usd_per_token_in = o->cost_usd_per_token_in * gpus / e->gpus;
            cell.usd_per_token_both = o->cost_usd_per_token_both * gpus / e->gpus;
        }
    }
    g_array_append_val(cells, cell);
}

/* Fewest GPUs above `more_than` on which some deployment keeps the levels; 0: none. */
static int32_t next_size(const RhServePlan *plan, int32_t more_than)
{
    int32_t next = 0;
    for (guint i = 0; plan && i < plan->entries->len; i++) {
        int32_t gpus = g_array_index(plan->entries, RhServeEntry, i).gpus;
        if (gpus > more_than && (next == 0 || gpus < next))
            next = gpus;
    }
    return next;
}

void rh_service_cells(const RhServicePlatform *offer, const GArray *sizes, GArray *cells)
{
    guint first = cells->len;
    for (guint i = 0; i < sizes->len; i++) {
        int64_t asked = g_array_index(sizes, int64_t, i);
        int32_t gpus = rh_service_rented(asked, offer->gpus_per_node);
        if (cells->len == first || cell_at(cells, cells->len - 1)->gpus != gpus)
            add_cell(offer, (int32_t)asked, gpus, cells);
    }
    for (int32_t gpus = 0; sizes->len == 0 && (gpus = next_size(offer->plan, gpus)) > 0;) {
        bool more = cells->len == first ||
                    quickest(offer->plan, gpus) != cell_at(cells, cells->len - 1)->entry;
        if (more)
            add_cell(offer, gpus, gpus, cells);
    }
    if (cells->len == first)
        add_cell(offer, 0, 0, cells);
}

bool rh_service_priced(const GArray *cells)
{
    for (guint i = 0; i < cells->len; i++)
        if (cell_at(cells, i)->entry && cell_at(cells, i)->usd_per_h <= 0)
            return false;
    return true;
}

static double money(const RhServiceCell *cell, bool priced)
{
    return priced ? cell->usd_per_h : cell->gpus;
}

static bool is_bettered(const GArray *cells, guint i, bool priced)
{
    const RhServiceCell *a = cell_at(cells, i);
    for (guint k = 0; k < cells->len; k++) {
        const RhServiceCell *b = cell_at(cells, k);
        if (k == i || !b->entry)
            continue;
        double dearer = money(b, priced) - money(a, priced);
        double slower = rh_service_answer_s(b->entry) - rh_service_answer_s(a->entry);
        if (dearer <= 0 && slower <= 0 && (dearer < 0 || slower < 0 || k < i))
            return true;
    }
    return false;
}

int32_t rh_service_judge(const RhServiceTarget *goal, GArray *cells)
{
    bool priced = rh_service_priced(cells);
    int32_t best = -1;
    for (guint i = 0; i < cells->len; i++) {
        RhServiceCell *cell = cell_at(cells, i);
        if (!cell->entry)
            continue;
        cell->usd = cell->usd_per_h * goal->for_s / HOUR_S;
        cell->meets = goal->budget_usd <= 0 || cell->usd <= goal->budget_usd;
        cell->pareto = !is_bettered(cells, i, priced);
        const RhServiceCell *found = best >= 0 ? cell_at(cells, (guint)best) : NULL;
        double less = found ? money(found, priced) - money(cell, priced) : 0;
        bool sooner = found && less == 0 &&
                      rh_service_answer_s(cell->entry) < rh_service_answer_s(found->entry);
        if (cell->meets && (!found || less > 0 || sooner))
            best = (int32_t)i;
    }
    return best;
}
