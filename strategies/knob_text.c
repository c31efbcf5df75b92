/* Values of knobs as text. */
#include "strategies/knobs.h"
#include "strategies/stage_layer_lists.h"

bool rh_knob_is_silent(const RhKnob *knob, const RhLayout *layout)
{
    return (knob->quiet || knob->list) && rh_knob_value(knob, layout) == knob->otherwise;
}

static char *words_text(const RhKnob *knob, int32_t value)
{
    g_autoptr(GString) s = g_string_new(NULL);
    for (int bit = 0; knob->words[bit]; bit++)
        if ((uint32_t)value >> bit & 1)
            g_string_append_printf(s, "%s%s", s->len ? "+" : "", knob->words[bit]);
    return g_string_free(g_steal_pointer(&s), FALSE);
}

char *rh_knob_value_text(const RhKnob *knob, int32_t value)
{
    if (knob->words && value > knob->high)
        return words_text(knob, value);
    if (knob->list)
        return value <= 0 ? g_strdup(knob->names[-value]) : g_strdup_printf("of %d", value);
    return knob->names ? g_strdup(knob->names[value]) : g_strdup_printf("%d", value);
}

char *rh_knob_text(const RhKnob *knob, const RhLayout *layout)
{
    int32_t value = rh_knob_value(knob, layout);
    if (rh_knob_is_silent(knob, layout) || value < knob->low)
        return NULL;
    return knob->list ? rh_stage_lists_text(knob, layout) : rh_knob_value_text(knob, value);
}

char *rh_knob_cell(const RhKnob *knob, const RhLayout *layout)
{
    return knob->cell ? knob->cell(knob, layout)
                      : rh_knob_value_text(knob, rh_knob_value(knob, layout));
}
