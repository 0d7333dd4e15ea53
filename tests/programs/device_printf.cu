//@ stdout: grid of 2 blocks
//@ stdout: block 0 thread 0 says 0
//@ stdout: block 1 thread 2 says 102
//@ stdout: -7|  42|00042|2a|0x2a|52|%|A
//@ stdout: 3.250000|  3.25|1.000000e+10|0.0001|inf
//@ stdout: text|  text|te|-9000000000|18446744073709551615|255
//@ stdout: 1 2 3 4 5 6 7 8 9 10 11 12
//@ stdout: printf returned 8
//@ stdout: after the kernels
// Formats of printf on the device; the suite compares the lines.
#include "check.h"

__global__ void introduce() {
    if (blockIdx.x == 0 && threadIdx.x == 0) printf("grid of %d blocks\n", gridDim.x);
    if (threadIdx.x < 3) printf("block %d thread %d says %d\n", blockIdx.x, threadIdx.x, blockIdx.x * 100 + threadIdx.x);
}

__global__ void formats() {
    printf("%d|%4d|%05d|%x|%#x|%o|%%|%c\n", -7, 42, 42, 42, 42, 42, 'A');
    printf("%f|%6.2f|%e|%g|%f\n", 3.25, 3.25f, 1e10, 0.0001, 1.0 / 0.0);
    printf("%s|%6s|%.2s|%lld|%llu|%hhu\n", "text", "text", "text", -9000000000ll, ~0ull, 255);
    printf("%d %d %d %d %d %d %d %d %d %d %d %d\n", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12);
    int arguments = printf("%d %d %d %d %d %d %d %s\n", 0, 0, 0, 0, 0, 0, 0, "eight");
    printf("printf returned %d\n", arguments);
}

int main() {
    size_t size;
    CHECK(cudaDeviceGetLimit(&size, cudaLimitPrintfFifoSize));
    EXPECT(size >= 1 << 16);
    introduce<<<2, 8>>>();
    CHECK_KERNEL();
    formats<<<1, 1>>>();
    CHECK_KERNEL();
    std::printf("after the kernels\n");
    return finish();
}
