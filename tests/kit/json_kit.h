#pragma once
/* Documents typed in a test, and what is said of them. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/json/json.h"
#include "tests/kit/testkit.h"

RhJson *parse(const char *text);

/* The message rh_json_finish() gives, or NULL. */
char *finish(RhJson *doc);

void has(const char *text, const char *part);
