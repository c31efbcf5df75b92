#pragma once
/* The program around a device: options, the grid, lists, the output file. */
#include "calibrate/measure/measure_samples.h"
#include "calibrate/measure/shape_grid.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    const char *help, *version; /* what --help and --version print */
    RkGridOptions (*grid)(void);
    /* Opens the device, performs the task into `out` and closes it; `list` is that of the options.
     * NULL for `out` when the options name a file: rk_program_output opens it once the device is
     * there. */
    RkExit (*perform)(const RkOptions *options, const RkList *list);
} RkProgram;

int rk_program_main(int argc, char **argv, const RkProgram *program);

/* The file of the options, or standard output; NULL, with the error printed, when it cannot be
 * written. Closed by rk_program_close, which makes `status` partial when what was written is not
 * whole. */
FILE *rk_program_output(const RkOptions *options);
RkExit rk_program_close(FILE *out, RkExit status);

#ifdef __cplusplus
}
#endif
