#pragma once
/* Hands the items of process pools out to the ranks of a job on many machines.
 *
 * All ranks run the same command, and all walk the same way: answers alone decide where a search goes
 * next, and every rank gets all of them. So nothing but answers is sent, no model, layout or table.
 * The first rank coordinates each call of a pool: the others ask it for items, perform these in
 * processes of their own, and get the answers when the last one is there. A rank that is lost costs
 * its item alone, which another performs; where all are lost, the first one performs the rest. */
#include "sim/engine/workers/process_pool.h"
#include "sweep/coordinator_message.h"

/* Hands out items of pools from now on: of those whose answers other machines can read
 * (RhProcessPool.of_ranks). */
void rh_rank_pool_begin(const RhJobRank *rank);
/* Are items handed out by, or to, this very process? */
bool rh_rank_pool_is_on(void);
/* Ends that, when the answer is known: the first rank goes on alone, the others' processes end. */
void rh_rank_pool_end(void);
/* Ends it in a process that was forked: what it does is a rank's item. */
void rh_rank_pool_forget(void);
/* Returns how many processes a pool may have on this machine, of `jobs`: in a rank, one. */
int32_t rh_rank_pool_jobs(int32_t jobs);

/* Runs a pool by all ranks. run(): performs one item on this machine, by a pool of one item that
 * calls single->answer(). */
void rh_rank_pool_run(const RhProcessPool *what,
                      void (*run)(const RhProcessPool *single, int32_t item, void *user),
                      void *user);
