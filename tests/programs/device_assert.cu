//@ stderr: Assertion `value < 100` failed.
//@ stderr: device_assert.cu
// A failed assert on the device is a sticky error.
#include "check.h"

#include <cassert>

__global__ void check_values(const int *values, int *seen) {
    int value = values[threadIdx.x];
    assert(value < 100);
    seen[threadIdx.x] = value;
}

int main() {
    std::vector<int> values(64, 5);
    DeviceArray<int> device_values(values), seen(64);
    check_values<<<1, 64>>>(device_values, seen);
    CHECK_KERNEL();
    compare("assert that holds", seen.download(), values);

    values[37] = 100;
    device_values.upload(values);
    check_values<<<1, 64>>>(device_values, seen);
    EXPECT_ERROR(cudaErrorAssert, cudaDeviceSynchronize());
    EXPECT_ERROR(cudaErrorAssert, cudaGetLastError());
    // The error is sticky.
    int word;
    EXPECT_ERROR(cudaErrorAssert, cudaMemcpy(&word, seen, sizeof word, cudaMemcpyDeviceToHost));
    EXPECT_ERROR(cudaErrorAssert, cudaGetLastError());
    void *block;
    EXPECT_ERROR(cudaErrorAssert, cudaMalloc(&block, 16));
    return finish();
}
