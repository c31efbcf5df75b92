#pragma once
/* Conditions over what a launch says, as strategies/data/launch-asserts.txt has them. */
#include <stdbool.h>

typedef struct {
    double number;
    char text[64]; /* where it is no number; "" else */
} Value;

/* What a name stands for: its text, NULL when it is not said (0). */
typedef const char *(*Lookup)(const char *name, void *user);

/* The whole of a condition; *broken: it cannot be read. */
Value condition_value(const char *text, Lookup lookup, void *user, bool *broken);
