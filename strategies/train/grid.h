#pragma once
/* The grid of ranks: dimensions with extents and strides, and the groups made from them. A group is
 * a product of dimensions; a stage's role is all of them but the pipeline's. Nothing else knows in
 * which order ranks are numbered. */
#include "sim/program.h"
#include "strategies/layout.h"

typedef enum { RH_DIM_TP, RH_DIM_CP, RH_DIM_DP, RH_DIM_PP, RH_DIM_LAST } RhDim;

/* Who takes part in a collective. */
typedef enum {
    RH_GROUP_TENSOR,  /* tp */
    RH_GROUP_CONTEXT, /* cp */
    RH_GROUP_DATA,    /* dp x cp: all that hold the same parameters */
    RH_GROUP_LAST
} RhGroupKind;

typedef struct {
    int32_t extent[RH_DIM_LAST], stride[RH_DIM_LAST];
} RhGrid;

RhGrid rh_grid(const RhLayout *layout);
/* Adds every group of more than one member to the program; -1 for the others. */
void rh_grid_add_groups(const RhGrid *grid, RhProgram *p, int32_t groups[RH_GROUP_LAST]);
/* Begins the role of a stage. */
void rh_grid_begin_stage(const RhGrid *grid, RhProgram *p, int32_t stage);
