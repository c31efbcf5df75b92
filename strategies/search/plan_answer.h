#pragma once
/* Private to this folder. */
#include "strategies/search/plan.h"

/* An answer that says nothing yet; rh_plan_free. */
RhPlan *rh_plan_new(void);
