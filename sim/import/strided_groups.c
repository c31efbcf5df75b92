/* Describes members as a strided pattern. A pattern divides all ranks into groups (sim/program.h);
 * members that do not fit such a division, like 1 and 2 of four, are of none. */
#include <string.h>

#include "sim/import/imported_trace.h"

/* Factors members into runs of equal distance, then the starts of these runs, and so on; 0 where
 * they are not such. */
static int32_t factor(const int32_t *members, int32_t count, RhStride spans[RH_STRIDES_MAX])
{
    int32_t step = 1, n = 0;
    while (step < count) {
        int32_t stride = members[step] - members[0], extent = 2;
        while ((extent + 1) * step <= count &&
               members[extent * step] - members[(extent - 1) * step] == stride)
            extent++;
        if (n == RH_STRIDES_MAX || count % (step * extent) != 0)
            return 0;
        spans[n++] = (RhStride){stride, extent};
        step *= extent;
    }
    return n;
}

static bool is_theirs(const RhGroup *group, const int32_t *members, int32_t count)
{
    for (int32_t i = 0, first; i < count; i++)
        if (rh_group_place(group, members[i], &first) != i || first != members[0])
            return false;
    return true;
}

int32_t rh_imported_trace_spans(const int32_t *members, int32_t count, int32_t ranks,
                                RhStride spans[RH_STRIDES_MAX], int32_t periods[RH_STRIDES_MAX])
{
    int32_t n = count > 1 ? factor(members, count, spans) : 0;
    if (n == 0)
        return -1;
    RhGroup group = {.size = count, .spans_count = n};
    memcpy(group.spans, spans, sizeof group.spans);
    bool found = is_theirs(&group, members, count);
    /* with one span the period may exceed the full pattern */
    int32_t period = spans[0].stride * (spans[0].extent - 1) + 1;
    for (; !found && n == 1 && period <= ranks; period++) {
        group.periods[0] = period;
        found = is_theirs(&group, members, count);
    }
    memcpy(periods, group.periods, sizeof group.periods);
    return found ? n : -1;
}
