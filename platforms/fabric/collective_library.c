#include "platforms/fabric/collective_library.h"

#include <math.h>
#include <string.h>

#include "base/catalogue_folders.h"
#include "base/error.h"
#include "base/interned_strings.h"
#include "base/json/json.h"
#include "platforms/fabric/nccl_protocol.h"

static void *load(const char *spec, GError **error);
static RhDataCatalogue shelf = {
    .noun = "library", .folder = "platforms/data/libraries", .takes_paths = true, .load = load};

const char *const *rh_library_names(void)
{
    return rh_data_shelf_names(&shelf);
}

const RhLibrary *rh_library_by_name(const char *name, GError **error)
{
    return rh_data_shelf_get(&shelf, name, error);
}

/* --- reading a file --- */

static const char *const *read_algorithms(RhJson *doc, const RhJsonNode *entry)
{
    const RhJsonNode *names = rh_json_array(doc, entry, "algorithms");
    g_autoptr(GPtrArray) list = g_ptr_array_new();
    for (const RhJsonNode *n = names ? rh_json_first(names) : NULL; n; n = rh_json_next(n))
        g_ptr_array_add(list, (void *)rh_intern(rh_json_node_string(doc, n)));
    if (names && list->len == 0)
        rh_json_problem(doc, names, "as [\"ring\"]", "no algorithm");
    g_ptr_array_add(list, NULL);
    return (const char *const *)g_ptr_array_free(g_steal_pointer(&list), FALSE);
}

static void read_sizes(RhJson *doc, const RhJsonNode *row, GArray *sizes)
{
    const RhJsonNode *list = rh_json_array(doc, row, "sizes");
    for (const RhJsonNode *n = list ? rh_json_first(list) : NULL; n; n = rh_json_next(n)) {
        bool last = rh_json_next(n) == NULL;
        double before = sizes->len ? g_array_index(sizes, RhLibrarySizes, sizes->len - 1).bytes : 0;
        RhLibrarySizes entry = {HUGE_VAL, NULL};
        if (!last)
            entry.bytes = rh_json_quantity(doc, n, "to", RH_QUANTITY_BYTES);
        entry.algorithms = read_algorithms(doc, n);
        if (entry.bytes <= before)
            rh_json_problem(doc, n, NULL, "sizes of a row must ascend");
        g_array_append_val(sizes, entry);
    }
    if (list && sizes->len == 0)
        rh_json_problem(doc, list, "as [{\"algorithms\": [\"ring\"]}]", "no sizes");
}

static void clear_sizes(void *sizes)
{
    g_free((void *)((RhLibrarySizes *)sizes)->algorithms);
}

static void read_rows(RhJson *doc, const RhJsonNode *root, RhLibrary *l)
{
    const RhJsonNode *rows = rh_json_array_or_null(doc, root, "rows");
    for (const RhJsonNode *n = rows ? rh_json_first(rows) : NULL; n; n = rh_json_next(n)) {
        RhLibraryRow row = {.operation = rh_intern(rh_json_string(doc, n, "operation")),
                            .ranks_per_node =
                                (int32_t)rh_json_int_or(doc, n, "ranks_per_node", 1, 1 << 20, 0),
                            .ranks = (int32_t)rh_json_int_or(doc, n, "ranks", 1, 1 << 30, 0),
                            .sizes = g_array_new(FALSE, FALSE, sizeof(RhLibrarySizes))};
        g_array_set_clear_func(row.sizes, clear_sizes);
        read_sizes(doc, n, row.sizes);
        g_array_append_val(l->rows, row);
    }
    if (rows)
        l->source = rh_intern(rh_json_string(doc, root, "source"));
}

static const struct {
    const char *name;
    RhProtocol protocol;
} protocols[] = {
    {"ll", RH_PROTOCOL_LL}, {"ll128", RH_PROTOCOL_LL128}, {"simple", RH_PROTOCOL_SIMPLE}};

static void read_protocols(RhJson *doc, const RhJsonNode *root, const char *link,
                           RhLibraryProtocol *out)
{
    static const RhRange shares = {1e-3, 1.2, false}, times = {0, 1, true};
    const RhJsonNode *node = rh_json_object_or_null(doc, root, link);
    for (size_t i = 0; node && i < G_N_ELEMENTS(protocols); i++) {
        const RhJsonNode *p = rh_json_object_or_null(doc, node, protocols[i].name);
        if (!p)
            continue;
        out[protocols[i].protocol] = (RhLibraryProtocol){
            .of_line = rh_json_fact_within(doc, p, "of_line", RH_QUANTITY_FRAC, &shares),
            .latency_s = rh_json_fact_within(doc, p, "latency", RH_QUANTITY_S, &times),
            .launch_s = rh_json_fact_within(doc, p, "launch", RH_QUANTITY_S, &times)};
    }
}

