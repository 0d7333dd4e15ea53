//@ code: sm_75
//@ stderr: store_only_as_sass
// A kernel that is there only as machine code of another GPU: the launch says so, and the program goes on.
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
