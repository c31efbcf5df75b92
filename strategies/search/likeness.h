#pragma once
/* What of a question tells how far off its answer may be (base/record.h). */
#include "base/judged.h"
#include "strategies/case.h"

/* Names are interned. Of a stack that adds nothing to the hardware, and of ranks that talk message by
 * message, the generation is NULL: nothing that was measured is like it. */
RhLikeness rh_likeness_of(const RhCase *c);
