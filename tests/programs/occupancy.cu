// Function attributes and the occupancy calculator, by the limits of compute capability 7.0.
#include "check.h"

#include <algorithm>

__global__ void small(int *out) { out[threadIdx.x] = threadIdx.x; }

__global__ void with_shared(int *out) {
    __shared__ int tile[3000];
    for (int i = threadIdx.x; i < 3000; i += blockDim.x) tile[i] = i;
    __syncthreads();
    out[threadIdx.x] = tile[2999 - threadIdx.x];
}

__constant__ int constants[100];

__global__ void __launch_bounds__(256, 2) bounded(int *out) {
    int local[20];
    for (int i = 0; i < 20; ++i) local[i] = constants[i] + out[i];
    out[threadIdx.x] = local[out[0] % 20];
}

static __host__ __device__ size_t bytes_for(int threads) { return size_t(threads) * 100; }

int main() {
    cudaFuncAttributes attributes;
    CHECK(cudaFuncGetAttributes(&attributes, small));
    EXPECT(attributes.sharedSizeBytes == 0 && attributes.maxThreadsPerBlock == 1024);
    EXPECT(attributes.numRegs > 0 && attributes.numRegs <= 255);
    EXPECT(attributes.ptxVersion == 75);
    CHECK(cudaFuncGetAttributes(&attributes, with_shared));
    EXPECT(attributes.sharedSizeBytes == 12000);
    CHECK(cudaFuncGetAttributes(&attributes, bounded));
    EXPECT(attributes.maxThreadsPerBlock == 256);

    cudaDeviceProp device;
    CHECK(cudaGetDeviceProperties(&device, 0));
    int blocks;
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, small, 1024, 0));
    EXPECT(blocks == device.maxThreadsPerMultiProcessor / 1024);
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, small, 128, 0));
    EXPECT(blocks == device.maxThreadsPerMultiProcessor / 128);
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, small, 32, 0));
    EXPECT(blocks == device.maxBlocksPerMultiProcessor);
    // Shared memory is the limit.
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, with_shared, 64, 0));
    int by_shared = int(device.sharedMemPerMultiprocessor / (12000 + 31 * 256));
    EXPECT(blocks >= by_shared && blocks <= int(device.sharedMemPerMultiprocessor / 12000));
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, small, 64, 40000));
    EXPECT(blocks == int(device.sharedMemPerMultiprocessor / 40000));

    int grid, block;
    CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, small));
    EXPECT(block % 32 == 0 && block >= 256 && block <= 1024);
    EXPECT(grid == device.multiProcessorCount * (device.maxThreadsPerMultiProcessor / block));
    CHECK(cudaOccupancyMaxPotentialBlockSizeVariableSMem(&grid, &block, small, bytes_for));
    EXPECT(block >= 32 && block * 100 <= 49152);

    CHECK(cudaFuncSetCacheConfig(small, cudaFuncCachePreferShared));
    CHECK(cudaFuncSetAttribute(small, cudaFuncAttributePreferredSharedMemoryCarveout, 50));
    DeviceArray<int> out(256);
    with_shared<<<1, 256>>>(out);
    CHECK_KERNEL();
    std::vector<int> wanted(256);
    for (int i = 0; i < 256; ++i) wanted[i] = 2999 - i;
    compare("shared", out.download(), wanted);
    return finish();
}
