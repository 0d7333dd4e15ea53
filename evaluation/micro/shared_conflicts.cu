// Cycles per warp load of shared memory, by stride of the lanes: n lanes in a bank take n passes.
#include "micro.h"

constexpr int WARPS = 32, LOADS = 32;

__global__ void load(unsigned stride, int rounds, unsigned zero, unsigned *out, Span *spans) {
    __shared__ unsigned words[33 * 32 + LOADS * 32];
    for (unsigned i = threadIdx.x; i < sizeof words / 4; i += blockDim.x) words[i] = 0;
    __syncthreads();
    unsigned at = unsigned(__cvta_generic_to_shared(words)) + threadIdx.x % 32 * stride * 4, sum = 0, start = 0;
#pragma unroll 1
    for (int round = 0; round <= rounds; ++round) {
        if (round == 1) {
            __syncthreads();
            start = cycles();
        }
#pragma unroll
        for (int i = 0; i < LOADS; ++i) {
            unsigned word;
            asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(at + i * 128));
            sum ^= word;
        }
        at += zero;
    }
    if (sum == 1) *out = sum;
    end_span(spans, start);
}

int main() {
    DeviceArray<unsigned> out(1);
    DeviceArray<Span> spans(WARPS);
    for (unsigned stride : {0, 1, 2, 3, 4, 8, 16, 32, 33}) {
        auto run = [&](int rounds) {
            load<<<1, WARPS * 32>>>(stride, rounds, 0, out, spans);
            CHECK_KERNEL();
            return span(spans.download());
        };
        row("shared.stride_" + std::to_string(stride), (run(6) - run(2)) / (4.0 * WARPS * LOADS), "cycles");
    }
}
