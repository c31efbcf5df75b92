/* Reads the table of a ping-pong, and writes the profile of its fit. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/json/json.h"
#include "base/text/text_input.h"
#include "calibrate/links/pingpong_fit.h"

#define HEADER "kind,source,destination,bytes,seconds"
/* of a message: larger ones take minutes to simulate packet by packet */
#define BYTES_MOST   (1 << 26)
#define SECONDS_MOST 1e4

/* --- the file --- */

static const struct {
    const char *name;
    double most;
} columns[] = {
    {"kind", 0},           {"source", 1e6},           {"destination", 1e6},
    {"bytes", BYTES_MOST}, {"seconds", SECONDS_MOST},
};

static bool read_row(const char *path, int line, const char *text, GArray *pings, GError **error)
{
    g_auto(GStrv) cells = g_strsplit(text, ",", -1);
    double values[5] = {0};
    if (g_strv_length(cells) != 5)
        return rh_fail(error, RH_ERROR_INPUT, "%s:%d: %u cells, 5 are wanted: " HEADER, path, line,
                       g_strv_length(cells));
    bool reaction = strcmp(cells[0], "reaction") == 0;
    if (!reaction && strcmp(cells[0], "trip") != 0)
        return rh_fail(error, RH_ERROR_INPUT, "%s:%d:1: \"%s\" is neither trip nor reaction", path,
                       line, cells[0]);
    for (int i = 1; i < 5; i++) {
        char *end = NULL;
        values[i] = g_ascii_strtod(cells[i], &end);
        if (end == cells[i] || *end || !(values[i] >= 0))
            return rh_fail(error, RH_ERROR_INPUT, "%s:%d:%d: \"%.40s\" is not a number >= 0", path,
                           line, i + 1, cells[i]);
        if (values[i] > columns[i].most)
            return rh_fail(error, RH_ERROR_INPUT, "%s:%d:%d: %s %.40s: at most %.0f", path, line,
                           i + 1, columns[i].name, cells[i], columns[i].most);
    }
    if (!reaction && !(values[4] > 0))
        return rh_fail(error, RH_ERROR_INPUT, "%s:%d:5: no message takes no time", path, line);
    if (values[1] == values[2] || values[1] != floor(values[1]) || values[2] != floor(values[2]))
        return rh_fail(error, RH_ERROR_INPUT, "%s:%d: source and destination must be two ranks",
                       path, line);
    RhPing ping = {reaction, (int32_t)values[1], (int32_t)values[2], values[3], values[4]};
    g_array_append_val(pings, ping);
    return true;
}

GArray *rh_pings_parse(const char *name, const char *text, GError **error)
{
    g_autoptr(GArray) pings = g_array_new(FALSE, FALSE, sizeof(RhPing));
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    if (!lines[0] || strcmp(g_strstrip(lines[0]), HEADER) != 0) {
        rh_fail(error, RH_ERROR_INPUT,
                "%s:1:1: nothing that is fitted to begins so\n"
                "help: raw samples of kernels, logs of nccl-tests, OSU, nvbandwidth, "
                "p2pBandwidthLatencyTest or perftest, published "
                "steps or serving runs, or a ping-pong (%s)",
                name, HEADER);
        return NULL;
    }
    for (int i = 1; lines[i]; i++)
        if (*g_strstrip(lines[i]) && !read_row(name, i + 1, lines[i], pings, error))
            return NULL;
    return g_steal_pointer(&pings);
}

GArray *rh_pings_load(const char *path, GError **error)
{
    g_autofree char *text = rh_text_load(path, error);
    return text ? rh_pings_parse(path, text, error) : NULL;
}

/* --- the profile --- */

typedef struct {
    const char *source, *date;
} Origin;

static void put_fact(RhJsonWriter *w, const char *key, double value, const char *unit, double error,
                     const Origin *origin)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE], spread[G_ASCII_DTOSTR_BUF_SIZE];
    g_ascii_formatd(text, sizeof text, "%.6g", value);
    g_ascii_formatd(spread, sizeof spread, "%.2g", error);
    g_autofree char *quantity = g_strconcat(text, unit, NULL);
    g_autofree char *cited =
        g_strdup_printf("%s; 95 %% within +-%s%s", origin->source, spread, unit);
    rh_json_begin_object(w, key);
    rh_json_put_string(w, "value", quantity);
    rh_json_put_string(w, "tag", "fitted");
    rh_json_put_string(w, "source", cited);
    rh_json_put_string(w, "date", origin->date);
    rh_json_end_object(w);
}

static void put_stack(RhJsonWriter *w, const RhPingFit *f, const Origin *origin)
{
    static const char *const links[] = {"nic.latency", "nvlink.latency"};
    double error_us = 1e6 * f->latency_error_s, copy = f->copy_s_per_byte;
    for (size_t i = 0; i < G_N_ELEMENTS(links); i++)
        put_fact(w, links[i], 1e6 * f->latency_s, "us", error_us, origin);
    put_fact(w, "messages.reaction", 1e6 * f->reaction_s, "us", error_us, origin);
    put_fact(w, "messages.noise", 1e6 * f->noise_s, "us", error_us, origin);
    put_fact(w, "messages.copy", copy > 0 ? 1e-9 / copy : 0, "GB/s",
             copy > 0 ? 1e-9 * f->copy_error_s_per_byte / (copy * copy) : 0, origin);
}

static void put_link(RhJsonWriter *w, const RhPingFit *f, const RhPlatform *p, const Origin *origin)
{
    double rate = f->between_nodes ? p->nic_bytes_per_s.value : p->nvlink_bytes_per_s.value;
    put_fact(w, f->between_nodes ? "nic.latency" : "nvlink.latency", 1e6 * f->latency_s, "us",
             1e6 * f->latency_error_s, origin);
    put_fact(w, f->between_nodes ? "nic.efficiency" : "nvlink.efficiency", f->efficiency_frac, "",
             f->efficiency_frac * f->efficiency_frac * rate * f->copy_error_s_per_byte, origin);
}

char *rh_pings_profile(const RhPingFit *f, const RhPlatform *platform, const char *source,
                       const char *date)
{
    g_autofree char *cited =
        g_strdup_printf("ping-pong on %s (%s), %d rows", platform->name, source, f->rows_count);
    const Origin origin = {cited, date};
    g_autoptr(RhJsonWriter) w = rh_json_writer_new(true);
    rh_json_begin_object(w, NULL);
    rh_json_put_string(w, "schema", "rehearse.profile/1");
    rh_json_put_string(w, "platform", platform->name);
    rh_json_put_string(w, "about", cited);
    rh_json_begin_object(w, "fit");
    rh_json_put_number(w, "mape_frac", f->mape_frac);
    rh_json_put_number(w, "worst_frac", f->worst_frac);
    rh_json_put_number(w, "worst_bytes", f->worst_bytes);
    rh_json_end_object(w);
    rh_json_begin_object(w, "facts");
    if (platform->messages.sender != RH_SHARING_NONE)
        put_stack(w, f, &origin);
    else
        put_link(w, f, platform, &origin);
    rh_json_end_object(w);
    rh_json_end_object(w);
    return rh_json_writer_steal(w);
}
