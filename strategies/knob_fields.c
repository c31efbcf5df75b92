/* The field of a layout that a knob stands for. */
#include "strategies/knobs.h"

bool rh_knob_is_switch(const RhKnob *knob)
{
    return knob->size == sizeof(bool);
}

int32_t rh_knob_value(const RhKnob *knob, const RhLayout *layout)
{
    const char *field = (const char *)layout + knob->offset;
    return rh_knob_is_switch(knob) ? *(const bool *)field : *(const int32_t *)(const void *)field;
}

void rh_knob_store(const RhKnob *knob, RhLayout *layout, int32_t value)
{
    char *field = (char *)layout + knob->offset;
    if (rh_knob_is_switch(knob))
        *(bool *)(void *)field = value != 0;
    else
        *(int32_t *)(void *)field = value;
}
