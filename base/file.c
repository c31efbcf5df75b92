#include <glib/gstdio.h>

#include "base/error.h"
#include "base/json.h"

bool rh_file_write(const char *path, const char *text, size_t length, GError **error)
{
    g_autoptr(GError) local = NULL;
    /* CONSISTENT writes a temporary file beside the target and renames it. */
    if (g_file_set_contents_full(path, text, (gssize)length,
                                 G_FILE_SET_CONTENTS_CONSISTENT | G_FILE_SET_CONTENTS_DURABLE, 0666,
                                 &local))
        return true;
    return rh_fail(error, RH_ERROR_IO, "%s", local->message);
}
