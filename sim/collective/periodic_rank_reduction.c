#include "sim/collective/periodic_rank_reduction.h"

#include "sim/collective/algorithm_interface.h"
#include "sim/equivalent_rank_blocks.h"

typedef struct {
    const RhPlatform *platform;
    const RhGroup *group;
    const RhRole *role;
    int32_t outer;       /* index of the outermost of the role's spans */
    int32_t own;         /* index of the group's span that lies in it; -1: none does */
    int32_t jump, reach; /* repetitions of the outermost span from a member to the next, and over
                          * all of them */
} Row;

static RhStride outer_span(const Row *row)
{
    return row->role->spans[row->outer];
}

/* Is the platform periodic: no link or route depends on its place, except those of partly filled
 * switches, which are the last ones? */
static bool repeats(const RhProgram *p, const RhPlatform *platform)
{
    return !p->gpu_of_rank && !platform->outside && platform->link_changes->len == 0;
}

/* Number of GPUs after which all switches begin a new group. */
static int64_t period_of(const RhPlatform *platform)
{
    int64_t nodes = 1;
    for (int32_t t = 0; t + 1 < platform->tiers_count && nodes < platform->nodes_count; t++) {
        int32_t below = platform->tiers[t].nodes_per_group;
        nodes *= below / rh_common_divisor(below, (int32_t)nodes);
    }
    return nodes * platform->gpus_per_node;
}

/* Is the role's first rank a multiple of all its spans? */
static bool is_aligned(const RhRole *role)
{
    for (int32_t k = 0; k < role->spans_count; k++) {
        RhStride span = role->spans[k];
        if (role->first_rank / span.stride % span.extent != 0)
            return false;
    }
    return true;
}

static bool lies_in(RhStride inner, RhStride outer)
{
    return inner.stride % outer.stride == 0 &&
           outer.extent % (inner.stride / outer.stride * inner.extent) == 0;
}

/* Finds for each of the group's spans the role's span that contains it; at most one may be in the
 * outermost. False where there is none. */
static bool place_group(Row *row)
{
    for (int32_t k = 0; k < row->group->spans_count; k++) {
        RhStride span = row->group->spans[k];
        bool lies = span.extent == 1;
        if (row->group->periods[k] > 0 || row->group->lap > 0)
            return false;
        for (int32_t i = 0; i < row->role->spans_count && !lies; i++) {
            lies = lies_in(span, row->role->spans[i]);
            if (!lies || i != row->outer)
                continue;
            if (row->own >= 0)
                return false;
            row->own = k;
            row->jump = span.stride / outer_span(row).stride;
            row->reach = row->jump * span.extent;
        }
        if (!lies)
            return false;
    }
    return true;
}

static bool init_row(Row *row)
{
    const RhRole *role = row->role;
    for (int32_t k = 0; k < role->spans_count; k++)
        if (role->spans[k].extent > 1 &&
            (row->outer < 0 || role->spans[k].stride > outer_span(row).stride))
            row->outer = k;
    return row->outer >= 0 && is_aligned(role) && place_group(row);
}

/* Does the group cover the whole outermost span? */
static bool is_whole(const Row *row)
{
    return row->own >= 0 && row->reach == outer_span(row).extent;
}

/* Number of consecutive members on the first member's node. */
static int32_t members_on_first_node(const Row *row)
{
    const RhGroup *g = row->group;
    int32_t base = row->role->first_rank, count = 0, node;
    do {
        int32_t rank = base, rest = ++count;
        for (int32_t k = 0; k < g->spans_count; k++) {
            rank += rest % g->spans[k].extent * g->spans[k].stride;
            rest /= g->spans[k].extent;
        }
        node = rh_platform_node_of(row->platform, rank);
    } while (count < g->size && node == rh_platform_node_of(row->platform, base));
    return count;
}

/* Repetitions after which the pattern of links recurs; 0: never. A ring changes its direction from
 * node to node. */
static int64_t repetition_period(const Row *row)
{
    int64_t period = period_of(row->platform), stride = outer_span(row).stride;
    int64_t turn = period / rh_common_divisor((int32_t)period, (int32_t)(stride % period));
    int64_t unit = is_whole(row) ? row->jump : row->reach;
    turn *= unit / rh_common_divisor((int32_t)unit, (int32_t)(turn % unit));
    if (!is_whole(row))
        return turn;
    /* members per repetition */
    int64_t each = row->group->size / row->group->spans[row->own].extent;
    int64_t members = turn / row->jump * each, together = members_on_first_node(row);
    if (members % together != 0)
        return 0;
    return members / together % 2 == 0 ? turn : 2 * turn;
}

/* Upper bound on the number of consecutive repetitions that send over one link. */
static int64_t window_of(const Row *row)
{
    int64_t width = 1, reach = is_whole(row) ? row->jump : row->reach;
    for (int32_t k = 0; k < row->role->spans_count; k++)
        if (k != row->outer)
            width += (int64_t)(row->role->spans[k].extent - 1) * row->role->spans[k].stride;
    return (period_of(row->platform) + width) / outer_span(row).stride + 2 + reach;
}

