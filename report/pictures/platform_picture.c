/* Draws a platform. Three columns: the first unit of a kind in full, the second, and a box that
 * stands for the rest; one storey for the nodes and one for each tier in use, the root on top. */
#include "report/pictures/platform_picture.h"

#include <string.h>

#include "base/text/text_table.h"
#include "report/format.h"
#include "report/pictures/canvas.h"

#define COLUMNS     79
#define MAIN_X      0
#define MAIN_WIDTH  51
#define SECOND_X    52
#define REST_X      66
#define SIDE_WIDTH  13
#define UNIT        6 /* columns of a GPU and its gap */
#define UNITS_MAX   8
#define NODE_HEIGHT 13
#define TIER_HEIGHT 4
#define GAP         2 /* rows of connectors between storeys */

typedef struct {
    const RhPlatform *p;
    RhCanvas *canvas;
    int tiers_used;
} Picture;

static int ceil_div(int a, int b)
{
    return (a + b - 1) / b;
}

/* Number of switch groups of a tier that hold nodes. */
static int groups_count(const RhPlatform *p, int t)
{
    if (t == p->tiers_count - 1)
        return 1;
    return ceil_div(p->nodes_count, p->tiers[t].nodes_per_group);
}

/* Number of tiers below the first switch that joins everything; higher ones carry nothing. */
static int used_tiers(const RhPlatform *p)
{
    if (p->nodes_count == 1)
        return 0;
    for (int t = 0; t < p->tiers_count; t++)
        if (groups_count(p, t) == 1 && !p->tiers[t].rail_optimised)
            return t + 1;
    return p->tiers_count;
}

/* Row of a storey's top edge: 0 = nodes, t + 1 = tier t. */
static int storey_y(const Picture *d, int storey)
{
    int from_top = d->tiers_used - storey;
    return from_top * (TIER_HEIGHT + GAP);
}

static int units_shown(int count)
{
    return MIN(count, UNITS_MAX);
}

static int unit_middle(int unit)
{
    return MAIN_X + 2 + unit * UNIT + 2;
}

static void put_text(Picture *d, int x, int y, int width, RhInk ink, const char *text)
{
    g_autofree char *cut = g_utf8_substring(text, 0, MIN(width, g_utf8_strlen(text, -1)));
    rh_canvas_text(d->canvas, x, y, ink, cut);
}

/* --- nodes --- */

static void draw_gpu(Picture *d, int unit, int y, const char *name)
{
    int middle = unit_middle(unit);
    rh_canvas_line(d->canvas, middle, y - 1, middle, y, RH_INK_LINK);
    rh_canvas_line(d->canvas, middle, y + 2, middle, y + 3, RH_INK_LINK);
    rh_canvas_rect(d->canvas, middle - 2, y, 5, 3, RH_INK_GPU);
    put_text(d, middle - 1, y + 1, 3, RH_INK_LABEL, name);
}

/* Draws NICs, each above the first of the GPUs that share it. */
static void draw_nics(Picture *d, int y)
{
    const RhPlatform *p = d->p;
    int gpus = units_shown(p->gpus_per_node);
    int last = -1;
    for (int unit = 0; unit < gpus; unit++) {
        int nic = unit * p->nics_per_node / p->gpus_per_node;
        int middle = unit_middle(unit);
        if (nic == last) { /* joined to the one on its left */
            rh_canvas_line(d->canvas, middle - UNIT, y + 3, middle, y + 3, RH_INK_LINK);
            continue;
        }
        g_autofree char *name = g_strdup_printf("n%d", nic);
        if (d->tiers_used > 0)
            rh_canvas_line(d->canvas, middle, y - 2 - GAP, middle, y, RH_INK_LINK);
        rh_canvas_line(d->canvas, middle, y + 2, middle, y + 3, RH_INK_LINK);
        rh_canvas_rect(d->canvas, middle - 2, y, 5, 3, RH_INK_NIC);
        put_text(d, middle - 1, y + 1, 3, RH_INK_LABEL, name);
        last = nic;
    }
}

