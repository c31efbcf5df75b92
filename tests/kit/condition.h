#pragma once
/* Conditions over what a launch says, as strategies/data/launch-asserts.txt has them. */
#include <stdbool.h>

typedef struct {
    double number;
    char text[64]; /* where it is no number; "" else */
} Value;

/* Looks up a name: returns its text, NULL when it has none (0). */
typedef const char *(*Lookup)(const char *name, void *user);

/* The whole of a condition; *broken: it cannot be read. */
Value condition_value(const char *text, Lookup lookup, void *user, bool *broken);
