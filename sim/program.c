#include "sim/program.h"

#include <string.h>

#include "base/interned_strings.h"

RhProgram *rh_program_new(int32_t ranks_count)
{
    RhProgram *p = g_new0(RhProgram, 1);
    p->tasks = g_array_new(FALSE, FALSE, sizeof(RhTask));
    p->preds = g_array_new(FALSE, FALSE, sizeof(int32_t));
    p->kernels = g_array_new(FALSE, FALSE, sizeof(RhKernel));
    p->bundles = g_array_new(FALSE, FALSE, sizeof(RhBundle));
    p->groups = g_array_new(FALSE, FALSE, sizeof(RhGroup));
    p->roles = g_array_new(FALSE, FALSE, sizeof(RhRole));
    p->memory = g_array_new(FALSE, FALSE, sizeof(RhMemoryEvent));
    p->volumes = g_array_new(FALSE, FALSE, sizeof(RhVolumes));
    p->shares = g_array_new(FALSE, FALSE, sizeof(double));
    p->labels = g_ptr_array_new_with_free_func(g_free);
    p->label_of_text = g_hash_table_new(g_str_hash, g_str_equal);
    p->ranks_count = ranks_count;
    p->gap_source = rh_intern("");
    return p;
}

void rh_program_free(RhProgram *p)
{
    if (!p)
        return;
    GArray *arrays[] = {p->tasks, p->preds,  p->kernels, p->bundles, p->groups,
                        p->roles, p->memory, p->volumes, p->shares};
    for (size_t i = 0; i < G_N_ELEMENTS(arrays); i++)
        g_array_unref(arrays[i]);
    g_hash_table_unref(p->label_of_text);
    g_ptr_array_unref(p->labels);
    g_free(p->gpu_of_rank);
    g_free(p);
}

int32_t rh_program_label(RhProgram *p, const char *text)
{
    void *found = g_hash_table_lookup(p->label_of_text, text);
    if (found)
        return GPOINTER_TO_INT(found) - 1;
    char *copy = g_strdup(text);
    g_ptr_array_add(p->labels, copy);
    g_hash_table_insert(p->label_of_text, copy, GINT_TO_POINTER((gint)p->labels->len));
    return (int32_t)p->labels->len - 1;
}

static int32_t add_bundle(RhProgram *p, RhBundle bundle)
{
    g_array_append_val(p->bundles, bundle);
    return (int32_t)p->bundles->len - 1;
}

int32_t rh_program_add_bundle(RhProgram *p, const RhKernel *kernels, int32_t count)
{
    RhBundle bundle = {(int32_t)p->kernels->len, count, -1};
    g_array_append_vals(p->kernels, kernels, (guint)count);
    return add_bundle(p, bundle);
}

int32_t rh_program_add_volumes(RhProgram *p, const double *shares, int32_t count)
{
    RhVolumes volumes = {.first = (int32_t)p->shares->len, .count = count};
    g_array_append_vals(p->shares, shares, (guint)count);
    g_array_append_val(p->volumes, volumes);
    return (int32_t)p->volumes->len;
}

int32_t rh_program_add_routing(RhProgram *p, const RhRouting *routing)
{
    for (guint i = 0; i < p->volumes->len; i++)
        if (!memcmp(&g_array_index(p->volumes, RhVolumes, i).routing, routing, sizeof *routing))
            return (int32_t)i + 1;
    RhVolumes volumes = {.first = (int32_t)p->shares->len, .routing = *routing};
    g_array_append_val(p->volumes, volumes);
    return (int32_t)p->volumes->len;
}

int32_t rh_program_add_wait(RhProgram *p, double seconds)
{
    return add_bundle(p, (RhBundle){(int32_t)p->kernels->len, 0, seconds});
}

static int32_t copy_spans(RhStride *to, const RhStride *spans, int32_t count)
{
    int32_t size = 1;
    for (int32_t i = 0; i < count; i++) {
        to[i] = spans[i];
        size *= spans[i].extent;
    }
    return size;
}

