#pragma once
/* Pictures of a result: in a report, and alone as NAMEgantt.svg, NAMEmemory.svg, NAMEpareto.svg. */
#include "cli/output/output.h"
#include "sim/run.h"

typedef struct {
    char *gantt, *memory, *pareto, *links; /* SVG; NULL: not drawn */
    char *timeline;                        /* JSON of what the rows of the gantt sum up to */
} RhPictures;

/* Does one of the paths need a run with a timeline for its pictures? */
bool rh_pictures_need_timeline(const GPtrArray *paths);
/* Draws the step. */
void rh_pictures_draw_run(RhPictures *pictures, const RhProgram *program, const RhRun *run,
                          double capacity_bytes);
void rh_pictures_clear(RhPictures *pictures);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RhPictures, rh_pictures_clear)
/* The file's text for a page with these pictures; caller frees. */
char *rh_pictures_page(const RhPictures *pictures, RhPage page);
/* The picture that a file of this kind holds; NULL: none of them. */
const char *rh_pictures_of(const RhPictures *pictures, RhOutput kind);
