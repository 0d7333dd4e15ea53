// Sizes, lines and sectors of L1 and L2, measured only by time.
#include "micro.h"

constexpr int STEPS = 16;

template <bool LEVEL2>
__global__ void walk(const unsigned long long *ring, unsigned warming, unsigned counted, unsigned *took) {
    unsigned long long at = (unsigned long long)__cvta_generic_to_global(ring);
    unsigned start = 0;
#pragma unroll 1
    for (unsigned i = 0; i < warming + counted; i += STEPS) {
        if (i == warming) start = cycles();
#pragma unroll
        for (int step = 0; step < STEPS; ++step) at = load_word<LEVEL2>((const unsigned long long *)at);
    }
    if (at == 1) *took = 1;
    *took = cycles() - start;
}

// Cycles of a load in the second round of a ring of `nodes` with a stride of `stride` bytes.
template <bool LEVEL2>
double second_round(size_t nodes, size_t stride) {
    nodes = nodes / STEPS * STEPS;
    Ring ring(nodes, stride);
    DeviceArray<unsigned> took(1);
    walk<LEVEL2><<<1, 1>>>(ring.memory, unsigned(nodes), unsigned(nodes), took);
    CHECK_KERNEL();
    return double(took.download()[0]) / nodes;
}

// Maximum size with hits in the second round, between `low`, which fits, and `high`, within `step` bytes.
template <bool LEVEL2>
size_t capacity(size_t stride, size_t low, size_t high, size_t step) {
    double hit = second_round<LEVEL2>(low / 4 / stride, stride);
    while (high - low > step) {
        size_t middle = (low + high) / 2 / step * step;
        if (middle == low) break;
        if (second_round<LEVEL2>(middle / stride, stride) < 1.1 * hit) low = middle;
        else high = middle;
    }
    return low;
}

// Loads word 0, waits, then loads each of `count` words at distances of `distance` bytes. Measures the cycles of each.
template <bool LEVEL2>
__global__ void neighbours(const unsigned long long *memory, unsigned count, unsigned distance, unsigned *took) {
    // Copies of the body would miss in the instruction caches.
#pragma unroll 1
    for (unsigned i = 0; i < count; ++i) {
        unsigned start = cycles();
        unsigned long long value = load_word<LEVEL2>(memory + i * distance / 8);
        if (value == 1) *took = 1;
        took[i] = cycles() - start;
    }
}

// Bytes fetched by a miss: the distance of the first missing word.
template <bool LEVEL2>
size_t fetched() {
    constexpr unsigned COUNT = 64, DISTANCE = 8;
    DeviceArray<unsigned long long> memory(COUNT * DISTANCE / 8);
    memory.fill(0);
    displace_l2();
    DeviceArray<unsigned> took(COUNT);
    neighbours<LEVEL2><<<1, 1>>>(memory, COUNT, DISTANCE, took);
    CHECK_KERNEL();
    std::vector<unsigned> times = took.download();
    for (unsigned i = 1; i < COUNT; ++i)
        if (times[i] > 1.5 * times[1]) return i * DISTANCE;
    return COUNT * DISTANCE;
}

// Fills the L1 with `lines` in order, loads one more, and counts the missing sectors.
// The last line is tested first, so that fetches replace lines that have been tested.
__global__ void evict(const char *memory, unsigned lines, unsigned limit, unsigned *missing) {
    unsigned long long sum = 0;
#pragma unroll 1
    for (unsigned sector = 0; sector < 4 * (lines + 1); ++sector) {
        sum += load_word<false>((const unsigned *)(memory + sector * 32));
        if (sum == 1) *missing = 1;
    }
    unsigned count = 0;
#pragma unroll 1
    for (unsigned sector = 4 * lines; sector-- > 0;) {
        unsigned start = cycles();
        sum += load_word<false>((const unsigned *)(memory + sector * 32));
        if (sum == 1) *missing = 1;
        count += cycles() - start > limit;
    }
    *missing = count;
}

// Bytes evicted when one more line enters a full L1 of `bytes`. `hit` is the latency of a hit.
size_t evicted(size_t bytes, double hit) {
    DeviceArray<char> memory(bytes + 128);
    memory.fill(0);
    DeviceArray<unsigned> missing(1);
    evict<<<1, 1>>>(memory, unsigned(bytes / 128), unsigned(4 * hit), missing);
    CHECK_KERNEL();
    return missing.download()[0] * 32;
}

int main() {
    size_t usable = capacity<false>(32, 64 << 10, 160 << 10, 1 << 10);
    row("size.l1_usable", usable, "B");
    // With one word per line, the number of nodes that fit equals the number of lines.
    size_t lines = capacity<false>(128, 64 << 10, 160 << 10, 2 << 10) / 128;
    row("size.l1_line", double(usable) / lines, "B");
    row("size.l1_evicted", evicted(lines * 128, second_round<false>(128, 128)), "B");
    row("size.l1_sector", fetched<false>(), "B");
    row("size.l2_sector", fetched<true>(), "B");
    size_t l2 = device().l2CacheSize;
    row("latency.l2_of_nine_tenths", second_round<true>(l2 / 10 * 9 / 128, 128), "cycles");
    row("latency.l2_of_four_thirds", second_round<true>(l2 / 3 * 4 / 128, 128), "cycles");
}
