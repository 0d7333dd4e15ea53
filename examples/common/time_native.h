// Timing of plain C++ on the host, for comparison with the simulated kernel in `cargo xtask bench`.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>

// Returns whether the program was called as `program [size] --native`, to time its native code.
inline bool wants_native(int argc, char **argv) { return argc > 1 && std::strcmp(argv[argc - 1], "--native") == 0; }

// Returns the size given as first argument.
inline int size_argument(int argc, char **argv, int otherwise) {
    int size = argc > 1 ? std::atoi(argv[1]) : 0;
    return size > 0 ? size : otherwise;
}

// Prints the shortest of three runs as `native KERNEL SECONDS`.
template <class Run>
void time_native(const char *kernel, Run run) {
    using Clock = std::chrono::steady_clock;
    double shortest = 1e30;
    for (int i = 0; i < 3; ++i) {
        Clock::time_point start = Clock::now();
        run();
        shortest = std::min(shortest, std::chrono::duration<double>(Clock::now() - start).count());
    }
    std::printf("native %s %.9f\n", kernel, shortest);
}
