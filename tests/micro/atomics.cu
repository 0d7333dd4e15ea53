// Atomic additions of one warp to shared and global memory, 1 to 32 lanes on one address and the others idle: the time of one
// that the next waits for, and the cycles each takes of a stream of them.
#include "micro.h"

constexpr int COUNT = 32;

// One whose answer the next needs, or one without an answer.
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

// Pass 1 counts: pass 0 brings code and data near.
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

int main() {
    for (unsigned lanes = 1; lanes <= 32; lanes *= 2) {
        std::string suffix = "_" + std::to_string(lanes);
        row("atomic.shared_interval" + suffix, cycles_each<true, false>(lanes), "cycles");
        row("atomic.shared_latency" + suffix, cycles_each<true, true>(lanes), "cycles");
        row("atomic.global_interval" + suffix, cycles_each<false, false>(lanes), "cycles");
        row("atomic.global_latency" + suffix, cycles_each<false, true>(lanes), "cycles");
    }
}
