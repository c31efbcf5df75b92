#pragma once
/* Serialises plain data as it lies in memory, for another process of the same program. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

void rh_pack(GByteArray *out, const void *data, size_t length);
void rh_pack_array(GByteArray *out, const GArray *array, size_t element); /* with its length */
void rh_pack_bytes(GByteArray *out, const GByteArray *bytes);
void rh_pack_text(GByteArray *out, const char *text); /* or NULL */

/* Remaining bytes to read; `whole` becomes false when more is read than there is. */
typedef struct {
    const uint8_t *at, *end;
    bool whole;
} RhUnpack;
void rh_unpack(RhUnpack *in, void *data, size_t length); /* zeros when bytes are missing */
void rh_unpack_array(RhUnpack *in, GArray *array, size_t element);
GByteArray *rh_unpack_bytes(RhUnpack *in); /* empty when bytes are missing; caller unrefs */
char *rh_unpack_text(RhUnpack *in);        /* caller frees */
