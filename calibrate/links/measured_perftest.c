/* Output of perftest's bandwidth programs (github.com/linux-rdma/perftest): ib_write_bw,
 * ib_read_bw, ib_send_bw between two hosts, one way.
 *
 *                         RDMA_Write BW Test
 *      #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 *      65536      5000             387.13             386.90               0.737953 */
#include <string.h>

#include "calibrate/links/measured_private.h"

#define RATE_MOST 1e7       /* in either unit */
#define MIB       1048576.0 /* what its MB/sec count */

typedef struct {
    RhMeasured *out;
    double unit;    /* bytes/s of a figure of the table; 0: no table */
    bool both_ways; /* rates of both directions together */
    GError **error;
} Reading;

/* Reads the header of a table, whose units are written onto its words. */
static bool begins_table(Reading *r, const RhLine *line)
{
    if (strcmp(rh_line_word(line, 0), "#bytes") != 0)
        return false;
    r->unit = 0;
    for (int32_t i = 1; i < (int32_t)line->words->len; i++) {
        if (strstr(rh_line_word(line, i), "average[Gb/sec]"))
            r->unit = 1e9 / 8;
        if (strstr(rh_line_word(line, i), "average[MB/sec]"))
            r->unit = MIB;
    }
    if (r->unit == 0)
        rh_measured_note(r->out, "latencies of perftest are not fitted: they are a queue pair's, "
                                 "not NCCL's");
    if (r->unit > 0 && r->both_ways) {
        rh_measured_note(r->out, "a bidirectional test: its rates are of both ways together; run "
                                 "it without -b");
        r->unit = 0;
    }
    return true;
}

static bool read_row(Reading *r, const RhLine *line)
{
    double bytes = 0, rate = 0;
    if (!rh_line_number(line, 0, 1, 1e15, &bytes, r->error) ||
        !rh_line_number(line, 3, 0, RATE_MOST, &rate, r->error))
        return false;
    if (rate > 0)
        rh_measured_rate(r->out, RH_RATE_NODES, rate * r->unit, bytes);
    return true;
}

static bool read_line(void *reading, const RhLine *line)
{
    Reading *r = reading;
    if (rh_line_find(line, 0, "Test") > 0)
        r->both_ways = rh_line_find(line, 0, "Bidirectional") >= 0;
    if (begins_table(r, line))
        return true;
    if (r->unit > 0 && rh_line_is_whole(line, 0) && rh_line_is_whole(line, 1))
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
    return strstr(text, "#bytes") != NULL && strstr(text, "#iterations") != NULL;
}

const RhMeasuredFormat rh_format_perftest = {"perftest", begins, read};
