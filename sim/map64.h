#pragma once
/* Hash map from 64-bit keys to small integers, for counting and naming colours. It cannot be
 * iterated, so no result can depend on hash order. */
#include <glib.h>
#include <stdint.h>

typedef struct {
    uint64_t *keys; /* 0 = free; key 0 itself is moved to 1 */
    int32_t *values;
    uint32_t mask, used;
} RhMap64;

static inline uint64_t rh_mix64(uint64_t a, uint64_t b)
{
    unsigned __int128 product =
        (unsigned __int128)(a ^ UINT64_C(0x9e3779b97f4a7c15)) * (b ^ UINT64_C(0xd6e8feb86659fd93));
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t rh_bits64(double value)
{
    union {
        double number;
        uint64_t bits;
    } both = {.number = value};
    return both.bits;
}

RhMap64 *rh_map64_new(void);
void rh_map64_free(RhMap64 *map);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhMap64, rh_map64_free)
void rh_map64_clear(RhMap64 *map);
/* Returns a pointer to the value of key; a new key gets the value `fresh`. */
int32_t *rh_map64_at(RhMap64 *map, uint64_t key, int32_t fresh);
/* Returns the value of key, or -1. */
int32_t rh_map64_get(const RhMap64 *map, uint64_t key);
