#pragma once
/* Texts and amounts shared by the texts and tables of capacity answers. Caller frees strings. */
#include "report/capacity/capacity.h"

/* Units of a column's figures, chosen by its largest. */
typedef struct {
    const char *time, *usd, *hours, *energy, *tokens;
    double time_s, usd_usd, gpu_hours, energy_j, tokens_count;
} RhCapacityUnits;
RhCapacityUnits rh_capacity_units(const GArray *cells);

char *rh_capacity_degrees(const RhLayout *layout); /* "tp4 pp6 dp64 vpp7": the degrees alone */
/* Describes a choice: "1,536 GPUs of dgx-h100, batch 2,304: 27.3 d (to 28.7 d), ...", with the
 * upper end of the requested value. */
char *rh_capacity_choice(const RhCapacityAnswer *answer, const RhCapacityCell *cell);
char *rh_capacity_goal_text(const RhCapacityTarget *goal); /* "by 30.0 d within 1.00 M$"; "" */
const char *rh_capacity_superlative(const RhCapacityAnswer *answer);
double rh_capacity_gpu_hours(const RhCapacityCell *cell);
bool rh_capacity_some_price(const GArray *cells);          /* is there a cell with a cost? */
const char *rh_capacity_lacks(const RhCapacityCell *cell); /* why it has no layout, in a word */
/* Returns whether cells differ in dtype. */
bool rh_capacity_dtypes_vary(const GArray *cells);
