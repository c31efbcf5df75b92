#include "report/capacity/capacity_page.h"

#include "report/page/page.h"

char *rh_report_capacity_page(const RhCapacityPage *p)
{
    g_autofree char *caption = g_strdup_printf(
        "A line for each platform, a point for each number of GPUs. Left is sooner, down is "
        "cheaper; nothing is as good as the large points by %s.",
        p->by);
    RhPagePicture picture = {.id = p->id, .title = p->title, .caption = caption, .svg = p->svg};
    RhPage page = {.command = "capacity",
                   .answer = p->text,
                   .json = p->json,
                   .facts = p->facts,
                   .pictures = &picture,
                   .pictures_count = p->svg ? 1 : 0};
    return rh_report_page(&page);
}
