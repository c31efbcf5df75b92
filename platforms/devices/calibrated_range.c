#include "platforms/devices/calibrated_range.h"

#include "base/interned_strings.h"

#define SHAPE_MOST ((int64_t)1 << 40)

static const struct {
    const char *name;
    const char *axes[RH_CALIBRATED_RANGE_AXES];
} rows[] = {[RH_CALIBRATED_RANGE_GEMM] = {"gemm", {"m", "n", "k"}},
            [RH_CALIBRATED_RANGE_ATTENTION] = {"attention", {"keys"}}};

RhCalibratedKind rh_calibrated_range_kind(const RhKernel *kernel)
{
    if (kernel->cls == RH_KERNEL_GEMM)
        return RH_CALIBRATED_RANGE_GEMM;
    bool attends =
        kernel->cls == RH_KERNEL_ATTENTION || kernel->cls == RH_KERNEL_ATTENTION_BACKWARD;
    return attends ? RH_CALIBRATED_RANGE_ATTENTION : RH_CALIBRATED_RANGE_LAST;
}

const char *rh_calibrated_range_kind_name(RhCalibratedKind kind)
{
    return rows[kind].name;
}

const char *rh_calibrated_range_axis_name(RhCalibratedKind kind, int axis)
{
    return axis < RH_CALIBRATED_RANGE_AXES ? rows[kind].axes[axis] : NULL;
}

int64_t rh_calibrated_range_at(RhCalibratedKind kind, const RhKernel *kernel, int axis)
{
    const int64_t gemm[RH_CALIBRATED_RANGE_AXES] = {kernel->m, kernel->n, kernel->k};
    return kind == RH_CALIBRATED_RANGE_GEMM ? gemm[axis] : kernel->n;
}

int rh_calibrated_range_beyond(const RhCalibratedRange *s, RhCalibratedKind kind,
                               const RhKernel *kernel)
{
    for (int axis = 0; s->source && rh_calibrated_range_axis_name(kind, axis); axis++) {
        int64_t at = rh_calibrated_range_at(kind, kernel, axis);
        if (at < s->low[axis] || at > s->high[axis])
            return axis;
    }
    return -1;
}

void rh_calibrated_range_hold(RhCalibratedRange *s, RhCalibratedKind kind, const RhKernel *kernel)
{
    for (int axis = 0; rh_calibrated_range_axis_name(kind, axis); axis++) {
        int64_t at = rh_calibrated_range_at(kind, kernel, axis);
        s->low[axis] = s->high[axis] == 0 ? at : MIN(s->low[axis], at);
        s->high[axis] = MAX(s->high[axis], at);
    }
}

static void read_axis(RhJson *doc, const RhJsonNode *node, RhCalibratedKind kind, int axis,
                      RhCalibratedRange *out)
{
    const RhJsonNode *list = rh_json_array(doc, node, rows[kind].axes[axis]);
    const RhJsonNode *low = list ? rh_json_first(list) : NULL,
                     *high = low ? rh_json_next(low) : NULL;
    if (!list)
        return;
    if (rh_json_count(list) != 2) {
        rh_json_problem(doc, list, "the least and the largest", "%d numbers, expected 2",
                        rh_json_count(list));
        rh_json_consume_all(doc, list);
        return;
    }
    out->low[axis] = rh_json_node_int(doc, low, 1, SHAPE_MOST);
    out->high[axis] = rh_json_node_int(doc, high, 1, SHAPE_MOST);
    if (out->low[axis] > out->high[axis])
        rh_json_problem(doc, list, "the least and the largest", "the first is larger");
}

void rh_calibrated_range_read_ranges(RhJson *doc, const RhJsonNode *node, RhCalibratedKind kind,
                                     RhCalibratedRange *out)
{
    for (int axis = 0; rh_calibrated_range_axis_name(kind, axis); axis++)
        read_axis(doc, node, kind, axis, out);
}

void rh_calibrated_range_read(RhJson *doc, const RhJsonNode *node, RhCalibratedKind kind,
                              RhCalibratedRange *out)
{
    RhCalibratedRange read = {.source = rh_json_string(doc, node, "source"),
                              .date = rh_json_string_or(doc, node, "date", "")};
    rh_calibrated_range_read_ranges(doc, node, kind, &read);
    read.source = rh_intern(read.source);
    read.date = rh_intern(read.date);
    *out = read;
}

void rh_calibrated_range_write_ranges(RhJsonWriter *w, RhCalibratedKind kind,
                                      const RhCalibratedRange *s)
{
    for (int axis = 0; rh_calibrated_range_axis_name(kind, axis); axis++) {
        rh_json_begin_array(w, rh_calibrated_range_axis_name(kind, axis));
        rh_json_put_int(w, NULL, s->low[axis]);
        rh_json_put_int(w, NULL, s->high[axis]);
        rh_json_end_array(w);
    }
}

void rh_calibrated_range_write(RhJsonWriter *w, const char *key, RhCalibratedKind kind,
                               const RhCalibratedRange *s)
{
    rh_json_begin_object(w, key);
    rh_calibrated_range_write_ranges(w, kind, s);
    rh_json_put_string(w, "source", s->source);
    rh_json_put_string(w, "date", s->date);
    rh_json_end_object(w);
}
