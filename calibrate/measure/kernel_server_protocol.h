#pragma once
/* The words between `--serve` and whoever asks, on standard input and output:
 *
 *   > ready 12           (lines of the list; once, when all is in memory and has run once)
 *   < 0 0 3 11           (lines of the list, from 0, in the order to run)
 *   > done 8123.000451   (CLOCK_MONOTONIC in seconds, when the GPU had done them)
 *
 * until the input ends. An order that cannot be read or run is answered by the end. */
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    size_t *lines; /* owned */
    size_t count, capacity;
} RkOrder;

/* Reads an order into `out`, which may be used again and again. False, with the reason, when it
 * names a line beyond `lines_count` or holds no numbers. */
bool rk_order_parse(const char *text, size_t lines_count, RkOrder *out, char *why, size_t why_size);
void rk_order_clear(RkOrder *order);

#ifdef __cplusplus
}
#endif
