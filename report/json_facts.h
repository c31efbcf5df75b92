#pragma once
/* Where the figures of a report come from. */
#include "report/report.h"
#include "strategies/serve/server.h"

/* Every constant that an answer may stand on, each with its value, kind and source: of the platform with its
 * switches, its devices, and the stack. Those that nobody said are left out. Caller frees. */
char *rh_report_facts_json(const RhQuestion *question);
/* The same of a platform and its devices alone. */
char *rh_report_platform_facts_json(const RhPlatform *platform);
/* What a service stands on: the platform with the server's profile of its device, and the server. Of several platforms
 * each stands under its name; `names` is NULL of one. Caller frees; NULL: a profile cannot be read. */
char *rh_report_service_facts_json(const RhPlatform *const *platforms, const char *const *names,
                                   guint count, const RhServer *server, GError **error);
/* The same of several questions, each under its name, which is no other's; one may have no platform, or no stack. */
char *rh_report_facts_of_json(const RhQuestion *const *questions, const char *const *names,
                              guint count);
