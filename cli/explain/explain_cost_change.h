#pragma once
/* Reports costs per token after a change, because step times are not comparable when their sizes
 * differ, and do not show prices. */
#include "report/json/explain_and_compare_json.h"

/* Appends the answer in a line if the GPUs or the tokens per step differ. */
void rh_explain_append_sizes(GString *out, const char *name, const RhComparedSide *changed,
                             const RhComparedSide *before);
/* Appends money and energy if they do not differ, and which price is unknown. */
void rh_explain_append_money(GString *out, const char *name, const RhComparedSide *changed,
                             const RhComparedSide *before);
