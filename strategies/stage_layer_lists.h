#pragma once
/* Knobs that list layers of chunks in the order of the model, as stages=15-16x6-15; 16x6 is 16
 * six times. Names stand for a list of nothing: of a count of 0, and below. */
#include "strategies/knobs.h"

/* RH_ERROR_USAGE; *at: the byte of `text` at fault. */
bool rh_stage_lists_read(const RhKnob *knob, const char *text, RhLayout *layout, size_t *at,
                         GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* "15-16x6-15": three or more alike are counted. NULL where the count is 0; caller frees. */
char *rh_stage_lists_text(const RhKnob *knob, const RhLayout *layout);
/* Returns the list, whose length is the knob's value; borrowed. */
const int16_t *rh_stage_lists_of(const RhKnob *knob, const RhLayout *layout);