int32_t rh_program_add_group(RhProgram *p, const char *label, const RhStride *spans, int32_t count)
{
    g_return_val_if_fail(count >= 0 && count <= RH_STRIDES_MAX, -1);
    RhGroup group = {.label = rh_program_label(p, label), .spans_count = count};
    group.size = copy_spans(group.spans, spans, count);
    g_array_append_val(p->groups, group);
    return (int32_t)p->groups->len - 1;
}

void rh_program_space_group(RhProgram *p, int32_t group, int32_t span, int32_t period)
{
    g_array_index(p->groups, RhGroup, group).periods[span] = period;
}

void rh_program_shift_group(RhProgram *p, int32_t group, int32_t origin)
{
    g_array_index(p->groups, RhGroup, group).origin = origin;
}

void rh_program_lap_group(RhProgram *p, int32_t group, int32_t lap, int32_t held)
{
    g_array_index(p->groups, RhGroup, group).lap = lap;
    g_array_index(p->groups, RhGroup, group).held = held;
}

int32_t rh_program_begin_role(RhProgram *p, const char *label, int32_t first_rank,
                              const RhStride *spans, int32_t count)
{
    g_return_val_if_fail(count >= 0 && count <= RH_STRIDES_MAX, -1);
    RhRole role = {.label = rh_program_label(p, label),
                   .first_rank = first_rank,
                   .spans_count = count,
                   .tasks_first = (int32_t)p->tasks->len,
                   .memory_first = (int32_t)p->memory->len};
    role.ranks_count = copy_spans(role.spans, spans, count);
    g_array_append_val(p->roles, role);
    return (int32_t)p->roles->len - 1;
}

int32_t rh_program_add_task(RhProgram *p, RhTask task, const int32_t *preds, int32_t preds_count)
{
    g_return_val_if_fail(preds_count <= UINT8_MAX, -1); /* preds_count is a byte */
    task.role = (int32_t)p->roles->len - 1;
    task.preds_first = (int32_t)p->preds->len;
    for (int32_t i = 0; i < preds_count; i++)
        if (preds[i] >= 0)
            g_array_append_val(p->preds, preds[i]);
    task.preds_count = (uint8_t)((int32_t)p->preds->len - task.preds_first);
    g_array_append_val(p->tasks, task);
    return (int32_t)p->tasks->len - 1;
}

void rh_program_add_memory(RhProgram *p, RhMemoryTier tier, RhMemoryUse use, double bytes)
{
    if (bytes == 0)
        return;
    RhMemoryEvent event = {(int32_t)p->tasks->len, (uint8_t)use, (uint8_t)tier, bytes};
    g_array_append_val(p->memory, event);
}

void rh_program_end_role(RhProgram *p)
{
    RhRole *role = &g_array_index(p->roles, RhRole, p->roles->len - 1);
    role->tasks_count = (int32_t)p->tasks->len - role->tasks_first;
    role->memory_count = (int32_t)p->memory->len - role->memory_first;
}

void rh_program_match(RhProgram *p, int32_t send, int32_t recv)
{
    g_array_index(p->tasks, RhTask, send).peer_task = recv;
    g_array_index(p->tasks, RhTask, recv).peer_task = send;
}

int32_t rh_role_rank(const RhRole *role, int32_t i)
{
    int32_t rank = role->first_rank;
    for (int32_t k = 0; k < role->spans_count; k++) {
        rank += i % role->spans[k].extent * role->spans[k].stride;
        i /= role->spans[k].extent;
    }
    return rank;
}

static int64_t rest_of(int64_t value, int64_t period)
{
    return (value % period + period) % period;
}

