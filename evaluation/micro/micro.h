// Shared code of the micro-benchmarks: rows `name value unit` on standard output, clocks, event times, pointer rings.
//
// The clock is read before and after a piece of code. The cost of reading and the work
// still in flight are equal for a short and a long piece, so the difference is exact.
#pragma once

#include "check.h"

#include <algorithm>
#include <numeric>
#include <string>

inline void row(const std::string &name, double value, const char *unit) {
    std::printf("%s %.6g %s\n", name.c_str(), value, unit);
    std::fflush(stdout);
}

// Returns the SM's clock; 32 bits suffice for differences.
__device__ inline unsigned cycles() {
    unsigned now;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(now)::"memory");
    return now;
}

// Loads a 4-byte or 8-byte word of global memory, through or around the L1.
template <bool LEVEL2, class Word>
__device__ Word load_word(const Word *at) {
    static_assert(sizeof(Word) == 4 || sizeof(Word) == 8);
    Word word;
    if constexpr (sizeof(Word) == 4 && LEVEL2) asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(word) : "l"(at));
    else if constexpr (sizeof(Word) == 4) asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(word) : "l"(at));
    else if constexpr (LEVEL2) asm volatile("ld.global.cg.u64 %0, [%1];" : "=l"(word) : "l"(at));
    else asm volatile("ld.global.ca.u64 %0, [%1];" : "=l"(word) : "l"(at));
    return word;
}

// Operation of one or more instructions. A step maps x to x; the compiler does not know y and z.
#define STEP(NAME, TYPE, CONSTRAINT, COUNT, ...)                                                        \
    struct NAME {                                                                                       \
        using Value = TYPE;                                                                             \
        static constexpr int instructions = COUNT;                                                      \
        __device__ static void step(TYPE &x, TYPE y, TYPE z) {                                          \
            asm volatile(__VA_ARGS__ : "+" CONSTRAINT(x) : CONSTRAINT(y), CONSTRAINT(z));               \
        }                                                                                               \
    }

inline const cudaDeviceProp &device() {
    static const cudaDeviceProp properties = [] {
        cudaDeviceProp found;
        CHECK(cudaGetDeviceProperties(&found, 0));
        return found;
    }();
    return properties;
}

// Waits `wait` cycles. Returns the elapsed cycles and nanoseconds.
__global__ void pass_time(long long wait, long long *passed) {
    unsigned long long before, after;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(before));
    long long start = clock64(), now = start;
    while (now - start < wait) now = clock64();
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(after));
    passed[0] = now - start;
    passed[1] = (long long)(after - before);
}

// Measures core cycles per second. The device attribute gives only the maximum clock.
inline double clock_rate() {
    static const double rate = [] {
        DeviceArray<long long> passed(2);
        pass_time<<<1, 1>>>(2000000, passed);
        CHECK_KERNEL();
        std::vector<long long> values = passed.download();
        return double(values[0]) / double(values[1]) * 1e9;
    }();
    return rate;
}

// Returns seconds between events before and after `launch`.
template <class Launch>
double event_seconds(Launch launch) {
    cudaEvent_t start, stop;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&stop));
    CHECK(cudaEventRecord(start));
    launch();
    CHECK(cudaEventRecord(stop));
    CHECK_KERNEL();
    float milliseconds;
    CHECK(cudaEventElapsedTime(&milliseconds, start, stop));
    CHECK(cudaEventDestroy(start));
    CHECK(cudaEventDestroy(stop));
    return milliseconds * 1e-3;
}

// Start and end of each warp of a CTA.
struct Span {
    unsigned start, stop;
};

// Records the end of the thread's warp, which began at `start`.
__device__ inline void end_span(Span *spans, unsigned start) {
    unsigned stop = cycles();
    if (threadIdx.x % 32 == 0) spans[threadIdx.x / 32] = {start, stop};
}

// Returns cycles from the first start to the last end, modulo the clock's range.
inline double span(const std::vector<Span> &spans) {
    unsigned origin = spans[0].start;
    int first = 0, last = 0;
    for (const Span &warp : spans) {
        first = std::min(first, int(warp.start - origin));
        last = std::max(last, int(warp.stop - origin));
    }
    return double(last) - double(first);
}

// Returns the next index of each node in a random ring, equal in every run for the same size.
inline std::vector<size_t> random_successors(size_t nodes) {
    std::vector<size_t> order(nodes), next(nodes);
    std::iota(order.begin(), order.end(), size_t(0));
    std::shuffle(order.begin() + 1, order.end(), std::mt19937_64(nodes));
    for (size_t i = 0; i < nodes; ++i) next[order[i]] = order[(i + 1) % nodes];
    return next;
}

// Random ring of pointers with a stride of `stride` bytes.
struct Ring {
    size_t nodes;
    DeviceArray<unsigned long long> memory;

    Ring(size_t nodes, size_t stride) : nodes(nodes), memory(nodes * stride / 8) {
        std::vector<size_t> next = random_successors(nodes);
        std::vector<unsigned long long> words(nodes * stride / 8);
        for (size_t node = 0; node < nodes; ++node)
            words[node * stride / 8] = (unsigned long long)(memory.get() + next[node] * stride / 8);
        memory.upload(words);
    }
};

// Reads every sector of twice the L2's size, which evicts all older data.
__global__ void read_all(const uint4 *data, size_t count, unsigned *sink) {
    unsigned sum = 0;
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += size_t(gridDim.x) * blockDim.x)
        sum += data[i].x;
    if (sum == 1) *sink = sum;
}

inline void displace_l2() {
    size_t count = 2 * size_t(device().l2CacheSize) / sizeof(uint4);
    DeviceArray<uint4> data(count);
    DeviceArray<unsigned> sink(1);
    read_all<<<2 * device().multiProcessorCount, 1024>>>(data, count, sink);
    CHECK_KERNEL();
}
