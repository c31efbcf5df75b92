/* Reads what InfiniBand's tools discover: which NICs of which hosts are on which switches, at what
 * rate, and the links between switches.
 *
 * ibnetdiscover:                                   iblinkinfo:
 *     Switch 40 "S-01" # "leaf1" base port 0         Switch: 0x01 leaf1:
 *     [1] "H-02"[1](02) # "node1 mlx5_0" lid 4 4xNDR    3  1[ ] ==( 4X 106.25 Gbps Active/ LinkUp)==>
 *     [33] "S-09"[2]    # "spine1" lid 9 4xNDR              4  1[ ] "node1 mlx5_0" ( )
 *
 * Hosts with the most NICs count; switches with such hosts are leaves. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "platforms/machine/machine.h"

typedef struct {
    char *name;       /* owned; what links call it */
    GHashTable *nics; /* host name -> count of its NICs here */
    double down, up;  /* sums of rates to hosts that count, and to switches; bits/s */
    int32_t hosts;    /* that count */
} Switch;

typedef struct {
    guint on;    /* index of the switch */
    char *host;  /* owned; NULL: to a switch */
    double rate; /* bits/s */
} Port;

typedef struct {
    const char *file;
    GPtrArray *switches; /* Switch */
    GArray *ports;       /* Port */
    GHashTable *names;   /* of switches in iblinkinfo's blocks */
    bool inside;         /* a switch's block */
} Fabric;

static void switch_free(void *data)
{
    Switch *s = data;
    g_free(s->name);
    g_hash_table_unref(s->nics);
    g_free(s);
}

static void port_clear(void *data)
{
    g_free(((Port *)data)->host);
}

/* --- rates --- */

/* Rate of data of a link of four lanes that signals at so many bits/s; 0: none is near. */
static double nominal_rate(double signalled)
{
    static const double rates[] = {10e9, 20e9, 40e9, 56e9, 100e9, 200e9, 400e9, 800e9};
    for (size_t i = 0; i < G_N_ELEMENTS(rates); i++)
        if (fabs(signalled / rates[i] - 1) < 0.1)
            return rates[i];
    return 0;
}

/* Rate of "4xHDR", "2xNDR" or "4X 53.125 Gbps" in a line; 0: none stands there. */
static double rate_of(const char *line)
{
    static const struct {
        const char *name;
        double lane;
    } kinds[] = {{"SDR", 2.5e9}, {"DDR", 5e9},  {"QDR", 10e9},  {"FDR10", 10e9}, {"FDR", 14e9},
                 {"EDR", 25e9},  {"HDR", 50e9}, {"NDR", 100e9}, {"XDR", 200e9}};
    g_autoptr(GRegex) form =
        g_regex_new("\\b(1|2|4|8|12)[xX] *([A-Z]DR(?:10)?\\b|[0-9.]+ Gbps)", 0, 0, NULL);
    g_autoptr(GMatchInfo) match = NULL;
    if (!g_regex_match(form, line, 0, &match))
        return 0;
    g_autofree char *width = g_match_info_fetch(match, 1), *speed = g_match_info_fetch(match, 2);
    double lanes = g_ascii_strtod(width, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++)
        if (strcmp(kinds[i].name, speed) == 0)
            return lanes * kinds[i].lane;
    return nominal_rate(lanes * 1e9 * g_ascii_strtod(speed, NULL));
}

/* --- lines --- */

/* Host of a NIC's description, "node1 mlx5_0", "node1 HCA-1"; NULL: of none, as a switch's own
 * aggregation node. Caller frees. */
static char *host_of(const char *description)
{
    if (strstr(description, "Aggregation Node") || !*description)
        return NULL;
    return g_strndup(description, strcspn(description, " "));
}

/* The text in the last pair of quotes of a line; caller frees, NULL: there is none. */
static char *last_quoted(const char *line)
{
    const char *end = strrchr(line, '"');
    if (!end || end == line)
        return NULL;
    const char *start = end - 1;
    while (start > line && *start != '"')
        start--;
    return *start == '"' ? g_strndup(start + 1, (gsize)(end - start - 1)) : NULL;
}

