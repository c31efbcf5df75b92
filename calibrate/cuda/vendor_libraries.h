#pragma once
/* Vendor libraries are opened when the program runs, so that one binary starts on bare machines and
 * says what is missing. */
#include <stddef.h>

/* Opens the first of the names (ends with NULL) that is there, beside the toolkit's folders too.
 * NULL when none is. Never closed. */
void *rk_library_open(const char *const *names);

/* Sets the function pointer at `function`; false when the library has no such symbol. */
bool rk_library_symbol(void *library, const char *name, void *function);

#define RK_SYMBOL(library, table, member, name)                                                    \
    rk_library_symbol((library), (name), (void *)&(table)->member)

/* "13.0.2" of 130002, as cuBLAS counts. */
void rk_version_text(size_t version, size_t major_unit, char *out, size_t size);

/* Versions of the libraries, or "absent". */
void rk_cublas_version(char *out, size_t size);
void rk_cudnn_version(char *out, size_t size);
void rk_nccl_version(char *out, size_t size);
