#pragma once
/* The experts of a mixture, on one rank, without a model around them: lists of kernels that measure a
 * GPU are made of these. */
#include <glib.h>
#include <stdint.h>

#include "platforms/devices/kernel.h"

/* `tokens` in all, spread evenly over `experts`. */
typedef struct {
    int64_t experts, tokens, hidden, ffn;
    RhDtype dtype;
} RhExperts;

/* Appends RhKernel of a forward pass: up and gate, activation, down. The GEMMs have a batch of one
 * product for each expert, which run as one grouped kernel. */
void rh_experts_kernels(const RhExperts *experts, GArray *out);
