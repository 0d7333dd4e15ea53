// Memory allocated and freed in stream order, from the default pool and an explicit one.
#include "check.h"

__global__ void fill(int *data, int count, int value) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) data[i] = value + i;
}

__global__ void add_to(const int *from, int *to, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) to[i] += from[i];
}

int main() {
    const int count = 10000;
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    DeviceArray<int> total(count);
    total.fill(0);
    for (int round = 0; round < 8; ++round) {
        int *scratch;
        CHECK(cudaMallocAsync(&scratch, count * sizeof(int), stream));
        fill<<<(count + 255) / 256, 256, 0, stream>>>(scratch, count, round);
        add_to<<<(count + 255) / 256, 256, 0, stream>>>(scratch, total, count);
        CHECK(cudaFreeAsync(scratch, stream));
    }
    CHECK(cudaStreamSynchronize(stream));
    std::vector<int> wanted(count);
    for (int i = 0; i < count; ++i) wanted[i] = 28 + 8 * i;
    compare("rounds", total.download(), wanted);

    int supported;
    CHECK(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, 0));
    EXPECT(supported == 1);
    cudaMemPool_t pool;
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    unsigned long long threshold = 1 << 20, found = 0;
    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &found));
    EXPECT(found == threshold);

    cudaMemPoolProps properties = {};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    CHECK(cudaMemPoolCreate(&pool, &properties));
    int *from_pool;
    CHECK(cudaMallocFromPoolAsync(&from_pool, count * sizeof(int), pool, stream));
    fill<<<(count + 255) / 256, 256, 0, stream>>>(from_pool, count, 5);
    std::vector<int> got(count);
    CHECK(cudaMemcpyAsync(got.data(), from_pool, count * sizeof(int), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaFreeAsync(from_pool, stream));
    CHECK(cudaStreamSynchronize(stream));
    for (int i = 0; i < count; ++i) wanted[i] = 5 + i;
    compare("pool", got, wanted);
    CHECK(cudaMemPoolDestroy(pool));
    CHECK(cudaStreamDestroy(stream));
    return finish();
}
