#include "validate/cases/case_translation_state.h"

#include <string.h>

bool rh_case_give_up(RhCaseTranslation *way, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_free(way->why);
    way->why = g_strdup_vprintf(format, args);
    va_end(args);
    return false;
}

bool rh_case_give_up_with(RhCaseTranslation *way, const char *what, GError *local)
{
    g_auto(GStrv) lines = g_strsplit(local->message, "\n", -1);
    g_error_free(local);
    const char *place = NULL; /* the file that is wrong */
    for (int i = 1; lines[0] && lines[i] && !place; i++)
        place = g_str_has_prefix(lines[i], " --> ") ? lines[i] + strlen(" --> ") : NULL;
    return place ? rh_case_give_up(way, "%s%s (%s)", what, lines[0], place)
                 : rh_case_give_up(way, "%s%s", what, lines[0]);
}

RhProvenance rh_case_standing(const RhCaseTranslation *way)
{
    static const char *const standings[RH_STANDING_LAST] = {"", "from memory", "computed"};
    const char *standing = rh_case_says(way, RH_CASE_SAYS_STANDING);
    for (int i = 0; i < RH_STANDING_LAST; i++)
        if (standing && strcmp(standing, standings[i]) == 0)
            return (RhProvenance)i;
    return RH_STANDING_MEASURED;
}

char *rh_case_stands_in(const RhCaseTranslation *way)
{
    GPtrArray *list = way->said->stands_in;
    g_ptr_array_add(list, NULL);
    return list->len > 1 ? g_strjoinv("; ", (char **)list->pdata) : NULL;
}
