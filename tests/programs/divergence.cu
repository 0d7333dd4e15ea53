//@ modes: shared static clang
// Threads of one warp diverge and reconverge: loops of different length with
// break and continue, switch, early return, and short-circuit conditions.
#include "check.h"

// The same function runs on the device and, for the expected result, on the host.
__host__ __device__ unsigned wander(unsigned seed) {
    unsigned value = seed, steps = 0;
    for (unsigned outer = 0; outer < 20; ++outer) {
        unsigned inner = 0;
        while (true) {
            value = value * 1664525u + 1013904223u;
            if (++inner > (seed & 15)) break;
            if ((value >> 28) == 3) continue;
            if ((value >> 27) == 30) goto next;
            steps += value >> 30;
        }
        switch (value % 9) {
        case 0: steps += 1; break;
        case 1: steps *= 3;  // falls through
        case 2: steps ^= value; break;
        case 3: if (outer > 10) return steps; break;
        case 4: steps -= seed; break;
        case 5: steps = (steps << 5) | (steps >> 27); break;
        case 7: steps += outer; break;
        default: steps += 7;
        }
    next:
        if ((steps & 1) && (value & 2) || (steps & 4)) ++steps;
        do { ++value; } while (value % 5);
    }
    return steps;
}

__global__ void wander_all(const unsigned *seeds, unsigned *steps, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    steps[i] = wander(seeds[i]);
}

// Collatz lengths: loops of very different length within a warp.
__host__ __device__ int collatz(unsigned long long n) {
    int length = 0;
    for (; n != 1; ++length) n = n % 2 ? 3 * n + 1 : n / 2;
    return length;
}

__global__ void collatz_all(int *lengths, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) lengths[i] = collatz(i + 1);
}

// Each side of a branch has a barrier of its lanes.
__global__ void meet_on_both_sides(int *out) {
    __shared__ int slot[32];
    unsigned lane = threadIdx.x;
    if (lane % 2) {
        slot[lane] = 100 + lane;
        __syncwarp(0xaaaaaaaa);
        out[lane] = slot[lane ^ 2];
    } else {
        slot[lane] = 200 + lane;
        __syncwarp(0x55555555);
        out[lane] = slot[lane ^ 2];
    }
}

int main() {
    const int count = 5000;
    std::vector<unsigned> seeds = random_values<unsigned>(count, 0, 0xffffffff), wanted(count);
    for (int i = 0; i < count; ++i) wanted[i] = wander(seeds[i]);
    DeviceArray<unsigned> device_seeds(seeds), steps(count);
    wander_all<<<(count + 127) / 128, 128>>>(device_seeds, steps, count);
    CHECK_KERNEL();
    compare("wander", steps.download(), wanted);

    std::vector<int> lengths(count);
    for (int i = 0; i < count; ++i) lengths[i] = collatz(i + 1);
    DeviceArray<int> device_lengths(count);
    collatz_all<<<(count + 255) / 256, 256>>>(device_lengths, count);
    CHECK_KERNEL();
    compare("collatz", device_lengths.download(), lengths);

    std::vector<int> sides(32);
    for (int lane = 0; lane < 32; ++lane) sides[lane] = (lane % 2 ? 100 : 200) + (lane ^ 2);
    DeviceArray<int> device_sides(32);
    meet_on_both_sides<<<1, 32>>>(device_sides);
    CHECK_KERNEL();
    compare("both sides", device_sides.download(), sides);
    return finish();
}
