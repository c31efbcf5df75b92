#pragma once
/* Formats the sources of a report's figures as JSON. */
#include "report/report.h"
#include "strategies/serve/server_software.h"

/* Returns every constant that an answer may depend on, with value, kind and source: of the platform
 * with its switches, its devices, and the stack. Unset constants are omitted. Caller frees. */
char *rh_report_facts_json(const RhQuestion *question);
/* Returns the constants of a platform and its devices only. */
char *rh_report_platform_facts_json(const RhPlatform *platform);
/* Returns the constants of a service: the platform with the server's profile of its device, and the
 * server. Several platforms are listed by name; `names` is NULL for one. Caller frees; NULL when a
 * profile cannot be read. */
char *rh_report_service_facts_json(const RhPlatform *const *platforms, const char *const *names,
                                   guint count, const RhServer *server,
                                   GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Returns the constants of several questions by unique name; a question may lack a platform or a
 * stack. */
char *rh_report_facts_of_json(const RhQuestion *const *questions, const char *const *names,
                              guint count);
