#include "calibrate/measure/error_message.h"

#include <stdarg.h>
#include <stdio.h>

bool rk_fail(RkError *why, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why->text, sizeof why->text, format, arguments);
    va_end(arguments);
    return false;
}
