#pragma once
/* What the generators (one file per algorithm) share. */
#include "sim/collective.h"

typedef struct {
    RhSchedule *schedule;
    int32_t members;
    double chunk_bytes;
    int32_t per_node; /* members per node when every node holds as many and they stand together;
                         else 0 */
    int32_t nodes;
} RhScheduleBuilder;

/* Cuts the buffer into this many chunks; owner of chunk c is member c % members until a generator
 * says otherwise. */
void rh_schedule_chunks(RhScheduleBuilder *b, int32_t count);
void rh_schedule_phase(RhScheduleBuilder *b, int32_t repeat);
/* A flow of the latest phase: chunks [first, first + count), the same in every repetition. */
void rh_schedule_flow(RhScheduleBuilder *b, int32_t src, int32_t dst, int32_t first, int32_t count,
                      bool reduce);
/* The same, moving by `shift` chunks a repetition within [wrap_first, wrap_first + wrap_count). */
void rh_schedule_flow_shifting(RhScheduleBuilder *b, RhFlow flow);

typedef void (*RhGenerator)(RhScheduleBuilder *b, RhOp op);
void rh_generate_ring(RhScheduleBuilder *b, RhOp op);
void rh_generate_tree(RhScheduleBuilder *b, RhOp op);
void rh_generate_doubling(RhScheduleBuilder *b, RhOp op);
void rh_generate_rabenseifner(RhScheduleBuilder *b, RhOp op);
void rh_generate_hierarchical(RhScheduleBuilder *b, RhOp op);
void rh_generate_direct(RhScheduleBuilder *b, RhOp op);

/* Each of the two trees of an all-reduce: its depth, and into how many chunks its half is cut. */
int32_t rh_tree_depth(int32_t members);
int32_t rh_tree_chunks(int32_t members, double bytes);
/* Chunks of a broadcast down a chain. */
int32_t rh_chain_chunks(double bytes);
