#pragma once
/* Models typed as configurations, in single quotes, beside the counts that are published of them. */
#include <string.h>

#include "base/error.h"
#include "tests/kit/testkit.h"
#include "workloads/model.h"
#include "workloads/operator_costs.h"

#define SHAPE(type, layers, hidden, heads, kv, ffn, vocab)                                         \
    "'model_type': '" type "', 'num_hidden_layers': " #layers ", 'hidden_size': " #hidden          \
    ", 'num_attention_heads': " #heads ", 'num_key_value_heads': " #kv                             \
    ", 'intermediate_size': " #ffn ", 'vocab_size': " #vocab

typedef struct {
    const char *config;
    int64_t params;
} ExactCount;

/* Parses a configuration; returns NULL and an error if it is refused. */
RhModel *model_parse(const char *text, GError **error) G_GNUC_WARN_UNUSED_RESULT;

RhModel *model_load(const char *text);

/* Checks that the text is refused as bad input, with a message that holds `expected`. */
void check_refused(const char *text, const char *expected);

void check_exact(const ExactCount *rows, size_t count);
