#include <stdio.h>

#include "calibrate/cuda/libraries.h"

/* Its header need not be there for the version alone: size_t cudnnGetVersion(void). */
void rk_cudnn_version(char *out, size_t size)
{
    static const char *const NAMES[] = {"libcudnn.so.9", "libcudnn.so.8", NULL};
    size_t (*version)(void) = NULL;
    if (!rk_library_symbol(rk_library_open(NAMES), "cudnnGetVersion", &version))
        snprintf(out, size, "absent");
    else if (version() >= 90000)
        rk_version_text(version(), 10000, out, size);
    else
        rk_version_text(version(), 1000, out, size); /* 8902 is 8.9.2 */
}
