/* Output of nvbandwidth (github.com/NVIDIA/nvbandwidth): rates of copies by the copy engines, one
 * way, a matrix for each test.
 *
 *     Device 0: NVIDIA H100 80GB HBM3
 *     Running host_to_device_memcpy_ce.
 *     memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)
 *                0         1
 *      0     55.37     55.36 */
#include <string.h>

#include "base/intern.h"
#include "calibrate/links/measured_format.h"

#define GB        1e9
#define RATE_MOST 1e6   /* GB/s */
#define LARGE     512e6 /* its default buffers */

static const struct {
    const char *name;
    RhRateKind kind;
} tests[] = {
    {"host_to_device_memcpy_ce", RH_RATE_HOST_IN},
    {"device_to_host_memcpy_ce", RH_RATE_HOST_OUT},
    {"device_to_device_memcpy_read_ce", RH_RATE_PEER},
    {"device_to_device_memcpy_write_ce", RH_RATE_PEER},
};

typedef struct {
    RhMeasured *out;
    RhRateKind kind; /* of the current test; NONE: not read */
    int32_t columns; /* of its matrix; 0: it has not begun, -1: its columns are next */
    GError **error;
} Reading;

/* Reads "Running NAME.", which ends the last test's matrix if the test is known. */
static bool begins_test(Reading *r, const RhLine *line)
{
    if (strcmp(rh_line_word(line, 0), "Running") != 0)
        return false;
    r->kind = RH_RATE_NONE;
    r->columns = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(tests); i++) {
        const char *word = rh_line_word(line, 1);
        size_t length = strlen(tests[i].name);
        if (strncmp(word, tests[i].name, length) == 0 && strcspn(word + length, ".") == 0)
            r->kind = tests[i].kind;
    }
    return true;
}

/* Reads "Device 0: NVIDIA H100 80GB HBM3 (00000009:01:00)". */
static void note_device(Reading *r, const RhLine *line)
{
    if (strcmp(rh_line_word(line, 0), "Device") != 0 ||
        !g_str_has_suffix(rh_line_word(line, 1), ":"))
        return;
    g_autoptr(GString) name = g_string_new(NULL);
    for (int32_t i = 2; i < (int32_t)line->words->len && *rh_line_word(line, i) != '('; i++)
        g_string_append_printf(name, "%s%s", name->len ? " " : "", rh_line_word(line, i));
    r->out->device = rh_intern(name->str);
}

/* Reads a row; cells without a pair are N/A, or 0. */
static bool read_row(Reading *r, const RhLine *line)
{
    for (int32_t i = 1; i <= r->columns; i++) {
        double rate = 0;
        if (strcmp(rh_line_word(line, i), "N/A") == 0)
            continue;
        if (!rh_line_number(line, i, 0, RATE_MOST, &rate, r->error))
            return false;
        if (rate > 0)
            rh_measured_rate(r->out, r->kind, GB * rate, LARGE);
    }
    return true;
}

static bool read_line(void *reading, const RhLine *line)
{
    Reading *r = reading;
    note_device(r, line);
    if (begins_test(r, line))
        return true;
    if (rh_line_find(line, 0, "bandwidth") > 0 && rh_line_find(line, 0, "(GB/s)") > 0)
        r->columns = -1;
    else if (!rh_line_is_whole(line, 0))
        r->columns = MIN(r->columns, 0);
    else if (r->columns < 0)
        r->columns = (int32_t)line->words->len;
    else if (r->columns > 0 && r->kind != RH_RATE_NONE)
        return read_row(r, line);
    return true;
}

static bool read(RhMeasured *out, const char *text, GError **error)
{
    Reading r = {.out = out, .error = error};
    return rh_measured_lines(out, text, read_line, &r);
}

static bool begins(const char *text)
{
    return strstr(text, "memcpy") != NULL && strstr(text, "bandwidth (GB/s)") != NULL;
}

const RhMeasuredFormat rh_format_nvbandwidth = {"nvbandwidth", begins, read};
