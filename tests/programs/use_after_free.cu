//@ mistakes: it reads freed memory
// Reading freed memory is an illegal address.
#include "check.h"

__global__ void sum(const int *data, int count, int *out) {
    int total = 0;
    for (int i = threadIdx.x; i < count; i += blockDim.x) total += data[i];
    atomicAdd(out, total);
}

int main() {
    const int count = 1 << 20;
    DeviceArray<int> out(1);
    out.fill(0);
    int *data;
    CHECK(cudaMalloc(&data, count * sizeof(int)));
    CHECK(cudaMemset(data, 0, count * sizeof(int)));
    sum<<<1, 64>>>(data, 1000, out);
    CHECK_KERNEL();
    EXPECT(out.download()[0] == 0);
    CHECK(cudaFree(data));
    sum<<<1, 64>>>(data, 1000, out);
    EXPECT_ERROR(cudaErrorIllegalAddress, cudaDeviceSynchronize());
    return finish();
}
