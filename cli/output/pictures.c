#include "cli/output/pictures.h"

#include "report/pictures/gantt.h"
#include "report/pictures/links_over_time.h"
#include "report/pictures/memory_over_time.h"

bool rh_pictures_need_timeline(const GPtrArray *paths)
{
    return rh_outputs_find(paths, RH_OUTPUT_HTML) || rh_outputs_find(paths, RH_OUTPUT_GANTT) ||
           rh_outputs_find(paths, RH_OUTPUT_MEMORY) || rh_outputs_find(paths, RH_OUTPUT_TRAFFIC);
}

void rh_pictures_draw_run(RhPictures *pictures, const RhProgram *program, const RhRun *run,
                          double capacity_bytes)
{
    g_autoptr(RhTaskIntervals) spans = rh_task_intervals_new(program, run);
    g_autoptr(RhGpuTimeline) timeline = rh_gpu_timeline_new(spans);
    pictures->gantt = rh_report_gantt_svg(spans, timeline);
    pictures->timeline = rh_report_gpu_timeline_json(spans, timeline);
    pictures->links = rh_report_links_svg(run);
    if (capacity_bytes > 0)
        pictures->memory = rh_report_memory_svg(spans, capacity_bytes);
}

void rh_pictures_clear(RhPictures *pictures)
{
    g_free(pictures->gantt);
    g_free(pictures->memory);
    g_free(pictures->pareto);
    g_free(pictures->links);
    g_free(pictures->timeline);
}

char *rh_pictures_page(const RhPictures *pictures, RhPage page)
{
    const RhPagePicture all[] = {
        {"pareto", "Time against memory",
         "Every layout that was simulated. Left is less memory, down is less time; "
         "no ranked layout betters those on the line in both.",
         pictures->pareto, false},
        {"memory-time", "Memory over the step",
         "What the fullest GPU holds; of each moment drawn, the most.", pictures->memory, false},
        {"gantt", "Who does what when",
         "A row for each kind of GPU. Full height: passes of micro-batches; half height: why nothing ran, "
         "inside a pass gathered at its end, as what is computed once more is at its beginning. The line below the rows is the critical path. Time that a stack adds for slow nodes is not drawn.",
         pictures->gantt, true},
        {"links-time", "Links over the step",
         "The busiest links, each a row: how much of its rate moves, from none to all of it, in 120 equal parts of the step. Bytes of a collective lie evenly over its time.",
         pictures->links, true}};
    RhPagePicture drawn[G_N_ELEMENTS(all)];
    page.pictures = drawn;
    page.pictures_count = 0;
    page.timeline = pictures->timeline;
    for (size_t i = 0; i < G_N_ELEMENTS(all); i++)
        if (all[i].svg)
            drawn[page.pictures_count++] = all[i];
    return rh_report_page(&page);
}

const char *rh_pictures_of(const RhPictures *pictures, RhOutput kind)
{
    return kind == RH_OUTPUT_GANTT    ? pictures->gantt
           : kind == RH_OUTPUT_MEMORY ? pictures->memory
           : kind == RH_OUTPUT_PARETO ? pictures->pareto
                                      : NULL;
}
