#include "strategies/search/memory_budget.h"

#include <math.h>

#include "accuracy/error_bar_record.h"
#include "strategies/search/error_bar_key.h"

RhMemoryBudget rh_memory_budget(const RhProblem *c, const RhConstraint *constraints, int32_t count,
                                double risk)
{
    double capacity = rh_train_memory_capacity(c), most = capacity;
    RhEvidenceKey like = rh_evidence_key_of(c);
    const RhOdds *odds = rh_record_odds(rh_record_shipped(), &like);
    bool limited = false;
    for (int32_t i = 0; i < count; i++)
        if (!constraints[i].knob) {
            most = fmin(most, constraints[i].value * (constraints[i].in_bytes ? 1 : capacity));
            limited = true;
        }
    double ranked = odds ? fmin(most, rh_odds_room(odds, risk) * capacity) : most;
    return (RhMemoryBudget){limited ? most : ranked, most};
}