static void begin_switch(Fabric *f, const char *name)
{
    Switch *s = g_new0(Switch, 1);
    s->name = g_strdup(name);
    s->nics = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_ptr_array_add(f->switches, s);
    f->inside = true;
}

/* Adds a port of the current switch: to a switch, or to a host's NIC. */
static void add_port(Fabric *f, bool to_switch, const char *description, double rate)
{
    char *host = to_switch ? NULL : host_of(description);
    if (rate <= 0 || (!to_switch && !host)) {
        g_free(host);
        return;
    }
    Port port = {f->switches->len - 1, host, rate};
    g_array_append_val(f->ports, port);
}

/* Reads a line of ibnetdiscover; false: it is none. */
static bool read_discovered(Fabric *f, const char *line)
{
    g_autofree char *quoted = last_quoted(line);
    if (g_str_has_prefix(line, "Switch") && strstr(line, "\"S-")) {
        begin_switch(f, quoted ? quoted : "");
        return true;
    }
    if (g_str_has_prefix(line, "Ca") && strstr(line, "\"H-")) {
        f->inside = false;
        return true;
    }
    if (*line != '[' || !quoted)
        return false;
    bool to_switch = strstr(line, "]\t\"S-") || strstr(line, "] \"S-"),
         to_host = strstr(line, "\"H-") != NULL;
    if (f->inside && (to_switch || to_host))
        add_port(f, to_switch, quoted, rate_of(line));
    return true;
}

/* Name of a switch in iblinkinfo's "Switch: 0x01 leaf1:"; caller frees. */
static char *switch_name(const char *line)
{
    const char *name = line + strlen("Switch:");
    name += strspn(name, " \t");
    name += strcspn(name, " \t"); /* its GUID */
    char *own = g_strstrip(g_strdup(name));
    if (g_str_has_suffix(own, ":"))
        own[strlen(own) - 1] = '\0';
    return own;
}

/* Is this the name of a switch that has a block of its own, or of one by its model? */
static bool is_switch_name(const Fabric *f, const char *name)
{
    return g_hash_table_contains(f->names, name) || g_str_has_prefix(name, "MF0;") ||
           strstr(name, "Quantum") != NULL;
}

/* Reads a line of iblinkinfo. */
static void read_linked(Fabric *f, const char *line)
{
    if (g_str_has_prefix(line, "Switch:")) {
        g_autofree char *own = switch_name(line);
        begin_switch(f, own);
    } else if (g_str_has_prefix(line, "CA:")) {
        f->inside = false;
    } else if (f->inside && strstr(line, "==>") && strstr(line, "Active")) {
        g_autofree char *quoted = last_quoted(strstr(line, "==>"));
        if (quoted)
            add_port(f, is_switch_name(f, quoted), quoted, rate_of(line));
    }
}

/* --- what they say --- */

/* Counts the NICs of each host over all switches. */
static GHashTable *nics_of_hosts(const Fabric *f)
{
    GHashTable *hosts = g_hash_table_new(g_str_hash, g_str_equal);
    for (guint i = 0; i < f->ports->len; i++) {
        const Port *port = &g_array_index(f->ports, Port, i);
        if (port->host)
            g_hash_table_insert(
                hosts, port->host,
                GINT_TO_POINTER(GPOINTER_TO_INT(g_hash_table_lookup(hosts, port->host)) + 1));
    }
    return hosts;
}

/* The most NICs that a host has, and how many hosts have so many. */
static int32_t most_nics(GHashTable *hosts, int32_t *count)
{
    GHashTableIter iter;
    void *nics = NULL;
    int32_t most = 0;
    *count = 0;
    for (g_hash_table_iter_init(&iter, hosts); g_hash_table_iter_next(&iter, NULL, &nics);) {
        int32_t here = GPOINTER_TO_INT(nics);
        *count = here > most ? 1 : *count + (here == most);
        most = MAX(most, here);
    }
    return most;
}

