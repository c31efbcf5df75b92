#pragma once
/* The table of names on the Hugging Face hub (workloads/hub.json): further weights of a model of the
 * catalogue, the format that they are stored in, and names that quantizers give them. It does not
 * know the catalogue (hf_hub.h does). */
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    const char *model;  /* name in the catalogue; NULL: the table has no such id */
    const char *recipe; /* interned, as --dtype has it: "fp8-block"; "bf16": 16 bits */
    int64_t positions;  /* where they differ from the model's; 0: they do not */
} RhHubRow;

/* The row of an id, whatever its case. */
RhHubRow rh_hub_row(const char *id);
/* The id without the ending of a quantizer, when it has one: "RedHatAI/Llama-3.3-70B-Instruct-FP8"
 * is "Llama-3.3-70B-Instruct", and *recipe "fp8". NULL: it has none, or its owner is not known to
 * publish weights of others. The caller frees. */
char *rh_hub_unquantized(const char *id, const char **recipe);
/* Calls `found` with each id of the table until it returns true; returns that id, or NULL. */
typedef bool (*RhHubNameFunc)(const char *id, const void *user);
const char *rh_hub_find(RhHubNameFunc found, const void *user);
