#pragma once
/* Words and amounts that the texts and tables of a capacity have in common. Strings are the caller's to free. */
#include "report/capacity/capacity.h"

/* Units in which a column of figures stands: those of its largest. */
typedef struct {
    const char *time, *usd, *energy, *tokens;
    double time_s, usd_usd, energy_j, tokens_count;
} RhCapacityUnits;
RhCapacityUnits rh_capacity_units(const GArray *cells);

char *rh_capacity_degrees(const RhLayout *layout); /* "tp4 pp6 dp64 vpp7": the degrees alone */
/* "1,536 GPUs of dgx-h100, batch 2,304: 27.3 d (to 28.7 d), ...": the upper end of what is asked for. */
char *rh_capacity_choice(const RhCapacityAnswer *answer, const RhCapacityCell *cell);
char *rh_capacity_goal_text(const RhCapacityTarget *goal); /* "by 30.0 d within 1.00 M$"; "" */
const char *rh_capacity_superlative(const RhCapacityAnswer *answer);
const char *rh_capacity_lacks(const RhCapacityCell *cell); /* why it has no layout, in a word */
/* Do cells differ in it? */
bool rh_capacity_dtypes_vary(const GArray *cells);
