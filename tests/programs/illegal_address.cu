//@ mistakes: it stores to an address where nothing is
// A store outside of all allocations is a sticky error.
#include "check.h"

#include <string>

__global__ void store(int *address, int value) { *address = value; }

int main() {
    DeviceArray<int> data(256);
    data.fill(0);
    store<<<1, 1>>>(data.get() + 255, 5);
    CHECK_KERNEL();
    EXPECT(data.download()[255] == 5);

    store<<<1, 1>>>((int *)0x123450, 1);
    EXPECT_ERROR(cudaErrorIllegalAddress, cudaDeviceSynchronize());
    EXPECT_ERROR(cudaErrorIllegalAddress, cudaGetLastError());
    // Sticky: every later working call in any thread reports it, and no kernel is launched.
    EXPECT_ERROR(cudaErrorIllegalAddress, cudaDeviceSynchronize());
    int value;
    EXPECT_ERROR(cudaErrorIllegalAddress, cudaMemcpy(&value, data, sizeof value, cudaMemcpyDeviceToHost));
    store<<<1, 1>>>(data, 1);
    EXPECT_ERROR(cudaErrorIllegalAddress, cudaGetLastError());
    void *block;
    EXPECT_ERROR(cudaErrorIllegalAddress, cudaMalloc(&block, 64));
    // Queries of the device and of error names still work.
    int devices;
    CHECK(cudaGetDeviceCount(&devices));
    EXPECT(std::string(cudaGetErrorName(cudaErrorIllegalAddress)) == "cudaErrorIllegalAddress");
    EXPECT(std::string(cudaGetErrorString(cudaErrorIllegalAddress)) == "an illegal memory access was encountered");
    return finish();
}