static RhLibraryFamily read_family(RhJson *doc, const RhJsonNode *root)
{
    const char *family = rh_json_string(doc, root, "family");
    if (strcmp(family, "mpi") != 0 && strcmp(family, "gpu") != 0)
        rh_json_problem(doc, root, NULL, "family: \"%s\" is neither \"gpu\" nor \"mpi\"", family);
    return strcmp(family, "mpi") == 0 ? RH_LIBRARY_MPI : RH_LIBRARY_GPU;
}

static void clear_row(void *row)
{
    g_array_unref(((RhLibraryRow *)row)->sizes);
}

static void *load(const char *spec, GError **error)
{
    g_autofree char *path = rh_data_shelf_path(&shelf, spec);
    g_autoptr(RhJson) doc = rh_json_load(path, error);
    if (!doc)
        return NULL;
    const RhJsonNode *root = rh_json_root(doc);
    RhLibrary *l = g_new0(RhLibrary, 1);
    l->rows = g_array_new(FALSE, FALSE, sizeof(RhLibraryRow));
    g_array_set_clear_func(l->rows, clear_row);
    l->name = rh_intern(rh_json_word(doc, root, "name"));
    l->description = rh_intern(rh_json_string(doc, root, "description"));
    l->family = read_family(doc, root);
    read_rows(doc, root, l);
    read_protocols(doc, root, "nvlink", l->nvlink);
    read_protocols(doc, root, "nic", l->nic);
    l->hash = g_compute_checksum_for_string(G_CHECKSUM_SHA256, rh_json_hash(doc), -1);
    if (rh_json_finish(doc, error))
        return l;
    g_array_unref(l->rows);
    g_free(l->hash);
    g_free(l);
    return NULL;
}

/* --- a library's choice --- */

/* Returns the ranks on a node of the rows that hold for so many: the most that there are at most,
 * else the fewest. */
static int32_t row_ranks_per_node(const RhLibrary *l, const char *operation, int32_t ranks_per_node)
{
    int32_t best = -1, fewest = G_MAXINT32;
    for (guint i = 0; i < l->rows->len; i++) {
        const RhLibraryRow *row = &g_array_index(l->rows, RhLibraryRow, i);
        if (strcmp(row->operation, operation) != 0)
            continue;
        fewest = MIN(fewest, row->ranks_per_node);
        if (row->ranks_per_node <= ranks_per_node)
            best = MAX(best, row->ranks_per_node);
    }
    return best >= 0 ? best : fewest;
}

const RhLibraryRow *rh_library_row(const RhLibrary *l, const char *operation, int32_t ranks,
                                   int32_t ranks_per_node)
{
    int32_t each = row_ranks_per_node(l, operation, ranks_per_node);
    const RhLibraryRow *found = NULL, *last = NULL;
    for (guint i = 0; i < l->rows->len && !found; i++) {
        const RhLibraryRow *row = &g_array_index(l->rows, RhLibraryRow, i);
        if (strcmp(row->operation, operation) != 0 || row->ranks_per_node != each)
            continue;
        last = row;
        if (row->ranks == 0 || ranks <= row->ranks)
            found = row;
    }
    return found ? found : last;
}

/* --- the platform's library --- */

RhLibraryFamily rh_platform_library_family(const RhPlatform *p)
{
    if (p->library)
        return p->library->family;
    bool processor = g_strcmp0(p->device->generation, "cpu") == 0;
    return p->messages.sender != RH_SHARING_NONE || processor ? RH_LIBRARY_MPI : RH_LIBRARY_GPU;
}

static void take_protocols(RhProtocolFacts *own, const RhLibraryProtocol *of, const RhFact *line)
{
    for (RhProtocol i = RH_PROTOCOL_NONE; i < RH_PROTOCOL_LAST; i++) {
        if (of[i].of_line.value <= 0)
            continue;
        own[i].efficiency_frac = of[i].of_line;
        own[i].efficiency_frac.value *= line->value;
        own[i].latency_s = of[i].latency_s;
        own[i].launch_s = of[i].launch_s;
    }
}

/* Removes the constants that came from the library itself. */
static void drop_protocols(RhProtocolFacts *own, const RhLibraryProtocol *of)
{
    for (RhProtocol i = RH_PROTOCOL_NONE; i < RH_PROTOCOL_LAST; i++)
        if (of[i].of_line.value > 0 && own[i].efficiency_frac.source == of[i].of_line.source)
            own[i] = (RhProtocolFacts){.efficiency_frac = {.value = 0}};
}

void rh_platform_set_library(RhPlatform *p, const RhLibrary *library)
{
    if (p->library) {
        drop_protocols(p->nvlink_protocols, p->library->nvlink);
        drop_protocols(p->nic_protocols, p->library->nic);
    }
    if (!rh_protocols_any(p, false))
        take_protocols(p->nvlink_protocols, library->nvlink, &p->nvlink_efficiency_frac);
    if (!rh_protocols_any(p, true))
        take_protocols(p->nic_protocols, library->nic, &p->nic_efficiency_frac);
    p->library = library;
}
