#pragma once
/* Capacity of a service: which cluster, how much of it, keeps service levels at a rate for the least money. A cell is
 * one cluster at one size; its deployment is the quickest of those that keep the levels on no more GPUs
 * (serve_plan.h), and the rest is arithmetic:
 *
 *     USD an hour = GPUs rented x price      USD a token = USD an hour / (3600 x tokens a second)
 *
 * What is rented beyond the deployment's own GPUs is room, and paid for. */
#include "strategies/search/services/serve_plan.h"

typedef struct {
    double for_s;      /* the service is paid for so long; 0: not said */
    double budget_usd; /* for that time; 0: none */
} RhServiceTarget;

/* One cluster, and what serves there at the rate. Everything is borrowed. */
typedef struct {
    const char *platform;    /* as it was asked for */
    const RhServePlan *plan; /* at that rate; NULL: no deployment is possible, `why` */
    const char *why;
    double usd_per_gpu_h; /* 0: not known */
    int32_t gpus_per_node;
    RhSloAllowance allowance; /* levels are kept with, in the best */
} RhServicePlatform;

typedef struct {
    const RhServicePlatform *offer;
    int32_t asked, gpus;       /* `gpus` are rented: part of a node as asked, else whole nodes */
    const RhServeEntry *entry; /* of the offer's plan; NULL: none keeps the levels on so many */
    double usd_per_h, usd; /* of all that is rented, an hour and for the goal's time; 0: unknown */
    double usd_per_token;  /* made, or of a request where none are made; 0: unknown */
    double usd_per_token_in, usd_per_token_both; /* read; made and read together; 0: unknown */
    bool meets;                                  /* levels and budget */
    bool pareto; /* no other cell costs as little and answers as soon, and is better by one */
} RhServiceCell;

/* GPUs that are rented where so many are asked for. */
int32_t rh_service_rented(int64_t asked, int32_t gpus_per_node);
/* Seconds to the whole answer, in the mean: what money is weighed against. */
double rh_service_answer_s(const RhServeEntry *entry);
/* Appends (RhServiceCell) an offer's cells, ascending: of each size (int64_t, ascending), or where there are no sizes
 * of each number of GPUs that a quicker deployment takes; at least one, of no GPUs where nothing keeps the levels. */
void rh_service_cells(const RhServicePlatform *offer, const GArray *sizes, GArray *cells);
/* Fills in usd, meets and pareto. The cheapest cell that meets the goal, of equals the quickest; -1: none does. Where
 * an offer with a cell has no price, GPUs stand for money. */
int32_t rh_service_judge(const RhServiceTarget *goal, GArray *cells);
/* Is every cell that keeps the levels priced? */
bool rh_service_priced(const GArray *cells);
