#include "calibrate/cuda/libraries.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

void *rk_library_open(const char *const *names)
{
    static const char *const FOLDERS[] = {"", "/usr/local/cuda/lib64/",
                                          "/usr/local/cuda/targets/x86_64-linux/lib/",
                                          "/usr/lib/x86_64-linux-gnu/"};
    for (; *names != NULL; names++) {
        for (const char *folder : FOLDERS) {
            char path[256];
            snprintf(path, sizeof path, "%s%s", folder, *names);
            void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
            if (library != NULL)
                return library;
        }
    }
    return NULL;
}

bool rk_library_symbol(void *library, const char *name, void *function)
{
    void *symbol = library != NULL ? dlsym(library, name) : NULL;
    memcpy(function, &symbol, sizeof symbol); /* POSIX's way to convert to a function pointer */
    return symbol != NULL;
}

void rk_version_text(size_t version, size_t major_unit, char *out, size_t size)
{
    size_t below = version % major_unit;
    snprintf(out, size, "%zu.%zu.%zu", version / major_unit, below / 100, below % 100);
}
