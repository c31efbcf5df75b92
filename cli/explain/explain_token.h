#pragma once
/* What a token takes after a change: steps alone do not compare where their sizes differ, and do not show prices. */
#include "report/answers.h"

/* The answer in a line, where the GPUs or the tokens of a step are others; else nothing. */
void rh_explain_append_sizes(GString *out, const char *name, const RhComparedSide *changed,
                             const RhComparedSide *before);
/* Where they are not: what does not show in seconds. And of prices, which is not known. */
void rh_explain_append_money(GString *out, const char *name, const RhComparedSide *changed,
                             const RhComparedSide *before);
