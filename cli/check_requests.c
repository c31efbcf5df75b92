#include "cli/check_requests.h"

#include <stdio.h>
#include <string.h>

#include "cli/validate/validate_service.h"
#include "report/format.h"
#include "validate/runs/service_result.h"
#include "workloads/requests/requests.h"
#include "workloads/requests/requests_json.h"

#define CHARS_PER_TOKEN 4
#define HEAD_BYTES      65536

bool rh_check_may_be_requests(const char *path)
{
    static const char *const ends[] = {".csv", ".jsonl", ".csv.gz", ".jsonl.gz"};
    FILE *file = g_file_test(path, G_FILE_TEST_IS_REGULAR) ? fopen(path, "rbe") : NULL;
    g_autofree char *head = g_malloc0(HEAD_BYTES + 1);
    size_t length = file ? fread(head, 1, HEAD_BYTES, file) : 0;
    head[length] = 0;
    if (file)
        fclose(file);
    for (size_t i = 0; file && i < G_N_ELEMENTS(ends); i++)
        if (g_str_has_suffix(path, ends[i]))
            return true;
    return file && rh_requests_json_is(head);
}

bool rh_check_service_result(const char *path, GString *notes, bool *known, GError **error)
{
    *known = rh_validate_is_service(path);
    g_autoptr(RhServiceResultFile) f = *known ? rh_service_figures_load(path, error) : NULL;
    if (!f)
        return !*known;
    g_string_append_printf(notes, "result of %s%s%s: requests of %.0f input and %.0f output tokens",
                           f->format, f->model ? ", " : "", f->model ? f->model : "",
                           f->input_tokens, f->output_tokens);
    if (f->concurrency > 0)
        g_string_append_printf(notes, ", %d client%s", f->concurrency,
                               f->concurrency == 1 ? "" : "s");
    g_string_append_printf(
        notes,
        "\nnote: rehearse validate --cases %s -p PLATFORM --from LAUNCH sets it beside "
        "its prediction\n",
        path);
    return true;
}

bool rh_check_requests(const char *path, GString *notes, bool *known, GError **error)
{
    GError *why = NULL;
    g_autoptr(RhRequests) list = rh_requests_load_any(path, true, CHARS_PER_TOKEN, &why);
    *known = list || !strstr(why->message, "of a trace that is known");
    if (!list) {
        if (*known)
            g_propagate_error(error, why);
        else
            g_error_free(why);
        return !*known;
    }
    double input = 0, output = 0;
    for (guint i = 0; i < list->list->len; i++) {
        const RhRequest *q = &g_array_index(list->list, RhRequest, i);
        input += (double)q->input_tokens / list->list->len;
        output += (double)q->output_tokens / list->list->len;
    }
    g_autofree char *count = rh_text_count(list->list->len), *rate = NULL;
    g_string_append_printf(notes,
                           "requests (%s): %s, of %.0f input and %.0f output tokens in the mean",
                           list->format, count, input, output);
    if (list->timed) {
        rate = rh_text_number(rh_requests_rate_per_s(list), 3);
        g_string_append_printf(notes, ", %s/s", rate);
    }
    g_string_append_c(notes, '\n');
    if (list->chars_per_token > 0)
        g_string_append(notes, "note: tokens estimated at 4 characters each (--chars-per-token)\n");
    if (list->skipped_count > 0)
        g_string_append_printf(notes, "note: %" G_GINT64_FORMAT " left out, the first: %s\n",
                               list->skipped_count, list->skipped_first);
    if (list->passed_over)
        g_string_append_printf(notes, "note: column %s is passed over\n", list->passed_over);
    g_string_append_printf(
        notes, "note: rehearse serve-simulate --requests %s ... simulates them\n", path);
    return true;
}
