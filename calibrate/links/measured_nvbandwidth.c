/* Output of nvbandwidth (github.com/NVIDIA/nvbandwidth): rates of copies by the copy engines, one
 * way, a matrix for each test.
 *
 *     Device 0: NVIDIA H100 80GB HBM3
 *     Running host_to_device_memcpy_ce.
 *     memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)
 *                0         1
 *      0     55.37     55.36 */
#include <stdlib.h>
#include <string.h>

#include "base/interned_strings.h"
#include "calibrate/links/measured_private.h"

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
    bool named;      /* a line said which test it is */
    int32_t columns; /* of its matrix; 0: it has not begun, -1: its columns are next */
    guint first;     /* rates before those of the current matrix */
    GError **error;
} Reading;

/* Rates of a matrix whose test is not named yet; NONE is no kind of a rate that is kept. */
#define UNNAMED RH_RATE_LAST

/* Finds the test of "NAME" or "NAME."; -1: none that is read. */
static int test_of(const char *word)
{
    for (size_t i = 0; i < G_N_ELEMENTS(tests); i++) {
        size_t length = strlen(tests[i].name);
        if (strncmp(word, tests[i].name, length) == 0 && strcspn(word + length, ".") == 0)
            return (int)i;
    }
    return -1;
}

/* Removes the rates of the current matrix, if nothing named its test. */
static void drop_unnamed(Reading *r)
{
    GArray *rates = r->out->rates;
    if (rates->len > r->first && g_array_index(rates, RhRate, r->first).kind == UNNAMED) {
        g_array_set_size(rates, r->first);
        rh_measured_note(r->out, "a matrix without its heading, and without a SUM line that names "
                                 "its test: left out");
    }
}

/* Says of a test that is not read why it is not. */
static void note_test(Reading *r, const char *word)
{
    g_autofree char *name = g_strndup(word, strcspn(word, "."));
    if (strstr(name, "_sm"))
        rh_measured_note(r->out,
                         "%.60s: copies by kernels (SM), which the model does not use: the tests "
                         "of the copy engines, ..._ce, are fitted",
                         name);
    else if (strstr(name, "memcpy"))
        rh_measured_note(r->out, "%.60s: not fitted; %s, %s and the device_to_device ones are",
                         name, tests[0].name, tests[1].name);
}

/* Reads "Running NAME.", which ends the last test's matrix if the test is known. */
static bool begins_test(Reading *r, const RhLine *line)
{
    if (strcmp(rh_line_word(line, 0), "Running") != 0)
        return false;
    drop_unnamed(r);
    int test = test_of(rh_line_word(line, 1));
    r->kind = test >= 0 ? tests[test].kind : RH_RATE_NONE;
    r->named = true;
    r->columns = 0;
    r->first = r->out->rates->len;
    if (test < 0)
        note_test(r, rh_line_word(line, 1));
    return true;
}

/* Reads "SUM NAME 157.8", which names the test of a matrix whose heading was cut off. */
static bool ends_test(Reading *r, const RhLine *line)
{
    if (strcmp(rh_line_word(line, 0), "SUM") != 0)
        return false;
    int test = test_of(rh_line_word(line, 1));
    GArray *rates = r->out->rates;
    bool unnamed = rates->len > r->first && g_array_index(rates, RhRate, r->first).kind == UNNAMED;
    for (guint i = r->first; unnamed && test >= 0 && i < rates->len; i++)
        g_array_index(rates, RhRate, i).kind = tests[test].kind;
    if (unnamed && test < 0) {
        g_array_set_size(rates, r->first);
        note_test(r, rh_line_word(line, 1));
    }
    r->first = rates->len;
    r->columns = 0;
    r->named = false;
    return true;
}

/* Is the line the numbers of columns, 0 and on? */
static bool is_header(const RhLine *line)
{
    int32_t count = (int32_t)line->words->len;
    for (int32_t i = 0; i < count; i++)
        if (!rh_line_is_whole(line, i) || atoi(rh_line_word(line, i)) != i)
            return false;
    return count > 0;
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
            rh_measured_rate(r->out, r->named ? r->kind : UNNAMED, GB * rate, LARGE);
    }
    return true;
}

static bool read_line(void *reading, const RhLine *line)
{
    Reading *r = reading;
    note_device(r, line);
    if (begins_test(r, line) || ends_test(r, line))
        return true;
    if (is_header(line) && r->columns <= 0)
        r->columns = (int32_t)line->words->len;
    else if (rh_line_find(line, 0, "bandwidth") > 0 && rh_line_find(line, 0, "(GB/s)") > 0)
        r->columns = -1;
    else if (!rh_line_is_whole(line, 0))
        r->columns = MIN(r->columns, 0);
    else if (r->columns > 0 && (r->kind != RH_RATE_NONE || !r->named))
        return read_row(r, line);
    return true;
}

static bool read(RhMeasured *out, const char *text, GError **error)
{
    Reading r = {.out = out, .error = error};
    if (!rh_measured_lines(out, text, read_line, &r))
        return false;
    drop_unnamed(&r);
    return true;
}

static bool begins(const char *text)
{
    return strstr(text, "_memcpy_") != NULL &&
           (strstr(text, "bandwidth (GB/s)") != NULL || strstr(text, "SUM ") != NULL);
}

const RhMeasuredFormat rh_format_nvbandwidth = {"nvbandwidth", begins, read};
