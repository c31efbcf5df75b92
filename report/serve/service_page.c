#include "report/serve/service_page.h"

#include "report/page/page.h"
#include "report/serve/service_pictures.h"

static char *page_with(RhPage page, const RhPagePicture *all, size_t count)
{
    g_autofree RhPagePicture *drawn = g_new0(RhPagePicture, count);
    page.pictures = drawn;
    for (size_t i = 0; i < count; i++)
        if (all[i].svg)
            drawn[page.pictures_count++] = all[i];
    return rh_report_page(&page);
}

char *rh_report_serve_page(const RhServeQuestion *question, const RhServiceResult *result,
                           const RhServiceMetrics *outcome, const char *facts)
{
    RhReportStyle plain = {0};
    g_autofree char *text = rh_report_serve_text(question, result, outcome, &plain),
                    *json = rh_report_serve_json(question, result, outcome),
                    *time = rh_report_service_time_svg(result, question->slos),
                    *ttft = result->once ? NULL
                                         : rh_report_service_spread_svg(result, RH_METRIC_TTFT,
                                                                        question->slos),
                    *tpot = result->once ? NULL
                                         : rh_report_service_spread_svg(result, RH_METRIC_TPOT,
                                                                        question->slos),
                    *e2e = rh_report_service_spread_svg(result, RH_METRIC_E2E, question->slos),
                    *slowest = rh_report_service_slowest_svg(result);
    const RhPagePicture all[] = {
        {"over-time", "Over time",
         "Load, queue, replicas, use of the cache and latencies; dashed: levels.", time, false},
        {"slowest", "The slowest requests",
         "From sent to the last token. Queued: until first scheduled; others' prompts: iterations that read "
         "none of its own, once it was.",
         slowest, false},
        {"ttft-spread", "Time to the first token",
         "Share of requests that took at most this time; dashed: service levels, and the share that they require.",
         ttft, false},
        {"tpot-spread", "Time per further token", "A request's mean; as above.", tpot, false},
        {"e2e-spread", "Time to the last token", "As above.", e2e, false},
    };
    return page_with(
        (RhPage){.command = "serve-simulate", .answer = text, .json = json, .facts = facts}, all,
        G_N_ELEMENTS(all));
}

char *rh_report_serve_plan_page(const RhServePlan *plan, const char *text, const char *json,
                                const char *facts)
{
    g_autofree char *svg = rh_report_serve_plan_svg(plan);
    const RhPagePicture all[] = {
        {"trade-off", "Rate against latency",
         "The best deployment of each kind, at the rate asked or the highest that keeps the levels. Up and left is better; of those "
         "on the line none is better in both.",
         svg, false}};
    return page_with(
        (RhPage){.command = "serve-plan", .answer = text, .json = json, .facts = facts}, all,
        G_N_ELEMENTS(all));
}