static void draw_first_node(Picture *d, int y)
{
    const RhPlatform *p = d->p;
    int gpus = units_shown(p->gpus_per_node);
    g_autofree char *nvlink = rh_text_fact(&p->nvlink_bytes_per_s, RH_QUANTITY_BYTES_PER_S);
    g_autofree char *nic = rh_text_fact(&p->nic_bytes_per_s, RH_QUANTITY_BYTES_PER_S);
    g_autofree char *out = rh_text_fact(&p->island_bytes_per_s, RH_QUANTITY_BYTES_PER_S);
    g_autofree char *islands = p->island_gpus == 0 ? g_strdup("")
                               : p->mesh.gpus > 0
                                   ? g_strdup_printf("; islands of %d: %s", p->island_gpus, out)
                                   : g_strdup_printf("islands of %d: ", p->island_gpus);
    g_autofree char *bus = p->mesh.gpus > 0 ? g_strdup_printf("mesh, %s%s", nvlink, islands)
                           : p->inside ? g_strdup_printf("%s%s a GPU, %s out", islands, nvlink, out)
                                       : g_strdup_printf("NVSwitch, %s per GPU, each way", nvlink);
    g_autofree char *title = g_strdup_printf("node 0: %d %s, %d NICs of %s", p->gpus_per_node,
                                             p->device->name, p->nics_per_node, nic);
    rh_canvas_rect(d->canvas, MAIN_X, y, MAIN_WIDTH, NODE_HEIGHT, RH_INK_FRAME);
    draw_nics(d, y + 1);
    for (int unit = 0; unit < gpus; unit++) {
        bool stands_for_rest = unit == UNITS_MAX - 1 && p->gpus_per_node > UNITS_MAX;
        g_autofree char *name = stands_for_rest ? g_strdup_printf("+%d", p->gpus_per_node - unit)
                                                : g_strdup_printf("g%d", unit);
        draw_gpu(d, unit, y + 5, name);
    }
    rh_canvas_rect(d->canvas, MAIN_X + 2, y + 8, MAIN_WIDTH - 4, 3, RH_INK_SWITCH);
    put_text(d, MAIN_X + 4, y + 9, MAIN_WIDTH - 8, RH_INK_LABEL, bus);
    put_text(d, MAIN_X + 2, y + NODE_HEIGHT - 2, MAIN_WIDTH - 4, RH_INK_TITLE, title);
}

/* --- the second box and the rest of a storey --- */

static void draw_side(Picture *d, int x, int y, int height, RhInk ink, const char *first,
                      const char *second)
{
    rh_canvas_rect(d->canvas, x, y, SIDE_WIDTH, height, ink);
    put_text(d, x + 2, y + 1, SIDE_WIDTH - 3, RH_INK_LABEL, first);
    put_text(d, x + 2, y + 2, SIDE_WIDTH - 3, RH_INK_LABEL, second);
}

/* Draws lines from the boxes of a storey up to the next: straight to a root that spans all, else to
 * the first switch, which is theirs. */
static void draw_uplinks(Picture *d, int storey, int shown)
{
    const int xs[] = {MAIN_X + MAIN_WIDTH / 2, SECOND_X + SIDE_WIDTH / 2, REST_X + SIDE_WIDTH / 2};
    int y = storey_y(d, storey), above = y - 1 - GAP;
    bool root_above = storey + 1 == d->tiers_used;
    bool rails = storey > 0 && d->p->tiers[storey - 1].rail_optimised;
    for (int unit = 0; storey > 0 && unit < (rails ? units_shown(d->p->nics_per_node) : 1); unit++)
        rh_canvas_line(d->canvas, rails ? unit_middle(unit) : xs[0], above,
                       rails ? unit_middle(unit) : xs[0], y, RH_INK_LINK);
    for (int i = 1; i < shown; i++) {
        if (root_above) {
            rh_canvas_line(d->canvas, xs[i], above, xs[i], y, RH_INK_LINK);
            continue;
        }
        int turn = y - 1, end = MAIN_X + MAIN_WIDTH - 3;
        rh_canvas_line(d->canvas, xs[i], turn, xs[i], y, RH_INK_LINK);
        rh_canvas_line(d->canvas, end, turn, xs[i], turn, RH_INK_LINK);
        rh_canvas_line(d->canvas, end, above, end, turn, RH_INK_LINK);
    }
}

static void draw_nodes(Picture *d)
{
    const RhPlatform *p = d->p;
    int y = storey_y(d, 0);
    /* boxes of the same switch stand under it; only those share its storey's first box */
    int below = d->tiers_used == 0 ? 1 : MIN(p->nodes_count, p->tiers[0].nodes_per_group);
    if (d->tiers_used == 1)
        below = p->nodes_count;
    draw_uplinks(d, 0, MIN(below, 3));
    draw_first_node(d, y);
    g_autofree char *gpus = g_strdup_printf("%d GPUs", p->gpus_per_node);
    if (below >= 2)
        draw_side(d, SECOND_X, y, NODE_HEIGHT, RH_INK_FRAME, "node 1", gpus);
    g_autofree char *more = g_strdup_printf("%d more", below - 2);
    g_autofree char *last = g_strdup_printf("to node %d", below - 1);
    if (below >= 3)
        draw_side(d, REST_X, y, NODE_HEIGHT, RH_INK_MORE, more, last);
}

