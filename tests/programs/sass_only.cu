//@ code: sm_75
//@ stderr: store_only_as_sass
// A kernel that exists only as machine code of another GPU: the launch fails, and the program continues.
#include "check.h"

__global__ void store_only_as_sass(int *out) { *out = 1; }

int main() {
    DeviceArray<int> out(1);
    out.fill(0);
    store_only_as_sass<<<1, 1>>>(out);
    EXPECT_ERROR(cudaErrorNoKernelImageForDevice, cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    EXPECT(out.download()[0] == 0);
    return finish();
}
