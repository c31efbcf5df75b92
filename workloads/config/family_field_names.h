#pragma once
/* Names of the fields of a configuration (RhConfig), as family files and their rules state them: the path of a
 * field, as "moe.num_experts". Private to workloads/. */
#include "workloads/config/family_keys.h"

typedef struct {
    const char *name;
    size_t offset; /* in RhConfig */
    /* What a key of a family is where its file does not say otherwise */
    RhFieldType type;
    int64_t low, high;
    bool null_is_none;
} RhConfigField;

/* NULL where no field is called so. */
const RhConfigField *rh_config_field_named(const char *name);
/* All names, sorted, NULL-ended: for messages. */
const char *const *rh_config_field_names(void);