/* --- tiers --- */

/* Text of a tier's uplink: "oversubscribed 7:1 d, " or "" at the root. */
static char *tier_uplink(const RhPlatform *p, int t, bool root)
{
    const RhSwitchLevel *tier = &p->tiers[t];
    if (root)
        return g_strdup("");
    char ratio[G_ASCII_DTOSTR_BUF_SIZE];
    g_ascii_formatd(ratio, sizeof ratio, "%.3g", tier->oversubscription.value);
    return g_strdup_printf("oversubscribed %s:1 %c, ", ratio,
                           rh_tag_letter(tier->oversubscription.tag));
}

/* Text of a wiring: "4 x 4 x 4 nodes, 100 GB/s d a link, " or "" for a tree. */
static char *wiring_text(const RhPlatform *p)
{
    bool torus = p->outside && p->torus_count > 0;
    g_autofree char *rate = rh_text_fact(torus ? &p->torus_bytes_per_s : &p->dragonfly_bytes_per_s,
                                         RH_QUANTITY_BYTES_PER_S);
    g_autoptr(GString) extents = g_string_new(NULL);
    for (int32_t i = 0; torus && i < p->torus_count; i++)
        g_string_append_printf(extents, "%s%d", i ? " x " : "", p->torus[i]);
    return !p->outside ? g_strdup("")
           : torus     ? g_strdup_printf("%s nodes, %s a link, ", extents->str, rate)
                   : g_strdup_printf("groups of %d nodes, %s to each other, ", p->dragonfly_nodes,
                                     rate);
}

static void draw_tier(Picture *d, int t)
{
    const RhPlatform *p = d->p;
    const RhSwitchLevel *tier = &p->tiers[t];
    bool root = t + 1 == d->tiers_used;
    int y = storey_y(d, t + 1), groups = groups_count(p, t);
    int span = MIN(tier->nodes_per_group, p->nodes_count);
    /* groups below the next tier's first switch */
    int beside = groups;
    if (t + 2 < d->tiers_used)
        beside = MIN(groups, p->tiers[t + 1].nodes_per_group / tier->nodes_per_group);
    if (!root)
        draw_uplinks(d, t + 1, MIN(beside, 3));
    g_autofree char *hop = rh_text_fact(&tier->hop_latency_s, RH_QUANTITY_S);
    g_autofree char *uplink = tier_uplink(p, t, root);
    g_autofree char *name =
        root ? g_strdup_printf("%s: joins %d nodes", tier->name, p->nodes_count)
             : g_strdup_printf("%s 0: nodes 0-%d%s", tier->name, span - 1,
                               tier->rail_optimised ? ", one switch per rail" : "");
    g_autofree char *wired = wiring_text(p);
    g_autofree char *detail = g_strdup_printf("%s%shop +%s", wired, uplink, hop);
    int width = root ? COLUMNS : MAIN_WIDTH;
    rh_canvas_rect(d->canvas, MAIN_X, y, width, TIER_HEIGHT, RH_INK_SWITCH);
    put_text(d, MAIN_X + 2, y + 1, width - 4, RH_INK_TITLE, name);
    put_text(d, MAIN_X + 2, y + 2, width - 4, RH_INK_LABEL, detail);
    if (root)
        return;
    g_autofree char *second = g_strdup_printf("%s 1", tier->name);
    g_autofree char *more = g_strdup_printf("%d more", beside - 2);
    g_autofree char *each = g_strdup_printf("%d nodes", span);
    if (beside >= 2)
        draw_side(d, SECOND_X, y, TIER_HEIGHT, RH_INK_SWITCH, second, each);
    if (beside >= 3)
        draw_side(d, REST_X, y, TIER_HEIGHT, RH_INK_MORE, more, "the same");
}

static int picture_rows(int tiers_used)
{
    return tiers_used * (TIER_HEIGHT + GAP) + NODE_HEIGHT;
}

static void draw_all(Picture *d)
{
    draw_nodes(d);
    for (int t = 0; t < d->tiers_used; t++)
        draw_tier(d, t);
}

/* --- text --- */

typedef struct {
    const char *name;
    const RhFact *fact;
    RhQuantity kind;
} Row;

