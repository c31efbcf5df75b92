#include "sim/engine/simgrid_bridge.h"

#include <cmath>
#include <csignal>
#include <simgrid/engine.h>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u.hpp>
#include <simgrid/version.h>
#include <string>
#include <vector>

static_assert(SIMGRID_VERSION >= 33200, "SimGrid 3.32 or newer is needed");

namespace s4u = simgrid::s4u;
using simgrid::kernel::timer::Timer;

namespace
{
struct Bridge {
    RhBridgeCallbacks callbacks{};
    std::vector<s4u::Host *> hosts;
    std::vector<s4u::Comm *> ended; /* SimGrid still uses a comm after it told its end */
    Timer *alarm = nullptr;
    std::string failure;
};
Bridge bridge;

/* The network model: fluid max-min flows and nothing else. CM02 without cross traffic; the TCP
 * window bound out of reach; latencies are zero because SimGrid weighs flows by 1 / latency. */
void configure()
{
    s4u::Engine::set_config("network/model:CM02");
    s4u::Engine::set_config("network/crosstraffic:0");
    s4u::Engine::set_config("network/TCP-gamma:1e18");
#if SIMGRID_VERSION >= 33400
    s4u::Engine::set_config("precision/timing:1e-12");
#else
    s4u::Engine::set_config("surf/precision:1e-12");
#endif
}

void flow_ended(s4u::Comm const &comm)
{
    auto &mine = const_cast<s4u::Comm &>(comm);
    auto tag = reinterpret_cast<intptr_t>(mine.get_data<void>());
    if (tag == 0)
        return;
    mine.set_data(nullptr);
    bridge.ended.push_back(&mine);
    bridge.callbacks.flow_done(static_cast<int32_t>(tag - 1), bridge.callbacks.user);
}

void listen()
{
#if SIMGRID_VERSION >= 33400
    s4u::Comm::on_completion_cb(flow_ended);
#else
    s4u::Activity::on_completion_cb([](s4u::Activity const &activity) {
        if (auto const *comm = dynamic_cast<s4u::Comm const *>(&activity))
            flow_ended(*comm);
    });
#endif
    s4u::Engine::on_time_advance_cb([](double) {
        for (auto *comm : bridge.ended)
            comm->unref();
        bridge.ended.clear();
    });
}

/* Route i joins host i / n to host i % n of a fully connected zone: n hosts carry n^2 routes. */
void build(const RhBridgePlatform &platform)
{
    auto *zone = s4u::create_full_zone("quotient");
    std::vector<s4u::Link *> links;
    for (int32_t i = 0; i < platform.links_count; i++) {
        auto *link = zone->create_link("l" + std::to_string(i), platform.units_per_s[i]);
        link->set_latency(0);
        links.push_back(link->seal());
    }
    auto n = static_cast<int32_t>(std::ceil(std::sqrt(std::max(platform.routes_count, 1))));
    for (int32_t i = 0; i < n; i++)
        bridge.hosts.push_back(zone->create_host("h" + std::to_string(i), 1e9)->seal());
    std::vector<s4u::LinkInRoute> route;
    for (int32_t i = 0; i < platform.routes_count; i++) {
        route.clear();
        for (int32_t k = platform.hops_first[i]; k < platform.hops_first[i + 1]; k++)
            route.insert(route.end(), static_cast<size_t>(platform.hops[k].weight),
                         s4u::LinkInRoute(links[static_cast<size_t>(platform.hops[k].link)]));
        zone->add_route(bridge.hosts[static_cast<size_t>(i / n)]->get_netpoint(),
                        bridge.hosts[static_cast<size_t>(i % n)]->get_netpoint(), nullptr, nullptr,
                        route, false);
    }
    zone->seal();
}

template <class F> const char *guarded(F body)
{
    try {
        body();
        return nullptr;
    } catch (std::exception const &problem) {
        bridge.failure = problem.what();
    }
    return bridge.failure.c_str();
}
} // namespace

extern "C" const char *rh_bridge_start(const RhBridgePlatform *platform,
                                       RhBridgeCallbacks callbacks)
{
    bridge.callbacks = callbacks;
    return guarded([platform] {
        static char name[] = "rehearse", quiet[] = "--log=root.thres:critical";
        char *arguments[] = {name, quiet, nullptr};
        int count = 2;
        simgrid_init(&count, arguments);
        std::signal(SIGSEGV, SIG_DFL); /* a crash is the parent's to tell */
        configure();
        build(*platform);
        listen();
    });
}

extern "C" double rh_bridge_clock_s(void)
{
    return simgrid_get_clock();
}

extern "C" void rh_bridge_alarm(double t_s)
{
    if (bridge.alarm)
        bridge.alarm->remove();
    bridge.alarm = Timer::set(std::max(t_s, simgrid_get_clock()), [] {
        bridge.alarm = nullptr;
        bridge.callbacks.alarm(bridge.callbacks.user);
    });
}

extern "C" void rh_bridge_flow(int32_t route, uint64_t units, int32_t flow)
{
    auto n = static_cast<int32_t>(bridge.hosts.size());
    s4u::CommPtr comm = s4u::Comm::sendto_init();
    comm->set_data(reinterpret_cast<void *>(static_cast<intptr_t>(flow) + 1));
    comm->set_payload_size(units);
    comm->add_ref();
    comm->set_source(bridge.hosts[static_cast<size_t>(route / n)]);
    comm->set_destination(bridge.hosts[static_cast<size_t>(route % n)]); /* starts here */
}

extern "C" const char *rh_bridge_run(void)
{
    return guarded([] { simgrid_run(); });
}
