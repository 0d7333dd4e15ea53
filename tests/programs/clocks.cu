// Clocks are monotonic, and work takes time.
#include "check.h"

__global__ void measure(long long *cycles, unsigned long long *nanoseconds, unsigned *sink, int rounds) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, value = i;
    unsigned long long time;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
    nanoseconds[2 * i] = time;
    for (int step = 0; step < 4; ++step) {
        cycles[4 * i + step] = clock64();
        for (int round = 0; round < rounds; ++round) value = value * 1664525u + 1013904223u;
        sink[i] = value;
    }
    unsigned first = clock(), second = clock();
    sink[i] = second - first;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
    nanoseconds[2 * i + 1] = time;
}

int main() {
    const int threads = 128;
    DeviceArray<long long> cycles(4 * threads);
    DeviceArray<unsigned long long> nanoseconds(2 * threads);
    DeviceArray<unsigned> sink(threads);
    measure<<<2, threads / 2>>>(cycles, nanoseconds, sink, 100);
    CHECK_KERNEL();
    std::vector<long long> at = cycles.download();
    std::vector<unsigned long long> time = nanoseconds.download();
    std::vector<unsigned> between = sink.download();
    for (int i = 0; i < threads; ++i) {
        for (int step = 1; step < 4; ++step) EXPECT(at[4 * i + step] > at[4 * i + step - 1]);
        EXPECT(time[2 * i + 1] >= time[2 * i] && time[2 * i] > 0);
        EXPECT(between[i] < 1u << 30);
    }
    return finish();
}
