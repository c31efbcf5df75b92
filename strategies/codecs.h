#pragma once
/* Codecs: the ways in which replicas compress what they exchange instead of summing gradients. One
 * row each; what a codec does is in strategies/train/codecs/NAME.c.
 *
 * A row: constant (RH_CODEC_...), object (rh_codec_...), name in text and JSON, title. */
#define RH_CODECS(ROW)                                                                             \
    ROW(ONEBIT, onebit, "onebit", "1-bit Adam")                                                    \
    ROW(ONEBIT_LAMB, onebit_lamb, "onebit-lamb", "1-bit LAMB")                                     \
    ROW(ZERO_ONE, zero_one, "zero-one", "0/1 Adam")
typedef enum {
    RH_CODEC_NONE,
#define RH_CODEC_CONSTANT(constant, ...) RH_CODEC_##constant,
    RH_CODECS(RH_CODEC_CONSTANT)
#undef RH_CODEC_CONSTANT
        RH_CODEC_LAST
} RhCodecKind;

/* "none" and all names, NULL-ended: the name of `kind` is at [kind]. */
extern const char *const rh_codec_names[];
/* Returns the title, static; NULL for none. */
const char *rh_codec_title(RhCodecKind kind);
