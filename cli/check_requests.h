#pragma once
/* Tells what `rehearse check` says of files that hold requests (workloads/requests/requests.h). */
#include <glib.h>
#include <stdbool.h>

/* Does the file's name, or its beginning, say that it may hold requests? */
bool rh_check_may_be_requests(const char *path);
/* Tells what a benchmark's result of a server holds; *known: it is one. */
bool rh_check_service_result(const char *path, GString *notes, bool *known,
                             GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Tells what requests a file holds; *known is false where it is no trace that is known. */
bool rh_check_requests(const char *path, GString *notes, bool *known,
                       GError **error) G_GNUC_WARN_UNUSED_RESULT;
