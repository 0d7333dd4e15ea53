// A stream of requests, each with the earliest cycle at which it may come, given to DRAMsim3 as fast as it takes them, one a
// cycle. Prints the cycle in which it took the last one and the mean latency of reads, for `dramsim3.rs`. With a checkout of
// DRAMsim3 in DIR:
//
//   g++ -O2 -std=c++17 -DFMT_HEADER_ONLY=1 -I DIR/src -I DIR/ext/headers -I DIR/ext/fmt/include dramsim3.cc
//       DIR/src/{bankstate,channel_state,command_queue,common,configuration,controller,dram_system,hmc,refresh,simple_stats,timing,memory_system}.cc
#include "dramsim3.h"

#include <cstdint>
#include <filesystem>
#include <iostream>
#include <map>
#include <vector>

struct Request {
    uint64_t cycle;
    char kind;
    uint64_t address;
};

int main(int count, char **arguments) {
    if (count != 2) {
        std::cerr << "usage: dramsim3 SETTINGS.ini < requests\n";
        return 2;
    }
    std::vector<Request> requests;
    for (Request request; std::cin >> request.cycle >> request.kind >> request.address;) requests.push_back(request);

    uint64_t now = 0, latency = 0, reads = 0, answered = 0;
    std::multimap<uint64_t, uint64_t> under_way;
    auto read = [&](uint64_t address) {
        auto first = under_way.find(address);
        latency += now - first->second;
        under_way.erase(first);
        answered++;
    };
    // Its statistics are left beside the settings.
    std::string folder = std::filesystem::path(arguments[1]).parent_path();
    auto *memory = dramsim3::GetMemorySystem(arguments[1], folder, read, [](uint64_t) {});
    uint64_t accepted = 0;
    for (size_t next = 0; next < requests.size() || answered < reads; now++) {
        if (next < requests.size()) {
            auto [cycle, kind, address] = requests[next];
            bool write = kind == 'W';
            if (cycle <= now && memory->WillAcceptTransaction(address, write)) {
                if (!write) {
                    under_way.insert({address, now});
                    reads++;
                }
                memory->AddTransaction(address, write);
                accepted = now;
                next++;
            }
        }
        memory->ClockTick();
    }
    std::cout << accepted << ' ' << (reads ? double(latency) / double(reads) : 0) << '\n';
}
