#pragma once
/* A codec: what replicas exchange in place of the sums of gradients, with the kernels that pack and
 * unpack it and the buffers that it keeps. One file here for each row of strategies/codecs.h. */
#include "strategies/train/program/stage_program.h"

/* The exchange of one class of parameters, at the end of a step: kernels and collectives that wait
 * for one another. */
typedef struct {
    RhStageProgramWriter *w;
    RhParamsClass cls;
    double params; /* on this rank */
    int32_t ranks; /* that exchange */
} RhCodecExchange;

typedef struct {
    /* Is it legal here? NULL: always. RH_ERROR_USAGE. */
    bool (*legal)(const RhProblem *c, const RhLayout *layout, GError **error);
    void (*exchange)(const RhCodecExchange *x);
    /* Bytes that a rank keeps from step to step beside its states, for each parameter and for each
     * of the share of which it is the owner, params / ranks: errors that are fed back. */
    double kept_bytes, owner_kept_bytes;
    double working_bytes; /* of temporary tensors during the exchange, for each parameter */
} RhCodec;

/* Returns the layout's codec; NULL: none. */
const RhCodec *rh_codec_of(const RhLayout *layout);
/* Does the class exchange by the layout's codec? */
bool rh_codec_acts(const RhProblem *c, const RhLayout *layout, RhParamsClass cls);
/* Return the bytes of the layout's codec on a rank: kept from step to step, and during its exchanges,
 * which follow one another. */
double rh_codec_kept_bytes(const RhProblem *c, const RhLayout *layout, const RhStates *states);
double rh_codec_working_bytes(const RhProblem *c, const RhLayout *layout, const RhStates *states);

/* --- for the codecs --- */

/* Adds a kernel that moves so many bytes of the device's memory, after all before it. */
void rh_codec_run(const RhCodecExchange *x, double moved_bytes, const char *label);
/* Adds a collective of all ranks of the exchange, for which what follows waits. */
void rh_codec_send(const RhCodecExchange *x, RhOp op, double bytes, const char *label);

#define ROW_DECLARED(constant, object, ...) extern const RhCodec rh_codec_##object;
RH_CODECS(ROW_DECLARED)
#undef ROW_DECLARED
