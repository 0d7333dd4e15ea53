// Shared memory: static arrays of several types, dynamic arrays sized by the launch, and more than 48 KB on request.
#include "check.h"

__global__ void reverse_static(const int *in, int *out) {
    __shared__ int words[256];
    __shared__ unsigned char bytes[256];
    __shared__ double doubles[256];
    unsigned t = threadIdx.x;
    words[t] = in[blockIdx.x * 256 + t];
    bytes[t] = (unsigned char)words[t];
    doubles[t] = 0.5 * words[t];
    __syncthreads();
    unsigned other = 255 - t;
    out[blockIdx.x * 256 + t] = words[other] + bytes[other] + int(2 * doubles[other]);
}

// One dynamic array, divided into two.
__global__ void reverse_dynamic(const int *in, int *out, int count) {
    extern __shared__ char memory[];
    int *words = (int *)memory;
    short *halves = (short *)(words + count);
    for (int i = threadIdx.x; i < count; i += blockDim.x) {
        words[i] = in[i];
        halves[i] = short(in[i] >> 16);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < count; i += blockDim.x) out[i] = words[count - 1 - i] ^ halves[count - 1 - i];
}

// Threads of a warp exchange through volatile shared memory, with __syncwarp between.
__global__ void rotate_in_warp(int *data) {
    __shared__ volatile int lane[64];
    lane[threadIdx.x] = data[threadIdx.x];
    __syncwarp();
    int next = lane[(threadIdx.x & ~31) + ((threadIdx.x + 1) & 31)];
    __syncwarp();
    data[threadIdx.x] = next;
}

static void dynamic(int count) {
    std::vector<int> values = random_values<int>(count, -2000000000, 2000000000);
    std::vector<int> wanted(count);
    for (int i = 0; i < count; ++i) wanted[i] = values[count - 1 - i] ^ short(values[count - 1 - i] >> 16);
    DeviceArray<int> in(values), out(count);
    reverse_dynamic<<<1, 128, count * (sizeof(int) + sizeof(short))>>>(in, out, count);
    CHECK_KERNEL();
    compare("dynamic", out.download(), wanted);
}

int main() {
    std::vector<int> values = random_values<int>(1024, 0, 1000000), wanted(1024);
    for (int i = 0; i < 1024; ++i) {
        int other = values[i / 256 * 256 + 255 - i % 256];
        wanted[i] = other + (other & 255) + other;
    }
    DeviceArray<int> in(values), out(1024);
    reverse_static<<<4, 256>>>(in, out);
    CHECK_KERNEL();
    compare("static", out.download(), wanted);

    dynamic(100);
    dynamic(8000);  // 48,000 bytes
    // More than 48 KB is refused until the kernel requests it.
    reverse_dynamic<<<1, 128, 60000>>>(in, out, 10);
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGetLastError());
    int most;
    CHECK(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    EXPECT(most >= 60000);
    CHECK(cudaFuncSetAttribute(reverse_dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize, 60000));
    dynamic(10000);

    std::vector<int> lanes = random_values<int>(64, 0, 99), rotated(64);
    for (int i = 0; i < 64; ++i) rotated[i] = lanes[i / 32 * 32 + (i + 1) % 32];
    DeviceArray<int> device_lanes(lanes);
    rotate_in_warp<<<1, 64>>>(device_lanes);
    CHECK_KERNEL();
    compare("within a warp", device_lanes.download(), rotated);
    return finish();
}
