#pragma once
/* Pictures of a result, in a report or as files NAMEgantt.svg, NAMEmemory.svg, NAMEpareto.svg. */
#include "cli/output/output_file.h"
#include "sim/program_result.h"

typedef struct {
    char *gantt, *memory, *pareto, *links; /* SVG; NULL: not drawn */
    char *timeline;                        /* JSON with the sums of the Gantt chart's rows */
} RhPictures;

/* Returns whether one of the paths needs a run with a timeline. */
bool rh_pictures_need_timeline(const GPtrArray *paths);
/* Draws the pictures of a step. */
void rh_pictures_draw_run(RhPictures *pictures, const RhProgram *program, const RhRun *run,
                          double capacity_bytes);
void rh_pictures_clear(RhPictures *pictures);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RhPictures, rh_pictures_clear)
/* Returns a page with these pictures; caller frees. */
char *rh_pictures_page(const RhPictures *pictures, RhPage page);
/* Returns the picture of a kind of file; NULL: none. */
const char *rh_pictures_of(const RhPictures *pictures, RhOutput kind);
