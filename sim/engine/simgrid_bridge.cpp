#include "sim/engine/simgrid_bridge.h"

#include <clocale>
#include <cmath>
#include <csignal>
#include <locale.h>
#include <new>
#include <set>
#include <simgrid/engine.h>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/kernel/resource/Model.hpp>
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
    std::vector<s4u::Comm *> ended;   /* SimGrid still uses a comm after it told its end */
    std::vector<s4u::Comm *> dropped; /* and one round longer when it was cancelled */
    std::vector<s4u::Comm *> flows;   /* under way, by number; else null */
    /* SimGrid's loop ends when the set of vetoed activities, which it looks up when it begins,
     * holds anything. From then on it is kept from adding to it: half-made comms are vetoed. */
    std::set<s4u::Activity *> stop;
    Timer *alarm = nullptr;
    s4u::NetZone *zone = nullptr; /* once prepared */
    bool started = false, lacked_memory = false;
    std::string failure;
};
Bridge bridge;

/* SimGrid folds the case of option names by the locale: in Turkish, "I" is no "i". */
class InLocaleC
{
  public:
    InLocaleC() : c(newlocale(LC_ALL_MASK, "C", nullptr)), before(uselocale(c))
    {
    }
    ~InLocaleC()
    {
        uselocale(before);
        freelocale(c);
    }
    InLocaleC(InLocaleC const &) = delete;
    InLocaleC &operator=(InLocaleC const &) = delete;

  private:
    locale_t c, before;
};

/* SimGrid takes signals over; they are the caller's. */
class KeptSignals
{
  public:
    KeptSignals()
    {
        for (size_t i = 0; i < count; i++)
            sigaction(signals[i], nullptr, &before[i]);
    }
    ~KeptSignals()
    {
        for (size_t i = 0; i < count; i++)
            sigaction(signals[i], &before[i], nullptr);
    }
    KeptSignals(KeptSignals const &) = delete;
    KeptSignals &operator=(KeptSignals const &) = delete;

  private:
    static constexpr size_t count = 3;
    static constexpr int signals[count] = {SIGINT, SIGSEGV, SIGBUS};
    struct sigaction before[count];
};

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
    bridge.flows[static_cast<size_t>(tag - 1)] = nullptr;
    bridge.ended.push_back(&mine);
    bridge.callbacks.flow_done(static_cast<int32_t>(tag - 1), bridge.callbacks.user);
}

void listen()
{
#if SIMGRID_VERSION >= 33400
    s4u::Comm::on_completion_cb(flow_ended);
#else
    s4u::Activity::on_completion_cb([](s4u::Activity const &activity) {
        flow_ended(static_cast<s4u::Comm const &>(activity)); /* we make no others */
    });
#endif
    s4u::Engine::on_time_advance_cb([](double) {
        s4u::Engine::get_instance()->track_vetoed_activities(nullptr);
        for (auto *comm : bridge.ended)
            comm->unref();
        bridge.ended.clear();
        bridge.ended.swap(bridge.dropped);
    });
}

/* Route i joins host i / n to host i % n of a fully connected zone: n hosts carry n^2 routes. */
void build(const RhBridgePlatform &platform)
{
    auto *zone = bridge.zone;
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

void prepare()
{
    KeptSignals signals;
    static char name[] = "rehearse", quiet[] = "--log=root.thres:critical";
    char *arguments[] = {name, quiet, nullptr};
    int count = 2;
    simgrid_init(&count, arguments);
    configure();
    listen();
    bridge.zone = s4u::create_full_zone("quotient"); /* the first: SimGrid makes its models */
}

template <class F> const char *guarded(F body)
{
    InLocaleC locale;
    try {
        body();
        return nullptr;
    } catch (std::bad_alloc const &) {
        bridge.lacked_memory = true;
        return "memory ran out";
    } catch (std::exception const &problem) {
        bridge.failure = problem.what();
    }
    return bridge.failure.c_str();
}
} // namespace

extern "C" const char *rh_bridge_prepare(void)
{
    return guarded([] { prepare(); });
}

extern "C" const char *rh_bridge_start(const RhBridgePlatform *platform,
                                       RhBridgeCallbacks callbacks)
{
    bridge.callbacks = callbacks;
    bridge.started = true;
    return guarded([platform] {
        if (!bridge.zone)
            prepare();
        build(*platform);
    });
}

extern "C" bool rh_bridge_started(void)
{
    return bridge.started;
}

extern "C" bool rh_bridge_lacked_memory(void)
{
    return bridge.lacked_memory;
}

extern "C" double rh_bridge_clock_s(void)
{
    return simgrid_get_clock();
}

extern "C" double rh_bridge_quiet_until_s(void)
{
    double now_s = simgrid_get_clock(), first_s = HUGE_VAL;
    for (auto *model : s4u::Engine::get_instance()->get_all_models()) {
        if (!model->get_finished_action_set()->empty())
            return now_s;
        if (model->get_started_action_set()->empty())
            continue;
        double after_s = model->next_occurring_event(now_s); /* -1: never */
        if (after_s >= 0)
            first_s = std::min(first_s, now_s + after_s);
    }
    return first_s;
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
    if (bridge.flows.size() <= static_cast<size_t>(flow))
        bridge.flows.resize(static_cast<size_t>(flow) + 1, nullptr);
    bridge.flows[static_cast<size_t>(flow)] = comm.get();
    comm->set_source(bridge.hosts[static_cast<size_t>(route / n)]);
    comm->set_destination(bridge.hosts[static_cast<size_t>(route % n)]); /* starts here */
}

extern "C" void rh_bridge_cancel(int32_t flow)
{
    auto *comm = bridge.flows[static_cast<size_t>(flow)];
    bridge.flows[static_cast<size_t>(flow)] = nullptr;
    comm->set_data(nullptr); /* SimGrid tells an end of it all the same */
    comm->cancel();
    bridge.dropped.push_back(comm);
    Timer::set(simgrid_get_clock(), [] {}); /* a round of its own: only then it leaves its links */
}

extern "C" const char *rh_bridge_run(void)
{
    bridge.stop.clear();
    return guarded([] {
        s4u::Engine::get_instance()->track_vetoed_activities(&bridge.stop);
        simgrid_run();
    });
}

extern "C" void rh_bridge_stop(void)
{
    bridge.stop.insert(nullptr);
}
