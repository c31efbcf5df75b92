#include "calibrate/measure/measure_main.h"

#include <string.h>

static RkExit print_grid(const RkProgram *program, const RkOptions *options)
{
    RkGridOptions grid = program->grid();
    RkSamples samples = {0};
    for (int i = 0; i < RK_CLASS_LAST; i++)
        grid.classes[i] = grid.classes[i] && options->classes[i];
    bool ok = rk_grid(&grid, &samples) && rk_raw_write_grid(stdout, &samples);
    rk_samples_clear(&samples);
    return ok ? RK_EXIT_OK : RK_EXIT_PARTIAL;
}

FILE *rk_program_output(const RkOptions *options)
{
    FILE *out = options->out_file != NULL ? fopen(options->out_file, "w") : stdout;
    if (out == NULL)
        fprintf(stderr, "error: -o %s: cannot be written\n", options->out_file);
    return out;
}

RkExit rk_program_close(FILE *out, RkExit status)
{
    bool whole = out == stdout ? fflush(out) == 0 : fclose(out) == 0;
    return whole ? status : RK_EXIT_PARTIAL;
}

static bool read_list(const char *name, RkList *list)
{
    char why[512];
    FILE *file = fopen(name, "r");
    if (file == NULL) {
        fprintf(stderr, "error: %s: cannot be opened\n", name);
        return false;
    }
    bool ok = rk_list_read(file, name, list, why, sizeof why);
    if (!ok)
        fprintf(stderr, "error: %s\n", why);
    fclose(file);
    return ok;
}

static RkExit perform(const RkProgram *program, const RkOptions *options)
{
    RkList list = {0};
    if (options->list_file != NULL && !read_list(options->list_file, &list))
        return RK_EXIT_INPUT;
    RkExit status = program->perform(options, &list);
    rk_list_clear(&list);
    return status;
}

int rk_program_main(int argc, char **argv, const RkProgram *program)
{
    RkOptions options;
    char why[256];
    if (!rk_options_parse(argc, argv, &options, why, sizeof why)) {
        fprintf(stderr, "error: %s\n", why);
        return RK_EXIT_INPUT;
    }
    switch (options.task) {
    case RK_DO_HELP:
        fputs(program->help, stdout);
        return RK_EXIT_OK;
    case RK_DO_VERSION:
        puts(program->version);
        return RK_EXIT_OK;
    case RK_DO_GRID:
        return (int)print_grid(program, &options);
    case RK_DO_MEASURE:
    case RK_DO_LIST:
    case RK_DO_SERVE:
    case RK_DO_CHECK:
    default:
        return (int)perform(program, &options);
    }
}