static void platform_rows(const RhPlatform *p, GArray *rows)
{
    const Row list[] = {
        {"bf16 peak", &p->device->peak_flops_per_s[RH_DTYPE_BF16], RH_QUANTITY_FLOPS_PER_S},
        {"HBM", &p->device->hbm_bytes, RH_QUANTITY_BYTES},
        {"HBM rate", &p->device->hbm_bytes_per_s, RH_QUANTITY_BYTES_PER_S},
        {"NVLink", &p->nvlink_bytes_per_s, RH_QUANTITY_BYTES_PER_S},
        {"NVLink eff.", &p->nvlink_efficiency_frac, RH_QUANTITY_FRAC},
        {"NVLink latency", &p->nvlink_latency_s, RH_QUANTITY_S},
        {"NIC", &p->nic_bytes_per_s, RH_QUANTITY_BYTES_PER_S},
        {"NIC eff.", &p->nic_efficiency_frac, RH_QUANTITY_FRAC},
        {"NIC latency", &p->nic_latency_s, RH_QUANTITY_S},
        {"host link", &p->host_bytes_per_s, RH_QUANTITY_BYTES_PER_S},
        {"collective", &p->collective_launch_s, RH_QUANTITY_S},
        {"GPU power", &p->device->power_w, RH_QUANTITY_W},
    };
    const Row host[] = {
        {"host memory", &p->host_bytes, RH_QUANTITY_BYTES},
        {"drives", &p->nvme_bytes, RH_QUANTITY_BYTES},
        {"host mem. rate", &p->host_memory_bytes_per_s, RH_QUANTITY_BYTES_PER_S},
        {"drives' rate", &p->nvme_bytes_per_s, RH_QUANTITY_BYTES_PER_S},
    };
    const Row storage[] = {
        {"storage", &p->storage.bytes_per_s, RH_QUANTITY_BYTES_PER_S},
        {"its servers", &p->storage.servers, RH_QUANTITY_COUNT},
        {"a client", &p->storage.client_bytes_per_s, RH_QUANTITY_BYTES_PER_S},
    };
    guint known = p->storage.client_bytes_per_s.value > 0 ? 3 : 2;
    g_array_append_vals(rows, list, G_N_ELEMENTS(list));
    if (p->storage.bytes_per_s.value > 0)
        g_array_append_vals(rows, storage, known);
    if (p->host_bytes.value > 0)
        g_array_append_vals(rows, host, G_N_ELEMENTS(host));
}

/* Appends facts, three per line. */
static void append_facts(const RhPlatform *p, GString *out)
{
    g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(Row));
    platform_rows(p, rows);
    g_autoptr(RhTable) table = rh_table_new("<><><>");
    for (guint i = 0; i + 2 < rows->len; i += 3) {
        const Row *r = &g_array_index(rows, Row, i);
        g_autofree char *a = rh_text_fact(r[0].fact, r[0].kind);
        g_autofree char *b = rh_text_fact(r[1].fact, r[1].kind);
        g_autofree char *c = rh_text_fact(r[2].fact, r[2].kind);
        rh_table_rowf(table, "%s|%s|%s|%s|%s|%s", r[0].name, a, r[1].name, b, r[2].name, c);
    }
    rh_table_append(table, out, "");
}

/* Appends the mesh like the matrix of nvidia-smi topo -m; a dot where two GPUs have no link. */
static void append_mesh(const RhPlatform *p, GString *out)
{
    if (p->mesh.gpus == 0)
        return;
    g_autofree char *rate = rh_quantity_format(p->nvlink_bytes_per_s.value / p->mesh.links.value,
                                               RH_QUANTITY_BYTES_PER_S, 3);
    g_string_append_printf(out, "\nlinks between GPUs, of %s each way\n     ", rate);
    for (int32_t b = 0; b < p->gpus_per_node; b++)
        g_string_append_printf(out, " %3d", b);
    for (int32_t a = 0; a < p->gpus_per_node; a++) {
        g_string_append_printf(out, "\n  %3d", a);
        for (int32_t b = 0; b < p->gpus_per_node; b++) {
            g_autofree char *links = g_strdup_printf("%d", p->mesh.joined[a][b]);
            g_string_append_printf(out, " %3s", p->mesh.joined[a][b] > 0 ? links : ".");
        }
    }
    g_string_append(out, "\n");
}

