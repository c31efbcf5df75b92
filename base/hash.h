#pragma once
/* The mixer behind all hashes of the program. Values depend on the content alone, not on addresses.
 */
#include <glib.h>
#include <stdint.h>
#include <string.h>

/* Hash of two words; chained, of any number: rh_mix64(rh_mix64(a, b), c). */
static inline uint64_t rh_mix64(uint64_t a, uint64_t b)
{
    unsigned __int128 product =
        (unsigned __int128)(a ^ UINT64_C(0x9e3779b97f4a7c15)) * (b ^ UINT64_C(0xd6e8feb86659fd93));
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* The bits of a number, so that it can be hashed. */
static inline uint64_t rh_bits64(double value)
{
    union {
        double number;
        uint64_t bits;
    } both = {.number = value};
    return both.bits;
}

/* Hash of the bytes of a struct without padding whose size is a multiple of eight. */
static inline uint64_t rh_hash_words(const void *data, size_t size)
{
    uint64_t hash = 0, word;
    for (size_t at = 0; at + sizeof word <= size; at += sizeof word) {
        memcpy(&word, (const char *)data + at, sizeof word);
        hash = rh_mix64(hash, word);
    }
    return hash;
}
