#include "sim/program_result.h"

#include "base/serialize.h"

RhRun *rh_run_new(void)
{
    RhRun *run = g_new0(RhRun, 1);
    run->performers = g_array_new(FALSE, FALSE, sizeof(RhPerformer));
    run->timeline = g_array_new(FALSE, FALSE, sizeof(RhTaskInterval));
    run->links = g_array_new(FALSE, FALSE, sizeof(RhLinkUse));
    run->link_loads = g_array_new(FALSE, FALSE, sizeof(double));
    return run;
}

void rh_run_free(RhRun *run)
{
    if (!run)
        return;
    for (uint32_t i = 0; i < run->links->len; i++)
        g_free(g_array_index(run->links, RhLinkUse, i).name);
    g_array_unref(run->performers);
    g_array_unref(run->timeline);
    g_array_unref(run->links);
    g_array_unref(run->link_loads);
    g_free(run->approximate_why);
    g_free(run);
}

#define ROW(number, name, wait) RH_WAIT_##wait,
static const RhWait wait_of_lane[RH_LANE_LAST] = {RH_LANES(ROW)};
#undef ROW

#define ROW(number, name, source, communication) {name, source, communication},
static const struct {
    const char *name, *source;
    bool communicates;
} waits[RH_WAIT_LAST] = {RH_WAITS(ROW)};
#undef ROW

static bool is_wait(RhWait wait)
{
    return (int)wait >= 0 && wait < RH_WAIT_LAST;
}

RhWait rh_lane_wait(int32_t lane)
{
    return lane < RH_LANE_LAST ? wait_of_lane[lane] : RH_WAIT_COLLECTIVES;
}

RhWait rh_lane_transfer(int32_t lane)
{
    return lane < RH_LANE_LAST ? RH_WAIT_PIPELINE_TRANSFER : RH_WAIT_MESSAGES;
}

RhWait rh_lane_bubble(int32_t lane)
{
    return lane < RH_LANE_LAST ? RH_WAIT_BUBBLE : RH_WAIT_OTHERS;
}

const char *rh_wait_name(RhWait wait)
{
    return is_wait(wait) ? waits[wait].name : "none";
}

const char *rh_wait_source(RhWait wait)
{
    return is_wait(wait) ? waits[wait].source : "";
}

bool rh_wait_communicates(RhWait wait)
{
    return is_wait(wait) && waits[wait].communicates;
}

GByteArray *rh_run_pack(const RhRun *run)
{
    GByteArray *out = g_byte_array_new();
    rh_pack(out, &run->step_time_s, sizeof run->step_time_s);
    rh_pack(out, &run->left, sizeof run->left);
    rh_pack(out, &run->jitter_correction_s, sizeof run->jitter_correction_s);
    rh_pack(out, &run->events_count, sizeof run->events_count);
    rh_pack(out, &run->bytes_total, sizeof run->bytes_total);
    rh_pack(out, &run->bytes_as_flows, sizeof run->bytes_as_flows);
    rh_pack(out, &run->approximate, sizeof run->approximate);
    rh_pack_text(out, run->approximate_why);
    rh_pack_array(out, run->performers, sizeof(RhPerformer));
    rh_pack_array(out, run->timeline, sizeof(RhTaskInterval));
    rh_pack_array(out, run->link_loads, sizeof(double));
    rh_pack(out, &run->links->len, sizeof run->links->len);
    for (uint32_t i = 0; i < run->links->len; i++) {
        const RhLinkUse *use = &g_array_index(run->links, RhLinkUse, i);
        rh_pack(out, &use->busy_frac, sizeof use->busy_frac);
        rh_pack(out, &use->bytes, sizeof use->bytes);
        rh_pack_text(out, use->name);
    }
    return out;
}

RhRun *rh_run_unpack(const uint8_t *bytes, size_t length)
{
    g_autoptr(RhRun) run = rh_run_new();
    RhUnpack in = {bytes, bytes + length, true};
    rh_unpack(&in, &run->step_time_s, sizeof run->step_time_s);
    rh_unpack(&in, &run->left, sizeof run->left);
    rh_unpack(&in, &run->jitter_correction_s, sizeof run->jitter_correction_s);
    rh_unpack(&in, &run->events_count, sizeof run->events_count);
    rh_unpack(&in, &run->bytes_total, sizeof run->bytes_total);
    rh_unpack(&in, &run->bytes_as_flows, sizeof run->bytes_as_flows);
    rh_unpack(&in, &run->approximate, sizeof run->approximate);
    run->approximate_why = rh_unpack_text(&in);
    rh_unpack_array(&in, run->performers, sizeof(RhPerformer));
    rh_unpack_array(&in, run->timeline, sizeof(RhTaskInterval));
    rh_unpack_array(&in, run->link_loads, sizeof(double));
    uint32_t links;
    rh_unpack(&in, &links, sizeof links);
    for (uint32_t i = 0; i < links && in.whole; i++) {
        RhLinkUse use = {0};
        rh_unpack(&in, &use.busy_frac, sizeof use.busy_frac);
        rh_unpack(&in, &use.bytes, sizeof use.bytes);
        use.name = rh_unpack_text(&in);
        g_array_append_val(run->links, use);
    }
    return in.whole && in.at == in.end ? g_steal_pointer(&run) : NULL;
}
