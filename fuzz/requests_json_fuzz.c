/* rh_requests_json_parse: what is read is requests that a server takes, in the order of their times.
 * rh_service_figures_parse: figures of a benchmark are positive, or not there. */
#include "fuzz/fuzzkit.h"
#include "validate/runs/service_result.h"
#include "workloads/requests/requests_json.h"

static void read_figures(const char *text, size_t size)
{
    g_autoptr(GError) error = NULL;
    if (!rh_service_figures_are(text))
        return;
    g_autoptr(RhServiceResultFile) f = rh_service_figures_parse("fuzz", text, size, &error);
    if (!f)
        fuzz_check_error(&error);
    for (int m = 0; f && m < RH_RESULT_LAST; m++)
        FUZZ_CHECK(f->measured[m] >= 0 && f->concurrency >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *text = g_strndup((const char *)data, size);
    read_figures(text, size);
    if (!rh_requests_json_is(text))
        return 0;
    bool skip_bad = size % 2 == 0;
    g_autoptr(RhRequests) list =
        rh_requests_json_parse("fuzz", (const char *)data, size, 4, skip_bad, &error);
    if (!list) {
        fuzz_check_error(&error);
        return 0;
    }
    double before_s = 0;
    for (guint i = 0; i < list->list->len; i++) {
        const RhRequest *q = &g_array_index(list->list, RhRequest, i);
        FUZZ_CHECK(q->input_tokens >= 1 && q->output_tokens >= 1 && q->t_s >= before_s);
        before_s = q->t_s;
    }
    return 0;
}
