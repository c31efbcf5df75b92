#include "calibrate/measure/kernel_server_protocol.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool add(RkOrder *order, size_t line)
{
    if (order->count == order->capacity) {
        size_t capacity = order->capacity != 0 ? 2 * order->capacity : 64;
        size_t *lines = (size_t *)realloc(order->lines, capacity * sizeof *lines);
        if (lines == NULL)
            return false;
        order->lines = lines;
        order->capacity = capacity;
    }
    order->lines[order->count++] = line;
    return true;
}

bool rk_order_parse(const char *text, size_t lines_count, RkOrder *out, char *why, size_t why_size)
{
    out->count = 0;
    for (const char *at = text + strspn(text, " \n"); *at != '\0'; at += strspn(at, " \n")) {
        char *end;
        unsigned long long line = strtoull(at, &end, 10);
        if (*at < '0' || *at > '9' || (*end != ' ' && *end != '\n' && *end != '\0')) {
            snprintf(why, why_size, "order: \"%.20s\" is no number of a line", at);
            return false;
        }
        if (line >= lines_count) {
            snprintf(why, why_size, "order: line %.20s of a list of %zu lines from 0", at,
                     lines_count);
            return false;
        }
        if (!add(out, (size_t)line)) {
            snprintf(why, why_size, "order: no memory");
            return false;
        }
        at = end;
    }
    if (out->count == 0)
        snprintf(why, why_size, "order: a line without numbers");
    return out->count > 0;
}

void rk_order_clear(RkOrder *order)
{
    free(order->lines);
    *order = (RkOrder){NULL, 0, 0};
}
