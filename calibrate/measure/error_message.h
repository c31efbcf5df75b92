#pragma once
/* Errors go up as a text; nothing below main prints them. */
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    char text[256];
} RkError;

/* Fills `why` and returns false; printf-like. */
bool rk_fail(RkError *why, const char *format, ...) __attribute__((format(printf, 2, 3)));

#ifdef __cplusplus
}
#endif
