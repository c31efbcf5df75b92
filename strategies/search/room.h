#pragma once
/* How much of a GPU's memory a layout may fill: the one place that decides it. */
#include "strategies/search/plan.h"

/* Layouts are ranked within this share of the device unless --limit says otherwise: where the
 * record in report/text_parts.c turns (of 95 measured runs predicted below it 11 ran out of memory,
 * of 17 from there to the whole 13). It stands until the odds of a layout are known. */
#define RH_ROOM_FRAC 0.92

typedef struct {
    double ranked_bytes; /* what is ranked needs at most this */
    double most_bytes;   /* what fits at all: the device's memory, or less by the user's limit */
} RhRoom;

RhRoom rh_room(const RhCase *c, const RhConstraint *constraints, int32_t count);
