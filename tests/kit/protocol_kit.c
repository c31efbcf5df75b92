#include "tests/kit/protocol_kit.h"

void add_protocols(RhPlatform *p)
{
    static const char *const sets[][2] = {
        {"nvlink.ll.efficiency", "0.1"},     {"nvlink.ll.latency", "0.6us"},
        {"nvlink.ll.launch", "4us"},         {"nvlink.ll128.efficiency", "0.45"},
        {"nvlink.ll128.latency", "0.9us"},   {"nvlink.ll128.launch", "5us"},
        {"nvlink.simple.efficiency", "0.8"}, {"nvlink.simple.latency", "1.5us"},
        {"nvlink.simple.launch", "18us"},    {"nvlink.nvls.efficiency", "0.7"},
        {"nvlink.nvls.latency", "15us"},     {"nvlink.copy", "0.5"},
        {"nic.ll.efficiency", "0.3"},        {"nic.ll.latency", "3us"},
        {"nic.simple.efficiency", "0.98"},   {"nic.simple.latency", "12us"},
        {"nic.simple.launch", "20us"}};
    for (size_t i = 0; i < G_N_ELEMENTS(sets); i++)
        g_assert(rh_platform_set(p, sets[i][0], sets[i][1], NULL));
}