int32_t rh_group_place(const RhGroup *group, int32_t rank, int32_t *first)
{
    int32_t own = 0, weight = 1;
    int64_t from = (int64_t)rank - group->origin,
            in_lap = group->lap > 0 ? rest_of(from, group->lap) : from;
    bool outside = group->lap > 0 && in_lap >= group->held;
    *first = rank;
    for (int32_t k = 0; k < group->spans_count; k++) {
        const RhStride *span = &group->spans[k];
        int64_t period = rh_group_period(group, k);
        int64_t within = rest_of(span->stride < group->lap ? in_lap : from, period);
        int32_t at = (int32_t)(within / span->stride);
        int64_t last = within % span->stride + (int64_t)(span->extent - 1) * span->stride;
        outside = outside || at >= span->extent || last >= period;
        *first -= at * span->stride;
        own += at * weight;
        weight *= span->extent;
    }
    return outside ? -1 : own;
}

int32_t rh_group_members(const RhGroup *group, int32_t rank, int32_t *out)
{
    int32_t base, own = rh_group_place(group, rank, &base), count = 1;
    out[0] = base;
    for (int32_t k = 0; k < group->spans_count; k++) { /* neighbours of the first span first */
        RhStride span = group->spans[k];
        for (int32_t i = count; i < count * span.extent; i++)
            out[i] = out[i - count] + span.stride;
        count *= span.extent;
    }
    return own;
}

static bool same_spans(const RhStride *a, int32_t a_count, const RhStride *b, int32_t b_count)
{
    return a_count == b_count && !memcmp(a, b, sizeof *a * (size_t)a_count);
}

static bool same_groups(const RhProgram *a, const RhProgram *b)
{
    if (a->groups->len != b->groups->len)
        return false;
    for (int32_t i = 0; i < (int32_t)a->groups->len; i++) {
        const RhGroup *x = rh_program_group(a, i), *y = rh_program_group(b, i);
        if (!same_spans(x->spans, x->spans_count, y->spans, y->spans_count) ||
            x->origin != y->origin || x->lap != y->lap || x->held != y->held ||
            memcmp(x->periods, y->periods, sizeof *x->periods * (size_t)x->spans_count))
            return false;
    }
    return true;
}

bool rh_program_same_places(const RhProgram *a, const RhProgram *b)
{
    if (a->gpu_of_rank || b->gpu_of_rank || a->ranks_count != b->ranks_count ||
        a->roles->len != b->roles->len || !same_groups(a, b))
        return false;
    for (int32_t i = 0; i < (int32_t)a->roles->len; i++) {
        const RhRole *x = rh_program_role(a, i), *y = rh_program_role(b, i);
        if (x->first_rank != y->first_rank ||
            !same_spans(x->spans, x->spans_count, y->spans, y->spans_count))
            return false;
    }
    return true;
}

int32_t *rh_program_role_of_rank(const RhProgram *p)
{
    int32_t *roles = g_new(int32_t, MAX(p->ranks_count, 1));
    for (int32_t r = 0; r < p->ranks_count; r++)
        roles[r] = -1;
    for (guint i = 0; i < p->roles->len; i++) {
        const RhRole *role = rh_program_role(p, (int32_t)i);
        RhStride inner = role->spans_count ? role->spans[0] : (RhStride){1, 1};
        for (int32_t k = 0; k < role->ranks_count; k += inner.extent) {
            int32_t first = rh_role_rank(role, k);
            for (int32_t j = 0; j < inner.extent; j++)
                roles[first + j * inner.stride] = (int32_t)i;
        }
    }
    return roles;
}

/* Time of a bundle in one of the processes that share the device, all with the same work. */
static RhSharedTime shared_time(const RhProgram *p, const RhDevice *device, const RhBundle *b)
{
    RhClientWork work = {.idle_s = b->count * p->kernel_gap_s};
    for (int32_t i = b->first; i < b->first + b->count; i++) {
        const RhKernel *kernel = &g_array_index(p->kernels, RhKernel, i);
        work.kernels_s += rh_kernel_time_s(device, kernel);
        work.filled_s += rh_kernel_filled_s(device, kernel);
    }
    return rh_clients_time(&device->clients, &work);
}

