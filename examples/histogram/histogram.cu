// Histogram of the byte values in `histogram [count]` bytes: each block
// counts in shared memory, then adds its counts to the global ones.
#include "check.h"
#include "time_native.h"
#include "native.h"

__global__ void histogram(int count, const unsigned char *data, unsigned *bins) {
    __shared__ unsigned block_bins[256];
    block_bins[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        atomicAdd(&block_bins[data[i]], 1);
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], block_bins[threadIdx.x]);
}

int main(int argc, char **argv) {
    const int count = size_argument(argc, argv, 1 << 20);
    // The product of two uniform values is often small, so threads contend for bins.
    std::vector<unsigned> left = random_values<unsigned>(count, 0, 255, 1);
    std::vector<unsigned> right = random_values<unsigned>(count, 0, 255, 2);
    std::vector<unsigned char> data(count);
    for (int i = 0; i < count; ++i) data[i] = (unsigned char)(left[i] * right[i] >> 8);

    DeviceArray<unsigned char> device_data(data);
    DeviceArray<unsigned> device_bins(256);
    device_bins.fill(0);
    histogram<<<160, 256>>>(count, device_data, device_bins);
    CHECK_KERNEL();

    std::vector<unsigned> wanted(256);
    histogram_native(count, data.data(), wanted.data());
    compare("bins", device_bins.download(), wanted);
    if (wants_native(argc, argv)) time_native("histogram", [&] { histogram_native(count, data.data(), wanted.data()); });
    return finish();
}
