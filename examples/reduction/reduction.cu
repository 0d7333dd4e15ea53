//@ modes: shared static clang
// Sum of an array by a tree in shared memory, then by warp shuffles, each finished by one atomic per block.
#include "check.h"

constexpr int threads = 256;

__global__ void sum_shared(const int *data, int count, int *sum) {
    __shared__ int partial[threads];
    int own = 0;
    for (int i = blockIdx.x * threads + threadIdx.x; i < count; i += gridDim.x * threads) own += data[i];
    partial[threadIdx.x] = own;
    __syncthreads();
    for (int stride = threads / 2; stride > 0; stride /= 2) {
        if (threadIdx.x < stride) partial[threadIdx.x] += partial[threadIdx.x + stride];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(sum, partial[0]);
}

__device__ int sum_of_warp(int value) {
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffff, value, offset);
    return value;
}

__global__ void sum_shuffle(const int *data, int count, int *sum) {
    __shared__ int of_warp[threads / 32];
    int own = 0;
    for (int i = blockIdx.x * threads + threadIdx.x; i < count; i += gridDim.x * threads) own += data[i];
    own = sum_of_warp(own);
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = own;
    __syncthreads();
    if (threadIdx.x < 32) {
        own = sum_of_warp(threadIdx.x < threads / 32 ? of_warp[threadIdx.x] : 0);
        if (threadIdx.x == 0) atomicAdd(sum, own);
    }
}

int main() {
    const int count = 300001;
    std::vector<int> data = random_values<int>(count, -1000, 1000);
    int wanted = 0;
    for (int value : data) wanted += value;

    DeviceArray<int> device_data(data), device_sum(1);
    device_sum.fill(0);
    sum_shared<<<40, threads>>>(device_data, count, device_sum);
    CHECK_KERNEL();
    compare("shared", device_sum.download(), {wanted});

    device_sum.fill(0);
    sum_shuffle<<<40, threads>>>(device_data, count, device_sum);
    CHECK_KERNEL();
    compare("shuffle", device_sum.download(), {wanted});
    return finish();
}
