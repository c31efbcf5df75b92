#pragma once
/* Two timelines laid over each other, as text; caller frees. */
#include "sim/overlay.h"

char *rh_report_overlay_text(const RhOverlay *o);
