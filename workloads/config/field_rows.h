#pragma once
/* How tables of keys are written in C: those of our own form (own_model_format.c) and of `--set`. Private to
 * workloads/. */
#include "workloads/config/family_keys.h"

/* Beyond anything built or announced: larger values are typing errors. */
#define LAYERS_MAX    4096
#define WIDTH_MAX     (1 << 20)
#define HEADS_MAX     (1 << 14)
#define HEAD_SIZE_MAX (1 << 12)
#define EXPERTS_MAX   (1 << 14)
#define VOCAB_MAX     (1 << 24)
#define TOKENS_MAX    (1 << 30)
#define BASE_MAX      (INT64_C(1) << 40)

#define AT(field) offsetof(RhConfig, field)
#define SIZE(key, field, high, otherwise)                                                          \
    {                                                                                              \
        key, AT(field), RH_FIELD_SIZE, 1, high, otherwise, false, NULL, NULL, 0                    \
    }
/* A size that may be 0: none. */
#define COUNT(key, field, high, otherwise)                                                         \
    {                                                                                              \
        key, AT(field), RH_FIELD_SIZE, 0, high, otherwise, false, NULL, NULL, 0                    \
    }
#define FLAG(key, field, otherwise)                                                                \
    {                                                                                              \
        key, AT(field), RH_FIELD_FLAG, 0, 1, otherwise, false, NULL, NULL, 0                       \
    }
#define RATE(key, field, otherwise)                                                                \
    {                                                                                              \
        key, AT(field), RH_FIELD_RATE, 0, 1, otherwise, false, NULL, NULL, 0                       \
    }
#define CONSTANT(field, value)                                                                     \
    {                                                                                              \
        NULL, AT(field), RH_FIELD_CONSTANT, 0, 0, value, false, NULL, NULL, 0                      \
    }
#define END                                                                                        \
    {                                                                                              \
        NULL, 0, RH_FIELD_NONE, 0, 0, 0, false, NULL, NULL, 0                                      \
    }
