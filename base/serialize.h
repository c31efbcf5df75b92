#pragma once
/* Plain data as bytes, to cross from one process of the same program to another: fields go as they
 * lie in memory. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

void rh_pack(GByteArray *out, const void *data, size_t length);
void rh_pack_array(GByteArray *out, const GArray *array, size_t element); /* its length, too */
void rh_pack_bytes(GByteArray *out, const GByteArray *bytes);
void rh_pack_text(GByteArray *out, const char *text); /* or NULL */

/* What is left to read; `whole` turns false when more is asked for than there is. */
typedef struct {
    const uint8_t *at, *end;
    bool whole;
} RhUnpack;
void rh_unpack(RhUnpack *in, void *data, size_t length); /* zeroes when there is too little */
void rh_unpack_array(RhUnpack *in, GArray *array, size_t element);
GByteArray *rh_unpack_bytes(RhUnpack *in); /* empty when there is too little; caller's */
char *rh_unpack_text(RhUnpack *in);        /* caller frees */
