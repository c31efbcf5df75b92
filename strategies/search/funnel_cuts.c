/* Every cut of the space and its lower bound, which a few processes find out: of cuts with one shard one after another,
 * since what its items take is most of the work. */
#include <math.h>
#include <string.h>

#include "base/pack.h"
#include "sim/engine/workers.h"
#include "strategies/search/funnel.h"
#include "strategies/search/near.h"
#include "strategies/search/screen.h"
#include "strategies/train/open_knobs.h"

/* Fewer are not worth a process. */
#define CUTS_A_PROCESS 512
/* Parts for each process: the work of some is more. */
#define PARTS 8

typedef struct {
    RhScreenKey shard;
    int32_t at; /* in the order of the space */
} Place;

typedef struct {
    RhFunnel *f;
    GArray *cuts;   /* RhLayout */
    GArray *places; /* Place, those of a shard behind one another */
    double *bounds; /* of each cut; INFINITY: its states do not fit */
    int32_t parts, done;
} Listing;

static bool add_cut(const RhLayout *cut, void *user)
{
    Listing *list = user;
    RhFunnel *f = list->f;
    RhLayout plain = rh_train_plain_cut(cut, RH_ORDER_TP_DP_PP);
    Place place = {rh_screen_shard_key(f->screen, &plain), (int32_t)list->cuts->len};
    g_array_append_vals(list->cuts, cut, 1);
    g_array_append_val(list->places, place);
    if (f->plan->cuts_count++ % 64 == 0)
        rh_funnel_report(f, "list", f->plan->cuts_count, f->plan->cuts_count);
    return !rh_funnel_out_of_time(f);
}

static int by_shard(const void *a, const void *b)
{
    const Place *x = a, *y = b;
    int differs = memcmp(&x->shard, &y->shard, sizeof x->shard);
    return differs ? differs : (x->at > y->at) - (x->at < y->at);
}

static double bound_of(const RhFunnel *f, const RhLayout *cut)
{
    rh_screen_forget_shards(f->screen);
    if (!rh_screen_states_fit(f->screen, cut, (1 + RH_NEAR_FRAC) * f->room.most_bytes))
        return (double)INFINITY;
    return rh_funnel_by_memory(f) ? 0 : rh_screen_cut_s(f->screen, cut);
}

static guint part_begin(const Listing *list, int32_t part)
{
    return (guint)((gint64)list->places->len * part / list->parts);
}

static void bound_part(Listing *list, int32_t part)
{
    for (guint i = part_begin(list, part); i < part_begin(list, part + 1); i++) {
        int32_t at = g_array_index(list->places, Place, i).at;
        list->bounds[at] = bound_of(list->f, &g_array_index(list->cuts, RhLayout, at));
    }
}

static GByteArray *perform_part(int32_t part, void *user, GError **error)
{
    Listing *list = user;
    GByteArray *out = g_byte_array_new();
    (void)error;
    bound_part(list, part);
    for (guint i = part_begin(list, part); i < part_begin(list, part + 1); i++)
        rh_pack(out, &list->bounds[g_array_index(list->places, Place, i).at], sizeof(double));
    return out;
}

/* What a process could not say is found out here. */
static void take_part(int32_t part, const GByteArray *bytes, const GError *error, void *user)
{
    Listing *list = user;
    guint begin = part_begin(list, part), end = part_begin(list, part + 1);
    bool whole = !error && bytes->len == (end - begin) * sizeof(double);
    if (!whole && !rh_funnel_out_of_time(list->f))
        bound_part(list, part);
    for (guint i = begin; whole && i < end; i++)
        memcpy(&list->bounds[g_array_index(list->places, Place, i).at],
               bytes->data + (i - begin) * sizeof(double), sizeof(double));
    rh_funnel_report(list->f, "list", ++list->done, list->parts);
}

static void find_bounds(Listing *list)
{
    int32_t jobs = rh_funnel_jobs(list->f);
    g_array_sort(list->places, by_shard);
    list->bounds = g_new(double, list->cuts->len + 1);
    for (guint i = 0; i < list->cuts->len; i++)
        list->bounds[i] = (double)INFINITY;
    list->parts = jobs == 1 || list->cuts->len < 2 * CUTS_A_PROCESS ? 1 : PARTS * jobs;
    if (list->parts == 1) {
        bound_part(list, 0);
        return;
    }
    RhWorkers workers = {.count = list->parts,
                         .jobs = jobs,
                         .timeout_s = rh_funnel_left_s(list->f),
                         .perform = perform_part,
                         .answer = take_part,
                         .user = list};
    rh_workers_run(&workers);
}

void rh_funnel_list_cuts(RhFunnel *f)
{
    g_autoptr(GArray) cuts = g_array_new(FALSE, FALSE, sizeof(RhLayout));
    g_autoptr(GArray) places = g_array_new(FALSE, FALSE, sizeof(Place));
    Listing list = {.f = f, .cuts = cuts, .places = places};
    rh_space_walk_cuts(f->layouts, add_cut, &list);
    find_bounds(&list);
    for (guint i = 0; i < cuts->len; i++) {
        f->lacks_memory |= isinf(list.bounds[i]);
        if (isinf(list.bounds[i]))
            continue;
        rh_kept_add(f->space, &g_array_index(cuts, RhLayout, i), (double)INFINITY);
        rh_heap_push(f->main.heap,
                     (RhCandidate){rh_kept_count(f->space) - 1, list.bounds[i], RH_KEY_CUT});
    }
    g_free(list.bounds);
}
