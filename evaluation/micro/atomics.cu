// Atomic additions of one warp to shared and global memory, with 1 to 32 active
// lanes on one address: latency of a dependent addition, and cycles per addition in
// a stream. Then additions of all SMs, to one address and to separate addresses.
#include "micro.h"

constexpr int COUNT = 32;

// A dependent addition, or one without a result.
template <bool SHARED, bool DEPENDENT>
__device__ void add(unsigned long long at, unsigned &value) {
    if constexpr (!DEPENDENT) {
        if constexpr (SHARED) asm volatile("red.shared.add.u32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
        else asm volatile("red.global.add.u32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
    } else if constexpr (SHARED) {
        asm volatile("atom.shared.add.u32 %0, [%1], %0;" : "+r"(value) : "l"(at) : "memory");
    } else {
        asm volatile("atom.global.add.u32 %0, [%1], %0;" : "+r"(value) : "l"(at) : "memory");
    }
}

// Only pass 1 counts; pass 0 fills the caches.
template <bool SHARED, bool DEPENDENT>
__global__ void contend(unsigned *global, unsigned lanes, int count, unsigned *took) {
    __shared__ unsigned word;
    if (threadIdx.x == 0) word = 0;
    __syncwarp();
    unsigned long long at = SHARED ? __cvta_generic_to_shared(&word) : __cvta_generic_to_global(global);
    unsigned value = 0, last = 0;
    if (threadIdx.x < lanes) {
#pragma unroll 1
        for (int pass = 0; pass < 2; ++pass) {
            unsigned start = cycles();
#pragma unroll 1
            for (int i = 0; i < count; i += 8)
#pragma unroll
                for (int step = 0; step < 8; ++step) add<SHARED, DEPENDENT>(at, value);
            if (value == 1) took[1] = value;
            last = cycles() - start;
        }
    }
    if (threadIdx.x == 0) *took = last;
}

template <bool SHARED, bool DEPENDENT>
double cycles_each(unsigned lanes) {
    DeviceArray<unsigned> word(1), took(2);
    word.fill(0);
    auto run = [&](int count) {
        contend<SHARED, DEPENDENT><<<1, 32>>>(word, lanes, count, took);
        CHECK_KERNEL();
        return double(took.download()[0]);
    };
    return (run(4 * COUNT) - run(COUNT)) / (3 * COUNT);
}

// Additions of a warp without results: all lanes to one word, or each warp to its own line.
template <bool ONE_WORD>
__global__ void contend_all(unsigned *global, int count) {
    unsigned long long at = __cvta_generic_to_global(global + (ONE_WORD ? 0 : blockIdx.x * blockDim.x + threadIdx.x));
    unsigned value = 1;
#pragma unroll 1
    for (int i = 0; i < count; ++i) add<false, false>(at, value);
}

// Lane additions of all SMs per cycle.
template <bool ONE_WORD>
double lanes_a_cycle() {
    int ctas = 2 * device().multiProcessorCount, threads = 1024;
    DeviceArray<unsigned> words(size_t(ctas) * threads);
    words.fill(0);
    auto run = [&](int count) {
        return event_seconds([&] { contend_all<ONE_WORD><<<ctas, threads>>>(words, count); });
    };
    run(1);
    double seconds = run(3) - run(1);
    return 2.0 * ctas * threads / (seconds * clock_rate());
}

int main() {
    for (unsigned lanes = 1; lanes <= 32; lanes *= 2) {
        std::string suffix = "_" + std::to_string(lanes);
        row("atomic.shared_interval" + suffix, cycles_each<true, false>(lanes), "cycles");
        row("atomic.shared_latency" + suffix, cycles_each<true, true>(lanes), "cycles");
        row("atomic.global_interval" + suffix, cycles_each<false, false>(lanes), "cycles");
        row("atomic.global_latency" + suffix, cycles_each<false, true>(lanes), "cycles");
    }
    row("atomic.all_sms_at_one_address", lanes_a_cycle<true>(), "lanes/cycle");
    row("atomic.all_sms_at_their_own", lanes_a_cycle<false>(), "lanes/cycle");
}