double rh_bundle_time_s(const RhProgram *p, const RhDevice *device, int32_t bundle)
{
    const RhBundle *b = &g_array_index(p->bundles, RhBundle, bundle);
    if (b->seconds >= 0)
        return b->seconds;
    if (rh_clients_share(&device->clients))
        return shared_time(p, device, b).seconds;
    double total = 0;
    for (int32_t i = b->first; i < b->first + b->count; i++)
        total +=
            rh_kernel_time_s(device, &g_array_index(p->kernels, RhKernel, i)) + p->kernel_gap_s;
    return total;
}

RhBoundTimes rh_bundle_bounds(const RhProgram *p, const RhDevice *device, int32_t bundle)
{
    const RhBundle *b = &g_array_index(p->bundles, RhBundle, bundle);
    RhBoundTimes bounds = {0};
    if (b->seconds >= 0) {
        bool computes = b->count == 0 ||
                        rh_kernel_computes(device, &g_array_index(p->kernels, RhKernel, b->first));
        *(computes ? &bounds.compute_s : &bounds.memory_s) = b->seconds;
        return bounds;
    }
    for (int32_t i = 0; i < b->count; i++) {
        const RhKernel *kernel = &g_array_index(p->kernels, RhKernel, b->first + i);
        *(rh_kernel_computes(device, kernel) ? &bounds.compute_s : &bounds.memory_s) +=
            rh_kernel_time_s(device, kernel);
    }
    double kernels_s = bounds.compute_s + bounds.memory_s;
    if (rh_clients_share(&device->clients) && kernels_s > 0) {
        double busy = shared_time(p, device, b).busy_s / kernels_s;
        bounds.compute_s *= busy;
        bounds.memory_s *= busy;
    }
    return bounds;
}

#define ROW(number, name, wait) name,
static const char *const lane_names[RH_LANE_LAST] = {RH_LANES(ROW)};
#undef ROW
static const char *const op_names[RH_OP_LAST] = {"none",       "all-reduce", "reduce-scatter",
                                                 "all-gather", "broadcast",  "all-to-all",
                                                 "barrier",    "shift"};
static const char *const phase_names[RH_PHASE_LAST] = {
    "none", "forward", "backward", "recompute", "gradient", "optimizer", "parameter"};
static const char *const memory_names[RH_MEMORY_LAST] = {"none",      "weights",       "gradients",
                                                         "optimizer", "activations",   "recompute",
                                                         "logits",    "communication", "reserve"};
static const char *const kind_names[RH_TASK_LAST] = {"none", "kernel", "collective", "send",
                                                     "recv", "copy",   "mark"};

const char *rh_lane_name(int32_t lane)
{
    static const char *streams[RH_STREAMS_MAX];
    if (lane < RH_LANE_LAST)
        return lane_names[lane];
    const char **name = &streams[lane - RH_LANE_LAST];
    if (!*name) {
        g_autofree char *text = g_strdup_printf("stream %d", lane - RH_LANE_LAST + 1);
        *name = rh_intern(text);
    }
    return *name;
}

int32_t rh_program_lanes(const RhProgram *p)
{
    int32_t lanes = RH_LANE_LAST;
    for (guint i = 0; i < p->tasks->len; i++)
        lanes = MAX(lanes, rh_program_task(p, (int32_t)i)->lane + 1);
    return lanes;
}

const char *rh_op_name(RhOp op)
{
    return op_names[op];
}

const char *rh_phase_name(RhPhase phase)
{
    return phase_names[phase];
}

const char *rh_memory_name(RhMemoryUse use)
{
    return memory_names[use];
}

const char *rh_memory_tier_name(RhMemoryTier tier)
{
    static const char *const names[RH_MEMORY_TIER_LAST] = {"hbm", "host", "nvme", "storage"};
    return names[tier];
}

const char *rh_task_kind_name(RhTaskKind kind)
{
    return kind_names[kind];
}
