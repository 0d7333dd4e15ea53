// Events: completion, elapsed time, and refused uses.
#include "check.h"

__global__ void spin(int rounds, unsigned *out) {
    unsigned value = threadIdx.x;
    for (int i = 0; i < rounds; ++i) value = value * 1664525u + 1013904223u;
    out[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

int main() {
    DeviceArray<unsigned> out(256);
    cudaEvent_t start, middle, stop, untimed;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreateWithFlags(&middle, cudaEventBlockingSync));
    CHECK(cudaEventCreate(&stop));
    CHECK(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));

    CHECK(cudaEventRecord(start));
    spin<<<2, 128>>>(100, out);
    CHECK(cudaEventRecord(middle));
    spin<<<2, 128>>>(20000, out);
    CHECK(cudaEventRecord(stop));
    CHECK(cudaEventRecord(untimed));
    CHECK(cudaEventSynchronize(stop));
    EXPECT_ERROR(cudaSuccess, cudaEventQuery(start));
    EXPECT_ERROR(cudaSuccess, cudaEventQuery(stop));

    float first, second, whole;
    CHECK(cudaEventElapsedTime(&first, start, middle));
    CHECK(cudaEventElapsedTime(&second, middle, stop));
    CHECK(cudaEventElapsedTime(&whole, start, stop));
    EXPECT(first > 0 && second > 0);
    EXPECT(std::fabs(first + second - whole) <= 0.01 + 0.01 * whole);

    std::vector<unsigned> wanted(256);
    for (int i = 0; i < 256; ++i) {
        wanted[i] = i % 128;
        for (int round = 0; round < 20000; ++round) wanted[i] = wanted[i] * 1664525u + 1013904223u;
    }
    compare("spin", out.download(), wanted);

    CHECK(cudaEventSynchronize(untimed));
    EXPECT_ERROR(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&whole, start, untimed));
    // An event that was never recorded is complete but has no time.
    cudaEvent_t never;
    CHECK(cudaEventCreate(&never));
    EXPECT_ERROR(cudaSuccess, cudaEventQuery(never));
    EXPECT_ERROR(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&whole, start, never));
    cudaGetLastError();
    // A second record moves the event.
    CHECK(cudaEventRecord(start));
    CHECK(cudaEventSynchronize(start));
    CHECK(cudaEventElapsedTime(&whole, stop, start));
    EXPECT(whole >= 0);
    // Fills and copies within the device take time too.
    DeviceArray<char> to(4 << 20), from(4 << 20);
    CHECK(cudaEventRecord(start));
    CHECK(cudaMemsetAsync(from, 1, 4 << 20));
    CHECK(cudaEventRecord(middle));
    CHECK(cudaMemcpyAsync(to, from, 4 << 20, cudaMemcpyDeviceToDevice));
    CHECK(cudaEventRecord(stop));
    CHECK(cudaEventSynchronize(stop));
    CHECK(cudaEventElapsedTime(&first, start, middle));
    CHECK(cudaEventElapsedTime(&second, middle, stop));
    EXPECT(first > 0 && second > 0);
    for (cudaEvent_t event : {start, middle, stop, untimed, never}) CHECK(cudaEventDestroy(event));
    return finish();
}