/* Sums the rates of each switch to hosts that count and to switches. */
static void sum_switches(Fabric *f, GHashTable *hosts, int32_t most)
{
    for (guint i = 0; i < f->ports->len; i++) {
        const Port *port = &g_array_index(f->ports, Port, i);
        Switch *s = f->switches->pdata[port->on];
        if (!port->host) {
            s->up += port->rate;
            continue;
        }
        if (GPOINTER_TO_INT(g_hash_table_lookup(hosts, port->host)) != most)
            continue;
        s->down += port->rate;
        int32_t here = GPOINTER_TO_INT(g_hash_table_lookup(s->nics, port->host));
        s->hosts += here == 0;
        g_hash_table_insert(s->nics, g_strdup(port->host), GINT_TO_POINTER(here + 1));
    }
}

/* Does every host have one NIC alone on each of its switches, and several of these? */
static bool has_rails(const Fabric *f, int32_t most)
{
    bool rails = most > 1;
    for (guint i = 0; rails && i < f->switches->len; i++) {
        GHashTableIter iter;
        void *here = NULL;
        const Switch *s = f->switches->pdata[i];
        for (g_hash_table_iter_init(&iter, s->nics); g_hash_table_iter_next(&iter, NULL, &here);)
            rails = rails && GPOINTER_TO_INT(here) == 1;
    }
    return rails;
}

static void settle(Fabric *f, RhMachine *m)
{
    g_autoptr(GHashTable) hosts = nics_of_hosts(f);
    int32_t count = 0, leaves = 0, most = most_nics(hosts, &count), largest = 0;
    double over = 0, down = 0;
    sum_switches(f, hosts, most);
    for (guint i = 0; i < f->switches->len; i++) {
        const Switch *s = f->switches->pdata[i];
        leaves += s->hosts > 0;
        largest = MAX(largest, s->hosts);
        down += s->down;
        if (s->up > 0)
            over = MAX(over, s->down / s->up);
    }
    bool rails = has_rails(f, most);
    int32_t groups = rails ? leaves / most : leaves,
            others = (int32_t)g_hash_table_size(hosts) - count;
    m->nodes = count;
    m->nics = most;
    m->nic_bytes_per_s = down / 8 / ((double)count * most);
    m->has_fabric = true;
    m->tiers_count = 0;
    m->rails = rails && groups <= 1 && over == 0;
    if (groups > 1 || over > 0)
        m->tiers[m->tiers_count++] =
            (RhMachineTier){largest, over > 0 ? fmax(1, round(100 * over) / 100) : 0, rails};
    if (others > 0 && !m->fabric_note)
        m->fabric_note = g_strdup_printf("%d host%s with fewer than %d NICs left out, as of "
                                         "storage or service",
                                         others, others == 1 ? " is" : "s are", most);
}

static bool read_all(Fabric *f, const char *text, GError **error)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; *line; line++) /* ports may lead to switches that come later */
        if (g_str_has_prefix(g_strchomp(*line), "Switch:"))
            g_hash_table_add(f->names, switch_name(*line));
    for (char **line = lines; *line; line++) {
        if (!read_discovered(f, *line))
            read_linked(f, *line);
    }
    for (guint i = 0; i < f->ports->len; i++)
        if (g_array_index(f->ports, Port, i).host)
            return true;
    return rh_fail(error, RH_ERROR_INPUT,
                   "%s: no link from a switch to a host stands in it\nhelp: run it where the whole "
                   "fabric is seen, as its subnet manager's host does",
                   f->file);
}

static bool read_text(RhMachine *m, const char *name, const char *text, GError **error)
{
    Fabric f = {name, g_ptr_array_new_with_free_func(switch_free),
                g_array_new(FALSE, TRUE, sizeof(Port)),
                g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL), false};
    g_array_set_clear_func(f.ports, port_clear);
    bool fine = read_all(&f, text, error);
    if (fine)
        settle(&f, m);
    g_ptr_array_unref(f.switches);
    g_array_unref(f.ports);
    g_hash_table_unref(f.names);
    return fine;
}

static bool owns(const char *text)
{
    return strstr(text, "switchguid=") != NULL || strstr(text, "\"S-") != NULL ||
           (strstr(text, "==>") != NULL && strstr(text, "LinkUp") != NULL);
}

const RhMachineReader rh_machine_infiniband = {"ibnetdiscover or iblinkinfo", owns, read_text,
                                               G_STRUCT_OFFSET(RhMachine, nodes_source)};
