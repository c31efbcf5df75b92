/* Output of nvbandwidth -j (github.com/NVIDIA/nvbandwidth, json_output.cpp): tests with a matrix of
 * rates each, as text or "N/A". They are put as it prints them without -j, which is read
 * (measured_nvbandwidth.c).
 *
 *     {"nvbandwidth": {"testcases": [{"name": "host_to_device_memcpy_ce", "status": "Passed",
 *                                     "bandwidth_matrix": [["55.37", "55.36"]]}]}} */
#include <string.h>

#include "base/error.h"
#include "base/json/json.h"
#include "calibrate/links/measured_private.h"

/* Is the cell a number, or of no pair? */
static bool is_cell(const char *text)
{
    double rate = 0;
    g_autofree char *quantity = g_strconcat(text, "GB/s", NULL);
    return strcmp(text, "N/A") == 0 ||
           rh_quantity_parse(quantity, RH_QUANTITY_BYTES_PER_S, &rate, NULL);
}

static void append_row(RhJson *doc, const RhJsonNode *row, int number, GString *out)
{
    if (number == 0) { /* the columns' numbers */
        for (int i = 0; i < rh_json_count(row); i++)
            g_string_append_printf(out, " %d", i);
        g_string_append_c(out, '\n');
    }
    g_string_append_printf(out, "%d", number);
    for (const RhJsonNode *cell = rh_json_first(row); cell; cell = rh_json_next(cell)) {
        const char *text = rh_json_node_string(doc, cell);
        if (!is_cell(text))
            rh_json_problem(doc, cell, NULL, "\"%s\" is no rate in GB/s", text);
        g_string_append_printf(out, " %s", text);
    }
    g_string_append_c(out, '\n');
}

static void append_test(RhJson *doc, const RhJsonNode *test, GString *out)
{
    const RhJsonNode *matrix = rh_json_array_or_null(doc, test, "bandwidth_matrix");
    g_string_append_printf(out, "Running %s.\nbandwidth (GB/s)\n",
                           rh_json_string_or(doc, test, "name", ""));
    int number = 0;
    for (const RhJsonNode *row = rh_json_first(matrix); row; row = rh_json_next(row))
        append_row(doc, row, number++, out);
}

/* The tests as text; NULL: what is wrong is in `error`. */
static char *text_of(const char *name, const char *json, GError **error)
{
    g_autoptr(RhJson) doc = rh_json_parse(name, json, strlen(json), error);
    if (!doc)
        return NULL;
    g_autoptr(GString) out = g_string_new(NULL);
    const RhJsonNode *root = rh_json_root(doc), *all = rh_json_object(doc, root, "nvbandwidth");
    const RhJsonNode *tests = all ? rh_json_array(doc, all, "testcases") : NULL;
    for (const RhJsonNode *test = rh_json_first(tests); test; test = rh_json_next(test))
        append_test(doc, test, out);
    rh_json_consume_all(doc, root);
    return rh_json_finish(doc, error) ? g_strdup(out->str) : NULL;
}

static bool read(RhMeasured *out, const char *text, GError **error)
{
    const char *json = strchr(text, '{');
    g_autofree char *plain = text_of(out->name, json ? json : text, error);
    return plain && rh_format_nvbandwidth.read(out, plain, error);
}

static bool begins(const char *text)
{
    return strstr(text, "\"nvbandwidth\"") != NULL && strstr(text, "\"testcases\"") != NULL;
}

const RhMeasuredFormat rh_format_nvbandwidth_json = {"nvbandwidth", begins, read};
