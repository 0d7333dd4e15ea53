// Floating-point atomics: sums that are exact in any order, minimum by compare-and-swap, float, double and half pairs.
#include "check.h"

#include <cuda_fp16.h>

__device__ float atomic_min(float *address, float value) {
    int *word = (int *)address, old = *word;
    while (value < __int_as_float(old)) {
        int assumed = old;
        old = atomicCAS(word, assumed, __float_as_int(value));
        if (old == assumed) break;
    }
    return __int_as_float(old);
}

struct Sums {
    float single, least;
    double twofold;
};

__global__ void accumulate(const int *values, int count, Sums *sums) {
    __shared__ Sums of_block;
    if (threadIdx.x == 0) of_block = {0, 1e30f, 0};
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        atomicAdd(&of_block.single, 0.25f * values[i]);
        atomicAdd(&of_block.twofold, 0.125 * values[i]);
        atomic_min(&of_block.least, 1.5f * values[i]);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(&sums->single, of_block.single);
        atomicAdd(&sums->twofold, of_block.twofold);
        atomic_min(&sums->least, of_block.least);
    }
}

__global__ void accumulate_halves(__half2 *pair, __half *single) {
    atomicAdd(pair, __floats2half2_rn(1.0f, threadIdx.x % 4));
    atomicAdd(single, __float2half(0.5f));
}

// atomicAdd returns the previous value: the values form a chain up to the sum.
__global__ void returned(float *sum, float *before) { before[threadIdx.x] = atomicAdd(sum, 1.0f); }

int main() {
    // Small multiples of 1/8, whose sum is the same in any order.
    const int count = 4000;
    std::vector<int> values = random_values<int>(count, -500, 500);
    Sums wanted = {0, 1e30f, 0};
    for (int value : values) {
        wanted.single += 0.25f * value;
        wanted.twofold += 0.125 * value;
        wanted.least = std::fmin(wanted.least, 1.5f * value);
    }
    DeviceArray<int> device_values(values);
    DeviceArray<Sums> sums(std::vector<Sums>{{0, 1e30f, 0}});
    accumulate<<<(count + 127) / 128, 128>>>(device_values, count, sums);
    CHECK_KERNEL();
    Sums got = sums.download()[0];
    compare("float sum", &got.single, &wanted.single, 1);
    compare("double sum", &got.twofold, &wanted.twofold, 1);
    compare("minimum", &got.least, &wanted.least, 1);

    DeviceArray<__half2> pair(1);
    DeviceArray<__half> single(1);
    pair.fill(0), single.fill(0);
    accumulate_halves<<<2, 64>>>(pair, single);
    CHECK_KERNEL();
    __half2 halves = pair.download()[0];
    EXPECT(__low2float(halves) == 128 && __high2float(halves) == 192);
    EXPECT(__half2float(single.download()[0]) == 64);

    DeviceArray<float> sum(1), before(96);
    sum.fill(0);
    returned<<<1, 96>>>(sum, before);
    CHECK_KERNEL();
    std::vector<float> olds = before.download();
    std::vector<int> seen(96);
    for (float old : olds)
        if (old >= 0 && old < 96) ++seen[int(old)];
    compare("returned once each", seen, std::vector<int>(96, 1));
    return finish();
}
