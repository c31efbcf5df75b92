#pragma once
/* Constants that rates of large copies tell without a fit. */
#include "calibrate/links/links_fit.h"

/* Adds host.bandwidth (the slower way), and the efficiency of NVLink and NICs where no collectives
 * have told it: medians over pairs of the largest copies, from the least to the most of them. Notes
 * what is left out. `logs`: RhMeasured. */
void rh_links_rates_add(RhLinksFit *fit, const GPtrArray *logs);
