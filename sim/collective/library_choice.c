#include "sim/collective/library_choice.h"

#include <string.h>

#include "base/error.h"
#include "sim/collective/algorithm_interface.h"

G_STATIC_ASSERT(RH_ALGO_LAST <= 32);

typedef struct {
    double bytes;
    uint32_t algorithms;
} Sizes;

struct RhLibraryChoice {
    GArray *of[RH_OP_LAST]; /* Sizes, ascending; NULL: the library says nothing of it */
};

static RhAlgo algo_of(const char *name)
{
    for (RhAlgo algo = RH_ALGO_NONE + 1; algo < RH_ALGO_LAST; algo++)
        if (strcmp(rh_algo_name(algo), name) == 0)
            return algo;
    return RH_ALGO_NONE;
}

static GArray *sizes_of(const RhLibraryRow *row)
{
    GArray *sizes = g_array_new(FALSE, FALSE, sizeof(Sizes));
    for (guint i = 0; i < row->sizes->len; i++) {
        const RhLibrarySizes *from = &g_array_index(row->sizes, RhLibrarySizes, i);
        Sizes to = {from->bytes, 0};
        for (const char *const *name = from->algorithms; *name; name++)
            to.algorithms |= UINT32_C(1) << algo_of(*name);
        to.algorithms &= ~(UINT32_C(1) << RH_ALGO_NONE);
        g_array_append_val(sizes, to);
    }
    return sizes;
}

RhLibraryChoice *rh_library_choice_new(const RhLibrary *library, int32_t ranks,
                                       int32_t ranks_per_node)
{
    if (!library || library->rows->len == 0)
        return NULL;
    RhLibraryChoice *choice = g_new0(RhLibraryChoice, 1);
    for (RhOp op = RH_OP_NONE + 1; op < RH_OP_LAST; op++) {
        const RhLibraryRow *row = rh_library_row(library, rh_op_name(op), ranks, ranks_per_node);
        choice->of[op] = row ? sizes_of(row) : NULL;
    }
    return choice;
}

void rh_library_choice_free(RhLibraryChoice *choice)
{
    if (!choice)
        return;
    for (RhOp op = RH_OP_NONE; op < RH_OP_LAST; op++)
        if (choice->of[op])
            g_array_unref(choice->of[op]);
    g_free(choice);
}

uint32_t rh_library_choice_of(const RhLibraryChoice *choice, RhOp op, double bytes)
{
    const GArray *sizes = choice ? choice->of[op] : NULL;
    for (guint i = 0; sizes && i < sizes->len; i++)
        if (bytes <= g_array_index(sizes, Sizes, i).bytes)
            return g_array_index(sizes, Sizes, i).algorithms;
    return 0;
}

static RhOp op_of(const char *name)
{
    for (RhOp op = RH_OP_NONE + 1; op < RH_OP_LAST; op++)
        if (strcmp(rh_op_name(op), name) == 0)
            return op;
    return RH_OP_NONE;
}

bool rh_library_check_names(const RhLibrary *library, GError **error)
{
    for (guint i = 0; i < library->rows->len; i++) {
        const RhLibraryRow *row = &g_array_index(library->rows, RhLibraryRow, i);
        RhOp op = op_of(row->operation);
        if (op == RH_OP_NONE)
            return rh_fail(error, RH_ERROR_INPUT, "library %s: there is no operation \"%s\"",
                           library->name, row->operation);
        for (guint s = 0; s < row->sizes->len; s++) {
            const RhLibrarySizes *sizes = &g_array_index(row->sizes, RhLibrarySizes, s);
            for (const char *const *name = sizes->algorithms; *name; name++)
                if (!rh_collective_supports(op, algo_of(*name)))
                    return rh_fail(error, RH_ERROR_INPUT,
                                   "library %s: there is no %s by \"%s\"\n"
                                   "help: sim/collective/algorithm_table.h lists the algorithms",
                                   library->name, row->operation, *name);
        }
    }
    return true;
}
