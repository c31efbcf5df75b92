/* rh_requests_json_parse: what is read is requests that a server takes, in the order of their times. */
#include "fuzz/fuzzkit.h"
#include "workloads/requests_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *text = g_strndup((const char *)data, size);
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
