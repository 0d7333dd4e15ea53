// Block, device and system scope; fences; a reduction finished by
// the last block; blocks that wait for a flag of an earlier block.
#include "check.h"

__device__ unsigned blocks_done;

// Threadfence reduction in one launch.
__global__ void sum_in_one_launch(const int *data, int count, int *partial, int *sum) {
    __shared__ int of_block;
    __shared__ bool is_last;
    if (threadIdx.x == 0) of_block = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        atomicAdd_block(&of_block, data[i]);
    __syncthreads();
    if (threadIdx.x == 0) {
        ((volatile int *)partial)[blockIdx.x] = of_block;
        __threadfence();
        is_last = atomicInc(&blocks_done, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (is_last && threadIdx.x < 32) {
        int own = 0;
        for (unsigned b = threadIdx.x; b < gridDim.x; b += 32) own += ((volatile int *)partial)[b];
        for (int offset = 16; offset > 0; offset /= 2) own += __shfl_xor_sync(0xffffffff, own, offset);
        if (threadIdx.x == 0) *sum = own;
    }
}

__global__ void system_scope(int *host_counter) {
    atomicAdd_system(host_counter, 1);
    __threadfence_system();
}

// Block b waits until block b - 1 has passed on its prefix sum.
__global__ void chained_scan(const int *data, int *prefix, volatile int *ready, volatile int *running) {
    __shared__ int before;
    unsigned block = blockIdx.x;
    if (threadIdx.x == 0) {
        int sum = 0;
        for (int i = 0; i < 32; ++i) sum += data[block * 32 + i];
        if (block > 0) {
            while (ready[block - 1] == 0) {}
            __threadfence();
            before = running[block - 1];
        } else {
            before = 0;
        }
        running[block] = before + sum;
        __threadfence();
        ready[block] = 1;
    }
    __syncthreads();
    int sum = before;
    for (unsigned i = 0; i <= threadIdx.x; ++i) sum += data[block * 32 + i];
    prefix[block * 32 + threadIdx.x] = sum;
}

int main() {
    const int count = 20000;
    std::vector<int> data = random_values<int>(count, -100, 100);
    int wanted = 0;
    for (int value : data) wanted += value;
    DeviceArray<int> device_data(data), partial(60), sum(1);
    for (int run = 0; run < 2; ++run) {
        sum.fill(0);
        sum_in_one_launch<<<60, 64>>>(device_data, count, partial, sum);
        CHECK_KERNEL();
        compare("sum in one launch", sum.download(), {wanted});
    }

    int *host_counter, *seen;
    CHECK(cudaHostAlloc(&host_counter, sizeof(int), cudaHostAllocMapped));
    *host_counter = 5;
    CHECK(cudaHostGetDevicePointer(&seen, host_counter, 0));
    system_scope<<<3, 100>>>(seen);
    CHECK_KERNEL();
    EXPECT(*host_counter == 305);
    CHECK(cudaFreeHost(host_counter));

    const int blocks = 50;
    std::vector<int> prefix(blocks * 32);
    for (int i = 0, running = 0; i < blocks * 32; ++i) prefix[i] = running += data[i];
    DeviceArray<int> device_prefix(blocks * 32), ready(blocks), running(blocks);
    ready.fill(0);
    chained_scan<<<blocks, 32>>>(device_data, device_prefix, ready, running);
    CHECK_KERNEL();
    compare("chained scan", device_prefix.download(), prefix);
    return finish();
}
