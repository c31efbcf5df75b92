#pragma once
/* Draws the steps of a placement over time, as SVG. */
#include "report/rl/rl_plan_report.h"

/* The trainer's acts, the groups whose answers are under way, and those that wait for the trainer,
 * on one axis; steps that count are marked. Caller frees. */
char *rh_report_rl_timeline_svg(const RhRlEntry *entry);
