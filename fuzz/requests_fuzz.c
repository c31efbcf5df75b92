/* Traces of requests: whatever is read keeps its promises, and with lines left out reads no less. */
#include "fuzz/fuzzkit.h"
#include "workloads/requests/requests.h"

static void check(const RhRequests *requests)
{
    double last_s = 0;
    FUZZ_CHECK(requests->list->len > 0 && requests->format);
    FUZZ_CHECK(g_array_index(requests->list, RhRequest, 0).t_s == 0);
    for (guint i = 0; i < requests->list->len; i++) {
        const RhRequest *q = &g_array_index(requests->list, RhRequest, i);
        FUZZ_CHECK(q->t_s >= last_s && q->t_s < 1e13);
        FUZZ_CHECK(q->input_tokens >= 1 && q->output_tokens >= 1);
        FUZZ_CHECK(!requests->once || q->output_tokens == 1);
        FUZZ_CHECK(q->session >= -1 && q->turn >= 0 && (q->session >= 0 || q->turn == 0));
        FUZZ_CHECK(q->blocks_first >= 0 && q->blocks_count >= 0);
        FUZZ_CHECK((guint)q->blocks_first + (guint)q->blocks_count <= requests->blocks->len);
        last_s = q->t_s;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhRequests) strict = rh_requests_parse("fuzz", data, size, false, &error);
    if (strict) {
        check(strict);
        FUZZ_CHECK(strict->skipped_count == 0);
    } else {
        fuzz_check_error(&error);
    }
    g_autoptr(RhRequests) lenient = rh_requests_parse("fuzz", data, size, true, &error);
    if (lenient)
        check(lenient);
    else
        fuzz_check_error(&error);
    FUZZ_CHECK(!strict || (lenient && lenient->list->len == strict->list->len));
    return 0;
}
