#pragma once
/* Where the figures of a report come from. */
#include "report/report.h"

/* Every constant that an answer may stand on, each with its value, kind and source: of the platform with its
 * switches, its devices, and the stack. Those that nobody said are left out. Caller frees. */
char *rh_report_facts_json(const RhQuestion *question);
/* The same of a platform and its devices alone. */
char *rh_report_platform_facts_json(const RhPlatform *platform);
/* The same of several, each under its name, which is no other's; one may have no platform, or no stack. */
char *rh_report_facts_of_json(const RhQuestion *const *questions, const char *const *names,
                              guint count);
