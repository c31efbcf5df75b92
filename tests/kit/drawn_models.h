#pragma once
/* Models drawn for the tests of bounds. */
#include <gsl/gsl_rng.h>

#include "workloads/model.h"

int32_t draw(gsl_rng *rng, int32_t count);

#define DRAW(rng, ...)                                                                             \
    ((const int32_t[]){                                                                            \
        __VA_ARGS__}[draw(rng, (int32_t)(sizeof((int32_t[]){__VA_ARGS__}) / sizeof(int32_t)))])

/* A model of so many layers: dense, or with experts in every layer, or shared ones too and a first
 * layer without. */
RhModel *draw_model(gsl_rng *rng, int32_t layers, int32_t heads);

/* An encoder of more or fewer tokens than the decoder has, or as many; pictures beside layers; or layers that
 * are one and the same. */
RhModel *draw_crossed(gsl_rng *rng, int32_t layers, int32_t heads);
