//@ mistakes: its addresses are misaligned
// A four-byte load from an address that is not a multiple of four.
#include "check.h"

__global__ void load(const char *bytes, int *out, int offset) { *out = *(const int *)(bytes + offset); }

int main() {
    std::vector<char> bytes = random_values<char>(64, -128, 127);
    DeviceArray<char> device_bytes(bytes);
    DeviceArray<int> out(1);
    load<<<1, 1>>>(device_bytes, out, 8);
    CHECK_KERNEL();
    EXPECT(out.download()[0] == *(const int *)&bytes[8]);

    load<<<1, 1>>>(device_bytes, out, 6);
    EXPECT_ERROR(cudaErrorMisalignedAddress, cudaDeviceSynchronize());
    EXPECT_ERROR(cudaErrorMisalignedAddress, cudaGetLastError());
    EXPECT_ERROR(cudaErrorMisalignedAddress, cudaDeviceSynchronize());
    return finish();
}
