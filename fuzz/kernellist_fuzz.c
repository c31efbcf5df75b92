/* rk_list_read: what is accepted has kernels that can be run; what is refused says where. */
#include <stdio.h>

#include "calibrate/measure/sample_files.h"
#include "fuzz/fuzzkit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    RkList list = {0};
    char why[256];
    FILE *file = size > 0 ? fmemopen((void *)(uintptr_t)data, size, "r") : NULL;
    if (file == NULL)
        return 0;
    if (rk_list_read(file, "f", &list, why, sizeof why)) {
        FUZZ_CHECK(list.count > 0);
        for (size_t i = 0; i < list.count; i++)
            FUZZ_CHECK(list.items[i].count > 0 && list.items[i].shape.m > 0);
    } else {
        FUZZ_CHECK(why[0] == 'f' && list.items == NULL);
    }
    rk_list_clear(&list);
    fclose(file);
    return 0;
}
