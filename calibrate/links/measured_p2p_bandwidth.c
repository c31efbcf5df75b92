/* Output of p2pBandwidthLatencyTest (github.com/NVIDIA/cuda-samples): of its matrices, the rates of
 * copies one way with peer access.
 *
 *     Device: 0, NVIDIA H100 80GB HBM3, pciBusID: 18, pciDeviceID: 0, pciDomainID:0
 *     Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)
 *        D\D     0      1
 *          0 2573.14 378.21 */
#include <string.h>

#include "base/interned_strings.h"
#include "calibrate/links/measured_private.h"

#define GB        1e9
#define RATE_MOST 1e6  /* GB/s */
#define LARGE     40e6 /* bytes of one of its copies */

typedef struct {
    RhMeasured *out;
    bool wanted; /* the current matrix is of rates one way between peers */
    int32_t columns;
    GError **error;
} Reading;

/* Reads "Device: 0, NVIDIA H100 80GB HBM3, pciBusID: 18, ...". */
static void note_device(Reading *r, const RhLine *line)
{
    if (strcmp(rh_line_word(line, 0), "Device:") != 0)
        return;
    g_autoptr(GString) name = g_string_new(NULL);
    for (int32_t i = 2; i < (int32_t)line->words->len; i++) {
        const char *word = rh_line_word(line, i);
        if (g_str_has_prefix(word, "pciBusID"))
            break;
        g_string_append_printf(name, "%s%s", name->len ? " " : "", word);
    }
    if (g_str_has_suffix(name->str, ","))
        g_string_truncate(name, name->len - 1);
    r->out->device = rh_intern(name->str);
}

static bool begins_matrix(Reading *r, const RhLine *line)
{
    if (rh_line_find(line, 0, "Matrix") < 0)
        return false;
    bool enabled = rh_line_find(line, 0, "P2P=Enabled") >= 0;
    r->columns = 0;
    r->wanted = enabled && strcmp(rh_line_word(line, 0), "Unidirectional") == 0;
    if (enabled && rh_line_find(line, 0, "Latency") >= 0)
        rh_measured_note(r->out, "latencies between peers are not fitted: they are a copy's, not "
                                 "a message's of a collective");
    return true;
}

static bool read_row(Reading *r, const RhLine *line)
{
    double own = 0;
    if (!rh_line_number(line, 0, 0, 1 << 10, &own, r->error))
        return false;
    for (int32_t i = 1; i <= r->columns; i++) {
        double rate = 0;
        if (i == (int32_t)own + 1) /* a copy inside the device */
            continue;
        if (!rh_line_number(line, i, 0, RATE_MOST, &rate, r->error))
            return false;
        if (rate > 0)
            rh_measured_rate(r->out, RH_RATE_PEER, GB * rate, LARGE);
    }
    return true;
}

static bool read_line(void *reading, const RhLine *line)
{
    Reading *r = reading;
    note_device(r, line);
    if (begins_matrix(r, line) || !r->wanted)
        return true;
    if (strcmp(rh_line_word(line, 0), "D\\D") == 0)
        r->columns = (int32_t)line->words->len - 1;
    else if (!rh_line_is_whole(line, 0))
        r->wanted = false;
    else if (r->columns > 0)
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
    return strstr(text, "P2P=Enabled Bandwidth") != NULL;
}

const RhMeasuredFormat rh_format_peers = {"p2pBandwidthLatencyTest", begins, read};