static void append_sources(const RhPlatform *p, GString *out)
{
    g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(Row));
    platform_rows(p, rows);
    g_string_append(out, "\nsources\n");
    for (guint i = 0; i < rows->len; i++) {
        const Row *r = &g_array_index(rows, Row, i);
        g_autofree char *line =
            g_strdup_printf("%s%s%s (%s)", r->fact->source, *r->fact->date ? ", " : "",
                            r->fact->date, rh_tag_name(r->fact->tag));
        g_string_append_printf(out, "  %s:\n    ", r->name);
        rh_text_wrap(out, line, 4, COLUMNS);
    }
    if (p->mesh.gpus > 0) {
        g_string_append(out, "  links between GPUs:\n    ");
        rh_text_wrap(out, p->mesh.links.source, 4, COLUMNS);
    }
    for (int t = 0; t < p->tiers_count; t++) {
        g_string_append_printf(out, "  %s, hop latency:\n    ", p->tiers[t].name);
        rh_text_wrap(out, p->tiers[t].hop_latency_s.source, 4, COLUMNS);
        g_string_append_printf(out, "  %s, oversubscription:\n    ", p->tiers[t].name);
        rh_text_wrap(out, p->tiers[t].oversubscription.source, 4, COLUMNS);
    }
}

/* First line: "512 GPUs: 64 nodes of 8 h100-sxm". */
static char *headline(const RhPlatform *p)
{
    g_autofree char *gpus = rh_text_count(rh_platform_gpus(p));
    g_autofree char *nodes = rh_text_count(p->nodes_count);
    g_autofree char *devices = rh_platform_devices_text(p);
    return g_strdup_printf("%s: %s GPUs, %s node%s of %d %s", p->name, gpus, nodes,
                           p->nodes_count == 1 ? "" : "s", p->gpus_per_node, devices);
}

/* Appends lines; of several equal ones, which are wires alone, the first. */
static void append_drawing(GString *out, const char *drawing)
{
    g_auto(GStrv) lines = g_strsplit(drawing, "\n", -1);
    for (int i = 0; lines[i]; i++)
        if (i == 0 || !g_str_equal(lines[i], lines[i - 1]))
            g_string_append_printf(out, "%s%s", lines[i], lines[i + 1] ? "\n" : "");
}

char *rh_platform_text(const RhPlatform *p, bool sources)
{
    Picture d = {.p = p, .tiers_used = used_tiers(p)};
    d.canvas = rh_canvas_text_new(COLUMNS, picture_rows(d.tiers_used));
    draw_all(&d);
    g_autofree char *drawing = rh_canvas_finish(d.canvas);
    g_autofree char *head = headline(p);
    GString *out = g_string_new(head);
    g_string_append_c(out, '\n');
    if (*p->description) {
        rh_text_wrap(out, p->description, 0, COLUMNS);
    }
    append_drawing(out, drawing);
    append_facts(p, out);
    append_mesh(p, out);
    if (d.tiers_used < p->tiers_count && p->nodes_count > 1)
        g_string_append_printf(out, "not in use with %d nodes: the tier%s above %s\n",
                               p->nodes_count, p->tiers_count - d.tiers_used > 1 ? "s" : "",
                               p->tiers[d.tiers_used - 1].name);
    g_string_append(out,
                    "rates each way; eff.: share of it that transfers reach; collective: launch\n"
                    "m measured, f fitted, d data sheet, a assumed");
    g_string_append(out, sources ? "\n" : "; -v names every source\n");
    if (sources)
        append_sources(p, out);
    return g_string_free(out, FALSE);
}

char *rh_platform_svg(const RhPlatform *p)
{
    g_autofree char *head = headline(p);
    g_autoptr(GString) facts = g_string_new(NULL);
    append_facts(p, facts);
    g_auto(GStrv) lines = g_strsplit(g_strchomp(facts->str), "\n", -1);
    int rows = picture_rows(used_tiers(p));
    Picture d = {.p = p, .tiers_used = used_tiers(p)};
    d.canvas = rh_canvas_svg_new(COLUMNS, rows + 2 + (int)g_strv_length(lines) + 1, head);
    draw_all(&d);
    put_text(&d, 0, rows, COLUMNS, RH_INK_TITLE, head);
    for (int i = 0; lines[i]; i++)
        put_text(&d, 0, rows + 1 + i, COLUMNS, RH_INK_LABEL, lines[i]);
    put_text(&d, 0, rows + 1 + (int)g_strv_length(lines), COLUMNS, RH_INK_LABEL,
             "m measured, f fitted, d data sheet, a assumed");
    return rh_canvas_finish(d.canvas);
}
