//@ arch: compute_90
//@ device: h100
// Thread block clusters: a histogram distributed over the shared memory of a cluster,
// cooperative groups of a cluster, the cluster occupancy calculator, and refused launches.
#include "check.h"

#include <cooperative_groups.h>

#include <vector>

namespace cg = cooperative_groups;

constexpr int bins_per_block = 64;

__global__ void histogram(const unsigned *values, int count, int *bins) {
    extern __shared__ int own[];
    cg::cluster_group cluster = cg::this_cluster();
    unsigned blocks = cluster.dim_blocks().x;
    for (int i = threadIdx.x; i < bins_per_block; i += blockDim.x) own[i] = 0;
    cluster.sync();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        unsigned bin = values[i] % (blocks * bins_per_block);
        int *there = cluster.map_shared_rank(own, bin / bins_per_block);
        atomicAdd(there + bin % bins_per_block, 1);
    }
    cluster.sync();
    int *first = bins + cluster.block_rank() * bins_per_block;
    for (int i = threadIdx.x; i < bins_per_block; i += blockDim.x) atomicAdd(&first[i], own[i]);
}

// Indices of each block in a grid of 4 by 2 blocks with clusters
// of 2 by 2, and a neighbour's index, read after a split barrier.
__global__ void __cluster_dims__(2, 2, 1) places(int *out) {
    __shared__ int number;
    cg::cluster_group cluster = cg::this_cluster();
    if (threadIdx.x == 0) number = 100 + blockIdx.y * gridDim.x + blockIdx.x;
    cg::cluster_group::arrival_token token = cluster.barrier_arrive();
    dim3 index = cluster.block_index();
    cluster.barrier_wait(std::move(token));
    unsigned next = (cluster.block_rank() + 1) % cluster.num_blocks();
    int *there = cluster.map_shared_rank(&number, next);
    if (threadIdx.x == 0) {
        int *mine = out + 8 * (blockIdx.y * gridDim.x + blockIdx.x);
        mine[0] = cluster.block_rank();
        mine[1] = index.x + 10 * index.y;
        mine[2] = cluster.num_threads();
        mine[3] = *there;
        mine[4] = cluster.query_shared_rank(there);
        mine[5] = cluster.query_shared_rank(&number);
        mine[6] = __isClusterShared(there) + 2 * __isShared(there);
        mine[7] = __clusterDimIsSpecified();
    }
    cluster.sync();
}

static void spread_histogram(unsigned blocks_of_a_cluster) {
    constexpr int count = 100000, grid = 32, threads = 128;
    std::vector<unsigned> values(count);
    std::vector<int> expected(blocks_of_a_cluster * bins_per_block);
    unsigned x = 12345;
    for (unsigned &value : values) {
        x = x * 1664525 + 1013904223;
        value = x >> 8;
        ++expected[value % expected.size()];
    }
    unsigned *input;
    int *bins;
    CHECK(cudaMalloc(&input, count * sizeof *input));
    CHECK(cudaMalloc(&bins, expected.size() * sizeof *bins));
    CHECK(cudaMemcpy(input, values.data(), count * sizeof *input, cudaMemcpyHostToDevice));
    CHECK(cudaMemset(bins, 0, expected.size() * sizeof *bins));

    cudaLaunchAttribute attribute;
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {blocks_of_a_cluster, 1, 1};
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = threads;
    config.dynamicSmemBytes = bins_per_block * sizeof *bins;
    config.attrs = &attribute;
    config.numAttrs = 1;
    CHECK(cudaLaunchKernelEx(&config, histogram, (const unsigned *)input, count, bins));
    std::vector<int> found(expected.size());
    CHECK(cudaMemcpy(found.data(), bins, found.size() * sizeof(int), cudaMemcpyDeviceToHost));
    EXPECT(found == expected);
    CHECK(cudaFree(input));
    CHECK(cudaFree(bins));
}

static void known_places() {
    int *out;
    CHECK(cudaMalloc(&out, 64 * sizeof *out));
    places<<<dim3(4, 2), 32>>>(out);
    int found[64];
    CHECK(cudaMemcpy(found, out, sizeof found, cudaMemcpyDeviceToHost));
    for (int y = 0; y < 2; ++y)
        for (int x = 0; x < 4; ++x) {
            const int *mine = found + 8 * (y * 4 + x);
            int rank = x % 2 + 2 * y, next = (rank + 1) % 4;
            EXPECT(mine[0] == rank && mine[1] == x % 2 + 10 * y && mine[2] == 128);
            EXPECT(mine[3] == 100 + next / 2 * 4 + x / 2 * 2 + next % 2);
            EXPECT(mine[4] == next && mine[5] == rank && mine[6] == 1 && mine[7] == 1);
        }
    CHECK(cudaFree(out));
    cudaFuncAttributes attributes;
    CHECK(cudaFuncGetAttributes(&attributes, places));
    EXPECT(attributes.requiredClusterWidth == 2 && attributes.requiredClusterHeight == 2);
    EXPECT(attributes.requiredClusterDepth == 1);
    EXPECT(cudaFuncSetAttribute(places, cudaFuncAttributeRequiredClusterWidth, 4) == cudaErrorNotPermitted);
    cudaGetLastError();
}

static cudaError_t launch(dim3 grid, dim3 cluster) {
    cudaLaunchAttribute attribute;
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {cluster.x, cluster.y, cluster.z};
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = 32;
    config.dynamicSmemBytes = bins_per_block * sizeof(int);
    config.attrs = &attribute;
    config.numAttrs = 1;
    cudaError_t error = cudaLaunchKernelEx(&config, histogram, (const unsigned *)nullptr, 0, (int *)nullptr);
    cudaGetLastError();
    return error;
}

int main() {
    cudaDeviceProp device;
    CHECK(cudaGetDeviceProperties(&device, 0));
    EXPECT(device.major == 9 && device.clusterLaunch == 1);
    spread_histogram(1);
    spread_histogram(4);
    spread_histogram(8);
    known_places();

    EXPECT(launch(5, 2) == cudaErrorInvalidClusterSize);
    EXPECT(launch(16, 16) == cudaErrorInvalidClusterSize);
    CHECK(cudaFuncSetAttribute(histogram, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
    EXPECT(launch(32, 32) == cudaErrorInvalidClusterSize);
    EXPECT(launch(dim3(4, 4), dim3(2, 0)) == cudaErrorInvalidClusterSize);
    spread_histogram(16);

    cudaLaunchConfig_t config = {};
    config.gridDim = 128;
    config.blockDim = 1024;
    int size, clusters;
    CHECK(cudaOccupancyMaxPotentialClusterSize(&size, histogram, &config));
    EXPECT(size == 16);
    cudaLaunchAttribute attribute;
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {4, 1, 1};
    config.attrs = &attribute;
    config.numAttrs = 1;
    CHECK(cudaOccupancyMaxActiveClusters(&clusters, histogram, &config));
    EXPECT(clusters > 0 && clusters <= 2 * device.multiProcessorCount / 4);
    return finish();
}
