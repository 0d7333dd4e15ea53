// Prefix sums of an array of any length in three kernels: each block scans its
// part, the block totals are scanned, and each block adds the total before it.
#include "check.h"
#include "time_native.h"

constexpr int threads = 256;

// Scans `value` over the block with doubling strides. Returns the inclusive prefix sum.
__device__ int scan_block(int value) {
    __shared__ int sums[2][threads];
    int from = 0, t = threadIdx.x;
    sums[0][t] = value;
    __syncthreads();
    for (int stride = 1; stride < threads; stride *= 2) {
        sums[1 - from][t] = sums[from][t] + (t >= stride ? sums[from][t - stride] : 0);
        from = 1 - from;
        __syncthreads();
    }
    return sums[from][t];
}

__global__ void scan_parts(const int *in, int *out, int *totals, int count) {
    int i = blockIdx.x * threads + threadIdx.x;
    int sum = scan_block(i < count ? in[i] : 0);
    if (i < count) out[i] = sum;
    if (threadIdx.x == threads - 1) totals[blockIdx.x] = sum;
}

__global__ void add_totals(int *out, const int *totals, int count) {
    int i = blockIdx.x * threads + threadIdx.x;
    if (blockIdx.x > 0 && i < count) out[i] += totals[blockIdx.x - 1];
}

static void scan(const int *in, int *out, int count) {
    int blocks = (count + threads - 1) / threads;
    DeviceArray<int> totals(blocks);
    scan_parts<<<blocks, threads>>>(in, out, totals, count);
    CHECK_KERNEL();
    if (blocks == 1) return;
    DeviceArray<int> scanned(blocks);
    scan(totals, scanned, blocks);
    add_totals<<<blocks, threads>>>(out, scanned, count);
    CHECK_KERNEL();
}

int main(int argc, char **argv) {
    const int largest = size_argument(argc, argv, 200000);
    for (int count : {1, 255, 256, 257, 5000, largest}) {
        std::vector<int> values = random_values<int>(count, -100, 100), wanted(count);
        int sum = 0;
        for (int i = 0; i < count; ++i) wanted[i] = sum += values[i];
        DeviceArray<int> in(values), out(count);
        scan(in, out, count);
        compare("running sums", out.download(), wanted);
    }
    return finish();
}
