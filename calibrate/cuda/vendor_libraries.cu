#include "calibrate/cuda/vendor_libraries.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_BYTES 512

/* Opens `name` in a folder of so many bytes; an empty folder asks the loader's own places. */
static void *open_in(const char *folder, size_t length, const char *name)
{
    char path[PATH_BYTES];
    int bytes =
        snprintf(path, sizeof path, "%.*s%s%s", (int)length, folder, length > 0 ? "/" : "", name);
    return bytes > 0 && bytes < PATH_BYTES ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
}

/* Opens `name` in the folders of a list that colons separate. */
static void *open_along(const char *folders, const char *name)
{
    void *library = NULL;
    while (library == NULL && *folders != '\0') {
        size_t length = strcspn(folders, ":");
        library = length > 0 ? open_in(folders, length, name) : NULL;
        folders += length + (folders[length] == ':');
    }
    return library;
}

void *rk_library_open(const char *const *names)
{
    static const char USUAL[] = "/usr/local/cuda/lib64:/usr/local/cuda/targets/x86_64-linux/lib:"
                                "/usr/lib/x86_64-linux-gnu";
    const char *given = getenv("RK_LIBRARIES");
    void *library = NULL;
    for (; library == NULL && *names != NULL; names++) {
        library = given != NULL ? open_along(given, *names) : NULL;
        library = library != NULL ? library : open_in("", 0, *names);
        library = library != NULL ? library : open_along(USUAL, *names);
    }
    return library;
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
