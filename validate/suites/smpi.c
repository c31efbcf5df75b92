#include "validate/suites/smpi.h"

#include <string.h>
#include <sys/wait.h>

#include "base/child_process.h"
#include "base/error.h"
#include "base/json/json.h"

#define EAGER_LIMIT "4300000" /* as validate/lab/mpirun sets for Open MPI */

/* --- platform --- */

static double payload_share(const RhPlatform *p)
{
    double packet = p->messages.packet_bytes.value;
    return packet / (packet + p->messages.header_bytes.value);
}

static char *number(double value)
{
    char buffer[G_ASCII_DTOSTR_BUF_SIZE];
    return g_strdup(g_ascii_formatd(buffer, sizeof buffer, "%.9g", value));
}

static void put_link(GString *out, const char *id, double bytes_per_s, double latency_s)
{
    g_autofree char *bandwidth = number(bytes_per_s);
    g_autofree char *latency = number(latency_s);
    /* a latency here is not a shared wire: routes with a common latency do not share its
     * bandwidth */
    g_string_append_printf(out, "<link id=\"%s\" bandwidth=\"%sBps\" latency=\"%ss\"%s/>\n", id,
                           bandwidth, latency, latency_s > 0 ? " sharing_policy=\"FATPIPE\"" : "");
}

static char *latency_id(double latency_s)
{
    return g_strdup_printf("latency-%.0fns", 1e9 * latency_s);
}

static void put_latencies(GString *out, const RhPlatform *p)
{
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (int32_t a = 0; a < rh_platform_gpus(p); a++)
        for (int32_t b = 0; b < rh_platform_gpus(p); b++) {
            double latency_s = rh_platform_route_latency_s(p, a, b);
            g_autofree char *id = latency_id(latency_s);
            if (a == b || g_hash_table_contains(seen, id))
                continue;
            put_link(out, id, 1e15, latency_s);
            g_hash_table_add(seen, g_steal_pointer(&id));
        }
}

static void put_route(GString *out, const RhPlatform *p, int32_t from, int32_t to)
{
    RhLink links[RH_ROUTE_MAX];
    int count = rh_platform_route(p, from, to, links);
    g_autofree char *latency = latency_id(rh_platform_route_latency_s(p, from, to));
    g_string_append_printf(out, "<route src=\"r%d\" dst=\"r%d\" symmetrical=\"NO\">", from, to);
    for (int i = 0; i < count; i++)
        g_string_append_printf(out, "<link_ctn id=\"link%d\"/>", links[i]);
    g_string_append_printf(out, "<link_ctn id=\"%s\"/></route>\n", latency);
}

char *rh_smpi_platform(const RhPlatform *p, GError **error)
{
    if (p->messages.sender == RH_SHARING_NONE) {
        rh_fail(error, RH_ERROR_INPUT, "%s has no \"messages\": no network of MPI over TCP",
                p->name);
        return NULL;
    }
    GString *out = g_string_new("<?xml version=\"1.0\"?>\n"
                                "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
                                "<platform version=\"4.1\">\n<zone id=\"lab\" routing=\"Full\">\n");
    int32_t ranks = rh_platform_gpus(p);
    for (int32_t r = 0; r < ranks; r++)
        g_string_append_printf(out, "<host id=\"r%d\" speed=\"1Gf\"/>\n", r);
    for (RhLink l = 0; l < rh_platform_links_count(p); l++) {
        g_autofree char *id = g_strdup_printf("link%d", l);
        put_link(out, id, payload_share(p) * rh_platform_link_bytes_per_s(p, l), 0);
    }
    put_latencies(out, p);
    for (int32_t a = 0; a < ranks; a++)
        for (int32_t b = 0; b < ranks; b++)
            if (a != b)
                put_route(out, p, a, b);
    g_string_append(out, "</zone>\n</platform>\n");
    return g_string_free(out, FALSE);
}

/* --- run --- */

static bool write_file(const char *path, const char *text, GError **error)
{
    return rh_file_write(path, text, strlen(text), error);
}

static bool write_inputs(const RhPlatform *p, const char *platform, const char *hosts,
                         GError **error)
{
    g_autofree char *xml = rh_smpi_platform(p, error);
    g_autoptr(GString) names = g_string_new(NULL);
    for (int32_t r = 0; r < rh_platform_gpus(p); r++)
        g_string_append_printf(names, "r%d\n", r);
    return xml && write_file(platform, xml, error) && write_file(hosts, names->str, error);
}

bool rh_smpi_run(const RhPlatform *p, const char *folder, const char *const *words, GError **error)
{
    g_autofree char *platform = g_build_filename(folder, "smpi.xml", NULL);
    g_autofree char *hosts = g_build_filename(folder, "smpi.hosts", NULL);
    g_autofree char *ranks = g_strdup_printf("%d", rh_platform_gpus(p));
    g_autofree char *said = NULL;
    g_autoptr(GError) local = NULL;
    int status = 0;
    const char *head[] = {"smpirun",
                          "-np",
                          ranks,
                          "-platform",
                          platform,
                          "-hostfile",
                          hosts,
                          "--cfg=smpi/simulate-computation:no",
                          "--cfg=smpi/grow-injected-times:no",
                          "--cfg=smpi/test:1e-6",
                          "--cfg=network/crosstraffic:0", /* two links, one for each direction */
                          "--cfg=smpi/bw-factor:0:1.0",
                          "--cfg=smpi/lat-factor:0:1.0",
                          "--cfg=smpi/async-small-thresh:" EAGER_LIMIT,
                          "--cfg=smpi/send-is-detached-thresh:" EAGER_LIMIT};
    g_autoptr(GPtrArray) argv = g_ptr_array_new();
    for (size_t i = 0; i < G_N_ELEMENTS(head); i++)
        g_ptr_array_add(argv, (char *)head[i]);
    for (; *words; words++)
        g_ptr_array_add(argv, (char *)*words);
    g_ptr_array_add(argv, NULL);
    if (!write_inputs(p, platform, hosts, error))
        return false;
    if (!rh_child_run((const char *const *)argv->pdata, 0, NULL, &said, &status, &local))
        return rh_fail(error, RH_ERROR_IO, "%s\nhelp: install libsimgrid-dev", local->message);
    if (status != 0)
        return rh_fail(error, RH_ERROR_IO, "smpirun ended with status %d: %.400s",
                       WIFEXITED(status) ? WEXITSTATUS(status) : -1, said);
    return true;
}
