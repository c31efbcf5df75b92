#pragma once
/* Models of published tables by their shape: "llama layers=40 hidden=5120 heads=40 ffn=13824
 * vocab=128000", in families that stand for what their trainers run. */
#include "workloads/model.h"

/* Families: llama (gated, RMS norm, rotary), gpt (learned positions, biases, dropout), nemotron
 * (plain ffn, rotary, grouped queries), mpt (plain ffn, ALiBi, tied, no biases, no dropout).
 * RH_ERROR_INPUT. Caller frees. */
RhModel *rh_steps_model(const char *name, const char *shape,
                        GError **error) G_GNUC_WARN_UNUSED_RESULT;
