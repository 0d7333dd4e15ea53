// A trap instruction ends the kernel with a launch failure; cudaDeviceReset makes the device usable again.
#include "check.h"

__global__ void trap_if(const int *flag, int *out) {
    if (*flag) __trap();
    *out = 77;
}

static void run(int flag_value, cudaError_t wanted) {
    int *flag, *out, got = 0;
    CHECK(cudaMalloc(&flag, sizeof(int)));
    CHECK(cudaMalloc(&out, sizeof(int)));
    CHECK(cudaMemcpy(flag, &flag_value, sizeof(int), cudaMemcpyHostToDevice));
    trap_if<<<1, 32>>>(flag, out);
    EXPECT_ERROR(wanted, cudaDeviceSynchronize());
    EXPECT_ERROR(wanted, cudaMemcpy(&got, out, sizeof(int), cudaMemcpyDeviceToHost));
    if (wanted == cudaSuccess) EXPECT(got == 77);
}

int main() {
    run(0, cudaSuccess);
    run(1, cudaErrorLaunchFailure);
    CHECK(cudaDeviceReset());
    run(0, cudaSuccess);
    return finish();
}
