#include "base/text/decimal_parse.h"

#include <glib.h>
#include <math.h>
#include <string.h>

bool rh_number_parse(const char *text, double *value)
{
    const char *start = text + strspn(text, " \t");
    char *end = NULL;
    if (!*start || strspn(start, "+-.0123456789eE") < strlen(start)) /* no 0x10, no inf */
        return false;
    double number = g_ascii_strtod(start, &end);
    if (*end || !isfinite(number))
        return false;
    *value = number;
    return true;
}