/* Number of repetitions to keep; all of them where none can be left out. */
static int32_t kept_of(const Row *row)
{
    int64_t all = outer_span(row).extent, turn = repetition_period(row);
    if (turn == 0)
        return (int32_t)all;
    int64_t least = 2 * window_of(row) + turn + 2, rest = all % turn;
    return (int32_t)MIN(all, rest + (MAX(least - rest, 0) + turn - 1) / turn * turn);
}

/* Program with the last `kept` repetitions, at their original places, as the last switches may be
 * partly filled. NULL where a group over all repetitions would begin a new period among them. */
static RhProgram *last_of(const Row *row, int32_t kept)
{
    RhStride outer = outer_span(row), spans[RH_STRIDES_MAX];
    int32_t first = row->role->first_rank + (outer.extent - kept) * outer.stride, last = first;
    int32_t anew = first - first % outer.stride; /* a multiple of the stride */
    if (is_whole(row) && anew < kept * outer.stride)
        return NULL;
    for (int32_t k = 0; k < row->role->spans_count; k++)
        last += (row->role->spans[k].extent - 1) * row->role->spans[k].stride;
    RhProgram *p = rh_program_new(last - (outer.extent - kept) * outer.stride + 1);
    for (int32_t k = 0; k < row->group->spans_count; k++)
        spans[k] = row->group->spans[k];
    if (is_whole(row))
        spans[row->own].extent = kept / row->jump;
    int32_t group = rh_program_add_group(p, "shortened", spans, row->group->spans_count);
    if (is_whole(row))
        rh_program_space_group(p, group, row->own, anew);
    for (int32_t k = 0; k < row->role->spans_count; k++)
        spans[k] = row->role->spans[k];
    spans[row->outer].extent = kept;
    rh_program_begin_role(p, "shortened", first, spans, row->role->spans_count);
    rh_program_end_role(p);
    return p;
}

RhProgram *rh_sampled_ranks(const RhProgram *p, const RhPlatform *platform, int32_t group,
                            int32_t role, bool ring)
{
    Row row = {.platform = platform,
               .group = rh_program_group(p, group),
               .role = rh_program_role(p, role),
               .outer = -1,
               .own = -1,
               .jump = 1,
               .reach = 1};
    if (!repeats(p, platform) || !init_row(&row) || period_of(platform) > p->ranks_count)
        return NULL;
    /* the members of the outermost span must be counted last */
    if (is_whole(&row) && (!ring || row.own != row.group->spans_count - 1))
        return NULL;
    int32_t kept = kept_of(&row);
    return kept < outer_span(&row).extent ? last_of(&row, kept) : NULL;
}

/* Shortened program; NULL where the whole one is needed. */
static RhProgram *shortened_for(const RhProgram *p, const RhPlatform *platform, int32_t group,
                                int32_t role, const RhCollectiveSpec *spec)
{
    bool ring = rh_collective_is_to_neighbours(spec->op, spec->algo);
    return role < 0 ? NULL : rh_sampled_ranks(p, platform, group, role, ring);
}

RhPatternTally *rh_collective_tally_new(const RhProgram *p, const RhPlatform *platform,
                                        int32_t group, int32_t role, const RhCollectiveSpec *spec)
{
    g_autoptr(RhProgram) shorter = shortened_for(p, platform, group, role, spec);
    return rh_step_pattern_tally_new(spec, shorter ? shorter : p, platform, shorter ? 0 : group,
                                     shorter ? 0 : role);
}

RhScheduleTime rh_collective_time(const RhProgram *p, const RhPlatform *platform, int32_t group,
                                  int32_t role, const RhCollectiveSpec *spec)
{
    int32_t members = rh_program_group(p, group)->size;
    g_autoptr(RhProgram) shorter = shortened_for(p, platform, group, role, spec);
    if (shorter) {
        p = shorter;
        group = role = 0;
    }
    g_autoptr(RhPatternTally) tally =
        spec->routing.experts > 0 ? NULL
                                  : rh_step_pattern_tally_new(spec, p, platform, group, role);
    if (tally)
        return rh_step_pattern_tally_time(tally, spec->algo, spec->bytes);
    int32_t size = rh_program_group(p, group)->size,
            first = role < 0 ? 0 : rh_program_role(p, role)->first_rank;
    bool fewer = size < members && spec->op != RH_OP_SHIFT;
    RhCollectiveSpec shared = *spec;
    if (fewer)
        shared.bytes = spec->bytes * size / members;
    g_autofree int32_t *gpus = rh_group_gpus(p, group, first);
    g_autoptr(RhSchedule) schedule = rh_schedule_on(&shared, size, platform, gpus, NULL);
    for (guint i = 0; fewer && i < schedule->rounds->len; i++)
        g_array_index(schedule->rounds, RhRound, i).repeat = members - 1;
    return rh_schedule_time(schedule, p, platform, group, role);
}
