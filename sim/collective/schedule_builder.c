/* Flows and rounds of a schedule under construction, for the algorithms. */
#include "sim/collective/algorithm_interface.h"

void rh_schedule_chunks(RhScheduleBuilder *b, int32_t count)
{
    RhSchedule *s = b->schedule;
    s->chunks_count = count;
    s->owner = g_new(int32_t, MAX(count, 1));
    for (int32_t c = 0; c < count; c++)
        s->owner[c] = c % b->members;
    b->chunk_bytes = s->bytes / count;
}

void rh_schedule_round(RhScheduleBuilder *b, int32_t repeat)
{
    RhRound round = {repeat, (int32_t)b->schedule->flows->len, 0};
    g_array_append_val(b->schedule->rounds, round);
}

void rh_schedule_flow_shifting(RhScheduleBuilder *b, RhFlow flow)
{
    GArray *rounds = b->schedule->rounds;
    flow.inside = !b->node_of || b->node_of[flow.src] == b->node_of[flow.dst];
    flow.bytes =
        flow.chunk_count * b->chunk_bytes * (flow.inside ? b->link.inside : b->link.between);
    g_array_append_val(b->schedule->flows, flow);
    g_array_index(rounds, RhRound, rounds->len - 1).flows_count++;
}

void rh_schedule_flow(RhScheduleBuilder *b, int32_t src, int32_t dst, int32_t first, int32_t count,
                      bool reduce)
{
    rh_schedule_flow_shifting(b, (RhFlow){.src = src,
                                          .dst = dst,
                                          .chunk_first = first,
                                          .chunk_count = count,
                                          .wrap_count = b->schedule->chunks_count,
                                          .reduce = reduce});
}
