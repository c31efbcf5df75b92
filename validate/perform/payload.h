#pragma once
/* The data a collective moves for real, so that a wrong schedule cannot pass as a fast one.
 *
 * A member's buffer holds every chunk of the schedule as 32-bit words (of an all-to-all and a
 * shift only those it sends or receives); sums wrap around, so their order does not matter. Who
 * starts with what, and ends with what, is the operation's meaning (sim/collective/collective.h),
 * not the schedule's. */
#include <stdint.h>

#include "sim/collective_expansion.h"

typedef struct {
    const RhSchedule *schedule;
    int32_t own;         /* member */
    int32_t chunk_words; /* words of one chunk, where they differ of the largest */
    uint32_t *words;     /* owned; kept from one collective to the next */
    int64_t room;
} RhPayload;

/* For the next collective; a zeroed payload is fine at first. */
void rh_payload_begin(RhPayload *payload, const RhSchedule *schedule, int32_t own);
void rh_payload_clear(RhPayload *payload);

/* Words that a flow carries in one repetition of its round. */
int64_t rh_payload_flow_words(const RhPayload *payload, const RhFlow *flow);
/* Copies the chunks of a flow's repetition into out, in order. */
void rh_payload_take(const RhPayload *payload, const RhFlow *flow, int32_t repeat, uint32_t *out);
/* Puts received words into their places: adds or copies, as the flow says. */
void rh_payload_put(RhPayload *payload, const RhFlow *flow, int32_t repeat, const uint32_t *in);

/* Words looked at and words that are not what the operation means: all of them, or the ends of
 * every chunk. */
typedef struct {
    int64_t checked_count, wrong_count;
} RhPayloadCheck;
RhPayloadCheck rh_payload_check(const RhPayload *payload, bool all);
