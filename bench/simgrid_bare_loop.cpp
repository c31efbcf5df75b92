/* The same timers and flows on SimGrid alone, without programs, lanes or dependencies: what the engine is
 * measured against.  bare_loop CHAINS SHARING ROUNDS KERNEL_S LATENCY_S BYTES
 * CHAINS pairs of hosts, SHARING of them on one link; each runs ROUNDS times: a timer for the kernel, a timer
 * for the latency, one flow. Prints the processor's seconds since main began. */
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

namespace s4u = simgrid::s4u;

namespace
{
struct Chain {
    s4u::Host *src, *dst;
    int left;
};

double kernel_length_s, flow_latency_s;
uint64_t flow_bytes;
std::vector<s4u::Activity *> finished;

void start_round(Chain *chain)
{
    if (chain->left-- == 0)
        return;
    double now = s4u::Engine::get_clock();
    simgrid::kernel::timer::Timer::set(now + kernel_length_s, [chain] {
        simgrid::kernel::timer::Timer::set(s4u::Engine::get_clock() + flow_latency_s, [chain] {
            s4u::CommPtr comm = s4u::Comm::sendto_init();
            comm->set_data(chain);
            comm->set_payload_size(flow_bytes);
            comm->set_source(chain->src);
            comm->set_destination(chain->dst);
            comm->add_ref();
        });
    });
}

void on_completion(s4u::Activity const &activity)
{
    auto &done = const_cast<s4u::Activity &>(activity);
    finished.push_back(&done);
    start_round(done.get_data<Chain>());
}
} // namespace

int main(int count, char **values)
{
    if (count != 7)
        return 2;
    std::clock_t began = std::clock();
    int chains = std::atoi(values[1]), sharing = std::atoi(values[2]),
        rounds = std::atoi(values[3]);
    kernel_length_s = std::atof(values[4]);
    flow_latency_s = std::atof(values[5]);
    flow_bytes = static_cast<uint64_t>(std::atof(values[6]));
    std::vector<std::string> words = {"bare", "--log=root.thres:critical"};
    std::vector<char *> argv = {words[0].data(), words[1].data(), nullptr};
    int argc = 2;
    s4u::Engine engine(&argc, argv.data());
    s4u::Engine::set_config("network/model:CM02");
    s4u::Engine::set_config("network/crosstraffic:0");
    s4u::Engine::set_config("network/TCP-gamma:1e18");
    s4u::NetZone *zone = s4u::create_full_zone("root");
    std::vector<Chain> all(static_cast<size_t>(chains));
    s4u::Link *link = nullptr;
    for (int i = 0; i < chains; i++) {
        std::string name = std::to_string(i);
        all[i] = {zone->create_host("a" + name, 1.0)->seal(),
                  zone->create_host("b" + name, 1.0)->seal(), rounds};
        if (i % sharing == 0)
            link = zone->create_link("l" + name, 1e9)->set_latency(0)->seal();
        zone->add_route(all[i].src->get_netpoint(), all[i].dst->get_netpoint(), nullptr, nullptr,
                        {s4u::LinkInRoute(link)}, false);
    }
    zone->seal();
    s4u::Activity::on_completion_cb(on_completion);
    s4u::Engine::on_time_advance_cb([](double) {
        for (auto *activity : finished)
            activity->unref();
        finished.clear();
    });
    for (auto &chain : all)
        start_round(&chain);
    engine.run();
    std::printf("%.6f\n", static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC);
    return 0;
}
